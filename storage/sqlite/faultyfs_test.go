package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ncruces/go-sqlite3/vfs"

	"mayfly/engine"
)

// A faultyFS is the system's file system with a hook for each write and flush.
type faultyFS struct {
	vfs.VFSFilename
	name string

	// grows, unless nil, is called before a file becomes n bytes longer. Set it before the
	// first file is opened.
	grows func(n int64) error

	mu   sync.Mutex
	hook func(op operation) error // guarded by mu
}

type operation struct {
	flush bool // a flush, otherwise a write
	log   bool // of the log, otherwise of the file itself
	size  int
}

var faultyFiles atomic.Int64

func newFaultyFS(t *testing.T) *faultyFS {
	f := &faultyFS{VFSFilename: vfs.Find("").(vfs.VFSFilename), name: fmt.Sprint("faulty", faultyFiles.Add(1))}
	vfs.Register(f.name, newDisk(f))
	t.Cleanup(func() { vfs.Unregister(f.name) })
	return f
}

// on makes every write and flush call hook first, and fail with the error that it returns. nil
// removes the hook.
func (f *faultyFS) on(hook func(op operation) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hook = hook
}

func (f *faultyFS) ask(op operation) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.hook == nil {
		return nil
	}
	return f.hook(op)
}

func (f *faultyFS) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	file, flags, err := f.VFSFilename.OpenFilename(name, flags)
	if err != nil {
		return nil, flags, err
	}
	return &faultyFile{file.(osFile), f, flags&vfs.OPEN_WAL != 0}, flags, nil
}

type faultyFile struct {
	osFile
	fs  *faultyFS
	log bool
}

func (f *faultyFile) WriteAt(p []byte, off int64) (int, error) {
	if err := f.fs.ask(operation{log: f.log, size: len(p)}); err != nil {
		return 0, err
	}
	if err := f.longer(off + int64(len(p))); err != nil {
		return 0, err
	}
	return f.osFile.WriteAt(p, off)
}

// longer calls grows if the file is to become size bytes long.
func (f *faultyFile) longer(size int64) error {
	if f.fs.grows == nil {
		return nil
	}
	has, err := f.Size()
	if err != nil || size <= has {
		return err
	}
	return f.fs.grows(size - has)
}

func (f *faultyFile) SizeHint(size int64) error {
	if err := f.longer(size); err != nil {
		return err
	}
	return f.osFile.SizeHint(size)
}

// fill replaces the file at path by size zero bytes. If there is no room for them, it removes the
// file and returns an error.
func (f *faultyFS) fill(path string, size int) error {
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		return err
	}
	if f.grows != nil {
		if err := f.grows(int64(size)); err != nil {
			return errors.Join(err, os.Remove(path))
		}
	}
	return os.WriteFile(path, make([]byte, size), 0o600)
}

func (f *faultyFile) Sync(flags vfs.SyncFlag) error {
	if err := f.fs.ask(operation{flush: true, log: f.log}); err != nil {
		return err
	}
	return f.osFile.Sync(flags)
}

// batchOf returns n messages of one queue, with keys from key on and with bodies. The queue
// remembers their MessageIds, and a session has the first key as its state.
func batchOf(key engine.Key, n int) *engine.Batch {
	b := &engine.Batch{Hard: true, Now: engine.Instant(key), Entities: []engine.Entity{{ID: 7, Kind: engine.Queue, Path: "q"}}}
	b.Sessions = []engine.SessionRecord{{Subqueue: 7, ID: "first", State: fmt.Sprint(key)}}
	b.Seen = []engine.SeenIDs{{Subqueue: 7, N: uint64(key), At: b.Now}}
	for k := key; k < key+engine.Key(n); k++ {
		b.Seen[0].Digests = append(b.Seen[0].Digests, digestOf(k))
		b.Messages = append(b.Messages, engine.Message{Key: k, Content: k, Subqueue: 7, Seq: engine.Seq(k)})
		b.Contents = append(b.Contents, engine.StoredContent{Key: k, Content: "c"})
		b.Bodies = append(b.Bodies, engine.Body{Key: k, Bytes: bytes.Repeat([]byte{byte(k)}, 1000)})
	}
	return b
}

func digestOf(k engine.Key) engine.Digest { return engine.Digest{byte(k), byte(k >> 8), byte(k >> 16)} }
