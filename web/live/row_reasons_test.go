package live

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
)

func TestReasonOf(t *testing.T) {
	t.Parallel()
	for kind, want := range map[engine.EventKind][2]string{
		engine.EventSent:              {"7", ""},
		engine.EventLocked:            {"7", ""},
		engine.EventAbandoned:         {"7", ""},
		engine.EventScheduled:         {"7", ""},
		engine.EventActivated:         {"7", "activated"},
		engine.EventReturned:          {"7", "activated"},
		engine.EventCancelled:         {"7", "cancelled"},
		engine.EventDeferred:          {"7", "deferred"},
		engine.EventCompleted:         {"7", "completed"},
		engine.EventReceived:          {"7", "completed"},
		engine.EventDeadLettered:      {"7", "dead-lettered"},
		engine.EventExpired:           {"7", "expired"},
		engine.EventDeleted:           {"7", "deleted"},
		engine.EventMoved:             {"7", "moved"},
		engine.EventEntityCreated:     {"orders", ""},
		engine.EventEntityDeleted:     {"orders", "entity-deleted"},
		engine.EventEntityAutoDeleted: {"orders", "entity-deleted"},
	} {
		key, reason := reasonOf(event(kind, "Orders", 7))
		if diff := cmp.Diff(want, [2]string{key, reason}); diff != "" {
			t.Errorf("%v (-want +got):\n%s", kind, diff)
		}
	}
	if key, _ := reasonOf(event(engine.EventPurged, "orders", 0)); key != "" {
		t.Errorf("a purge names row %q, want none", key)
	}
}

func TestDeparturesForget(t *testing.T) {
	t.Parallel()
	var d departureLog
	d.reset(0)
	note := func(n uint64, kind engine.EventKind, key engine.Key) {
		e := event(kind, "orders", key)
		e.N = n
		d.note([]engine.Event{e})
	}
	note(1, engine.EventActivated, 5)
	note(2, engine.EventDeferred, 6)
	note(3, engine.EventLocked, 5)
	if got := d.reason("5"); got != "left" {
		t.Errorf("a message that came back has the reason %q, want none", got)
	}
	if diff := cmp.Diff(map[string]string{"6": "deferred"}, d.since(0)); diff != "" {
		t.Errorf("since (-want +got):\n%s", diff)
	}
	if got := d.since(2); got != nil {
		t.Errorf("since the last of them: %v", got)
	}
	for i := range maxDepartures {
		note(uint64(i+4), engine.EventCompleted, engine.Key(i+100))
	}
	if got := d.reason("6"); got != "left" {
		t.Errorf("an old departure: %q, want it forgotten", got)
	}
	if n := len(d.latest); n != maxDepartures {
		t.Errorf("%d rows are remembered, want %d", n, maxDepartures)
	}
	if got := d.since(4); len(got) != 256 || got[fmt.Sprint(maxDepartures+99)] != "completed" {
		t.Errorf("since returns %d rows, want the latest 256", len(got))
	}
}
