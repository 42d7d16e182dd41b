package entity

import (
	"context"
	"slices"

	"mayfly/engine"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page/overview"
	"mayfly/web/dashboard/pages"
	"mayfly/web/dashboard/recent"
)

// IdleClock returns the clock until an entity is deleted automatically.
func IdleClock(e engine.EntityState, now engine.Instant) component.Clock {
	c := component.Clock{Of: max(e.Config.Effective().AutoDeleteOnIdle, e.UnpinnedIdle), Now: now.Time()}
	if c.Of != 0 && recent.IdleState(e) == component.IdleRunning {
		c.At = e.DeletesAt.Time()
	}
	return c
}

// TemporaryEntity returns an entity with automatic deletion as the page shows it.
func TemporaryEntity(ctx context.Context, p *pages.Pages, e engine.EntityState, now engine.Instant) overview.TemporaryEntity {
	s := overview.TemporaryEntity{
		Key: e.Path.Fold(), Name: pages.DisplayPath(e.Path), Href: p.EntityURL(e.Kind, e.Path), Kind: pages.KindName(ctx, e.Kind),
		Messages: int(e.Counts.MessageCount()), State: recent.IdleState(e), Clock: IdleClock(e, now),
		Why: idleReasons(ctx, e),
	}
	uses := e.Uses
	if l, began := p.Events.UseHistory(e.ID); len(l) > 0 && len(uses) < recent.MaxUses {
		s.UsesCompleteFrom = began.Time()
		uses = slices.Concat(uses, l[:min(len(l), recent.MaxUses-len(uses))])
	}
	for _, u := range slices.Backward(uses) {
		s.Uses = append(s.Uses, component.Use{At: u.At.Time(), Dated: !pages.SameDay(u.At, now), What: useText(ctx, u), ResetsClock: u.Counted})
	}
	if i := slices.IndexFunc(uses, func(u engine.Use) bool { return u.Counted }); i >= 0 {
		s.Reset, s.By = uses[i].At.Time(), useText(ctx, uses[i])
	}
	return s
}

// idleReasons explains why an entity is not deleted automatically at present. It returns none if
// the entity may be deleted.
func idleReasons(ctx context.Context, e engine.EntityState) []component.Text {
	idle := component.Length(ctx, max(e.Config.Effective().AutoDeleteOnIdle, e.UnpinnedIdle))
	switch {
	case e.UnpinnedIdle != 0:
		return []component.Text{pages.PlainText(locale.T(ctx, "idle.pinned", locale.Args{"Was": idle}))}
	case e.Config.Effective().AutoDeleteOnIdle == 0:
		return nil
	case e.Counts.Scheduled > 0: // IDLE-9
		return []component.Text{pages.PlainText(locale.N(ctx, "idle.scheduled", int(e.Counts.Scheduled), locale.Args{"Idle": idle}))}
	case e.KeptAlive && e.Kind == engine.Topic: // IDLE-3
		return []component.Text{pages.PlainText(locale.T(ctx, "idle.received.topic"))}
	case e.KeptAlive: // IDLE-8
		return []component.Text{pages.PlainText(locale.N(ctx, "idle.received", max(1, e.Receivers)))}
	default:
		return nil
	}
}

// useText describes an activity in the use history and its actor.
func useText(ctx context.Context, u engine.Use) string {
	what := activityName(ctx, u.What)
	if by := pages.ActorName(ctx, u.By); by != "" {
		return what + " · " + by
	}
	return what
}

// activityName returns the name of an activity in the viewer's language, or the engine's name if
// there is no translation.
func activityName(ctx context.Context, what string) string {
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
