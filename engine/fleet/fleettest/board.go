package fleettest

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"mayfly/engine"
	"mayfly/engine/fleet"
)

var _ fleet.Board = (*Board)(nil)

// A Board is one for the servers of a test. The zero value is empty.
type Board struct {
	mu    sync.Mutex
	notes map[string]fleet.Note // by kind and ID; guarded by mu
	down  bool
	reads int

	// Lag is how long it takes from when notes are read until they are told. It is set
	// before the board is used.
	Lag time.Duration
}

// ErrDown is what a board says that cannot be reached.
var ErrDown = errors.New("the board cannot be reached")

// Fail has the board not be reached, until it is called with false.
func (b *Board) Fail(down bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.down = down
}

// Reads is how often the board was read.
func (b *Board) Reads() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.reads
}

func (b *Board) do(ctx context.Context, f func() error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if b.down {
		return ErrDown
	}
	if b.notes == nil {
		b.notes = map[string]fleet.Note{}
	}
	return f()
}

// Notes implements fleet.Board.
func (b *Board) Notes(ctx context.Context, kind string) (all []fleet.Note, err error) {
	err = b.do(ctx, func() error {
		b.reads++
		for key, n := range b.notes {
			if strings.HasPrefix(key, kind+"/") {
				all = append(all, n)
			}
		}
		slices.SortFunc(all, func(x, y fleet.Note) int { return cmp.Compare(x.ID, y.ID) })
		return nil
	})
	if b.Lag > 0 {
		lag := time.NewTimer(b.Lag)
		defer lag.Stop()
		select {
		case <-lag.C:
		case <-ctx.Done():
		}
	}
	return all, err
}

// PutUp implements fleet.Board.
func (b *Board) PutUp(ctx context.Context, kind, id, text string) error {
	return b.do(ctx, func() error {
		if _, there := b.notes[kind+"/"+id]; there {
			return engine.ErrExists
		}
		b.notes[kind+"/"+id] = fleet.Note{ID: id, Text: text}
		return nil
	})
}

// Mark implements fleet.Board.
func (b *Board) Mark(ctx context.Context, kind, id string, at time.Time) error {
	return b.do(ctx, func() error {
		n, there := b.notes[kind+"/"+id]
		if at = at.UTC().Truncate(time.Second); there && at.After(n.Marked) {
			n.Marked = at
			b.notes[kind+"/"+id] = n
		}
		return nil
	})
}

// TakeDown implements fleet.Board.
func (b *Board) TakeDown(ctx context.Context, kind string, ids ...string) error {
	return b.do(ctx, func() error {
		for _, id := range ids {
			delete(b.notes, kind+"/"+id)
		}
		return nil
	})
}
