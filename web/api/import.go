package api

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/job"
	"mayfly/web/auth"
	"mayfly/web/auth/origin"
	"mayfly/web/exchange"
	"mayfly/web/timeout"
)

// Imported is the answer of POST /import.
type Imported struct {
	Imported   int64           `json:"imported"`
	Duplicates int64           `json:"duplicates,omitempty"` // accepted, and dropped as duplicates of messages sent before
	Expired    int64           `json:"expired,omitempty"`    // left out with ttl=remaining: their time was over
	Failed     int64           `json:"failed,omitempty"`     // refused; with unreadable=skip also lines that cannot be parsed
	Failures   []ImportFailure `json:"failures,omitempty"`   // the first 100 of these
}

// ImportPreview is the answer of POST /import with dryRun.
type ImportPreview struct {
	Lines         int64           `json:"lines"`                   // messages, and lines that are not messages
	Messages      int64           `json:"messages"`                // messages that would be imported
	Bytes         int64           `json:"bytes"`                   // size of these messages, as a quota counts it
	Duplicates    int64           `json:"duplicates,omitempty"`    // of these messages: would be accepted and dropped as duplicates
	ExpireAtOnce  int64           `json:"expireAtOnce,omitempty"`  // of these messages: have no time to live left
	Scheduled     int64           `json:"scheduled,omitempty"`     // of these messages: would be scheduled
	ScheduledPast int64           `json:"scheduledPast,omitempty"` // of these messages: their scheduled time has passed, so they would be sent at once
	Expired       int64           `json:"expired,omitempty"`       // would be left out with ttl=remaining
	Unreadable    int64           `json:"unreadable,omitempty"`    // lines that cannot be parsed; the first ends the import unless unreadable=skip
	Refused       int64           `json:"refused,omitempty"`       // refused by the queue or topic, or by a limit
	Failures      []ImportFailure `json:"failures,omitempty"`      // the first 100 unreadable and refused ones
	Full          *ImportFailure  `json:"full,omitempty"`          // where the quota would end the import
}

