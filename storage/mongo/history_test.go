package mongo

import (
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
)

// The server is the backstop: whoever forgets by the clock comes first, so that
// what is counted is there.
func TestForgetComesBeforeTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const keep = 10 * time.Minute
		db := new(toy)
		s, err := openOn(t.Context(), db, nil, Options{HistoryFor: keep})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Forget(t.Context(), 0, 1<<40); err != nil { // counts, from here on
			t.Fatal(err)
		}
		for n := uint64(1); n < 30; n++ {
			if err := s.Remember(t.Context(), []engine.Event{{N: n, At: engine.At(time.Now())}}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(keep/10 + time.Second)
			db.purge(time.Now())
			if err := s.Forget(t.Context(), engine.At(time.Now().Add(-keep)), 1<<40); err != nil {
				t.Fatal(err)
			}
		}
		counted := s.pastBytes
		s.pastBytes = -1
		if err := s.Forget(t.Context(), 0, 1<<40); err != nil {
			t.Fatal(err)
		}
		if counted != s.pastBytes {
			t.Errorf("%d bytes are there, and %d are counted", s.pastBytes, counted)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
