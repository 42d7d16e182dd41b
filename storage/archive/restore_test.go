package archive_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/longtest"
	"mayfly/storage/archive"
	"mayfly/storage/inspect"
	"mayfly/storage/memory"
	"mayfly/storage/storetest"
)

func served(t *testing.T, s engine.Store) (*broker.Broker, error) {
	t.Helper()
	return broker.Open(t.Context(), func(context.Context) (engine.Store, error) { return s, nil },
		broker.Options{Logger: slog.New(slog.DiscardHandler)})
}

// TestInterrupted interrupts a restore before and after every commit and every staged body.
// Each time the incomplete store cannot be served or backed up and is reported as incomplete,
// and another restore completes it.
func TestInterrupted(t *testing.T) {
	from := random(t, drawer(t), 6)
	want, file := existingContent(t, from), backup(t, from)
	calls := 0
	try := func(plan func(int) storetest.Fault) (*memory.Store, error) {
		s := new(memory.Store)
		f := &storetest.Faulty{Store: s}
		f.Plan(plan)
		_, err := checked(t, file).Restore(t.Context(), faulty{f, s})
		return s.Reopen(), err
	}
	if _, err := try(func(n int) storetest.Fault { calls = n; return storetest.NoFault }); err != nil || calls < 10 {
		t.Fatal(calls, err)
	}
	between := 8 // calls from one failure to the next; the first and the last call always fail
	if longtest.Enabled(t) {
		between = 1
	}
	for _, fault := range []storetest.Fault{storetest.FailBefore, storetest.FailAfter} {
		for at := 1; at <= calls; at++ {
			if at%between != 1%between && at != calls {
				continue
			}
			s, err := try(func(n int) storetest.Fault {
				if n == at {
					return fault
				}
				return storetest.NoFault
			})
			if !errors.Is(err, storetest.ErrFault) {
				t.Fatalf("call %d: %v", at, err)
			}
			switch {
			case at == 1 && fault == storetest.FailBefore: // nothing was written
				s = restore(t, file, s)
			case at == calls && fault == storetest.FailAfter: // everything was written
			default:
				s = halfIsNothing(t, at, s)
				done, err := checked(t, file).Restore(t.Context(), s)
				if err != nil || !done.RemovedUnfinished {
					t.Fatalf("another restore after call %d: %+v, %v", at, done, err)
				}
				s = s.Reopen()
			}
			differ(t, "restored", want, existingContent(t, s))
		}
	}
}

// faulty adds a history to the methods that Faulty forwards.
type faulty struct {
	*storetest.Faulty
	engine.History
}

// halfIsNothing checks that an incomplete store is refused, and reopens it.
func halfIsNothing(t *testing.T, at int, s *memory.Store) *memory.Store {
	t.Helper()
	if _, err := archive.Write(t.Context(), io.Discard, s, archive.Header{}); !errors.Is(err, engine.ErrRestoreIncomplete) {
		t.Errorf("after call %d, backing it up: %v", at, err)
	}
	if r, err := inspect.Store(t.Context(), s); err != nil || !slices.Contains(r.Findings, "A restore into this store did not finish. Restore the backup again.") {
		t.Errorf("after call %d, inspecting it: %+v, %v", at, r, err)
	}
	if _, err := served(t, s); !errors.Is(err, engine.ErrRestoreIncomplete) {
		t.Errorf("after call %d, serving it: %v", at, err)
	}
	return s.Reopen()
}

// TestBatches checks the batches that a driver gets: they are bounded and hard, contain each
// record once, messages with their senders' content, and entities before the records that
// belong to them.
func TestBatches(t *testing.T) {
	from := random(t, drawer(t), 200)
	into := &looked{Store: new(memory.Store), t: t, wrote: map[engine.Key]engine.Packed{}, known: map[engine.SubqueueID]bool{}}
	if _, err := checked(t, backup(t, from)).Restore(t.Context(), into); err != nil {
		t.Fatal(err)
	}
	if into.batches < 8 || len(into.wrote) != 600 || into.sessions != 45 || into.seen != 45 {
		t.Errorf("there are %d batches, %d contents, %d sessions and %d rows of MessageIds", into.batches, len(into.wrote), into.sessions, into.seen)
	}
}

