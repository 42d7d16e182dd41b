package component

import "context"

// IconURL is where an icon is drawn, for art that uses it; name is as in Icon.
func IconURL(ctx context.Context, name string) string { return iconURL(ctx, "i-"+name) }
