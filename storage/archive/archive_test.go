package archive_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime"
	"strings"
	"testing"

	"mayfly/engine"
	"mayfly/storage/archive"
	"mayfly/storage/memory"
)

func TestRoundTrip(t *testing.T) {
	d := drawer(t)
	from := random(t, d, 16)
	want := existingContent(t, from)
	var file bytes.Buffer
	h := archive.Header{Namespace: "shop", Source: "memory", Made: 5, History: true}
	wrote, err := archive.Write(t.Context(), &file, from, h)
	if err != nil {
		t.Fatal(err)
	}
	if wrote.Bytes != int64(file.Len()) || wrote.Epoch != from.Epoch() || wrote.Messages != 96 || wrote.Events != 1200 || wrote.Bodies != 42 ||
		wrote.Sessions != 45 || wrote.Seen != 450 || wrote.Clock == 0 {
		t.Errorf("written are %+v", wrote)
	}
	// The backup is restored into the first epoch, into a later one, and as a copy of the copy.
	later := new(memory.Store)
	for range 9 {
		later = later.Reopen()
	}
	for range 2 {
		for _, into := range []*memory.Store{new(memory.Store), later} {
			epoch := into.Epoch()
			c := checked(t, file.Bytes())
			if got := c.Summary; got.Counts != wrote.Counts || got.Bytes != wrote.Bytes || got.Clock != wrote.Clock {
				t.Fatalf("read are %+v", got)
			}
			done, err := c.Restore(t.Context(), into)
			if err != nil || done != (archive.RestoreResult{Started: true}) {
				t.Fatal(done, err)
			}
			into = into.Reopen()
			differ(t, "restored", want, existingContent(t, into))
			for r, err := range into.Load(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				if m, ok := r.(engine.Message); ok && uint64(m.Key)>>40 != epoch {
					t.Fatalf("message %d is not of epoch %d", m.Key, epoch)
				}
			}
			if into.Epoch() == 2 { // the next restore is a copy of the copy
				file.Reset()
				file.Write(backup(t, into))
				wrote = checked(t, file.Bytes()).Summary
			}
		}
		later = new(memory.Store).Reopen()
	}
}

func TestWithoutHistory(t *testing.T) {
	from := random(t, drawer(t), 16)
	want := existingContent(t, from)
	var file bytes.Buffer
	if _, err := archive.Write(t.Context(), &file, from, archive.Header{}); err != nil {
		t.Fatal(err)
	}
	got := existingContent(t, restore(t, file.Bytes(), new(memory.Store)))
	if len(got.Events) > 0 || len(got.Records) != len(want.Records) {
		t.Errorf("%d events and %d records", len(got.Events), len(got.Records))
	}
	// History can be restored into a store that has none.
	done, err := checked(t, backup(t, from)).Restore(t.Context(), struct{ engine.Store }{new(memory.Store)})
	if err != nil || done.SkippedEvents != int64(len(want.Events)) {
		t.Errorf("%+v, %v", done, err)
	}
}

func TestEmpty(t *testing.T) {
	file := backup(t, new(memory.Store))
	into := restore(t, file, new(memory.Store))
	differ(t, "nothing", contents{}, existingContent(t, into))
	differ(t, "nothing again", contents{}, existingContent(t, restore(t, file, into)))
}

// TestOnlyIntoAnEmptyStore checks that a store that is not empty is not changed.
func TestOnlyIntoAnEmptyStore(t *testing.T) {
	c := checked(t, backup(t, random(t, drawer(t), 16)))
	queue := engine.Entity{ID: 1<<40 | 1, DeadLetterID: 1<<40 | 2, TransferID: 1<<40 | 3, Kind: engine.Queue, Path: "orders"}
	for name, b := range map[string]*engine.Batch{
		"a queue":   {Hard: true, Now: 5, Entities: []engine.Entity{queue}},
		"a setting": {Hard: true, Now: 5, Settings: []engine.Setting{{Key: "view/late"}}},
		"a history": {Hard: true, Now: 5, Audit: []engine.Event{{N: 1, Kind: engine.EventEntityDeleted, At: 5, Path: "orders", Audit: true}}},
	} {
		s := new(memory.Store)
		commit(t, s, b)
		want := existingContent(t, s)
		if _, err := c.Restore(t.Context(), s); !errors.Is(err, archive.ErrNotEmpty) {
			t.Errorf("%s: %v", name, err)
		}
		differ(t, name, want, existingContent(t, s))
	}
	s := new(memory.Store)
	if err := s.AppendEvents(t.Context(), []engine.Event{{N: 1, Kind: engine.EventStarted, At: 5, Reason: "epoch 1"}, {N: 2, Kind: engine.EventStopped, At: 6}}); err != nil {
		t.Fatal(err)
	}
	commit(t, s, &engine.Batch{Hard: true, Now: 6})
	if _, err := c.Restore(t.Context(), s.Reopen()); err != nil {
		t.Errorf("a store that a server had opened and closed: %v", err)
	}
}

