//go:build !linux

package main

// evict is only known on Linux.
func evict(string) bool { return false }
