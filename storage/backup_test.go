package storage_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/codec"
	"mayfly/engine/value"
	"mayfly/storage"
	"mayfly/storage/archive"
	"mayfly/storage/inspect"
	"mayfly/storage/memory"
	"mayfly/storage/mongo/mongotest"
)

// A recorder records the committed batches, in order, and the digests of bodies.
type recorder struct {
	engine.Store
	engine.History

	mu      sync.Mutex
	batches []*engine.Batch
	bodies  map[engine.Key][sha256.Size]byte
}

func (r *recorder) Commit(ctx context.Context, b *engine.Batch) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	own, err := codec.ParseBatch(codec.AppendBatch(nil, b))
	if err != nil {
		return err
	}
	for _, body := range own.Bodies {
		r.bodies[body.Key] = sha256.Sum256(body.Bytes)
	}
	own.Bodies, own.Audit = nil, nil
	r.batches = append(r.batches, own)
	return r.Store.Commit(ctx, b)
}

func (r *recorder) Stage(ctx context.Context, k engine.Key, body io.Reader) error {
	sum := sha256.New()
	err := r.Store.Stage(ctx, k, io.TeeReader(body, sum))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bodies[k] = [sha256.Size]byte(sum.Sum(nil))
	return err
}

// digest distinguishes states, whatever the order of their records. It omits clocks, because a
// soft batch may change only the clock, and contents, which are covered by the messages that
// refer to them.
type digest uint64

func (d *digest) add(r engine.Record) {
	switch r.(type) {
	case engine.Clock, engine.StoredContent:
		return
	}
	sum := sha256.Sum256(codec.Append(nil, r))
	*d += digest(binary.BigEndian.Uint64(sum[:]))
}

