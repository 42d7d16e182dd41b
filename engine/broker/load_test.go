package broker

import (
	"context"
	"errors"
	"iter"
	"testing"

	"mayfly/engine"
	"mayfly/storage/memory"
)

// reading is a store that must not be closed while its records are being read.
type reading struct {
	engine.Store
	t       *testing.T
	yields  engine.Record
	reading bool
	closed  bool
}

func (r *reading) Load(context.Context) iter.Seq2[engine.Record, error] {
	return func(yield func(engine.Record, error) bool) {
		r.reading = true
		yield(r.yields, nil)
		r.reading = false
	}
}

func (r *reading) Close() error {
	if r.closed = true; r.reading {
		r.t.Error("the store is closed while its records are being read")
	}
	return nil
}

// If a record cannot be loaded, Open returns the error, and closes the store when no record is
// being read any more.
func TestLoadIsRefused(t *testing.T) {
	s := &reading{Store: new(memory.Store), t: t, yields: engine.Entity{ID: 1, Kind: engine.RestoreMark}}
	if _, err := Open(t.Context(), func(context.Context) (engine.Store, error) { return s, nil }, Options{}); !errors.Is(err, engine.ErrRestoreIncomplete) {
		t.Errorf("%v", err)
	}
	if !s.closed {
		t.Error("the store was not closed")
	}
}
