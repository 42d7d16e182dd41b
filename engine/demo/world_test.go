package demo_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/demo"
	"mayfly/engine/namespaces"
	"mayfly/engine/namespaces/namespacestest"
	"mayfly/storage/memory"
)

// A world is a Player on namespaces in memory.
type world struct {
	*testing.T
	*demo.Player
	namespaces *namespaces.Manager
	library    *demo.Library
}

// late is a Namespaces whose Create first waits for the duration `by`.
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

// openIn is open with a limit on memory.
func openIn(t *testing.T, o demo.Options, m *engine.Memory) *world {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	lib, err := demo.Open()
	if err != nil {
		t.Fatal(err)
	}
	f := namespacestest.OpenIn(t, func() engine.Store { return new(memory.Store) }, 0, m)
	if late, ok := o.Namespaces.(*late); ok {
		late.Namespaces = f
	} else {
		o.Namespaces = f
	}
	o.Library, o.Logger = lib, log
	w := &world{T: t, Player: demo.NewPlayer(o), namespaces: f, library: lib}
	t.Cleanup(w.Close)
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// begin begins a scene of the library.
func (w *world) begin(id string) *demo.Playback {
	w.Helper()
	p, err := w.Begin(w.Context(), id, "me")
	w.must(err)
	return p
}

// add adds a scene with this text and begins it.
func (w *world) add(text string) *demo.Playback {
	w.Helper()
	_, err := w.library.Add("test", []byte(text))
	w.must(err)
	return w.begin("test")
}

// broker returns the broker of a playback's namespace.
func (w *world) broker(p *demo.Playback) *broker.Broker {
	w.Helper()
	b, _, err := w.namespaces.Broker(p.Name())
	w.must(err)
	return b
}
