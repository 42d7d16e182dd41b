package view

import "context"

// Safety says whether what does away with something for good is refused.
type Safety uint8

// The safeties there are.
const (
	Unsafe   Safety = iota // nothing is refused
	SafeHere               // by the choice of this browser
	SafeAll                // for everybody: the server was started so
)

type safetyKey struct{}

// WithSafety returns a context in which buttons for what is refused look so.
func WithSafety(ctx context.Context, s Safety) context.Context {
	return context.WithValue(ctx, safetyKey{}, s)
}

// SafetyOf is what WithSafety was given.
func SafetyOf(ctx context.Context) Safety {
	s, _ := ctx.Value(safetyKey{}).(Safety)
	return s
}

// Safe tells whether Safe mode is on, whoever switched it on.
func Safe(ctx context.Context) bool { return SafetyOf(ctx) != Unsafe }
