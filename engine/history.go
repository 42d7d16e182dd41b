package engine

import (
	"context"
	"iter"
	"slices"
	"strings"
)

// A History remembers events for people, within bounds of time and room. A
// Store may be one. Nothing that the rules decide depends on it: it may have
// gaps, each an EventGap, and it lags behind by up to a second. Only what
// operators did is never missing, for that is part of a Batch (§21a).
//
// Its methods are safe for concurrent use, beside Commit too.
type History interface {
	// Remember keeps events of this epoch, given once each, lower numbers
	// first. It is soft: a crash may lose the latest. After an error the same
	// events are given again, and those that were kept already are left as they
	// are.
	Remember(ctx context.Context, events []Event) error
	// Past yields what is remembered and matches q, newest first.
	Past(ctx context.Context, q PastQuery) iter.Seq2[PastEvent, error]
	// Forget removes what happened before an instant, then the oldest until the
	// rest takes no more than so many bytes, in slices that leave room for
	// commits. Zero means no bound.
	Forget(ctx context.Context, before Instant, most int64) error
}

// A PastEvent is an Event and the epoch that its number belongs to.
type PastEvent struct {
	Epoch uint64
	Event
}

// A PastPlace is where an event stands in a History: by instant, then by epoch,
// then by number.
type PastPlace struct {
	At    Instant
	Epoch uint64
	N     uint64
}

// Place is where e stands.
func (e PastEvent) Place() PastPlace { return PastPlace{e.At, e.Epoch, e.N} }

// Before tells whether p comes before q.
func (p PastPlace) Before(q PastPlace) bool {
	switch {
	case p.At != q.At:
		return p.At < q.At
	case p.Epoch != q.Epoch:
		return p.Epoch < q.Epoch
	default:
		return p.N < q.N
	}
}

// A PastQuery picks events of a History. The zero value picks all.
type PastQuery struct {
	Key    Key         // of one message; zero: any
	Path   Path        // of an entity, with its dead-letter queue, and a topic with its subscriptions; empty: any
	Kinds  []EventKind // empty: any
	Audit  bool        // only what operators did
	From   Instant     // no earlier; zero: no bound
	Until  Instant     // earlier than this; zero: no bound
	Before PastPlace   // only what comes before this place; zero: no bound
	Limit  int         // at most so many; zero: no bound
}

// Match tells whether q, its limit aside, picks e.
func (q PastQuery) Match(e PastEvent) bool {
	switch {
	case q.Key != 0 && e.Message.Key != q.Key,
		q.Audit && !e.Audit,
		e.At < q.From,
		q.Until != 0 && e.At >= q.Until,
		q.Before != PastPlace{} && !e.Place().Before(q.Before):
		return false
	}
	return q.matchKind(e.Kind) && q.matchPath(e)
}

func (q PastQuery) matchKind(k EventKind) bool {
	return len(q.Kinds) == 0 || slices.Contains(q.Kinds, k)
}

func (q PastQuery) matchPath(e PastEvent) bool {
	if q.Path == "" {
		return true
	}
	within := func(p Path) bool {
		rest, ok := strings.CutPrefix(p.Fold(), q.Path.Fold())
		return ok && (rest == "" || rest[0] == '/')
	}
	return within(e.Path) || within(e.To)
}
