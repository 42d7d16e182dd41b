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
	"mayfly/engine/value/measure"
	"mayfly/web/auth"
	"mayfly/web/auth/origin"
)

const (
	maxSend        = 5000    // messages of one send
	maxReceive     = 250     // messages of one receive
	peekCount      = 20      // messages of one peek by default
	maxInlineBody  = 1 << 20 // bytes of a body that is included in an answer
	maxWait        = 300 * time.Second
	releaseTimeout = 5 * time.Second // for releasing messages of a receiver that has left
)

// Sent is the answer of POST /send. A number of 0 means that the message was dropped as a
// duplicate; Duplicates counts these. A scheduled duplicate is dropped too, but has a number
// that no message has (SCH-12), and is not counted.
type Sent struct {
	SequenceNumbers []int64 `json:"sequenceNumbers"`      // in the order of the messages; a scheduled message is cancelled by its number
	Duplicates      int     `json:"duplicates,omitempty"` // how many of the numbers are 0
}

// Messages is the answer of GET /peek and POST /receive.
type Messages struct {
	Messages []Message `json:"messages"` // in the order of their numbers
}

// Receive is the request of POST /receive; {} receives one message under a lock if one is
// available.
type Receive struct {
	Mode             string  `json:"mode,omitempty"`             // peek-lock (the default) or receive-and-delete
	Limit            *int    `json:"limit,omitempty"`            // 1 if absent
	Wait             string  `json:"wait,omitempty"`             // a duration; none if absent
	SequenceNumbers  []int64 `json:"sequenceNumbers,omitempty"`  // receive only these deferred messages; there is no wait for them
	SessionLockToken string  `json:"sessionLockToken,omitempty"` // for a session, see HeldSession; its mode is that of the session
}

// Settle is the request of POST /settle.
type Settle struct {
	LockToken   string           `json:"lockToken"`             // of the delivery, from the answer that received it
	Outcome     string           `json:"outcome"`               // complete, abandon, defer, dead-letter or release
	Reason      string           `json:"reason,omitempty"`      // for dead-letter
	Description string           `json:"description,omitempty"` // for dead-letter
	Properties  value.Properties `json:"properties,omitempty"`  // replace properties of the message
}

// Renew is the request of POST /renew-lock, with one of the two lock tokens.
type Renew struct {
	LockToken        string `json:"lockToken,omitempty"`        // of a message's delivery
	SessionLockToken string `json:"sessionLockToken,omitempty"` // of a session: its lock and those of all its messages
}

// Renewed is the answer of POST /renew-lock.
type Renewed struct {
	LockedUntil time.Time `json:"lockedUntil"` // when the lock expires
}

func messageRoutes() []route {
	return []route{
		{
			method: "POST", path: "/send/{path}", id: "sendMessages", keyed: true, role: auth.Operator, group: groupMessages, summary: "Send a message, or a list of messages atomically",
			exampleParam: "orders", exampleBody: `[{"body":"hello","subject":"new","timeToLive":"1h","properties":{"price":12.5,"region":"eu"}}]`,
			description: "Properties are plain JSON, or {\"type\":\"int\",\"value\":\"5\"} where the type matters. The entity limits the size of a request, up to the maximum given here. Send larger messages through the REST data plane. When many large requests arrive at once, some wait or are answered with 503; retry those.",
			query:       []parameter{enumParameter("create", "Create a queue of this name if it does not exist.", "queue").withRole(auth.Admin)},
			request:     oneOf{Outgoing{}, []Outgoing{}}, maxBody: origin.MaxBody, status: http.StatusCreated, response: Sent{},
			problems: []string{"MessagingEntityNotFound", "MessagingEntityDisabled", "InvalidOperation", "QuotaExceeded", "NotSupported"}, handle: (*handler).send,
		},
		{
			method: "GET", path: "/peek/{path}", id: "peekMessages", group: groupMessages, summary: "Browse messages without locking them",
			exampleParam: "orders", exampleQuery: "limit=5",
			description: "A body of more than 1 MiB is left out, and bodyOmitted is true. Get it from the REST data plane or from /n/{namespace}/m/{key}/body.",
			query: []parameter{
				numberParameter("from", 1, 0, "The first sequence number; 1 if absent."),
				numberParameter("limit", 1, 0, fmt.Sprintf("The maximum number of messages; %d if absent. There may be fewer.", peekCount)),
				enumParameter("state", "Only messages in this state; if absent, all. Locked messages are in no other state.", stateAll, "active", "locked", "deferred", "scheduled"),
			},
			response: Messages{}, problems: []string{"MessagingEntityNotFound", "MessagingEntityDisabled", "InvalidOperation"}, handle: (*handler).peek,
		},
		{
			method: "POST", path: "/receive/{path}", id: "receiveMessages", role: auth.Operator, group: groupMessages, summary: "Receive messages, waiting for the first",
			exampleParam: "orders", exampleBody: `{"limit":5,"wait":"10s"}`,
			description: "If a client disconnects while it waits, messages locked for it are unlocked, and the delivery is not counted. In receive-and-delete mode the messages may be lost (at most once). Messages of any size are returned in that mode, large ones as base64.",
			request:     Receive{}, response: Messages{},
			problems: []string{"MessagingEntityNotFound", "MessageNotFound", "MessagingEntityDisabled", "InvalidOperation", "SessionLockLost", "MessageLockLost"}, handle: (*handler).receive,
		},
	}
}

