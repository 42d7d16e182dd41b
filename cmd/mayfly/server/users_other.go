//go:build !unix

package server

import (
	"io/fs"
	"os"
)

// lockFolder does not lock on this system.
func lockFolder(path string) (*os.File, error) { return os.Open(path) }

// copyOwner does nothing on this system.
func copyOwner(*os.File, fs.FileInfo) error { return nil }
