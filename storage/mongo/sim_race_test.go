//go:build race

package mongo

// raced reports whether the race detector is on, which makes the test several times as slow.
const raced = true
