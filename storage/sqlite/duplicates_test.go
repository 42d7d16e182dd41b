package sqlite

import (
	"fmt"
	"path/filepath"
	"testing"

	"mayfly/engine"
)

const seer engine.SubqueueID = 7

// rowsOf returns rows of the table seen with one MessageId each.
func rowsOf(h engine.SubqueueID, from, to uint64) (rows []engine.SeenIDs) {
	for n := from; n <= to; n++ {
		rows = append(rows, engine.SeenIDs{Subqueue: h, N: n, At: engine.Instant(n), Digests: []engine.Digest{{byte(n), byte(n >> 8)}}})
	}
	return rows
}

// seeing opens a store in which the entity `seer` has this many rows of MessageIds, and another
// entity has three.
func seeing(t *testing.T, path string, rows uint64) *Store {
	t.Helper()
	s := openAt(t, path, Options{})
	mustCommit(t, s, &engine.Batch{
		Hard: true, Now: 1,
		Entities: []engine.Entity{{ID: seer, DeadLetterID: 8, Kind: engine.Queue, Path: "q"}, {ID: 9, Kind: engine.Topic, Path: "t"}},
		Seen:     append(rowsOf(seer, 1, rows), rowsOf(9, 1, 3)...),
	})
	return s
}

// sweepNever prevents s from sweeping until the store is closed.
func sweepNever(t *testing.T, s *Store) (stop func()) {
	t.Helper()
	s.sweeping.Lock()
	return func() {
		s.stop()
		s.sweeping.Unlock()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func numbersSeen(t *testing.T, s *Store, h engine.SubqueueID) (numbers []uint64) {
	t.Helper()
	for _, r := range loaded(t, s) {
		if v, ok := r.(engine.SeenIDs); ok && v.Subqueue == h {
			numbers = append(numbers, v.N)
		}
	}
	return numbers
}

func forgets(t *testing.T, s *Store, through uint64, see ...engine.SeenIDs) {
	t.Helper()
	mustCommit(t, s, &engine.Batch{Hard: true, Now: 2, DropSeen: []engine.SeenIDsThrough{{Subqueue: seer, N: through}}, Seen: see})
}

// TestOutdated drops more rows than a commit deletes: the dropped rows are invisible at once, in
// this process, the next one and the view, and are deleted from the file a limited number at a
// time.
func TestOutdated(t *testing.T) {
	const rows = 3*sweptSeen + 5
	path := filepath.Join(t.TempDir(), "store")
	s := seeing(t, path, rows)
	stop := sweepNever(t, s)
	left := func(want uint64) {
		t.Helper()
		if n := count(t, s, "seen WHERE holder = 7"); n != int64(want) {
			t.Errorf("%d rows are in the file, want %d", n, want)
		}
	}
	forgets(t, s, sweptSeen-1) // few enough for the commit to delete them
	left(rows - sweptSeen + 1)
	empty(t, s, "outdated")
	forgets(t, s, rows-2, rowsOf(seer, rows+1, rows+1)...)
	left(rows - 2*sweptSeen + 1 + 1)
	want := []uint64{rows - 1, rows, rows + 1}
	sameAs(t, "numbers", want, numbersSeen(t, s, seer))
	if n := count(t, s, "duplicate_history WHERE path = 'q'"); n != 3 {
		t.Errorf("people see %d rows", n)
	}
	forgets(t, s, rows-5) // all of these are outdated already
	sameAs(t, "numbers", want, numbersSeen(t, s, seer))
	forgets(t, s, rows-1) // while other rows are outdated
	sameAs(t, "numbers", want[1:], numbersSeen(t, s, seer))
	stop()

	s = openAt(t, path, Options{})
	sameAs(t, "numbers in the next process", want[1:], numbersSeen(t, s, seer))
	if err := s.sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	left(2)
	empty(t, s, "outdated")
	sameAs(t, "numbers after the sweep", want[1:], numbersSeen(t, s, seer))
	sameAs(t, "numbers of another", []uint64{1, 2, 3}, numbersSeen(t, s, 9))
}

// TestOutdatedBySlices checks that a large drop wakes the sweep.
func TestOutdatedBySlices(t *testing.T) {
	s := seeing(t, filepath.Join(t.TempDir(), "store"), sweptSeen)
	if err := s.sweep(t.Context()); err != nil { // nothing is left to sweep from the start
		t.Fatal(err)
	}
	for len(s.toSweep) > 0 {
		<-s.toSweep
	}
	s.sweeping.Lock()
	forgets(t, s, sweptSeen-1)
	if len(s.toSweep) != 0 || s.w.droppedLarge != 0 {
		t.Error("the sweep is woken although nothing is left to sweep")
	}
	forgets(t, s, sweptSeen)
	mustCommit(t, s, &engine.Batch{Hard: true, Now: 3, Seen: rowsOf(seer, sweptSeen+1, 2*sweptSeen)})
	forgets(t, s, 2*sweptSeen)
	if s.w.droppedLarge != 1 {
		t.Errorf("the sweep was woken %d times", s.w.droppedLarge)
	}
	s.sweeping.Unlock()
	if err := s.sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	empty(t, s, "outdated", "seen WHERE holder = 7")
}

// TestNumbersAreReused uses numbers again while former rows with higher numbers are still in the
// file, as the next process does, or a broker after the rollback of a batch: only the new rows
// exist.
func TestNumbersAreReused(t *testing.T) {
	for _, first := range []uint64{1, 5, 3 * sweptSeen} {
		t.Run(fmt.Sprint(first), func(t *testing.T) {
			s := seeing(t, filepath.Join(t.TempDir(), "store"), 3*sweptSeen)
			stop := sweepNever(t, s)
			forgets(t, s, 3*sweptSeen)
			if n := count(t, s, "seen WHERE holder = 7"); n == 0 {
				t.Fatal("no outdated rows are left in the file")
			}
			mustCommit(t, s, &engine.Batch{Hard: true, Now: 3, Seen: rowsOf(seer, first, first+1)})
			sameAs(t, "numbers", []uint64{first, first + 1}, numbersSeen(t, s, seer))
			if n := count(t, s, "seen WHERE holder = 7"); n != 2 {
				t.Errorf("%d rows are in the file", n)
			}
			empty(t, s, "outdated")
			stop()
		})
	}
}

// TestNumbersBeyond drops the rows of an entity up to the highest possible number: all of them are
// dropped, and none of another entity.
func TestNumbersBeyond(t *testing.T) {
	s := seeing(t, filepath.Join(t.TempDir(), "store"), 3)
	forgets(t, s, ^uint64(0))
	sameAs(t, "numbers", []uint64(nil), numbersSeen(t, s, seer))
	sameAs(t, "numbers of another", []uint64{1, 2, 3}, numbersSeen(t, s, 9))
}

// TestTornDigests reads a row whose digests were shortened by a byte: Load returns an error that
// names the row.
func TestTornDigests(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	seeing(t, path, 3).Close()
	raw(t, path, "UPDATE seen SET digests = substr(digests, 2), sum = mayfly_sum('seen', holder, n, at, substr(digests, 2)) WHERE holder = 7 AND at = 2")
	s := openAt(t, path, Options{})
	var err error
	for _, err = range s.Load(t.Context()) {
		if err != nil {
			break
		}
	}
	if want := "load: what was seen at 7 as number 2: 15 bytes are not a whole number of digests"; err == nil || err.Error() != want {
		t.Errorf("%v; want %q", err, want)
	}
}

// TestCompactSweepsOutdated checks that Compact frees the space of dropped MessageIds.
func TestCompactSweepsOutdated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	s := openAt(t, path, Options{})
	b := &engine.Batch{Hard: true, Now: 1, Entities: []engine.Entity{{ID: seer, Kind: engine.Topic, Path: "t"}}}
	for n := range uint64(2 * sweptSeen) {
		b.Seen = append(b.Seen, engine.SeenIDs{Subqueue: seer, N: n + 1, At: 1, Digests: make([]engine.Digest, 500)})
	}
	mustCommit(t, s, b)
	stop := sweepNever(t, s)
	forgets(t, s, 2*sweptSeen-1)
	stop()
	before, after, err := Compact(t.Context(), path, Options{})
	if err != nil || before < 2*sweptSeen*500*16 || after > 1<<20 {
		t.Errorf("from %d to %d, %v", before, after, err)
	}
	sameAs(t, "numbers", []uint64{2 * sweptSeen}, numbersSeen(t, openAt(t, path, Options{}), seer))
}
