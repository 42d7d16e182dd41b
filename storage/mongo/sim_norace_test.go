//go:build !race

package mongo

const raced = false
