package rest

import (
	"context"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/auth/origin"
)

// batchType is the Content-Type of a list of messages.
const batchType = "application/vnd.microsoft.servicebus.json"

// send stores one message, or the messages of a list.
func (d *handler) send(c echo.Context, t address) error {
	r := c.Request()
	ctx := r.Context()
	wait, err := timeout(c, maxWait)
	if err != nil {
		return err
	}
	// This bounds the wait for room and for the body, not a commit that has begun.
	ctx, cancel := context.WithTimeout(ctx, max(wait, time.Second))
	defer cancel()
	s, err := d.state(ctx, t.path) // before the body, because a client need not send it to a missing entity
	if err != nil {
		return err
	}
	limit := d.broker.Limits().MessageSize
	if k := s.Config.MaxMessageSizeInKilobytes; k > 0 {
		limit = k << 10
	}
	var out []broker.Outgoing
	if kind, _, err := mime.ParseMediaType(r.Header.Get(echo.HeaderContentType)); err == nil && kind == batchType {
		most := min(2*max(limit, d.broker.Limits().BatchSize)+64<<10, origin.MaxBody)
		out, err = readBatch(ctx, r, most)
		if err != nil {
			return err
		}
	} else {
		one, err := readOne(r, limit)
		if err != nil {
			return err
		}
		out = []broker.Outgoing{one}
	}
	for i := range out {
		if out[i].Content.MessageID == "" {
			out[i].Content.MessageID = broker.NewMessageID()
		}
	}
	if _, err := d.broker.Send(ctx, t.path, out, client(r)); err != nil {
		return err
	}
	if ct := r.Header.Get(echo.HeaderContentType); ct != "" {
		c.Response().Header().Set(echo.HeaderContentType, ct)
	}
	return c.NoContent(http.StatusCreated)
}

// readOne returns the message of a request. It does not read the body, which goes to the
// store in parts because it may be large.
func readOne(r *http.Request, limit int64) (broker.Outgoing, error) {
	if r.ContentLength > limit {
		return broker.Outgoing{}, engine.Refuse(engine.ErrTooLarge, "The message has %d bytes; at most %d are allowed.", r.ContentLength, limit)
	}
	content, err := readContent(r.Header)
	if err != nil {
		return broker.Outgoing{}, err
	}
	return broker.Outgoing{Content: content, Reader: io.LimitReader(r.Body, limit+1)}, nil
}

// readContent returns the parts of a message that are in its headers: everything but the body.
func readContent(h http.Header) (engine.Content, error) {
	var c engine.Content
	switch given := h.Values("BrokerProperties"); len(given) {
	case 0:
	case 1:
		var err error
		if c, err = parseBrokerProperties([]byte(given[0])); err != nil {
			return c, err
		}
	default:
		return c, engine.Refuse(engine.ErrArgument, "The request has %d BrokerProperties headers; one is allowed.", len(given))
	}
	// The header is the content type of a single message. Messages in a list have none.
	if ct := h.Get(echo.HeaderContentType); ct != "" {
		c.ContentType = ct
	}
	props, err := parseHeader(h)
	c.Properties = props
	return c, err
}
