package show

import (
	"context"
	"sync"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/views/page"
)

const (
	// sourcesShown is how many entities that forward to another its page names.
	sourcesShown = 12
	// departuresScanned is how many dead letters are looked at to tell those that
	// are to move on from those that stay.
	departuresScanned = 100
	// stuckAfter is how long a dead letter that should have moved on lies before
	// its destination is said to refuse it.
	stuckAfter = 2 * time.Second
)

// A source is an entity that forwards its messages, or its dead letters.
type source struct {
	path engine.Path
	dead bool
}

// sources knows which entities forward where, as of an event. Its zero value is
// ready.
type sources struct {
	mu    sync.Mutex
	epoch uint64
	n     uint64
	to    map[string][]source // by the folded path of the destination; nil: nothing is known
}

// sourcesOf are the entities that forward to path, by their paths. All entities
// are only gone through when one of them has changed.
func (p *Pages) sourcesOf(ctx context.Context, path engine.Path) ([]source, error) {
	p.recent.reach(ctx, p.b.Events().Last())
	shaped := p.recent.lastShaped()
	p.sources.mu.Lock()
	defer p.sources.mu.Unlock()
	if k := &p.sources; k.to != nil && k.epoch == p.b.Epoch() && k.n >= shaped {
		return k.to[path.Fold()], nil
	}
	to := map[string][]source{}
	err := p.b.Read(ctx, func(r broker.Reader) error {
		p.sources.n = r.N
		for _, e := range r.States(0) {
			for _, d := range []struct {
				to   string
				dead bool
			}{{e.Config.ForwardTo, false}, {e.Config.ForwardDeadLetteredMessagesTo, true}} {
				if d.to != "" {
					k := engine.Path(d.to).Fold()
					to[k] = append(to[k], source{e.Path, d.dead})
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err //nolint:wrapcheck // the caller asked for just this
	}
	p.sources.to, p.sources.epoch = to, p.b.Epoch()
	return to[path.Fold()], nil
}

// A flowing is what an entity's page sees of forwarding.
type flowing struct {
	in, out []stream
	more    int // that lead here, and are left out
}

// A stream is messages, or dead letters, that are forwarded from one entity to
// another.
type stream struct {
	from, to engine.EntityState // the zero to: it is not there
	name     engine.Path        // of the destination, as it is set
	dead     bool
	waiting  int
	next     int64          // bytes of the first that waits; zero: not known
	since    engine.Instant // when the first dead letter that waits died; zero: none does
	stays    bool           // dead letters are there, and all of them have made their hops
}

// seeFlow takes what is forwarded from an entity and to it.
func (e *entitySight) seeFlow(r broker.Reader, from []source) error {
	e.flow = flowing{}
	if len(from) > sourcesShown {
		from, e.flow.more = from[:sourcesShown], len(from)-sourcesShown
	}
	add := func(to *[]stream, from engine.EntityState, dead bool) error {
		s, ok, err := streamOf(r, from, dead)
		if ok {
			*to = append(*to, s)
		}
		return err
	}
	for _, s := range from {
		state, err := r.State(s.path)
		if err != nil {
			continue // it went meanwhile
		}
		if err := add(&e.flow.in, state, s.dead); err != nil {
			return err
		}
	}
	if e.Kind == engine.Topic {
		return nil
	}
	if err := add(&e.flow.out, e.EntityState, false); err != nil {
		return err
	}
	return add(&e.flow.out, e.EntityState, true)
}

// streamOf is what from forwards, or its dead letters; not ok if it does not.
func streamOf(r broker.Reader, from engine.EntityState, dead bool) (s stream, ok bool, err error) {
	s = stream{from: from, dead: dead, name: engine.Path(from.Config.ForwardTo)}
	if dead {
		s.name = engine.Path(from.Config.ForwardDeadLetteredMessagesTo)
	}
	if s.name == "" {
		return s, false, nil
	}
	if to, err := r.State(s.name); err == nil && to.Kind != engine.Subscription {
		s.to = to
	}
	b := engine.Browse{Path: from.Path, Class: engine.ClassActive, From: 1, Limit: 1}
	if dead {
		b.Path, b.Limit = from.Path.DeadLetter(), departuresScanned
	}
	rows, err := r.Browse(b)
	if err != nil {
		return s, true, err //nolint:wrapcheck // it was there in this very turn
	}
	s.scan(rows)
	if !dead {
		s.waiting = int(from.Counts.Transfer)
	}
	return s, true, nil
}

// scan takes what rows tell of what waits; they are the first of them.
func (s *stream) scan(rows []engine.Row) {
	stays := false
	for _, row := range rows {
		x := row.Message.Extra
		if x != nil && x.Stays {
			stays = true
			continue
		}
		if s.waiting++; s.waiting == 1 {
			s.next = int64(len(row.Content)) + row.Content.BodySize()
			if x != nil {
				s.since = x.DeadAt
			}
		}
	}
	s.stays = stays && s.waiting == 0
}

// arrow is a stream as the page at one of its ends draws it.
func (p *Pages) arrow(s stream, in bool, now engine.Instant) page.Arrow {
	a := page.Arrow{Name: Shown(s.name), Dead: s.dead, Waiting: s.waiting, Stuck: s.stuck(now)}
	switch {
	case in && s.dead:
		a.Name, a.Href = Shown(s.from.Path), p.EntityURL(s.from.Kind, s.from.Path.DeadLetter())
	case in:
		a.Name, a.Href = Shown(s.from.Path), p.EntityURL(s.from.Kind, s.from.Path)
	case s.to.ID != 0:
		a.Name, a.Href = Shown(s.to.Path), p.EntityURL(s.to.Kind, s.to.Path)
	}
	return a
}

// stuck is why nothing moves along a stream now; empty: it moves.
func (s stream) stuck(now engine.Instant) page.Stuck {
	switch {
	case !takesReceivers(s.from.Config.Status): // STAT-7
		return page.Halted
	case s.to.ID == 0:
		return page.Absent
	case !takesSenders(s.to.Config.Status): // STAT-10
		return page.Closed
	case s.to.SizeInBytes+s.next >= s.to.Config.Capacity():
		return page.Full
	case s.stays: // FWD-6
		return page.Hops
	case s.since != 0 && s.since.Add(stuckAfter).Passed(now):
		return page.Barred
	default:
		return ""
	}
}

// flow is what is forwarded from an entity and to it, as its page draws it.
func (p *Pages) flow(e entitySight, now engine.Instant) page.Flow {
	f := page.Flow{More: e.flow.more, Hops: int(p.b.Limits().ForwardHops), Topics: e.Kind == engine.Topic}
	for _, s := range e.flow.in {
		f.In = append(f.In, p.arrow(s, true, now))
	}
	for _, s := range e.flow.out {
		f.Out = append(f.Out, p.arrow(s, false, now))
	}
	return f
}

// duplicates is what duplicate detection did at an entity.
func (p *Pages) duplicates(e engine.EntityState) page.Duplicates {
	if !e.Config.RequiresDuplicateDetection || e.Kind == engine.Subscription {
		return page.Duplicates{}
	}
	return page.Duplicates{
		Window: e.Config.DuplicateWindow(), Dropped: int(e.Duplicates), Remembered: e.Seen, Most: int(p.b.Limits().DuplicateIDs),
	}
}
