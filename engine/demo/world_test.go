package demo_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/demo"
	"mayfly/engine/namespaces"
	"mayfly/storage/memory"
)

// A world is a Player on namespaces in memory.
type world struct {
	*testing.T
	*demo.Player
	fleet   *namespaces.Manager
	library *demo.Library
}

type catalogue struct{}

func (catalogue) List(context.Context) ([]namespaces.Spec, error) { return nil, nil }

func (catalogue) Add(_ context.Context, s namespaces.Spec) (namespaces.Spec, error) { return s, nil }

func (catalogue) Change(context.Context, namespaces.Spec) error { return nil }

func (catalogue) Remove(_ context.Context, _ namespaces.Spec, closed func() error) (string, error) {
	return "", closed()
}

// doors serve no requests.
type doors struct{ begun func() }

func (d doors) Serve(context.Context, *broker.Broker) (namespaces.ServeHandle, error) {
	if d.begun != nil {
		d.begun()
	}
	return served{}, nil
}
func (doors) StandBy(namespaces.NotServed) {}

type served struct{}

func (served) Shutdown(context.Context) error { return nil }
func (served) Close()                         {}

func inMemory(func(engine.Owner), int) func(context.Context) (engine.Store, error) {
	return func(context.Context) (engine.Store, error) { return new(memory.Store), nil }
}

// late is a Manager that creates namespaces slowly.
type late struct {
	demo.Namespaces
	by time.Duration
}

func (l *late) Create(ctx context.Context, s namespaces.Spec, actor string) (namespaces.Namespace, error) {
	<-time.After(l.by)
	return l.Namespaces.Create(ctx, s, actor)
}

// open starts a Player with the built-in scenes.
func open(t *testing.T, o demo.Options) *world {
	t.Helper()
	return openIn(t, o, nil)
}

// openIn is open with a limit of memory.
func openIn(t *testing.T, o demo.Options, m *engine.Memory) *world {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	lib, err := demo.Open()
	if err != nil {
		t.Fatal(err)
	}
	begun := make(chan struct{})
	f := namespaces.New(namespaces.Options{
		Main: &namespaces.Keeper{Open: inMemory, Protocols: doors{sync.OnceFunc(func() { close(begun) })}, Logger: log, Broker: broker.Options{Logger: log}},
		NewKeeper: func(s namespaces.Spec) *namespaces.Keeper {
			return &namespaces.Keeper{Open: inMemory, Protocols: doors{}, Logger: log, Broker: broker.Options{Name: s.Name, ManualClock: s.ManualClock, Memory: m, Logger: log}}
		},
		Drop: func(namespaces.Spec, string) {}, Catalogue: catalogue{}, Logger: log,
	})
	ctx, stop := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- f.Run(ctx) }()
	<-begun
	if late, ok := o.Namespaces.(*late); ok {
		late.Namespaces = f
	} else {
		o.Namespaces = f
	}
	o.Library, o.Logger = lib, log
	w := &world{T: t, Player: demo.NewPlayer(o), fleet: f, library: lib}
	t.Cleanup(func() {
		w.Close()
		stop()
		if err := <-over; err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// begin begins a scene.
func (w *world) begin(id string) *demo.Playback {
	w.Helper()
	p, err := w.Begin(w.Context(), id, "me")
	w.must(err)
	return p
}

// add begins a scene that the test contains.
func (w *world) add(text string) *demo.Playback {
	w.Helper()
	_, err := w.library.Add("test", []byte(text))
	w.must(err)
	return w.begin("test")
}

// broker returns the broker of a play's namespace.
func (w *world) broker(p *demo.Playback) *broker.Broker {
	w.Helper()
	b, _, err := w.fleet.Broker(p.Name())
	w.must(err)
	return b
}