// source is a source of backups with given records.
type source struct {
	records []engine.Record
	body    func(engine.Key) (io.ReadSeekCloser, error)
	err     error
}

func (s source) Load(context.Context) iter.Seq2[engine.Record, error] {
	return func(yield func(engine.Record, error) bool) {
		for _, r := range s.records {
			if !yield(r, nil) {
				return
			}
		}
		if s.err != nil {
			yield(nil, s.err)
		}
	}
}

func (s source) Body(_ context.Context, k engine.Key) (io.ReadSeekCloser, error) { return s.body(k) }

func (s source) QueryEvents(context.Context, engine.HistoryQuery) iter.Seq2[engine.HistoryEvent, error] {
	return func(func(engine.HistoryEvent, error) bool) {}
}

func (s source) Epoch() uint64 { return 1 }

// TestOrphans checks that contents without a message are not written.
func TestOrphans(t *testing.T) {
	s := new(memory.Store)
	commit(t, s, &engine.Batch{Hard: true, Now: 5, Entities: []engine.Entity{{ID: 1, DeadLetterID: 2, TransferID: 3, Kind: engine.Queue, Path: "q"}},
		Contents: []engine.StoredContent{content(5, 3), content(6, 3), content(7, 70_000), content(8, 0)},
		Bodies:   []engine.Body{{Key: 5, Bytes: []byte("its")}, {Key: 6, Bytes: []byte("own")}, {Key: 7, Bytes: make([]byte, 70_000)}},
		Messages: []engine.Message{{Key: 6, Content: 6, Subqueue: 1, Seq: 1}}})
	got := existingContent(t, restore(t, backup(t, s), new(memory.Store)))
	if len(got.Records) != 4 || len(got.Bodies) != 1 { // the clock, the queue, a content, a message
		t.Errorf("there are %v", got)
	}
	for _, b := range got.Bodies {
		if b != "own" {
			t.Errorf("a body is %q", b)
		}
	}
}

// zeros is a body of zeros that takes no memory.
type zeros struct{ *io.SectionReader }

func (zeros) Close() error                          { return nil }
func (zeros) ReadAt(p []byte, _ int64) (int, error) { clear(p); return len(p), nil }

func body(n int64) zeros { return zeros{io.NewSectionReader(zeros{}, 0, n)} }

func content(k engine.Key, n int64) engine.StoredContent {
	return engine.StoredContent{Key: k, Content: engine.Content{BodySize: n}.Pack()}
}

func TestSourceIsAtFault(t *testing.T) {
	sick := errors.New("a bad sector")
	whole := func(n int64) func(engine.Key) (io.ReadSeekCloser, error) {
		return func(engine.Key) (io.ReadSeekCloser, error) { return body(n), nil }
	}
	for name, tc := range map[string]struct {
		from source
		want string
		is   error
	}{
		"it cannot be read":   {source{err: sick}, "a bad sector", sick},
		"a half of a restore": {source{records: []engine.Record{engine.Entity{ID: 1, Kind: engine.RestoreMark}}}, "restore the backup again", engine.ErrRestoreIncomplete},
		"seen too late":       {source{records: []engine.Record{engine.StoredContent{Key: 1}, engine.SeenIDs{Subqueue: 1, N: 1}}}, "engine.SeenIDs out of order", nil},
		"out of order":        {source{records: []engine.Record{engine.Message{Key: 1}, engine.Entity{ID: 1}}}, "engine.Entity out of order", nil},
		"no body": {source{records: []engine.Record{content(7, 5)}, body: func(engine.Key) (io.ReadSeekCloser, error) {
			return nil, fmt.Errorf("body: %w", engine.ErrMessageNotFound)
		}}, "body 7 is missing from the store", engine.ErrMessageNotFound},
		"a bad body": {source{records: []engine.Record{content(7, 5)}, body: func(engine.Key) (io.ReadSeekCloser, error) {
			return nil, sick
		}}, "a bad sector", sick},
		"a short body":      {source{records: []engine.Record{content(7, 300_000)}, body: whole(299_999)}, "body 7 of 300000 bytes ends 1 bytes early", io.ErrUnexpectedEOF},
		"a long body":       {source{records: []engine.Record{content(7, 5)}, body: whole(6)}, "body 7 has more than its 5 bytes", nil},
		"too large a thing": {source{records: []engine.Record{engine.Entity{Path: engine.Path(strings.Repeat("x", 65<<20))}}}, "engine.Entity: the record has 68", nil},
	} {
		_, err := archive.Write(t.Context(), io.Discard, tc.from, archive.Header{})
		if err == nil || !strings.Contains(err.Error(), tc.want) || tc.is != nil && !errors.Is(err, tc.is) {
			t.Errorf("%s: %v; want %q", name, err, tc.want)
		}
	}
	full := errors.New("no space left")
	if _, err := archive.Write(t.Context(), fails{full}, random(t, drawer(t), 16), archive.Header{}); !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
}

