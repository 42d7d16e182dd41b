package search

import (
	"cmp"
	"errors"
	"strings"
	"time"

	"mayfly/engine"
)

// An EntityQuery is terms that all must be true of an entity. It is immutable, and may
// be used by many goroutines at once; the zero EntityQuery, and a nil one, has no
// terms and every entity matches it.
type EntityQuery struct{ terms terms }

// ParseEntities reads a query for entities. A text of nothing but spaces is one
// that every entity matches. With an error, which is an *Error, comes the query
// of the terms before it.
func ParseEntities(text string) (*EntityQuery, error) {
	all, err := ofEntities.parse(text)
	if e, ok := errors.AsType[*Error](err); ok {
		e.Entities = true
	}
	return &EntityQuery{all}, err
}

// Empty tells whether every entity matches because nothing was asked for.
func (q *EntityQuery) Empty() bool { return q == nil || len(q.terms) == 0 }

// String writes the query so that ParseEntities reads the same one again.
func (q *EntityQuery) String() string { return strings.Join(q.Terms(), " ") }

// Terms are the terms as String writes them, one by one.
func (q *EntityQuery) Terms() []string {
	if q == nil {
		return nil
	}
	return q.terms.texts()
}

// Without is q without its i-th term.
func (q *EntityQuery) Without(i int) *EntityQuery { return &EntityQuery{q.terms.without(i)} }

// Timed tells whether the passing of time alone changes what matches.
func (q *EntityQuery) Timed() bool {
	if q == nil {
		return false
	}
	for i := range q.terms {
		if s := names[q.terms[i].key].sort; s == durationSort || s == endSort {
			return true
		}
	}
	return false
}

// Match tells whether e is what q asks for at now. subs are a topic's
// subscriptions: a topic has the messages that these have.
func (q *EntityQuery) Match(e engine.EntityState, subs []engine.EntityState, now engine.Instant) bool {
	if q == nil {
		return true
	}
	s := subject{state: &e, subs: subs, now: now}
	for i := range q.terms {
		if t := &q.terms[i]; s.fits(t) == t.not {
			return false
		}
	}
	return true
}

// A subject is an entity while it is judged.
type subject struct {
	state *engine.EntityState
	subs  []engine.EntityState
	now   engine.Instant
}

// fits tells whether one of the values of t does.
func (s *subject) fits(t *term) bool {
	for i := range t.vals {
		if s.is(t.key, &t.vals[i]) {
			return true
		}
	}
	return false
}

func (s *subject) is(k key, v *operand) bool {
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
		return s.count(counts()[v.choice]) > 0
	case keyExpiring:
		return v.ends(s.nextExpiry(), s.now)
	case keyTemp:
		if v.span == nil {
			return e.Config.InForce().AutoDeleteOnIdle != 0
		}
		return v.ends(e.DeletesAt, s.now)
	case keyIdle:
		return v.op.holds(cmp.Compare(s.idle(), *v.span))
	default:
		return v.op.holds(cmp.Compare(s.count(k), v.integer))
	}
}

// ends compares the time that is left until a deadline, zero being never. Without
// a time there only has to be one.
func (v *operand) ends(at, now engine.Instant) bool {
	return at != 0 && (v.span == nil || v.op.holds(cmp.Compare(at.Sub(now), *v.span)))
}

// idle is for how long nobody has used the entity. A receiver is use, as for
// AutoDeleteOnIdle (IDLE-8).
func (s *subject) idle() time.Duration {
	if s.count(keyReceivers) > 0 {
		return 0
	}
	return s.now.Sub(s.state.LastUsed)
}

// nextExpiry is when the first message runs out; zero: none does.
func (s *subject) nextExpiry() engine.Instant {
	next := s.state.NextExpiry
	for i := range s.subs {
		if at := s.subs[i].NextExpiry; at != 0 && (next == 0 || at < next) {
			next = at
		}
	}
	return next
}

// count is a number of the entity, and of its subscriptions.
func (s *subject) count(k key) int64 {
	n := numberIn(s.state, k)
	if k == keySubscriptions || k == keyBytes {
		return n // these are the topic's own
	}
	for i := range s.subs {
		n += numberIn(&s.subs[i], k)
	}
	return n
}

// numberIn is a number of e alone.
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
