package stats

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"mayfly/engine"
)

func event(k engine.EventKind, path, to, reason string) engine.Event {
	return engine.Event{Kind: k, Path: engine.Path(path), To: engine.Path(to), Reason: reason, Message: engine.Message{Key: 1}}
}

// at returns the instant this many seconds after a fixed multiple of five minutes.
func at(seconds int64) engine.Instant { return engine.Instant(300_000_000 + seconds*1000) }

func TestCountsOfEvents(t *testing.T) {
	for name, tc := range map[string]struct {
		e        engine.Event
		from, to Counts
		all      Counts
	}{
		"sent":                      {event(engine.EventSent, "a", "", ""), Counts{In: 1}, Counts{}, Counts{In: 1}},
		"scheduled":                 {event(engine.EventScheduled, "a", "", ""), Counts{In: 1}, Counts{}, Counts{In: 1}},
		"rescheduled":               {event(engine.EventScheduled, "a", "", "rescheduled"), Counts{}, Counts{}, Counts{}},
		"completed":                 {event(engine.EventCompleted, "a", "", ""), Counts{Out: 1}, Counts{}, Counts{Out: 1}},
		"completed, a dead letter":  {event(engine.EventCompleted, "a/$DeadLetterQueue", "", ""), Counts{Out: 1}, Counts{}, Counts{Out: 1}},
		"received and deleted":      {event(engine.EventReceived, "a", "", ""), Counts{Out: 1}, Counts{}, Counts{Out: 1}},
		"expired":                   {event(engine.EventExpired, "a", "", ""), Counts{Expired: 1}, Counts{}, Counts{Expired: 1}},
		"expired into dead letters": {event(engine.EventDeadLettered, "a", "a/$DeadLetterQueue", engine.ReasonExpired), Counts{Expired: 1, Dead: 1}, Counts{}, Counts{Expired: 1, Dead: 1}},
		"dead-lettered":             {event(engine.EventDeadLettered, "a", "a/$DeadLetterQueue", "bad"), Counts{Dead: 1}, Counts{}, Counts{Dead: 1}},
		"abandoned":                 {event(engine.EventAbandoned, "a", "", ""), Counts{Failed: 1}, Counts{}, Counts{Failed: 1}},
		"lock lost":                 {event(engine.EventLockLost, "a", "", ""), Counts{Failed: 1}, Counts{}, Counts{Failed: 1}},
		"released":                  {event(engine.EventReleased, "a", "", ""), Counts{}, Counts{}, Counts{}},
		"forwarded":                 {event(engine.EventForwarded, "a", "b", ""), Counts{}, Counts{In: 1}, Counts{}},
		"moved":                     {event(engine.EventMoved, "a/$DeadLetterQueue", "b", ""), Counts{}, Counts{In: 1}, Counts{}},
	} {
		t.Run(name, func(t *testing.T) {
			r := New()
			r.Record(tc.e)
			if got := r.Totals("A"); got != tc.from {
				t.Errorf("a: %v, want %v", got, tc.from)
			}
			if got := r.Totals("b"); got != tc.to {
				t.Errorf("b: %v, want %v", got, tc.to)
			}
			if got := r.Totals(""); got != tc.all {
				t.Errorf("the namespace: %v, want %v", got, tc.all)
			}
			if len(r.TakeDue()) == 0 {
				t.Error("no entity is due for a sample")
			}
		})
	}
}

// TestLineKeepsDepthBetweenSteps takes two samples in one step and another much later: the points
// between them have the depth of the later of the two.
func TestLineKeepsDepthBetweenSteps(t *testing.T) {
	r := New()
	send := func() { r.Record(event(engine.EventSent, "q", "", "")) }
	r.Sample(at(0), Sample{"q", Depth{}})
	send()
	r.Sample(at(10), Sample{"q", Depth{Active: 1}})
	send()
	r.Sample(at(19), Sample{"q", Depth{Active: 2}}) // just before the next step
	send()
	r.Sample(at(400), Sample{"q", Depth{Active: 3}})

	hour := r.Points("Q", Hour, at(405))
	if len(hour) != 360 || hour[359].At != at(400) {
		t.Fatalf("%d points, the last at %d", len(hour), hour[len(hour)-1].At-at(0))
	}
	for _, p := range hour {
		want := Point{At: p.At, Known: p.At >= at(0)}
		switch {
		case p.At == at(400):
			want.Counts[In], want.Depth.Active = 1, 3
		case p.At == at(10):
			want.Counts[In], want.Depth.Active = 2, 2
		case p.At > at(10):
			want.Depth.Active = 2
		}
		if p != want {
			t.Errorf("at %d s: %+v, want %+v", (p.At-at(0))/1000, p, want)
		}
	}
	day := r.Points("q", Day, at(405))
	if got := day[287]; got.At != at(300) || got.Counts[In] != 1 || got.Depth.Active != 3 {
		t.Errorf("the last five minutes: %+v", got)
	}
	if got := day[286]; got.At != at(0) || got.Counts[In] != 2 || got.Depth.Active != 2 || !got.Known || day[285].Known {
		t.Errorf("the five minutes before: %+v, known before: %v", got, day[285].Known)
	}
}

