package namespaces

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// A NoteStore stores data that all servers on one store need, regardless of which server owns which
// namespace: sessions of users, API tokens, and actions to audit. A note is added once and removed
// once, and its text never changes. The methods of a NoteStore are safe for concurrent use, and
// every later read, at any server, sees a change.
type NoteStore interface {
	// Notes returns all notes of a kind, in the order of their IDs.
	Notes(ctx context.Context, kind string) ([]Note, error)
	// AddNote adds a note. The error is engine.ErrExists if there is one with that ID.
	AddNote(ctx context.Context, kind, id, text string) error
	// MarkNoteUsed sets Note.LastUsed, unless it is later already.
	MarkNoteUsed(ctx context.Context, kind, id string, at time.Time) error
	// RemoveNotes removes notes. It ignores ids that do not exist.
	RemoveNotes(ctx context.Context, kind string, ids ...string) error
}

// A Note is a text in a NoteStore.
type Note struct {
	ID, Text string
	LastUsed time.Time // set by MarkNoteUsed, to the second; zero means never
}

const (
	readInterval    = time.Second
	minReadInterval = 200 * time.Millisecond // minimum time between two reads
	readTimeout     = 5 * time.Second
	// trustFor is how long the notes of the last read are trusted while the note store cannot be read.
	trustFor = 10 * time.Second
)

// A NoteReader reads the notes of a kind repeatedly. Create it with NewNoteReader. It is safe for
// concurrent use; Run must be called only once.
type NoteReader struct {
	store   NoteStore
	kind    string
	receive func(notes []Note, began time.Time)
	log     *slog.Logger
	reading chan struct{} // a lock, held by the goroutine that reads
	triedAt time.Time     // when the last read began; guarded by reading
	readErr error         // why the last read failed; nil if it succeeded, or if the caller's context had ended; guarded by reading

	mu       sync.Mutex
	lastRead time.Time // when the last successful read began; zero if there was none; guarded by mu
}

// NewNoteReader returns a NoteReader that calls `take` after each successful read, with all notes
// and the time when that read began. Calls of `take` do not overlap.
func NewNoteReader(store NoteStore, kind string, take func(notes []Note, began time.Time), log *slog.Logger) *NoteReader {
	return &NoteReader{store: store, kind: kind, receive: take, log: cmp.Or(log, slog.Default()), reading: make(chan struct{}, 1)}
}

// Run reads at once and then every second, until ctx ends. After each attempt, even a failed one,
// it calls `then`.
func (r *NoteReader) Run(ctx context.Context, then func(context.Context)) {
	every := time.NewTicker(readInterval)
	defer every.Stop()
	for logged := false; ; {
		err := r.Refresh(ctx)
		if err != nil && !logged && ctx.Err() == nil {
			r.log.Warn("notes of other servers cannot be read; retrying", "kind", r.kind, "err", err)
		}
		logged = err != nil
		then(ctx)
		select {
		case <-every.C:
		case <-ctx.Done():
			return
		}
	}
}

// Refresh reads the notes, or waits for a read that began after the call. Concurrent callers share
// one read, and its failure.
func (r *NoteReader) Refresh(ctx context.Context) error {
	asked := time.Now()
	select {
	case r.reading <- struct{}{}:
		defer func() { <-r.reading }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if !r.lastReading().Before(asked) {
		return nil
	}
	if r.readErr != nil && !r.triedAt.Before(asked) {
		return r.readErr
	}
	if wait := minReadInterval - time.Since(r.triedAt); wait > 0 {
		pause := time.NewTimer(wait)
		defer pause.Stop()
		select {
		case <-pause.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	reading, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	began := time.Now()
	r.triedAt, r.readErr = began, nil
	notes, err := r.store.Notes(reading, r.kind)
	if err != nil {
		err = fmt.Errorf("read the notes of other servers: %w", err)
		if ctx.Err() == nil {
			r.readErr = err
		}
		return err
	}
	r.receive(notes, began)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lastRead = began
	return nil
}

func (r *NoteReader) lastReading() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lastRead
}

// IsFresh reports whether the last successful read is recent enough to be trusted.
func (r *NoteReader) IsFresh() bool {
	last := r.lastReading()
	return !last.IsZero() && time.Since(last) < trustFor
}
