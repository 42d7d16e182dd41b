package api

import (
	"math"
	"net/http"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/shorten"
	"mayfly/web/auth"
)

// Purge is the request of POST /purge.
type Purge struct {
	States        []string `json:"states,omitempty"`        // active, deferred, scheduled, dead-letter; none for a dead-letter queue
	Filter        *string  `json:"filter,omitempty"`        // SQL as in a rule: remove only messages for which it is true
	ExpectedCount *int64   `json:"expectedCount,omitempty"` // how many messages the caller has seen in these states; with a filter, how many matched
	DryRun        bool     `json:"dryRun,omitempty"`        // only count: the answer is a PurgePreview
}

// Purged is the answer of POST /purge.
type Purged struct {
	Removed     int64 `json:"removed"`               // messages removed
	Skipped     int64 `json:"skipped"`               // locked messages that would have been removed
	Failed      int64 `json:"failed,omitempty"`      // messages for which the filter failed, so they stayed
	NotMatching int64 `json:"notMatching,omitempty"` // messages for which the filter is not true
}

// PurgePreview is the answer of POST /purge that only counts. The purge itself takes the sum of
// matching and unexamined as expectedCount.
type PurgePreview struct {
	Matching    int64 `json:"matching"` // messages that would be removed
	Skipped     int64 `json:"skipped"`
	Failed      int64 `json:"failed,omitempty"`
	NotMatching int64 `json:"notMatching,omitempty"`
	Unexamined  int64 `json:"unexamined,omitempty"` // messages that were not examined, and may match too

	Sample []Message `json:"sample,omitempty"` // the first of these messages, without their bodies
}

// withoutBodies returns the messages with the given keys for an answer, without their bodies. It
// leaves out messages that no longer exist.
func (d *handler) withoutBodies(c echo.Context, keys []engine.Key) (out []Message, err error) {
	var rows []engine.Row
	err = d.broker.Read(c.Request().Context(), func(r broker.Reader) error {
		rows = rows[:0]
		for _, k := range keys {
			if row, err := r.Message(k); err == nil {
				rows = append(rows, row)
			}
		}
		return nil
	})
	for _, row := range rows {
		m, err := presentRow(row)
		if err != nil {
			return nil, err
		}
		m.BodyOmitted = true
		out = append(out, m)
	}
	return out, err
}

// maxPurgePreview is how many messages a purge that only counts examines.
const maxPurgePreview = 10_000

func purgeRoutes() []route {
	return []route{{
		method: "POST", path: "/purge/{path}", id: "purgeMessages", role: auth.Operator, destruction: mayDestroy, group: groupMessages, summary: "Remove messages by state and filter, or count them",
		exampleParam: "orders", exampleBody: `{"states":["active","scheduled"],"filter":"price > 10","dryRun":true}`,
		description: "A filter, in SQL as in a rule, restricts the purge to messages for which it is true. Give the sum of matching and unexamined of a dryRun as expectedCount of the purge.",
		request:     Purge{}, response: oneOf{Purged{}, PurgePreview{}}, problems: []string{"MessagingEntityNotFound", "InvalidOperation", "Changed"}, handle: (*handler).purge,
	}}
}

// purge removes messages by state and filter, or counts them (OPS-7).
func (d *handler) purge(c echo.Context) error {
	p, err := d.path(c)
	if err != nil {
		return err
	}
	var in Purge
	if err := d.read(c, &in); err != nil {
		return err
	}
	if in.ExpectedCount != nil && *in.ExpectedCount < 0 {
		return engine.Refuse(engine.ErrOutOfRange, "The value for 'expectedCount' must not be negative.")
	}
	var only *engine.MessageFilter
	if in.Filter != nil {
		if only, err = engine.ParseMessageFilter(*in.Filter, d.broker.Limits()); err != nil {
			return err
		}
	}
	parts, err := d.purgeParts(c, p, in)
	if err != nil {
		return err
	}
	if in.DryRun {
		f, err := d.previewPurge(c, parts, only, maxPurgePreview)
		if err != nil {
			return err
		}
		out := PurgePreview{Matching: f.Matching, Skipped: f.Skipped, Failed: f.Failed, NotMatching: f.Unmatched, Unexamined: f.Unexamined}
		if out.Sample, err = d.withoutBodies(c, f.First); err != nil {
			return err
		}
		return reply(c, http.StatusOK, out)
	}
	if err := d.refuseInSafeMode(); err != nil {
		return err
	}
	if err := d.confirmCount(c, parts, only, in.ExpectedCount); err != nil {
		return err
	}
	var out Purged
	r := c.Request()
	for _, part := range parts {
		pg, err := d.broker.PurgeMatching(r.Context(), part.path, part.classes, only, part.agreed, client(r))
		out.Removed += pg.Removed
		out.Skipped += pg.Skipped
		out.Failed += pg.Failed
		out.NotMatching += pg.Unmatched
		if err != nil {
			return afterPurging(err, out.Removed)
		}
	}
	return reply(c, http.StatusOK, out)
}

