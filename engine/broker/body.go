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

// stageOver is the size in bytes above which a body goes to the store ahead of
// its message, so that one large body does not hold up everybody's commit.
const stageOver = 64 << 10

// cache keeps the latest bodies, up to a number of bytes. Safe for concurrent
// use.
type cache struct {
	mu    sync.Mutex
	most  int64
	size  int64
	byKey map[engine.Key]*list.Element
	order *list.List // of engine.Body, latest first
}

func newCache(most int64) *cache {
	return &cache{most: most, byKey: map[engine.Key]*list.Element{}, order: list.New()}
}

func (c *cache) keep(bodies []engine.Body) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range bodies {
		if c.byKey[b.Key] != nil || int64(len(b.Bytes)) > c.most/8 {
			continue
		}
		c.byKey[b.Key] = c.order.PushFront(b)
		c.size += int64(len(b.Bytes))
	}
	for c.size > c.most {
		old := c.order.Remove(c.order.Back()).(engine.Body) //nolint:forcetypeassert // only bodies are put in
		delete(c.byKey, old.Key)
		c.size -= int64(len(old.Bytes))
	}
}

func (c *cache) body(k engine.Key) ([]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byKey[k]
	if e == nil {
		return nil, false
	}
	c.order.MoveToFront(e)
	return e.Value.(engine.Body).Bytes, true //nolint:forcetypeassert // only bodies are put in
}

// A reader over bytes that needs no closing.
type memoryBody struct{ *bytes.Reader }

func (memoryBody) Close() error { return nil }

// Body opens the body of a content; an absent one is empty. The caller closes
// it. engine.ErrMessageNotFound says that the message went in the meantime,
// engine.ErrBusy that the store does not answer.
func (b *Broker) Body(ctx context.Context, k engine.Key, size int64) (io.ReadSeekCloser, error) {
	body, err := b.openBody(ctx, k, size)
	if err != nil {
		return nil, unread(ctx, fmt.Errorf("read a body: %w", err))
	}
	return body, nil
}

// openBody is Body with what the store says itself when it fails.
func (b *Broker) openBody(ctx context.Context, k engine.Key, size int64) (io.ReadSeekCloser, error) {
	if size == 0 {
		return memoryBody{bytes.NewReader(nil)}, nil
	}
	if have, ok := b.bodies.body(k); ok {
		return memoryBody{bytes.NewReader(have)}, nil
	}
	return b.store.Load().Body(ctx, k)
}

// Bounds of what is read at once for deliveries whose bodies are not in memory.
const (
	mostTogether      = 64
	mostBytesTogether = 1 << 20
)

