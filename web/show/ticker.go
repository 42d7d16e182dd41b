package show

import (
	"context"
	"strings"

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

	engine.EventTouched: {"clock", component.Plenty, "event.touched"},
	engine.EventCopied:  {"resubmit", component.Plenty, "event.copied"},

	engine.EventRuleReplaced:   {"settings", component.Plenty, "event.rule.replaced"},
	engine.EventForwarded:      {"send", component.Plenty, "event.forwarded"},
	engine.EventDuplicate:      {"lost", component.Low, "event.duplicate"},
	engine.EventUnmatched:      {"lost", component.Low, "event.unmatched"},
	engine.EventSessionTaken:   {"locked", component.Lock, "event.session.taken"},
	engine.EventSessionClosed:  {"locked", component.Plenty, "event.session.closed"},
	engine.EventSessionLost:    {"locked", component.Low, "event.session.lost"},
	engine.EventSessionRenewed: {"locked", component.Lock, "event.session.renewed"},
	engine.EventSessionState:   {"settings", component.Plenty, "event.session.state"},
	engine.EventTransferFailed: {"dead", component.Dead, "event.transfer.failed"},
	engine.EventStarted:        {"check", component.Plenty, "event.started"},
	engine.EventStopped:        {"lost", component.Low, "event.stopped"},
	engine.EventReadOnly:       {"locked", component.Lost, "event.readonly"},
	engine.EventWritable:       {"check", component.Plenty, "event.writable"},
	engine.EventReopened:       {"resubmit", component.Low, "event.reopened"},
	engine.EventGap:            {"warn", component.Low, "event.gap"},
	engine.EventDisconnected:   {"plug", component.Low, "event.disconnected"},
	engine.EventAccessChanged:  {"settings", component.Plenty, "event.access"},

	engine.EventSettingsChanged:  {"settings", component.Plenty, "event.settings"},
	engine.EventNamespaceCreated: {"check", component.Plenty, "event.namespace.created"},
	engine.EventNamespaceRemoved: {"lost", component.Low, "event.namespace.removed"},
	engine.EventNamespaceChanged: {"settings", component.Plenty, "event.namespace.changed"},
	engine.EventClockTurned:      {"clock", component.Low, "event.clock.turned"},
	engine.EventScenePlayed:      {"scenes", component.Plenty, "event.scene.played"},
	engine.EventSceneAdded:       {"scenes", component.Plenty, "event.scene.added"},
	engine.EventSceneRemoved:     {"trash", component.Plenty, "event.scene.removed"},

	engine.EventSignedIn:     {"person", component.Plenty, "event.signin"},
	engine.EventSignInFailed: {"warn", component.Low, "event.signin.failed"},
	engine.EventSignedOut:    {"person", component.Plenty, "event.signout"},
	engine.EventSignInsEnded: {"person", component.Low, "event.signins.ended"},
	engine.EventTokenMade:    {"key", component.Plenty, "event.token.made"},
	engine.EventTokenRevoked: {"key", component.Low, "event.token.revoked"},
	engine.EventLinkMade:     {"key", component.Plenty, "event.link.made"},
	engine.EventLinkRevoked:  {"key", component.Low, "event.link.revoked"},
}

// ofSession says whether events of a kind are of a session: what is done to one,
// and when nobody holds it any more.
func ofSession(k engine.EventKind) bool {
	switch k {
	case engine.EventSessionTaken, engine.EventSessionRenewed, engine.EventSessionClosed, engine.EventSessionLost, engine.EventSessionState:
		return true
	default:
		return false
	}
}

