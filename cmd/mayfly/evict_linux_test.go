package main

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// evict asks the kernel to forget what it has cached of a store's files.
func evict(path string) bool {
	files, err := filepath.Glob(path + "*")
	if err != nil {
		return false
	}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return false
		}
		err = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
		if cerr := f.Close(); err != nil || cerr != nil {
			return false
		}
	}
	return true
}
