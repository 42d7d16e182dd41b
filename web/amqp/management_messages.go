package amqp

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/value"
	"mayfly/web/amqp/codec"
	"mayfly/web/amqp/wire"
)

// maxPeekedBytes bounds the bytes of a reply with peeked messages. The first message is included
// whatever its size.
const maxPeekedBytes = 1 << 20

// maxFetchedBytes bounds the total size of the bodies in a reply with several deferred
// messages, which is in memory as a whole.
const maxFetchedBytes = 16 << 20

// fetchedCost is the number of bytes that a fetched message takes in a reply in addition to its
// encoding as a peeked message: the token and end of its lock, and the map that contains it.
const fetchedCost = 256

// peek returns messages without locking them (§9).
func peek(ctx context.Context, c *call) (callResult, error) {
	from := engine.Seq(0)
	if v, ok := c.arguments.Lookup("from-sequence-number"); ok {
		n, ok := integerOf(v)
		if !ok {
			return callResult{}, invalidArgument("from-sequence-number", "a number")
		}
		from = engine.Seq(n)
	}
	count, err := c.arguments.integer32("message-count", 1)
	if err != nil {
		return callResult{}, err
	}
	session, ofSession, err := c.arguments.id("session-id")
	if err != nil {
		return callResult{}, err
	}
	omit, err := c.arguments.boolean("omit-message-body")
	if err != nil {
		return callResult{}, err
	}
	var rows []engine.Row
	if ofSession {
		rows, err = c.b.PeekSession(ctx, c.path, session, from, int(count), c.client)
	} else {
		rows, err = c.b.Peek(ctx, c.path, from, int(count), c.client)
	}
	if err != nil {
		return callResult{}, err
	}
	fit, size, err := countFitting(rows, omit)
	if err == nil {
		err = c.reserveReplyBytes(ctx, size)
	}
	if err != nil {
		return callResult{}, err
	}
	out := make([]value.Value, 0, fit)
	var e codec.Envelope
	for i := range rows[:fit] {
		r := &rows[i]
		if _, err := e.EncodePeeked(nil, r); err != nil {
			return callResult{}, err
		}
		var body []byte
		if omit {
			e.OmitBody()
		} else {
			if body, err = c.body(ctx, r.Message.Content, r.Content.BodySize()); err != nil {
				return callResult{}, err
			}
		}
		message := value.OfBinary(e.AppendMessage(make([]byte, 0, e.Size()), body))
		out = append(out, value.OfRaw(wire.AppendMap(nil, value.Properties{{Name: "message", Value: message}})))
	}
	if len(out) == 0 {
		return callResult{noContent: true}, nil
	}
	return resultMap("messages", value.OfRaw(wire.AppendList(nil, out...))), nil
}

// countFitting returns how many of the first rows fit into maxPeekedBytes, at least one, and the
// size of their messages in bytes. If omit is true, bodies do not count.
func countFitting(rows []engine.Row, omit bool) (n int, size int64, err error) {
	var e codec.Envelope
	var b []byte
	for ; n < len(rows); n++ {
		if b, err = e.EncodePeeked(b[:0], &rows[n]); err != nil {
			return 0, 0, err
		}
		if omit {
			e.OmitBody()
		}
		if n > 0 && size+e.Size() > maxPeekedBytes {
			break
		}
		size += e.Size()
	}
	return n, size, nil
}

// body reads the body of a message, which has size bytes, into memory.
func (c *call) body(ctx context.Context, k engine.Key, size int64) ([]byte, error) {
	r, err := c.b.Body(ctx, k, size)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	b := make([]byte, size)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, fmt.Errorf("read a body: %w", err)
	}
	return b, nil
}

// schedule schedules messages (SCH-*).
func schedule(ctx context.Context, c *call) (callResult, error) {
	out, err := codec.DecodeScheduled(c.raw)
	if err != nil {
		return callResult{}, err
	}
	seqs, err := c.send(ctx, out)
	if err != nil {
		return callResult{}, err
	}
	numbers := make([]value.Value, 0, len(seqs))
	for _, n := range seqs {
		numbers = append(numbers, value.OfLong(int64(n)))
	}
	return resultMap("sequence-numbers", array(value.Long, numbers)), nil
}

