package engine

import (
	"unicode/utf8"

	"mayfly/engine/value"
)

// Settlement is what a receiver says about a message it holds.
type Settlement struct {
	Token       LockToken
	Outcome     Outcome
	Reason      string           // of DeadLetter; empty: none
	Description string           // of DeadLetter; empty: none
	Modify      value.Properties // merged into the application properties by Abandon, Defer and DeadLetter (SETL-2)
	Client      string
	// Renew, Complete and the others are accepted by token wherever it comes
	// from (LOCK-8); Path, if set, must be where the message is.
	Path Path
}

// Outcome is a way to settle (§5.2).
type Outcome uint8

// The outcomes.
const (
	Complete Outcome = iota
	Abandon
	Defer
	DeadLetter
	Release
)

func (o Outcome) String() string {
	return [...]string{"complete", "abandon", "defer", "dead-letter", "release"}[o]
}

// Settle ends a delivery. A lock that has run out, was settled or belongs to a
// former delivery is ErrLockLost, and nothing changes (LOCK-6, LOCK-7).
func (ns *Namespace) Settle(now Instant, s Settlement) error {
	m, h, large, err := ns.settleable(now, &s)
	if err != nil {
		return err
	}
	ns.changes.hard = true
	ns.touch(now, h.entity, s.Outcome.String(), s.Client)
	if large {
		x := outgrown()
		x.By = s.Client
		ns.deadLetter(now, h, m, x)
		return nil
	}
	if len(s.Modify) > 0 && s.Outcome != DeadLetter {
		x := m.extra()
		x.Properties = merged(x.Properties, s.Modify)
		next := m.Message
		next.Extra = x
		ns.put(m, next)
	}
	switch s.Outcome {
	case Complete: // even past its expiry (TTL-23)
		ns.drop(m)
		ns.event(EventCompleted, now, m, h, s.Client, "")
	case Abandon:
		ns.unlock(now, h, m, EventAbandoned, s.Client)
		ns.settleDue(now, h, m)
	case Defer:
		ns.unlock(now, h, m, EventDeferred, s.Client)
		ns.settleDue(now, h, m)
	case DeadLetter:
		ns.deadLetter(now, h, m, &Extra{Reason: s.Reason, Description: s.Description, By: s.Client, Properties: s.Modify})
	case Release:
		ns.unlock(now, h, m, EventReleased, s.Client)
		ns.settleDue(now, h, m)
	}
	return nil
}

// settleable decides whether s may be done, before anything changes; large tells
// that the message would outgrow the limit by it.
func (ns *Namespace) settleable(now Instant, s *Settlement) (m *message, h *holder, large bool, err error) {
	if m, h, err = ns.locked(now, s.Token, s.Path); err != nil {
		return nil, nil, false, err
	}
	if s.Outcome == Complete || s.Outcome == Release {
		s.Modify = nil
	}
	large = ns.outgrows(m, s.Modify)
	return m, h, large, ns.admitSettle(h, *s, large)
}

// outgrown is why a message with too many properties is a dead letter.
func outgrown() *Extra {
	return &Extra{Reason: ReasonOutgrown, Description: "The size quota for this stream has been exceeded."}
}

// outgrows tells whether a message would have more properties than allowed
// with those of its settlement. It is dead-lettered then, if it can be (§6.2).
func (ns *Namespace) outgrows(m *message, modify value.Properties) bool {
	if len(modify) == 0 {
		return false
	}
	c, err := m.packed().Content()
	c.Properties = m.Properties(c).Merge(modify)
	return err == nil && c.headerSize() > ns.limits.HeaderSize
}

func (ns *Namespace) admitSettle(h *holder, s Settlement, outgrows bool) error {
	if !h.entity.Config.Status.receives() { // STAT-7
		return disabledReceive(h)
	}
	if s.Outcome == DeadLetter && h.dead { // DLQ-5
		return refuse(ErrNotAllowed, "A message in a dead-letter queue cannot be dead-lettered: '%s'.", h.path)
	}
	if outgrows && (s.Outcome == DeadLetter || h.dead) {
		return refuse(ErrArgument, "The properties of the message would take more than the %d bytes allowed together.", ns.limits.HeaderSize)
	}
	if err := checkProperties(s.Modify, ns.limits); err != nil {
		return err
	}
	return checkReason(s.Reason, s.Description, ns.limits)
}

