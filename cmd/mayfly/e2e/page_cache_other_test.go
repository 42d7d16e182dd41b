//go:build !linux

package e2e

// evict only works on Linux.
func evict(string) bool { return false }
