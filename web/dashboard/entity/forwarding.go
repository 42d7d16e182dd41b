package entity

import (
	"context"
	"sync"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/views/page/entity"
	"mayfly/web/dashboard/pages"
)

const (
	// maxSources is how many of the entities that forward to an entity its page names.
	maxSources = 12
	// scannedDeadLetters is how many dead letters are examined to separate those still to be
	// forwarded from those that stay.
	scannedDeadLetters = 100
	// stuckAfter is how long a dead letter may wait to be forwarded before its target is shown
	// as refusing it.
	stuckAfter = 2 * time.Second
)

// A forwardSource is an entity that forwards its messages, or its dead letters.
type forwardSource struct {
	path engine.Path
	dead bool
}

// forwardSourceCache caches which entities forward where, as of event n. The zero value is ready to use.
type forwardSourceCache struct {
	mu       sync.Mutex
	epoch    uint64
	n        uint64
	byTarget map[string][]forwardSource // by the folded path of the target; nil if not read yet
}

// sourcesOf returns the entities that forward to the entity at `path`. It reads all entities only
// after one of them has changed.
func sourcesOf(ctx context.Context, p *pages.Pages, path engine.Path) ([]forwardSource, error) {
	p.Events.WaitFor(ctx, p.Broker.Events().Last())
	shaped := p.Events.LastEntityEventNumber()
	c := pages.State[forwardSourceCache](p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byTarget != nil && c.epoch == p.Broker.Epoch() && c.n >= shaped {
		return c.byTarget[path.Fold()], nil
	}
	to := map[string][]forwardSource{}
	err := p.Broker.Read(ctx, func(r broker.Reader) error {
		c.n = r.N
		for _, e := range r.States(0) {
			for _, d := range []struct {
				to   string
				dead bool
			}{{e.Config.ForwardTo, false}, {e.Config.ForwardDeadLetteredMessagesTo, true}} {
				if d.to != "" {
					k := engine.Path(d.to).Fold()
					to[k] = append(to[k], forwardSource{e.Path, d.dead})
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	c.byTarget, c.epoch = to, p.Broker.Epoch()
	return to[path.Fold()], nil
}

// A forwardings holds the forwarding that an entity's page shows.
type forwardings struct {
	in, out []forwarding
	omitted int // number of sources that are left out
}

// A forwarding is the forwarding of messages, or of dead letters, from one entity to another.
type forwarding struct {
	from, to      engine.EntityState // to is zero if the target does not exist
	name          engine.Path        // name of the target, as configured
	dead          bool
	waiting       int
	nextSize      int64          // bytes of the first waiting message; zero if unknown
	since         engine.Instant // when the first waiting dead letter was dead-lettered; zero if none waits
	hopsExhausted bool           // there are dead letters, and all of them have used up their hops
}

// readForwarding reads the forwarding from an entity and to it.
func (e *Snapshot) readForwarding(r broker.Reader, from []forwardSource) error {
	e.forwarding = forwardings{}
	if len(from) > maxSources {
		from, e.forwarding.omitted = from[:maxSources], len(from)-maxSources
	}
	add := func(to *[]forwarding, from engine.EntityState, dead bool) error {
		s, ok, err := readForwardingOf(r, from, dead)
		if ok {
			*to = append(*to, s)
		}
		return err
	}
	for _, s := range from {
		state, err := r.State(s.path)
		if err != nil {
			continue // the source has been deleted meanwhile
		}
		if err := add(&e.forwarding.in, state, s.dead); err != nil {
			return err
		}
	}
	if e.Kind == engine.Topic {
		return nil
	}
	if err := add(&e.forwarding.out, e.EntityState, false); err != nil {
		return err
	}
	return add(&e.forwarding.out, e.EntityState, true)
}

// readForwardingOf returns the forwarding of the entity `from`, or of its dead letters. ok is
// false if there is none.
func readForwardingOf(r broker.Reader, from engine.EntityState, dead bool) (s forwarding, ok bool, err error) {
	s = forwarding{from: from, dead: dead, name: engine.Path(from.Config.ForwardTo)}
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
		b.Path, b.Limit = from.Path.DeadLetter(), scannedDeadLetters
	}
	rows, err := r.Browse(b)
	if err != nil {
		return s, true, err
	}
	s.scan(rows)
	if !dead {
		s.waiting = int(from.Counts.Transfer)
	}
	return s, true, nil
}

// scan counts the waiting messages among rows, which are the first ones of the source.
func (s *forwarding) scan(rows []engine.Row) {
	stays := false
	for _, row := range rows {
		x := row.Message.Extra
		if x != nil && x.NeverForwarded {
			stays = true
			continue
		}
		if s.waiting++; s.waiting == 1 {
			s.nextSize = int64(len(row.Content)) + row.Content.BodySize()
			if x != nil {
				s.since = x.DeadAt
			}
		}
	}
	s.hopsExhausted = stays && s.waiting == 0
}

// forwardingArrow returns a forwarding as its source's page draws it, or as its target's page does
// if `in` is true.
func forwardingArrow(p *pages.Pages, s forwarding, in bool, now engine.Instant) entity.ForwardingArrow {
	a := entity.ForwardingArrow{Name: pages.DisplayPath(s.name), Dead: s.dead, Waiting: s.waiting, Blocked: s.blockedBy(now)}
	switch {
	case in && s.dead:
		a.Name, a.Href = pages.DisplayPath(s.from.Path), p.EntityURL(s.from.Kind, s.from.Path.DeadLetter())
	case in:
		a.Name, a.Href = pages.DisplayPath(s.from.Path), p.EntityURL(s.from.Kind, s.from.Path)
	case s.to.ID != 0:
		a.Name, a.Href = pages.DisplayPath(s.to.Path), p.EntityURL(s.to.Kind, s.to.Path)
	}
	return a
}

// blockedBy returns why nothing is forwarded now, or "" if nothing is in the way.
func (s forwarding) blockedBy(now engine.Instant) entity.ForwardingBlock {
	switch {
	case !pages.AllowsReceive(s.from.Config.Status): // STAT-7
		return entity.BlockSourceDisabled
	case s.to.ID == 0:
		return entity.BlockTargetMissing
	case !pages.AllowsSend(s.to.Config.Status): // STAT-10
		return entity.BlockTargetDisabled
	case s.to.Charged+s.nextSize >= s.to.Config.MaxBytes():
		return entity.BlockTargetFull
	case s.hopsExhausted: // FWD-6
		return entity.BlockHopLimit
	case s.since != 0 && s.since.Add(stuckAfter).Passed(now):
		return entity.BlockRefused
	default:
		return ""
	}
}

// forwardingModel returns the forwarding from an entity and to it, as its page draws it.
func forwardingModel(p *pages.Pages, e Snapshot, now engine.Instant) entity.Forwarding {
	f := entity.Forwarding{More: e.forwarding.omitted, Hops: int(p.Broker.Limits().ForwardHops), Topics: e.Kind == engine.Topic}
	for _, s := range e.forwarding.in {
		f.In = append(f.In, forwardingArrow(p, s, true, now))
	}
	for _, s := range e.forwarding.out {
		f.Out = append(f.Out, forwardingArrow(p, s, false, now))
	}
	return f
}

// duplicates returns the counts of duplicate detection at an entity.
func duplicates(p *pages.Pages, e engine.EntityState) entity.Duplicates {
	if !e.Config.RequiresDuplicateDetection || e.Kind == engine.Subscription {
		return entity.Duplicates{}
	}
	return entity.Duplicates{
		Window: e.Config.DuplicateWindow(), Dropped: int(e.Duplicates), Remembered: e.RememberedIDs, Most: int(p.Broker.Limits().DuplicateIDs),
	}
}
