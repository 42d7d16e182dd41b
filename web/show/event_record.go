package show

import (
	"context"
	"strconv"
	"strings"

	"mayfly/engine"
	"mayfly/engine/shorten"
	"mayfly/views/component"
)

// An eventRecord is the stored part of an event. It is small and shares no memory with the
// event.
type eventRecord struct {
	epoch      uint64 // of an event before this process; zero if the event is of this process
	n          uint64
	at         engine.Instant
	until      engine.Instant // the end of a lock, the scheduled time, or the new expiry
	key        engine.Key
	content    engine.Key // the content, which messages sent as one share
	seq        engine.Seq
	count      int64
	deliveries uint32
	kind       engine.EventKind
	entityKind engine.EntityKind // kind of the entity, if the event is about one
	path       engine.Path
	to         engine.Path
	actor      string
	reason     string
	translated bool   // reason is in the viewer's language, see translateReason
	audit      bool   // an operator caused it
	name       string // of the message; empty in a timeline
}

func recordOf(e engine.Event) eventRecord {
	t := eventRecord{
		n: e.N, at: e.At, key: e.Message.Key, content: e.Message.Content, seq: e.Message.Seq, count: e.Count, deliveries: e.Message.DeliveryCount,
		kind: e.Kind, path: e.Path, to: e.To, actor: e.Actor, reason: e.Reason, audit: e.Audit,
	}
	if e.Entity != nil {
		t.entityKind = e.Entity.Kind
	}
	switch e.Kind {
	case engine.EventLocked, engine.EventRenewed:
		t.until = e.Message.LockedUntil
	case engine.EventScheduled:
		t.until = e.Message.ScheduledFor
	case engine.EventExtended:
		t.until = e.Message.ExpiresAt
	}
	return t
}

// id identifies the event among all that pages show: by its number, which is unique since the
// start, and its epoch if it is older.
func (t eventRecord) id() string {
	if t.epoch == 0 {
		return strconv.FormatUint(t.n, 10)
	}
	return strconv.FormatUint(t.epoch, 10) + "-" + strconv.FormatUint(t.n, 10)
}

// withName returns t with the name of its message or session.
func (t eventRecord) withName(e engine.Event) eventRecord {
	if ofSession(e.Kind) {
		t.name = strings.Clone(component.ShowInvisible(shorten.To(e.Session, 80)))
		return t
	}
	if e.Message.Key != 0 {
		t.name = strings.Clone(shortName(e.Content, e.Message.Seq))
	}
	return t
}

// displayName returns the name for display: a session id may be empty.
func (t eventRecord) displayName(ctx context.Context) string {
	if t.name == "" && ofSession(t.kind) {
		return component.SessionName(ctx, "")
	}
	return t.name
}

// expired reports whether the message expired.
func expired(e engine.Event) bool {
	return e.Kind == engine.EventExpired || e.Kind == engine.EventDeadLettered && e.Reason == engine.ReasonExpired
}

// removesMessage reports whether the message no longer exists after an event of this kind.
func removesMessage(k engine.EventKind) bool {
	switch k {
	case engine.EventCompleted, engine.EventReceived, engine.EventExpired, engine.EventDeleted, engine.EventCancelled,
		engine.EventUnmatched:
		return true
	default:
		return false
	}
}

// displayName returns the display name of a message: its subject, else its id, else its number.
func displayName(c engine.Packed, seq engine.Seq) string {
	if s := c.Subject(); s != "" {
		return s
	}
	if id := c.MessageID(); id != "" {
		return id
	}
	return "#" + strconv.FormatInt(int64(seq), 10)
}

// shortName is called, cut to fit on a line: a subject may have any length.
func shortName(c engine.Packed, seq engine.Seq) string { return shorten.To(displayName(c, seq), 80) }