// prefixes returns the digests of the states after each of the batches.
func (r *recorder) prefixes(t *testing.T) map[digest]bool {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	states := map[digest]bool{0: true}
	var s memory.Store
	for _, b := range r.batches {
		if err := s.Commit(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		var d digest
		for rec, err := range s.Load(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			d.add(rec)
		}
		states[d] = true
	}
	return states
}

func openBroker(t *testing.T, s engine.Store) *broker.Broker {
	t.Helper()
	b, err := broker.Open(t.Context(), func(context.Context) (engine.Store, error) { return s, nil },
		broker.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func opened(t *testing.T, url string) engine.Store {
	t.Helper()
	s, err := storage.Open(t.Context(), url, storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func create(t *testing.T, b *broker.Broker, kind engine.EntityKind, c engine.Config, paths ...engine.Path) {
	t.Helper()
	for _, p := range paths {
		if _, err := b.Create(t.Context(), kind, p, c, "test"); err != nil {
			t.Fatal(err)
		}
	}
}

func furnish(t *testing.T, b *broker.Broker) {
	t.Helper()
	create(t, b, engine.Queue, engine.Config{MaxMessageSizeInKilobytes: 1024}, "orders")
	create(t, b, engine.Queue, engine.Config{}, "short")
	create(t, b, engine.Queue, engine.Config{RequiresSession: true}, "talks")
	create(t, b, engine.Queue, engine.Config{RequiresDuplicateDetection: true}, "once")
	create(t, b, engine.Queue, engine.Config{ForwardTo: "orders"}, "gate")
	create(t, b, engine.Topic, engine.Config{}, "prices")
	create(t, b, engine.Subscription, engine.Config{MaxDeliveryCount: 2}, "prices/Subscriptions/a", "prices/Subscriptions/b")
}

// busy runs workers that do all kinds of operations on a broker, until each has done so many
// steps or ctx ends.
func busy(ctx context.Context, t *testing.T, b *broker.Broker, workers, steps int) (wait func()) {
	t.Helper()
	furnish(t, b)
	var all sync.WaitGroup
	for n := range workers {
		d := rand.New(rand.NewPCG(uint64(n), 0))
		all.Go(func() {
			for i := 0; i < steps && ctx.Err() == nil; i++ {
				if err := act(ctx, b, d, n, i); err != nil && ctx.Err() == nil {
					t.Error(err)
					return
				}
			}
		})
	}
	return all.Wait
}

// act does one step of a worker.
func act(ctx context.Context, b *broker.Broker, d *rand.Rand, n, i int) error {
	targets := []engine.Path{"orders", "prices", "short"}
	sources := []engine.Path{"orders", "short", "prices/Subscriptions/a", "prices/Subscriptions/b"}
	switch d.IntN(11) {
	case 0, 1, 2:
		to, body := targets[d.IntN(3)], make([]byte, d.IntN(2000))
		if d.IntN(20) == 0 {
			to, body = "orders", make([]byte, 66_000+d.IntN(400_000))
		}
		for at := range body {
			body[at] = byte(d.Uint32())
		}
		c := engine.Content{MessageID: fmt.Sprint(n, "/", i), Properties: value.Properties{{Name: "n", Value: value.OfInt(int32(i))}}}
		if d.IntN(10) == 0 {
			c.ScheduledFor = b.ClockTime().Add(1e9)
		}
		_, err := b.Send(ctx, to, []broker.Outgoing{{Content: c, Body: body}}, "test")
		return err
	case 3, 4, 5:
		got, err := b.Receive(ctx, broker.ReceiveRequest{Path: sources[d.IntN(4)], Max: 3})
		for _, m := range got {
			m.Body.Close()
			s := engine.Settlement{Token: m.Message.Token(), Outcome: []engine.Outcome{engine.Complete, engine.Complete, engine.Abandon, engine.DeadLetter}[d.IntN(4)]}
			if s.Outcome == engine.DeadLetter {
				s.Reason = "bad"
			}
			if _, err := b.Settle(ctx, s); err != nil {
				return err
			}
		}
		return err
	case 6:
		got, err := b.Receive(ctx, broker.ReceiveRequest{Path: sources[d.IntN(4)] + "/$DeadLetterQueue", Mode: engine.ReceiveAndDelete})
		for _, m := range got {
			m.Body.Close()
		}
		return err
	case 7:
		state := fmt.Sprint("step ", i)
		given := &state
		if d.IntN(3) == 0 {
			given = nil
		}
		return b.SetSessionStateAt(ctx, "talks", fmt.Sprintf("%d/%d", n, d.IntN(3)), given, "test")
	case 8:
		_, err := b.Send(ctx, "once", []broker.Outgoing{{Content: engine.Content{MessageID: fmt.Sprint(d.IntN(1000))}}, {Content: engine.Content{MessageID: fmt.Sprint(n, "/", i)}}}, "test")
		return err
	case 9:
		_, err := b.Send(ctx, "gate", []broker.Outgoing{{Content: engine.Content{MessageID: fmt.Sprint(n, "/", i)}}}, "test")
		return err
	default:
		p := engine.Path(fmt.Sprintf("passing/%d", n))
		if _, err := b.Create(ctx, engine.Queue, p, engine.Config{}, "test"); !errors.Is(err, engine.ErrExists) {
			return err
		}
		return b.Delete(ctx, p, broker.Unconfirmed, "test")
	}
}

func backup(t *testing.T, url string) []byte {
	t.Helper()
	return backupWith(t, url, archive.Header{History: true})
}

func backupWith(t *testing.T, url string, h archive.Header) []byte {
	t.Helper()
	l, err := storage.OpenSnapshot(t.Context(), url, storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	_, err = archive.Write(t.Context(), &file, l, h)
	if err = errors.Join(err, l.Close()); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func restore(t *testing.T, file []byte, url string) {
	t.Helper()
	c, err := archive.Check(t.Context(), bytes.NewReader(file), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := opened(t, url)
	if _, err := c.Restore(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func sound(t *testing.T, url string) inspect.Report {
	t.Helper()
	l, err := storage.OpenSnapshot(t.Context(), url, storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := inspect.Store(t.Context(), l)
	if err = errors.Join(err, l.Close()); err != nil || !r.Sound() {
		t.Errorf("%s: %q, %v", url, r.Findings, err)
	}
	return r
}

// TestBackupsOfARunningBroker takes backups while a broker commits as fast as it can. Each
// backup has the state after one of the commits, its bodies are as sent, and it can be
// restored.
func TestBackupsOfARunningBroker(t *testing.T) {
	dir := t.TempDir()
	url := "sqlite:" + filepath.Join(dir, "store")
	s := opened(t, url)
	history, ok := s.(engine.History)
	if !ok {
		t.Fatal("the store has no history")
	}
	r := &recorder{Store: s, History: history, bodies: map[engine.Key][sha256.Size]byte{}}
	b := openBroker(t, r)
	ctx, stop := context.WithCancel(t.Context())
	wait := busy(ctx, t, b, 6, 1<<30)
	var files [][]byte
	for range 6 {
		r.mu.Lock()
		enough := len(r.batches) + 25
		r.mu.Unlock()
		for done := false; !done && !t.Failed(); { // for a while
			if _, err := b.Now(ctx); err != nil {
				t.Fatal(err)
			}
			r.mu.Lock()
			done = len(r.batches) >= enough
			r.mu.Unlock()
		}
		files = append(files, backup(t, url))
	}
	stop()
	wait()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	states := r.prefixes(t)
	different := map[digest]bool{}
	for i, file := range append(files, backup(t, url)) {
		var d digest
		sum, err := archive.Read(t.Context(), bytes.NewReader(file), archive.Visitor{
			Record: func(rec engine.Record) error { d.add(rec); return nil },
			Body: func(c engine.StoredContent, body io.Reader) error {
				sum := sha256.New()
				_, err := io.Copy(sum, body)
				if [sha256.Size]byte(sum.Sum(nil)) != r.bodies[c.Key] {
					t.Errorf("backup %d: body %d differs", i, c.Key)
				}
				return err
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if !states[d] {
			t.Errorf("backup %d is not the state after any of %d commits", i, len(r.batches))
		}
		different[d] = true
		into := "sqlite:" + filepath.Join(dir, fmt.Sprint("restored", i))
		restore(t, file, into)
		restored(t, sound(t, into).Counts, sum.Counts)
	}
	t.Logf("%d commits, %d different backups of %d", len(r.batches), len(different), len(files)+1)
	if len(different) < 4 {
		t.Error("almost nothing changed between backups")
	}
}

// restored compares the counts of a restore with those of the original store, which may have
// included contents without a message.
func restored(t *testing.T, got, want archive.Counts) {
	t.Helper()
	if got.Contents > want.Contents || got.Contents > got.Messages {
		t.Errorf("there are %d contents of %d and %d messages", got.Contents, want.Contents, got.Messages)
	}
	if want.Contents, want.Bodies, want.BodyBytes = got.Contents, got.Bodies, got.BodyBytes; got != want {
		t.Errorf("restored are %+v of %+v", got, want)
	}
}

// all returns the content of a store.
func all(t *testing.T, url string) (records []engine.Record, events []engine.HistoryEvent, bodies map[engine.Key]string) {
	t.Helper()
	l, err := storage.OpenSnapshot(t.Context(), url, storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	bodies = map[engine.Key]string{}
	for r, err := range l.Load(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, r)
		if c, ok := r.(engine.StoredContent); ok && c.Content.BodySize() > 0 {
			body, err := l.Body(t.Context(), c.Key)
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(body)
			if err != nil {
				t.Fatal(err)
			}
			body.Close()
			bodies[c.Key] = string(b)
		}
	}
	for e, err := range l.QueryEvents(t.Context(), engine.HistoryQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	return records, events, bodies
}

// used lets a broker work on a store, and closes it.
func used(t *testing.T, url string, steps int) {
	t.Helper()
	b := openBroker(t, opened(t, url))
	furnish(t, b)
	d := rand.New(rand.NewPCG(uint64(steps), 0))
	for i := range steps {
		if err := act(t.Context(), b, d, 0, i); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestRestoreViaAnotherStore restores a backup directly and by way of another kind of store,
// with the same result: identities are mapped in order, so mapping them twice has the same
// result as mapping them once.
func TestRestoreViaAnotherStore(t *testing.T) {
	for name, via := range map[string]func(*testing.T) string{
		"sqlite":  func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "other") },
		"mongodb": func(t *testing.T) string { return mongotest.URL(t) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			at := func(name string) string { return "sqlite:" + filepath.Join(dir, name) }
			for range 3 {
				opened(t, at("first")).Close() // so that its epoch is later than that of the store that is restored into
			}
			used(t, at("first"), 150)
			other := via(t)
			opened(t, other).Close() // the restore is the third epoch
			opened(t, other).Close()
			restore(t, backup(t, at("first")), at("direct"))
			restore(t, backup(t, at("first")), other)
			sound(t, other)
			restore(t, backup(t, other), at("back"))
			same(t, at("direct"), at("back"))
			// The restored store is usable.
			b := openBroker(t, opened(t, other))
			d := rand.New(rand.NewPCG(9, 9))
			for i := range 40 {
				if err := act(t.Context(), b, d, 1, i); err != nil {
					t.Fatal(err)
				}
			}
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			sound(t, other)
		})
	}
}

func same(t *testing.T, want, got string) {
	t.Helper()
	if c := sound(t, want).Counts; c.Sessions == 0 || c.Seen == 0 {
		t.Errorf("there are %d sessions and %d MessageIds", c.Sessions, c.Seen)
	}
	records, events, bodies := all(t, want)
	records2, events2, bodies2 := all(t, got)
	if len(records) < 20 || len(events) < 50 || len(bodies) < 5 {
		t.Errorf("there are %d records, %d events, %d bodies", len(records), len(events), len(bodies))
	}
	equal := cmp.Comparer(func(a, b value.Value) bool { return a == b })
	if d := cmp.Diff(records, records2, equal); d != "" {
		t.Errorf("records (-want +got):\n%s", d)
	}
	if d := cmp.Diff(events, events2, equal); d != "" {
		t.Errorf("events (-want +got):\n%s", d)
	}
	if d := cmp.Diff(bodies, bodies2); d != "" {
		t.Errorf("bodies (-want +got):\n%s", d)
	}
}

// TestBackupOfAnOwnedStore checks that backups of a namespace in MongoDB that are taken while a
// broker works on it can be restored and have no faults.
func TestBackupOfAnOwnedStore(t *testing.T) {
	url, dir := mongotest.URL(t), t.TempDir()
	b := openBroker(t, opened(t, url))
	ctx, stop := context.WithCancel(t.Context())
	wait := busy(ctx, t, b, 1, 600)
	for i := range 2 {
		into := "sqlite:" + filepath.Join(dir, fmt.Sprint(i))
		restore(t, backupWith(t, url, archive.Header{}), into)
		t.Logf("%+v", sound(t, into).Counts)
	}
	stop()
	wait()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	into := "sqlite:" + filepath.Join(dir, "last")
	restore(t, backup(t, url), into)
	restored(t, sound(t, into).Counts, sound(t, url).Counts)
}
