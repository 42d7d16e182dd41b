// Package history queries the history: what operators did, what happened to the server, or
// everything; for one entity, one group of events, one actor, between two instants. The
// activity page, its exports and the JSON API read the same parameters and return the same
// events.
//
//	Filter   selects events; parsed from and written as query parameters
//	Query    returns a page of the events that a filter selects
//	Event    an event as JSON, or as a row of CSV
package history

import (
	"slices"
	"strings"

	"mayfly/engine"
)

// A Scope is how much of the history is queried, as written in query strings.
type Scope string

// The scopes.
const (
	Notable Scope = ""       // operations of operators and events of the server
	Audit   Scope = "audit"  // operations of operators
	System  Scope = "system" // events of the server, and entities that were deleted automatically
	All     Scope = "all"    // all of these, and every event of every message
)

// Scopes returns all scopes.
func Scopes() []Scope { return []Scope{Notable, Audit, System, All} }

// A Group is a group of kinds of events, as written in query strings.
type Group string

// The groups.
const (
	AnyGroup    Group = ""
	Entities    Group = "entities"     // entities and rules were created, changed or deleted; idle clocks were reset by an operator
	Arrivals    Group = "arrivals"     // messages were stored or became active
	Locks       Group = "locks"        // messages were delivered and given back
	Deferrals   Group = "aside"        // messages were deferred, returned, or given more time
	DeadLetters Group = "dead-letters" // messages became dead letters, or were resubmitted
	Removals    Group = "ends"         // messages were completed or removed
	Access      Group = "access"       // sign-ins to the dashboard; tokens, links and keys that were issued
	Server      Group = "server"       // the server itself
)

// Groups returns all groups.
func Groups() []Group {
	return []Group{AnyGroup, Entities, Arrivals, Locks, Deferrals, DeadLetters, Removals, Access, Server}
}

// groupKinds are the kinds of events in each group. Every kind is in one group.
var groupKinds = map[Group][]engine.EventKind{
	Entities: {
		engine.EventEntityCreated, engine.EventEntityUpdated, engine.EventEntityDeleted, engine.EventEntityAutoDeleted,
		engine.EventRuleAdded, engine.EventRuleRemoved, engine.EventRuleReplaced, engine.EventTouched,
		engine.EventDisconnected, engine.EventSettingsChanged, engine.EventNamespaceCreated, engine.EventNamespaceRemoved, engine.EventNamespaceChanged,
		engine.EventClockTurned, engine.EventScenePlayed, engine.EventSceneAdded, engine.EventSceneRemoved,
	},
	Arrivals: {engine.EventSent, engine.EventScheduled, engine.EventActivated, engine.EventForwarded},
	Locks: {engine.EventLocked, engine.EventRenewed, engine.EventLockLost, engine.EventAbandoned, engine.EventReleased,
		engine.EventSessionLocked, engine.EventSessionRenewed, engine.EventSessionClosed, engine.EventSessionLost, engine.EventSessionState},
	Deferrals:   {engine.EventDeferred, engine.EventReturned, engine.EventExtended},
	DeadLetters: {engine.EventDeadLettered, engine.EventMoved, engine.EventCopied, engine.EventTransferFailed},
	Removals: {
		engine.EventCompleted, engine.EventReceived, engine.EventExpired, engine.EventDeleted, engine.EventCancelled, engine.EventPurged,
		engine.EventDuplicate, engine.EventUnmatched,
	},
	Access: {
		engine.EventSignedIn, engine.EventSignInFailed, engine.EventSignedOut, engine.EventSignInsEnded,
		engine.EventTokenCreated, engine.EventTokenRevoked, engine.EventReadLinkCreated, engine.EventReadLinkRevoked, engine.EventAccessChanged,
	},
	Server: {
		engine.EventStarted, engine.EventStopped, engine.EventReadOnly, engine.EventWritable, engine.EventReopened, engine.EventGap,
		engine.EventMemoryFull, engine.EventMemoryFree,
	},
}

// GroupOf returns the group of a kind, or AnyGroup for a kind added by a later version.
func GroupOf(k engine.EventKind) Group {
	for _, g := range Groups() {
		if slices.Contains(groupKinds[g], k) {
			return g
		}
	}
	return AnyGroup
}

// kinds returns the kinds in f's group that f may return; nil means all.
func (f Filter) kinds() (of []engine.EventKind) {
	if of = slices.Clone(groupKinds[f.Group]); !f.NamespaceOnly {
		return of
	}
	if f.Group == AnyGroup { // without kinds of later versions, because it is unknown whether they belong to the server
		for _, g := range Groups() {
			of = append(of, groupKinds[g]...)
		}
	}
	return slices.DeleteFunc(of, engine.EventKind.OfServer)
}

// systemKinds are the kinds of events that no actor causes.
var systemKinds = append(slices.Clone(groupKinds[Server]), engine.EventEntityAutoDeleted) //nolint:gochecknoglobals // a table

// IsNotable reports whether e is in the scope Notable.
func IsNotable(e engine.Event) bool { return e.Audit || slices.Contains(systemKinds, e.Kind) }

// A Filter selects events. The zero value selects operations of operators and events of the
// server.
type Filter struct {
	Scope         Scope
	Path          engine.Path // of an entity, including its subqueues and subscriptions; empty means any
	Message       engine.Key  // zero means any
	Group         Group
	Actor         string               // substring of the actor, case-insensitive; empty means any
	Text          string               // substring of the reason, the actor or a path, case-insensitive; empty means any
	From          engine.Instant       // inclusive; zero means no bound
	Until         engine.Instant       // exclusive; zero means no bound
	Before        engine.HistoryCursor // only events before this one; zero means no bound
	NamespaceOnly bool                 // leaves out events of the server, which only callers who may see every namespace get
}

// queries returns the history queries that together cover every event f selects; match filters
// their results.
func (f Filter) queries() []engine.HistoryQuery {
	q := engine.HistoryQuery{
		Key: f.Message, Path: f.Path, Kinds: f.kinds(), From: f.From, Until: f.Until, Before: f.Before,
	}
	audit, sys := q, q
	audit.Audit = true
	sys.Kinds = slices.Clone(systemKinds)
	if f.Group != AnyGroup {
		sys.Kinds = slices.DeleteFunc(sys.Kinds, func(k engine.EventKind) bool { return !slices.Contains(q.Kinds, k) })
	}
	switch {
	case f.Scope == All:
		return []engine.HistoryQuery{q}
	case f.Scope == Audit, f.Scope == Notable && len(sys.Kinds) == 0:
		return []engine.HistoryQuery{audit}
	case f.Scope == System && len(sys.Kinds) == 0:
		return nil
	case f.Scope == System:
		return []engine.HistoryQuery{sys}
	default:
		return []engine.HistoryQuery{audit, sys}
	}
}

// searches reports whether f has a condition that a HistoryQuery cannot express.
func (f Filter) searches() bool { return f.Actor != "" || f.Text != "" }

// match reports whether f selects an event that one of its queries returned.
func (f Filter) match(e engine.HistoryEvent) bool {
	if f.NamespaceOnly && e.Kind.OfServer() {
		return false
	}
	if f.Actor != "" && !contains(e.Actor, f.Actor) {
		return false
	}
	return f.Text == "" || contains(e.Reason, f.Text) || contains(e.Actor, f.Text) ||
		contains(string(e.Path), f.Text) || contains(string(e.To), f.Text)
}

func contains(s, part string) bool {
	return strings.Contains(strings.ToLower(s), strings.ToLower(part))
}
