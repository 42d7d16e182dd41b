package view

import "context"

// SafeMode is whether operations that delete for good are refused.
type SafeMode uint8

// The states of Safe mode.
const (
	SafeModeOff     SafeMode = iota // nothing is refused
	SafeModeBrowser                 // switched on in this browser
	SafeModeServer                  // for all users, by a flag of the server
)

type safeModeKey struct{}

// WithSafeMode returns a context in which buttons for refused operations look disabled.
func WithSafeMode(ctx context.Context, s SafeMode) context.Context {
	return context.WithValue(ctx, safeModeKey{}, s)
}

// SafeModeOf returns the state set by WithSafeMode; SafeModeOff by default.
func SafeModeOf(ctx context.Context) SafeMode {
	s, _ := ctx.Value(safeModeKey{}).(SafeMode)
	return s
}

// SafeModeOn reports whether Safe mode is on, in the browser or at the server.
func SafeModeOn(ctx context.Context) bool { return SafeModeOf(ctx) != SafeModeOff }
