package live

import (
	"context"
	"strconv"
	"sync"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// maxDepartures is how many departures are kept: enough for a browser that was disconnected for
// some seconds.
const maxDepartures = 4096

// departureLog remembers why rows left: the reasons of the latest events by the key of the row,
// which is a message's key or an entity's path.
type departureLog struct {
	mu       sync.Mutex
	ring     [maxDepartures]departure
	next     int                  // index in ring of the next departure, which replaces the oldest when ring is full
	latest   map[string]departure // by key; the same as in ring
	followed broker.Progress      // the last event that was noted
}

type departure struct {
	n      uint64
	key    string
	reason string
}

// reset forgets all departures. waitFor does not wait for events up to n, which are not noted.
func (d *departureLog) reset(n uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ring, d.next, d.latest = [maxDepartures]departure{}, 0, map[string]departure{}
	d.followed.Set(n)
}

func (d *departureLog) note(events []engine.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range events {
		key, reason := reasonOf(e)
		if key == "" {
			continue
		}
		if reason == "" {
			delete(d.latest, key) // the row is back or elsewhere: an older reason is no longer true
			continue
		}
		old := &d.ring[d.next]
		if d.latest[old.key] == *old {
			delete(d.latest, old.key)
		}
		*old = departure{e.N, key, reason}
		d.latest[key] = *old
		d.next = (d.next + 1) % maxDepartures
	}
	d.followed.Set(events[len(events)-1].N)
}

// waitFor waits, at most a second, until event n was noted, so that rows that left a page have
// their reasons.
func (d *departureLog) waitFor(ctx context.Context, n uint64) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	d.followed.Wait(ctx, n)
}

// reason returns why the row with this key left, or "left" if the reason is unknown.
func (d *departureLog) reason(key string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if what, ok := d.latest[key]; ok {
		return what.reason
	}
	return "left"
}

// since returns the reasons of the rows that left after event n, the latest 256 at most.
func (d *departureLog) since(n uint64) map[string]string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out map[string]string
	for i := range maxDepartures {
		what := d.ring[(d.next+maxDepartures-1-i)%maxDepartures]
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

// reasonOf returns the row that an event concerns and why the row may have left its list. An
// empty reason means that the message stayed or came back; an empty key, that the event
// concerns no single row.
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