// previewPurge counts what a purge would do. It examines about `most` messages over all parts.
func (d *handler) previewPurge(c echo.Context, parts []purgePart, only *engine.MessageFilter, most int64) (all broker.PurgePreview, err error) {
	for _, part := range parts {
		f, err := d.broker.PreviewPurge(c.Request().Context(), part.path, part.classes, only, most)
		if err != nil {
			return all, err
		}
		all = all.Plus(f)
		most = max(most-f.Matching-f.Skipped-f.Failed-f.Unmatched, 0)
	}
	return all, nil
}

// confirmCount checks the number of messages that the caller has confirmed; nil means that it was not
// given. For one subqueue it leaves the check to the broker, as part of the purge. For two subqueues it
// checks the sum before either is purged.
func (d *handler) confirmCount(c echo.Context, parts []purgePart, only *engine.MessageFilter, count *int64) error {
	if count == nil {
		return nil
	}
	agreed := broker.ConfirmedCount(*count)
	if len(parts) == 1 {
		parts[0].agreed = agreed
		return nil
	}
	total := int64(0)
	for _, part := range parts {
		total += part.count
	}
	if only != nil && agreed.Check(total) != nil {
		f, err := d.previewPurge(c, parts, only, math.MaxInt64)
		if err != nil {
			return err
		}
		total = f.Matching
	}
	return agreed.Check(total)
}

// afterPurging returns err with the number of messages that were removed before it, if there are any.
func afterPurging(err error, removed int64) error {
	if removed == 0 {
		return err
	}
	return engine.Refuse(err, "The purge stopped after removing %d messages: %s", removed, err)
}

// A purgePart is a purge of one subqueue.
type purgePart struct {
	path    engine.Path
	classes []engine.Class
	count   int64 // messages that it removes, including locked dead letters
	agreed  broker.ConfirmedCount
}

// deadLetterClasses are the classes of messages in a dead-letter queue.
var deadLetterClasses = []engine.Class{
	engine.ClassActive, engine.ClassDeferred,
}

// purgeParts returns the purges that a request asks for, one for each subqueue. Dead letters are in a
// subqueue of their own.
func (d *handler) purgeParts(c echo.Context, p engine.Path, in Purge) (parts []purgePart, err error) {
	s, err := d.state(c.Request().Context(), p)
	if err != nil {
		return nil, err
	}
	if s.Kind == engine.Topic && p.IsDeadLetter() && !p.IsTransfer() {
		return nil, engine.Refuse(engine.ErrNotFound, "A topic has no dead-letter queue.")
	}
	own := purgePart{path: p.Entity(), agreed: broker.Unconfirmed}
	dead := purgePart{path: p.Entity().DeadLetter(), classes: deadLetterClasses, count: s.Counts.DeadLetter, agreed: broker.Unconfirmed}
	if p.IsTransfer() {
		dead.path, dead.count = p.Entity().Transfer(), s.Counts.TransferDeadLetter
	}
	if p.IsDeadLetter() {
		if len(in.States) > 0 {
			return nil, engine.Refuse(engine.ErrArgument, "A dead-letter queue has no states. Leave out 'states'.")
		}
		parts = append(parts, dead)
	}
	seen := map[string]bool{}
	for _, state := range in.States {
		if seen[state] {
			return nil, engine.Refuse(engine.ErrArgument, "The state '%s' is given more than once.", shorten.Quote(state))
		}
		seen[state] = true
		switch state {
		case "active":
			own.classes, own.count = append(own.classes, engine.ClassActive), own.count+s.Counts.Active
		case "deferred":
			own.classes, own.count = append(own.classes, engine.ClassDeferred), own.count+s.Counts.Deferred
		case "scheduled":
			own.classes, own.count = append(own.classes, engine.ClassScheduled), own.count+s.Counts.Scheduled
		case "dead-letter":
			if s.Kind == engine.Topic {
				return nil, engine.Refuse(engine.ErrArgument, "A topic has no dead letters.")
			}
			parts = append(parts, dead)
		default:
			return nil, engine.Refuse(engine.ErrArgument, "The state must be active, deferred, scheduled or dead-letter, not '%s'.", shorten.Quote(state))
		}
	}
	if len(own.classes) > 0 {
		parts = append(parts, own)
	}
	if len(parts) == 0 {
		return nil, engine.Refuse(engine.ErrArgument, "'states' is missing: list active, deferred, scheduled or dead-letter.")
	}
	return parts, nil
}