// TestBatchesOfMemory restores many sessions and remembered MessageIds, and checks that the
// batches are bounded and contain all of them.
func TestBatchesOfMemory(t *testing.T) {
	from := new(memory.Store)
	b := &engine.Batch{Hard: true, Now: 5, Entities: []engine.Entity{{ID: 1, DeadLetterID: 2, TransferID: 3, Kind: engine.Queue, Path: "q"}}}
	const rows = 300
	for i := range uint64(rows) {
		b.Seen = append(b.Seen, engine.SeenIDs{Subqueue: 1, N: i + 1, At: 5, Digests: make([]engine.Digest, 1000)})
		b.Sessions = append(b.Sessions, engine.SessionRecord{Subqueue: 1, ID: fmt.Sprint(i), State: strings.Repeat("s", 20_000)})
	}
	commit(t, from, b)
	into := &looked{Store: new(memory.Store), t: t, wrote: map[engine.Key]engine.Packed{}, known: map[engine.SubqueueID]bool{}}
	if _, err := checked(t, backup(t, from)).Restore(t.Context(), into); err != nil {
		t.Fatal(err)
	}
	if into.batches < 6 || into.sessions != rows || into.seen != rows {
		t.Errorf("there are %d batches, %d sessions and %d rows of MessageIds", into.batches, into.sessions, into.seen)
	}
}

type looked struct {
	engine.Store
	t       *testing.T
	batches int
	wrote   map[engine.Key]engine.Packed
	known   map[engine.SubqueueID]bool

	sessions, seen int
}

func (l *looked) Commit(ctx context.Context, b *engine.Batch) error {
	l.batches++
	bytes := 0
	for _, e := range b.Entities {
		if e.Kind != engine.RestoreMark && !l.known[0] {
			l.t.Error("an entity comes before the restore mark")
		}
		l.known[0], l.known[e.ID], l.known[e.DeadLetterID], l.known[e.TransferID] = true, true, true, true
	}
	for _, v := range b.Sessions {
		l.sessions++
		if bytes += len(v.State); !l.known[v.Subqueue] {
			l.t.Errorf("a session comes before its subqueue %d", v.Subqueue)
		}
	}
	for _, v := range b.Seen {
		l.seen++
		if bytes += 16 * len(v.Digests); !l.known[v.Subqueue] {
			l.t.Errorf("MessageIds come before their subqueue %d", v.Subqueue)
		}
	}
	for _, m := range b.Meters {
		if !l.known[m.Subqueue] {
			l.t.Errorf("a meter comes before its subqueue %d", m.Subqueue)
		}
	}
	for _, c := range b.Contents {
		if _, twice := l.wrote[c.Key]; twice {
			l.t.Errorf("content %d comes twice", c.Key)
		}
		l.wrote[c.Key] = c.Content
	}
	for _, body := range b.Bodies {
		bytes += len(body.Bytes)
	}
	for i, m := range b.Messages {
		if w, ok := l.wrote[m.Content]; !ok || len(b.Written) != len(b.Messages) || b.Written[i] != w || !l.known[m.Subqueue] {
			l.t.Errorf("message %d comes before its content or subqueue, or without Written", m.Key)
		}
	}
	if things := len(b.Entities) + len(b.Rules) + len(b.Meters) + len(b.Sessions) + len(b.Seen) + len(b.Contents) + len(b.Messages); !b.Hard || bytes > 3<<20 || things > 1000 {
		l.t.Errorf("a batch has %d records and %d bytes, hard %v", things, bytes, b.Hard)
	}
	return l.Store.Commit(ctx, b)
}

