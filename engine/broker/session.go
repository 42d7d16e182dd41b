package broker

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"mayfly/engine"
)

// ErrSessionEnded means that the receiver closed or disconnected a Session.
var ErrSessionEnded = errors.New("the session was closed by its receiver")

// An AcceptRequest asks for a session.
type AcceptRequest struct {
	Path    engine.Path
	Session *string // the session's id; nil means the next one that has messages (SES-2)
	Mode    engine.Mode
	Wait    time.Duration // for the next session; zero means only one that is available now
	Client  string
}

// A Session is held by one receiver. Its methods are safe for concurrent use; one Receive
// waits for another. It ends when its lock runs out, when its entity is deleted or refuses
// receivers, or when its receiver calls Close or Disconnect, which every receiver must do.
type Session struct {
	b    *Broker
	link engine.LinkID

	id    string       // read after taken
	until atomic.Int64 // an engine.Instant

	accepted  chan struct{} // closed when there is a session
	done      chan struct{} // closed when the session has ended
	err       error         // why it ended; read after done
	receiving chan struct{} // has an element while a Receive runs
	arrived   chan struct{} // has an element when something arrived

	got []engine.Delivery // owned by run
}

// AcceptSession locks a session for a receiver. It returns engine.ErrSessionLocked at once if
// another receiver holds the named session (SES-4), and engine.ErrTimeout if no session becomes
// available in time (SES-3). If ctx ends while a session is on its way, it returns the session.
func (b *Broker) AcceptSession(ctx context.Context, in AcceptRequest) (*Session, error) {
	s := &Session{
		b: b, link: engine.LinkID(b.link.Add(1)), accepted: make(chan struct{}), done: make(chan struct{}),
		receiving: make(chan struct{}, 1), arrived: make(chan struct{}, 1),
	}
	want := engine.SessionRequest{Want: engine.NextSession}
	if in.Session != nil {
		want = engine.SessionRequest{Want: engine.NamedSession, ID: *in.Session}
	}
	err := b.execThen(ctx, &op{receives: true, step: func(ns *engine.Namespace, now engine.Instant) error {
		return ns.Attach(now, engine.Link{ID: s.link, Path: in.Path, Mode: in.Mode, Client: in.Client, NoWait: in.Wait <= 0, Session: want})
	}}, func() { b.links[s.link] = sessionSink{s} }) // before the deliveries of this turn
	if err != nil {
		return nil, err
	}
	return s.await(ctx, in.Wait)
}

// sessionSink is the Sink of a Session.
type sessionSink struct{ *Session }

func (s sessionSink) Accepted(a engine.SessionAccepted) {
	s.id = a.ID
	s.until.Store(int64(a.LockedUntil))
	close(s.accepted)
}

func (s sessionSink) Delivered(d engine.Delivery) {
	s.got = append(s.got, d)
	select {
	case s.arrived <- struct{}{}:
	default: // arrived has its element already
	}
}

func (s sessionSink) Ended(why error) { s.end(why) }

// await waits for a session, at most for wait or until ctx ends.
func (s *Session) await(ctx context.Context, wait time.Duration) (*Session, error) {
	up, stop := timerChannel(wait)
	defer stop()
	select {
	case <-s.accepted:
		return s, nil
	case <-s.done:
	case <-s.b.done:
	case <-up:
		return s.giveUp(ctx)
	case <-ctx.Done():
		return s.giveUp(ctx)
	}
	select {
	case <-s.accepted: // the session may have ended already, which its methods report
		return s, nil
	default:
	}
	select {
	case <-s.done:
		return nil, s.err
	default:
		return nil, s.b.closedError()
	}
}

func (s *Session) giveUp(ctx context.Context) (*Session, error) {
	gone := false
	err := s.b.execThen(context.WithoutCancel(ctx), &op{step: func(ns *engine.Namespace, now engine.Instant) error {
		_, holds := ns.HeldSession(s.link)
		if gone = !holds; gone { // assigned, not only set: the step runs again if the store refused the turn
			ns.Detach(now, s.link, engine.DetachedByClient)
		}
		return nil
	}}, func() {
		if gone {
			delete(s.b.links, s.link)
		}
	})
	select {
	case <-s.accepted: // in the meantime
		return s, nil
	default:
	}
	select {
	case <-s.done:
		return nil, s.err
	default:
	}
	switch {
	case err != nil:
		return nil, err
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	default:
		return nil, engine.Refuse(engine.ErrTimeout, "%s", engine.NoSessionText)
	}
}

// timerChannel returns the channel of a timer for the duration `wait`, and a function that stops
// the timer. For a `wait` of zero or less, which the engine ends by itself, the channel is nil.
func timerChannel(wait time.Duration) (up <-chan time.Time, stop func()) {
	if wait <= 0 {
		return nil, func() {}
	}
	t := time.NewTimer(wait)
	return t.C, func() { t.Stop() }
}

// execThen is exec for an op without `done`. If the op succeeds, the owner calls `then` once its
// effects are durable.
func (b *Broker) execThen(ctx context.Context, o *op, then func()) error {
	answered := make(chan error, 1)
	o.done = func(err error) {
		if err == nil {
			then()
		}
		answered <- err
	}
	if err := b.submit(ctx, o); err != nil {
		return err
	}
	return <-answered
}

