package live

import (
	"context"
	"strconv"
	"sync"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// remembered is how many departures are kept: enough for a browser that was
// away for some seconds, as after a cut.
const remembered = 4096

// departures knows why rows went: for the latest events the reason by the key
// of the row, which for a message is its key and for an entity its path.
type departures struct {
	mu       sync.Mutex
	ring     [remembered]departure
	next     int                  // in ring; the oldest when it is full
	latest   map[string]departure // by key; the same as in ring
	followed broker.Reached       // what was noted
}

type departure struct {
	n      uint64
	key    string
	reason string
}

// reset forgets everything; n is the last event that needs no noting.
func (d *departures) reset(n uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ring, d.next, d.latest = [remembered]departure{}, 0, map[string]departure{}
	d.followed.Set(n)
}

func (d *departures) note(events []engine.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range events {
		key, reason := reasonOf(e)
		if key == "" {
			continue
		}
		if reason == "" {
			delete(d.latest, key) // it is back or elsewhere: an older reason is no longer true
			continue
		}
		old := &d.ring[d.next]
		if d.latest[old.key] == *old {
			delete(d.latest, old.key)
		}
		*old = departure{e.N, key, reason}
		d.latest[key] = *old
		d.next = (d.next + 1) % remembered
	}
	d.followed.Set(events[len(events)-1].N)
}

// reach waits until event n was noted, so that what a page no longer shows can
// be given its reason. A log that does not come in a second is not waited for.
func (d *departures) reach(ctx context.Context, n uint64) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	d.followed.Wait(ctx, n)
}

// reason says why the row with this key went, "left" if nothing is known but
// that it is no longer shown.
func (d *departures) reason(key string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if what, ok := d.latest[key]; ok {
		return what.reason
	}
	return "left"
}

// since returns the reasons of what went after event n, the latest 256 at most.
func (d *departures) since(n uint64) map[string]string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out map[string]string
	for i := range remembered {
		what := d.ring[(d.next+remembered-1-i)%remembered]
		if what.n <= n || len(out) == 256 {
			break
		}
		if d.latest[what.key] != what {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[what.key] = what.reason
	}
	return out
}

// reasonOf says which row an event concerns and why it may have gone from
// where it stood. No reason means that the message is where it was or came
// back; no key that the event is of no single row.
func reasonOf(e engine.Event) (key, reason string) {
	key = strconv.FormatUint(uint64(e.Message.Key), 10)
	switch e.Kind {
	case engine.EventExpired:
		return key, "expired"
	case engine.EventDeadLettered:
		return key, "dead-lettered"
	case engine.EventCompleted, engine.EventReceived:
		return key, "completed"
	case engine.EventDeleted:
		return key, "deleted"
	case engine.EventMoved, engine.EventForwarded:
		return key, "moved"
	case engine.EventDeferred:
		return key, "deferred"
	case engine.EventActivated, engine.EventReturned:
		return key, "activated"
	case engine.EventCancelled:
		return key, "cancelled"
	case engine.EventEntityDeleted, engine.EventEntityAutoDeleted:
		return e.Path.Fold(), "entity-deleted"
	case engine.EventEntityCreated:
		return e.Path.Fold(), ""
	}
	if e.Message.Key == 0 {
		return "", ""
	}
	return key, ""
}
