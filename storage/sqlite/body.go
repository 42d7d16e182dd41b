package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"mayfly/engine"
)

const (
	// chunkSize is the maximum length, in bytes, of a body that is stored in one row. A longer
	// body is split into rows of this length.
	chunkSize = 256 << 10
	// flushEvery is the number of chunks after which a staged body is flushed, so that no
	// flush takes long enough to delay commits noticeably.
	flushEvery = 4
	// stagePause is how long Stage pauses before a chunk if commits ran since the previous one.
	stagePause = 4 * time.Millisecond
)

// Stage writes the body in chunks, each in its own transaction, so that commits can run in
// between. Its errors are those of Commit; after an error, a sweep deletes the chunks that were
// written.
func (s *Store) Stage(ctx context.Context, k engine.Key, body io.Reader) error {
	s.unreferenced.addStaged(k)
	if err := s.stage(ctx, k, body); err != nil {
		s.unreferenced.removeStaged(map[engine.Key]bool{k: true})
		wake(s.toSweep)
		return fmt.Errorf("stage body %d: %w", k, err)
	}
	return nil
}

func (s *Store) stage(ctx context.Context, k engine.Key, body io.Reader) error {
	buf := make([]byte, chunkSize)
	size, commits := int64(0), s.commits.Load()
	for n := int64(0); ; n++ {
		if now := s.commits.Load(); now != commits {
			commits = now
			if err := pause(ctx, stagePause); err != nil {
				return err
			}
		}
		got, err := io.ReadFull(body, buf)
		last := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !last {
			return fmt.Errorf("read it: %w", err)
		}
		size += int64(got)
		chunk := buf[:got]
		if err := s.stageChunk(ctx, last || n%flushEvery == 0, func(w *writer) error {
			switch {
			case n == 0 && last:
				if err := w.run(w.putUnreferenced, int64(k)); err != nil {
					return err
				}
				return w.small(k, chunk)
			case n == 0:
				if err := w.run(w.putUnreferenced, int64(k)); err != nil {
					return err
				}
				return w.chunk(k, n, chunk)
			case last:
				if err := w.chunk(k, n, chunk); err != nil {
					return err
				}
				return w.large(k, size)
			default:
				return w.chunk(k, n, chunk)
			}
		}); err != nil {
			return err
		}
		if last {
			return nil
		}
	}
}

func (s *Store) stageChunk(ctx context.Context, hard bool, change func(*writer) error) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	return s.write(hard, change)
}

// body stores a body that came with a batch.
func (w *writer) body(k engine.Key, b []byte) error {
	if len(b) <= chunkSize {
		return w.small(k, b)
	}
	for n := int64(0); n*chunkSize < int64(len(b)); n++ {
		if err := w.chunk(k, n, b[n*chunkSize:min((n+1)*chunkSize, int64(len(b)))]); err != nil {
			return err
		}
	}
	return w.large(k, int64(len(b)))
}

func (w *writer) small(k engine.Key, b []byte) error {
	r := w.into(w.putBody, "body")
	r.putInt(int64(k))
	r.putBytes(b)
	return r.run()
}

func (w *writer) chunk(k engine.Key, n int64, b []byte) error {
	if len(b) == 0 {
		return nil
	}
	r := w.into(w.putChunk, "chunk")
	r.putInt(int64(k))
	r.putInt(n)
	r.putBytes(b)
	return r.run()
}

func (w *writer) large(k engine.Key, size int64) error {
	r := w.into(w.putLarge, "large")
	r.putInt(int64(k))
	r.putInt(size)
	return r.run()
}

