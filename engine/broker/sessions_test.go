package broker_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// SES-12: a list is complete and in order even if there are more sessions than one turn visits.
func TestSessionsInSlices(t *testing.T) {
	in(t, func(w *world) {
		const many = 2500
		var all []broker.Outgoing
		for i := range many {
			all = append(all, broker.Outgoing{Content: engine.Content{SessionID: fmt.Sprintf("s%04d", i)}})
		}
		if _, err := w.Send(w.Context(), "q", all, ""); err != nil {
			t.Fatal(err)
		}
		for skip, want := range map[int]string{0: "[s0000 s0001 s0002]", 1998: "[s1998 s1999 s2000]", many - 1: "[s2499]", many: "[]"} {
			if ids, err := w.SessionIDs(w.Context(), "q", 0, skip, 3); err != nil || fmt.Sprint(ids) != want {
				t.Errorf("after %d there are %v: %v", skip, ids, err)
			}
		}
		if ids, err := w.SessionIDs(w.Context(), "q", 1, 0, 3); err != nil || len(ids) != 0 {
			t.Errorf("%v have state: %v", ids, err)
		}
	})
}

// SES-11: of several callers that have seen the same state, one can set it.
func TestSetStateIf(t *testing.T) {
	in(t, func(w *world) {
		const writers = 20
		errs := make([]error, writers)
		var wg sync.WaitGroup
		for i := range writers {
			wg.Go(func() {
				errs[i] = w.SetSessionStateIf(w.Context(), "q", "s", engine.TagSessionState(nil), new(fmt.Sprint(i)), "operator")
			})
		}
		wg.Wait()
		won := -1
		for i, err := range errs {
			switch {
			case err == nil && won < 0:
				won = i
			case !errors.Is(err, engine.ErrChanged):
				t.Errorf("writer %d: %v, after %d", i, err, won)
			}
		}
		err := w.Read(w.Context(), func(r broker.Reader) error {
			if state, set, err := r.SessionStateAt("q", "s"); err != nil || !set || state != fmt.Sprint(won) {
				t.Errorf("the state is %q, set by %d callers: %v", state, won, err)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}