// TestClearing checks that a restore drops every subqueue and setting that an interrupted
// attempt has left.
func TestClearing(t *testing.T) {
	s := &dropping{Store: new(memory.Store)}
	commit(t, s.Store, &engine.Batch{Hard: true, Now: 5, Entities: []engine.Entity{
		{ID: 1, Kind: engine.RestoreMark}, {ID: 2, DeadLetterID: 3, TransferID: 4, Kind: engine.Queue, Path: "q"}, {ID: 5, TransferID: 6, Kind: engine.Topic, Path: "t"},
	}, Settings: []engine.Setting{{Key: "view/late"}}})
	if done, err := checked(t, backup(t, new(memory.Store))).Restore(t.Context(), s); err != nil || !done.RemovedUnfinished {
		t.Fatalf("%+v, %v", done, err)
	}
	slices.Sort(s.dropped)
	differ(t, "dropped", []engine.SubqueueID{1, 2, 3, 4, 5, 6}, s.dropped)
	for r, err := range s.Load(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if v, ok := r.(engine.Setting); ok {
			t.Errorf("%+v is still there", v)
		}
	}
}

type dropping struct {
	engine.Store
	dropped []engine.SubqueueID
}

func (d *dropping) Commit(ctx context.Context, b *engine.Batch) error {
	d.dropped = append(d.dropped, b.DropSubqueues...)
	return d.Store.Commit(ctx, b)
}

// TestFileChanges replaces the file between Check and Restore: Restore fails, and the store is
// reported as incomplete.
func TestFileChanges(t *testing.T) {
	for name, other := range map[string][]byte{
		"another backup": backup(t, random(t, drawer(t), 3)),
		"an empty one":   backup(t, new(memory.Store)),
		"none":           nil,
	} {
		file := &exchanged{Reader: bytes.NewReader(backup(t, random(t, drawer(t), 3)))}
		c, err := archive.Check(t.Context(), file, nil)
		if err != nil {
			t.Fatal(err)
		}
		file.Reader = bytes.NewReader(other)
		s := new(memory.Store)
		if _, err := c.Restore(t.Context(), s); err == nil {
			t.Errorf("%s is restored", name)
		}
		if _, err := served(t, s.Reopen()); !errors.Is(err, engine.ErrRestoreIncomplete) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type exchanged struct{ *bytes.Reader }

// TestBrokerGoesOn restores the store of a broker of the fourth epoch into a store of the
// first, on which another broker then sends, copies and receives. If identities were not
// changed, that broker would use some of them again.
func TestBrokerGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old := new(memory.Store).Reopen().Reopen().Reopen()
		b := &world{T: t}
		b.open(old)
		b.create(engine.Queue, "orders")
		b.create(engine.Topic, "prices")
		b.create(engine.Subscription, "prices/Subscriptions/a")
		b.create(engine.Subscription, "prices/Subscriptions/b")
		b.send("orders", "1", "2", "3")
		b.send("prices", "4")
		locked := b.receive("orders", 1, engine.PeekLock)
		old = b.close()

		b.open(restore(t, backup(t, old), new(memory.Store)))
		if b.Epoch() != 2 {
			t.Errorf("epoch %d", b.Epoch())
		}
		b.send("orders", "5", "6")
		b.send("prices", "7")
		b.create(engine.Queue, "new")
		b.send("new", "8")
		// The lock is still held, though its token is invalid.
		if got := b.texts("orders", engine.ReceiveAndDelete); got != "2 3 5 6" {
			t.Errorf("received are %s", got)
		}
		errs, err := b.Settle(t.Context(), engine.Settlement{Token: locked[0].Message.Token(), Path: "orders"})
		if err != nil || !errors.Is(errs[0], engine.ErrLockLost) {
			t.Errorf("%v, %v", errs, err)
		}
		time.Sleep(61 * time.Second)
		for path, want := range map[engine.Path]string{"orders": "1", "prices/Subscriptions/a": "4 7", "prices/Subscriptions/b": "4 7", "new": "8"} {
			if got := b.texts(path, engine.PeekLock); got != want {
				t.Errorf("%s: received are %s, want %s", path, got, want)
			}
		}
		s := b.close()
		if r, err := inspect.Store(t.Context(), s); err != nil || !r.Sound() || r.Messages != 6 || r.Queues != 2 {
			t.Errorf("%+v, %v", r, err)
		}
		// Events from before and after the restore are one history.
		var kinds []string
		for e, err := range s.QueryEvents(t.Context(), engine.HistoryQuery{Path: "orders"}) {
			if err != nil {
				t.Fatal(err)
			}
			kinds = append(kinds, e.Kind.String()[:1])
		}
		slices.Reverse(kinds)
		if got := strings.Join(kinds, ""); !strings.HasPrefix(got, "esssl"+"ss"+"rrrr") {
			t.Errorf("orders saw %s", got)
		}
	})
}