// receiveDeferred receives deferred messages by their sequence numbers (DEF-6, DEF-14).
func receiveDeferred(ctx context.Context, c *call) (callResult, error) {
	seqs, err := c.arguments.sequenceNumbers()
	if err != nil {
		return callResult{}, err
	}
	settle, err := c.arguments.integer32("receiver-settle-mode", 1)
	if err != nil {
		return callResult{}, err
	}
	mode := engine.PeekLock
	if settle == 0 {
		mode = engine.ReceiveAndDelete
	}
	_, ofSession, err := c.arguments.id("session-id")
	if err != nil {
		return callResult{}, err
	}
	size, err := c.checkReplySize(ctx, seqs)
	if err == nil {
		err = c.reserveReplyBytes(ctx, size)
	}
	if err != nil {
		return callResult{}, err
	}
	var got []broker.Received
	if ofSession {
		l, err := c.sessionHolder()
		if err != nil {
			return callResult{}, err
		}
		if got, err = l.ReceiveDeferred(ctx, seqs, mode); err != nil {
			return callResult{}, err
		}
	} else if got, err = c.b.ReceiveDeferred(ctx, c.path, seqs, mode, c.client); err != nil {
		return callResult{}, err
	}
	undo := func() {
		unseen := make([]*engine.Delivery, len(got))
		for i := range got {
			unseen[i] = &got[i].Delivery
		}
		c.c.releaseLocks(unseen)
	}
	var out []value.Value
	var e codec.Envelope
	var failed error
	for i := range got {
		d := &got[i]
		_, err := e.EncodeDelivery(nil, &d.Delivery)
		body := make([]byte, d.Content.BodySize())
		if err == nil && failed == nil {
			_, err = io.ReadFull(d.Body, body)
		}
		_ = d.Body.Close()
		if failed = cmp.Or(failed, err); failed != nil {
			continue
		}
		entry := value.Properties{{Name: "message", Value: value.OfBinary(e.AppendMessage(make([]byte, 0, e.Size()), body))}}
		if !d.Deleted {
			entry = append(entry, value.Property{Name: "lock-token", Value: value.OfUUID(d.Token())})
		}
		out = append(out, value.OfRaw(wire.AppendMap(nil, entry)))
	}
	if failed != nil {
		undo()
		return callResult{}, fmt.Errorf("read a deferred message: %w", failed)
	}
	answer := resultMap("messages", value.OfRaw(wire.AppendList(nil, out...)))
	answer.undo = undo
	return answer, nil
}

// maxLookups is the maximum number of messages to look up in one turn of the namespace's loop.
const maxLookups = 100

// checkReplySize returns the maximum size in bytes of a reply with these messages, or an error if
// that is too large for one reply. It skips messages that do not exist and counts repeated ones
// once, because receiving them returns an error for both.
func (c *call) checkReplySize(ctx context.Context, seqs []engine.Seq) (size int64, err error) {
	n, bodies := 0, int64(0)
	var e codec.Envelope
	var b []byte
	seqs = slices.Compact(slices.Sorted(slices.Values(seqs)))
	for some := range slices.Chunk(seqs, maxLookups) {
		var found []engine.Row
		err := c.b.Read(ctx, func(r broker.Reader) error {
			for _, seq := range some {
				rows, err := r.Browse(engine.Browse{Path: c.path, From: seq, Limit: 1})
				if err != nil {
					return nil //nolint:nilerr // the fetch reports it
				}
				if len(rows) > 0 && rows[0].Message.Seq == seq {
					found = append(found, rows[0])
				}
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
		for i := range found {
			if b, err = e.EncodePeeked(b[:0], &found[i]); err != nil {
				return 0, err
			}
			size += e.Size() + fetchedCost
			bodies += found[i].Content.BodySize()
			n++
			switch {
			case bodies > maxFetchedBytes && n > 1:
				return 0, engine.Refuse(engine.ErrQuota, "The messages have more than %d bytes together, the most that one answer can hold. Request fewer at a time.", maxFetchedBytes)
			case size > c.maxReplySize:
				return 0, replyTooLarge(size, c.maxReplySize)
			}
		}
	}
	return size, nil
}
