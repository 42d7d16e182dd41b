package namespacestest

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"mayfly/engine"
	"mayfly/engine/namespaces"
)

var _ namespaces.NoteStore = (*NoteStore)(nil)

// A NoteStore is a namespaces.NoteStore for the servers of a test. The zero value is empty.
type NoteStore struct {
	mu    sync.Mutex
	notes map[string]namespaces.Note // by kind and ID; guarded by mu
	down  bool
	reads int

	// Lag is the time that Notes waits after it has read the notes. Set it before the note store is
	// used.
	Lag time.Duration
}

// ErrDown is the error of all methods while the note store is unreachable.
var ErrDown = errors.New("the note store cannot be reached")

// Fail makes the note store unreachable if down is true, and reachable again if it is false.
func (b *NoteStore) Fail(down bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.down = down
}

// Reads returns how often the notes were read.
func (b *NoteStore) Reads() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.reads
}

func (b *NoteStore) withDelay(ctx context.Context, f func() error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if b.down {
		return ErrDown
	}
	if b.notes == nil {
		b.notes = map[string]namespaces.Note{}
	}
	return f()
}

// Notes implements namespaces.NoteStore.
func (b *NoteStore) Notes(ctx context.Context, kind string) (all []namespaces.Note, err error) {
	err = b.withDelay(ctx, func() error {
		b.reads++
		for key, n := range b.notes {
			if strings.HasPrefix(key, kind+"/") {
				all = append(all, n)
			}
		}
		slices.SortFunc(all, func(x, y namespaces.Note) int { return cmp.Compare(x.ID, y.ID) })
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

// AddNote implements namespaces.NoteStore.
func (b *NoteStore) AddNote(ctx context.Context, kind, id, text string) error {
	return b.withDelay(ctx, func() error {
		if _, there := b.notes[kind+"/"+id]; there {
			return engine.ErrExists
		}
		b.notes[kind+"/"+id] = namespaces.Note{ID: id, Text: text}
		return nil
	})
}

// MarkNoteUsed implements namespaces.NoteStore.
func (b *NoteStore) MarkNoteUsed(ctx context.Context, kind, id string, at time.Time) error {
	return b.withDelay(ctx, func() error {
		n, there := b.notes[kind+"/"+id]
		if at = at.UTC().Truncate(time.Second); there && at.After(n.LastUsed) {
			n.LastUsed = at
			b.notes[kind+"/"+id] = n
		}
		return nil
	})
}

// RemoveNotes implements namespaces.NoteStore.
func (b *NoteStore) RemoveNotes(ctx context.Context, kind string, ids ...string) error {
	return b.withDelay(ctx, func() error {
		for _, id := range ids {
			delete(b.notes, kind+"/"+id)
		}
		return nil
	})
}
