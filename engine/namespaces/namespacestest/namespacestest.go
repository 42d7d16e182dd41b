// Package namespacestest provides a namespaces.Manager and a note store for tests.
package namespacestest

import (
	"context"
	"log/slog"
	"runtime"
	"testing"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/namespaces"
)

// Max is the maximum number of namespaces besides the server's own.
const Max = 3

// Open returns a Manager with only the namespace default. store returns the store of each
// namespace. The Manager serves no requests, and ends with the test.
func Open(t testing.TB, store func() engine.Store) *namespaces.Manager {
	t.Helper()
	return OpenIn(t, store, Max, nil)
}

// OpenIn is Open with other limits: most is namespaces.Options.Max, and memory is the limit for the
// namespaces besides the server's own, where nil means no limit.
func OpenIn(t testing.TB, store func() engine.Store, most int, memory *engine.Memory) *namespaces.Manager {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	begun := make(chan struct{})
	keep := func(name string, d namespaces.Protocols) *namespaces.Keeper {
		return &namespaces.Keeper{
			Protocols: d, Logger: log, Broker: broker.Options{Name: name, Logger: log},
			Open: func(func(engine.Owner), int) func(context.Context) (engine.Store, error) {
				return func(context.Context) (engine.Store, error) { return store(), nil }
			},
		}
	}
	f := namespaces.New(namespaces.Options{
		Main: keep("default", fakeProtocols{begun}), Catalogue: emptyCatalogue{}, Logger: log, Max: most,
		NewKeeper: func(s namespaces.Spec) *namespaces.Keeper {
			k := keep(s.Name, fakeProtocols{})
			k.Broker.ManualClock, k.Broker.Memory = s.ManualClock, memory
			if l, err := engine.Profile(s.Profile); err == nil {
				k.Broker.Limits = &l
			}
			return k
		},
		Drop: func(namespaces.Spec, string) {},
	})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	<-begun
	for f.List()[0].Broker == nil { // it is set shortly after the protocols serve it
		runtime.Gosched()
	}
	return f
}

type fakeProtocols struct{ begun chan struct{} }

func (q fakeProtocols) Serve(context.Context, *broker.Broker) (namespaces.ServeHandle, error) {
	if q.begun != nil {
		close(q.begun)
	}
	return q, nil
}
func (fakeProtocols) StandBy(namespaces.NotServed)   {}
func (fakeProtocols) Shutdown(context.Context) error { return nil }
func (fakeProtocols) Close()                         {}

// emptyCatalogue is a catalogue without namespaces. It reports removed contents as kept in
// "aside".
type emptyCatalogue struct{}

func (emptyCatalogue) List(context.Context) ([]namespaces.Spec, error) { return nil, nil }
func (emptyCatalogue) Add(_ context.Context, s namespaces.Spec) (namespaces.Spec, error) {
	return s, nil
}
func (emptyCatalogue) Change(context.Context, namespaces.Spec) error { return nil }
func (emptyCatalogue) Remove(_ context.Context, _ namespaces.Spec, closed func() error) (string, error) {
	return "aside", closed()
}
