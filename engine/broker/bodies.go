package broker

import (
	"bytes"
	"container/list"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"mayfly/engine"
)

// stageThreshold is the size in bytes above which a body is written to the store before its message,
// so that one large body does not delay the commit of other operations.
const stageThreshold = 64 << 10

// bodyCache keeps the latest bodies, up to a number of bytes. It is safe for concurrent use.
type bodyCache struct {
	mu       sync.Mutex
	maxBytes int64
	size     int64
	byKey    map[engine.Key]*list.Element
	order    *list.List // of engine.Body, latest first
}

func newBodyCache(most int64) *bodyCache {
	return &bodyCache{maxBytes: most, byKey: map[engine.Key]*list.Element{}, order: list.New()}
}

func (c *bodyCache) add(bodies []engine.Body) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range bodies {
		if c.byKey[b.Key] != nil || int64(len(b.Bytes)) > c.maxBytes/8 {
			continue
		}
		c.byKey[b.Key] = c.order.PushFront(b)
		c.size += int64(len(b.Bytes))
	}
	for c.size > c.maxBytes {
		old := c.order.Remove(c.order.Back()).(engine.Body) //nolint:forcetypeassert // only bodies are put in
		delete(c.byKey, old.Key)
		c.size -= int64(len(old.Bytes))
	}
}

func (c *bodyCache) body(k engine.Key) ([]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byKey[k]
	if e == nil {
		return nil, false
	}
	c.order.MoveToFront(e)
	return e.Value.(engine.Body).Bytes, true //nolint:forcetypeassert // only bodies are put in
}

// memoryBody reads from bytes and needs no closing.
type memoryBody struct{ *bytes.Reader }

func (memoryBody) Close() error { return nil }

// Body opens the body of a content. size is the body's size in bytes; if it is zero, the body is
// empty and the store is not read. The caller closes the body. The error is
// engine.ErrMessageNotFound if the message no longer exists, and engine.ErrBusy if the store does
// not answer.
func (b *Broker) Body(ctx context.Context, k engine.Key, size int64) (io.ReadSeekCloser, error) {
	body, err := b.openBody(ctx, k, size)
	if err != nil {
		return nil, readError(ctx, fmt.Errorf("read a body: %w", err))
	}
	return body, nil
}

// openBody is Body, but returns the store's own error.
func (b *Broker) openBody(ctx context.Context, k engine.Key, size int64) (io.ReadSeekCloser, error) {
	if size == 0 {
		return memoryBody{bytes.NewReader(nil)}, nil
	}
	if have, ok := b.bodies.body(k); ok {
		return memoryBody{bytes.NewReader(have)}, nil
	}
	body, err := b.store.Load().Body(ctx, k)
	if errors.Is(err, engine.ErrDamaged) {
		return nil, b.removeDamaged(ctx, k, err)
	}
	if err != nil {
		return nil, err
	}
	if size <= stageThreshold {
		return body, nil
	}
	return &checkedBody{body, b, ctx, k}, nil
}

// These bound the bodies that are read at once for deliveries whose bodies are not in memory.
const (
	maxBodiesPerRead = 64
	maxBytesPerRead  = 1 << 20
)

// ReadBodies sets the bodies of the first deliveries, as far as they are in memory or small enough
// for a store that reads several at once. DeliveryBody opens the others, and returns the error if
// one cannot be read. Call ReadBodies before the deliveries are released with ReleaseBody.
func (b *Broker) ReadBodies(ctx context.Context, all []engine.Delivery) {
	store, ok := b.store.Load().Store.(engine.SmallBodies)
	if !ok {
		return
	}
	var keys []engine.Key
	var wanted []*engine.Delivery // by key
	for size := int64(0); len(all) > 0 && len(keys) < maxBodiesPerRead && size < maxBytesPerRead; all = all[1:] {
		d := &all[0]
		n, k := d.Content.BodySize(), d.Message.Content
		if d.Body != nil || n == 0 || n > stageThreshold {
			continue
		}
		if have, ok := b.bodies.body(k); ok {
			d.Body = have
			continue
		}
		keys, wanted = append(keys, k), append(wanted, d)
		size += n
	}
	if len(keys) < 2 {
		return
	}
	err := store.SmallBodies(context.WithoutCancel(ctx), keys, func(i int, body []byte) {
		wanted[i].Body = bytes.Clone(body)
	})
	if err != nil {
		b.log.Debug("bodies cannot be read in one batch", "err", err)
	}
}

