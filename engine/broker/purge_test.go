package broker_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// sorted starts a queue of 1,200 red messages, 1,800 blue ones between them and 10 red ones
// that are locked.
func sorted(t *testing.T) *world {
	w := start(t, broker.Options{Limits: roomy()})
	w.CreateQueue("q", engine.Config{})
	var colours []string
	for range 10 {
		colours = append(colours, "red")
	}
	for i := range 3000 {
		colours = append(colours, map[bool]string{true: "red", false: "blue"}[i%5 < 2])
	}
	w.send("q", colours...)
	w.ReceiveMessages(broker.ReceiveRequest{Path: "q", Max: 10})
	return w
}

func sieve(t *testing.T, text string) *engine.MessageFilter {
	t.Helper()
	s, err := engine.ParseMessageFilter(text, engine.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// OPS-7: with a filter, the confirmed number is compared with the number of matches, which are
// counted before any message is removed.
func TestPurgeOnly(t *testing.T) {
	active := []engine.Class{engine.ClassActive}
	for name, tc := range map[string]struct {
		filter  string
		agreed  broker.ConfirmedCount
		removed int64
	}{
		"more than a tenth more":        {"sys.Label = 'red'", 1090, 0},
		"a tenth more":                  {"sys.Label = 'red'", 1091, 1200},
		"just as many":                  {"sys.Label = 'red'", 1200, 1200},
		"all there are":                 {"sys.Label = 'red'", 3000, 1200},
		"nobody was asked":              {"sys.Label = 'red'", broker.Unconfirmed, 1200},
		"none":                          {"sys.Label = 'red'", 0, 0},
		"none of none":                  {"sys.Label = 'green'", 0, 0},
		"those at the end":              {"sys.SequenceNumber > 3000", 10, 10},
		"those at the end, and too few": {"sys.SequenceNumber > 3000", 9, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := sorted(t)
				pg, err := w.PurgeMatching(t.Context(), "q", active, sieve(t, tc.filter), tc.agreed, "test")
				if refused := tc.removed == 0 && name != "none of none"; errors.Is(err, engine.ErrChanged) != refused || (err != nil) != refused || pg.Removed != tc.removed {
					t.Errorf("%+v, %v", pg, err)
				}
				if c := w.Counts("q"); c.Active != 3000-tc.removed || c.Locked != 10 {
					t.Errorf("left %+v", c)
				}
			})
		})
	}
}

func TestPurgePreview(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := sorted(t)
		for _, tc := range []struct {
			most int64
			want broker.PurgePreview
		}{
			{1 << 40, broker.PurgePreview{Matching: 1200, Skipped: 10, Unmatched: 1800}},
			{3001, broker.PurgePreview{Matching: 1200, Skipped: 10, Unmatched: 1800}},
			{1000, broker.PurgePreview{Matching: 396, Skipped: 10, Unmatched: 594, Unexamined: 2010}},
			{1, broker.PurgePreview{Matching: 196, Skipped: 10, Unmatched: 294, Unexamined: 2510}},
			{0, broker.PurgePreview{Unexamined: 3000}},
		} {
			got, err := w.PreviewPurge(t.Context(), "q", []engine.Class{engine.ClassActive}, sieve(t, "sys.Label = 'red'"), tc.most)
			first := got.First
			if got.First = nil; len(first) != int(min(5, tc.want.Matching)) {
				t.Errorf("of %d: the first are %v", tc.most, first)
			}
			if err := w.Read(t.Context(), func(r broker.Reader) error {
				for i, k := range first {
					if row, err := r.Message(k); err != nil || row.Content.Subject() != "red" || i > 0 && k <= first[i-1] {
						t.Errorf("of %d: one of the first %v is %q, %v", tc.most, first, row.Content.Subject(), err)
					}
				}
				return nil
			}); err != nil {
				t.Error(err)
			}
			if d := cmp.Diff(tc.want, got); d != "" || err != nil {
				t.Errorf("of %d: %v %s", tc.most, err, d)
			}
			if sum := got.Plus(got); sum.AtMost() != 2*(tc.want.Matching+tc.want.Unexamined) || sum.Skipped != 2*got.Skipped || sum.Failed != 0 || sum.Unmatched != 2*got.Unmatched {
				t.Errorf("twice is %+v", sum)
			}
		}
		w.store.breaks(fmt.Errorf("%w: the disk is full", engine.ErrUnwritable), false)
		w.Send(t.Context(), "q", []broker.Outgoing{{}}, "test") //nolint:errcheck // the send is refused, and the store becomes read-only
		if got, err := w.PreviewPurge(t.Context(), "q", []engine.Class{engine.ClassActive}, sieve(t, "sys.Label > @x"), 1<<40); err != nil || got.Failed != 3010 {
			t.Errorf("read-only: %+v, %v", got, err)
		}
		if _, err := w.PreviewPurge(t.Context(), "nowhere", nil, nil, 1); !errors.Is(err, engine.ErrNotFound) {
			t.Errorf("nowhere: %v", err)
		}
	})
}
