package view

import "context"

type permissionsKey struct{}

// WithPermissions returns a context in which views omit a button or a link if `may` returns false
// for its method and address.
func WithPermissions(ctx context.Context, may func(method, href string) bool) context.Context {
	return context.WithValue(ctx, permissionsKey{}, may)
}

// Allowed reports whether the reader may send a request to an address. Without WithPermissions
// every request is allowed.
func Allowed(ctx context.Context, method, href string) bool {
	may, ok := ctx.Value(permissionsKey{}).(func(method, href string) bool)
	return !ok || may(method, href)
}

// CanPost reports whether the reader may post a form to an address.
func CanPost(ctx context.Context, to string) bool { return Allowed(ctx, "POST", to) }

// CanOpen reports whether the reader may open the page at an address.
func CanOpen(ctx context.Context, href string) bool { return Allowed(ctx, "GET", href) }
