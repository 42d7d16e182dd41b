package engine

import (
	"encoding/binary"
	"testing"
	"time"
)

func detecting(t testing.TB, window time.Duration) (*Namespace, *entity) {
	t.Helper()
	ns := New(Options{Limits: DefaultLimits(), Keys: NewKeys(1), Nonce: func() uint64 { return 1 }})
	if _, err := ns.Create(1_000_000, Queue, "q", Config{RequiresDuplicateDetection: true, DuplicateDetectionHistoryTimeWindow: window}, ""); err != nil {
		t.Fatal(err)
	}
	return ns, ns.entities["q"]
}

func digest(n int) (d Digest) {
	binary.BigEndian.PutUint64(d[:], uint64(n)*0x9e3779b97f4a7c15)
	binary.BigEndian.PutUint64(d[8:], uint64(n)+1)
	return d
}

// However long a namespace runs, there are at most five generations, and with a sweeper they
// cover a window and a quarter.
func TestGenerations(t *testing.T) {
	ns, e := detecting(t, time.Minute)
	now := Instant(1_000_000)
	for i := range 4 * 60_000 / 7 {
		now += 7
		if ns.detectDuplicate(now, e, digest(i)) {
			t.Fatalf("%d is a duplicate", i)
		}
		if n := len(e.seen.generations); n > 5 {
			t.Fatalf("there are %d generations", n)
		}
		if i%10 == 0 {
			ns.Sweep(now, 100)
		}
		if n := e.seen.len(); n > 60_000*5/4/7+2 {
			t.Fatalf("%d ids are remembered", n)
		}
		if back := 59_999 / 7; i >= back+1 && (!ns.detectDuplicate(now, e, digest(i-back)) || e.isDuplicate(now, digest(i-back-1))) {
			t.Fatalf("id %d should be a duplicate now, and its predecessor should not", i-back)
		}
	}
	if err := ns.Check(); err != nil {
		t.Fatal(err)
	}
}

// The longest allowed windows do not overflow their milliseconds.
func TestLongWindow(t *testing.T) {
	const year = 365 * 24 * time.Hour
	ns, e := detecting(t, year)
	now := Instant(1_000_000)
	for i := range 400 {
		ns.detectDuplicate(now, e, digest(i))
		now = now.Add(24 * time.Hour)
	}
	for i := range 400 {
		at := Instant(1_000_000).Add(time.Duration(i) * 24 * time.Hour)
		if want := !at.Add(year).Passed(now); e.isDuplicate(now, digest(i)) != want {
			t.Errorf("%d is seen: %v", i, !want)
		}
	}
	if err := ns.Check(); err != nil {
		t.Fatal(err)
	}
}

// More than maxDigests MessageIds that are accepted at once are stored in several records.
func TestSeenIsCut(t *testing.T) {
	ns, e := detecting(t, time.Minute)
	const n = 2*maxDigests + 1
	for i := range n {
		ns.rememberID(2_000_000, e, digest(i))
	}
	b := ns.batch(2_000_000)
	if len(b.Seen) != 3 || len(b.Seen[0].Digests) != maxDigests || len(b.Seen[2].Digests) != 1 {
		t.Errorf("there are %d records", len(b.Seen))
	}
	ns.Rollback()
	if e.seen.len() != 0 || len(ns.batch(2_000_000).Seen) != 0 {
		t.Errorf("after a rollback %d ids are remembered", e.seen.len())
	}
}

// TestCheckFindsSeen corrupts the remembered MessageIds in several ways: Check reports each.
func TestCheckFindsSeen(t *testing.T) {
	for name, spoil := range map[string]func(ns *Namespace, s *duplicateHistory){
		"remembering nothing":       func(ns *Namespace, _ *duplicateHistory) { ns.entities["q"].seen = nil },
		"remembering for nothing":   func(ns *Namespace, _ *duplicateHistory) { ns.entities["q"].Config.RequiresDuplicateDetection = false },
		"an empty generation":       func(_ *Namespace, s *duplicateHistory) { clear(s.generations[0].ids) },
		"out of order":              func(_ *Namespace, s *duplicateHistory) { g := s.generations; g[0], g[1] = g[1], g[0] },
		"numbers out of order":      func(_ *Namespace, s *duplicateHistory) { s.generations[0].through = s.generations[1].through },
		"an id after the newest":    func(_ *Namespace, s *duplicateHistory) { s.generations[0].newest-- },
		"an id of no generation":    func(_ *Namespace, s *duplicateHistory) { s.generations[1].ids[digest(9)] = 1 << 30 },
		"an id that is stored only": func(_ *Namespace, s *duplicateHistory) { delete(s.generations[1].ids, digest(2)) },
		"an id nobody hears of":     func(_ *Namespace, s *duplicateHistory) { s.dirty = false },
		"waiting twice": func(ns *Namespace, _ *duplicateHistory) {
			ns.changes.seen = append(ns.changes.seen, ns.changes.seen[0])
		},
		"a number twice":        func(_ *Namespace, s *duplicateHistory) { s.unsaved = append(s.unsaved, s.unsaved[0]) },
		"forgotten for nothing": func(_ *Namespace, s *duplicateHistory) { s.unsaved = append(s.unsaved, SeenIDs{N: 1 << 60, At: 5}) },
		"due at another time":   func(_ *Namespace, s *duplicateHistory) { s.generations[0].newest -= 5; s.generations[0].from -= 5 },
	} {
		t.Run(name, func(t *testing.T) {
			ns, e := detecting(t, time.Minute)
			ns.rememberID(1_000_000, e, digest(1))
			ns.Flush(1_000_000, true)
			ns.Seal(true)
			ns.rememberID(1_020_000, e, digest(2))
			ns.rememberID(1_020_001, e, digest(3))
			if err := ns.Check(); err != nil {
				t.Fatal(err)
			}
			spoil(ns, e.seen)
			if ns.Check() == nil {
				t.Error("Check found nothing")
			}
		})
	}
}