type fails struct{ err error }

func (f fails) Write([]byte) (int, error) { return 0, f.err }

// TestMemory checks that writing, reading and restoring a body of 100 MiB allocates at most 8 MiB.
func TestMemory(t *testing.T) {
	const size = 100 << 20
	queue := engine.Entity{ID: 1, DeadLetterID: 2, TransferID: 3, Kind: engine.Queue, Path: "q"}
	from := source{
		records: []engine.Record{queue, content(7, size), engine.Message{Key: 7, Content: 7, Subqueue: 1}},
		body:    func(engine.Key) (io.ReadSeekCloser, error) { return body(size), nil },
	}
	var before, after runtime.MemStats
	var file bytes.Buffer
	runtime.ReadMemStats(&before)
	if _, err := archive.Write(t.Context(), &file, from, archive.Header{History: true}); err != nil {
		t.Fatal(err)
	}
	into := &drain{Store: new(memory.Store)}
	if _, err := checked(t, file.Bytes()).Restore(t.Context(), into); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 8<<20 || into.staged != size {
		t.Errorf("%d bytes of %d were staged, and %d bytes of memory allocated", into.staged, size, took)
	}
}

// drain is a store that discards large bodies.
type drain struct {
	engine.Store
	staged int64
}

func (d *drain) Stage(_ context.Context, _ engine.Key, r io.Reader) (err error) {
	d.staged, err = io.Copy(io.Discard, r)
	return err
}

func TestEndedContext(t *testing.T) {
	file := backup(t, random(t, drawer(t), 16))
	ctx, end := context.WithCancelCause(t.Context())
	why := errors.New("the caller went home")
	c := checked(t, file)
	end(why)
	_, writing := archive.Write(ctx, io.Discard, random(t, drawer(t), 16), archive.Header{})
	_, reading := archive.Read(ctx, bytes.NewReader(file), archive.Visitor{})
	_, restoring := c.Restore(ctx, new(memory.Store))
	for what, err := range map[string]error{"Write": writing, "Read": reading, "Restore": restoring} {
		if !errors.Is(err, why) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestVisitorsErrorEndsTheReading(t *testing.T) {
	file := backup(t, random(t, drawer(t), 16))
	enough := errors.New("enough")
	for name, v := range map[string]archive.Visitor{
		"header": {Header: func(archive.Header) error { return enough }},
		"record": {Record: func(engine.Record) error { return enough }},
		"body":   {Body: func(engine.StoredContent, io.Reader) error { return enough }},
		"read body": {Body: func(_ engine.StoredContent, r io.Reader) error {
			_, err := io.Copy(io.Discard, r)
			return errors.Join(err, enough)
		}},
		"event": {Event: func(engine.HistoryEvent) error { return enough }},
	} {
		if _, err := archive.Read(t.Context(), bytes.NewReader(file), v); !errors.Is(err, enough) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := archive.Check(t.Context(), bytes.NewReader(file), func(engine.Record) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("%v", err)
	}
	// A visitor need not read a body to its end, or at all.
	n := int64(0)
	if _, err := archive.Read(t.Context(), bytes.NewReader(file), archive.Visitor{Body: func(_ engine.StoredContent, r io.Reader) error {
		n++
		_, err := io.CopyN(io.Discard, r, n%2)
		return err
	}}); err != nil || n != 42 {
		t.Errorf("%d bodies, %v", n, err)
	}
}
