package storetest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"testing/iotest"

	"mayfly/engine"
	"mayfly/engine/enginetest"
	"mayfly/engine/longtest"
)

// An Open opens the same store each time: the next store contains what the previous one
// contained when it was closed.
type Open func(ctx context.Context) (engine.Store, error)

// An Option changes how a driver is tested.
type Option func(*workShare)

// workShare determines how much of the repeatable work a test does.
type workShare struct{ part int }

// ReduceWork makes a suite do a fraction of its repeatable work, a tenth if part is 10. No test
// is skipped. It is for stores that can do only some hundred writes a second.
func ReduceWork(part int) Option {
	return func(x *workShare) { x.part = part }
}

// extentOf returns the share of work that the options set. Without MAYFLY_LONG=1 it is at most
// an eighth.
func extentOf(t *testing.T, options []Option) workShare {
	x := workShare{part: 1}
	for _, o := range options {
		o(&x)
	}
	if !longtest.Enabled(t) {
		x.part = max(x.part, 8)
	}
	return x
}

// of returns n divided by x.part, but not less than `least`.
func (x workShare) of(n, least int) int { return max(n/x.part, least) }

// Run tests a driver. openNew creates a new store, which is empty and separate from all others.
// A store that is an engine.History is tested as one, too.
func Run(t *testing.T, openNew func(t *testing.T) Open, options ...Option) {
	x := extentOf(t, options)
	for _, tc := range []struct {
		name string
		test func(*testing.T, Open)
	}{
		{"an empty store", testEmpty},
		{"every field comes back", func(t *testing.T, o Open) { testFields(t, o, x.of(20, 4)) }},
		{"batches against a model", func(t *testing.T, o Open) { testWalk(t, o, x.of(300, 60)) }},
		{"dropped holders", func(t *testing.T, o Open) { testDropHolders(t, o, x.of(1000, 100)) }},
		{"a message comes back", testMessageBack},
		{"sessions", testSessions},
		{"settings", testSettings},
		{"what was seen", func(t *testing.T, o Open) { testSeen(t, o, x.of(2000, 150)) }},
		{"epochs", testEpochs},
		{"bodies", testBodies},
		{"a body outlives its drop", testBodyDropped},
		{"staging that fails", testStageFails},
		{"everything at the same time", func(t *testing.T, o Open) { testConcurrent(t, o, x.of(60, 20)) }},
		{"an ended context", testContext},
		{"after Close", testClosed},
		{"a load that is not finished", testLoadStopped},
	} {
		t.Run(tc.name, func(t *testing.T) { tc.test(t, openNew(t)) })
	}
	t.Run("history", func(t *testing.T) { runHistory(t, openNew, x) })
}

func open(t *testing.T, o Open) engine.Store {
	t.Helper()
	s, err := o(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeStore(t, s) })
	return s
}

