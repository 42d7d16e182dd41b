package namespaces

import (
	"context"
	"sync"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// A State is the state of a namespace at this server.
type State string

const (
	Opening State = "opening" // it is being opened
	Serving State = "serving"
	Standby State = "standby" // another server owns it
	Failing State = "failing" // it cannot be opened; the server keeps retrying
)

// A Namespace describes a namespace at one moment.
type Namespace struct {
	Spec
	Main  bool // it is the server's own, which cannot be removed
	State State
	NotServed
	Broker *broker.Broker // nil unless it is served
}

// A member is one namespace of a Manager.
type member struct {
	manager    *Manager
	spec       Spec
	keeper     *Keeper
	stop       context.CancelFunc
	gone       chan struct{} // closed when the namespace is being removed or reopened
	ended      chan struct{} // closed when run has ended
	stateKnown chan struct{} // closed when the namespace's state is known
	owned      bool          // this server owns it, or is about to; guarded by Manager.mu

	mu          sync.Mutex
	b           *broker.Broker // nil unless it is served; guarded by mu
	waiting     NotServed      // why it is not served; guarded by mu
	stateClosed bool           // stateKnown is closed; guarded by mu
}

// run serves the namespace until ctx ends.
func (m *member) run(ctx context.Context) {
	f := m.manager
	left := sync.OnceFunc(f.leaving.Done)
	defer left()
	m.keeper.RetryForever = true
	m.keeper.Protocols = recordingProtocols{m, m.keeper.Protocols, m.markStateKnown}
	m.keeper.OnShutdown = func(context.Context) error {
		left()
		select { // the namespace is being removed or reopened, or the Manager has ended
		case <-m.gone:
		case <-f.requestsDone:
		}
		return nil
	}
	select {
	case <-f.mainReady:
	case <-ctx.Done():
		return
	}
	if err := m.keeper.Run(ctx); err != nil {
		f.log.Error("a namespace did not stop cleanly", "namespace", m.spec.Name, "err", err)
	}
}

// markStateKnown marks the state as known.
func (m *member) markStateKnown() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.stateClosed {
		m.stateClosed = true
		close(m.stateKnown)
	}
}

// openBroker returns the broker, or nil if the namespace is not served here.
func (m *member) openBroker() *broker.Broker {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.b
}

// setOwned records whether this server owns the namespace.
func (m *member) setOwned(is bool) {
	m.manager.mu.Lock()
	defer m.manager.mu.Unlock()
	m.owned = is
}

func (m *member) namespace() Namespace {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := Namespace{Spec: m.spec, Main: m == m.manager.main, NotServed: m.waiting, Broker: m.b}
	switch {
	case m.b != nil:
		n.State = Serving
	case m.waiting.Owner != (engine.Owner{}):
		n.State = Standby
	case m.waiting.Reason != "":
		n.State = Failing
	default:
		n.State = Opening
	}
	return n
}

// recordingProtocols wraps Protocols to record in the member which broker is served.
type recordingProtocols struct {
	m       *member
	to      Protocols
	changed func()
}

func (w recordingProtocols) Serve(ctx context.Context, b *broker.Broker) (ServeHandle, error) {
	served, err := w.to.Serve(ctx, b)
	if err != nil {
		return nil, err
	}
	w.m.mu.Lock()
	w.m.b, w.m.waiting = b, NotServed{}
	w.m.mu.Unlock()
	w.m.setOwned(true)
	w.changed()
	return served, nil
}

func (w recordingProtocols) StandBy(is NotServed) {
	if is.Since.IsZero() {
		is.Since = time.Now()
	}
	w.to.StandBy(is)
	w.m.mu.Lock()
	w.m.b, w.m.waiting = nil, is
	w.m.mu.Unlock()
	w.m.setOwned(false)
	w.changed()
}
