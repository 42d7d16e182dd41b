package api

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/job"
	"mayfly/engine/search"
	"mayfly/engine/shorten"
	"mayfly/web/exchange"
)

const (
	exportBatch = 256 // messages are read at a time
	stateAll    = "all"
)

func exportRoutes() []route {
	return []route{{
		method: "GET", path: "/export/{path}", id: "exportMessages", group: groupMessages, summary: "Export the messages of an entity as JSON lines",
		exampleParam: "orders", exampleQuery: "state=all&q=prop.region:eu",
		description: "A line has everything that the sender of a message wrote and, in system, the broker's records. A body of more than 1 MiB follows in bodyParts lines of its own. Messages that arrive during the export are not included. If the response ends without its final chunk, the export was cut off.",
		query: []parameter{
			enumParameter("state", "Only messages in this state; if absent, all.", stateAll, "active", "locked", "deferred", "scheduled"),
			matchedBy("Only messages that match this search query."),
		},
		response: lines{exchange.Exported{}, exchange.Part{}}, problems: []string{"MessagingEntityNotFound", "MessagingEntityDisabled", "InvalidOperation"}, handle: (*handler).export,
	}, {
		method: "GET", path: "/export", id: "exportSelected", group: groupMessages, summary: "Export messages of any entities, by key or query, as JSON lines",
		exampleQuery: "q=state:dead",
		description:  "The lines are those of an export of one entity. Give either keys or q. Messages that no longer exist are left out.",
		query: []parameter{
			textParameter("keys", fmt.Sprintf("The keys of messages, separated by commas; at most %d.", job.MaxMessages)).withExample("17,18"),
			matchedBy("The search query that messages must match."),
		},
		response: lines{exchange.Exported{}, exchange.Part{}}, handle: (*handler).exportSelected,
	}}
}

// matchedBy returns the query parameter q, whose value is a query of engine/search.
func matchedBy(about string) parameter {
	p := textParameter("q", about).withExample("prop.region:eu")
	p.check = func(text string) error {
		_, err := search.Parse(text)
		return err
	}
	return p
}

// classOf returns the class of messages of a state, as exports and peeks name it.
func classOf(state string) (engine.Class, error) {
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
		return 0, engine.Refuse(engine.ErrArgument, "The state must be all, active, locked, deferred or scheduled, not '%s'.", shorten.Quote(state))
	}
}

// export writes the current messages of a path, one per line, and changes none of them.
func (d *handler) export(c echo.Context) error {
	ctx := c.Request().Context()
	p, err := d.path(c)
	if err != nil {
		return err
	}
	class, err := classOf(query(c).Get("state"))
	if err != nil {
		return err
	}
	s, err := d.state(ctx, p)
	if err != nil {
		return err
	}
	bound, list := s.NextSeq, engine.Browse{Path: p, Class: class, From: 1, Limit: exportBatch}
	rows, err := d.browse(ctx, list)
	if err != nil {
		return err
	}
	name := strings.ReplaceAll(string(p), "/", "-")
	if query(c).Has("q") {
		q, err := search.Parse(query(c).Get("q"))
		if err != nil {
			return err
		}
		return d.exportTo(c, name, func(write func(engine.Row) error) error {
			return d.eachMatch(ctx, q.Within(string(p.Entity())), func(row engine.Row) error {
				if row.Path.Fold() != p.Fold() || !isOfClass(row.Message, class) {
					return nil
				}
				return write(row)
			})
		})
	}
	return d.exportTo(c, name, func(write func(engine.Row) error) (err error) {
		for len(rows) > 0 {
			for _, row := range rows {
				if row.Message.Seq >= bound {
					return nil
				}
				if err := write(row); err != nil {
					return err
				}
				list.From = row.Message.Seq + 1
			}
			if rows, err = d.browse(ctx, list); err != nil {
				return err
			}
		}
		return nil
	})
}

