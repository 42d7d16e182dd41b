package sqlite

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
)

// errIndexTruncated is the error of a call that read a part of the log's index which is no
// longer in the file.
var errIndexTruncated = errors.New("the index of the write-ahead log, the file that ends in -shm, was truncated while it was in use")

// withIndexGuard runs do, which reads and writes the index of the log. If the index was
// truncated, withIndexGuard returns errIndexTruncated, and how far do got is unknown.
func (s *Store) withIndexGuard(do func() error) error {
	err := guardIndex(s.path, s.log, do)
	if errors.Is(err, errIndexTruncated) {
		s.indexTruncated.Store(true)
	}
	return err
}

// guardIndex runs do for the store in the file path. The index of the log is a file mapped
// into memory: if another program has truncated it, an access is a fault, which would end the
// process. guardIndex then makes the index long enough again and returns errIndexTruncated.
// SQLite rebuilds the index from the log; the connection that do has used must be closed.
func guardIndex(path string, log *slog.Logger, do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		fault, ok := p.(interface {
			runtime.Error
			Addr() uintptr
		})
		if !ok || !extendIndex(path) {
			panic(p)
		}
		log.Error("the index of the write-ahead log was truncated; the store must be reopened", "path", path, "at", fmt.Sprintf("%#x", fault.Addr()))
		err = errIndexTruncated
	}()
	return do()
}

// maxIndexBytes is far longer than any log's index. A sparse file takes no space.
const maxIndexBytes = 16 << 20

// extendIndex makes the index long enough for the parts that are mapped, so that the
// connections can be closed. It reports whether the index was shorter.
func extendIndex(path string) bool {
	info, err := os.Stat(path + "-shm")
	return err == nil && info.Size() < maxIndexBytes && os.Truncate(path+"-shm", maxIndexBytes) == nil
}
