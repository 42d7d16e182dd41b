package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/value"
	"mayfly/web/access"
	"mayfly/web/identity"
)

const (
	maxBatch        = 5000    // messages of one send
	maxReceive      = 250     // messages of one receive
	peekCount       = 20      // messages of one peek, unless fewer or more are asked for
	largestInline   = 1 << 20 // bytes of a body that stands in an answer
	longestWait     = 300 * time.Second
	releasePatience = 5 * time.Second // for giving messages back whose receiver has left
)

// Sent is the answer of POST /send. A number of 0 stands for a message that was
// dropped as a duplicate, and Duplicates counts these. A scheduled duplicate is
// dropped too, but has a number, which nothing has (SCH-12), and is not counted.
type Sent struct {
	SequenceNumbers []int64 `json:"sequenceNumbers"`      // in the order sent; of a scheduled one, to cancel it by
	Duplicates      int     `json:"duplicates,omitempty"` // how many of the numbers are 0
}

// Messages is the answer of GET /peek and POST /receive.
type Messages struct {
	Messages []Message `json:"messages"` // in the order of their numbers
}

// Receive is what POST /receive takes; {} receives one message under a lock if
// there is one.
type Receive struct {
	Mode            string  `json:"mode,omitempty"`            // peek-lock (the default) or receive-and-delete
	Max             *int    `json:"max,omitempty"`             // 1 if absent
	Wait            string  `json:"wait,omitempty"`            // a duration; none if absent
	SequenceNumbers []int64 `json:"sequenceNumbers,omitempty"` // only these, deferred ones; they are not waited for
	Hold            string  `json:"hold,omitempty"`            // of a session, see Hold; it has a mode of its own
}

// Settle is what POST /settle takes.
type Settle struct {
	LockToken   string           `json:"lockToken"`             // of the delivery, as receiving it answered
	Outcome     string           `json:"outcome"`               // complete, abandon, defer, dead-letter or release
	Reason      string           `json:"reason,omitempty"`      // of dead-letter
	Description string           `json:"description,omitempty"` // of dead-letter
	Properties  value.Properties `json:"properties,omitempty"`  // written over the message's own
}

// Renew is what POST /renew takes, one of the two.
type Renew struct {
	LockToken string `json:"lockToken,omitempty"` // of a message's delivery
	Hold      string `json:"hold,omitempty"`      // of a session: its lock and all its messages'
}

// Renewed is the answer of POST /renew.
type Renewed struct {
	LockedUntil time.Time `json:"lockedUntil"` // when the lock runs out
}

func messageRoutes() []route {
	return []route{
		{
			method: "POST", path: "/send/{path}", id: "sendMessages", keyed: true, needs: identity.Operator, group: groupMessages, summary: "Send a message, or a list of them, all or none",
			at: "orders", sends: `[{"body":"hello","subject":"new","timeToLive":"1h","properties":{"price":12.5,"region":"eu"}}]`,
			about: "Properties are plain JSON, or {\"type\":\"int\",\"value\":\"5\"} where the type matters. How large a request may be follows from the entity, up to the number told here; larger messages go through the REST data plane. When many large requests come at once, some wait, or are told to come again (503).",
			query: []parameter{one("create", "Make a queue of this name first if there is none.", "queue")},
			takes: either{Outgoing{}, []Outgoing{}}, most: access.LargestBody, status: http.StatusCreated, gives: Sent{},
			fails: []string{"MessagingEntityNotFound", "MessagingEntityDisabled", "InvalidOperation", "QuotaExceeded", "NotSupported"}, serve: (*door).send,
		},
		{
			method: "GET", path: "/peek/{path}", id: "peekMessages", group: groupMessages, summary: "Look at messages without touching them",
			at: "orders", ask: "count=5",
			about: "A body of more than 1 MiB is left out, and bodyOmitted is true: the REST data plane gives it, and so does /n/{namespace}/m/{key}/body.",
			query: []parameter{
				whole("from", 1, 0, "The sequence number to begin at; 1 if absent."),
				whole("count", 1, 0, fmt.Sprintf("How many messages at most; %d if absent. There may be fewer.", peekCount)),
				one("state", "Only messages in this state; all if absent. Locked ones are just that, whatever they were before.", stateAll, "active", "locked", "deferred", "scheduled"),
			},
			gives: Messages{}, fails: []string{"MessagingEntityNotFound", "MessagingEntityDisabled", "InvalidOperation"}, serve: (*door).peek,
		},
		{
			method: "POST", path: "/receive/{path}", id: "receiveMessages", needs: identity.Operator, group: groupMessages, summary: "Take messages, waiting for the first",
			at: "orders", sends: `{"max":5,"wait":"10s"}`,
			about: "A client that leaves while it waits loses nothing: what was locked for it is given back and does not count as a delivery. What was received and deleted is gone, as at-most-once has it; it is given whatever its size, as base64 if it is large.",
			takes: Receive{}, gives: Messages{},
			fails: []string{"MessagingEntityNotFound", "MessageNotFound", "MessagingEntityDisabled", "InvalidOperation", "SessionLockLost", "MessageLockLost"}, serve: (*door).receive,
		},
	}
}

