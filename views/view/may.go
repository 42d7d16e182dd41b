package view

import "context"

type mayKey struct{}

// WithMay returns a context in which buttons and links are left out that lead to what
// may tells to be none of the reader's, by method and address.
func WithMay(ctx context.Context, may func(method, href string) bool) context.Context {
	return context.WithValue(ctx, mayKey{}, may)
}

// May tells whether the reader may have what is at an address; everything where
// WithMay was never called.
func May(ctx context.Context, method, href string) bool {
	may, ok := ctx.Value(mayKey{}).(func(method, href string) bool)
	return !ok || may(method, href)
}

// MayPost tells whether the reader may send a form there.
func MayPost(ctx context.Context, to string) bool { return May(ctx, "POST", to) }

// MayOpen tells whether the reader may open the page there.
func MayOpen(ctx context.Context, href string) bool { return May(ctx, "GET", href) }