// TestHourIsForgottenAfterAnHour checks that counts older than an hour are dropped, and that the
// depth at the beginning of the hour is kept.
func TestHourIsForgottenAfterAnHour(t *testing.T) {
	r := New()
	for i := range int64(1000) {
		r.Record(event(engine.EventSent, "q", "", ""))
		r.Sample(at(10*i), Sample{"q", Depth{Active: i + 1}})
	}
	if n := len(r.entities["q"].hour); n > 360+60 {
		t.Errorf("%d ten-second steps are kept", n)
	}
	later := at(10*999) + engine.Instant(2*time.Hour/time.Millisecond)
	r.Sample(later, Sample{Depth: Depth{}})
	if n := len(r.entities["q"].hour); n != 1 {
		t.Errorf("%d steps of an hour without events are kept", n)
	}
	for _, p := range r.Points("q", Hour, later) {
		if p.Depth.Active != 1000 || p.Counts != (Counts{}) {
			t.Fatalf("%+v", p)
		}
	}
}

func TestMemoryIsBounded(t *testing.T) {
	r := New()
	r.maxSteps = 1000
	for i := range int64(200) {
		r.Sample(at(10*i), Sample{Depth: Depth{Active: i}})
		for e := range 20 {
			if e < 10 && i > 50 {
				continue // the first ten become idle
			}
			r.Sample(at(10*i), Sample{engine.Path(fmt.Sprintf("q%d", e)), Depth{Active: i}})
		}
		kept := 0
		for _, s := range r.entities {
			kept += len(s.hour) + len(s.day)
		}
		if kept != r.steps || kept > r.maxSteps {
			t.Fatalf("%d steps are kept and %d counted, of %d", kept, r.steps, r.maxSteps)
		}
	}
	if n := len(r.entities["q0"].hour); n != 1 {
		t.Errorf("%d steps of an idle entity are kept", n)
	}
	if n := len(r.namespace.hour); n < 200 {
		t.Errorf("only %d steps of the namespace are kept", n)
	}
}

func TestEntitiesComeAndGo(t *testing.T) {
	r := New()
	r.Record(engine.Event{Kind: engine.EventEntityCreated, Path: "q", At: at(5)})
	r.Record(event(engine.EventSent, "q", "", ""))
	r.Sample(at(20), Sample{"q", Depth{Active: 1}})
	if l := r.Points("q", Hour, at(20)); l[357].Known != true || l[356].Known {
		t.Errorf("known from the step in which it was created: %v, before: %v", l[357].Known, l[356].Known)
	}
	r.Record(engine.Event{Kind: engine.EventEntityAutoDeleted, Path: "Q"})
	if got := r.Totals("q"); got != (Counts{}) || r.steps != 0 {
		t.Errorf("of a deleted entity: %v, %d steps", got, r.steps)
	}
	if got := r.Totals(""); got[In] != 1 {
		t.Errorf("the namespace forgot: %v", got)
	}
	r.AddLost(3)
	if r.Lost() != 3 {
		t.Errorf("%d events are lost", r.Lost())
	}
}

// An entity must be sampled again after events during its sample, after missed events, and
// after a failed sample.
func TestTouched(t *testing.T) {
	r := New()
	touched := func(want ...engine.Path) {
		t.Helper()
		if got := r.TakeDue(); !slices.Equal(got, want) {
			t.Errorf("touched are %q, want %q", got, want)
		}
	}
	r.Record(event(engine.EventSent, "p", "", ""))
	touched("p")
	r.Record(event(engine.EventCompleted, "p", "", "")) // the sample in progress does not include it
	r.Sample(at(30), Sample{"p", Depth{Active: 1}})
	touched("p")
	r.Sample(at(40), Sample{"p", Depth{}})
	touched()
	r.AddLost(3)
	touched("p")
	r.MarkDue([]engine.Path{"p", "nowhere"})
	touched("p")
	touched()
}
