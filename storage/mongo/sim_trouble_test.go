package mongo

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
)

// TestTrouble checks the effect of each kind of simulated trouble on an insert: its error, its
// duration, and when the document exists.
func TestTrouble(t *testing.T) {
	const certain = 10_000
	for name, tc := range map[string]struct {
		weather weather
		before  func(*client)
		err     error // nil means any error except errDuplicateID and the two refusals
		fine    bool  // the insert returns no error
		soon    bool  // the document exists when the insert returns
		later   bool  // the document exists in the end
		least   time.Duration
	}{
		"none":       {fine: true, soon: true, later: true},
		"slow":       {weather: weather{slow: certain, most: time.Second}, fine: true, soon: true, later: true},
		"vanish":     {weather: weather{vanish: certain}},
		"mute":       {weather: weather{mute: certain}, soon: true, later: true},
		"late":       {weather: weather{late: certain, lateness: time.Hour}, later: true},
		"unwritable": {weather: weather{unwritable: certain}, err: errUnwritable},
		"refused":    {weather: weather{refused: certain}, err: errRefused},
		"frozen":     {before: func(c *client) { c.freeze(time.Hour) }, fine: true, soon: true, later: true, least: time.Hour},
		"deaf":       {before: func(c *client) { c.deafen(time.Hour) }, soon: true, later: true},
		"dead":       {before: func(c *client) { c.kill() }, err: errDead},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &world{db: new(toy), lease: time.Second}
				c := w.connect(name, tc.weather)
				if tc.before != nil {
					tc.before(c)
				}
				began := time.Now()
				err := c.Insert(t.Context(), journal, document(t, field("_id", "a/1")))
				switch {
				case tc.fine != (err == nil), tc.err != nil && !errors.Is(err, tc.err),
					!tc.fine && tc.err == nil && (errors.Is(err, errDuplicateID) || errors.Is(err, errUnwritable) || errors.Is(err, errRefused)):
					t.Errorf("insert: %v", err)
				case time.Since(began) < tc.least:
					t.Errorf("it took %v", time.Since(began))
				}
				if tc.weather.mute > 0 {
					time.Sleep(time.Second) // the error may be returned before the effect
				}
				if there := len(w.db.ids(journal)) > 0; there != tc.soon {
					t.Errorf("on return, the document exists: %t", there)
				}
				time.Sleep(2 * time.Hour)
				if there := len(w.db.ids(journal)) > 0; there != tc.later {
					t.Errorf("in the end, the document exists: %t", there)
				}
			})
		})
	}
}

// Requests of a process that is cut off fail. Some of them arrive when the network works again.
func TestCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{db: new(toy), lease: time.Second}
		c := w.connect("somebody", weather{})
		c.part(time.Hour)
		const sent = 50
		for i := range sent {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if err := c.Insert(ctx, journal, document(t, field("_id", string(rune('A'+i))))); err == nil {
				t.Error("an insert succeeds")
			}
			cancel()
		}
		want(t, 0, len(w.db.ids(journal)))
		time.Sleep(2 * time.Hour)
		if n := len(w.db.ids(journal)); n == 0 || n == sent {
			t.Errorf("%d of %d inserts arrive", n, sent)
		}
	})
}

// The journal stays short during commits, and contains only fences when the next owner has
// opened the namespace.
func TestJournalStaysShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := new(toy)
		w := &world{db: db, lease: DefaultLease, judge: &judge{}}
		c := w.connect("owner", weather{})
		s, err := openOn(t.Context(), c, nil, Options{Namespace: "sim", clock: c.clock})
		if err != nil {
			t.Fatal(err)
		}
		longest := 0
		const every = 10 * time.Millisecond
		for i := range 5_000 {
			b := &engine.Batch{Hard: true, Now: engine.Instant(i + 1)}
			if i == 0 {
				b.Entities = []engine.Entity{{ID: 1, Path: "q"}}
			}
			b.Meters = []engine.Meter{{Subqueue: 1, NextSeq: engine.Seq(i)}}
			if err := s.Commit(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			longest = max(longest, len(db.ids(journal)))
			time.Sleep(every)
		}
		// The commits that are kept, those that wait to be trimmed, and the new ones of two
		// seconds.
		if most := keptEntries*5/4 + int(2*time.Second/every); longest > most || longest < keptEntries {
			t.Errorf("the journal grew to %d documents, want from %d to %d", longest, keptEntries, most)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if s, err = openOn(t.Context(), c, nil, Options{Namespace: "sim", clock: c.clock}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * readerSilence)
		want(t, 1, len(db.ids(journal)))
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
