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
	"mayfly/web/intake"
)

const (
	exportAtOnce = 256 // messages are read before they are written
	stateAll     = "all"
)

func exportRoutes() []route {
	return []route{{
		method: "GET", path: "/export/{path}", id: "exportMessages", group: groupMessages, summary: "The messages that are there, a JSON line each",
		at: "orders", ask: "state=all&q=prop.region:eu",
		about: "A line has all that the sender of a message wrote and, in system, what the broker knows of it. A body of more than 1 MiB is in lines of its own that follow, bodyParts of them. What comes meanwhile is not in it, and an export that does not end in order was cut off.",
		query: []parameter{
			one("state", "Only messages in this state; all if absent.", stateAll, "active", "locked", "deferred", "scheduled"),
			matchedBy("Only messages that match, as of a search."),
		},
		gives: lines{intake.Exported{}, intake.Part{}}, fails: []string{"MessagingEntityNotFound", "MessagingEntityDisabled", "InvalidOperation"}, serve: (*door).export,
	}, {
		method: "GET", path: "/export", id: "exportChosen", group: groupMessages, summary: "Messages of whatever entities, by their keys or by a query, a JSON line each",
		ask:   "q=state:dead",
		about: "The lines are those of an export of one entity. Either keys or q is given; what has gone by now is not in it.",
		query: []parameter{
			word("keys", fmt.Sprintf("The keys of messages, with commas between them; at most %d.", job.MostMessages)).like("17,18"),
			matchedBy("What messages have to match, as of a search."),
		},
		gives: lines{intake.Exported{}, intake.Part{}}, serve: (*door).exportChosen,
	}}
}

// matchedBy is a query of engine/search as a parameter.
func matchedBy(about string) parameter {
	p := word("q", about).like("prop.region:eu")
	p.check = func(text string) error {
		_, err := search.Parse(text)
		return err
	}
	return p
}

// classOf is the messages of a state, as exports and peeks call them.
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
	class, err := classOf(query(c).Get("state"))
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
	name := strings.ReplaceAll(string(p), "/", "-")
	if query(c).Has("q") {
		q, err := search.Parse(query(c).Get("q"))
		if err != nil {
			return err
		}
		return d.exportTo(c, name, func(write func(engine.Row) error) error {
			return d.found(ctx, q.In(string(p.Entity())), func(row engine.Row) error {
				if row.Path.Fold() != p.Fold() || !ofClass(row.Message, class) {
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

// exportChosen writes messages by their keys or by a query, wherever they are.
func (d *door) exportChosen(c echo.Context) error {
	ctx, given := c.Request().Context(), query(c)
	if given.Has("keys") == given.Has("q") {
		return argument("Say which messages: either by 'keys' or by 'q'.")
	}
	if given.Has("q") {
		q, err := search.Parse(given.Get("q"))
		if err != nil {
			return err
		}
		return d.exportTo(c, d.broker.Name(), func(write func(engine.Row) error) error { return d.found(ctx, q, write) })
	}
	if n := 1 + strings.Count(given.Get("keys"), ","); n > job.MostMessages {
		return outOfRange("There are %d keys; at most %d can be given.", n, job.MostMessages)
	}
	var keys []engine.Key
	for text := range strings.SplitSeq(given.Get("keys"), ",") {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil || n == 0 {
			return argument("'%s' is not the key of a message.", cut(text))
		}
		keys = append(keys, engine.Key(n))
	}
	return d.exportTo(c, d.broker.Name(), func(write func(engine.Row) error) error {
		for part := range slices.Chunk(keys, exportAtOnce) {
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

// rowsOf are messages by their keys, those that are there.
func (d *door) rowsOf(ctx context.Context, keys []engine.Key) (rows []engine.Row, err error) {
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

// found calls write with every message that matches.
func (d *door) found(ctx context.Context, q *search.Query, write func(engine.Row) error) error {
	return d.broker.Search(ctx, broker.Search{Query: q}, func(g broker.Glance) error {
		for _, row := range g.Hits {
			if err := write(row); err != nil {
				return err
			}
		}
		return nil
	})
}

// ofClass tells whether a message is in a list.
func ofClass(m engine.Message, c engine.Class) bool {
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

// exportTo answers with a file of the messages that each writes.
func (d *door) exportTo(c echo.Context, name string, each func(write func(engine.Row) error) error) error {
	ctx, h := c.Request().Context(), c.Response().Header()
	h.Set(echo.HeaderContentType, ndjson)
	name = fmt.Sprintf("%s-%s.jsonl", name, d.broker.Clock().Time().Format("20060102T150405Z"))
	h.Set(echo.HeaderContentDisposition, mime.FormatMediaType("attachment", map[string]string{"filename": name}))
	c.Response().WriteHeader(http.StatusOK)
	err := each(func(row engine.Row) error { return d.exportOne(ctx, c.Response(), row) })
	if err != nil {
		d.log.DebugContext(ctx, "an export was cut off", "name", name, "err", err)
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
	x, err := intake.Export(row, d.broker.Clock())
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
	if size <= intake.PartSize {
		m := Message{Key: x.System.Key}
		if err := m.setBody(body); err != nil {
			return err
		}
		x.Body, x.BodyBase64 = m.Body, m.BodyBase64
		return writeLine(w, x)
	}
	x.BodyParts = (size + intake.PartSize - 1) / intake.PartSize
	if err := writeLine(w, x); err != nil {
		return err
	}
	part := make([]byte, intake.PartSize)
	for range x.BodyParts {
		n, err := io.ReadFull(body, part)
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return fmt.Errorf("read the body of message %s: %w", x.System.Key, err)
		}
		text := base64.StdEncoding.EncodeToString(part[:n])
		if err := writeLine(w, intake.Part{Part: &text}); err != nil {
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