// readError returns the error for a caller that reads from the store outside the owner. It means
// that the store is unavailable, unless the message or body does not exist or ctx has ended. The
// store may have cancelled the read itself, so a context error in err does not mean that ctx has
// ended.
func readError(ctx context.Context, err error) error {
	_, refused := errors.AsType[*engine.Refusal](err)
	if refused || ctx.Err() != nil || errors.Is(err, engine.ErrMessageNotFound) {
		return err
	}
	return storeUnavailable(err, "The store does not answer; nothing was done.")
}

// An Outgoing message is one to be sent. Its body is a byte slice, or a reader if it may be large.
type Outgoing struct {
	Content        engine.Content
	Body           []byte
	GeneratedBytes int64     // bytes of Content that the sender did not write, such as a generated id; they do not count towards size limits
	Reader         io.Reader // instead of Body; read to its end, at most one byte beyond the limit on messages

	// Finish sets the parts of Content that are known only once Reader has been read to its end;
	// nil means none. Send returns its error.
	Finish func(c *engine.Content) error
}

// packMessages packs the messages outside the owner's turn: it stages large bodies and evaluates a
// topic's SQL rules. If it fails, it returns the messages packed so far, for discardStaged.
func (b *Broker) packMessages(ctx context.Context, to engine.Path, out []Outgoing) ([]engine.Submission, int64, error) {
	store := b.store.Load()
	rules := store.rules.Of(to)
	batch := make([]engine.Submission, 0, len(out))
	size := int64(0)
	for _, m := range out {
		body, key := m.Body, store.keys.Next()
		staged := int64(0)
		if m.Reader != nil || len(body) > stageThreshold {
			var err error
			if body, staged, err = b.stageBody(ctx, store, key, m); err != nil {
				return batch, 0, err
			}
			if staged > 0 {
				m.Content.SetPreview(body)
				body = nil
			}
		}
		if m.Finish != nil {
			if err := m.Finish(&m.Content); err != nil {
				return append(batch, engine.Submission{Key: key, Staged: staged > 0}), 0, err
			}
		}
		s, err := engine.Submit(m.Content, body, staged, key, b.limits)
		if err != nil {
			return append(batch, engine.Submission{Key: key, Staged: staged > 0}), 0, err
		}
		s.Added = m.GeneratedBytes
		if rules != nil {
			s.Plan = rules.Plan(m.Content)
		}
		size += int64(len(s.Content)) + int64(len(s.Body))
		batch = append(batch, s)
	}
	return batch, size, nil
}

// stageBody reads a body and stages it in the store if it is larger than stageThreshold. It returns
// all of a small body, or at least the beginning of a large one, for its preview. staged is the
// number of bytes staged, zero for a small body.
func (b *Broker) stageBody(ctx context.Context, store *openStore, key engine.Key, m Outgoing) (head []byte, staged int64, err error) {
	if m.Reader == nil {
		if err := store.Stage(ctx, key, bytes.NewReader(m.Body)); err != nil {
			return nil, 0, storeErr(err)
		}
		return m.Body, int64(len(m.Body)), nil
	}
	head, err = io.ReadAll(io.LimitReader(m.Reader, stageThreshold+1))
	if err != nil {
		return nil, 0, fmt.Errorf("read the body: %w", err)
	}
	if len(head) <= stageThreshold {
		return head, 0, nil
	}
	counted := &countingReader{Reader: io.MultiReader(bytes.NewReader(head), m.Reader)}
	if err := store.Stage(ctx, key, counted); err != nil {
		return nil, 0, storeErr(err)
	}
	return head, counted.n, nil
}

