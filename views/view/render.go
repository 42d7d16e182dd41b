package view

import "context"

type frozenClocksKey struct{}

// WithFrozenClocks returns a context in which clocks are rendered without their current
// reading: two renderings differ only if the state differs, and the same bytes serve every
// browser. The script updates the clocks when it inserts the part. Whole pages are rendered
// without it.
func WithFrozenClocks(ctx context.Context) context.Context {
	return context.WithValue(ctx, frozenClocksKey{}, true)
}

// ClocksFrozen reports whether ctx came from WithFrozenClocks.
func ClocksFrozen(ctx context.Context) bool {
	still, _ := ctx.Value(frozenClocksKey{}).(bool)
	return still
}

type baseKey struct{}

// WithBase returns a context with the path that the dashboard is served under, such as
// "/mayfly"; the empty string, also the default, is the root. Only addresses that views
// build themselves (stylesheet, scripts, icons) need it: models carry whole addresses.
func WithBase(ctx context.Context, base string) context.Context {
	return context.WithValue(ctx, baseKey{}, base)
}

// Base returns the path set by WithBase.
func Base(ctx context.Context) string {
	base, _ := ctx.Value(baseKey{}).(string)
	return base
}