// exportSelected writes messages by their keys or by a query, from any entity.
func (d *handler) exportSelected(c echo.Context) error {
	ctx, given := c.Request().Context(), query(c)
	if given.Has("keys") == given.Has("q") {
		return engine.Refuse(engine.ErrArgument, "Give either 'keys' or 'q' to select messages.")
	}
	if given.Has("q") {
		q, err := search.Parse(given.Get("q"))
		if err != nil {
			return err
		}
		return d.exportTo(c, d.broker.Name(), func(write func(engine.Row) error) error { return d.eachMatch(ctx, q, write) })
	}
	if n := 1 + strings.Count(given.Get("keys"), ","); n > job.MaxMessages {
		return engine.Refuse(engine.ErrOutOfRange, "The request has %d keys; at most %d are allowed.", n, job.MaxMessages)
	}
	var keys []engine.Key
	for text := range strings.SplitSeq(given.Get("keys"), ",") {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil || n == 0 {
			return engine.Refuse(engine.ErrArgument, "'%s' is not the key of a message.", shorten.Quote(text))
		}
		keys = append(keys, engine.Key(n))
	}
	return d.exportTo(c, d.broker.Name(), func(write func(engine.Row) error) error {
		for part := range slices.Chunk(keys, exportBatch) {
			rows, err := d.rowsOf(ctx, part)
			if err != nil {
				return err
			}
			for _, row := range rows {
				if err := write(row); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// rowsOf returns the messages with the given keys. It leaves out messages that no longer exist.
func (d *handler) rowsOf(ctx context.Context, keys []engine.Key) (rows []engine.Row, err error) {
	err = d.broker.Read(ctx, func(r broker.Reader) error {
		rows = nil
		for _, k := range keys {
			if row, err := r.Message(k); err == nil {
				rows = append(rows, row)
			}
		}
		return nil
	})
	return rows, err
}

// eachMatch calls write with every matching message.
func (d *handler) eachMatch(ctx context.Context, q *search.Query, write func(engine.Row) error) error {
	return d.broker.Search(ctx, broker.SearchRequest{Query: q}, func(g broker.SearchProgress) error {
		for _, row := range g.Hits {
			if err := write(row); err != nil {
				return err
			}
		}
		return nil
	})
}

// isOfClass reports whether a message is in a class.
func isOfClass(m engine.Message, c engine.Class) bool {
	switch c {
	case engine.ClassActive:
		return m.State == engine.Active && !m.Locked()
	case engine.ClassLocked:
		return m.Locked()
	case engine.ClassDeferred:
		return m.State == engine.Deferred && !m.Locked()
	case engine.ClassScheduled:
		return m.State == engine.Scheduled
	default:
		return true
	}
}

// exportTo answers with a file of the messages that `each` writes. Errors after the answer has begun
// cut it off.
func (d *handler) exportTo(c echo.Context, name string, each func(write func(engine.Row) error) error) error {
	ctx, h := c.Request().Context(), c.Response().Header()
	h.Set(echo.HeaderContentType, ndjson)
	name = fmt.Sprintf("%s-%s.jsonl", name, d.broker.ClockTime().Time().Format("20060102T150405Z"))
	h.Set(echo.HeaderContentDisposition, mime.FormatMediaType("attachment", map[string]string{"filename": name}))
	c.Response().WriteHeader(http.StatusOK)
	err := each(func(row engine.Row) error { return d.exportOne(ctx, c.Response(), row) })
	if err != nil {
		d.log.DebugContext(ctx, "an export was cut off", "name", name, "err", err)
		panic(http.ErrAbortHandler) // a partial file must not look complete
	}
	return nil
}

func (d *handler) browse(ctx context.Context, b engine.Browse) (rows []engine.Row, err error) {
	err = d.broker.Read(ctx, func(r broker.Reader) error {
		rows, err = r.Browse(b)
		return err
	})
	return rows, err
}

// exportOne writes one message with its body, or nothing if the message no longer exists.
func (d *handler) exportOne(ctx context.Context, w io.Writer, row engine.Row) error {
	x, err := exchange.Export(row, d.broker.ClockTime())
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
	if size <= exchange.PartSize {
		m := Message{Key: x.System.Key}
		if err := m.setBody(body); err != nil {
			return err
		}
		x.Body, x.BodyBase64 = m.Body, m.BodyBase64
		return writeLine(w, x)
	}
	x.BodyParts = (size + exchange.PartSize - 1) / exchange.PartSize
	if err := writeLine(w, x); err != nil {
		return err
	}
	part := make([]byte, exchange.PartSize)
	for range x.BodyParts {
		n, err := io.ReadFull(body, part)
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return fmt.Errorf("read the body of message %s: %w", x.System.Key, err)
		}
		text := base64.StdEncoding.EncodeToString(part[:n])
		if err := writeLine(w, exchange.Part{Part: &text}); err != nil {
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
