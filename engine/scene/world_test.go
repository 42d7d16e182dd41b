package scene_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/fleet"
	"mayfly/engine/scene"
	"mayfly/storage/memory"
)

// A world is stages on a fleet of namespaces in memory.
type world struct {
	*testing.T
	*scene.Stages
	fleet   *fleet.Fleet
	library *scene.Library
}

type catalogue struct{}

func (catalogue) List(context.Context) ([]fleet.Spec, error) { return nil, nil }

func (catalogue) Add(_ context.Context, s fleet.Spec) (fleet.Spec, error) { return s, nil }

func (catalogue) Change(context.Context, fleet.Spec) error { return nil }

func (catalogue) Remove(_ context.Context, _ fleet.Spec, closed func() error) (string, error) {
	return "", closed()
}

// doors tell nobody.
type doors struct{ begun func() }

func (d doors) Serve(context.Context, *broker.Broker) (fleet.Served, error) {
	if d.begun != nil {
		d.begun()
	}
	return served{}, nil
}
func (doors) StandBy(fleet.Waiting) {}

type served struct{}

func (served) Leave(context.Context) error { return nil }
func (served) Close()                      {}

func inMemory(func(engine.Owner), int) func(context.Context) (engine.Store, error) {
	return func(context.Context) (engine.Store, error) { return new(memory.Store), nil }
}

// late is a fleet that takes its time to make a namespace.
type late struct {
	scene.Fleet
	by time.Duration
}

func (l *late) Create(ctx context.Context, s fleet.Spec, actor string) (fleet.Namespace, error) {
	<-time.After(l.by)
	return l.Fleet.Create(ctx, s, actor)
}

// open starts stages with the program's own scenes.
func open(t *testing.T, o scene.Options) *world {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	lib, err := scene.Open()
	if err != nil {
		t.Fatal(err)
	}
	begun := make(chan struct{})
	f := fleet.New(fleet.Options{
		Main: &fleet.Keeper{Open: inMemory, Doors: doors{sync.OnceFunc(func() { close(begun) })}, Logger: log, Broker: broker.Options{Logger: log}},
		Keep: func(s fleet.Spec) *fleet.Keeper {
			return &fleet.Keeper{Open: inMemory, Doors: doors{}, Logger: log, Broker: broker.Options{Name: s.Name, Machine: s.Machine, Logger: log}}
		},
		Forget: func(fleet.Spec, string) {}, Catalogue: catalogue{}, Logger: log,
	})
	ctx, stop := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- f.Run(ctx) }()
	<-begun
	if late, ok := o.Fleet.(*late); ok {
		late.Fleet = f
	} else {
		o.Fleet = f
	}
	o.Library, o.Logger = lib, log
	w := &world{T: t, Stages: scene.Start(o), fleet: f, library: lib}
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
func (w *world) begin(id string) *scene.Play {
	w.Helper()
	p, err := w.Begin(w.Context(), id, "me")
	w.must(err)
	return p
}

// add begins a scene that is written down here.
func (w *world) add(text string) *scene.Play {
	w.Helper()
	_, err := w.library.Add("test", []byte(text))
	w.must(err)
	return w.begin("test")
}

// broker is that of a play's namespace.
func (w *world) broker(p *scene.Play) *broker.Broker {
	w.Helper()
	b, _, err := w.fleet.Broker(p.Name())
	w.must(err)
	return b
}
