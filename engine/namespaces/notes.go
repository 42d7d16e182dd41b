package namespaces

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// A NoteStore keeps data that all servers on one store need, independently of who owns which
// namespace: sessions of users and tokens of programs. A note is added once and removed once,
// and its text never changes. Its methods are safe for concurrent use, and every later read, at
// any server, sees a change.
type NoteStore interface {
	// Notes returns all notes of a kind, in the order of their IDs.
	Notes(ctx context.Context, kind string) ([]Note, error)
	// AddNote adds a note. The error is engine.ErrExists if there is one of that ID.
	AddNote(ctx context.Context, kind, id, text string) error
	// MarkNoteUsed sets when a note was last used; an earlier time than the present mark changes
	// nothing.
	MarkNoteUsed(ctx context.Context, kind, id string, at time.Time) error
	// RemoveNotes removes notes; missing ones are no error.
	RemoveNotes(ctx context.Context, kind string, ids ...string) error
}

// A Note is a text on a NoteStore.
type Note struct {
	ID, Text string
	LastUsed time.Time // latest mark, to the second; zero means never
}

const (
	readInterval    = time.Second
	minReadInterval = 200 * time.Millisecond // minimum time between readings that callers ask for
	readTimeout     = 5 * time.Second
	// trustFor is how long the last reading is trusted while the note store cannot be read.
	trustFor = 10 * time.Second
)

// A NoteReader reads the notes of a kind, again and again. Make it with NewNoteReader. It is safe for
// concurrent use; Run is called once.
type NoteReader struct {
	store   NoteStore
	kind    string
	receive func(notes []Note, began time.Time)
	log     *slog.Logger
	reading chan struct{} // holds one: the goroutine that reads
	triedAt time.Time     // when it was read last; owned by the holder of reading
	readErr error         // why that failed, nil if it did not or its caller had gone; owned by the holder of reading

	mu       sync.Mutex
	lastRead time.Time // when the last successful reading began; zero if there was none; guarded by mu
}

// NewNoteReader returns a reader. It calls take with all notes after each reading, and with the
// time when that reading began. Calls of take do not overlap.
func NewNoteReader(store NoteStore, kind string, take func(notes []Note, began time.Time), log *slog.Logger) *NoteReader {
	return &NoteReader{store: store, kind: kind, receive: take, log: cmp.Or(log, slog.Default()), reading: make(chan struct{}, 1)}
}

// Run reads at once and then every second, until ctx ends. After each attempt, even a failed
// one, it calls then.
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

// Refresh returns when a reading has been taken that began after the call. Concurrent callers
// share one reading, and its failure.
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

// IsFresh reports whether the last reading is recent enough to trust.
func (r *NoteReader) IsFresh() bool {
	last := r.lastReading()
	return !last.IsZero() && time.Since(last) < trustFor
}
