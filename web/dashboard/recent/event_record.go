package recent

import (
	"context"
	"strconv"
	"strings"

	"mayfly/engine"
	"mayfly/engine/shorten"
	"mayfly/views/component"
)

// An EventRecord is the part of an event that is kept in memory. It is small and shares no memory
// with the event.
type EventRecord struct {
	Epoch      uint64 // the epoch, if an earlier process recorded the event; else zero
	N          uint64
	At         engine.Instant
	Until      engine.Instant // the end of a lock, the scheduled time, or the new expiry
	Key        engine.Key
	Content    engine.Key // the key of the content, which all copies of a sent message share
	Seq        engine.Seq
	Count      int64
	Deliveries uint32
	Kind       engine.EventKind
	EntityKind engine.EntityKind // kind of the entity, if the event is about one
	Path       engine.Path
	To         engine.Path
	Actor      string
	Reason     string
	Translated bool   // Reason is in the viewer's language; set by package activity
	Audit      bool   // an operator caused it
	Name       string // name of the message or session; empty in a timeline
}

// RecordOf returns the record of an event.
func RecordOf(e engine.Event) EventRecord {
	t := EventRecord{
		N: e.N, At: e.At, Key: e.Message.Key, Content: e.Message.Content, Seq: e.Message.Seq, Count: e.Count, Deliveries: e.Message.DeliveryCount,
		Kind: e.Kind, Path: e.Path, To: e.To, Actor: e.Actor, Reason: e.Reason, Audit: e.Audit,
	}
	if e.Entity != nil {
		t.EntityKind = e.Entity.Kind
	}
	switch e.Kind {
	case engine.EventLocked, engine.EventRenewed:
		t.Until = e.Message.LockedUntil
	case engine.EventScheduled:
		t.Until = e.Message.ScheduledFor
	case engine.EventExtended:
		t.Until = e.Message.ExpiresAt
	}
	return t
}

// ID identifies the event among all that pages show: by its number, which is unique since the
// start, and its epoch if it is older.
func (t EventRecord) ID() string {
	if t.Epoch == 0 {
		return strconv.FormatUint(t.N, 10)
	}
	return strconv.FormatUint(t.Epoch, 10) + "-" + strconv.FormatUint(t.N, 10)
}

// WithName returns t with the name of its message or session.
func (t EventRecord) WithName(e engine.Event) EventRecord {
	if OfSession(e.Kind) {
		t.Name = strings.Clone(component.ShowInvisible(shorten.To(e.Session, 80)))
		return t
	}
	if e.Message.Key != 0 {
		t.Name = strings.Clone(ShortName(e.Content, e.Message.Seq))
	}
	return t
}

// DisplayName returns the name for display, with a placeholder for an empty session id.
func (t EventRecord) DisplayName(ctx context.Context) string {
	if t.Name == "" && OfSession(t.Kind) {
		return component.SessionName(ctx, "")
	}
	return t.Name
}

// expired reports whether e is the expiry of a message.
func expired(e engine.Event) bool {
	return e.Kind == engine.EventExpired || e.Kind == engine.EventDeadLettered && e.Reason == engine.ReasonExpired
}

// RemovesMessage reports whether the message no longer exists after an event of this kind.
func RemovesMessage(k engine.EventKind) bool {
	switch k {
	case engine.EventCompleted, engine.EventReceived, engine.EventExpired, engine.EventDeleted, engine.EventCancelled,
		engine.EventUnmatched:
		return true
	default:
		return false
	}
}

// DisplayName returns the display name of a message: its subject, else its id, else its number.
func DisplayName(c engine.Packed, seq engine.Seq) string {
	if s := c.Subject(); s != "" {
		return s
	}
	if id := c.MessageID(); id != "" {
		return id
	}
	return "#" + strconv.FormatInt(int64(seq), 10)
}

// ShortName is DisplayName, cut to fit on a line: a subject may have any length.
func ShortName(c engine.Packed, seq engine.Seq) string { return shorten.To(DisplayName(c, seq), 80) }

// Same reports whether two event records are of one event.
func (t EventRecord) Same(o EventRecord) bool { return t.Epoch == o.Epoch && t.N == o.N }

// Compare orders event records by time.
func (t EventRecord) Compare(o EventRecord) int {
	place := func(t EventRecord) engine.HistoryCursor {
		epoch := t.Epoch
		if epoch == 0 {
			epoch = 1 << 63 // after all epochs of earlier processes
		}
		return engine.HistoryCursor{At: t.At, Epoch: epoch, N: t.N}
	}
	switch {
	case place(t).Before(place(o)):
		return -1
	case place(o).Before(place(t)):
		return 1
	default:
		return 0
	}
}

// OfSession reports whether events of a kind are about a session: operations on it, and the
// loss of its lock.
func OfSession(k engine.EventKind) bool {
	switch k {
	case engine.EventSessionLocked, engine.EventSessionRenewed, engine.EventSessionClosed, engine.EventSessionLost, engine.EventSessionState:
		return true
	default:
		return false
	}
}

// English reports whether the reason is in the server's own words rather than a name.
func (t EventRecord) English() bool {
	switch t.Kind {
	case engine.EventReadOnly, engine.EventReopened, engine.EventSettingsChanged, engine.EventAccessChanged:
		return t.Reason != "" && !t.Translated
	default:
		return false
	}
}
