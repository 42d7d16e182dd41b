package rest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// defaultContentType is the content type that the hosted service gives to a message whose
// sender set none.
const defaultContentType = "application/atom+xml;type=entry;charset=utf-8"

// releaseTimeout is the time limit for releasing a message whose receiver has disconnected.
const releaseTimeout = 5 * time.Second

// receive waits for one message and answers with it, or with 204 if none arrives in time. If the
// client disconnects before it has the message, a locked message is released without counting the
// delivery. A deleted one is lost, as at-most-once delivery allows (LOCK-2).
func (d *handler) receive(c echo.Context, t address, mode engine.Mode) error {
	wait, err := timeout(c, defaultWait)
	if err != nil {
		return err
	}
	r := c.Request()
	if err := drain(r); err != nil {
		return err
	}
	got, err := d.broker.Receive(r.Context(), broker.ReceiveRequest{Path: t.path, Mode: mode, Wait: wait, Client: client(r)})
	if err != nil {
		return err
	}
	if len(got) == 0 {
		return c.NoContent(http.StatusNoContent)
	}
	m := got[0]
	defer m.Body.Close()
	if err = context.Cause(r.Context()); err == nil {
		err = present(c, m)
	}
	if err != nil && !m.Deleted {
		d.release(r, m)
	}
	return err
}

// present writes a message and returns when it has been handed to the operating system.
func present(c echo.Context, m broker.Received) error {
	content, err := m.Content.Content()
	if err != nil {
		return fmt.Errorf("read message %d: %w", m.Message.Key, err)
	}
	w := c.Response()
	h := w.Header()
	writeHeader(h, m.Message.Properties(content))
	setBrokerProperties(h, brokerProperties(m, content))
	h.Set(echo.HeaderContentType, contentType(content.ContentType))
	h.Set("Date", httpTime(m.Message.EnqueuedAt))
	h.Set(echo.HeaderContentLength, strconv.FormatInt(content.BodySize, 10))
	status := http.StatusOK
	if !m.Deleted {
		status = http.StatusCreated
		h.Set(echo.HeaderLocation, deliveryURL(c.Request(), m.Path, m.Message))
	}
	w.WriteHeader(status)
	if _, err := io.Copy(w, m.Body); err != nil {
		return fmt.Errorf("write message %d: %w", m.Message.Key, err)
	}
	// Echo's own Flush does not report that the client has disconnected.
	if err := http.NewResponseController(w.Writer).Flush(); err != nil {
		return fmt.Errorf("write message %d: %w", m.Message.Key, err)
	}
	return nil
}

// contentType returns a stored content type as a header. One that cannot be a header
// counts as unset.
func contentType(stored string) string {
	if stored == "" || strings.ContainsFunc(stored, unicode.IsControl) || !utf8.ValidString(stored) {
		return defaultContentType
	}
	return stored
}

// release releases a message that its receiver did not get. It only logs a failure, because the
// lock expires by itself.
func (d *handler) release(r *http.Request, m broker.Received) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), releaseTimeout)
	defer cancel()
	_, err := d.broker.Settle(ctx, engine.Settlement{Token: m.Token(), Outcome: engine.Release, Path: m.Path, Client: client(r)})
	if err != nil {
		d.log.Logger.WarnContext(ctx, "a message was locked for a client that left; it stays locked until its lock expires", "path", m.Path, "seq", m.Message.Seq, "err", err)
	}
}