// Body opens a body. It reads a body of a single row at once, and holds one chunk of a longer
// body in memory at a time. The error wraps engine.ErrMessageNotFound if there is no such body.
func (s *Store) Body(ctx context.Context, k engine.Key) (io.ReadSeekCloser, error) {
	var b io.ReadSeekCloser
	err := s.withIndexGuard(func() (err error) {
		b, err = s.openBody(ctx, k)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("body %d: %w", k, err)
	}
	return b, nil
}

// SmallBodies reads, in one transaction, those bodies of keys that are stored in a single row.
// It calls found with the index of each key and its body, which is valid during the call, and
// omits missing, longer and damaged bodies.
func (s *Store) SmallBodies(ctx context.Context, keys []engine.Key, found func(int, []byte)) error {
	if err := s.withIndexGuard(func() error { return s.smallBodies(ctx, keys, found) }); err != nil {
		return fmt.Errorf("%d bodies: %w", len(keys), err)
	}
	return nil
}

func (s *Store) smallBodies(ctx context.Context, keys []engine.Key, found func(int, []byte)) (err error) {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	r, err := s.readers.get(ctx)
	if err != nil {
		return err
	}
	defer s.readers.put(r)
	tx := r.c.Begin() // otherwise each read takes and releases a reader's locks
	defer tx.End(&err)
	for i, k := range keys {
		_, err := r.sum.readBody(r.body, "body", func(b []byte) { found(i, b) }, int64(k))
		if err != nil && !errors.Is(err, engine.ErrDamaged) { // a damaged body is left out: Body returns the reason
			return err
		}
	}
	return nil
}

func (s *Store) openBody(ctx context.Context, k engine.Key) (io.ReadSeekCloser, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	r, err := s.readers.get(ctx)
	if err != nil {
		return nil, err
	}
	defer s.readers.put(r)
	var whole []byte
	found, err := r.sum.readBody(r.body, "body", func(b []byte) { whole = bytes.Clone(b) }, int64(k))
	if err != nil {
		return nil, err
	}
	if found {
		return smallBody{bytes.NewReader(whole)}, nil
	}
	// From here on no sweep deletes the body's chunks. A body that has been dropped already is no
	// longer in the table large.
	s.unreferenced.addReader(k)
	large := &largeBody{s: s, key: k, n: -1}
	large.size, found, err = r.sum.readSize(r.large, k)
	switch {
	case err != nil:
		return nil, errors.Join(err, large.Close())
	case !found:
		return nil, errors.Join(engine.ErrMessageNotFound, large.Close())
	default:
		return large, nil
	}
}

type smallBody struct{ *bytes.Reader }

func (smallBody) Close() error { return nil }

// A largeBody reads chunks as they are needed. It is not safe for concurrent use.
type largeBody struct {
	s      *Store
	key    engine.Key
	size   int64
	at     int64 // where the next Read begins
	n      int64 // index of chunk; -1 if there is none
	chunk  []byte
	closed bool
}

func (b *largeBody) Read(p []byte) (int, error) {
	if b.at >= b.size {
		return 0, io.EOF
	}
	if n := b.at / chunkSize; n != b.n {
		if err := b.s.withIndexGuard(func() error { return b.fetch(n) }); err != nil {
			return 0, fmt.Errorf("body %d: chunk %d: %w", b.key, n, err)
		}
	}
	got := copy(p, b.chunk[b.at%chunkSize:])
	b.at += int64(got)
	return got, nil
}

func (b *largeBody) fetch(n int64) error {
	ctx := context.Background() // this reader outlives the call that opened it
	if err := b.s.enter(ctx); err != nil {
		return err
	}
	defer b.s.leave()
	if b.closed {
		return errors.New("the reader is closed")
	}
	r, err := b.s.readers.get(ctx)
	if err != nil {
		return err
	}
	defer b.s.readers.put(r)
	b.n = -1
	found, err := r.sum.readBody(r.chunk, "chunk", func(c []byte) { b.chunk = append(b.chunk[:0], c...) }, int64(b.key), n)
	switch {
	case err != nil:
		return err
	case !found || int64(len(b.chunk)) != min(chunkSize, b.size-n*chunkSize):
		return errors.New("the chunk is missing")
	}
	b.n = n
	return nil
}

func (b *largeBody) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekStart:
	case io.SeekCurrent:
		offset += b.at
	case io.SeekEnd:
		offset += b.size
	default:
		return 0, fmt.Errorf("body %d: seek from %d", b.key, whence)
	}
	if offset < 0 {
		return 0, fmt.Errorf("body %d: seek to %d", b.key, offset)
	}
	b.at = offset
	return offset, nil
}

func (b *largeBody) Close() error {
	if !b.closed {
		b.closed = true
		if b.s.unreferenced.removeReader(b.key) {
			wake(b.s.toSweep)
		}
	}
	return nil
}
