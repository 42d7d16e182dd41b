package namespaces_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/namespaces"
	"mayfly/storage/memory"
)

var errDisk = errors.New("the disk is gone")

// protocols records the calls of its methods.
type protocols struct {
	mu      sync.Mutex
	calls   []string
	broker  *broker.Broker
	waiting namespaces.NotServed
	refuse  error             // the error of Serve
	heard   func(what string) // called with each record, unless it is nil
}

func (d *protocols) note(what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls = append(d.calls, what)
	if d.heard != nil {
		d.heard(what)
	}
}

func (d *protocols) list() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.calls)
}

func (d *protocols) Serve(_ context.Context, b *broker.Broker) (namespaces.ServeHandle, error) {
	if d.refuse != nil {
		return nil, d.refuse
	}
	d.note("serve")
	d.broker = b
	return served{d}, nil
}

func (d *protocols) StandBy(w namespaces.NotServed) {
	d.waiting = w
	switch {
	case w.Owner != (engine.Owner{}):
		d.note("owned")
	case w.Reason != "":
		d.note(w.Reason)
	default:
		d.note("about to be")
	}
}

type served struct{ d *protocols }

func (s served) Shutdown(context.Context) error { s.d.note("leave"); return nil }
func (s served) Close()                         { s.d.note("close") }

// keep runs a keeper; stop ends it and returns Run's error.
func keep(t *testing.T, k *namespaces.Keeper) (stop func() error) {
	k.Logger = slog.New(slog.DiscardHandler)
	k.Broker.Logger = k.Logger
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- k.Run(ctx) }()
	return func() error { cancel(); return <-ended }
}

// opening adapts open to the type of Keeper.Open.
func opening(open func() (engine.Store, error)) func(func(engine.Owner), int) func(context.Context) (engine.Store, error) {
	return func(func(engine.Owner), int) func(context.Context) (engine.Store, error) {
		return func(context.Context) (engine.Store, error) { return open() }
	}
}

func expect(t *testing.T, d *protocols, want ...string) {
	t.Helper()
	if got := d.list(); !slices.Equal(got, want) {
		t.Errorf("the protocols got the calls %q; want %q", got, want)
	}
}

func TestKeeperServesUntilTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &protocols{}
		stop := keep(t, &namespaces.Keeper{Protocols: d, Open: opening(func() (engine.Store, error) { return new(memory.Store), nil }), OnShutdown: func(context.Context) error {
			d.note("shut")
			return nil
		}})
		synctest.Wait()
		expect(t, d, "serve")
		if err := stop(); err != nil {
			t.Error(err)
		}
		expect(t, d, "serve", "leave", "shut", "close")
		select {
		case <-d.broker.Done():
		default:
			t.Error("the broker still runs")
		}
	})
}

func TestKeeperGivesUpUnlessItLasts(t *testing.T) {
	failing := opening(func() (engine.Store, error) { return nil, errDisk })
	synctest.Test(t, func(t *testing.T) {
		d := &protocols{}
		stop := keep(t, &namespaces.Keeper{Protocols: d, Open: failing})
		synctest.Wait()
		if err := stop(); !errors.Is(err, errDisk) {
			t.Errorf("it ended with %v", err)
		}
		expect(t, d)
	})
	synctest.Test(t, func(t *testing.T) {
		d := &protocols{}
		var mended atomic.Bool
		stop := keep(t, &namespaces.Keeper{Protocols: d, RetryForever: true, Open: opening(func() (engine.Store, error) {
			if !mended.Load() {
				return nil, errDisk
			}
			return new(memory.Store), nil
		})})
		time.Sleep(600 * time.Millisecond) // tried at 0 and 250 ms
		synctest.Wait()
		expect(t, d, "The disk is gone.", "The disk is gone.")
		if d.waiting.Since.IsZero() {
			t.Error("the status does not contain since when it waits")
		}
		mended.Store(true)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		expect(t, d, "The disk is gone.", "The disk is gone.", "serve")
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// If a namespace cannot be served, its broker is closed. A keeper with RetryForever tries
// again.
func TestKeeperWhenProtocolsRefuse(t *testing.T) {
	for _, lasting := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			opened := 0
			d := &protocols{refuse: errDisk}
			stop := keep(t, &namespaces.Keeper{Protocols: d, RetryForever: lasting, Open: opening(func() (engine.Store, error) { opened++; return new(memory.Store), nil })})
			time.Sleep(5 * time.Second) // longer than the pause
			err := stop()
			if lasting && (err != nil || opened != 2) {
				t.Errorf("opened %d times, ended with %v", opened, err)
			}
			if !lasting && (!errors.Is(err, errDisk) || opened != 1) {
				t.Errorf("opened %d times, ended with %v", opened, err)
			}
		})
	}
}

// A broker that ends by itself ends its keeper, or is opened again if the keeper has
// RetryForever.
func TestKeeperWhenTheBrokerEnds(t *testing.T) {
	for _, lasting := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			d := &protocols{}
			stop := keep(t, &namespaces.Keeper{Protocols: d, RetryForever: lasting, Open: opening(func() (engine.Store, error) { return new(memory.Store), nil })})
			synctest.Wait()
			_ = d.broker.Close()
			time.Sleep(5 * time.Second)
			synctest.Wait()
			err := stop()
			got := d.list()
			if lasting && (err != nil || !slices.Contains(got, "The broker has stopped.") || slices.Index(got[1:], "serve") < 0) {
				t.Errorf("the protocols got %q, and the keeper ended with %v", got, err)
			}
			if !lasting && err == nil {
				t.Errorf("the protocols got %q, and the keeper ended without an error", got)
			}
		})
	}
}

// fenced is a store that another server has taken over.
type fenced struct{ memory.Store }

func (*fenced) Close() error { return engine.ErrFenced }

// Losses in a row are counted, until the namespace has been served for a while.
func TestKeeperCountsLosses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var counts []int
		steps := []func() (engine.Store, error){
			func() (engine.Store, error) { return nil, engine.ErrFenced },
			func() (engine.Store, error) { return nil, errDisk }, // an error that is no loss
			func() (engine.Store, error) { return nil, engine.ErrFenced },
			func() (engine.Store, error) { return new(fenced), nil }, // served, and lost at once
			func() (engine.Store, error) { return new(fenced), nil }, // served for long
			func() (engine.Store, error) { return new(memory.Store), nil },
		}
		d := &protocols{}
		stop := keep(t, &namespaces.Keeper{Protocols: d, RetryForever: true, Shared: true, Open: func(_ func(engine.Owner), lost int) func(context.Context) (engine.Store, error) {
			open := steps[len(counts)]
			counts = append(counts, lost)
			return func(context.Context) (engine.Store, error) { return open() }
		}})
		time.Sleep(10 * time.Second)
		synctest.Wait()
		_ = d.broker.Close() // the fourth store's
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		_ = d.broker.Close() // the fifth store's
		time.Sleep(10 * time.Second)
		if err := stop(); err != nil {
			t.Error(err)
		}
		if want := []int{0, 1, 1, 2, 3, 0}; !slices.Equal(counts, want) {
			t.Errorf("the counts of losses are %v, want %v", counts, want)
		}
	})
}
