package api

import (
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/shorten"
	"mayfly/web/auth"
	"mayfly/web/auth/origin"
	"mayfly/web/dashboard/send"
)

// Resubmit is the request of POST /resubmit.
type Resubmit struct {
	Key            string   `json:"key"`                      // of the message to replace
	Message        Outgoing `json:"message"`                  // the new content; without a body it keeps the former one
	To             string   `json:"to,omitempty"`             // a queue, topic or subscription; missing means the entity that the message came from
	Copy           bool     `json:"copy,omitempty"`           // keep the original, too
	DropDuplicate  bool     `json:"dropDuplicate,omitempty"`  // drop the new message if its id is a duplicate; else it is refused
	KeepProperties bool     `json:"keepProperties,omitempty"` // keep application properties that are not named
}

// ResubmitResult is the answer of POST /resubmit.
type ResubmitResult struct {
	SequenceNumber int64 `json:"sequenceNumber"`      // in a topic, the topic's; 0 if it was dropped
	Duplicate      bool  `json:"duplicate,omitempty"` // it was dropped as a duplicate
}

func editRoutes() []route {
	return []route{{
		method: "POST", path: "/resubmit", id: "resubmitMessage", role: auth.Operator, group: groupMessages, summary: "Edit a message and resubmit it",
		description: "The new message replaces the old one atomically. A subscription's dead letter returns to that subscription. AMQP sections that have no member here are kept. Members that are left out are unset, except the body, which is kept, and the id, which is generated.",
		exampleBody: `{"key":"1099511627777","message":{"messageId":"17","subject":"corrected","body":"hello"},"copy":true}`,
		request:     Resubmit{}, maxBody: origin.MaxBody, response: ResubmitResult{},
		problems: []string{"MessageNotFound", "MessagingEntityNotFound", "MessagingEntityDisabled", "InvalidOperation", "QuotaExceeded"}, handle: (*handler).edit,
	}}
}

// edit replaces a message by an edited one.
func (d *handler) edit(c echo.Context) error {
	r := c.Request()
	ctx := r.Context()
	in, err := readJSON[Resubmit](r, origin.MaxBody)
	if err != nil {
		return err
	}
	n, err := strconv.ParseUint(in.Key, 10, 64)
	if err != nil || n == 0 {
		return engine.Refuse(engine.ErrArgument, "'%s' is not the key of a message.", shorten.Quote(in.Key))
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
	if out.Content, err = send.MergeEdited(was, out.Content, body); err != nil {
		return err
	}
	did, err := d.broker.Replace(ctx, mv, out, client(r))
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, ResubmitResult{SequenceNumber: int64(did.Seq), Duplicate: did.Seq == 0})
}
