//go:build race

package mongo

// raced is true with the race detector, which takes several times as long.
const raced = true
