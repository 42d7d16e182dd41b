package alert_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
	"mayfly/engine/alert"
	"mayfly/engine/broker"
	"mayfly/engine/brokertest"
	"mayfly/storage/memory"
)

// A world is a broker with rules, in a synctest bubble, on a store that outlives them.
type world struct {
	*testing.T
	store *lasting
	b     *brokertest.Broker
	rules *alert.Rules

	mu      sync.Mutex
	offered []alert.Alert // guarded by mu
}

// lasting is a store that can be opened again, and made to fail.
type lasting struct {
	*memory.Store
	mu    sync.Mutex
	err   error  // error of commits; guarded by mu
	blind error  // error of reading bodies; guarded by mu
	then  func() // called with the next commit; guarded by mu
	epoch uint64
}

func (*lasting) Close() error { return nil }

func (l *lasting) Epoch() uint64 { return l.epoch }

func (l *lasting) breaks(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = err
}

func (l *lasting) Body(ctx context.Context, k engine.Key) (io.ReadSeekCloser, error) {
	l.mu.Lock()
	err := l.blind
	l.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return l.Store.Body(ctx, k)
}

func (l *lasting) Commit(ctx context.Context, b *engine.Batch) error {
	l.mu.Lock()
	err, then := l.err, l.then
	l.then = nil
	l.mu.Unlock()
	if then != nil {
		then()
	}
	if err != nil {
		return err
	}
	return l.Store.Commit(ctx, b)
}

// bubble runs a test in a synctest bubble, with a broker and rules.
func bubble(t *testing.T, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, store: &lasting{Store: new(memory.Store)}}
		w.open()
		f(w)
		w.close()
	})
}

func (w *world) open() {
	w.Helper()
	w.store.epoch++
	w.b = brokertest.OpenOn(w, w.store, broker.Options{})
	var err error
	w.rules, err = alert.Open(w.Context(), w.b.Broker, alert.Options{Logger: slog.New(slog.DiscardHandler), Send: func(_ alert.Rule, a alert.Alert) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.offered = append(w.offered, a)
	}})
	w.must(err)
}

func (w *world) close() {
	w.rules.Close()
	w.b.Close()
}

// restart replaces the server by another one on the same store.
func (w *world) restart() {
	w.Helper()
	w.close()
	w.open()
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) equal(got, want any) {
	w.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		w.Errorf("got %v, want %v", got, want)
	}
}

func (w *world) send(to engine.Path, ttl time.Duration, ids ...string) {
	w.Helper()
	var out []broker.Outgoing
	for _, id := range ids {
		out = append(out, broker.Outgoing{Content: engine.Content{MessageID: id, Subject: "s" + id, TTL: ttl}, Body: []byte("body of " + id)})
	}
	w.b.SendMessages(to, out...)
}

func (w *world) add(r alert.Rule) alert.ID {
	w.Helper()
	s, err := w.rules.Add(w.Context(), r, "tester")
	w.must(err)
	return s.ID
}

// pass lets d elapse and then waits until all goroutines are idle.
func (w *world) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (w *world) status(id alert.ID) alert.Status {
	w.Helper()
	s, err := w.rules.Rule(id)
	w.must(err)
	return s
}

func (w *world) wantFired(id alert.ID, want int64) {
	w.Helper()
	if s := w.status(id); s.Fired != want {
		w.Errorf("%s has fired %d times, want %d; trouble: %q", s.Name, s.Fired, want, s.Trouble)
	}
}

// left returns the remaining time to live of each message.
func (w *world) left(p engine.Path) (left []time.Duration) {
	for _, r := range w.b.Rows(p) {
		left = append(left, r.Expires.Sub(w.b.ClockTime()).Round(time.Second))
	}
	return left
}
