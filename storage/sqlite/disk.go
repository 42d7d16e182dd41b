package sqlite

import (
	crand "crypto/rand"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

// A disk is SQLite's file system for the system's files, with three additions. A write that the
// system refused for lack of space or permission returns SQLite's own code for that. Without it
// every failed write is an I/O error, whose cause is lost before a statement returns. A new file
// is readable by its owner alone, because messages are private. And the disk records the length
// that each file must have according to what was written to it, so that the store notices when
// another program truncates a file.
type disk struct {
	vfs.VFSFilename
	lengths *fileSizes
}

func newDisk(files vfs.VFSFilename) disk { return disk{files, &fileSizes{}} }

const diskName = "mayfly"

// register registers the disk with SQLite; further calls change nothing.
func register() string {
	_, known := vfs.Find(diskName).(disk)
	if files, ok := vfs.Find("").(vfs.VFSFilename); ok && !known {
		vfs.Register(diskName, newDisk(files))
	}
	return diskName
}

// osFile is the interface that SQLite uses for a file of the system.
type osFile interface {
	vfs.FileSharedMemory
	vfs.FileSizeHint
	vfs.FileHasMoved
	vfs.FileLockState
	vfs.FilePersistWAL
	vfs.FilePowersafeOverwrite
}

func (d disk) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	makePrivate(name, flags)
	f, flags, err := d.VFSFilename.OpenFilename(name, flags)
	if err != nil {
		return nil, flags, wrapDiskError(err)
	}
	if f, ok := f.(osFile); ok {
		if name == nil {
			return diskFile{osFile: f}, flags, nil
		}
		mine := diskFile{osFile: f, size: d.lengths.get(name.String())}
		if flags&vfs.OPEN_WAL != 0 {
			mine.reservation = &spaceReservation{store: sizeHinter(name.DatabaseFile()), size: d.lengths.get(name.Database())}
		}
		return mine, flags, nil
	}
	return f, flags, nil
}

// errTruncated is the error of Delete for the log of a store that was truncated.
var errTruncated = errors.New("the store was truncated: its write-ahead log is kept")

// Delete deletes a file, but not the log of a store that another program has truncated. A
// connection that finds the store empty would delete the log as the leftover of an
// earlier store, and with it acknowledged commits.
func (d disk) Delete(name string, syncDir bool) error {
	if db, ok := strings.CutSuffix(name, "-wal"); ok {
		is, err := os.Stat(db)
		log, errLog := os.Stat(name)
		if err == nil && errLog == nil && log.Size() > 0 && is.Size() < d.lengths.get(db).minimum.Load() {
			return vfs.SystemError(errTruncated, sqlite3.IOERR_DELETE)
		}
	}
	return d.VFSFilename.Delete(name, syncDir)
}

// A filler is a disk for tests that also limits the files which SQLite does not write.
type filler interface {
	fill(path string, size int) error
}

