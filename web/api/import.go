package api

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/access"
	"mayfly/web/amqp/carry"
)

const (
	importAtOnce = 256       // messages go to the broker together
	importBytes  = 128 << 10 // and so many bytes of them, of which the last may have more
	mostFailures = 100       // that an answer names
)

// Imported is the answer of POST /import.
type Imported struct {
	Imported   int64           `json:"imported"`
	Duplicates int64           `json:"duplicates,omitempty"` // accepted, and dropped as duplicates of messages sent before
	Expired    int64           `json:"expired,omitempty"`    // left out with ttl=remaining: there was nothing left
	Failed     int64           `json:"failed,omitempty"`     // refused
	Failures   []ImportFailure `json:"failures,omitempty"`   // the first 100 of these
}

// An ImportFailure is a message that was refused.
type ImportFailure struct {
	Line   int    `json:"line"` // of the request, from 1
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

// A remap says what becomes of some properties of messages that are imported.
type remap struct {
	ttl      string // keep, remaining or drop
	schedule string // keep, shift or drop
	ids      string // keep or new
}

func parseRemap(q url.Values) remap {
	return remap{ttl: cmp.Or(q.Get("ttl"), "keep"), schedule: cmp.Or(q.Get("schedule"), "keep"), ids: cmp.Or(q.Get("ids"), "keep")}
}

// apply changes c as m says; left is false if nothing is left of its time.
func (m remap) apply(c *engine.Content, s *System, now engine.Instant) (left bool, err error) {
	if (m.ttl == "remaining" || m.schedule == "shift") && s == nil {
		return false, argument("There is no 'system' with the times that ttl=remaining and schedule=shift need.")
	}
	switch m.ttl {
	case "drop":
		c.TTL = 0
	case "remaining":
		if s.ExpiresAt == nil || s.ScheduledFor != nil { // of a scheduled one nothing has passed yet
			break
		}
		if c.TTL = s.ExpiresAt.Sub(now.Time()); c.TTL <= 0 {
			return false, nil
		}
	}
	if s != nil && s.ScheduledFor != nil { // it may have been rescheduled
		c.ScheduledFor = engine.At(*s.ScheduledFor)
	}
	switch m.schedule {
	case "drop":
		c.ScheduledFor = 0
	case "shift":
		if c.ScheduledFor != 0 {
			c.ScheduledFor = c.ScheduledFor.Add(max(0, now.Time().Sub(s.ExportedAt)))
		}
	}
	if m.ids == "new" || c.MessageID == "" {
		c.MessageID = broker.NewMessageID()
	}
	return true, nil
}

func importRoutes() []route {
	return []route{{
		method: "POST", path: "/import/{path}", id: "importMessages", group: groupMessages, summary: "Send the messages of an export",
		about: "They are sent as they come, so that it may be of any size. What is refused is counted in failed, and the first hundred are told; a line that cannot be read ends the import, and the error says which it was and how many messages were sent before it.",
		query: []parameter{
			one("ttl", "keep lets their own time to live begin anew, remaining has them expire when they would have (what is past that is left out), drop leaves it to the entity.", "keep", "remaining", "drop"),
			one("schedule", "keep leaves the times of scheduled messages, shift moves them by as long as the export is old, drop sends them at once.", "keep", "shift", "drop"),
			one("ids", "new gives them other MessageIds.", "keep", "new"),
		},
		takes: lines{Exported{}, Part{}}, most: access.LargestBody, gives: Imported{},
		fails: []string{"MessagingEntityNotFound", "MessagingEntityDisabled", "InvalidOperation", "QuotaExceeded", "NotSupported"}, serve: (*door).importAll,
	}}
}

// importAll sends the messages of an export, some at a time: what is refused is
// counted, what cannot be read ends it.
func (d *door) importAll(c echo.Context) error {
	ctx := c.Request().Context()
	p, err := d.path(c)
	if err != nil {
		return err
	}
	in := importing{d: d, to: p, actor: client(c.Request()), remap: parseRemap(query(c))}
	if err := d.broker.Read(ctx, func(r broker.Reader) error { _, err := r.Sendable(p); return err }); err != nil {
		return err
	}
	leave, err := d.room.Take(ctx, -1, access.LargestBody)
	if err != nil {
		return err
	}
	defer leave()
	in.lines = bufio.NewReaderSize(c.Request().Body, 64<<10)
	for err == nil {
		err = in.next(ctx)
	}
	if errors.Is(err, io.EOF) {
		err = in.flush(ctx)
	}
	if err != nil {
		return in.partly(err)
	}
	return reply(c, http.StatusOK, in.done)
}

// importing is an import under way.
type importing struct {
	d     *door
	to    engine.Path
	actor string
	remap remap
	lines *bufio.Reader
	line  int // the latest that was read, from 1
	wait  []broker.Outgoing
	at    []int // their lines
	size  int   // bytes of wait
	done  Imported
}

// read is the next line that is not blank; io.EOF after the last.
func (in *importing) read() ([]byte, error) {
	for {
		var text []byte
		for {
			part, err := in.lines.ReadSlice('\n')
			if len(text)+len(part) > access.LargestBody {
				in.line++
				return nil, &engine.Refusal{Kind: engine.ErrTooLarge, Text: fmt.Sprintf("It has more than the %d bytes allowed in one line.", access.LargestBody)}
			}
			text = append(text, part...)
			if errors.Is(err, bufio.ErrBufferFull) {
				continue
			}
			if err != nil && (!errors.Is(err, io.EOF) || len(text) == 0) {
				return nil, err //nolint:wrapcheck // the end, or what the client did
			}
			break
		}
		in.line++
		if text = bytes.TrimSpace(text); len(text) > 0 {
			return text, nil
		}
	}
}

// next takes one message in; io.EOF when there are no more.
func (in *importing) next(ctx context.Context) error {
	raw, err := in.read()
	if err != nil {
		return err
	}
	var x Exported
	if err := decode(raw, &x); err != nil {
		return err
	}
	content, body, err := x.content()
	if err != nil {
		return err
	}
	if x.BodyParts > 0 {
		err = carry.Again(&content, nil)
	} else {
		err = carry.Again(&content, append([]byte{}, body...))
	}
	if err != nil {
		return err
	}
	left, err := in.remap.apply(&content, x.System, in.d.broker.Clock())
	if err != nil {
		return err
	}
	if x.BodyParts > 0 {
		return in.large(ctx, content, x.BodyParts, left)
	}
	if !left {
		in.done.Expired++
		return nil
	}
	in.wait, in.at, in.size = append(in.wait, broker.Outgoing{Content: content, Body: body}), append(in.at, in.line), in.size+len(raw)
	if len(in.wait) == importAtOnce || in.size >= importBytes {
		return in.flush(ctx)
	}
	return nil
}

// large sends a message whose body is in the lines that follow.
func (in *importing) large(ctx context.Context, content engine.Content, parts int64, left bool) error {
	if err := in.flush(ctx); err != nil { // what came before it goes before it
		return err
	}
	line, body := in.line, &partsReader{in: in, left: parts}
	var err error
	if left {
		err = in.send(ctx, []broker.Outgoing{{Content: content, Reader: body}}, []int{line})
	} else {
		in.done.Expired++
	}
	if body.err == nil {
		_, body.err = io.Copy(io.Discard, body) // a refused one is not read to its end
	}
	if body.err != nil {
		return body.err
	}
	return err
}

// flush sends what has been taken in, one by one if not together.
func (in *importing) flush(ctx context.Context) error {
	err := in.send(ctx, in.wait, in.at)
	in.wait, in.at, in.size = in.wait[:0], in.at[:0], 0
	return err
}

func (in *importing) send(ctx context.Context, out []broker.Outgoing, lines []int) error {
	if len(out) == 0 {
		return nil
	}
	seqs, err := in.d.broker.Send(ctx, in.to, out, in.actor)
	switch {
	case err == nil:
		for _, n := range seqs {
			if n == 0 { // DUP-2
				in.done.Duplicates++
			} else {
				in.done.Imported++
			}
		}
		return nil
	case ctx.Err() != nil, !refusedAlone(err):
		return err
	case len(out) > 1:
		for i := range out {
			if err := in.send(ctx, out[i:i+1], lines[i:i+1]); err != nil {
				return err
			}
		}
		return nil
	}
	if in.done.Failed++; len(in.done.Failures) < mostFailures {
		p := problem(err)
		in.done.Failures = append(in.done.Failures, ImportFailure{lines[0], p.Code, p.Detail})
	}
	return nil
}

// refusedAlone tells whether an error is of one message: others may fare better.
func refusedAlone(err error) bool {
	for _, kind := range []error{engine.ErrArgument, engine.ErrOutOfRange, engine.ErrNotAllowed, engine.ErrTooLarge, engine.ErrDuplicate} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// partly says of an error at which line it was, and how many were sent before.
func (in *importing) partly(err error) error {
	p := problem(err)
	if p.Status == http.StatusInternalServerError {
		return err
	}
	return &engine.Refusal{Kind: err, Text: fmt.Sprintf("Line %d: %s %d messages before it were imported.", max(in.line, 1), p.Detail, in.done.Imported)}
}

// A partsReader reads a body from the lines that it stands in.
type partsReader struct {
	in   *importing
	left int64
	part []byte
	err  error // of the lines; stays
}

func (r *partsReader) Read(p []byte) (int, error) {
	for len(r.part) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		if r.left == 0 {
			return 0, io.EOF
		}
		r.left--
		r.part, r.err = r.in.readPart()
	}
	n := copy(p, r.part)
	r.part = r.part[n:]
	return n, nil
}

func (in *importing) readPart() ([]byte, error) {
	raw, err := in.read()
	if errors.Is(err, io.EOF) {
		return nil, argument("The lines end before the body of a message does.")
	}
	if err != nil {
		return nil, err
	}
	var part Part
	if err := decode(raw, &part); err != nil {
		return nil, err
	}
	if part.Part == nil {
		return nil, argument("A line with a part of a body is missing.")
	}
	text, err := base64.StdEncoding.DecodeString(*part.Part)
	if err != nil {
		return nil, argument("The value for 'part' is not base64.")
	}
	return text, nil
}
