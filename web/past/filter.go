// Package past picks events of the history as people ask for them: what
// operators did, what happened to the server, or everything; of one entity, one
// sort, one actor, between two instants. The page of activity, its exports and
// the JSON API read the same words and get the same events.
//
//	Filter        what is asked for, and the words of an address for it
//	Look          a part of what a filter picks, and where it goes on
//	Event         one of them as JSON, or as a line of CSV
package past

import (
	"slices"
	"strings"

	"mayfly/engine"
)

// A Scope says how much is asked for, as addresses write it.
type Scope string

// The scopes.
const (
	Notable Scope = ""       // what operators did and what happened to the server
	Audit   Scope = "audit"  // what operators did
	System  Scope = "system" // what happened to the server, and what deleted itself
	All     Scope = "all"    // that, and what happened to every message
)

// Scopes are all scopes there are.
func Scopes() []Scope { return []Scope{Notable, Audit, System, All} }

// A Group is a sort of events, as addresses write it.
type Group string

// The groups.
const (
	AnyGroup    Group = ""
	Entities    Group = "entities"     // entities and rules came, changed, went; idle clocks were put back by hand
	Arrivals    Group = "arrivals"     // messages were stored or became active
	Locks       Group = "locks"        // messages were handed out and given back
	Aside       Group = "aside"        // messages were set aside, taken up again, given more time
	DeadLetters Group = "dead-letters" // messages became dead letters, or were resubmitted
	Ends        Group = "ends"         // messages are no more
	Access      Group = "access"       // who came to the dashboard, and what others were given to come with: tokens, links, keys
	Server      Group = "server"       // the server itself
)

// Groups are all groups there are.
func Groups() []Group {
	return []Group{AnyGroup, Entities, Arrivals, Locks, Aside, DeadLetters, Ends, Access, Server}
}

// kinds are the events of a group; every kind is in one.
func (g Group) kinds() []engine.EventKind {
	switch g {
	case Entities:
		return []engine.EventKind{
			engine.EventEntityCreated, engine.EventEntityUpdated, engine.EventEntityDeleted, engine.EventEntityAutoDeleted,
			engine.EventRuleAdded, engine.EventRuleRemoved, engine.EventRuleReplaced, engine.EventTouched,
			engine.EventDisconnected, engine.EventSettingsChanged, engine.EventNamespaceCreated, engine.EventNamespaceRemoved, engine.EventNamespaceChanged,
			engine.EventClockTurned, engine.EventScenePlayed, engine.EventSceneAdded, engine.EventSceneRemoved,
		}
	case Arrivals:
		return []engine.EventKind{engine.EventSent, engine.EventScheduled, engine.EventActivated, engine.EventForwarded}
	case Locks:
		return []engine.EventKind{engine.EventLocked, engine.EventRenewed, engine.EventLockLost, engine.EventAbandoned, engine.EventReleased,
			engine.EventSessionTaken, engine.EventSessionRenewed, engine.EventSessionClosed, engine.EventSessionLost, engine.EventSessionState}
	case Aside:
		return []engine.EventKind{engine.EventDeferred, engine.EventReturned, engine.EventExtended}
	case DeadLetters:
		return []engine.EventKind{engine.EventDeadLettered, engine.EventMoved, engine.EventCopied, engine.EventTransferFailed}
	case Ends:
		return []engine.EventKind{
			engine.EventCompleted, engine.EventReceived, engine.EventExpired, engine.EventDeleted, engine.EventCancelled, engine.EventPurged,
			engine.EventDuplicate, engine.EventUnmatched,
		}
	case Access:
		return []engine.EventKind{
			engine.EventSignedIn, engine.EventSignInFailed, engine.EventSignedOut, engine.EventSignInsEnded,
			engine.EventTokenMade, engine.EventTokenRevoked, engine.EventLinkMade, engine.EventLinkRevoked, engine.EventAccessChanged,
		}
	case Server:
		return []engine.EventKind{
			engine.EventStarted, engine.EventStopped, engine.EventReadOnly, engine.EventWritable, engine.EventReopened, engine.EventGap,
		}
	default:
		return nil
	}
}

// GroupOf is the group that a kind is in; AnyGroup for one that a later version
// made.
func GroupOf(k engine.EventKind) Group {
	for _, g := range Groups() {
		if slices.Contains(g.kinds(), k) {
			return g
		}
	}
	return AnyGroup
}

// kinds are the events of f's group that f may have; nil for all that there are.
func (f Filter) kinds() (of []engine.EventKind) {
	if of = f.Group.kinds(); !f.Within {
		return of
	}
	if f.Group == AnyGroup { // not those of a later version, of which nobody knows what they tell
		for _, g := range Groups() {
			of = append(of, g.kinds()...)
		}
	}
	return slices.DeleteFunc(of, engine.EventKind.OfServer)
}

// system are the events that nobody did.
func system() []engine.EventKind { return append(Server.kinds(), engine.EventEntityAutoDeleted) }

// IsNotable tells whether the scope Notable has e.
func IsNotable(e engine.Event) bool { return e.Audit || slices.Contains(system(), e.Kind) }

// A Filter says which events are asked for. The zero value is what operators
// did and what happened to the server.
type Filter struct {
	Scope   Scope
	Path    engine.Path // of an entity, with what belongs to it; empty: any
	Message engine.Key  // zero: any
	Group   Group
	Actor   string           // part of who did it, whatever the case; empty: anybody
	Text    string           // part of the reason, the actor or a path, whatever the case; empty: any
	From    engine.Instant   // no earlier; zero: no bound
	Until   engine.Instant   // earlier than this; zero: no bound
	Before  engine.PastPlace // only what comes before this place; zero: no bound
	Within  bool             // nothing that is of the server and not of the namespace, which is for those who may see all
}

// queries are what to ask a history for: all that f picks is in one of them, and
// Match tells the rest apart.
func (f Filter) queries() []engine.PastQuery {
	q := engine.PastQuery{
		Key: f.Message, Path: f.Path, Kinds: f.kinds(), From: f.From, Until: f.Until, Before: f.Before,
	}
	audit, sys := q, q
	audit.Audit = true
	sys.Kinds = system()
	if f.Group != AnyGroup {
		sys.Kinds = slices.DeleteFunc(sys.Kinds, func(k engine.EventKind) bool { return !slices.Contains(q.Kinds, k) })
	}
	switch {
	case f.Scope == All:
		return []engine.PastQuery{q}
	case f.Scope == Audit, f.Scope == Notable && len(sys.Kinds) == 0:
		return []engine.PastQuery{audit}
	case f.Scope == System && len(sys.Kinds) == 0:
		return nil
	case f.Scope == System:
		return []engine.PastQuery{sys}
	default:
		return []engine.PastQuery{audit, sys}
	}
}

// searches tells whether f asks for what a history cannot look up.
func (f Filter) searches() bool { return f.Actor != "" || f.Text != "" }

// match tells whether f picks an event that one of its queries did.
func (f Filter) match(e engine.PastEvent) bool {
	if f.Within && e.OfServer() {
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
