package view

import "context"

type stillKey struct{}

// Still returns a context in which clocks are rendered without their present
// reading: what is rendered twice differs only if the state differs, and the
// same bytes serve every browser. The script reads the clocks when it puts the
// piece in its place. Whole pages are rendered without it.
func Still(ctx context.Context) context.Context {
	return context.WithValue(ctx, stillKey{}, true)
}

// IsStill says whether ctx came from Still.
func IsStill(ctx context.Context) bool {
	still, _ := ctx.Value(stillKey{}).(bool)
	return still
}

type baseKey struct{}

// WithBase returns a context that knows the path the dashboard is served
// under, such as "/mayfly"; the empty string, which is also the default, is
// the root. Only addresses that views make themselves (stylesheet, scripts,
// icons) need it: models carry whole addresses.
func WithBase(ctx context.Context, base string) context.Context {
	return context.WithValue(ctx, baseKey{}, base)
}

// Base returns the path given to WithBase.
func Base(ctx context.Context) string {
	base, _ := ctx.Value(baseKey{}).(string)
	return base
}
