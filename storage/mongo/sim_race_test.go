//go:build race

package mongo

// raced says that the race detector watches, which takes several times as long.
const raced = true
