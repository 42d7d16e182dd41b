package show

import (
	"context"
	"slices"

	"mayfly/engine"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
)

// glass is how an entity's hourglass stands.
func glass(e engine.EntityState) component.GlassState {
	switch {
	case e.Unpinned != 0:
		return component.Pinned
	case e.Config.InForce().AutoDeleteOnIdle != 0 && e.Held:
		return component.Held
	default:
		return component.Running
	}
}

// idleClock is the time until an entity deletes itself.
func idleClock(e engine.EntityState, now engine.Instant) component.Clock {
	c := component.Clock{Of: max(e.Config.InForce().AutoDeleteOnIdle, e.Unpinned), Now: now.Time()}
	if c.Of != 0 && glass(e) == component.Running {
		c.At = e.DeletesAt.Time()
	}
	return c
}

// sitter is an entity that deletes itself when nobody uses it.
func (p *Pages) sitter(ctx context.Context, e engine.EntityState, now engine.Instant) page.Sitter {
	s := page.Sitter{
		Key: e.Path.Fold(), Name: Shown(e.Path), Href: p.EntityURL(e.Kind, e.Path), Kind: KindWord(ctx, e.Kind),
		Messages: int(e.Counts.MessageCount()), State: glass(e), Clock: idleClock(e, now),
		Why: p.whyHeld(ctx, e),
	}
	uses := e.Uses
	if l, began := p.recent.ledger(e.ID); len(l) > 0 && len(uses) < ledgerUses {
		s.Began = began.Time()
		uses = slices.Concat(uses, l[:min(len(l), ledgerUses-len(uses))])
	}
	for _, u := range slices.Backward(uses) {
		s.Activities = append(s.Activities, component.Activity{At: u.At.Time(), Dated: !sameDay(u.At, now), What: useWord(ctx, u), Counted: u.Counted})
	}
	if i := slices.IndexFunc(uses, func(u engine.Use) bool { return u.Counted }); i >= 0 {
		s.Reset, s.By = uses[i].At.Time(), useWord(ctx, uses[i])
	}
	return s
}

// whyHeld says why an entity does not delete itself; nothing if it does.
func (p *Pages) whyHeld(ctx context.Context, e engine.EntityState) []component.Text {
	idle := component.Length(ctx, max(e.Config.InForce().AutoDeleteOnIdle, e.Unpinned))
	switch {
	case e.Unpinned != 0:
		return []component.Text{say(locale.T(ctx, "idle.pinned", locale.Args{"Was": idle}))}
	case e.Config.InForce().AutoDeleteOnIdle == 0:
		return nil
	case e.Counts.Scheduled > 0: // IDLE-9
		return []component.Text{say(locale.N(ctx, "idle.scheduled", int(e.Counts.Scheduled), locale.Args{"Idle": idle}))}
	case e.Held && e.Kind == engine.Topic: // IDLE-3
		return []component.Text{say(locale.T(ctx, "idle.received.topic"))}
	case e.Held: // IDLE-8
		return []component.Text{say(locale.N(ctx, "idle.received", max(1, e.Receivers)))}
	default:
		return nil
	}
}

// useWord says what a line of the ledger was and who did it.
func useWord(ctx context.Context, u engine.Use) string {
	what := deedWord(ctx, u.What)
	if by := hand(ctx, u.By); by != "" {
		return what + " · " + by
	}
	return what
}

// deedWord is an activity in the reader's language; one that is new to the
// catalogue stays as the engine calls it.
func deedWord(ctx context.Context, what string) string {
	id, ok := map[string]string{
		"create": "use.create", "update": "use.update", "delete subscription": "use.delete.subscription",
		"add rule": "use.rule.add", "remove rule": "use.rule.remove",
		"send": "use.send", "receive": "use.receive", "peek": "use.peek", "fetch": "use.fetch", "activate": "use.activate",
		"complete": "use.complete", "abandon": "use.abandon", "defer": "use.defer", "dead-letter": "use.dead", "release": "use.release",
		"renew": "use.renew", "cancel": "use.cancel", "batch delete": "use.delete", "delete": "use.delete", "purge": "use.purge",
		"resubmit": "use.resubmit", "extend": "use.extend", "return": "use.return", "break lock": "use.break",
		"send now": "use.sendnow", "reschedule": "use.reschedule", "touch": "use.touch", "pin": "use.pin", "unpin": "use.unpin",
		"session state": "use.session.state", "list sessions": "use.sessions",
		"view": "use.view",
	}[what]
	if !ok {
		return what
	}
	return locale.T(ctx, id)
}
