package storetest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mayfly/engine"
)

// onDisk returns an empty disk and a function that opens a store on it.
func onDisk(t *testing.T, f Files) (*Disk, func() engine.Store) {
	t.Helper()
	if f.OnDisk == nil {
		t.Fatal("Files.OnDisk is missing: a durable store is tested on a full disk")
	}
	d := NewDisk(t, f.Index)
	o := f.OnDisk(t, d.Grow)
	return d, func() engine.Store {
		t.Helper()
		return open(t, func(ctx context.Context) (engine.Store, error) { return o(ctx, d.Path) })
	}
}

// testDiskFillsUp fills the disk while the store is open. Sending must be refused until there is
// space, receiving and deleting must go on, and no acknowledged message may be lost.
func testDiskFillsUp(t *testing.T, f Files) {
	d, o := onDisk(t, f)
	s := o()
	batches := d.FillWithBatches(t, s)
	CheckDiskFull(t, s)
	if !acceptsDrops(t, s) {
		t.Error("AcceptsDrops is false on a full disk")
	}
	d.LeaveNoRoom(t)
	sent := append(deleteUntilSent(t, s, batches), 3000)
	d.MakeRoom()
	commit(t, s, SendBatch(3000))
	CheckBatches(t, s, sent...)
	closeStore(t, s)
	CheckBatches(t, o(), sent...)
}

// testStartOnFullDisk opens a store that was closed, or whose server was killed, on a disk without
// free space. It must have all acknowledged messages, refuse others, and accept deletions.
func testStartOnFullDisk(t *testing.T, f Files) {
	for name, leave := range map[string]func(t *testing.T, d *Disk, s engine.Store){
		"closed": func(t *testing.T, _ *Disk, s engine.Store) { closeStore(t, s) },
		"killed": simulateKill,
	} {
		t.Run(name, func(t *testing.T) {
			d, o := onDisk(t, f)
			s := o()
			batches := d.FillWithBatches(t, s)
			leave(t, d, s)
			d.LeaveNoRoom(t)
			s = o()
			CheckBatches(t, s, intRange(0, batches)...)
			CheckDiskFull(t, s)
			if !acceptsDrops(t, s) {
				t.Error("AcceptsDrops is false on a full disk")
			}
			sent := deleteUntilSent(t, s, batches)
			closeStore(t, s)
			d.LeaveNoRoom(t)
			s = o() // opened once more
			CheckBatches(t, s, sent...)
			commit(t, s, DeleteBatch(sent[0]))
			CheckBatches(t, s, sent[1:]...)
		})
	}
}

// simulateKill closes s and restores its files as they were before, as a killed server would
// leave them.
func simulateKill(t *testing.T, d *Disk, s engine.Store) {
	t.Helper()
	dir := filepath.Dir(d.Path)
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, e := range all {
		if files[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	d.MakeRoom()
	closeStore(t, s)
	for name, bytes := range files {
		if d.index != "" && strings.HasSuffix(name, d.index) { // the index can be rebuilt
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), bytes, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// deleteUntilSent receives from a store on a full disk that has so many batches, and deletes
// one batch after another until the store accepts a new one. Then it sends until the disk is
// full again, and deletes once more. It returns which batches the store has.
func deleteUntilSent(t *testing.T, s engine.Store, batches int) (sent []int) {
	t.Helper()
	gone := 0
	for ; gone < batches; gone++ {
		if err := s.Commit(t.Context(), ReceiveBatch(gone)); err != nil {
			t.Fatalf("receive from batch %d of %d: %v", gone, batches, err)
		}
		if err := s.Commit(t.Context(), DeleteBatch(gone)); err != nil {
			t.Fatalf("delete batch %d of %d: %v", gone, batches, err)
		}
		if gone%8 == 0 {
			CheckBatches(t, s, intRange(gone+1, batches)...)
		}
		if s.Commit(t.Context(), SendBatch(1000)) == nil {
			break
		}
	}
	if gone == batches {
		t.Fatal("nothing can be sent, although all batches were deleted")
	}
	t.Logf("%d of %d batches were deleted before a new one was accepted", gone+1, batches)
	end := 1001
	for ; s.Commit(t.Context(), SendBatch(end)) == nil; end++ {
	}
	CheckDiskFull(t, s)
	CheckBatches(t, s, append(intRange(gone+1, batches), intRange(1000, end)...)...)
	if err := s.Commit(t.Context(), DeleteBatch(1000)); err != nil {
		t.Errorf("delete when the disk is full a second time: %v", err)
	}
	return append(intRange(gone+1, batches), intRange(1001, end)...)
}
