package broker_test

import (
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"log/slog"
	"sync"
	"testing"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/brokertest"
	"mayfly/storage/memory"
)

// world is a broker in a synctest bubble, on a store that a test can break.
type world struct {
	*testing.T
	*brokertest.Broker
	store *flaky
}

// flaky is a store that a test can break.
type flaky struct {
	engine.Store
	mu      sync.Mutex
	err     error // of the next commits
	applied bool  // the commits are applied in spite of err
	opens   int
	commits []engine.Batch
	staged  func() // called after each Stage

	leaseLost  bool          // Owned reports false: another server may own the namespace
	refusal    error         // error of the next opens
	hold       chan struct{} // commits wait until it is closed; nil means that they do not wait
	unreadable int           // how many of the next bodies cannot be read
	unreadErr  error         // the error for unreadable bodies; nil means some error
	gone       bool          // the store cannot be opened
	troubles   chan error    // what WriteFailure yields
	tight      bool          // batches that need no space are applied in spite of err
}

func (f *flaky) Commit(ctx context.Context, b *engine.Batch) error {
	f.mu.Lock()
	err, applied, hold := f.err, f.applied, f.hold
	if f.tight && b.NeedsNoSpace() {
		err = nil
	}
	f.commits = append(f.commits, *b)
	f.mu.Unlock()
	if hold != nil {
		<-hold
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil && !applied {
		return err
	}
	return errors.Join(f.Store.Commit(ctx, b), err)
}

func (f *flaky) Stage(ctx context.Context, k engine.Key, body io.Reader) error {
	err := f.Store.Stage(ctx, k, body)
	if f.staged != nil {
		f.staged()
	}
	return err
}

func (f *flaky) Load(ctx context.Context) iter.Seq2[engine.Record, error] { return f.Store.Load(ctx) }

func (f *flaky) Body(ctx context.Context, k engine.Key) (io.ReadSeekCloser, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.unreadable > 0 {
		f.unreadable--
		return nil, cmp.Or(f.unreadErr, errors.New("a bad sector"))
	}
	return f.Store.Body(ctx, k)
}

func (f *flaky) Epoch() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return uint64(f.opens)
}

func (f *flaky) Owned() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.leaseLost
}

func (f *flaky) loseLease() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.leaseLost = true
}

// Close keeps the data in memory for the next open.
func (f *flaky) Close() error { return nil }

func (f *flaky) breaks(err error, applied bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err, f.applied = err, applied
}

// tightens makes the store accept only batches that free room from now on. It refuses others with
// the error `why`.
func (f *flaky) tightens(why error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err, f.tight = why, true
}

func (f *flaky) WriteFailure() <-chan error { return f.troubles }

func (f *flaky) AcceptsDrops() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tight
}

func (f *flaky) batches() []engine.Batch {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]engine.Batch(nil), f.commits...)
}

// holds makes further commits wait until the channel `until` is closed.
func (f *flaky) holds(until chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hold = until
}

// goes makes later opens fail: because the store no longer exists if gone is true, else with the
// error refusal. If both are zero, they succeed.
func (f *flaky) goes(gone bool, refusal error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gone, f.refusal = gone, refusal
}

// open counts an opening, which raises the epoch, and returns the error set by goes, if any.
func (f *flaky) open() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.opens++
	if f.gone {
		return errors.New("it is not there")
	}
	return f.refusal
}

func start(t *testing.T, o broker.Options) *world {
	t.Helper()
	f := &flaky{Store: new(memory.Store), troubles: make(chan error)}
	return startOn(t, f, func() engine.Store { return f }, o)
}

// startOn starts a world on f; opened returns the store of each opening.
func startOn(t *testing.T, f *flaky, opened func() engine.Store, o broker.Options) *world {
	t.Helper()
	w := &world{T: t, store: f}
	if testing.Verbose() {
		o.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	w.Broker = brokertest.OpenWith(t, func(context.Context) (engine.Store, error) {
		if err := f.open(); err != nil {
			return nil, err
		}
		return opened(), nil
	}, o)
	return w
}

func (w *world) send(to engine.Path, texts ...string) {
	w.Helper()
	var out []broker.Outgoing
	for _, s := range texts {
		out = append(out, broker.Outgoing{Content: engine.Content{Subject: s}, Body: []byte(s)})
	}
	w.SendMessages(to, out...)
}

func text(t *testing.T, r broker.Received) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
