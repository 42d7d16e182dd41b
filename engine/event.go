package engine

import (
	"slices"
	"strconv"
	"strings"
)

// EventKind says what happened. The numbers are stored: a new kind gets the next
// one.
type EventKind uint8

// What can happen to a message or an entity.
const (
	EventSent         EventKind = iota + 1 // stored and active
	EventScheduled                         // stored, waiting for its time
	EventActivated                         // its time has come; Seq is the new number
	EventCancelled                         // a scheduled message was removed
	EventLocked                            // taken under a lock
	EventRenewed                           // the lock starts anew
	EventLockLost                          // the lock ran out; counted as a failed delivery
	EventAbandoned                         // given back; counted
	EventReleased                          // given back; not counted
	EventDeferred                          // set aside
	EventReturned                          // a deferred message was made active by an operator
	EventCompleted                         // settled for good
	EventReceived                          // received and deleted
	EventDeadLettered                      // moved to the dead-letter queue; Reason tells why
	EventExpired                           // dropped at the end of its time, without a trace
	EventDeleted                           // removed by an operator or by batch delete, or dropped as a duplicate at To when an operator moved it there
	EventMoved                             // resubmitted or moved; Path and Seq are the new ones
	EventExtended                          // its expiry was set by an operator

	EventEntityCreated
	EventEntityUpdated     // Reason names what differs, with both values of the status; or is "pin" or "unpin"
	EventEntityDeleted     // Count messages went with it
	EventEntityAutoDeleted // idle for its time; Count messages went with it
	EventRuleAdded
	EventRuleRemoved
	EventPurged // Count messages of one slice were removed; Reason is the filter they were picked by, cut, if there was one

	// What happens to the server rather than to what is in it: Path is empty,
	// Reason says why or how.
	EventStarted  // it owns the namespace and serves
	EventStopped  // it was told to stop
	EventReadOnly // the store takes no writes
	EventWritable // the store takes writes again
	EventReopened // everything was loaded again after the store failed
	EventGap      // Count events were too many to be remembered

	EventTouched // an operator counted as use of a temporary entity
	EventCopied  // it stays, and an operator sent a copy of it to To

	EventForwarded      // moved on to To by automatic forwarding; Seq is the new number, of a topic the one there
	EventDuplicate      // accepted and dropped: its MessageId was seen before (DUP-2)
	EventUnmatched      // accepted and gone: no subscription selected it (FILT-6)
	EventSessionTaken   // a receiver holds the session Session
	EventSessionClosed  // its receiver gave it back
	EventSessionLost    // its lock ran out or was broken
	EventSessionState   // its state was set or cleared
	EventTransferFailed // sent by way of Path to To, which does not take it; it is in Path's transfer dead-letter queue
	EventRuleReplaced   // it has another filter or action
	EventSessionRenewed // the lock of the session Session starts anew, and with it those of its messages (SES-5)
	EventAccessChanged  // the namespace's access rules, which have no Path; Reason is an AccessDeed
	EventDisconnected   // an operator closed the connection of the client Reason, which has no Path

	EventSettingsChanged // Reason is a SettingDeed

	// What was done to other namespaces of the server, in its own: Path is empty, Reason
	// is the other's name.
	EventNamespaceCreated
	EventNamespaceRemoved

	EventClockTurned // the namespace's clock was turned; Path is empty, Reason says how
	EventScenePlayed // a step of a scene was played; Path is empty, Reason is its caption

	// Who came to the server's dashboard, and by what others may: Path is empty, and no
	// secret is in Reason.
	EventSignedIn     // Reason is as what, in which way and from where, such as "admin · password · 10.0.0.7"
	EventSignInFailed // Reason is the name that was tried, if there is such a user; else empty
	EventSignedOut    // the actor has
	EventSignInsEnded // somebody else ended the sessions of the user Reason, or a change of what is known of users did
	EventTokenMade    // Reason is what it is called and may do, such as "ci (operator)"
	EventTokenRevoked // likewise
	EventLinkMade     // Reason is what the read-only link is called and where it leads
	EventLinkRevoked  // likewise

	// What else was done to the server, in its own namespace: Path is empty.
	EventNamespaceChanged // another namespace has other limits; Reason is its name, and whose they are, such as "shop (premium)"
	EventSceneAdded       // a scene was added to the library; Reason is its id and title
	EventSceneRemoved     // a scene was taken out of it; Reason is its id
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
	EventForwarded: "forwarded", EventDuplicate: "duplicate", EventUnmatched: "unmatched", EventSessionTaken: "session-taken",
	EventSessionClosed: "session-closed", EventSessionLost: "session-lost", EventSessionState: "session-state",
	EventTransferFailed: "transfer-failed", EventRuleReplaced: "rule-replaced",
	EventSessionRenewed: "session-renewed", EventAccessChanged: "access-changed",
	EventDisconnected: "disconnected", EventSettingsChanged: "settings-changed", EventNamespaceCreated: "namespace-created", EventNamespaceRemoved: "namespace-removed",
	EventClockTurned: "clock-turned", EventScenePlayed: "scene-played",
	EventSignedIn: "signed-in", EventSignInFailed: "sign-in-failed", EventSignedOut: "signed-out", EventSignInsEnded: "sign-ins-ended",
	EventTokenMade: "token-made", EventTokenRevoked: "token-revoked", EventLinkMade: "link-made", EventLinkRevoked: "link-revoked",
	EventNamespaceChanged: "namespace-changed", EventSceneAdded: "scene-added", EventSceneRemoved: "scene-removed",
}

