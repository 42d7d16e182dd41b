package amqp

import (
	"context"
	"fmt"
	"io"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/value"
	"mayfly/web/amqp/carry"
	"mayfly/web/amqp/wire"
)

// mostPeeked bounds the bytes of one answer with messages; the first of them goes
// whatever its size.
const mostPeeked = 1 << 20

// mostFetched bounds the bytes of the bodies of several deferred messages in one
// answer, which is in memory as a whole.
const mostFetched = 16 << 20

// peek looks at messages without taking them (§9).
func peek(ctx context.Context, c *call) (done, error) {
	from := engine.Seq(0)
	if v, ok := c.in.Lookup("from-sequence-number"); ok {
		n, ok := whole(v)
		if !ok {
			return done{}, wrong("from-sequence-number", "a number")
		}
		from = engine.Seq(n)
	}
	count, err := c.in.number("message-count", 1)
	if err != nil {
		return done{}, err
	}
	session, ofSession, err := c.in.text("session-id")
	if err != nil {
		return done{}, err
	}
	omit := false
	if v, ok := c.in.Lookup("omit-message-body"); ok {
		omit, _ = v.Bool()
	}
	var rows []engine.Row
	if ofSession {
		rows, err = c.b.PeekSession(ctx, c.path, session, from, int(count), c.client)
	} else {
		rows, err = c.b.Peek(ctx, c.path, from, int(count), c.client)
	}
	if err != nil {
		return done{}, err
	}
	fit, size, err := fitting(rows, omit)
	if err == nil {
		err = c.makeRoom(ctx, size)
	}
	if err != nil {
		return done{}, err
	}
	out := make([]value.Value, 0, fit)
	var e carry.Envelope
	for i := range rows[:fit] {
		r := &rows[i]
		if _, err := e.Peek(nil, r); err != nil {
			return done{}, err //nolint:wrapcheck // it says what it is about
		}
		var body []byte
		if omit {
			e.OmitBody()
		} else {
			if body, err = c.body(ctx, r.Message.Content, r.Content.BodySize()); err != nil {
				return done{}, err
			}
		}
		message := value.OfBinary(e.Append(make([]byte, 0, e.Size()), body))
		out = append(out, value.OfRaw(wire.AppendMap(nil, value.Properties{{Name: "message", Value: message}})))
	}
	if len(out) == 0 {
		return done{empty: true}, nil
	}
	return result("messages", value.OfRaw(wire.AppendList(nil, out...))), nil
}

// fitting tells how many of the first rows go into one answer, and the bytes of
// their messages.
func fitting(rows []engine.Row, omit bool) (n int, size int64, err error) {
	var e carry.Envelope
	var b []byte
	for ; n < len(rows); n++ {
		if b, err = e.Peek(b[:0], &rows[n]); err != nil {
			return 0, 0, err //nolint:wrapcheck // it says what it is about
		}
		if omit {
			e.OmitBody()
		}
		if n > 0 && size+e.Size() > mostPeeked {
			break
		}
		size += e.Size()
	}
	return n, size, nil
}

// body reads a body whole.
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

// schedule sends messages that wait for their time (SCH-*).
func schedule(ctx context.Context, c *call) (done, error) {
	out, err := carry.Scheduled(c.raw)
	if err != nil {
		return done{}, err //nolint:wrapcheck // it says what it is about
	}
	seqs, err := c.send(ctx, out)
	if err != nil {
		return done{}, err
	}
	numbers := make([]value.Value, 0, len(seqs))
	for _, n := range seqs {
		numbers = append(numbers, value.OfLong(int64(n)))
	}
	return result("sequence-numbers", array(value.Long, numbers)), nil
}

// receiveDeferred takes deferred messages by their numbers (DEF-6, DEF-14).
func receiveDeferred(ctx context.Context, c *call) (done, error) {
	seqs, err := c.in.seqs()
	if err != nil {
		return done{}, err
	}
	settle, err := c.in.number("receiver-settle-mode", 1)
	if err != nil {
		return done{}, err
	}
	mode := engine.PeekLock
	if settle == 0 {
		mode = engine.ReceiveAndDelete
	}
	_, ofSession, err := c.in.text("session-id")
	if err != nil {
		return done{}, err
	}
	size, err := c.fits(ctx, seqs)
	if err == nil {
		err = c.makeRoom(ctx, size)
	}
	if err != nil {
		return done{}, err
	}
	var got []broker.Received
	if ofSession {
		l, err := c.holder()
		if err != nil {
			return done{}, err
		}
		if got, err = l.FetchSession(ctx, seqs, mode); err != nil {
			return done{}, err
		}
	} else if got, err = c.b.Fetch(ctx, c.path, seqs, mode, c.client); err != nil {
		return done{}, err
	}
	var out []value.Value
	var e carry.Envelope
	for i := range got {
		d := &got[i]
		_, err := e.Delivery(nil, &d.Delivery)
		body := make([]byte, d.Content.BodySize())
		if err == nil {
			_, err = io.ReadFull(d.Body, body)
		}
		_ = d.Body.Close()
		if err != nil {
			return done{}, fmt.Errorf("read a deferred message: %w", err)
		}
		entry := value.Properties{{Name: "message", Value: value.OfBinary(e.Append(make([]byte, 0, e.Size()), body))}}
		if !d.Deleted {
			entry = append(entry, value.Property{Name: "lock-token", Value: value.OfUUID(d.Token())})
		}
		out = append(out, value.OfRaw(wire.AppendMap(nil, entry)))
	}
	return result("messages", value.OfRaw(wire.AppendList(nil, out...))), nil
}

// fits tells how many bytes messages have as they are stored, and is an error if
// they are more than one answer holds. What is not there does not count: whoever
// takes them says so.
func (c *call) fits(ctx context.Context, seqs []engine.Seq) (stored int64, err error) {
	size, n := int64(0), 0
	err = c.b.Read(ctx, func(r broker.Reader) error {
		for _, seq := range seqs {
			rows, err := r.Browse(engine.Browse{Path: c.path, From: seq, Limit: 1})
			if err != nil {
				return nil //nolint:nilerr // likewise
			}
			if len(rows) > 0 && rows[0].Message.Seq == seq {
				size += rows[0].Content.BodySize()
				stored += rows[0].Content.Size()
				n++
			}
		}
		return nil
	})
	if err == nil && size > mostFetched && n > 1 {
		err = &engine.Refusal{Kind: engine.ErrQuota, Text: fmt.Sprintf("The messages have %d bytes together, and no more than %d go into one answer: take fewer of them at a time.", size, mostFetched)}
	}
	return stored, err //nolint:wrapcheck // the broker's
}
