package broker

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
	"mayfly/storage/memory"
)

// The broker keeps no state of receivers whose calls have returned, with or without a result.
func TestReceiversLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		b, err := Open(ctx, func(context.Context) (engine.Store, error) { return new(memory.Store), nil }, Options{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		if _, err := b.Create(ctx, engine.Queue, "q", engine.Config{}, ""); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if _, err := b.Receive(ctx, ReceiveRequest{Path: "q", Wait: time.Second}); err != nil {
				t.Fatal(err)
			}
			if _, err := b.Receive(ctx, ReceiveRequest{Path: "nowhere", Wait: time.Second}); err == nil {
				t.Fatal("a receive from a missing entity succeeds")
			}
		}
		if _, err := b.Create(ctx, engine.Queue, "s", engine.Config{RequiresSession: true}, ""); err != nil {
			t.Fatal(err)
		}
		for _, wait := range []time.Duration{0, time.Second} {
			if _, err := b.AcceptSession(ctx, AcceptRequest{Path: "s", Wait: wait}); err == nil {
				t.Fatal("a session was accepted though none is available")
			}
			s, err := b.AcceptSession(ctx, AcceptRequest{Path: "s", Session: new("s")})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Close(ctx); err != nil {
				t.Fatal(err)
			}
		}
		n := -1
		err = exec(ctx, b, func(*engine.Namespace, engine.Instant) error { n = len(b.links); return nil })
		if err != nil || n != 0 {
			t.Errorf("%d receivers are known, %v", n, err)
		}
	})
}

// The broker keeps no state of a receiver that was refused because too many others were waiting.
func TestBusyReceiversLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		limits := engine.DefaultLimits()
		limits.Receives = 1
		b, err := Open(ctx, func(context.Context) (engine.Store, error) { return new(memory.Store), nil }, Options{Logger: slog.New(slog.DiscardHandler), Limits: &limits})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		if _, err := b.Create(ctx, engine.Queue, "q", engine.Config{}, ""); err != nil {
			t.Fatal(err)
		}
		waited := make(chan error)
		go func() {
			_, err := b.Receive(ctx, ReceiveRequest{Path: "q", Wait: time.Minute})
			waited <- err
		}()
		synctest.Wait()
		if _, err := b.Receive(ctx, ReceiveRequest{Path: "q", Wait: time.Minute}); !errors.Is(err, engine.ErrBusy) {
			t.Fatalf("one too many: %v", err)
		}
		attached := -1
		err = b.Read(ctx, func(r Reader) error {
			s, err := r.State("q")
			attached = s.Receivers
			return err
		})
		if err != nil || attached != 1 {
			t.Errorf("%d receivers are attached, %v", attached, err)
		}
		if err := <-waited; err != nil {
			t.Fatal(err)
		}
	})
}