// OfServer tells whether events of k are of the server, whose own namespace remembers
// them, and not of that namespace.
func (k EventKind) OfServer() bool {
	switch k {
	case EventNamespaceCreated, EventNamespaceRemoved, EventNamespaceChanged, EventSceneAdded, EventSceneRemoved,
		EventSignedIn, EventSignInFailed, EventSignedOut, EventSignInsEnded,
		EventTokenMade, EventTokenRevoked, EventLinkMade, EventLinkRevoked:
		return true
	default:
		return false
	}
}

// OfServer tells whether e is of the server and not of the namespace that remembers it:
// also if an older version said so of what was done to the server, as if that were what
// the namespace keeps for others.
func (e Event) OfServer() bool {
	return e.Kind.OfServer() || e.Kind == EventSettingsChanged && !slices.ContainsFunc(SettingDids(), func(d SettingDid) bool { return strings.HasPrefix(e.Reason, string(d)+" ") })
}

// ServerEvent is the kind that has a name, of those with OfServer.
func ServerEvent(name string) (k EventKind, ok bool) {
	i := slices.Index(eventNames[:], name)
	if name == "" || i < 0 || !EventKind(i).OfServer() { //nolint:gosec // there are few
		return 0, false
	}
	return EventKind(i), true //nolint:gosec // likewise
}

// String is the name of k; a number for a kind that a later version made.
func (k EventKind) String() string {
	if int(k) < len(eventNames) && eventNames[k] != "" {
		return eventNames[k]
	}
	return "event-" + strconv.Itoa(int(k))
}

// An Event is something that happened, numbered by the log. It carries copies,
// so that whoever reads it needs nothing else.
type Event struct {
	N      uint64 // from 1 since the broker was opened; given when the event is published
	Kind   EventKind
	At     Instant
	Holder HolderID // where it happened; where the message was, for moves
	Path   Path     // of Holder
	To     Path     // where the message went: dead-letter queue, target of a move; empty otherwise
	Actor  string   // who did it, as far as known; empty for the broker itself
	Reason string   // DeadLetterReason, or a word on the cause
	Count  int64    // messages concerned by an entity's or a purge's event
	Audit  bool     // an operator's doing, remembered with the batch that did it (§21a)

	Session string // of a session's event: which

	Message Message // as it was left; the zero Message for an entity's event
	Content Packed
	Entity  *Entity  // for an entity's event: the description, not to be changed
	Rules   []Rule   // of a subscription that was deleted, or of a topic's subscriptions
	Subs    []Entity // the subscriptions that a deleted topic had
}
