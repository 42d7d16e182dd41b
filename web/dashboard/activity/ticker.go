package activity

import (
	"context"
	"strings"

	"mayfly/engine"
	"mayfly/engine/shorten"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/web/dashboard/pages"
	"mayfly/web/dashboard/recent"
)

// An eventStyle is how an event is drawn and described. Its text can use {{.N}} for the number,
// {{.Name}} for the name of a single message, and {{.To}}, {{.By}}, {{.Reason}} and
// {{.Tries}}.
type eventStyle struct {
	Icon   string
	Tone   component.Tone
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

// StyleOf returns how an event record is drawn.
func StyleOf(t recent.EventRecord) eventStyle {
	l, ok := eventStyles[t.Kind]
	switch {
	case !ok:
		l = eventStyle{"info", component.Lost, ""}
	case t.Kind == engine.EventDeadLettered && t.Reason == engine.ReasonExpired:
		l.Icon, l.textID = "expired", "event.ranout"
	case t.Kind == engine.EventLockLost && t.Audit:
		l.textID = "event.lockbroken"
	case t.Kind == engine.EventSessionLost && t.Audit:
		l.textID = "event.session.broken"
	case t.Kind == engine.EventSessionState && t.Reason == "cleared":
		l.textID = "event.session.cleared"
	case t.Kind == engine.EventActivated && t.Audit:
		l.textID = "event.sentnow"
	case t.Kind == engine.EventScheduled && t.Audit:
		l.textID = "event.rescheduled"
	case t.Kind == engine.EventDeleted && t.Reason == engine.ReasonReplaceUndone:
		l.textID = "event.withdrawn"
	case t.Kind == engine.EventReturned && t.Reason == engine.ReasonReplaceUndone:
		l.Icon, l.textID = "restore", "event.putback"
	case t.Kind == engine.EventPurged && t.Reason != "":
		l.textID = "event.purged.where"
	case t.Kind == engine.EventSignInFailed && t.Reason == "":
		l.textID = "event.signin.unknown"
	case t.Kind == engine.EventEntityUpdated && t.Reason == "pin":
		l.Icon, l.textID = "pin", "event.pinned"
	case t.Kind == engine.EventEntityUpdated && t.Reason == "unpin":
		l.textID = "event.unpinned"
	case t.Kind == engine.EventEntityUpdated && t.Reason != "":
		l.textID = "event.entity.updated.what"
	}
	return l
}

// entryStyle returns the style of a ticker line, and the number in its text.
func entryStyle(l recent.TickerEntry) (how eventStyle, n int) {
	how, n = StyleOf(l.EventRecord), l.Similar
	if l.Count > 0 || l.Key == 0 && !recent.OfSession(l.Kind) {
		n = int(l.Count)
	}
	switch {
	case l.Kind == engine.EventEntityDeleted && n == 0:
		how.textID = "event.entity.deleted.empty"
	case l.Kind == engine.EventEntityAutoDeleted && n == 0:
		how.textID = "event.entity.idle.empty"
	}
	return how, n
}

// TickerEvent returns an event, or several similar ones, as a line of the ticker.
func TickerEvent(ctx context.Context, p *pages.Pages, l recent.TickerEntry) component.Event {
	how, n := entryStyle(l)
	l.EventRecord = translateReason(ctx, p, l.EventRecord)
	e := component.Event{Key: l.ID(), At: l.At.Time(), Icon: how.Icon, Tone: how.Tone}
	if l.Path != "" {
		e.Entity, e.Href = pages.DisplayPath(l.Path.Entity()), p.EntityURL(l.EntityKind, l.Path)
	}
	switch l.Kind {
	case engine.EventEntityDeleted, engine.EventEntityAutoDeleted:
		e.Href = ""
	}
	e.Says = sentence(ctx, how, n, l.EventRecord, "")
	return e
}

// sentence returns the text of an event in pieces. The name of a single message is a link to
// `href` unless that is empty. Otherwise a reason in the server's own English is a separate piece.
func sentence(ctx context.Context, how eventStyle, n int, t recent.EventRecord, href string) []component.Text {
	if how.textID == "" { // a later version added this kind
		return []component.Text{pages.PlainText(t.Kind.String())}
	}
	args := EventArgs(ctx, t)
	const place = "\x00"
	var apart component.Text
	switch {
	case n == 1 && t.Key != 0 && href != "":
		apart, args["Name"] = component.Text{S: t.DisplayName(ctx), Href: href}, place
	case t.English():
		apart, args["Reason"] = component.ServerText(shorten.To(t.Reason, 120)), place
	}
	before, after, ok := strings.Cut(locale.N(ctx, how.textID, n, args), place)
	if !ok {
		return []component.Text{pages.PlainText(before)}
	}
	return []component.Text{pages.PlainText(before), apart, pages.PlainText(after)}
}

// EventArgs returns the arguments for the texts of events.
func EventArgs(ctx context.Context, t recent.EventRecord) locale.Args {
	reason := t.Reason
	if reason == "" {
		reason = locale.T(ctx, "event.noreason")
	}
	return locale.Args{
		"Name": t.DisplayName(ctx), "To": pages.DisplayPath(t.To), "By": pages.ActorName(ctx, t.Actor), "Reason": shorten.To(reason, 120),
		"Tries": locale.Number(ctx, int(t.Deliveries)), "Seq": locale.Number(ctx, int(t.Seq)),
	}
}