func closeStore(t *testing.T, s engine.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

func reopen(t *testing.T, o Open, s engine.Store) engine.Store {
	t.Helper()
	closeStore(t, s)
	return open(t, o)
}

func commit(t *testing.T, s engine.Store, b *engine.Batch) {
	t.Helper()
	for len(b.Written) < len(b.Messages) { // Messages and Written come in pairs
		b.Written = append(b.Written, "")
	}
	if err := s.Commit(t.Context(), b); err != nil {
		t.Fatalf("Commit: %v", err)
	}
}

func stage(t *testing.T, s engine.Store, k engine.Key, b []byte) {
	t.Helper()
	if err := s.Stage(t.Context(), k, bytes.NewReader(b)); err != nil {
		t.Fatalf("Stage: %v", err)
	}
}

func seed(t *testing.T) uint64 {
	n := rand.Uint64()
	t.Logf("seed %d", n)
	return n
}

func testEmpty(t *testing.T, o Open) {
	s := open(t, o)
	check(t, s, newState())
	if _, err := s.Body(t.Context(), 1); !errors.Is(err, engine.ErrMessageNotFound) {
		t.Errorf("Body of a missing key: %v; want ErrMessageNotFound", err)
	}
	commit(t, s, &engine.Batch{Hard: true, Now: 5})
	want := newState()
	want.Clock = 5
	check(t, s, want)
	check(t, reopen(t, o, s), want)
}

// testFields commits records with random values in every field. The store must return them
// unchanged, also when it is reopened.
func testFields(t *testing.T, o Open, batches int) {
	d := enginetest.NewGenerator(seed(t))
	s, want := open(t, o), newState()
	for range batches {
		b := records(d, 50)
		want.apply(b)
		commit(t, s, b)
	}
	check(t, s, want)
	check(t, reopen(t, o, s), want)
}

// records returns a batch of n new records of each kind.
func records(d enginetest.Generator, n int) *engine.Batch {
	b := &engine.Batch{Hard: true, Now: engine.Instant(d.Number() | 1), Access: &engine.Access{}}
	d.Fill(b.Access)
	for range n {
		var (
			e engine.Entity
			r engine.Rule
			m engine.Meter
			s engine.SessionRecord
			k engine.Setting
			g engine.Message
			c engine.StoredContent
		)
		for _, v := range []any{&e, &r, &m, &s, &k, &g, &c} {
			d.Fill(v)
		}
		// Replace the identities that Fill has drawn, which may repeat, by 64 random bits.
		e.ID, c.Key, g.Key = engine.SubqueueID(d.Uint64()|1), engine.Key(d.Uint64()), engine.Key(d.Uint64())
		e.DeadLetterID, e.TransferID = engine.SubqueueID(d.Uint64()|1), engine.SubqueueID(d.Uint64()|1)
		r.Subscription, r.Name = e.ID, d.Name()
		m.Subqueue, s.Subqueue = e.ID, e.ID
		g.Content, g.Subqueue = c.Key, []engine.SubqueueID{e.ID, e.DeadLetterID, e.TransferID}[d.IntN(3)]
		b.Entities = append(b.Entities, e)
		b.Rules = append(b.Rules, r)
		b.Meters = append(b.Meters, m)
		b.Sessions = append(b.Sessions, s)
		k.Key = d.Name() + "/" + strconv.FormatUint(d.Uint64(), 36)
		b.Settings = append(b.Settings, k)
		var at engine.Instant
		d.Fill(&at)
		b.Seen = append(b.Seen, drawSeen(d, e.ID, 1+d.Uint64()>>2, at))
		b.Contents = append(b.Contents, c)
		b.Messages = append(b.Messages, g)
		b.Written = append(b.Written, c.Content)
		b.Bodies = append(b.Bodies, engine.Body{Key: c.Key, Bytes: d.Bytes(d.IntN(300))})
	}
	return b
}

// testWalk commits batches like a broker's, hard and soft ones, and now and then compares the
// store with the model, some times after reopening it.
func testWalk(t *testing.T, o Open, batches int) {
	w := newWalk(seed(t))
	s := open(t, o)
	for i := range batches {
		do := w.next()
		for _, b := range do.staged {
			stage(t, s, b.Key, b.Bytes)
		}
		commit(t, s, do.batch)
		switch {
		case i%(batches/3) == batches/3-1:
			s = reopen(t, o, s)
			check(t, s, w.state)
		case i%(batches/12) == 0:
			check(t, s, w.state)
		}
	}
}

func testEpochs(t *testing.T, o Open) {
	for want := uint64(1); want < 4; want++ {
		s := open(t, o)
		if got := s.Epoch(); got != want {
			t.Fatalf("epoch %d at open %d", got, want)
		}
		closeStore(t, s)
	}
}

// testLoadStopped stops a load in the middle, which must not block other calls.
func testLoadStopped(t *testing.T, o Open) {
	s, want := open(t, o), newState()
	b := records(enginetest.NewGenerator(seed(t)), 40)
	want.apply(b)
	commit(t, s, b)
	for range 20 {
		n := 0
		for _, err := range s.Load(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if n++; n == 70 {
				break
			}
		}
	}
	check(t, s, want)
}

// ended returns a context that has ended for a reason.
func ended(t *testing.T, why error) context.Context {
	ctx, end := context.WithCancelCause(t.Context())
	end(why)
	return ctx
}

func testContext(t *testing.T, o Open) {
	s, want := open(t, o), newState()
	b := records(enginetest.NewGenerator(seed(t)), 3)
	want.apply(b)
	commit(t, s, b)
	why := errors.New("the caller went home")
	ctx := ended(t, why)
	_, body := s.Body(ctx, b.Bodies[0].Key)
	_, loaded := tryLoad(ctx, s)
	for name, err := range map[string]error{
		"Commit": s.Commit(ctx, &engine.Batch{Hard: true, Now: 77}),
		"Stage":  s.Stage(ctx, 9, bytes.NewReader([]byte("x"))),
		"Body":   body,
		"Load":   loaded,
	} {
		if !errors.Is(err, why) {
			t.Errorf("%s with an ended context: %v; want its cause", name, err)
		}
	}
	check(t, s, want)
}

func testClosed(t *testing.T, o Open) {
	s := open(t, o)
	b := records(enginetest.NewGenerator(seed(t)), 3)
	commit(t, s, b)
	select {
	case <-s.Lost():
		t.Error("Lost is closed while the store is open")
	default:
	}
	closeStore(t, s)
	closeStore(t, s)
	select {
	case <-s.Lost():
	default:
		t.Error("Lost is open after Close")
	}
	ctx := t.Context()
	_, body := s.Body(ctx, b.Bodies[0].Key)
	_, loaded := tryLoad(ctx, s)
	for name, err := range map[string]error{
		"Commit": s.Commit(ctx, &engine.Batch{Hard: true, Now: 77}),
		"Stage":  s.Stage(ctx, 9, bytes.NewReader([]byte("x"))),
		"Body":   body,
		"Load":   loaded,
	} {
		if err == nil || errors.Is(err, engine.ErrUnwritable) {
			t.Errorf("%s after Close: %v; want an error that is not ErrUnwritable", name, err)
		}
	}
}

// testConcurrent uses the store from several goroutines, for the race detector.
func testConcurrent(t *testing.T, o Open, batches int) {
	s, w := open(t, o), newWalk(seed(t))
	large := enginetest.NewGenerator(1).Bytes(700_000)
	stage(t, s, 50, large)
	commit(t, s, &engine.Batch{Hard: true, Now: 1,
		Entities: []engine.Entity{{ID: 2, Kind: engine.Queue, Path: "kept"}},
		Contents: []engine.StoredContent{{Key: 50}},
		Messages: []engine.Message{{Key: 50, Content: 50, Subqueue: 2}}})
	var others sync.WaitGroup
	done := make(chan struct{})
	again := func(what string, do func(i int) error) {
		others.Go(func() {
			for i := 0; ; i++ {
				if err := do(i); err != nil {
					t.Errorf("%s: %v", what, err)
					return
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for range 3 {
		again("read", func(int) error {
			b, err := readBody(t.Context(), s, 50)
			if err == nil && !bytes.Equal(b, large) {
				err = errors.New("another body")
			}
			return err
		})
	}
	again("load", func(int) error {
		_, err := tryLoad(t.Context(), s)
		return err
	})
	again("stage", func(i int) error {
		return s.Stage(t.Context(), engine.Key(1<<50+i), bytes.NewReader(large))
	})
	for range batches {
		do := w.next()
		for _, b := range do.staged {
			stage(t, s, b.Key, b.Bytes)
		}
		commit(t, s, do.batch)
	}
	close(done)
	others.Wait()
	w.state.Entities[2] = engine.Entity{ID: 2, Kind: engine.Queue, Path: "kept"}
	w.state.Contents[50], w.state.bodies[50] = "", large
	w.state.Messages[50] = engine.Message{Key: 50, Content: 50, Subqueue: 2}
	check(t, s, w.state)
	check(t, reopen(t, o, s), w.state)
}

func testStageFails(t *testing.T, o Open) {
	s := open(t, o)
	torn := errors.New("the sender hung up")
	for i, n := range []int{0, 10, 300_000, 2_000_000} {
		k := engine.Key(100 + i)
		body := io.MultiReader(bytes.NewReader(make([]byte, n)), iotest.ErrReader(torn))
		if err := s.Stage(t.Context(), k, body); !errors.Is(err, torn) {
			t.Errorf("Stage of %d bytes and an error: %v", n, err)
		}
		// The same key can be used for another attempt.
		again := enginetest.NewGenerator(uint64(i)).Bytes(n/2 + 1)
		stage(t, s, k, again)
		b := &engine.Batch{Hard: true, Now: 1, Contents: []engine.StoredContent{{Key: k}}}
		commit(t, s, b)
		got, err := readBody(t.Context(), s, k)
		if err != nil || !bytes.Equal(got, again) {
			t.Errorf("after another attempt: %d bytes, %v; want %d", len(got), err, len(again))
		}
	}
}
