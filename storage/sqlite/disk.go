package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

// A disk is the system's files for SQLite, with two things added. A write that
// the system refused because there is no room, or no permission, says so with
// SQLite's own code for it. Without that every failed write is an I/O error,
// whose cause is forgotten before a statement returns. And a new file is its
// owner's alone: messages are nobody else's business.
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
	makePrivate(name, flags)
	f, flags, err := d.VFSFilename.OpenFilename(name, flags)
	if err != nil {
		return nil, flags, because(err)
	}
	if f, ok := f.(osFile); ok {
		return diskFile{f}, flags, nil
	}
	return f, flags, nil
}

// makePrivate makes the file that is to be opened, if it is not there yet: a
// database for its owner alone, the log and its index for whom the database is
// for. What cannot be made here fails when it is opened.
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
	if flags&vfs.OPEN_WAL != 0 { // SQLite comes to the index after the log
		made = append(made, name.Database()+"-shm")
	}
	for _, path := range made {
		if f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode); err == nil {
			_ = f.Close() //nolint:errcheck // nothing was written
		}
	}
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