// fill creates a file of size random bytes, which no file system can compress. If that fails,
// it leaves no file.
func (d disk) fill(path string, size int) error {
	if under, ok := d.VFSFilename.(filler); ok {
		return under.fill(path, size)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	var seed [32]byte // not fixed: a file system may keep equal blocks only once
	_, _ = crand.Read(seed[:])
	_, err = io.CopyN(f, rand.NewChaCha8(seed), int64(size))
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// makePrivate creates the file that is about to be opened, if it does not exist: a database
// readable by its owner alone, the log and its index with the database's permissions. A file
// that cannot be created here fails when it is opened.
func makePrivate(name *vfs.Filename, flags vfs.OpenFlag) {
	if name.String() == "" || flags&vfs.OPEN_CREATE == 0 || flags&vfs.OPEN_EXCLUSIVE != 0 {
		return
	}
	mode := fs.FileMode(0o600)
	if flags&vfs.OPEN_MAIN_DB == 0 {
		if main, err := os.Stat(name.Database()); err == nil {
			mode = main.Mode().Perm()
		}
	}
	made := []string{name.String()}
	if flags&vfs.OPEN_WAL != 0 { // SQLite opens the index after the log
		made = append(made, name.Database()+"-shm")
	}
	for _, path := range made {
		if f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode); err == nil {
			_ = f.Close() //nolint:errcheck // nothing was written
		}
	}
}

type diskFile struct {
	osFile
	size        *fileSize         // nil if it is not recorded
	reservation *spaceReservation // of a log; nil for any other file
}

func (f diskFile) WriteAt(p []byte, off int64) (int, error) {
	if f.size != nil && off > 0 && off >= f.size.minimum.Load() {
		f.detectTruncation()
	}
	if f.reservation != nil {
		if err := f.reservation.beforeWrite(p); err != nil {
			return 0, wrapDiskError(err)
		}
	}
	n, err := f.osFile.WriteAt(p, off)
	if err == nil && f.size != nil {
		f.size.recordWritten(off + int64(n))
	}
	return n, wrapDiskError(err)
}

// detectTruncation records whether another program has truncated the file. It is called before
// the file becomes longer, which would hide that.
func (f diskFile) detectTruncation() {
	f.size.mu.Lock()
	defer f.size.mu.Unlock()
	if size, err := f.Size(); err == nil && size < f.size.minimum.Load() {
		f.size.truncated.Store(true)
	}
}

// SizeHint makes the file size bytes long, if it is shorter.
func (f diskFile) SizeHint(size int64) error {
	if f.size != nil {
		f.detectTruncation()
	}
	return wrapDiskError(f.osFile.SizeHint(size))
}

// Truncate makes the file size bytes long, but keeps the space that was reserved for a commit
// which another connection is writing to the log: a concurrent checkpoint does not see that
// commit yet.
func (f diskFile) Truncate(size int64) error {
	if f.size != nil {
		f.size.mu.Lock()
		defer f.size.mu.Unlock()
		if size < f.size.needed {
			is, err := f.Size()
			if err != nil {
				return wrapDiskError(err)
			}
			size = max(size, min(is, f.size.needed))
		}
	}
	err := f.osFile.Truncate(size)
	if err == nil && f.size != nil {
		f.size.minimum.Store(size)
		f.size.reserved = size
	}
	return wrapDiskError(err)
}

// DeviceCharacteristics omits the atomic writes of f2fs, which a log does not use.
func (f diskFile) DeviceCharacteristics() vfs.DeviceCharacteristic {
	return f.osFile.DeviceCharacteristics() &^ vfs.IOCAP_BATCH_ATOMIC
}

// fileSizes holds the length of each file that was opened, by path.
type fileSizes struct{ byPath sync.Map }

func (l *fileSizes) get(path string) *fileSize {
	n, _ := l.byPath.LoadOrStore(path, new(fileSize))
	return n.(*fileSize) //nolint:forcetypeassert // it holds only *fileSize
}

// reset sets the lengths recorded for a file to zero.
func (l *fileSizes) reset(path string) {
	n := l.get(path)
	n.mu.Lock()
	n.needed, n.reserved = 0, 0
	n.mu.Unlock()
	n.minimum.Store(0)
	n.truncated.Store(false)
}

// A fileSize is the minimal length of a file, according to what was written through the disk.
// Truncate lowers it with mu held.
type fileSize struct {
	mu        sync.Mutex
	needed    int64 // guarded by mu; length that the last commit written to the log needs
	reserved  int64 // guarded by mu; length reserved for commits
	minimum   atomic.Int64
	truncated atomic.Bool // another program made the file shorter, and it has grown again since
}

// require makes Truncate leave the file at least size bytes long. It reports whether that
// length is reserved already.
func (l *fileSize) require(size int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.needed = size
	return size <= l.reserved
}

// recordReserved records the current length of f as reserved. It measures f, because Truncate may
// have made it shorter since space was reserved.
func (l *fileSize) recordReserved(f vfs.File) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	size, err := f.Size()
	if err != nil {
		return wrapDiskError(err)
	}
	l.reserved = size
	return nil
}

func (l *fileSize) recordWritten(end int64) {
	for {
		was := l.minimum.Load()
		if end <= was || l.minimum.CompareAndSwap(was, end) {
			return
		}
	}
}

// isFull reports whether err means that the disk is full.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, sqlite3.FULL)
}

// wrapDiskError wraps an error about space or permission in SQLite's code for that, and returns
// any other error unchanged.
func wrapDiskError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG):
		return vfs.SystemError(err, sqlite3.FULL)
	case errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrPermission):
		return vfs.SystemError(err, sqlite3.READONLY)
	default:
		return err
	}
}
