package api

import (
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// Purge is what POST /purge takes.
type Purge struct {
	States []string `json:"states"`          // active, deferred, scheduled, dead-letter; of a dead-letter queue none
	Count  *int64   `json:"count,omitempty"` // how many the caller has seen in these states
}

// Purged is the answer of POST /purge.
type Purged struct {
	Removed int64 `json:"removed"`
	Skipped int64 `json:"skipped"` // locked ones
}

// purge removes what is there now, by state.
func (d *door) purge(c echo.Context) error {
	p, err := d.path(c)
	if err != nil {
		return err
	}
	var in Purge
	if err := d.read(c, &in); err != nil {
		return err
	}
	parts, err := d.purgeParts(c, p, in)
	if err != nil {
		return err
	}
	var out Purged
	r := c.Request()
	for _, part := range parts {
		pg, err := d.broker.Purge(r.Context(), part.path, part.classes, part.agreed, client(r))
		out.Removed += pg.Removed
		out.Skipped += pg.Skipped
		if err != nil {
			return partly(err, out.Removed)
		}
	}
	return c.JSON(http.StatusOK, out)
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
// entity have a place of their own. Where there are two, the number agreed to is
// for both: it is checked here against their sum, and neither is refused once
// the other is gone.
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
	if in.Count == nil {
		return parts, nil
	}
	agreed := broker.Agreed(*in.Count)
	if agreed < 0 {
		return nil, outOfRange("The value for 'count' must not be negative.")
	}
	if len(parts) == 1 {
		parts[0].agreed = agreed
		return parts, nil
	}
	total := int64(0)
	for _, part := range parts {
		total += part.count
	}
	return parts, agreed.Check(total)
}
