package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/job"
	"mayfly/web/identity"
	"mayfly/web/intake"
)

// Imported is the answer of POST /import.
type Imported struct {
	Imported   int64           `json:"imported"`
	Duplicates int64           `json:"duplicates,omitempty"` // accepted, and dropped as duplicates of messages sent before
	Expired    int64           `json:"expired,omitempty"`    // left out with ttl=remaining: there was nothing left
	Failed     int64           `json:"failed,omitempty"`     // refused; with unreadable=skip also lines that cannot be read
	Failures   []ImportFailure `json:"failures,omitempty"`   // the first 100 of these
}

// ImportForecast is the answer of POST /import with dryRun.
type ImportForecast struct {
	Lines         int64           `json:"lines"`                   // messages, and lines that are none
	Messages      int64           `json:"messages"`                // that would be imported
	Bytes         int64           `json:"bytes"`                   // that these have, as a quota counts them
	Duplicates    int64           `json:"duplicates,omitempty"`    // of messages: would be accepted, and dropped
	ExpireAtOnce  int64           `json:"expireAtOnce,omitempty"`  // of messages: nothing is left of their own time to live
	Scheduled     int64           `json:"scheduled,omitempty"`     // of messages: would wait for their time
	ScheduledPast int64           `json:"scheduledPast,omitempty"` // of messages: their time has passed, so that they would be sent at once
	Expired       int64           `json:"expired,omitempty"`       // would be left out with ttl=remaining
	Unreadable    int64           `json:"unreadable,omitempty"`    // lines; the first ends the import, but with unreadable=skip
	Refused       int64           `json:"refused,omitempty"`       // by the queue or topic, or by a limit
	Failures      []ImportFailure `json:"failures,omitempty"`      // the first 100 of unreadable and refused ones
	Full          *ImportFailure  `json:"full,omitempty"`          // where the quota would end the import
}

