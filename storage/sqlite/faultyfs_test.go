package sqlite

import (
	"bytes"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ncruces/go-sqlite3/vfs"

	"mayfly/engine"
)

// A faultyFS is the system's files, with a say in each write and flush.
type faultyFS struct {
	vfs.VFSFilename
	name string

	mu   sync.Mutex
	hook func(op operation) error // guarded by mu
}

type operation struct {
	flush bool // a flush, else a write
	log   bool // of the log, else of the file itself
	size  int
}

var faultyFiles atomic.Int64

func newFaultyFS(t *testing.T) *faultyFS {
	f := &faultyFS{VFSFilename: vfs.Find("").(vfs.VFSFilename), name: fmt.Sprint("faulty", faultyFiles.Add(1))}
	vfs.Register(f.name, disk{f})
	t.Cleanup(func() { vfs.Unregister(f.name) })
	return f
}

// on calls hook for every operation; its error is what comes of it.
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
	return f.osFile.WriteAt(p, off)
}

func (f *faultyFile) Sync(flags vfs.SyncFlag) error {
	if err := f.fs.ask(operation{flush: true, log: f.log}); err != nil {
		return err
	}
	return f.osFile.Sync(flags)
}

// batchOf is n messages in a queue of their own, from key on, with bodies. The
// queue has seen them, and a session has the first key as its state.
func batchOf(key engine.Key, n int) *engine.Batch {
	b := &engine.Batch{Hard: true, Now: engine.Instant(key), Entities: []engine.Entity{{ID: 7, Kind: engine.Queue, Path: "q"}}}
	b.Sessions = []engine.Session{{Holder: 7, ID: "first", State: fmt.Sprint(key)}}
	b.Seen = []engine.Seen{{Holder: 7, N: uint64(key), At: b.Now}}
	for k := key; k < key+engine.Key(n); k++ {
		b.Seen[0].Digests = append(b.Seen[0].Digests, digestOf(k))
		b.Messages = append(b.Messages, engine.Message{Key: k, Content: k, Holder: 7, Seq: engine.Seq(k)})
		b.Contents = append(b.Contents, engine.StoredContent{Key: k, Content: "c"})
		b.Bodies = append(b.Bodies, engine.Body{Key: k, Bytes: bytes.Repeat([]byte{byte(k)}, 1000)})
	}
	return b
}

func digestOf(k engine.Key) engine.Digest { return engine.Digest{byte(k), byte(k >> 8), byte(k >> 16)} }