// lookOf is how a trace is drawn.
func lookOf(t trace) eventLook {
	l, ok := eventLooks[t.kind]
	switch {
	case !ok:
		l = eventLook{"info", component.Lost, ""}
	case t.kind == engine.EventDeadLettered && t.reason == engine.ReasonExpired:
		l.icon, l.says = "expired", "event.ranout"
	case t.kind == engine.EventLockLost && t.audit:
		l.says = "event.lockbroken"
	case t.kind == engine.EventSessionLost && t.audit:
		l.says = "event.session.broken"
	case t.kind == engine.EventSessionState && t.reason == "cleared":
		l.says = "event.session.cleared"
	case t.kind == engine.EventActivated && t.audit:
		l.says = "event.sentnow"
	case t.kind == engine.EventScheduled && t.audit:
		l.says = "event.rescheduled"
	case t.kind == engine.EventDeleted && t.reason == engine.TakenBack:
		l.says = "event.withdrawn"
	case t.kind == engine.EventReturned && t.reason == engine.TakenBack:
		l.icon, l.says = "restore", "event.putback"
	case t.kind == engine.EventPurged && t.reason != "":
		l.says = "event.purged.where"
	case t.kind == engine.EventSignInFailed && t.reason == "":
		l.says = "event.signin.unknown"
	case t.kind == engine.EventEntityUpdated && t.reason == "pin":
		l.icon, l.says = "pin", "event.pinned"
	case t.kind == engine.EventEntityUpdated && t.reason == "unpin":
		l.says = "event.unpinned"
	case t.kind == engine.EventEntityUpdated && t.reason != "":
		l.says = "event.entity.updated.what"
	}
	return l
}

// wordsOf is how a line is drawn, and how many its words are about.
func wordsOf(l line) (how eventLook, n int) {
	how, n = lookOf(l.trace), l.alike
	if l.count > 0 || l.key == 0 && !ofSession(l.kind) {
		n = int(l.count)
	}
	switch {
	case l.kind == engine.EventEntityDeleted && n == 0:
		how.says = "event.entity.deleted.empty"
	case l.kind == engine.EventEntityAutoDeleted && n == 0:
		how.says = "event.entity.idle.empty"
	}
	return how, n
}

// tickerLine is an event, or several alike, as a line of the ticker.
func (p *Pages) tickerLine(ctx context.Context, l line) component.Event {
	how, n := wordsOf(l)
	l.trace = p.inWords(ctx, l.trace)
	e := component.Event{Key: l.id(), At: l.at.Time(), Icon: how.icon, Tone: how.tone}
	if l.path != "" {
		e.Entity, e.Href = Shown(l.path.Entity()), p.EntityURL(l.of, l.path)
	}
	switch l.kind {
	case engine.EventEntityDeleted, engine.EventEntityAutoDeleted:
		e.Href = ""
	}
	e.Says = sentence(ctx, how, n, l.trace, "")
	return e
}

// sentence is the words for an event, with the name of its one message leading
// to an address, if there is one, and what the server says in its own words apart.
func sentence(ctx context.Context, how eventLook, n int, t trace, href string) []component.Text {
	if how.says == "" { // of a kind that a later version made
		return []component.Text{say(t.kind.String())}
	}
	args := traceArgs(ctx, t)
	const place = "\x00"
	var apart component.Text
	switch {
	case n == 1 && t.key != 0 && href != "":
		apart, args["Name"] = component.Text{S: t.called(ctx), Href: href}, place
	case t.english():
		apart, args["Reason"] = component.Said(cut(t.reason, 120)), place
	}
	before, after, ok := strings.Cut(locale.N(ctx, how.says, n, args), place)
	if !ok {
		return []component.Text{say(before)}
	}
	return []component.Text{say(before), apart, say(after)}
}

// english tells whether the reason is the server's own words, and not a name.
func (t trace) english() bool {
	switch t.kind {
	case engine.EventReadOnly, engine.EventReopened, engine.EventSettingsChanged, engine.EventAccessChanged:
		return t.reason != "" && !t.worded
	default:
		return false
	}
}

// traceArgs are what the words of events can use.
func traceArgs(ctx context.Context, t trace) locale.Args {
	reason := t.reason
	if reason == "" {
		reason = locale.T(ctx, "event.noreason")
	}
	return locale.Args{
		"Name": t.called(ctx), "To": Shown(t.to), "By": hand(ctx, t.actor), "Reason": cut(reason, 120),
		"Tries": locale.Number(ctx, int(t.tries)), "Seq": locale.Number(ctx, int(t.seq)),
	}
}
