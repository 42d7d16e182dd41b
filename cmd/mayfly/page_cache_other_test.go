//go:build !linux

package main

// evict only works on Linux.
func evict(string) bool { return false }
