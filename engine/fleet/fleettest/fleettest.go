// Package fleettest has namespaces for tests of what shows and changes them.
package fleettest

import (
	"context"
	"log/slog"
	"testing"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/fleet"
)

// Most is how many namespaces there may be beside the server's own.
const Most = 3

// Open is a fleet with the namespace default alone, each with a store that store
// makes. It serves nobody, and ends with the test.
func Open(t testing.TB, store func() engine.Store) *fleet.Fleet {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	begun := make(chan struct{})
	keep := func(name string, d fleet.Doors) *fleet.Keeper {
		return &fleet.Keeper{
			Doors: d, Logger: log, Broker: broker.Options{Name: name, Logger: log},
			Open: func(func(engine.Owner), int) func(context.Context) (engine.Store, error) {
				return func(context.Context) (engine.Store, error) { return store(), nil }
			},
		}
	}
	f := fleet.New(fleet.Options{
		Main: keep("default", quay{begun}), Catalogue: nothing{}, Logger: log, Most: Most,
		Keep: func(s fleet.Spec) *fleet.Keeper {
			k := keep(s.Name, quay{})
			k.Broker.Machine = s.Machine
			if l, err := engine.Profile(s.Profile); err == nil {
				k.Broker.Limits = &l
			}
			return k
		},
		Forget: func(fleet.Spec, string) {},
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
	return f
}

type quay struct{ begun chan struct{} }

func (q quay) Serve(context.Context, *broker.Broker) (fleet.Served, error) {
	if q.begun != nil {
		close(q.begun)
	}
	return q, nil
}
func (quay) StandBy(fleet.Waiting)       {}
func (quay) Leave(context.Context) error { return nil }
func (quay) Close()                      {}

// nothing is a catalogue that remembers nothing, and has what is removed be aside.
type nothing struct{}

func (nothing) List(context.Context) ([]fleet.Spec, error)              { return nil, nil }
func (nothing) Add(_ context.Context, s fleet.Spec) (fleet.Spec, error) { return s, nil }
func (nothing) Change(context.Context, fleet.Spec) error                { return nil }
func (nothing) Remove(_ context.Context, _ fleet.Spec, closed func() error) (string, error) {
	return "aside", closed()
}
