package component

import "context"

// IconURL returns the address of an icon's drawing, for art that uses it; name is as in Icon.
func IconURL(ctx context.Context, name string) string { return iconURL(ctx, "i-"+name) }
