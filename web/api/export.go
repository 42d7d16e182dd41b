package api

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
)

const (
	exportAtOnce = 256 // messages are read before they are written
	stateAll     = "all"
	partSize     = 1 << 20 // bytes of a body that one line of an export has
)

func exportRoutes() []route {
	return []route{{
		method: "GET", path: "/export/{path}", id: "exportMessages", group: groupMessages, summary: "The messages that are there, a JSON line each",
		about: "A line has all that the sender of a message wrote and, in system, what the broker knows of it. A body of more than 1 MiB is in lines of its own that follow, bodyParts of them. What comes meanwhile is not in it, and an export that does not end in order was cut off.",
		query: []parameter{one("state", "Only messages in this state; all if absent.", stateAll, "active", "locked", "deferred", "scheduled")},
		gives: lines{Exported{}, Part{}}, fails: []string{"MessagingEntityNotFound", "MessagingEntityDisabled", "InvalidOperation"}, serve: (*door).export,
	}}
}

// exportClass is the messages of a state, as an export calls them.
func exportClass(state string) (engine.Class, error) {
	switch state {
	case "", stateAll:
		return engine.ClassAll, nil
	case "active":
		return engine.ClassActive, nil
	case "locked":
		return engine.ClassLocked, nil
	case "deferred":
		return engine.ClassDeferred, nil
	case "scheduled":
		return engine.ClassScheduled, nil
	default:
		return 0, argument("The states are all, active, locked, deferred and scheduled, not '%s'.", cut(state))
	}
}

// export writes the messages that are in a place now, a line each, and touches
// none of them.
func (d *door) export(c echo.Context) error {
	ctx := c.Request().Context()
	p, err := d.path(c)
	if err != nil {
		return err
	}
	class, err := exportClass(query(c).Get("state"))
	if err != nil {
		return err
	}
	s, err := d.state(ctx, p)
	if err != nil {
		return err
	}
	bound, list := s.NextSeq, engine.Browse{Path: p, Class: class, From: 1, Limit: exportAtOnce}
	rows, err := d.browse(ctx, list)
	if err != nil {
		return err
	}
	h := c.Response().Header()
	h.Set(echo.HeaderContentType, "application/x-ndjson")
	name := fmt.Sprintf("%s-%s.jsonl", strings.ReplaceAll(string(p), "/", "-"), d.broker.Clock().Time().Format("20060102T150405Z"))
	h.Set(echo.HeaderContentDisposition, mime.FormatMediaType("attachment", map[string]string{"filename": name}))
	c.Response().WriteHeader(http.StatusOK)
	for err == nil && len(rows) > 0 {
		for _, row := range rows {
			if row.Message.Seq >= bound {
				return nil
			}
			if err = d.exportOne(ctx, c.Response(), row); err != nil {
				break
			}
			list.From = row.Message.Seq + 1
		}
		if err == nil {
			rows, err = d.browse(ctx, list)
		}
	}
	if err != nil {
		d.log.DebugContext(ctx, "an export was cut off", "path", p, "err", err)
		panic(http.ErrAbortHandler) // a file that ends early must not look whole
	}
	return nil
}

func (d *door) browse(ctx context.Context, b engine.Browse) (rows []engine.Row, err error) {
	err = d.broker.Read(ctx, func(r broker.Reader) error {
		rows, err = r.Browse(b)
		return err
	})
	return rows, err
}

// exportOne writes one message, or nothing if it has gone meanwhile.
func (d *door) exportOne(ctx context.Context, w io.Writer, row engine.Row) error {
	x, err := export(row, d.broker.Clock())
	if err != nil {
		return err
	}
	body, err := d.broker.Body(ctx, row.Message.Content, row.Content.BodySize())
	if errors.Is(err, engine.ErrMessageNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	defer body.Close()
	size := x.System.Size
	if size <= partSize {
		m := Message{Key: x.System.Key}
		if err := m.setBody(body); err != nil {
			return err
		}
		x.Body, x.BodyBase64 = m.Body, m.BodyBase64
		return writeLine(w, x)
	}
	x.BodyParts = (size + partSize - 1) / partSize
	if err := writeLine(w, x); err != nil {
		return err
	}
	part := make([]byte, partSize)
	for range x.BodyParts {
		n, err := io.ReadFull(body, part)
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return fmt.Errorf("read the body of message %s: %w", x.System.Key, err)
		}
		text := base64.StdEncoding.EncodeToString(part[:n])
		if err := writeLine(w, Part{&text}); err != nil {
			return err
		}
	}
	return nil
}

func writeLine(w io.Writer, v any) error {
	raw, err := marshal(v)
	if err != nil {
		return err
	}
	if _, err := w.Write(append(raw, '\n')); err != nil {
		return fmt.Errorf("write a line: %w", err)
	}
	return nil
}
