package api

import (
	"fmt"
	"math"
	"net/http"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/identity"
)

// Purge is what POST /purge takes.
type Purge struct {
	States []string `json:"states,omitempty"` // active, deferred, scheduled, dead-letter; of a dead-letter queue none
	Filter *string  `json:"filter,omitempty"` // SQL as in a rule: only messages of which it is true
	Count  *int64   `json:"count,omitempty"`  // how many the caller has seen in these states; with a filter, how many matched
	DryRun bool     `json:"dryRun,omitempty"` // only count: the answer is a Foreseen
}

// Purged is the answer of POST /purge.
type Purged struct {
	Removed int64 `json:"removed"`          // that are gone
	Skipped int64 `json:"skipped"`          // locked ones that would have gone
	Failed  int64 `json:"failed,omitempty"` // the filter could not be evaluated for them, so they stayed
	Spared  int64 `json:"spared,omitempty"` // the filter is not true of them
}

// Foreseen is the answer of POST /purge that only counts. What is given as count
// for the purge itself is matching and unseen together.
type Foreseen struct {
	Matching int64 `json:"matching"` // would go
	Skipped  int64 `json:"skipped"`
	Failed   int64 `json:"failed,omitempty"`
	Spared   int64 `json:"spared,omitempty"`
	Unseen   int64 `json:"unseen,omitempty"` // were not looked at: up to so many more match

	Sample []Message `json:"sample,omitempty"` // the first few that would go, without their bodies
}

// briefly presents messages without their bodies. Those that are gone by now are left
// out.
func (d *door) briefly(c echo.Context, keys []engine.Key) (out []Message, err error) {
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

// foreseenMost is how many messages a purge that only counts looks at.
const foreseenMost = 10_000

func purgeRoutes() []route {
	return []route{{
		method: "POST", path: "/purge/{path}", id: "purgeMessages", needs: identity.Operator, ruin: mayRuin, group: groupMessages, summary: "Remove messages by state and filter, or count them",
		at: "orders", sends: `{"states":["active","scheduled"],"filter":"price > 10","dryRun":true}`,
		about: "With a filter, SQL as in a rule, only messages go of which it is true. What the purge takes as count is the sum of matching and unseen that dryRun answered.",
		takes: Purge{}, gives: either{Purged{}, Foreseen{}}, fails: []string{"MessagingEntityNotFound", "InvalidOperation", "Changed"}, serve: (*door).purge,
	}}
}

// purge removes what is there now, by state and filter, or counts it (OPS-7).
func (d *door) purge(c echo.Context) error {
	p, err := d.path(c)
	if err != nil {
		return err
	}
	var in Purge
	if err := d.read(c, &in); err != nil {
		return err
	}
	if in.Count != nil && *in.Count < 0 {
		return outOfRange("The value for 'count' must not be negative.")
	}
	var only *engine.Sieve
	if in.Filter != nil {
		if only, err = engine.ParseSieve(*in.Filter, d.broker.Limits()); err != nil {
			return err
		}
	}
	parts, err := d.purgeParts(c, p, in)
	if err != nil {
		return err
	}
	if in.DryRun {
		f, err := d.foresee(c, parts, only, foreseenMost)
		if err != nil {
			return err
		}
		out := Foreseen{Matching: f.Matching, Skipped: f.Skipped, Failed: f.Failed, Spared: f.Spared, Unseen: f.Unseen}
		if out.Sample, err = d.briefly(c, f.First); err != nil {
			return err
		}
		return reply(c, http.StatusOK, out)
	}
	if err := d.spare(); err != nil {
		return err
	}
	if err := d.agree(c, parts, only, in.Count); err != nil {
		return err
	}
	var out Purged
	r := c.Request()
	for _, part := range parts {
		pg, err := d.broker.PurgeOnly(r.Context(), part.path, part.classes, only, part.agreed, client(r))
		out.Removed += pg.Removed
		out.Skipped += pg.Skipped
		out.Failed += pg.Failed
		out.Spared += pg.Spared
		if err != nil {
			return partly(err, out.Removed)
		}
	}
	return reply(c, http.StatusOK, out)
}

// foresee counts what a purge would do, looking at about so many messages.
func (d *door) foresee(c echo.Context, parts []purgePart, only *engine.Sieve, most int64) (all broker.Forecast, err error) {
	for _, part := range parts {
		f, err := d.broker.Foresee(c.Request().Context(), part.path, part.classes, only, most)
		if err != nil {
			return all, err
		}
		all = all.Plus(f)
		most = max(most-f.Matching-f.Skipped-f.Failed-f.Spared, 0)
	}
	return all, nil
}

// agree has the number that was agreed to checked: where everything lies in one
// place by the broker, as part of the purge; where in two here, against their
// sum, and neither is refused once the other is gone.
func (d *door) agree(c echo.Context, parts []purgePart, only *engine.Sieve, count *int64) error {
	if count == nil {
		return nil
	}
	agreed := broker.Agreed(*count)
	if len(parts) == 1 {
		parts[0].agreed = agreed
		return nil
	}
	total := int64(0)
	for _, part := range parts {
		total += part.count
	}
	if only != nil && agreed.Check(total) != nil {
		f, err := d.foresee(c, parts, only, math.MaxInt64)
		if err != nil {
			return err
		}
		total = f.Matching
	}
	return agreed.Check(total)
}

// partly says of an error how much was removed before it.
func partly(err error, removed int64) error {
	if removed == 0 {
		return err
	}
	return &engine.Refusal{Kind: err, Text: fmt.Sprintf("%d messages were removed, the rest is still there: %s", removed, err)}
}

// A purgePart is a purge of one place.
type purgePart struct {
	path    engine.Path
	classes []engine.Class
	count   int64 // of what it takes, locked dead letters included
	agreed  broker.Agreed
}

// everything is what a dead-letter queue may hold.
func everything() []engine.Class { return []engine.Class{engine.ClassActive, engine.ClassDeferred} }

// purgeParts says where what is to be removed lies: the dead letters of an
// entity have a place of their own.
func (d *door) purgeParts(c echo.Context, p engine.Path, in Purge) (parts []purgePart, err error) {
	s, err := d.state(c.Request().Context(), p)
	if err != nil {
		return nil, err
	}
	if s.Kind == engine.Topic && p.IsDeadLetter() && !p.IsTransfer() {
		return nil, &engine.Refusal{Kind: engine.ErrNotFound, Text: "A topic has no dead-letter queue."}
	}
	own := purgePart{path: p.Entity(), agreed: broker.Unasked}
	dead := purgePart{path: p.Entity().DeadLetter(), classes: everything(), count: s.Counts.DeadLetter, agreed: broker.Unasked}
	if p.IsTransfer() {
		dead.path, dead.count = p.Entity().Transfer(), s.Counts.TransferDeadLetter
	}
	if p.IsDeadLetter() {
		if len(in.States) > 0 {
			return nil, argument("A dead-letter queue is purged as a whole: leave 'states' out.")
		}
		parts = append(parts, dead)
	}
	seen := map[string]bool{}
	for _, state := range in.States {
		if seen[state] {
			return nil, argument("The state '%s' is given more than once.", cut(state))
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
				return nil, argument("A topic has no dead letters.")
			}
			parts = append(parts, dead)
		default:
			return nil, argument("The states are active, deferred, scheduled and dead-letter, not '%s'.", cut(state))
		}
	}
	if len(own.classes) > 0 {
		parts = append(parts, own)
	}
	if len(parts) == 0 {
		return nil, argument("Say which 'states' to remove: active, deferred, scheduled, dead-letter.")
	}
	return parts, nil
}
