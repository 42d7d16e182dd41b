package engine

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"
)

// EventKind is the kind of an event. The numbers are stored: a new kind gets the next one.
type EventKind uint8

// The events of messages and entities.
const (
	EventSent         EventKind = iota + 1 // stored and active
	EventScheduled                         // stored until its scheduled time
	EventActivated                         // its time has come and it became active; Seq is the new number
	EventCancelled                         // a scheduled message was removed
	EventLocked                            // locked by a receiver
	EventRenewed                           // the lock was renewed
	EventLockLost                          // the lock expired; counted as a failed delivery
	EventAbandoned                         // abandoned by its receiver; counted
	EventReleased                          // released by its receiver; not counted
	EventDeferred                          // deferred by its receiver
	EventReturned                          // a deferred message was made active by an operator
	EventCompleted                         // settled and removed
	EventReceived                          // received and deleted
	EventDeadLettered                      // moved to the dead-letter subqueue; Reason is the dead-letter reason
	EventExpired                           // dropped when it expired
	EventDeleted                           // removed by an operator or by batch delete, or dropped as a duplicate at To when an operator moved it there
	EventMoved                             // resubmitted or moved from Path to To; Seq is the new number, for a topic the old one
	EventExtended                          // its expiry was set by an operator

	EventEntityCreated
	EventEntityUpdated     // Reason lists the changed properties, with both values of the status; or is "pin" or "unpin"
	EventEntityDeleted     // Count messages were deleted with it
	EventEntityAutoDeleted // deleted because it was idle; Count messages were deleted with it
	EventRuleAdded
	EventRuleRemoved
	EventPurged // Count messages were removed in one step of a purge; Reason is the filter that selected them, if any, shortened

	// Events of the server rather than of its entities: Path is empty, Reason says why or
	// how.
	EventStarted  // the server owns the namespace and serves it
	EventStopped  // the server was asked to stop
	EventReadOnly // the store rejects writes
	EventWritable // the store accepts writes again
	EventReopened // everything was loaded again after the store failed
	EventGap      // Count events are missing, because there were too many to remember

	EventTouched // an operator used a temporary entity, to keep it from being deleted
	EventCopied  // an operator sent a copy of the message to To; the message stays

	EventForwarded      // forwarded to To automatically; Seq is the number that To assigned
	EventDuplicate      // accepted and dropped: its MessageId was seen before (DUP-2)
	EventUnmatched      // accepted and dropped: no subscription selected it (FILT-6)
	EventSessionLocked  // a receiver locked the session Session
	EventSessionClosed  // its receiver released it
	EventSessionLost    // its lock expired or was broken
	EventSessionState   // its state was set or cleared
	EventTransferFailed // sent via Path to To, which rejected it; it is in Path's transfer dead-letter subqueue
	EventRuleReplaced   // its filter or action was replaced
	EventSessionRenewed // the lock of the session Session was renewed, and with it those of its messages (SES-5)
	EventAccessChanged  // the namespace's access rules changed; Path is empty, Reason is an AccessAction
	EventDisconnected   // an operator closed the connection of the client Reason; Path is empty

	EventSettingsChanged // Reason is a SettingAction

	// Operations on other namespaces of the server, recorded in its own: Path is empty,
	// Reason is the other namespace's name.
	EventNamespaceCreated
	EventNamespaceRemoved

	EventClockTurned // the namespace's clock was turned; Path is empty, Reason says how
	EventScenePlayed // a step of a scene was played; Path is empty, Reason is its caption

	// Sign-ins to the server's dashboard, and its tokens and links: Path is empty, and Reason
	// contains no secret.
	EventSignedIn        // Reason is the role, the method and the address, such as "admin · password · 10.0.0.7"
	EventSignInFailed    // Reason is the name that was tried, if such a user exists; else empty
	EventSignedOut       // the actor signed out
	EventSignInsEnded    // another operator, or a change of the users, ended the sessions of the user Reason
	EventTokenCreated    // Reason is its name and role, such as "ci (operator)"
	EventTokenRevoked    // Reason is the same as for EventTokenCreated
	EventReadLinkCreated // Reason is the read-only link's name and where it leads
	EventReadLinkRevoked // Reason is the same as for EventReadLinkCreated

	// Other operations on the server, recorded in its own namespace: Path is empty.
	EventNamespaceChanged // another namespace has new limits; Reason is its name and their profile, such as "shop (premium)"
	EventSceneAdded       // a scene was added to the library; Reason is its id and title
	EventSceneRemoved     // a scene was removed from the library; Reason is its id

	// Events of the server, like EventReadOnly: Path is empty.
	EventMemoryFull // sends are rejected, because the memory limit is reached
	EventMemoryFree // sends are accepted again
)