// send sends one message or a list of them.
func (d *handler) send(c echo.Context) error {
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
	key, digest, err := readKey(r)
	if err != nil {
		return err
	}
	out, err := d.readMessages(r, s.Config)
	if err != nil {
		return err
	}
	return d.answerOnce(c, key, digest, http.StatusCreated, func() (any, error) {
		if absent {
			if _, err := d.broker.Create(ctx, engine.Queue, p, engine.Config{}, client(r)); err != nil && !errors.Is(err, engine.ErrExists) {
				return nil, err
			}
		}
		return d.sendAll(ctx, p, out, client(r))
	})
}

// sendAll sends messages, all or none.
func (d *handler) sendAll(ctx context.Context, p engine.Path, out []broker.Outgoing, actor string) (any, error) {
	for i := range out { // as in the other APIs, because SDKs need it
		if out[i].Content.MessageID == "" {
			out[i].Content.MessageID = broker.NewMessageID()
		}
	}
	seqs, err := d.broker.Send(ctx, p, out, actor)
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

// readMessages reads the messages of a request to an entity.
func (d *handler) readMessages(r *http.Request, config engine.Config) ([]broker.Outgoing, error) {
	l := d.broker.Limits()
	// Twice the size of the messages: JSON and base64 add to it.
	return readOutgoing(r, min(2*max(l.MessageSize, l.BatchSize, config.MaxMessageSizeInKilobytes<<10)+smallBody, origin.MaxBody))
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

// parseMessages parses a message, or a list of them.
func parseMessages(raw []byte) (in []Outgoing, err error) {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0:
		return nil, engine.Refuse(engine.ErrArgument, `The request has no message; write {"body":"…"}.`)
	case raw[0] == '[':
		if n := measure.CountItems(raw); n > maxSend {
			return nil, engine.Refuse(engine.ErrOutOfRange, "The request has %d messages; at most %d are allowed.", n, maxSend)
		}
		if err := decode(raw, &in); err != nil {
			return nil, err
		}
	case raw[0] == '{':
		in = make([]Outgoing, 1)
		if err := decode(raw, &in[0]); err != nil {
			return nil, err
		}
	default:
		return nil, engine.Refuse(engine.ErrArgument, `The request must be a message, such as {"body":"…"}, or a list of messages.`)
	}
	return in, nil
}

// peek lists messages without changing them.
func (d *handler) peek(c echo.Context) error {
	r := c.Request()
	p, err := d.path(c)
	if err != nil {
		return err
	}
	class, err := classOf(query(c).Get("state"))
	if err != nil {
		return err
	}
	from, count := number(c, "from", 1), number(c, "limit", peekCount)
	rows, err := d.broker.PeekFiltered(r.Context(), engine.Browse{
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

func (d *handler) peekOne(ctx context.Context, list *list, row engine.Row) error {
	m, err := presentRow(row)
	if err != nil {
		return err
	}
	if row.Content.BodySize() > maxInlineBody {
		m.BodyOmitted = true
		return list.add(m)
	}
	body, err := d.broker.Body(ctx, row.Message.Content, row.Content.BodySize())
	if errors.Is(err, engine.ErrMessageNotFound) {
		return nil // it is gone by now
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