func storeErr(err error) error {
	if errors.Is(err, engine.ErrUnwritable) {
		return busyError(unwritableReason(err))
	}
	return fmt.Errorf("store the body: %w", err)
}

type countingReader struct {
	io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	return n, err
}

// Send sends messages to a queue or topic, all or none, and returns their sequence numbers once
// the send is durable. A message with ScheduledFor is scheduled.
func (b *Broker) Send(ctx context.Context, to engine.Path, out []Outgoing, actor string) ([]engine.Seq, error) {
	return b.sendWith(ctx, to, out, func(ns *engine.Namespace, now engine.Instant, batch []engine.Submission) ([]engine.Seq, error) {
		return ns.Send(now, to, batch, actor)
	})
}

// SendVia sends to one entity via another (FWD-14).
func (b *Broker) SendVia(ctx context.Context, via, to engine.Path, out []Outgoing, actor string) ([]engine.Seq, error) {
	return b.sendWith(ctx, to, out, func(ns *engine.Namespace, now engine.Instant, batch []engine.Submission) ([]engine.Seq, error) {
		return ns.SendVia(now, via, to, batch, actor)
	})
}

// SendWithSettings is Send, but also stores the settings that `keep` returns, in the same commit.
// `keep` gets the sequence number of each message and, for messages in a queue, their rows. The
// owner calls `keep`, possibly more than once, and it must not wait.
func (b *Broker) SendWithSettings(ctx context.Context, to engine.Path, out []Outgoing, actor string, keep func([]engine.Seq, []engine.Row) []engine.Setting) error {
	_, err := b.sendWith(ctx, to, out, func(ns *engine.Namespace, now engine.Instant, batch []engine.Submission) (seqs []engine.Seq, err error) {
		sent := false
		err = ns.Atomically(func() error {
			var rows []engine.Row
			if seqs, rows, err = ns.SendReturning(now, to, batch, actor); err != nil {
				return err
			}
			sent = true
			return storeSettings(ns, now, keep(seqs, rows))
		})
		if err != nil && sent {
			ns.DiscardStaged(batch)
		}
		return seqs, err
	})
	return err
}

// storeSettings stores settings and returns the error of the first that fails.
func storeSettings(ns *engine.Namespace, now engine.Instant, all []engine.Setting) error {
	for _, s := range all {
		if _, err := ns.SetSetting(now, s.Key, s.Value, nil); err != nil {
			return err
		}
	}
	return nil
}

// sendWith packs messages and runs `step` with them in a turn. Once `step` has been called, the
// namespace discards the staged bodies of messages that were not sent; before that, sendWith does.
func (b *Broker) sendWith(ctx context.Context, to engine.Path, out []Outgoing, step func(*engine.Namespace, engine.Instant, []engine.Submission) ([]engine.Seq, error)) ([]engine.Seq, error) {
	batch, size, err := b.packMessages(ctx, to, out)
	if err != nil {
		b.discardStaged(ctx, batch)
		return nil, err
	}
	judged := false
	seqs, err := do(ctx, b, size, func(ns *engine.Namespace, now engine.Instant) ([]engine.Seq, error) {
		judged = true // from here on the namespace discards the bodies
		return step(ns, now, batch)
	})
	if err != nil && !judged {
		b.discardStaged(ctx, batch)
	}
	return seqs, err
}

// discardTimeout bounds how long a failed send waits until its bodies are discarded. Bodies that
// remain are discarded when the store is next opened.
const discardTimeout = 5 * time.Second

// discardStaged discards the bodies that were staged for messages that were not sent, even if ctx
// has ended.
func (b *Broker) discardStaged(ctx context.Context, batch []engine.Submission) {
	if !slices.ContainsFunc(batch, func(s engine.Submission) bool { return s.Staged }) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), discardTimeout)
	defer cancel()
	err := exec(ctx, b, func(ns *engine.Namespace, _ engine.Instant) error { ns.DiscardStaged(batch); return nil })
	if err != nil {
		b.log.Debug("the bodies of refused messages remain until the store is reopened", "err", err)
	}
}
