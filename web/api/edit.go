package api

import (
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/access"
	"mayfly/web/identity"
	"mayfly/web/show"
)

// Edit is what POST /edit takes.
type Edit struct {
	Key            string   `json:"key"`                      // of the message that is written anew
	Message        Outgoing `json:"message"`                  // as it is to be; without a body it keeps the one it has
	To             string   `json:"to,omitempty"`             // a queue, topic or subscription; missing: where it came from
	Copy           bool     `json:"copy,omitempty"`           // the message stays, too
	DropDuplicate  bool     `json:"dropDuplicate,omitempty"`  // where its id was seen it is dropped; else it is refused
	KeepProperties bool     `json:"keepProperties,omitempty"` // application properties that are not named stay
}

// Edited is the answer of POST /edit.
type Edited struct {
	SequenceNumber int64 `json:"sequenceNumber"`      // at a topic, the topic's; 0 if it was dropped
	Duplicate      bool  `json:"duplicate,omitempty"` // it was dropped as one
}

func editRoutes() []route {
	return []route{{
		method: "POST", path: "/edit", id: "editMessage", needs: identity.Operator, group: groupMessages, summary: "Write a message anew and send it again, in one step",
		about: "Either the new one arrives and the old one is gone, or neither. A subscription's dead letter goes back to that subscription. What only AMQP says of a message stays. What is left out of the message is unset, but for its body, and its id: without one it gets a random one.",
		sends: `{"key":"1099511627777","message":{"messageId":"17","subject":"corrected","body":"hello"},"copy":true}`,
		takes: Edit{}, most: access.LargestBody, gives: Edited{},
		fails: []string{"MessageNotFound", "MessagingEntityNotFound", "MessagingEntityDisabled", "InvalidOperation", "QuotaExceeded"}, serve: (*door).edit,
	}}
}

// edit replaces a message by what somebody has written.
func (d *door) edit(c echo.Context) error {
	r := c.Request()
	ctx := r.Context()
	leave, err := d.room.Take(ctx, r.ContentLength, access.LargestBody)
	if err != nil {
		return err
	}
	defer leave()
	in, err := given[Edit](r, access.LargestBody)
	if err != nil {
		return err
	}
	n, err := strconv.ParseUint(in.Key, 10, 64)
	if err != nil || n == 0 {
		return argument("'%s' is not the key of a message.", cut(in.Key))
	}
	mv := engine.Move{Key: engine.Key(n), Copy: in.Copy, DropDuplicate: in.DropDuplicate}
	if in.To != "" {
		if mv.To, err = engine.ParsePath(in.To, d.broker.Limits()); err != nil {
			return err
		}
	}
	out, err := in.Message.Compose()
	if err != nil {
		return err
	}
	var row engine.Row
	if err := d.broker.Read(ctx, func(r broker.Reader) (err error) { row, err = r.Message(mv.Key); return err }); err != nil {
		return err
	}
	was, err := row.Content.Content()
	if err != nil {
		return err
	}
	if in.KeepProperties {
		out.Content.Properties = row.Message.OwnProperties(was).Merge(out.Content.Properties)
	}
	if out.Content.MessageID == "" {
		out.Content.MessageID = broker.NewMessageID()
	}
	body := out.Body
	if in.Message.Body == nil && in.Message.BodyBase64 == nil {
		kept, err := d.broker.Body(ctx, row.Message.Content, was.BodySize)
		if err != nil {
			return err
		}
		defer func() { _ = kept.Close() }()
		body, out.Body, out.Reader = nil, nil, kept
	} else if body == nil {
		body = []byte{}
	}
	if out.Content, err = show.Again(was, out.Content, body); err != nil {
		return err
	}
	did, err := d.broker.Replace(ctx, mv, out, client(r))
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, Edited{SequenceNumber: int64(did.Seq), Duplicate: did.Seq == 0})
}
