package sqlite_test

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// forget makes the system drop the file from its cache.
func forget(b *testing.B, path string) {
	b.Helper()
	f, err := os.Open(path)
	must(b, err)
	defer f.Close()
	must(b, f.Sync())
	must(b, unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED))
}
