package search

import (
	"cmp"
	"errors"
	"strings"
	"time"

	"mayfly/engine"
)

// An EntityQuery has terms that must all be true of an entity. It is immutable, and may be used
// by many goroutines at once. The zero EntityQuery and a nil one have no terms, and match every
// entity.
type EntityQuery struct{ terms terms }

// ParseEntities parses a query for entities. A text of only spaces matches every entity. The error
// is an *Error; then the query has the terms before the invalid one.
func ParseEntities(text string) (*EntityQuery, error) {
	all, err := ofEntities.parse(text)
	if e, ok := errors.AsType[*Error](err); ok {
		e.Entities = true
	}
	return &EntityQuery{all}, err
}

// Empty reports whether the query has no terms, so that every entity matches.
func (q *EntityQuery) Empty() bool { return q == nil || len(q.terms) == 0 }

// String returns the query in the form that ParseEntities parses.
func (q *EntityQuery) String() string { return strings.Join(q.Terms(), " ") }

// Terms returns each term in the form of String.
func (q *EntityQuery) Terms() []string {
	if q == nil {
		return nil
	}
	return q.terms.texts()
}

// Without returns q without its i-th term.
func (q *EntityQuery) Without(i int) *EntityQuery { return &EntityQuery{q.terms.without(i)} }

// DependsOnTime reports whether the passing of time alone can change the matches.
func (q *EntityQuery) DependsOnTime() bool {
	if q == nil {
		return false
	}
	for i := range q.terms {
		if s := names[q.terms[i].key].sort; s == durationType || s == endType {
			return true
		}
	}
	return false
}

// Match reports whether e matches at the instant `now`. subs are the subscriptions of a topic,
// whose messages count as the topic's.
func (q *EntityQuery) Match(e engine.EntityState, subs []engine.EntityState, now engine.Instant) bool {
	if q == nil {
		return true
	}
	s := entityState{state: &e, subs: subs, now: now}
	for i := range q.terms {
		if t := &q.terms[i]; s.fits(t) == t.not {
			return false
		}
	}
	return true
}

// An entityState is an entity to be matched.
type entityState struct {
	state *engine.EntityState
	subs  []engine.EntityState
	now   engine.Instant
}

// fits reports whether one of the values of t matches.
func (s *entityState) fits(t *term) bool {
	for i := range t.vals {
		if s.is(t.key, &t.vals[i]) {
			return true
		}
	}
	return false
}

func (s *entityState) is(k key, v *operand) bool {
	e := s.state
	switch k {
	case keyWord:
		return v.glob.within([]byte(e.Path.Fold()))
	case keyName:
		return v.fitsText(e.Path.Name()) || v.fitsText(string(e.Path))
	case keyKind:
		return e.Kind.String() == k.choices()[v.choice]
	case keyStatus:
		return strings.EqualFold(e.Config.Status.String(), k.choices()[v.choice])
	case keyHas:
		return s.count(counts[v.choice]) > 0
	case keyExpiring:
		return v.endsWithin(s.nextExpiry(), s.now)
	case keyTemp:
		if v.span == nil {
			return e.Config.Effective().AutoDeleteOnIdle != 0
		}
		return v.endsWithin(e.DeletesAt, s.now)
	case keyIdle:
		return v.op.holds(cmp.Compare(s.idle(), *v.span))
	default:
		return v.op.holds(cmp.Compare(s.count(k), v.integer))
	}
}

// endsWithin reports whether the operator holds between the time from `now` to `at` and the
// operand. A zero `at` means never, which does not match; an operand without a duration matches any
// other time.
func (v *operand) endsWithin(at, now engine.Instant) bool {
	return at != 0 && (v.span == nil || v.op.holds(cmp.Compare(at.Sub(now), *v.span)))
}

// idle returns how long the entity has not been used. Having a receiver is use, as for
// AutoDeleteOnIdle (IDLE-8).
func (s *entityState) idle() time.Duration {
	if s.count(keyReceivers) > 0 {
		return 0
	}
	return s.now.Sub(s.state.LastUsed)
}

// nextExpiry returns when the first message expires, or zero if none does.
func (s *entityState) nextExpiry() engine.Instant {
	next := s.state.NextExpiry
	for i := range s.subs {
		if at := s.subs[i].NextExpiry; at != 0 && (next == 0 || at < next) {
			next = at
		}
	}
	return next
}

// count returns the number that the key k is about, such as active messages, for the entity and its
// subscriptions.
func (s *entityState) count(k key) int64 {
	n := numberIn(s.state, k)
	if k == keySubscriptions || k == keyBytes {
		return n // the topic's own number includes its subscriptions
	}
	for i := range s.subs {
		n += numberIn(&s.subs[i], k)
	}
	return n
}

// numberIn is count for e without its subscriptions.
func numberIn(e *engine.EntityState, k key) int64 {
	switch n := &e.Counts; k {
	case keyMessages:
		return n.MessageCount()
	case keyActiveCount:
		return n.Active
	case keyLockedCount:
		return n.Locked
	case keyDeferredCount:
		return n.Deferred
	case keyScheduledCount:
		return n.Scheduled
	case keyDead:
		return n.DeadLetter
	case keyTransfer:
		return n.TransferDeadLetter
	case keySubscriptions:
		return int64(e.Subscriptions)
	case keySessions:
		return int64(e.Sessions.Known)
	case keyReceivers:
		return int64(e.Receivers)
	case keyBytes:
		return max(e.SizeInBytes, e.Bytes)
	default:
		panic("no number: " + k.String())
	}
}
