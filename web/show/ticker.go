package show

import (
	"context"
	"strconv"

	"mayfly/engine"
	"mayfly/views/component"
	"mayfly/views/locale"
)

// A look is how an event is drawn and what it says. The words have {{.N}} for
// how many, {{.Name}} for what the one message is called, and whatever of
// {{.To}}, {{.By}}, {{.Reason}} and {{.Tries}} they need.
type eventLook struct {
	icon string
	tone component.Tone
	says string // id of a text with plural forms
}

var eventLooks = map[engine.EventKind]eventLook{
	engine.EventSent:         {"send", component.Plenty, "event.sent"},
	engine.EventScheduled:    {"scheduled", component.Plenty, "event.scheduled"},
	engine.EventActivated:    {"scheduled", component.Plenty, "event.activated"},
	engine.EventCancelled:    {"trash", component.Lost, "event.cancelled"},
	engine.EventLocked:       {"locked", component.Lock, "event.locked"},
	engine.EventRenewed:      {"locked", component.Lock, "event.renewed"},
	engine.EventLockLost:     {"locked", component.Lock, "event.locklost"},
	engine.EventAbandoned:    {"locked", component.Low, "event.abandoned"},
	engine.EventReleased:     {"locked", component.Plenty, "event.released"},
	engine.EventDeferred:     {"deferred", component.Plenty, "event.deferred"},
	engine.EventReturned:     {"deferred", component.Plenty, "event.returned"},
	engine.EventCompleted:    {"check", component.Plenty, "event.completed"},
	engine.EventReceived:     {"export", component.Plenty, "event.received"},
	engine.EventDeadLettered: {"dead", component.Dead, "event.dead"},
	engine.EventExpired:      {"lost", component.Lost, "event.expired"},
	engine.EventDeleted:      {"trash", component.Lost, "event.deleted"},
	engine.EventMoved:        {"resubmit", component.Plenty, "event.moved"},
	engine.EventExtended:     {"clock", component.Plenty, "event.extended"},

	engine.EventEntityCreated:     {"plus", component.Plenty, "event.entity.created"},
	engine.EventEntityUpdated:     {"settings", component.Plenty, "event.entity.updated"},
	engine.EventEntityDeleted:     {"trash", component.Lost, "event.entity.deleted"},
	engine.EventEntityAutoDeleted: {"tomb", component.Lost, "event.entity.idle"},
	engine.EventRuleAdded:         {"plus", component.Plenty, "event.rule.added"},
	engine.EventRuleRemoved:       {"trash", component.Plenty, "event.rule.removed"},
	engine.EventPurged:            {"trash", component.Lost, "event.purged"},
}

// lookOf is how a trace is drawn.
func lookOf(t trace) eventLook {
	l := eventLooks[t.kind]
	if t.kind == engine.EventDeadLettered && t.reason == engine.ReasonExpired {
		l.icon, l.says = "expired", "event.ranout"
	}
	return l
}

// tickerLine is an event, or several alike, as a line of the ticker.
func (p *Pages) tickerLine(ctx context.Context, l line) component.Event {
	how := lookOf(l.trace)
	n := l.alike
	if l.count > 0 || l.key == 0 {
		n = int(l.count)
	}
	e := component.Event{
		Key: strconv.FormatUint(l.n, 10), At: l.at.Time(), Icon: how.icon, Tone: how.tone,
		Entity: Shown(l.path.Entity()), Href: p.EntityURL(l.of, l.path),
	}
	switch l.kind {
	case engine.EventEntityDeleted, engine.EventEntityAutoDeleted:
		e.Href = ""
	}
	if l.kind == engine.EventEntityDeleted && n == 0 {
		how.says = "event.entity.deleted.empty"
	} else if l.kind == engine.EventEntityAutoDeleted && n == 0 {
		how.says = "event.entity.idle.empty"
	}
	e.Says = []component.Text{say(locale.N(ctx, how.says, n, traceArgs(ctx, l.trace)))}
	return e
}

// traceArgs are what the words of events can use.
func traceArgs(ctx context.Context, t trace) locale.Args {
	reason := t.reason
	if reason == "" {
		reason = locale.T(ctx, "event.noreason")
	}
	return locale.Args{
		"Name": t.name, "To": Shown(t.to), "By": hand(ctx, t.actor), "Reason": cut(reason, 120),
		"Tries": locale.Number(ctx, int(t.tries)), "Seq": locale.Number(ctx, int(t.seq)),
	}
}
