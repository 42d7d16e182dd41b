package recent

import (
	"context"
	"slices"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/views/component"
)

// MaxUses is how many uses of an entity are remembered.
const (
	MaxUses         = 20  // lines of a use history, as many as the engine keeps
	maxUseEvents    = 200 // events that are read for one use history
	maxUseHistories = 500 // entities whose use histories are read
)

// A useHistory lists the uses of a temporary entity from before the broker recorded uses, latest
// first. It is made from the history. It lacks peeks, views and empty receives, which leave no
// event.
type useHistory []engine.Use

// loadUseHistories builds the use histories of temporary entities up to the instant `at`, when the
// broker began to record uses.
func (r *Events) loadUseHistories(ctx context.Context, at engine.Instant) error {
	var entities []engine.EntityState
	err := r.b.Read(ctx, func(look broker.Reader) error {
		entities = TemporaryEntities(look.States(0))
		return nil
	})
	if err != nil {
		return err
	}
	all := map[engine.SubqueueID]useHistory{}
	for _, e := range entities[:min(len(entities), maxUseHistories)] {
		q := engine.HistoryQuery{Path: e.Path, From: e.CreatedAt, Until: at + 1, Limit: maxUseEvents}
		events, err := r.b.History(ctx, q)
		if err != nil {
			return err
		}
		events = slices.DeleteFunc(events, func(e engine.HistoryEvent) bool { return e.At >= at && e.Epoch >= r.epoch })
		if l := usesIn(e.Entity, events); len(l) > 0 {
			all[e.ID] = l
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.useHistories, r.usesCompleteFrom = all, at
	return nil
}

// UseHistory returns the uses of an entity from before the broker began to record uses, and the
// instant when it began.
func (r *Events) UseHistory(e engine.SubqueueID) (l useHistory, began engine.Instant) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.useHistories[e], r.usesCompleteFrom
}

// usesIn returns the uses of e in events, which are newest first. One operation on several
// messages is one use.
func usesIn(e engine.Entity, events []engine.HistoryEvent) (l useHistory) {
	for _, ev := range events {
		what := useOf(e, ev.Event)
		if what == "" {
			continue
		}
		u := engine.Use{At: ev.At, What: what, By: ev.Actor, Counted: true}
		if !slices.Contains(l[max(0, len(l)-3):], u) { // the events of a resubmission alternate between two uses
			l = append(l, u)
		}
		if len(l) == MaxUses {
			break
		}
	}
	return l
}

// useOf returns the engine's name for the use of e that the event ev shows (semantics §10), or ""
// if it shows none.
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
		if kind == engine.Subscription || kind == engine.Topic && ev.Actor == "" { // IDLE-4; a scheduled message that became active has an EventActivated, too
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
		if ev.Actor == "" { // the message expired or reached its max delivery count
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
	case engine.EventSessionLocked:
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

// IdleState returns the state of an entity's idle clock.
func IdleState(e engine.EntityState) component.IdleState {
	switch {
	case e.UnpinnedIdle != 0:
		return component.IdlePinned
	case e.Config.Effective().AutoDeleteOnIdle != 0 && e.KeptAlive:
		return component.IdleHeld
	default:
		return component.IdleRunning
	}
}
