package engine

import (
	"unicode/utf8"

	"mayfly/engine/value"
)

// Settlement is how a receiver settles a message that it has locked.
type Settlement struct {
	Token       LockToken
	Outcome     Outcome
	Reason      string           // of DeadLetter; empty if none
	Description string           // of DeadLetter; empty if none
	Modify      value.Properties // merged into the application properties by Abandon, Defer and DeadLetter (SETL-2)
	Client      string
	// Path, if set, must be the message's subqueue. The token is accepted from any client
	// (LOCK-8).
	Path Path
	// Link is the receiver that got the message, for a client that settles by token alone:
	// while the link still holds its session, a message that it cannot settle has lost its
	// own lock and not the session's (ErrLockLost). Zero if none.
	Link LinkID
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

// Settle ends a delivery. The error is ErrLockLost if the lock has expired, the message was settled
// already, or the token belongs to an earlier delivery; nothing changes then (LOCK-6, LOCK-7).
func (ns *Namespace) Settle(now Instant, s Settlement) error {
	m, h, large, err := ns.settleable(now, &s)
	if err != nil {
		return err
	}
	ns.changes.hard = true
	ns.touch(now, h.entity, s.Outcome.String(), s.Client)
	if large {
		x := headerSizeExceeded()
		x.By = s.Client
		ns.deadLetter(now, h, m, x)
		return nil
	}
	if len(s.Modify) > 0 && s.Outcome != DeadLetter {
		x := m.copyExtra()
		x.Properties = mergeProperties(x.Properties, s.Modify)
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
		ns.applyVerdict(now, h, m)
	case Defer:
		ns.unlock(now, h, m, EventDeferred, s.Client)
		ns.applyVerdict(now, h, m)
	case DeadLetter:
		ns.deadLetter(now, h, m, &Extra{Reason: s.Reason, Description: s.Description, By: s.Client, Properties: s.Modify})
	case Release:
		ns.unlock(now, h, m, EventReleased, s.Client)
		ns.applyVerdict(now, h, m)
	}
	return nil
}

// settleable checks whether s is allowed, before anything changes; large reports whether the
// message would exceed the limit on its properties.
func (ns *Namespace) settleable(now Instant, s *Settlement) (m *message, h *subqueue, large bool, err error) {
	if m, h, err = ns.messageOfToken(now, s.Token, s.Path, s.Link); err != nil {
		return nil, nil, false, err
	}
	if s.Outcome == Complete || s.Outcome == Release {
		s.Modify = nil
	}
	large = ns.exceedsHeaderSize(m, s.Modify)
	if err = ns.admitSettle(h, *s, large); err == nil && !large {
		err = ns.admitGrowth(*s)
	}
	return m, h, large, err
}

// maxSettleGrowth is how many bytes a settlement may add to a message when memory is full:
// a reason and a few properties. Messages can be received and settled then, but settlements must
// not take much more memory.
const maxSettleGrowth = 1 << 10

// admitGrowth returns an error if memory is full and s adds more than maxSettleGrowth.
func (ns *Namespace) admitGrowth(s Settlement) error {
	if s.Outcome == Complete || s.Outcome == Release {
		return nil
	}
	n := textMemory(len(s.Reason)) + textMemory(len(s.Description)) + propertiesMemory(s.Modify)
	if n <= maxSettleGrowth {
		return nil
	}
	return ns.admitMemory(n)
}

// headerSizeExceeded returns the dead-letter reason of a message with too many properties.
func headerSizeExceeded() *Extra {
	return &Extra{Reason: ReasonHeaderSize, Description: "The size quota for this stream has been exceeded."}
}

// exceedsHeaderSize reports whether a message would have more properties than allowed, with those
// of its settlement. It is then dead-lettered, if possible (§6.2).
func (ns *Namespace) exceedsHeaderSize(m *message, modify value.Properties) bool {
	if len(modify) == 0 {
		return false
	}
	c, err := m.packed().Content()
	c.Properties = m.Properties(c).Merge(modify)
	return err == nil && c.headerSize() > ns.limits.HeaderSize
}

func (ns *Namespace) admitSettle(h *subqueue, s Settlement, outgrows bool) error {
	if !h.entity.Config.Status.receives() { // STAT-7
		return receiveDisabled(h)
	}
	if s.Outcome == DeadLetter && h.dead { // DLQ-5
		return Refuse(ErrNotAllowed, "A message in a dead-letter queue cannot be dead-lettered: '%s'.", h.path)
	}
	if outgrows && (s.Outcome == DeadLetter || h.dead) {
		return Refuse(ErrArgument, "The properties of the message would have more than %d bytes, the maximum for all of them.", ns.limits.HeaderSize)
	}
	if err := checkProperties(s.Modify, ns.limits); err != nil {
		return err
	}
	return checkReason(s.Reason, s.Description, ns.limits)
}

func checkReason(reason, description string, l Limits) error {
	for _, t := range [...]struct{ name, text string }{{"DeadLetterReason", reason}, {"DeadLetterErrorDescription", description}} {
		if n := int64(utf8.RuneCountInString(t.text)); n > l.ReasonLength {
			return Refuse(ErrOutOfRange, "The %s has %d characters; the maximum is %d.", t.name, n, l.ReasonLength)
		}
	}
	return nil
}

// messageOfToken returns the message that a valid token locks, which must be in the subqueue `at`
// unless that is empty. Otherwise it returns lockLostError; `by` is the link that got the message.
func (ns *Namespace) messageOfToken(now Instant, t LockToken, at Path, by LinkID) (*message, *subqueue, error) {
	m, h, err := ns.byKey(t.Key())
	if err != nil || m.Nonce != t.nonce() || !m.Locked() || h.withSessionLock(m).LockedUntil.Passed(now) || at != "" && at.Fold() != h.path.Fold() {
		return nil, nil, ns.lockLostError(now, h, at, by)
	}
	return m, h, nil
}

// lockLostError returns the error for a token that is not valid any more: where sessions are
// required, the session's lock was lost (SES-6, SES-10), unless the link `by` still holds
// it (SES-21). `at` is the subqueue that the client received from; if it is empty, h is used, where
// the message is now. h is nil if the message does not exist.
func (ns *Namespace) lockLostError(now Instant, h *subqueue, at Path, by LinkID) error {
	if _, _, err := ns.sessionOfLink(now, by); err == nil {
		return lockLost()
	}
	if at != "" {
		if o, err := ns.subqueue(at); err == nil {
			h = o
		}
	}
	if h != nil && h.sessions != nil {
		return sessionLockLost()
	}
	return lockLost()
}

// unlock unlocks a message. Except for a release, this counts as a failed delivery (DC-2,
// DC-3), but never in a dead-letter subqueue (DC-6). The caller judges the message next:
// expiry and exhaustion take effect at once (TTL-22, DC-4).
func (ns *Namespace) unlock(now Instant, h *subqueue, m *message, how EventKind, client string) *Event {
	next := m.Message
	next.LockedUntil = 0
	if how != EventReleased && !h.dead {
		next.DeliveryCount++
	}
	if how == EventDeferred {
		x := m.copyExtra()
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

// RenewLock sets the end of a lock to a full period from now (LOCK-5, TTL-24) and returns it.
func (ns *Namespace) RenewLock(now Instant, t LockToken, at Path, client string) (Instant, error) {
	m, h, err := ns.renewable(now, t, at)
	if err != nil {
		return 0, err
	}
	ns.renew(now, h, m, client)
	return m.LockedUntil, nil
}

// RenewLocks is RenewLock for several locks, all or none. It returns their ends in the
// order of the tokens.
func (ns *Namespace) RenewLocks(now Instant, tokens []LockToken, at Path, client string) ([]Instant, error) {
	if most := ns.limits.PeekCount; int64(len(tokens)) > most {
		return nil, Refuse(ErrOutOfRange, "At most %d locks can be renewed at once, not %d.", most, len(tokens))
	}
	for _, t := range tokens {
		if _, _, err := ns.renewable(now, t, at); err != nil {
			return nil, err
		}
	}
	out := make([]Instant, 0, len(tokens))
	for _, t := range tokens {
		until, err := ns.RenewLock(now, t, at, client)
		if err != nil {
			return nil, err // cannot happen: it was checked above
		}
		out = append(out, until)
	}
	return out, nil
}

// renewable returns the message of a lock that may be renewed.
func (ns *Namespace) renewable(now Instant, t LockToken, at Path) (*message, *subqueue, error) {
	m, h, err := ns.messageOfToken(now, t, at, 0)
	switch {
	case err != nil:
		return nil, nil, err
	case !h.entity.Config.Status.receives():
		return nil, nil, receiveDisabled(h)
	case h.sessions != nil: // SES-5
		return nil, nil, Refuse(ErrNotAllowed, "The message is locked by the lock of its session '%s'. Renew the session lock instead.", m.sessionID())
	}
	return m, h, nil
}

func (ns *Namespace) renew(now Instant, h *subqueue, m *message, client string) *Event {
	next := m.Message
	next.LockedUntil = now.Add(h.entity.Config.LockTime())
	ns.put(m, next)
	h.setLockDetails(m.Key, h.locks[m.Key].renewed(now))
	ns.touch(now, h.entity, "renew", client)
	return ns.event(EventRenewed, now, m, h, client, "")
}

// SettleAll is Settle for several deliveries, all or none: if one cannot be settled it
// returns that error, and nothing has changed. If a delivery is named twice, the second
// settlement fails (LOCK-7).
func (ns *Namespace) SettleAll(now Instant, all []Settlement) error {
	return ns.settleTogether(all, func(s Settlement) error { return ns.Settle(now, s) })
}

// SettleAllInTx is SettleInTx for several deliveries, all or none.
func (ns *Namespace) SettleAllInTx(now Instant, id TxID, all []Settlement) error {
	return ns.settleTogether(all, func(s Settlement) error { return ns.SettleInTx(now, id, s) })
}

// settleTogether calls `do` for each settlement. If one call fails, it undoes those before and returns
// the error.
func (ns *Namespace) settleTogether(all []Settlement, do func(Settlement) error) error {
	before := ns.savepoint()
	for _, s := range all {
		if err := do(s); err != nil {
			ns.undoTo(before)
			return err
		}
	}
	return nil
}

// A Lock contains details of a lock besides its end, for people. They are in memory only and are
// lost in a restart (DEC-12).
type Lock struct {
	By        string  // the client that has the lock; empty if unknown
	Since     Instant // when it began; zero if before a restart
	RenewedAt Instant // when it was last renewed; zero if never
	Renewals  int     // how often it was renewed, in a session with the session (SES-5)
}

// renewed returns l after one more renewal.
func (l Lock) renewed(now Instant) Lock {
	l.Renewals, l.RenewedAt = l.Renewals+1, now
	return l
}

// lock returns the details of m's lock, or the zero Lock if m is not locked. In a session only
// renewals after m was locked count. For this purpose, Renewals in h.locks is how often the
// session had been renewed when m was locked.
func (h *subqueue) lock(m *message) Lock {
	if !m.Locked() {
		return Lock{}
	}
	l := h.locks[m.Key]
	if h.sessions == nil {
		return l
	}
	if s := h.sessions.byID[m.sessionID()]; s != nil && s.lock != nil {
		if l.Renewals = s.lock.Renewals - l.Renewals; l.Renewals > 0 {
			l.RenewedAt = s.lock.RenewedAt
		}
	}
	return l
}

// A LockQuery is a query for the messages that one client has locked.
type LockQuery struct {
	Client   string
	Paths    []Path // the subqueues to search, in this order; unknown ones are skipped
	Limit    int    // the maximum number of messages to return
	MaxLooks int    // the maximum number of locked messages to examine, of any client
}

// LockedBy lists the messages that a client has locked, by subqueue and number; all is false
// if there may be more. Locks that have expired are not included.
func (ns *Namespace) LockedBy(now Instant, q LockQuery) (rows []Row, all bool) {
	looked := 0
	for _, p := range q.Paths {
		h, err := ns.subqueue(p)
		if err != nil {
			continue // it was deleted
		}
		for m := range h.byClass[classLocked].from(1) {
			if len(rows) == q.Limit || looked == q.MaxLooks {
				return rows, false
			}
			looked++
			if h.locks[m.Key].By == q.Client && !h.withSessionLock(m).LockedUntil.Passed(now) {
				rows = append(rows, ns.row(h, m))
			}
		}
	}
	return rows, true
}

// recordLock records the client that locked m.
func (h *subqueue) recordLock(now Instant, m *message, client string) {
	l := Lock{By: client, Since: now}
	if h.sessions != nil {
		l.Renewals = h.sessions.byID[m.sessionID()].lock.Renewals
	}
	h.setLockDetails(m.Key, l)
}
