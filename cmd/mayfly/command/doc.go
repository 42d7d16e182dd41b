// Package command lists all commands of mayfly. It is a package of its own so that the tests of
// the whole program run what main runs.
package command
