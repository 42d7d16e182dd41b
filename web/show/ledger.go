package show

import (
	"context"
	"slices"

	"mayfly/engine"
	"mayfly/engine/broker"
)

const (
	ledgerUses   = 20  // lines of an idle ledger, as many as the engine keeps
	ledgerEvents = 200 // of the history that are read for one
	ledgersMost  = 500 // entities whose ledgers are looked for
)

// A ledger is what the history tells of the uses of a temporary entity before
// the broker kept them itself, latest first. It knows no peeks, looks, and receives that found
// nothing, for these leave no event.
type ledger []engine.Use

// learnLedgers makes the ledgers of entities as they were at an instant, when
// the broker began to keep them anew.
func (r *Recent) learnLedgers(ctx context.Context, at engine.Instant) error {
	var entities []engine.EntityState
	err := r.b.Read(ctx, func(look broker.Reader) error {
		entities = temporaries(look.States(0))
		return nil
	})
	if err != nil {
		return err //nolint:wrapcheck // remind says what it is about
	}
	all := map[engine.HolderID]ledger{}
	for _, e := range entities[:min(len(entities), ledgersMost)] {
		q := engine.PastQuery{Path: e.Path, From: e.CreatedAt, Until: at + 1, Limit: ledgerEvents}
		events, err := r.b.Past(ctx, q)
		if err != nil {
			return err //nolint:wrapcheck // remind says what it is about
		}
		events = slices.DeleteFunc(events, func(e engine.PastEvent) bool { return e.At >= at && e.Epoch >= r.epoch })
		if l := ledgerOf(e.Entity, events); len(l) > 0 {
			all[e.ID] = l
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ledgers, r.known = all, at
	return nil
}

// ledger is what is known of an entity's uses before the broker kept them, and
// when that began.
func (r *Recent) ledger(e engine.HolderID) (l ledger, began engine.Instant) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ledgers[e], r.known
}

// ledgerOf reads the uses of e out of events, which come newest first. One
// operation on several messages is one use.
func ledgerOf(e engine.Entity, events []engine.PastEvent) (l ledger) {
	for _, ev := range events {
		what := useOf(e, ev.Event)
		if what == "" {
			continue
		}
		u := engine.Use{At: ev.At, What: what, By: ev.Actor, Counted: true}
		if !slices.Contains(l[max(0, len(l)-3):], u) { // a resubmission is a use of two sorts, by turns
			l = append(l, u)
		}
		if len(l) == ledgerUses {
			break
		}
	}
	return l
}

// useOf is what an event was as a use of e, in the engine's word (semantics
// §10); empty if it was none.
func useOf(e engine.Entity, ev engine.Event) string {
	at, own := ev.Path.Entity(), e.Path.Fold()
	topic, _, sub := at.Subscription()
	beneath := e.Kind == engine.Topic && sub && engine.Path(topic).Fold() == own // IDLE-3
	switch {
	case at.Fold() == own || beneath:
		return useHere(e.Kind, ev)
	case ev.To.Fold() == own && (ev.Kind == engine.EventMoved || ev.Kind == engine.EventCopied || ev.Kind == engine.EventForwarded):
		return "send"
	default:
		return ""
	}
}

func useHere(kind engine.EntityKind, ev engine.Event) string {
	switch ev.Kind {
	case engine.EventSent:
		if kind == engine.Subscription || kind == engine.Topic && ev.Actor == "" { // IDLE-4; or it became active, which has an event too
			return ""
		}
		return "send"
	case engine.EventScheduled:
		if ev.Reason == "rescheduled" {
			return "reschedule"
		}
		return "send"
	case engine.EventActivated:
		if ev.Audit {
			return "send now"
		}
		return "activate"
	case engine.EventLockLost:
		if ev.Audit {
			return "break lock"
		}
		return ""
	case engine.EventDeadLettered:
		if ev.Actor == "" { // its time or its tries ran out
			return ""
		}
		return "dead-letter"
	case engine.EventEntityDeleted:
		return "delete subscription"
	case engine.EventLocked, engine.EventReceived:
		return "receive"
	case engine.EventRenewed, engine.EventSessionRenewed:
		return "renew"
	case engine.EventCompleted:
		return "complete"
	case engine.EventAbandoned:
		return "abandon"
	case engine.EventReleased:
		return "release"
	case engine.EventDeferred:
		return "defer"
	case engine.EventReturned:
		return "return"
	case engine.EventExtended:
		return "extend"
	case engine.EventMoved, engine.EventCopied:
		return "resubmit"
	case engine.EventDeleted:
		return "delete"
	case engine.EventCancelled:
		return "cancel"
	case engine.EventPurged:
		return "purge"
	case engine.EventEntityCreated:
		return "create"
	case engine.EventEntityUpdated:
		if ev.Reason == "pin" || ev.Reason == "unpin" {
			return ev.Reason
		}
		return "update"
	case engine.EventTouched:
		return "touch"
	case engine.EventSessionTaken:
		return "receive"
	case engine.EventSessionLost:
		if ev.Audit {
			return "break lock"
		}
		return ""
	case engine.EventSessionState:
		return "session state"
	case engine.EventDuplicate: // IDLE-4
		return "send"
	case engine.EventRuleAdded:
		return "add rule"
	case engine.EventRuleRemoved:
		return "remove rule"
	default:
		return ""
	}
}
