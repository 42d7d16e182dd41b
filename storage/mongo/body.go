package mongo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mayfly/engine"
)

const (
	// smallBody is the maximum length, in bytes, of a body that is stored as one document of the
	// collection bodies. A longer body is split into chunks of this length.
	smallBody = 1 << 20
)

// largeDoc lists the chunks of a body. It is written after them, so a body that has one is
// complete; each attempt to store a body has chunks of its own.
type largeDoc struct {
	ID      string  `bson:"_id"`
	V       version `bson:"v"` // the latest attempt has the highest
	Attempt string  `bson:"attempt"`
	Size    int64   `bson:"size"`
	Chunks  int     `bson:"chunks"`
}

type chunkDoc struct {
	ID    string `bson:"_id"`
	Bytes []byte `bson:"bytes"`
}

// Stage stores a body in chunks, each durable before the next one is read.
func (s *Store) Stage(ctx context.Context, k engine.Key, body io.Reader) error {
	leave, err := s.enter(ctx)
	if err != nil {
		return fmt.Errorf("stage body %d: %w", k, err)
	}
	from := &stagedReader{s: s, body: body, leave: leave}
	defer func() { from.leave() }()
	ctx, done := s.withLifetime(ctx)
	defer done()
	s.mu.Lock()
	s.staged[k] = true // so that its chunks are not swept
	s.mu.Unlock()
	l, err := s.storeChunks(ctx, k, from)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		delete(s.staged, k)
		return fmt.Errorf("stage body %d: %w", k, writeErr(err))
	}
	s.large[k] = l
	return nil
}

// A stagedReader reads a body that is being staged. Store.Close does not wait for its Read,
// because the sender may take any time.
type stagedReader struct {
	s     *Store
	body  io.Reader
	leave func() // returned by enter
}

func (o *stagedReader) Read(p []byte) (int, error) {
	o.leave()
	o.leave = func() {}
	n, err := o.body.Read(p)
	leave, closed := o.s.enter(context.Background()) // enter does not wait
	if closed != nil {
		return 0, closed
	}
	o.leave = leave
	return n, err
}

func (s *Store) storeChunks(ctx context.Context, k engine.Key, body io.Reader) (l largeDoc, err error) {
	l = largeDoc{ID: s.names.key(k), V: versionOf(s.epoch, s.attempts.Add(1)), Attempt: random()}
	buf := make([]byte, smallBody)
	for last := false; !last; {
		n, err := io.ReadFull(body, buf)
		last = errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !last {
			return l, fmt.Errorf("read it: %w", err)
		}
		if n == 0 {
			break
		}
		if !s.Owned() {
			return l, s.endReason()
		}
		d := chunkDoc{s.names.chunk(k, l.Attempt, l.Chunks), buf[:n]}
		if _, err := s.insertDocOrGet(ctx, chunks, d.ID, d); err != nil {
			return l, err
		}
		l.Chunks++
		l.Size += int64(n)
	}
	// This body replaces that of an earlier attempt, even if the earlier attempt's request
	// arrives later.
	err = s.retry(ctx, func(ctx context.Context) error {
		return s.s.Apply(ctx, large, []change{{id: l.ID, version: int64(l.V), doc: marshal(l)}})
	})
	return l, err
}

// storeLarge stores a body that came with its batch and is too long for one document.
func (s *Store) storeLarge(ctx context.Context, k engine.Key, body []byte) error {
	l, err := s.storeChunks(ctx, k, bytes.NewReader(body))
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.large[k] = l
	return nil
}

// retry retries an idempotent request until it succeeds or ctx ends.
func (s *Store) retry(ctx context.Context, do func(context.Context) error) error {
	for {
		err := s.attempt(ctx, do)
		if err == nil || errors.Is(err, errUnwritable) || errors.Is(err, errRefused) {
			return err
		}
		if perr := pause(ctx, retryPause); perr != nil {
			return fmt.Errorf("%w: %w", perr, err)
		}
	}
}

// Body opens a body. It reads a small body at once, and holds one chunk of a larger body in
// memory at a time.
func (s *Store) Body(ctx context.Context, k engine.Key) (io.ReadSeekCloser, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, fmt.Errorf("body %d: %w", k, err)
	}
	defer leave()
	b, err := s.body(ctx, k)
	if err != nil {
		return nil, fmt.Errorf("body %d: %w", k, err)
	}
	return b, nil
}