// An ImportFailure is a message that was refused, or a line that cannot be parsed.
type ImportFailure struct {
	Line   int64  `json:"line"` // of the request, from 1
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

func parseRemap(q url.Values) exchange.Remap {
	return exchange.Remap{TTL: cmp.Or(q.Get("ttl"), "keep"), Schedule: cmp.Or(q.Get("schedule"), "keep"), IDs: cmp.Or(q.Get("ids"), "keep")}
}

func importRoutes() []route {
	return []route{{
		method: "POST", path: "/import/{path}", id: "importMessages", role: auth.Operator, group: groupMessages, summary: "Import the messages of an export, or preview the import",
		exampleParam: "copies", exampleQuery: "ttl=keep&ids=new", exampleBody: `{"body":"hello","subject":"new","timeToLive":"1h"}`,
		description: "Messages are sent as their lines arrive, so an import may have any size. Refused messages are counted in failed, and the answer lists the first hundred. A line that cannot be read ends the import, and the error has its number and the number of messages sent before it. With dryRun nothing is sent, and the answer is an ImportPreview of all lines.",
		query: []parameter{
			enumParameter("ttl", "keep restarts each message's own time to live; remaining keeps the original expiry time and leaves out messages that are past it; drop applies the entity's default.", exchange.TTLs()...).routeRole(),
			enumParameter("schedule", "keep keeps the times of scheduled messages; shift moves them by the age of the export; drop sends the messages at once.", exchange.Schedules()...).routeRole(),
			enumParameter("ids", "new generates new MessageIds.", exchange.IDs()...).routeRole(),
			enumParameter("unreadable", "stop ends the import at a line that cannot be read; skip counts the line in failed and continues.", "stop", "skip").routeRole(),
			flagParameter("dryRun", "Only preview the import.").routeRole(),
		},
		request: lines{exchange.Exported{}, exchange.Part{}}, maxBody: exchange.MaxLine, response: oneOf{Imported{}, ImportPreview{}},
		problems: []string{"MessagingEntityNotFound", "MessagingEntityDisabled", "InvalidOperation", "QuotaExceeded", "NotSupported"}, handle: (*handler).importAll,
	}}
}

// importAll sends the messages of an export in batches. Refused messages are counted; a line
// that cannot be parsed ends the import.
func (d *handler) importAll(c echo.Context) error {
	ctx := c.Request().Context()
	p, err := d.path(c)
	if err != nil {
		return err
	}
	if err := d.broker.Read(ctx, func(r broker.Reader) error { _, err := r.MaxMessageSize(p); return err }); err != nil {
		return err
	}
	timeout.Stream(c.Request())
	lines := exchange.NewReader(d.broker, origin.ShareOf(ctx), c.Request().Body, job.FeedPosition{}, parseRemap(query(c)))
	defer lines.Close()
	if query(c).Get("dryRun") == "true" {
		s, err := exchange.RunDry(ctx, d.broker, lines, p)
		if err != nil {
			return err
		}
		return reply(c, http.StatusOK, presentDryRun(s))
	}
	in := &importing{d: d, to: p, actor: client(c.Request()), lines: lines, skip: query(c).Get("unreadable") == "skip"}
	lines.Flush = in.flush
	for err == nil {
		err = in.next(ctx)
	}
	if errors.Is(err, io.EOF) {
		err = in.flush(ctx)
	}
	if err != nil {
		return in.afterImporting(err)
	}
	return reply(c, http.StatusOK, in.done)
}

func presentDryRun(s exchange.DryRun) ImportPreview {
	out := ImportPreview{
		Lines: s.Lines, Messages: s.Importable, Bytes: s.Bytes, Duplicates: s.Duplicates, ExpireAtOnce: s.ExpireAtOnce, Scheduled: s.Scheduled, ScheduledPast: s.Late,
		Expired: s.Expired, Unreadable: s.Unreadable, Refused: s.Refused,
	}
	for _, f := range s.Failures {
		out.Failures = append(out.Failures, importFailure(f.Line, f.Err))
	}
	if s.Full != nil {
		full := importFailure(s.Full.Line, s.Full.Err)
		out.Full = &full
	}
	return out
}

func importFailure(line int64, err error) ImportFailure {
	p := problem(err)
	return ImportFailure{line, p.Code, p.Detail}
}

// importing is a running import.
type importing struct {
	d       *handler
	to      engine.Path
	actor   string
	lines   *exchange.Reader
	skip    bool // skip lines that cannot be parsed
	pending []broker.Outgoing
	at      []int64 // the lines of pending
	size    int64   // bytes of pending
	done    Imported
}

// next reads one message. It returns io.EOF at the end.
func (in *importing) next(ctx context.Context) error {
	item, err := in.lines.Next(ctx)
	if err != nil {
		return in.unreadable(err)
	}
	if item.Expired {
		in.done.Expired++
		return nil
	}
	if item.Parts > 0 {
		return in.large(ctx, item)
	}
	in.pending, in.at, in.size = append(in.pending, item.Message), append(in.at, item.Line), in.size+item.Size
	if len(in.pending) == exchange.BatchMessages || in.size >= exchange.BatchBytes {
		return in.flush(ctx)
	}
	return nil
}

// unreadable returns an error of the lines, or counts it and returns nil if such lines are
// skipped.
func (in *importing) unreadable(err error) error {
	bad, ok := errors.AsType[*exchange.LineError](err)
	if !ok || !in.skip {
		return err
	}
	in.fail(bad.Line, bad.Err)
	return nil
}

func (in *importing) fail(line int64, err error) {
	if in.done.Failed++; len(in.done.Failures) < exchange.MaxFailures {
		in.done.Failures = append(in.done.Failures, importFailure(line, err))
	}
}

// large sends a message whose body is in the lines after it, by itself.
func (in *importing) large(ctx context.Context, item exchange.Item) error {
	if err := in.flush(ctx); err != nil { // keeps the order of messages
		return err
	}
	defer in.lines.Release()
	seqs, err := in.d.broker.Send(ctx, in.to, []broker.Outgoing{item.Message}, in.actor)
	if bad := in.lines.Rest(); bad != nil { // a refused body was not read to its end
		return in.unreadable(bad)
	}
	if err != nil && (ctx.Err() != nil || !job.IsMessageError(err)) {
		return err
	}
	in.count(item.Line, seqs, err)
	return nil
}

// flush sends the messages read so far, one by one if they are refused together.
func (in *importing) flush(ctx context.Context) error {
	err := in.send(ctx, in.pending, in.at)
	clear(in.pending) // they hold bodies
	in.pending, in.at, in.size = in.pending[:0], in.at[:0], 0
	in.lines.Release()
	return err
}

func (in *importing) send(ctx context.Context, out []broker.Outgoing, lines []int64) error {
	if len(out) == 0 {
		return nil
	}
	seqs, err := in.d.broker.Send(ctx, in.to, out, in.actor)
	switch {
	case err == nil:
	case ctx.Err() != nil, !job.IsMessageError(err):
		return err
	case len(out) > 1:
		for i := range out {
			if err := in.send(ctx, out[i:i+1], lines[i:i+1]); err != nil {
				return err
			}
		}
		return nil
	}
	in.count(lines[0], seqs, err)
	return nil
}

// count counts messages that were sent together, or one that was refused.
func (in *importing) count(line int64, seqs []engine.Seq, err error) {
	if err != nil {
		in.fail(line, err)
		return
	}
	for _, n := range seqs {
		if n == 0 { // DUP-2
			in.done.Duplicates++
		} else {
			in.done.Imported++
		}
	}
}

// afterImporting returns err with its line and the number of messages imported before it. It returns
// failures of the server unchanged.
func (in *importing) afterImporting(err error) error {
	line := in.lines.At().Line
	if bad, ok := errors.AsType[*exchange.LineError](err); ok {
		line, err = bad.Line, bad.Err
	}
	p := problem(err)
	if p.Status == http.StatusInternalServerError {
		return err
	}
	return engine.Refuse(err, "Line %d: %s %d messages before it were imported.", max(line, 1), p.Detail, in.done.Imported)
}
