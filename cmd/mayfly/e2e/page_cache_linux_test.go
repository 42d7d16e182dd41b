package e2e

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// evict drops a store's files from the kernel's page cache, and reports whether that worked.
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
