// Package longtest decides which tests run. By default `go test ./...` runs tests that take a
// few seconds on two cores, within Go's default time-out, and skips the long suites. With
// MAYFLY_LONG=1, as .ci/run sets it, everything runs:
//
//	MAYFLY_LONG=1 go test -timeout 60m ./...
//
// A test is long if it takes more than two seconds, or if it needs other software than Go: a
// browser, an SDK, or a program that must first be downloaded and built.
package longtest

import (
	"os"
	"strconv"
	"testing"
)

const variable = "MAYFLY_LONG"

// Require skips a long test or suite unless MAYFLY_LONG is true. suite names the skipped tests,
// such as "every page in a browser".
func Require(t testing.TB, suite string) {
	t.Helper()
	if !Enabled(t) {
		t.Skipf("%s: left out; %s=1 runs it", suite, variable)
	}
}

// Enabled reports whether MAYFLY_LONG is true, for a test that does more rounds then. It fails the
// test if the value is neither true nor false, since otherwise a misspelt value would silently skip
// tests.
func Enabled(t testing.TB) bool {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return false
	}
	on, err := strconv.ParseBool(text)
	if err != nil {
		t.Fatalf("%s=%q is neither 1 nor 0", variable, text)
	}
	return on
}

// Reduced returns whole if MAYFLY_LONG is true, and less otherwise. It is for a number of rounds,
// messages or bytes in a test that works with any number.
func Reduced[T any](t testing.TB, whole, less T) T {
	t.Helper()
	if Enabled(t) {
		return whole
	}
	return less
}
