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

// defaultContentType is what the hosted service says of a message whose sender
// said nothing.
const defaultContentType = "application/atom+xml;type=entry;charset=utf-8"

// releasePatience bounds how long giving a message back may take when its
// receiver has left.
const releasePatience = 5 * time.Second

// receive waits for one message. If the client leaves meanwhile and a message
// was on its way nevertheless, a locked one is given back, not counting as a
// delivery; a deleted one is gone, as at-most-once has it (LOCK-2).
func (d *door) receive(c echo.Context, t target, mode engine.Mode) error {
	wait, err := timeout(c, defaultWait)
	if err != nil {
		return err
	}
	r := c.Request()
	if err := drain(r); err != nil {
		return err
	}
	got, err := d.broker.Receive(r.Context(), broker.Receive{Path: t.path, Mode: mode, Wait: wait, Client: client(r)})
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
		d.giveBack(r, m)
	}
	return err
}

// present writes a message and returns once it has left for the client, as far
// as the system knows.
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
		h.Set(echo.HeaderLocation, location(c.Request(), m.Path, m.Message))
	}
	w.WriteHeader(status)
	if _, err := io.Copy(w, m.Body); err != nil {
		return fmt.Errorf("write message %d: %w", m.Message.Key, err)
	}
	// Echo's own Flush does not tell when the client has gone.
	if err := http.NewResponseController(w.Writer).Flush(); err != nil {
		return fmt.Errorf("write message %d: %w", m.Message.Key, err)
	}
	return nil
}

// contentType is a stored content type as a header: one that no header can have
// is as good as none.
func contentType(stored string) string {
	if stored == "" || strings.ContainsFunc(stored, unicode.IsControl) || !utf8.ValidString(stored) {
		return defaultContentType
	}
	return stored
}

// giveBack frees a message that nobody got.
func (d *door) giveBack(r *http.Request, m broker.Received) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), releasePatience)
	defer cancel()
	_, err := d.broker.Settle(ctx, engine.Settlement{Token: m.Token(), Outcome: engine.Release, Path: m.Path, Client: client(r)})
	if err != nil {
		d.log.WarnContext(ctx, "a message that nobody got stays locked until its lock runs out", "path", m.Path, "number", m.Message.Seq, "err", err)
	}
}
