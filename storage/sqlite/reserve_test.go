package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"mayfly/engine"
	"mayfly/storage/storetest"
)

// newSmallDisk returns a disk of limited size, and the name of its VFS.
func newSmallDisk(t *testing.T) (d *storetest.Disk, name string) {
	t.Helper()
	d = storetest.NewDisk(t, "-shm")
	files := newFaultyFS(t)
	files.grows = d.Grow
	return d, files.name
}

func upTo(batches int) (numbers []int) {
	for n := range batches {
		numbers = append(numbers, n)
	}
	return numbers
}

// TestReserve opens a store that was closed on a full disk: the reserve beside it is given up
// to open the store, and renewed in full size when the disk has room.
func TestReserve(t *testing.T) {
	d, disk := newSmallDisk(t)
	s := openAt(t, d.Path, Options{disk: disk})
	d.FillWithBatches(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if !hasReserve(t, d.Path) {
		t.Error("there is no reserve for the next start")
	}
	d.LeaveNoRoom(t)
	s = openAt(t, d.Path, Options{disk: disk})
	if !s.AcceptsDrops() {
		t.Error("AcceptsDrops is false although the disk is full")
	}
	if hasReserve(t, d.Path) {
		t.Error("the reserve was not given up")
	}
	d.MakeRoom()
	s.renewReserve()
	if s.AcceptsDrops() {
		t.Error("AcceptsDrops is true although the disk has room")
	}
	if info, err := os.Stat(d.Path + "-reserve"); err != nil || info.Size() != reserveSize {
		t.Errorf("the reserve: %v, %v", info, err)
	}
}

func hasReserve(t *testing.T, path string) bool {
	t.Helper()
	_, err := os.Stat(path + "-reserve")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}

// TestFullWithShortLog checks that all messages can be deleted from a store whose log has no free
// room when the disk becomes full. The deletes fit into the reserve only if the log is moved into
// the store repeatedly.
func TestFullWithShortLog(t *testing.T) {
	d, disk := newSmallDisk(t)
	s := openAt(t, d.Path, Options{disk: disk})
	const batches = 60
	for n := range batches {
		mustCommit(t, s, storetest.SendBatch(n))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, d.Path, Options{disk: disk})
	d.LeaveNoRoom(t)
	storetest.CheckDiskFull(t, s)
	for n := range batches {
		if err := s.Commit(t.Context(), storetest.DeleteBatch(n)); err != nil {
			t.Fatalf("delete batch %d: %v", n, err)
		}
	}
	storetest.CheckBatches(t, s)
	mustCommit(t, s, storetest.SendBatch(1000))
}

// TestStartWithoutReserve opens a store on a full disk without a reserve: it can only be read
// until the disk has room.
func TestStartWithoutReserve(t *testing.T) {
	d, disk := newSmallDisk(t)
	s := openAt(t, d.Path, Options{disk: disk})
	batches := d.FillWithBatches(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(d.Path + "-reserve"); err != nil {
		t.Fatal(err)
	}
	d.LeaveNoRoom(t)
	s = openAt(t, d.Path, Options{disk: disk})
	if s.tempIndexDir == "" {
		t.Fatal("the store is not read-only")
	}
	if err := <-s.WriteFailure(); !errors.Is(err, engine.ErrUnwritable) || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("WriteFailure: %v; want ErrUnwritable and the reason", err)
	}
	storetest.CheckBatches(t, s, upTo(batches)...)
	storetest.CheckDiskFull(t, s)
	if err := s.Commit(t.Context(), storetest.DeleteBatch(0)); !errors.Is(err, engine.ErrUnwritable) {
		t.Errorf("a deletion: %v; want ErrUnwritable", err)
	}
	d.MakeRoom()
	if err := s.Commit(t.Context(), storetest.DeleteBatch(0)); err == nil || errors.Is(err, engine.ErrUnwritable) {
		t.Errorf("a deletion when the disk has room: %v; want an error after which the store is opened again", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, d.Path, Options{disk: disk})
	mustCommit(t, s, storetest.DeleteBatch(0))
	mustCommit(t, s, storetest.SendBatch(2000))
}

// TestCommittedFits moves a log into the store on a disk that was full when the last commit was
// refused: everything that was committed fits.
func TestCommittedFits(t *testing.T) {
	d, disk := newSmallDisk(t)
	s := openAt(t, d.Path, Options{disk: disk})
	reader, err := s.connect(reading) // prevents the log from being moved
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(reader.Exec("BEGIN"), reader.Exec("SELECT * FROM store")); err != nil {
		t.Fatal(err)
	}
	batches := d.FillWithBatches(t, s)
	d.LeaveNoRoom(t)
	if err := errors.Join(reader.Exec("ROLLBACK"), reader.Close()); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.w.c.WALCheckpoint("main", 0); err != nil {
		t.Errorf("the log does not fit into the store: %v", err)
	}
	storetest.CheckBatches(t, s, upTo(batches)...)
}

// TestStartWithDamageOnFull opens a damaged store on a full disk: the reserve would not help,
// and is kept.
func TestStartWithDamageOnFull(t *testing.T) {
	d, disk := newSmallDisk(t)
	s := openAt(t, d.Path, Options{disk: disk})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	raw(t, d.Path, "INSERT INTO dropped (holder, sum) VALUES (7, 1)")
	d.LeaveNoRoom(t)
	if _, err := Open(t.Context(), d.Path, Options{disk: disk}); !errors.Is(err, engine.ErrDamaged) {
		t.Errorf("Open: %v; want ErrDamaged", err)
	}
	if !hasReserve(t, d.Path) {
		t.Error("the reserve was given up")
	}
}

// TestStartTwiceOnFull makes the second attempt to open the store, with the space of the
// reserve, fail too, because the log disappears. The store is opened read-only, and the reserve
// is kept.
func TestStartTwiceOnFull(t *testing.T) {
	d := storetest.NewDisk(t, "-shm")
	files := newFaultyFS(t)
	files.grows = d.Grow
	s := openAt(t, d.Path, Options{disk: files.name})
	mustCommit(t, s, storetest.SendBatch(0))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	d.LeaveNoRoom(t)
	removed := false
	files.on(func(op operation) error {
		if op.flush && op.log && !removed {
			if _, err := os.Stat(d.Path + "-reserve"); err != nil {
				removed = true
				return os.Remove(d.Path + "-wal")
			}
		}
		return nil
	})
	s = openAt(t, d.Path, Options{disk: files.name})
	if !removed || s.tempIndexDir == "" || len(s.files) != 2 {
		t.Errorf("the log is removed: %v; read-only: %v; %d files are watched; want both, and 2", removed, s.tempIndexDir != "", len(s.files))
	}
	if !hasReserve(t, d.Path) {
		t.Error("the reserve was given up")
	}
}

// TestReserveGrows renews a small reserve on a disk that has no room for one of full size: the
// small one is kept.
func TestReserveGrows(t *testing.T) {
	d, disk := newSmallDisk(t)
	s := openAt(t, d.Path, Options{disk: disk})
	if err := os.Truncate(d.Path+"-reserve", minFreeBytes); err != nil {
		t.Fatal(err)
	}
	d.LeaveNoRoom(t)
	s.renewReserve()
	if info, err := os.Stat(d.Path + "-reserve"); err != nil || info.Size() != minFreeBytes {
		t.Errorf("on a full disk the small reserve is: %v, %v", info, err)
	}
	d.MakeRoom()
	s.renewReserve()
	if info, err := os.Stat(d.Path + "-reserve"); err != nil || info.Size() != reserveSize {
		t.Errorf("on a disk with room the reserve is: %v, %v", info, err)
	}
}

// TestFullDeletion refuses a deletion on a full disk, with SQLite's reason and without the hint
// that messages can be deleted.
func TestFullDeletion(t *testing.T) {
	files := newFaultyFS(t)
	s := openAt(t, filepath.Join(t.TempDir(), "store"), Options{disk: files.name})
	mustCommit(t, s, storetest.SendBatch(0))
	files.on(func(op operation) error {
		if op.flush {
			return nil
		}
		return syscall.ENOSPC
	})
	err := s.Commit(t.Context(), storetest.DeleteBatch(0))
	if !errors.Is(err, engine.ErrUnwritable) || strings.Contains(err.Error(), "can still") || !errors.Is(err, sqlite3.FULL) {
		t.Errorf("a deletion: %v", err)
	}
	if err := s.Commit(t.Context(), storetest.SendBatch(1)); !errors.Is(err, errTight) {
		t.Errorf("a send: %v; want %v", err, errTight)
	}
}

// TestCommittedStaysTaken moves the log into the store while a commit that makes the store
// longer is being written to the log: the space that was reserved for the commit is kept.
func TestCommittedStaysTaken(t *testing.T) {
	files := newFaultyFS(t)
	var during func(n int64)
	files.grows = func(n int64) error {
		if during != nil {
			during(n)
		}
		return nil
	}
	path := filepath.Join(t.TempDir(), "store")
	s := openAt(t, path, Options{disk: files.name})
	mustCommit(t, s, storetest.SendBatch(0))
	c, err := s.connect(forCheckpoint)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	size := func() int64 {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	last, moved := size(), false
	during = func(int64) {
		before := last
		if last = size(); last > before { // the space is reserved, and the last page is being written
			during, moved = nil, true
			if _, _, err := c.WALCheckpoint("main", sqlite3.CHECKPOINT_PASSIVE); err != nil {
				t.Error(err)
			}
		}
	}
	for i := 1; i < 100 && !moved; i++ {
		mustCommit(t, s, storetest.SendBatch(i))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	want, err := number(s.w.c, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
	if err != nil || !moved || size() < want {
		t.Errorf("the log is moved: %v; the store has %d bytes and needs %d, %v", moved, size(), want, err)
	}
}