// TestDuplicatesGoOn restores the MessageIds of a broker of the fourth epoch into a store of
// the first. New MessageIds get higher numbers, because the old ones leave the window first.
func TestDuplicatesGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old := new(memory.Store).Reopen().Reopen().Reopen()
		b := &world{T: t}
		b.open(old)
		if _, err := b.Create(t.Context(), engine.Queue, "orders", engine.Config{RequiresDuplicateDetection: true, DuplicateDetectionHistoryTimeWindow: 10 * time.Minute}, "test"); err != nil {
			t.Fatal(err)
		}
		send := func(id string) {
			t.Helper()
			if _, err := b.Send(t.Context(), "orders", []broker.Outgoing{{Content: engine.Content{MessageID: id}, Body: []byte(id)}}, "test"); err != nil {
				t.Fatal(err)
			}
		}
		received := func(want string) {
			t.Helper()
			if got := b.texts("orders", engine.ReceiveAndDelete); got != want {
				t.Errorf("received are %q, want %q", got, want)
			}
		}
		send("a")
		b.open(restore(t, backup(t, b.close()), new(memory.Store)))
		send("a")
		received("a")
		time.Sleep(5 * time.Minute)
		send("b")
		send("a")
		received("b")
		time.Sleep(5*time.Minute + time.Second) // the window of a has passed
		send("b")
		received("")
		b.open(b.close())
		send("b")
		send("a")
		received("a")
		b.close()
	})
}

// world is a broker with helpers.
type world struct {
	*testing.T
	*broker.Broker
	s *memory.Store
}

func (w *world) open(s *memory.Store) {
	w.Helper()
	b, err := served(w.T, s)
	if err != nil {
		w.Fatal(err)
	}
	w.Broker, w.s = b, s
}

// close closes the broker and returns its store, reopened.
func (w *world) close() *memory.Store {
	w.Helper()
	if err := w.Broker.Close(); err != nil {
		w.Fatal(err)
	}
	return w.s.Reopen()
}

func (w *world) create(kind engine.EntityKind, p engine.Path) {
	w.Helper()
	if _, err := w.Create(w.Context(), kind, p, engine.Config{}, "test"); err != nil {
		w.Fatal(err)
	}
}

func (w *world) send(to engine.Path, texts ...string) {
	w.Helper()
	for _, text := range texts {
		if _, err := w.Send(w.Context(), to, []broker.Outgoing{{Body: []byte(text)}}, "test"); err != nil {
			w.Fatal(err)
		}
	}
}

func (w *world) receive(from engine.Path, most int, mode engine.Mode) []broker.Received {
	w.Helper()
	got, err := w.Receive(w.Context(), broker.ReceiveRequest{Path: from, Max: most, Mode: mode})
	if err != nil {
		w.Fatal(err)
	}
	return got
}

func (w *world) texts(from engine.Path, mode engine.Mode) string {
	w.Helper()
	var texts []string
	for _, m := range w.receive(from, 10, mode) {
		text, err := io.ReadAll(m.Body)
		if err != nil {
			w.Fatal(err)
		}
		m.Body.Close()
		texts = append(texts, string(text))
	}
	return strings.Join(texts, " ")
}