// ReadBodies gives the first of some deliveries their bodies, as many as it pays
// to read together: those in memory, and small ones of a store that reads several
// at once. DeliveryBody opens the others, and says what is wrong where this
// leaves one out. Call it before the deliveries are Taken.
func (b *Broker) ReadBodies(ctx context.Context, all []engine.Delivery) {
	store, ok := b.store.Load().Store.(engine.SmallBodies)
	if !ok {
		return
	}
	var keys []engine.Key
	var wanted []*engine.Delivery // by key
	for size := int64(0); len(all) > 0 && len(keys) < mostTogether && size < mostBytesTogether; all = all[1:] {
		d := &all[0]
		n, k := d.Content.BodySize(), d.Message.Content
		if d.Body != nil || n == 0 || n > stageOver {
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
		b.log.Debug("bodies cannot be read together", "err", err)
	}
}

// unread is what whoever reads from the store past the owner is told of an
// error: it is the store's affair unless it says what is not there, or the
// reader has left. The store may have ended the reading itself, so that a
// cancelled context in err says nothing of the reader's.
func unread(ctx context.Context, err error) error {
	_, refused := errors.AsType[*engine.Refusal](err)
	if refused || ctx.Err() != nil || errors.Is(err, engine.ErrMessageNotFound) {
		return err
	}
	return failing(err, "The store does not answer; nothing was done.")
}

// An Outgoing message is one that a door hands in. Its body is given whole, or
// as a reader when it may be large.
type Outgoing struct {
	Content engine.Content
	Body    []byte
	Added   int64     // bytes of Content that are not the sender's, such as an id it was given; they count for no limit on sizes
	Reader  io.Reader // instead of Body; read to its end, at most one byte beyond the limit on messages

	// Finish says what was not known of Content before Reader had come to its end;
	// nil: nothing. Its error is Send's.
	Finish func(c *engine.Content) error
}

// prepare packs the messages, staging large bodies and asking a topic's SQL
// rules, outside the owner's turn.
// With an error it returns those whose bodies the store has by now.
func (b *Broker) prepare(ctx context.Context, to engine.Path, out []Outgoing) ([]engine.Submission, int64, error) {
	store := b.store.Load()
	rules := store.rules.Of(to)
	batch := make([]engine.Submission, 0, len(out))
	size := int64(0)
	for _, m := range out {
		body, key := m.Body, store.keys.Next()
		staged := int64(0)
		if m.Reader != nil || len(body) > stageOver {
			var err error
			if body, staged, err = b.stage(ctx, store, key, m); err != nil {
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
		s.Added = m.Added
		if rules != nil {
			s.Plan = rules.Plan(m.Content)
		}
		size += int64(len(s.Content)) + int64(len(s.Body))
		batch = append(batch, s)
	}
	return batch, size, nil
}

// stage reads a body and gives it to the store if it is large. A small one is
// returned whole; of a large one the beginning, for its preview.
func (b *Broker) stage(ctx context.Context, store *opened, key engine.Key, m Outgoing) (head []byte, staged int64, err error) {
	if m.Reader == nil {
		if err := store.Stage(ctx, key, bytes.NewReader(m.Body)); err != nil {
			return nil, 0, storeErr(err)
		}
		return m.Body, int64(len(m.Body)), nil
	}
	head, err = io.ReadAll(io.LimitReader(m.Reader, stageOver+1))
	if err != nil {
		return nil, 0, fmt.Errorf("read the body: %w", err)
	}
	if len(head) <= stageOver {
		return head, 0, nil
	}
	counted := &counter{Reader: io.MultiReader(bytes.NewReader(head), m.Reader)}
	if err := store.Stage(ctx, key, counted); err != nil {
		return nil, 0, storeErr(err)
	}
	return head, counted.n, nil
}

func storeErr(err error) error {
	if errors.Is(err, engine.ErrUnwritable) {
		return busy(unwritable(err))
	}
	return fmt.Errorf("keep the body: %w", err)
}

type counter struct {
	io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	return n, err //nolint:wrapcheck // a reader passes on what it gets
}

// Send stores messages in a queue or gives them to a topic, all or none, and
// returns their numbers there once that is durable. A message with a time in
// ScheduledFor waits for it.
func (b *Broker) Send(ctx context.Context, to engine.Path, out []Outgoing, actor string) ([]engine.Seq, error) {
	return b.sendBy(ctx, to, out, func(ns *engine.Namespace, now engine.Instant, batch []engine.Submission) ([]engine.Seq, error) {
		return ns.Send(now, to, batch, actor)
	})
}

// SendVia is Send to one entity by way of another (FWD-14).
func (b *Broker) SendVia(ctx context.Context, via, to engine.Path, out []Outgoing, actor string) ([]engine.Seq, error) {
	return b.sendBy(ctx, to, out, func(ns *engine.Namespace, now engine.Instant, batch []engine.Submission) ([]engine.Seq, error) {
		return ns.SendVia(now, via, to, batch, actor)
	})
}

// SendKeeping is Send with settings that are kept in the same commit, so that neither is
// without the other. keep is told the number of each message and, of those in a queue,
// where it is; it may be called more than once, by the owner, and must not wait.
func (b *Broker) SendKeeping(ctx context.Context, to engine.Path, out []Outgoing, actor string, keep func([]engine.Seq, []engine.Row) []engine.Setting) error {
	_, err := b.sendBy(ctx, to, out, func(ns *engine.Namespace, now engine.Instant, batch []engine.Submission) (seqs []engine.Seq, err error) {
		sent := false
		err = ns.Together(func() error {
			var rows []engine.Row
			if seqs, rows, err = ns.SendKeeping(now, to, batch, actor); err != nil {
				return err //nolint:wrapcheck // it says what it is about
			}
			sent = true
			return set(ns, now, keep(seqs, rows))
		})
		if err != nil && sent {
			ns.Discard(batch)
		}
		return seqs, err //nolint:wrapcheck // likewise
	})
	return err
}

// set keeps settings, all of them or the error of one.
func set(ns *engine.Namespace, now engine.Instant, all []engine.Setting) error {
	for _, s := range all {
		if _, err := ns.SetSetting(now, s.Key, s.Value, nil); err != nil {
			return err //nolint:wrapcheck // it says what it is about
		}
	}
	return nil
}

// sendBy prepares messages and hands them to step, which sees to their bodies.
func (b *Broker) sendBy(ctx context.Context, to engine.Path, out []Outgoing, step func(*engine.Namespace, engine.Instant, []engine.Submission) ([]engine.Seq, error)) ([]engine.Seq, error) {
	batch, size, err := b.prepare(ctx, to, out)
	if err != nil {
		b.discard(ctx, batch)
		return nil, err
	}
	judged := false
	seqs, err := do(ctx, b, size, func(ns *engine.Namespace, now engine.Instant) ([]engine.Seq, error) {
		judged = true // from here on the namespace sees to the bodies
		return step(ns, now, batch)
	})
	if err != nil && !judged {
		b.discard(ctx, batch)
	}
	return seqs, err
}

// discardPatience bounds how long a refusal waits for its bodies to be let go.
// Those that are not go when the store is opened the next time.
const discardPatience = 5 * time.Second

// discard lets the bodies go that were staged for messages which never came to
// their turn, also when the sender has left meanwhile.
func (b *Broker) discard(ctx context.Context, batch []engine.Submission) {
	if !slices.ContainsFunc(batch, func(s engine.Submission) bool { return s.Staged }) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), discardPatience)
	defer cancel()
	err := act(ctx, b, func(ns *engine.Namespace, _ engine.Instant) error { ns.Discard(batch); return nil })
	if err != nil {
		b.log.Debug("bodies of refused messages stay until the store is opened again", "err", err)
	}
}