func checkReason(reason, description string, l Limits) error {
	for _, t := range [...]struct{ name, text string }{{"DeadLetterReason", reason}, {"DeadLetterErrorDescription", description}} {
		if n := int64(utf8.RuneCountInString(t.text)); n > l.ReasonLength {
			return refuse(ErrOutOfRange, "The %s has %d characters; %d are allowed.", t.name, n, l.ReasonLength)
		}
	}
	return nil
}

// locked finds the message that a live token stands for.
func (ns *Namespace) locked(now Instant, t LockToken, at Path) (*message, *holder, error) {
	m, h, err := ns.byKey(t.Key())
	if err != nil || m.Nonce != t.nonce() || !m.Locked() || h.present(m).LockedUntil.Passed(now) || at != "" && at.Fold() != h.path.Fold() {
		return nil, nil, ns.lost(h, at)
	}
	return m, h, nil
}

// lost says that a token is no longer good: where sessions are required, it is
// the session's lock that was lost (SES-6, SES-10). The place is where the
// client says it received, else where the message is now, nil if it is gone.
func (ns *Namespace) lost(h *holder, at Path) error {
	if at != "" {
		if o, err := ns.holder(at); err == nil {
			h = o
		}
	}
	if h != nil && h.sessions != nil {
		return sessionLockLost()
	}
	return lockLost()
}

// unlock gives a message back. All but releasing count as a failed delivery
// (DC-2, DC-3), except in a dead-letter queue (DC-6). The caller judges it
// next: expiry and exhaustion take effect at once (TTL-22, DC-4).
func (ns *Namespace) unlock(now Instant, h *holder, m *message, how EventKind, client string) *Event {
	next := m.Message
	next.LockedUntil = 0
	if how != EventReleased && !h.dead {
		next.DeliveryCount++
	}
	if how == EventDeferred {
		x := m.extra()
		x.DeferredAt, x.By = now, client
		next.State, next.Extra = Deferred, x
	}
	by := h.locks[m.Key].By
	ns.put(m, next)
	ns.changes.hard = true
	if client == "" {
		client = by
	}
	return ns.event(how, now, m, h, client, "")
}

// Renew sets a lock's end to a full period from now (LOCK-5, TTL-24) and
// returns it.
func (ns *Namespace) Renew(now Instant, t LockToken, at Path, client string) (Instant, error) {
	m, h, err := ns.renewable(now, t, at)
	if err != nil {
		return 0, err
	}
	ns.renew(now, h, m, client)
	return m.LockedUntil, nil
}

// RenewAll is Renew for several locks, all or none. It returns their ends in the
// order of the tokens.
func (ns *Namespace) RenewAll(now Instant, tokens []LockToken, at Path, client string) ([]Instant, error) {
	if most := ns.limits.PeekCount; int64(len(tokens)) > most {
		return nil, refuse(ErrOutOfRange, "At most %d locks are renewed at once, not %d.", most, len(tokens))
	}
	for _, t := range tokens {
		if _, _, err := ns.renewable(now, t, at); err != nil {
			return nil, err
		}
	}
	out := make([]Instant, 0, len(tokens))
	for _, t := range tokens {
		until, err := ns.Renew(now, t, at, client)
		if err != nil {
			return nil, err // cannot be: it was asked just now
		}
		out = append(out, until)
	}
	return out, nil
}

// renewable finds the message of a lock that may be renewed.
func (ns *Namespace) renewable(now Instant, t LockToken, at Path) (*message, *holder, error) {
	m, h, err := ns.locked(now, t, at)
	switch {
	case err != nil:
		return nil, nil, err
	case !h.entity.Config.Status.receives():
		return nil, nil, disabledReceive(h)
	case h.sessions != nil: // SES-5
		return nil, nil, refuse(ErrNotAllowed, "The message is locked with its session '%s'; renew the lock of the session instead.", m.sessionID())
	}
	return m, h, nil
}

func (ns *Namespace) renew(now Instant, h *holder, m *message, client string) *Event {
	next := m.Message
	next.LockedUntil = now.Add(h.entity.Config.LockFor())
	ns.put(m, next)
	h.know(m.Key, h.locks[m.Key].renewed(now))
	ns.touch(now, h.entity, "renew", client)
	return ns.event(EventRenewed, now, m, h, client, "")
}
