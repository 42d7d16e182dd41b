package show

import (
	"context"
	"strings"

	"mayfly/engine"
	"mayfly/engine/shorten"
	"mayfly/views/component"
	"mayfly/views/locale"
)

// An eventStyle is how an event is drawn and described. Its text can use {{.N}} for the number,
// {{.Name}} for the name of a single message, and {{.To}}, {{.By}}, {{.Reason}} and
// {{.Tries}}.
type eventStyle struct {
	icon   string
	tone   component.Tone
	textID string // text id, with plural forms
}

var eventStyles = map[engine.EventKind]eventStyle{
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
	engine.EventSessionLocked:  {"locked", component.Lock, "event.session.taken"},
	engine.EventSessionClosed:  {"locked", component.Plenty, "event.session.closed"},
	engine.EventSessionLost:    {"locked", component.Low, "event.session.lost"},
	engine.EventSessionRenewed: {"locked", component.Lock, "event.session.renewed"},
	engine.EventSessionState:   {"settings", component.Plenty, "event.session.state"},
	engine.EventTransferFailed: {"dead", component.Dead, "event.transfer.failed"},
	engine.EventStarted:        {"check", component.Plenty, "event.started"},
	engine.EventStopped:        {"lost", component.Low, "event.stopped"},
	engine.EventReadOnly:       {"locked", component.Lost, "event.readonly"},
	engine.EventWritable:       {"check", component.Plenty, "event.writable"},
	engine.EventMemoryFull:     {"locked", component.Lost, "event.memory.full"},
	engine.EventMemoryFree:     {"check", component.Plenty, "event.memory.free"},
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

	engine.EventSignedIn:        {"person", component.Plenty, "event.signin"},
	engine.EventSignInFailed:    {"warn", component.Low, "event.signin.failed"},
	engine.EventSignedOut:       {"person", component.Plenty, "event.signout"},
	engine.EventSignInsEnded:    {"person", component.Low, "event.signins.ended"},
	engine.EventTokenCreated:    {"key", component.Plenty, "event.token.made"},
	engine.EventTokenRevoked:    {"key", component.Low, "event.token.revoked"},
	engine.EventReadLinkCreated: {"key", component.Plenty, "event.link.made"},
	engine.EventReadLinkRevoked: {"key", component.Low, "event.link.revoked"},
}

// ofSession reports whether events of a kind are about a session: operations on it, and the
// loss of its lock.
func ofSession(k engine.EventKind) bool {
	switch k {
	case engine.EventSessionLocked, engine.EventSessionRenewed, engine.EventSessionClosed, engine.EventSessionLost, engine.EventSessionState:
		return true
	default:
		return false
	}
}

// styleOf returns how a trace is drawn.
func styleOf(t eventRecord) eventStyle {
	l, ok := eventStyles[t.kind]
	switch {
	case !ok:
		l = eventStyle{"info", component.Lost, ""}
	case t.kind == engine.EventDeadLettered && t.reason == engine.ReasonExpired:
		l.icon, l.textID = "expired", "event.ranout"
	case t.kind == engine.EventLockLost && t.audit:
		l.textID = "event.lockbroken"
	case t.kind == engine.EventSessionLost && t.audit:
		l.textID = "event.session.broken"
	case t.kind == engine.EventSessionState && t.reason == "cleared":
		l.textID = "event.session.cleared"
	case t.kind == engine.EventActivated && t.audit:
		l.textID = "event.sentnow"
	case t.kind == engine.EventScheduled && t.audit:
		l.textID = "event.rescheduled"
	case t.kind == engine.EventDeleted && t.reason == engine.ReasonReplaceUndone:
		l.textID = "event.withdrawn"
	case t.kind == engine.EventReturned && t.reason == engine.ReasonReplaceUndone:
		l.icon, l.textID = "restore", "event.putback"
	case t.kind == engine.EventPurged && t.reason != "":
		l.textID = "event.purged.where"
	case t.kind == engine.EventSignInFailed && t.reason == "":
		l.textID = "event.signin.unknown"
	case t.kind == engine.EventEntityUpdated && t.reason == "pin":
		l.icon, l.textID = "pin", "event.pinned"
	case t.kind == engine.EventEntityUpdated && t.reason == "unpin":
		l.textID = "event.unpinned"
	case t.kind == engine.EventEntityUpdated && t.reason != "":
		l.textID = "event.entity.updated.what"
	}
	return l
}

// entryStyle returns how a line is drawn, and the number that its text is about.
func entryStyle(l tickerEntry) (how eventStyle, n int) {
	how, n = styleOf(l.eventRecord), l.similar
	if l.count > 0 || l.key == 0 && !ofSession(l.kind) {
		n = int(l.count)
	}
	switch {
	case l.kind == engine.EventEntityDeleted && n == 0:
		how.textID = "event.entity.deleted.empty"
	case l.kind == engine.EventEntityAutoDeleted && n == 0:
		how.textID = "event.entity.idle.empty"
	}
	return how, n
}

// tickerEvent returns an event, or several similar ones, as a line of the ticker.
func (p *Pages) tickerEvent(ctx context.Context, l tickerEntry) component.Event {
	how, n := entryStyle(l)
	l.eventRecord = p.translateReason(ctx, l.eventRecord)
	e := component.Event{Key: l.id(), At: l.at.Time(), Icon: how.icon, Tone: how.tone}
	if l.path != "" {
		e.Entity, e.Href = DisplayPath(l.path.Entity()), p.EntityURL(l.entityKind, l.path)
	}
	switch l.kind {
	case engine.EventEntityDeleted, engine.EventEntityAutoDeleted:
		e.Href = ""
	}
	e.Says = sentence(ctx, how, n, l.eventRecord, "")
	return e
}

// sentence returns the text of an event. The name of its single message is a link to href, if
// there is one, and the server's own English words are a separate piece.
func sentence(ctx context.Context, how eventStyle, n int, t eventRecord, href string) []component.Text {
	if how.textID == "" { // of a kind added by a later version
		return []component.Text{plainText(t.kind.String())}
	}
	args := eventArgs(ctx, t)
	const place = "\x00"
	var apart component.Text
	switch {
	case n == 1 && t.key != 0 && href != "":
		apart, args["Name"] = component.Text{S: t.displayName(ctx), Href: href}, place
	case t.english():
		apart, args["Reason"] = component.ServerText(shorten.To(t.reason, 120)), place
	}
	before, after, ok := strings.Cut(locale.N(ctx, how.textID, n, args), place)
	if !ok {
		return []component.Text{plainText(before)}
	}
	return []component.Text{plainText(before), apart, plainText(after)}
}

// english reports whether the reason is in the server's own words rather than a name.
func (t eventRecord) english() bool {
	switch t.kind {
	case engine.EventReadOnly, engine.EventReopened, engine.EventSettingsChanged, engine.EventAccessChanged:
		return t.reason != "" && !t.translated
	default:
		return false
	}
}

// eventArgs returns the arguments for the texts of events.
func eventArgs(ctx context.Context, t eventRecord) locale.Args {
	reason := t.reason
	if reason == "" {
		reason = locale.T(ctx, "event.noreason")
	}
	return locale.Args{
		"Name": t.displayName(ctx), "To": DisplayPath(t.to), "By": actorName(ctx, t.actor), "Reason": shorten.To(reason, 120),
		"Tries": locale.Number(ctx, int(t.deliveries)), "Seq": locale.Number(ctx, int(t.seq)),
	}
}
