package fleet

import (
	"context"
	"sync"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// A State is what a namespace is to this server.
type State string

// The states.
const (
	Opening State = "opening" // it is about to be served
	Serving State = "serving"
	Standby State = "standby" // another server owns it
	Failing State = "failing" // it cannot be opened; that is tried again and again
)

// A Namespace is what there is to say of one, at one moment.
type Namespace struct {
	Spec
	Main  bool // it is the server's own, which stays
	State State
	Waiting
	Broker *broker.Broker // while it is served; nil: it is not
}

// A member is one namespace of a fleet.
type member struct {
	f     *Fleet
	spec  Spec
	k     *Keeper
	stop  context.CancelFunc
	gone  chan struct{} // closed when it is not to be served any more, and the doors do not know it
	ended chan struct{} // closed when it is over
	told  chan struct{} // closed when there is something to say of it
	holds bool          // it is this server's, or about to be; guarded by the fleet's mu

	mu      sync.Mutex
	b       *broker.Broker // while it is served; guarded by mu
	waiting Waiting        // why it is not; likewise
	said    bool           // told is closed; likewise
}

// run keeps the namespace until ctx ends.
func (m *member) run(ctx context.Context) {
	f := m.f
	left := sync.OnceFunc(f.leaving.Done)
	defer left()
	m.k.Lasting = true
	m.k.Doors = watched{m, m.k.Doors, m.tell}
	m.k.Shut = func(context.Context) error {
		left()
		select { // one of them comes: it is being removed, or the fleet is over
		case <-m.gone:
		case <-f.quiet:
		}
		return nil
	}
	select {
	case <-f.begun:
	case <-ctx.Done():
		return
	}
	if err := m.k.Run(ctx); err != nil {
		f.log.Error("a namespace did not end well", "namespace", m.spec.Name, "err", err)
	}
}

// tell lets go of whoever waits for something to be said.
func (m *member) tell() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.said {
		m.said = true
		close(m.told)
	}
}

// open is the broker, if there is one here.
func (m *member) open() *broker.Broker {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.b
}

// hold notes whether the namespace is the server's.
func (m *member) hold(is bool) {
	m.f.mu.Lock()
	defer m.f.mu.Unlock()
	m.holds = is
}

func (m *member) namespace() Namespace {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := Namespace{Spec: m.spec, Main: m == m.f.main, Waiting: m.waiting, Broker: m.b}
	switch {
	case m.b != nil:
		n.State = Serving
	case m.waiting.Owner != (engine.Owner{}):
		n.State = Standby
	case m.waiting.Why != "":
		n.State = Failing
	default:
		n.State = Opening
	}
	return n
}

// watched are doors whose namespace notes what they are told.
type watched struct {
	m    *member
	to   Doors
	told func()
}

func (w watched) Serve(ctx context.Context, b *broker.Broker) (Served, error) {
	served, err := w.to.Serve(ctx, b)
	if err != nil {
		return nil, err //nolint:wrapcheck // the doors' own
	}
	w.m.mu.Lock()
	w.m.b, w.m.waiting = b, Waiting{}
	w.m.mu.Unlock()
	w.m.hold(true)
	w.told()
	return served, nil
}

func (w watched) StandBy(is Waiting) {
	if is.Since.IsZero() {
		is.Since = time.Now()
	}
	w.to.StandBy(is)
	w.m.mu.Lock()
	w.m.b, w.m.waiting = nil, is
	w.m.mu.Unlock()
	w.m.hold(false)
	w.told()
}
