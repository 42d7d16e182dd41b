package sqlite

import (
	"errors"
	"io/fs"
	"syscall"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

// A disk is the system's files for SQLite, with one thing added: a write that
// the system refused because there is no room, or no permission, says so with
// SQLite's own code for it. Without that every failed write is an I/O error,
// whose cause is forgotten before a statement returns.
type disk struct{ vfs.VFSFilename }

const diskName = "mayfly"

// register makes the disk known to SQLite; to do so again changes nothing.
func register() string {
	if files, ok := vfs.Find("").(vfs.VFSFilename); ok {
		vfs.Register(diskName, disk{files})
	}
	return diskName
}

// osFile is what a file of the system is to SQLite.
type osFile interface {
	vfs.FileSharedMemory
	vfs.FileSizeHint
	vfs.FileHasMoved
	vfs.FileLockState
	vfs.FilePersistWAL
	vfs.FilePowersafeOverwrite
}

func (d disk) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	f, flags, err := d.VFSFilename.OpenFilename(name, flags)
	if err != nil {
		return nil, flags, because(err)
	}
	if f, ok := f.(osFile); ok {
		return diskFile{f}, flags, nil
	}
	return f, flags, nil
}

type diskFile struct{ osFile }

func (f diskFile) WriteAt(p []byte, off int64) (int, error) {
	n, err := f.osFile.WriteAt(p, off)
	return n, because(err)
}

func (f diskFile) Truncate(size int64) error { return because(f.osFile.Truncate(size)) }

// DeviceCharacteristics leaves out the atomic writes of f2fs, which a log has
// no use for.
func (f diskFile) DeviceCharacteristics() vfs.DeviceCharacteristic {
	return f.osFile.DeviceCharacteristics() &^ vfs.IOCAP_BATCH_ATOMIC
}

// because tags err with SQLite's code for its cause, if it is one of these.
func because(err error) error {
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