// An ImportFailure is a message that was refused, or a line that cannot be read.
type ImportFailure struct {
	Line   int64  `json:"line"` // of the request, from 1
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

func parseRemap(q url.Values) intake.Remap {
	return intake.Remap{TTL: cmp.Or(q.Get("ttl"), "keep"), Schedule: cmp.Or(q.Get("schedule"), "keep"), IDs: cmp.Or(q.Get("ids"), "keep")}
}

func importRoutes() []route {
	return []route{{
		method: "POST", path: "/import/{path}", id: "importMessages", needs: identity.Operator, group: groupMessages, summary: "Send the messages of an export, or see what would become of them",
		at: "copies", ask: "ttl=keep&ids=new", sends: `{"body":"hello","subject":"new","timeToLive":"1h"}`,
		about: "They are sent as they come, so that it may be of any size. What is refused is counted in failed, and the first hundred are told; a line that cannot be read ends the import, and the error says which it was and how many messages were sent before it. With dryRun nothing is sent, and the answer is an ImportForecast, of all lines.",
		query: []parameter{
			one("ttl", "keep lets their own time to live begin anew, remaining has them expire when they would have (what is past that is left out), drop leaves it to the entity.", intake.TTLs()...),
			one("schedule", "keep leaves the times of scheduled messages, shift moves them by as long as the export is old, drop sends them at once.", intake.Schedules()...),
			one("ids", "new gives them other MessageIds.", intake.IDs()...),
			one("unreadable", "stop ends the import at a line that cannot be read, skip counts it in failed and goes on.", "stop", "skip"),
			yes("dryRun", "Only say what would become of them."),
		},
		takes: lines{intake.Exported{}, intake.Part{}}, most: intake.LargestLine, gives: either{Imported{}, ImportForecast{}},
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
	if err := d.broker.Read(ctx, func(r broker.Reader) error { _, err := r.Sendable(p); return err }); err != nil {
		return err
	}
	leave, err := d.room.Take(ctx, -1, intake.LargestLine)
	if err != nil {
		return err
	}
	defer leave()
	lines := intake.NewReader(d.broker, d.room, c.Request().Body, job.Spot{}, parseRemap(query(c)))
	defer lines.Close()
	if query(c).Get("dryRun") == "true" {
		s, err := intake.Take(ctx, d.broker, lines, p)
		if err != nil {
			return err
		}
		return reply(c, http.StatusOK, presentSurvey(s))
	}
	in := importing{d: d, to: p, actor: client(c.Request()), lines: lines, skip: query(c).Get("unreadable") == "skip"}
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

func presentSurvey(s intake.Survey) ImportForecast {
	out := ImportForecast{
		Lines: s.Lines, Messages: s.Import, Bytes: s.Bytes, Duplicates: s.Duplicates, ExpireAtOnce: s.AtOnce, Scheduled: s.Scheduled, ScheduledPast: s.Late,
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

// importing is an import under way.
type importing struct {
	d     *door
	to    engine.Path
	actor string
	lines *intake.Reader
	skip  bool // lines that cannot be read
	wait  []broker.Outgoing
	at    []int64 // their lines
	size  int64   // bytes of wait
	done  Imported
}

// next takes one message in; io.EOF when there are no more.
func (in *importing) next(ctx context.Context) error {
	item, err := in.lines.Next(ctx)
	if err != nil {
		return in.unreadable(err)
	}
	if item.Over {
		in.done.Expired++
		return nil
	}
	if item.Parts > 0 {
		return in.large(ctx, item)
	}
	in.wait, in.at, in.size = append(in.wait, item.Message), append(in.at, item.Line), in.size+item.Size
	if len(in.wait) == intake.AtOnce || in.size >= intake.BytesAtOnce {
		return in.flush(ctx)
	}
	return nil
}

// unreadable is an error of the lines, or nil where that is only counted.
func (in *importing) unreadable(err error) error {
	bad, ok := errors.AsType[*intake.LineError](err)
	if !ok || !in.skip {
		return err
	}
	in.fail(bad.Line, bad.Err)
	return nil
}

func (in *importing) fail(line int64, err error) {
	if in.done.Failed++; len(in.done.Failures) < intake.MostFailures {
		in.done.Failures = append(in.done.Failures, importFailure(line, err))
	}
}

// large sends a message whose body is in the lines that follow.
func (in *importing) large(ctx context.Context, item intake.Item) error {
	if err := in.flush(ctx); err != nil { // what came before it goes before it
		return err
	}
	seqs, err := in.d.broker.Send(ctx, in.to, []broker.Outgoing{item.Message}, in.actor)
	if bad := in.lines.Rest(); bad != nil { // a refused one was not read to its end
		return in.unreadable(bad)
	}
	if err != nil && (ctx.Err() != nil || !job.RefusedAlone(err)) {
		return err
	}
	in.tally(item.Line, seqs, err)
	return nil
}

// flush sends what has been taken in, one by one if not together.
func (in *importing) flush(ctx context.Context) error {
	err := in.send(ctx, in.wait, in.at)
	in.wait, in.at, in.size = in.wait[:0], in.at[:0], 0
	return err
}

func (in *importing) send(ctx context.Context, out []broker.Outgoing, lines []int64) error {
	if len(out) == 0 {
		return nil
	}
	seqs, err := in.d.broker.Send(ctx, in.to, out, in.actor)
	switch {
	case err == nil:
	case ctx.Err() != nil, !job.RefusedAlone(err):
		return err
	case len(out) > 1:
		for i := range out {
			if err := in.send(ctx, out[i:i+1], lines[i:i+1]); err != nil {
				return err
			}
		}
		return nil
	}
	in.tally(lines[0], seqs, err)
	return nil
}

// tally counts what was sent together, or a message that was refused.
func (in *importing) tally(line int64, seqs []engine.Seq, err error) {
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

// partly says of an error at which line it was, and how many were sent before.
func (in *importing) partly(err error) error {
	line := in.lines.At().Line
	if bad, ok := errors.AsType[*intake.LineError](err); ok {
		line, err = bad.Line, bad.Err
	}
	p := problem(err)
	if p.Status == http.StatusInternalServerError {
		return err
	}
	return &engine.Refusal{Kind: err, Text: fmt.Sprintf("Line %d: %s %d messages before it were imported.", max(line, 1), p.Detail, in.done.Imported)}
}