var eventNames = [...]string{
	EventSent: "sent", EventScheduled: "scheduled", EventActivated: "activated", EventCancelled: "cancelled",
	EventLocked: "locked", EventRenewed: "renewed", EventLockLost: "lock-lost", EventAbandoned: "abandoned",
	EventReleased: "released", EventDeferred: "deferred", EventReturned: "returned", EventCompleted: "completed",
	EventReceived: "received", EventDeadLettered: "dead-lettered", EventExpired: "expired", EventDeleted: "deleted",
	EventMoved: "moved", EventExtended: "extended", EventEntityCreated: "entity-created",
	EventEntityUpdated: "entity-updated", EventEntityDeleted: "entity-deleted",
	EventEntityAutoDeleted: "entity-auto-deleted", EventRuleAdded: "rule-added", EventRuleRemoved: "rule-removed",
	EventPurged: "purged", EventStarted: "started", EventStopped: "stopped", EventReadOnly: "read-only",
	EventWritable: "writable", EventReopened: "reopened", EventGap: "gap", EventTouched: "touched", EventCopied: "copied",
	EventForwarded: "forwarded", EventDuplicate: "duplicate", EventUnmatched: "unmatched", EventSessionLocked: "session-locked",
	EventSessionClosed: "session-closed", EventSessionLost: "session-lost", EventSessionState: "session-state",
	EventTransferFailed: "transfer-failed", EventRuleReplaced: "rule-replaced",
	EventSessionRenewed: "session-renewed", EventAccessChanged: "access-changed",
	EventDisconnected: "disconnected", EventSettingsChanged: "settings-changed", EventNamespaceCreated: "namespace-created", EventNamespaceRemoved: "namespace-removed",
	EventClockTurned: "clock-turned", EventScenePlayed: "scene-played",
	EventSignedIn: "signed-in", EventSignInFailed: "sign-in-failed", EventSignedOut: "signed-out", EventSignInsEnded: "sign-ins-ended",
	EventTokenCreated: "token-created", EventTokenRevoked: "token-revoked", EventReadLinkCreated: "link-created", EventReadLinkRevoked: "link-revoked",
	EventNamespaceChanged: "namespace-changed", EventSceneAdded: "scene-added", EventSceneRemoved: "scene-removed",
	EventMemoryFull: "memory-full", EventMemoryFree: "memory-free",
}

// OfServer reports whether events of kind k concern the server as a whole. They are recorded in the
// server's own namespace.
func (k EventKind) OfServer() bool {
	switch k {
	case EventNamespaceCreated, EventNamespaceRemoved, EventNamespaceChanged, EventSceneAdded, EventSceneRemoved,
		EventSignedIn, EventSignInFailed, EventSignedOut, EventSignInsEnded,
		EventTokenCreated, EventTokenRevoked, EventReadLinkCreated, EventReadLinkRevoked:
		return true
	default:
		return false
	}
}

// formerEventNames maps names of kinds that earlier versions stored for other servers to their
// present names.
var formerEventNames = map[string]string{
	"token-made": "token-created", "link-made": "link-created",
}

// ServerEvent returns the kind with this name. ok is false if there is none, or if its events do not
// concern the server; see OfServer.
func ServerEvent(name string) (k EventKind, ok bool) {
	i := slices.Index(eventNames[:], cmp.Or(formerEventNames[name], name))
	if name == "" || i < 0 || !EventKind(i).OfServer() {
		return 0, false
	}
	return EventKind(i), true
}

// String returns the name of k, or "event-" and its number for a kind of a later version.
func (k EventKind) String() string {
	if int(k) < len(eventNames) && eventNames[k] != "" {
		return eventNames[k]
	}
	return "event-" + strconv.Itoa(int(k))
}

