package api

import (
	"context"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/storage/memory"
)

// A damagedStore reports two messages as damaged: the one whose key is in the example of
// set-aside, and another.
type damagedStore struct{ *memory.Store }

func (s *damagedStore) Load(ctx context.Context) iter.Seq2[engine.Record, error] {
	return func(yield func(engine.Record, error) bool) {
		for r, err := range s.Store.Load(ctx) {
			if !yield(r, err) {
				return
			}
		}
		for _, d := range []engine.Damaged{{Key: 1099511627776, Part: engine.DamagedRecord}, {Key: 1099511627777, Seq: 7, Part: engine.DamagedBody}} {
			if !yield(d, nil) {
				return
			}
		}
	}
}

// TestSetAside: damaged messages are listed until they are set aside, once.
func TestSetAside(t *testing.T) {
	w := startOn(t, &damagedStore{new(memory.Store)}, broker.Options{})
	list := func(want ...DamagedMessage) {
		t.Helper()
		var got DamagedMessages
		w.want(200, "GET", "/damaged", "", &got)
		if d := cmp.Diff(append([]DamagedMessage{}, want...), got.Messages); d != "" {
			t.Error(d)
		}
	}
	first, second := DamagedMessage{Key: "1099511627776", Damaged: "record"}, DamagedMessage{Key: "1099511627777", SequenceNumber: 7, Damaged: "body"}
	list(first, second)
	for body, want := range map[string]string{`{"keys":[]}`: "list of 1 to 1000", `{"keys":["x"]}`: "keys of damaged messages"} {
		if got, text := w.ask("POST", "/damaged/set-aside", body); got.StatusCode != 400 || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s", body, got.StatusCode, text)
		}
	}
	for _, n := range []int{1, 0} {
		var done SetAsideResult
		w.want(200, "POST", "/damaged/set-aside", `{"keys":["1099511627776","5"]}`, &done)
		if done.Messages != n {
			t.Errorf("%d were set aside, want %d", done.Messages, n)
		}
		list(second)
	}
}
