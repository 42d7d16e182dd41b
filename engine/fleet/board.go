package fleet

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// A Board is where servers on one store keep what each of them is to know, whoever owns
// which namespace: who has signed in, and the tokens that let programs in. A note is put
// up once and taken down once, and is never another one in between. Its methods are safe
// for concurrent use, and what one of them has done is seen by whoever asks afterwards,
// at whichever server.
type Board interface {
	// Notes are all of a kind, in the order of their IDs.
	Notes(ctx context.Context, kind string) ([]Note, error)
	// PutUp adds one. The error is engine.ErrExists if there is one of that ID.
	PutUp(ctx context.Context, kind, id, text string) error
	// Mark says when a note was good for something; an earlier time than is known
	// already changes nothing.
	Mark(ctx context.Context, kind, id string, at time.Time) error
	// TakeDown removes notes; those that are not there are as good as removed.
	TakeDown(ctx context.Context, kind string, ids ...string) error
}

// A Note is on a Board.
type Note struct {
	ID, Text string
	Marked   time.Time // the latest; to the second; zero: never
}

const (
	readEvery    = time.Second
	readAgain    = 200 * time.Millisecond // at the earliest, whoever cannot wait
	readPatience = 5 * time.Second
	// believedFor is how long what was read last is taken for what there is, where the
	// board cannot be read.
	believedFor = 10 * time.Second
)

// A Reader reads the notes of a kind, again and again. Make it with NewReader. It is safe
// for concurrent use; Run is called once.
type Reader struct {
	board Board
	kind  string
	take  func(notes []Note, began time.Time)
	log   *slog.Logger
	turn  chan struct{} // holds one: who reads
	tried time.Time     // when it was read last; whoever has the turn looks
	why   error         // why it could not be read then; likewise; nil: it could, or who read had gone

	mu   sync.Mutex
	seen time.Time // when the last good reading began; zero: there was none; guarded by mu
}

// NewReader makes a reader, which gives take all notes, each time that it has read them,
// and tells when that reading began. take is not called side by side.
func NewReader(board Board, kind string, take func(notes []Note, began time.Time), log *slog.Logger) *Reader {
	return &Reader{board: board, kind: kind, take: take, log: cmp.Or(log, slog.Default()), turn: make(chan struct{}, 1)}
}

// Run reads at once and then every second, until ctx ends. After each time, also, if it
// could not be read, it calls then.
func (r *Reader) Run(ctx context.Context, then func(context.Context)) {
	every := time.NewTicker(readEvery)
	defer every.Stop()
	for told := false; ; {
		err := r.Fresh(ctx)
		if err != nil && !told && ctx.Err() == nil {
			r.log.Warn("what servers tell each other cannot be read; that is tried again", "what", r.kind, "err", err)
		}
		told = err != nil
		then(ctx)
		select {
		case <-every.C:
		case <-ctx.Done():
			return
		}
	}
}

// Fresh returns when a reading has been taken that began after it was called. Those who
// ask at the same time share one, and that it failed.
func (r *Reader) Fresh(ctx context.Context) error {
	asked := time.Now()
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if !r.last().Before(asked) {
		return nil
	}
	if r.why != nil && !r.tried.Before(asked) {
		return r.why
	}
	if wait := readAgain - time.Since(r.tried); wait > 0 {
		pause := time.NewTimer(wait)
		defer pause.Stop()
		select {
		case <-pause.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	reading, cancel := context.WithTimeout(ctx, readPatience)
	defer cancel()
	began := time.Now()
	r.tried, r.why = began, nil
	notes, err := r.board.Notes(reading, r.kind)
	if err != nil {
		err = fmt.Errorf("read the servers' board: %w", err)
		if ctx.Err() == nil {
			r.why = err
		}
		return err
	}
	r.take(notes, began)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = began
	return nil
}

func (r *Reader) last() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seen
}

// Believed tells whether what was taken last is recent enough to go by.
func (r *Reader) Believed() bool {
	last := r.last()
	return !last.IsZero() && time.Since(last) < believedFor
}