// ID returns the session's id.
func (s *Session) ID() string { return s.id }

// LockedUntil returns when the session's lock ends, as of its acceptance or last renewal.
func (s *Session) LockedUntil() engine.Instant { return engine.Instant(s.until.Load()) }

// Done returns a channel that is closed when the session has ended.
func (s *Session) Done() <-chan struct{} { return s.done }

// Err returns nil until the session has ended, then the reason: engine.ErrSessionLockLost,
// ErrSessionEnded, or the error of its entity or of the broker.
func (s *Session) Err() error {
	select {
	case <-s.done:
		return s.err
	default:
		return nil
	}
}

// end ends the session. Only the owner calls it.
func (s *Session) end(why error) {
	delete(s.b.links, s.link)
	select {
	case <-s.done:
	default:
		s.err = why
		close(s.done)
	}
}

// explain returns err, or the reason why the session has ended if there is one.
func (s *Session) explain(err error) error {
	if over := s.Err(); err != nil && over != nil {
		return over
	}
	return err
}

// Receive takes up to limit messages of the session and waits for the first of
// them. If none arrives in time, the result is empty, not an error. If ctx ends
// while a delivery is on its way, Receive returns the delivery.
func (s *Session) Receive(ctx context.Context, limit int, wait time.Duration) ([]Received, error) {
	select {
	case s.receiving <- struct{}{}:
		defer func() { <-s.receiving }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-s.done:
		return nil, s.err
	}
	select {
	case <-s.arrived: // left over from an earlier Receive
	default:
	}
	err := s.b.execThen(ctx, &op{receives: true, step: func(ns *engine.Namespace, now engine.Instant) error {
		return ns.Credit(now, s.link, max(1, limit))
	}}, func() {})
	if err != nil {
		return nil, s.explain(err)
	}
	if wait > 0 {
		up, stop := timerChannel(wait)
		defer stop()
		select {
		case <-s.arrived:
		case <-s.done:
		case <-s.b.done:
		case <-up:
		case <-ctx.Done():
		}
	}
	got, err := s.takeArrived(context.WithoutCancel(ctx))
	if err != nil {
		return nil, s.explain(err)
	}
	out, err := s.b.withBodies(ctx, got)
	switch {
	case len(out) > 0 || err != nil:
		return out, err
	case s.Err() != nil:
		return nil, s.err
	case ctx.Err() != nil && wait > 0:
		return nil, context.Cause(ctx)
	default:
		return nil, nil
	}
}

// takeArrived takes back the credit that is left, and returns what has arrived.
func (s *Session) takeArrived(ctx context.Context) (got []engine.Delivery, err error) {
	err = s.b.execThen(ctx, &op{receives: true, step: drainStep(s.link)}, func() { got, s.got = s.got, nil })
	if s.Err() == nil {
		return got, err
	}
	kept := got[:0] // the session has lost its locks
	for _, d := range got {
		if d.Deleted {
			kept = append(kept, d)
		} else {
			s.b.releasedPins.add(d.Pin)
		}
	}
	return kept, err
}

// ReceiveDeferred takes deferred messages of the session by number, all or none (DEF-14).
func (s *Session) ReceiveDeferred(ctx context.Context, seqs []engine.Seq, mode engine.Mode) ([]Received, error) {
	got, err := s.asLink().ReceiveDeferred(ctx, seqs, mode)
	return got, s.explain(err)
}

func (s *Session) asLink() *Link { return &Link{b: s.b, id: s.link} }

// Renew extends the locks of the session and its messages to a full period from now and returns
// their end (SES-5).
func (s *Session) Renew(ctx context.Context) (engine.Instant, error) {
	until, err := s.asLink().RenewSession(ctx)
	if err != nil {
		return 0, s.explain(err)
	}
	s.until.Store(int64(until))
	return until, nil
}

// State returns the session's state; set is false if it was never set or was cleared (SES-11).
func (s *Session) State(ctx context.Context) (state string, set bool, err error) {
	state, set, err = s.asLink().SessionState(ctx)
	return state, set, s.explain(err)
}

// SetState sets the session's state, nil to clear it (SES-11).
func (s *Session) SetState(ctx context.Context, state *string) error {
	return s.explain(s.asLink().SetSessionState(ctx, state))
}

// Close releases the session: others can lock it at once, and its unsettled messages do not count
// as failed (SES-7). While the store accepts no writes, Close acts as Disconnect instead, and the
// error is ErrSessionKept.
func (s *Session) Close(ctx context.Context) error { return s.detach(ctx, engine.DetachedByClient) }

// Disconnect ends the session as a lost connection does: its lock stays until it runs out (DEC-5).
func (s *Session) Disconnect(ctx context.Context) error { return s.detach(ctx, engine.DetachedLost) }

func (s *Session) detach(ctx context.Context, how engine.DetachReason) error {
	return (&Link{b: s.b, id: s.link}).detach(ctx, how, func() { s.end(ErrSessionEnded) })
}