// An Event records something that happened in a namespace. It holds copies of the records at that
// time, because they may have changed or be gone when the event is read.
type Event struct {
	N        uint64 // from 1 since the broker was opened; set when the event is published
	Kind     EventKind
	At       Instant
	Subqueue SubqueueID // where it happened; for a move, where the message was
	Path     Path       // of Subqueue
	To       Path       // where the message went: dead-letter subqueue, destination of a move; empty otherwise
	Actor    string     // the client or operator, as far as known; empty for the broker itself
	Reason   string     // the DeadLetterReason, or the cause in short
	Count    int64      // how many messages were deleted with an entity or purged; how many events are missing at an EventGap
	Audit    bool       // whether it is an operator's action; it is then stored with the batch that contains the action (§21a)

	Session string // the id of the session, in a session's event

	Message       Message // the message after the event; zero for an entity's event
	Content       Packed
	Entity        *Entity  // for an entity's event: the description, which must not be changed
	Rules         []Rule   // the rules of a deleted subscription, or of a deleted topic's subscriptions
	Subscriptions []Entity // the subscriptions that a deleted topic had
}

// A History stores events for people to read, within bounds of age and size. A Store may
// implement it. No rule depends on it: it may have gaps, each an EventGap, and it lags behind by up to
// a second. Only operators' actions are never missing, because they are part of a Batch
// (§21a).
//
// Its methods are safe for concurrent use, also during a Commit.
type History interface {
	// AppendEvents stores events of this epoch, in ascending order of their numbers. They need not
	// be durable when it returns: a crash may lose the latest. After an error, the caller passes
	// the same events again, and AppendEvents skips those that it has stored already.
	AppendEvents(ctx context.Context, events []Event) error
	// QueryEvents yields the stored events that match q, newest first.
	QueryEvents(ctx context.Context, q HistoryQuery) iter.Seq2[HistoryEvent, error]
	// TrimEvents removes events older than an instant, then the oldest until the rest takes no
	// more than `most` bytes. It works in steps, so that commits can run in between. A zero
	// `before` or `most` means no bound.
	TrimEvents(ctx context.Context, before Instant, most int64) error
}

// A HistoryEvent is an Event and the epoch that its number belongs to.
type HistoryEvent struct {
	Epoch uint64
	Event
}

// A HistoryCursor is the position of an event in a History: by instant, then by epoch, then by
// number.
type HistoryCursor struct {
	At    Instant
	Epoch uint64
	N     uint64
}

// Cursor returns the position of e.
func (e HistoryEvent) Cursor() HistoryCursor { return HistoryCursor{e.At, e.Epoch, e.N} }

// Before reports whether p comes before q.
func (p HistoryCursor) Before(q HistoryCursor) bool {
	switch {
	case p.At != q.At:
		return p.At < q.At
	case p.Epoch != q.Epoch:
		return p.Epoch < q.Epoch
	default:
		return p.N < q.N
	}
}

// A HistoryQuery selects events of a History. The zero value selects all.
type HistoryQuery struct {
	Key    Key           // only events of this message; zero for any
	Path   Path          // only events of this entity, its subqueues and, for a topic, its subscriptions; empty for any
	Kinds  []EventKind   // empty for any
	Audit  bool          // only operators' actions
	From   Instant       // inclusive; zero for no bound
	Until  Instant       // exclusive; zero for no bound
	Before HistoryCursor // only events before this position; zero for no bound
	Limit  int           // the maximum number of events; zero for no bound
}

// Matches reports whether q selects e. It ignores q.Limit.
func (q HistoryQuery) Matches(e HistoryEvent) bool {
	switch {
	case q.Key != 0 && e.Message.Key != q.Key,
		q.Audit && !e.Audit,
		e.At < q.From,
		q.Until != 0 && e.At >= q.Until,
		q.Before != HistoryCursor{} && !e.Cursor().Before(q.Before):
		return false
	}
	return q.matchesKind(e.Kind) && q.matchesPath(e)
}

func (q HistoryQuery) matchesKind(k EventKind) bool {
	return len(q.Kinds) == 0 || slices.Contains(q.Kinds, k)
}

func (q HistoryQuery) matchesPath(e HistoryEvent) bool {
	if q.Path == "" {
		return true
	}
	within := func(p Path) bool {
		rest, ok := strings.CutPrefix(p.Fold(), q.Path.Fold())
		return ok && (rest == "" || rest[0] == '/')
	}
	return within(e.Path) || within(e.To)
}