func (s *Store) body(ctx context.Context, k engine.Key) (io.ReadSeekCloser, error) {
	if b, ok, err := s.localBody(k); ok || err != nil {
		return b, err
	}
	ctx, done := s.withLifetime(ctx)
	defer done()
	raw, err := s.s.Get(ctx, bodies, s.names.key(k))
	if err != nil {
		if why := context.Cause(ctx); why != nil {
			err = why
		}
		return nil, err
	}
	if raw == nil {
		return nil, engine.ErrMessageNotFound
	}
	_, b, ok := raw.Lookup("bytes").BinaryOK()
	if !ok {
		return nil, fmt.Errorf("the document %s is empty", s.names.key(k))
	}
	return memoryBody{bytes.NewReader(b)}, nil
}

// localBody returns a body that is in memory or known to be in chunks, or false if it must be
// searched for in the database. The error is engine.ErrMessageNotFound if the body was dropped.
func (s *Store) localBody(k engine.Key) (io.ReadSeekCloser, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range []*window{s.waiting, s.applying} {
		if w == nil {
			continue
		}
		if w.contents[k].gone {
			return nil, false, engine.ErrMessageNotFound
		}
		if b, ok := w.bodies[k]; ok {
			return memoryBody{bytes.NewReader(b)}, true, nil
		}
	}
	if s.left[k] {
		return nil, false, engine.ErrMessageNotFound
	}
	l, ok := s.large[k]
	if !ok {
		return nil, false, nil
	}
	s.bodyReaders[k]++
	return &chunkedBody{s: s, key: k, doc: l, n: -1}, true, nil
}

type memoryBody struct{ *bytes.Reader }

func (memoryBody) Close() error { return nil }

// A chunkedBody reads chunks as they are needed. It is not safe for concurrent use.
type chunkedBody struct {
	s      *Store
	key    engine.Key
	doc    largeDoc
	at     int64 // where the next Read begins
	n      int   // index of chunk; -1 if there is none
	chunk  []byte
	closed bool
}

func (b *chunkedBody) Read(p []byte) (int, error) {
	if b.at >= b.doc.Size {
		return 0, io.EOF
	}
	if n := int(b.at / smallBody); n != b.n {
		if err := b.fetch(n); err != nil {
			return 0, fmt.Errorf("body %d: chunk %d: %w", b.key, n, err)
		}
	}
	got := copy(p, b.chunk[b.at%smallBody:])
	b.at += int64(got)
	return got, nil
}

func (b *chunkedBody) fetch(n int) error {
	leave, err := b.s.enter(context.Background()) // this reader outlives the call that opened it
	if err != nil {
		return err
	}
	defer leave()
	if b.closed {
		return errors.New("the reader is closed")
	}
	ctx, done := b.s.withLifetime(context.Background())
	defer done()
	var raw bson.Raw
	if err := b.s.attempt(ctx, func(ctx context.Context) error {
		raw, err = b.s.s.Get(ctx, chunks, b.s.names.chunk(b.key, b.doc.Attempt, n))
		return err
	}); err != nil {
		return err
	}
	_, bytes, ok := raw.Lookup("bytes").BinaryOK()
	if !ok || int64(len(bytes)) != min(smallBody, b.doc.Size-int64(n)*smallBody) {
		return errors.New("the chunk is missing")
	}
	b.n, b.chunk = n, bytes
	return nil
}

func (b *chunkedBody) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekStart:
	case io.SeekCurrent:
		offset += b.at
	case io.SeekEnd:
		offset += b.doc.Size
	default:
		return 0, errors.New("seek: no such whence")
	}
	if offset < 0 {
		return 0, errors.New("seek: before the beginning")
	}
	b.at = offset
	return offset, nil
}

// Close releases the body, which may have been dropped meanwhile. A second Close does nothing.
func (b *chunkedBody) Close() error {
	if b.closed {
		return nil
	}
	b.closed = true
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	if b.s.bodyReaders[b.key]--; b.s.bodyReaders[b.key] == 0 {
		delete(b.s.bodyReaders, b.key)
		if len(b.s.bodiesToDelete) > 0 {
			wake(b.s.toSweep)
		}
	}
	return nil
}
