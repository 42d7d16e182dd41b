package show

import (
	"context"
	"strconv"
	"strings"

	"mayfly/engine"
	"mayfly/views/component"
)

// A trace is what is kept of an event: small, and sharing no memory with what
// it tells of.
type trace struct {
	epoch  uint64 // of an event before this process; zero: of this one
	n      uint64
	at     engine.Instant
	until  engine.Instant // the end of a lock, the time of a schedule, the expiry that was set
	key    engine.Key
	sent   engine.Key // the content: what several messages share that were sent as one
	seq    engine.Seq
	count  int64
	tries  uint32
	kind   engine.EventKind
	of     engine.EntityKind // of an entity's event
	path   engine.Path
	to     engine.Path
	actor  string
	reason string
	worded bool   // reason is in the language of the page: see inWords
	audit  bool   // an operator's doing
	name   string // of the message; empty in a life
}

// ofServer is as engine.Event has it.
func (t trace) ofServer() bool { return engine.Event{Kind: t.kind, Reason: t.reason}.OfServer() }

func traceOf(e engine.Event) trace {
	t := trace{
		n: e.N, at: e.At, key: e.Message.Key, sent: e.Message.Content, seq: e.Message.Seq, count: e.Count, tries: e.Message.DeliveryCount,
		kind: e.Kind, path: e.Path, to: e.To, actor: e.Actor, reason: e.Reason, audit: e.Audit,
	}
	if e.Entity != nil {
		t.of = e.Entity.Kind
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

// id names the event among all that pages show: by its number, which is unique
// since the start, and by its epoch too if it is older.
func (t trace) id() string {
	if t.epoch == 0 {
		return strconv.FormatUint(t.n, 10)
	}
	return strconv.FormatUint(t.epoch, 10) + "-" + strconv.FormatUint(t.n, 10)
}

// named is t with what the message is called, or which session it is.
func (t trace) named(e engine.Event) trace {
	if ofSession(e.Kind) {
		t.name = strings.Clone(component.Visible(cut(e.Session, 80)))
		return t
	}
	if e.Message.Key != 0 {
		t.name = strings.Clone(calledBriefly(e.Content, e.Message.Seq))
	}
	return t
}

// called is the name for people: a session may have the empty one.
func (t trace) called(ctx context.Context) string {
	if t.name == "" && ofSession(t.kind) {
		return component.SessionName(ctx, "")
	}
	return t.name
}

// expired tells whether the message's time ran out.
func expired(e engine.Event) bool {
	return e.Kind == engine.EventExpired || e.Kind == engine.EventDeadLettered && e.Reason == engine.ReasonExpired
}

// departed tells whether the message is no more after e.
func departed(k engine.EventKind) bool {
	switch k {
	case engine.EventCompleted, engine.EventReceived, engine.EventExpired, engine.EventDeleted, engine.EventCancelled,
		engine.EventUnmatched:
		return true
	default:
		return false
	}
}

// called is what a message goes by: its subject, else its id, else its number.
func called(c engine.Packed, seq engine.Seq) string {
	if s := c.Subject(); s != "" {
		return s
	}
	if id := c.MessageID(); id != "" {
		return id
	}
	return "#" + strconv.FormatInt(int64(seq), 10)
}

// calledBriefly is called for a line: bounded, since a subject is not.
func calledBriefly(c engine.Packed, seq engine.Seq) string { return cut(called(c, seq), 80) }
