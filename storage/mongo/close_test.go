package mongo

import (
	"context"
	"errors"
	"io"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mayfly/engine"
)

// closed requires that Close returns without an error although a call is in progress. It must be
// called in a synctest bubble.
func closed(t *testing.T, s *Store) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- s.Close() }()
	time.Sleep(time.Hour)
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	default:
		t.Error("Close has not returned after an hour")
	}
}

// A sender that pauses in the middle of a body does not keep the store from closing, and gets
// an error when it continues.
func TestCloseDoesNotWaitForSenders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := openOn(t.Context(), new(toy), nil, timed(Options{}))
		if err != nil {
			t.Fatal(err)
		}
		body, sender := io.Pipe()
		staged := make(chan error, 1)
		go func() { staged <- s.Stage(context.Background(), 7, body) }()
		if _, err := sender.Write(make([]byte, smallBody+1)); err != nil {
			t.Fatal(err)
		}
		closed(t, s)
		if err := sender.Close(); err != nil {
			t.Error(err)
		}
		if err := <-staged; err == nil {
			t.Error("a body was staged in a closed store")
		}
	})
}

// A mute server does not answer requests about one collection.
type mute struct {
	server
	in collection
}

func (m *mute) Range(ctx context.Context, in collection, r idRange) iter.Seq2[bson.Raw, error] {
	if in != m.in {
		return m.server.Range(ctx, in, r)
	}
	return func(yield func(bson.Raw, error) bool) {
		<-ctx.Done()
		yield(nil, context.Cause(ctx))
	}
}

// Reading the history from a database that does not answer ends when the namespace is lost.
func TestHistoryEndsWithTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := openOn(t.Context(), &mute{new(toy), history}, nil, timed(Options{}))
		if err != nil {
			t.Fatal(err)
		}
		read := make(chan error, 1)
		asking, enough := context.WithCancel(context.Background())
		defer enough()
		go func() {
			for _, err := range s.QueryEvents(asking, engine.HistoryQuery{}) {
				read <- err
			}
		}()
		synctest.Wait()
		s.endOwnership(engine.ErrFenced)
		closed(t, s)
		enough()
		if err := <-read; !errors.Is(err, engine.ErrFenced) {
			t.Errorf("the history: %v", err)
		}
	})
}
