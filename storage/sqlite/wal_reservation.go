package sqlite

import (
	"encoding/binary"

	"github.com/ncruces/go-sqlite3/vfs"
)

// SQLite writes frames to a log: each is a header of frameHeader bytes and a page of at least
// minPageBytes.
const (
	frameHeader  = 24
	minPageBytes = 512
)

const growthStep = 1 << 20 // bytes by which a store grows at once, if there is space

// A spaceReservation reserves space in the store for new pages when a commit writes them to the
// log, not when they are moved to the store. So a full disk refuses the commit, and a committed
// page always fits. On a file system that cannot reserve space for a file, the store only grows
// in length.
type spaceReservation struct {
	store vfs.FileSizeHint // nil if it cannot be made longer
	size  *fileSize        // of the store
	pages int64            // of the store after the commit whose last page is written next; 0 if the next page is not a commit's last
}

// beforeWrite is called before p is written to the log.
func (g *spaceReservation) beforeWrite(p []byte) error {
	switch {
	case len(p) == frameHeader:
		g.pages = int64(binary.BigEndian.Uint32(p[4:])) // 0 unless it is the last page of a commit
	case len(p) >= minPageBytes && g.pages > 0 && g.store != nil:
		size := g.pages * int64(len(p))
		g.pages = 0
		return g.reserve(size)
	}
	return nil
}

// reserve makes the store at least size bytes long. It takes more at once if it can, because each
// growth costs the commit a metadata change on disk.
func (g *spaceReservation) reserve(size int64) error {
	if g.size.require(size) {
		return nil
	}
	if g.store.SizeHint((size+growthStep-1)/growthStep*growthStep) != nil {
		if err := g.store.SizeHint(size); err != nil {
			g.size.require(0)
			return err
		}
	}
	return g.size.recordReserved(g.store)
}

// sizeHinter returns f, or the file that it wraps, if that can be made longer, or nil if not.
func sizeHinter(f vfs.File) vfs.FileSizeHint {
	for {
		switch is := f.(type) {
		case vfs.FileSizeHint:
			return is
		case vfs.FileUnwrap:
			f = is.Unwrap()
		default:
			return nil
		}
	}
}