// send stores one message or a list of them.
func (d *door) send(c echo.Context) error {
	r := c.Request()
	ctx := r.Context()
	p, err := d.path(c)
	if err != nil {
		return err
	}
	s, err := d.state(ctx, p)
	absent := errors.Is(err, engine.ErrNotFound) && query(c).Has("create")
	if err != nil && !absent {
		return err
	}
	key, digest, err := keyed(r)
	if err != nil {
		return err
	}
	out, leave, err := d.readMessages(r, s.Config)
	if err != nil {
		return err
	}
	defer leave()
	return d.once(c, key, digest, http.StatusCreated, func() (any, error) {
		if absent {
			if _, err := d.broker.Create(ctx, engine.Queue, p, engine.Config{}, client(r)); err != nil && !errors.Is(err, engine.ErrExists) {
				return nil, err
			}
		}
		return d.sendAll(ctx, p, out, client(r))
	})
}

// sendAll sends messages, all of them or none.
func (d *door) sendAll(ctx context.Context, p engine.Path, out []broker.Outgoing, who string) (any, error) {
	for i := range out { // as at every door: SDKs need it
		if out[i].Content.MessageID == "" {
			out[i].Content.MessageID = broker.NewMessageID()
		}
	}
	seqs, err := d.broker.Send(ctx, p, out, who)
	if err != nil {
		return nil, err
	}
	sent := Sent{SequenceNumbers: make([]int64, len(seqs))}
	for i, n := range seqs {
		if sent.SequenceNumbers[i] = int64(n); n == 0 { // DUP-2
			sent.Duplicates++
		}
	}
	return sent, nil
}

// readMessages takes the messages of a request, and room for them, which is to
// be left when they are sent.
func (d *door) readMessages(r *http.Request, config engine.Config) (out []broker.Outgoing, leave func(), err error) {
	l := d.broker.Limits()
	// Twice the messages themselves: JSON and base64 add to them.
	most := min(2*max(l.MessageSize, l.BatchSize, config.MaxMessageSizeInKilobytes<<10)+smallBody, access.LargestBody)
	if err := checkLength(r, most); err != nil {
		return nil, nil, err
	}
	leave, err = d.room.Take(r.Context(), r.ContentLength, most)
	if err != nil {
		return nil, nil, err
	}
	if out, err = readOutgoing(r, most); err != nil {
		leave()
		return nil, nil, err
	}
	return out, leave, nil
}

func readOutgoing(r *http.Request, most int64) ([]broker.Outgoing, error) {
	raw, err := readBody(r, most)
	if err != nil {
		return nil, err
	}
	in, err := parseMessages(raw)
	if err != nil {
		return nil, err
	}
	out := make([]broker.Outgoing, len(in))
	for i, m := range in {
		if out[i], err = m.Compose(); err != nil && len(in) > 1 {
			return nil, fmt.Errorf("message %d: %w", i+1, err)
		} else if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// parseMessages reads a message, or a list of them.
func parseMessages(raw []byte) (in []Outgoing, err error) {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0:
		return nil, argument(`There is no message; write {"body":"…"}.`)
	case raw[0] == '[':
		if err := decode(raw, &in); err != nil {
			return nil, err
		}
	case raw[0] == '{':
		in = make([]Outgoing, 1)
		if err := decode(raw, &in[0]); err != nil {
			return nil, err
		}
	default:
		return nil, argument(`A message is an object, as in {"body":"…"}, or several of them are a list.`)
	}
	if len(in) > maxBatch {
		return nil, outOfRange("There are %d messages; at most %d are sent at once.", len(in), maxBatch)
	}
	return in, nil
}

// peek lists messages as they are.
func (d *door) peek(c echo.Context) error {
	r := c.Request()
	p, err := d.path(c)
	if err != nil {
		return err
	}
	class, err := classOf(query(c).Get("state"))
	if err != nil {
		return err
	}
	from, count := number(c, "from", 1), number(c, "count", peekCount)
	rows, err := d.broker.PeekOf(r.Context(), engine.Browse{
		Path: p, Class: class, From: engine.Seq(from), Limit: int(min(count, d.broker.Limits().PeekCount)),
	}, client(r))
	if err != nil {
		return err
	}
	list := beginList(c)
	for _, row := range rows {
		if err := d.peekOne(r.Context(), list, row); err != nil {
			return err
		}
	}
	return list.end()
}

func (d *door) peekOne(ctx context.Context, list *list, row engine.Row) error {
	m, err := presentRow(row)
	if err != nil {
		return err
	}
	if row.Content.BodySize() > largestInline {
		m.BodyOmitted = true
		return list.add(m)
	}
	body, err := d.broker.Body(ctx, row.Message.Content, row.Content.BodySize())
	if errors.Is(err, engine.ErrMessageNotFound) {
		return nil // it has been taken meanwhile
	}
	if err != nil {
		return err
	}
	defer body.Close()
	if err := m.setBody(body); err != nil {
		return err
	}
	return list.add(m)
}
