package page

import (
	"context"

	"mayfly/views/locale"
)

// A door is one direction that an entity can be shut in.
type door uint8

const (
	sending door = 1 << iota
	receiving
	ruling // its rules can be changed (STAT-9)
)

// statuses are those that a kind of entity can be set to (§1.4).
func statuses(kind Kind) []Status {
	switch kind {
	case Topic:
		return []Status{Open, SendDisabled, Disabled}
	case Subscription:
		return []Status{Open, ReceiveDisabled, Disabled}
	default:
		return []Status{Open, SendDisabled, ReceiveDisabled, Disabled}
	}
}

// doors are the directions that a kind of entity has.
func doors(kind Kind) []door {
	switch kind {
	case Topic:
		return []door{sending}
	case Subscription:
		return []door{receiving}
	default:
		return []door{sending, receiving}
	}
}

// shuts is what a status shuts at an entity of a kind.
func (s Status) shuts(kind Kind) door {
	var d door
	switch s {
	case SendDisabled:
		d = sending
	case ReceiveDisabled:
		d = receiving
	case Disabled:
		d = sending | receiving | ruling
	}
	has := door(0)
	for _, one := range doors(kind) {
		has |= one
	}
	if kind != Queue {
		has |= ruling
	}
	return d & has
}

// asks says whether changing from one status to another stops something that
// goes on now, and is therefore asked about first.
func (s Status) asks(to Status, kind Kind) bool { return to.shuts(kind)&^s.shuts(kind) != 0 }

// stops is what a status means for an entity of a kind, in a sentence.
func (s Status) stops(ctx context.Context, kind Kind) string {
	switch {
	case s == Open:
		return locale.T(ctx, "switch.open")
	case kind == Topic && s == SendDisabled:
		return locale.T(ctx, "switch.topic.send")
	case kind == Topic:
		return locale.T(ctx, "switch.topic.all")
	case kind == Subscription && s == ReceiveDisabled:
		return locale.T(ctx, "switch.subscription.receive")
	case kind == Subscription:
		return locale.T(ctx, "switch.subscription.all")
	case s == SendDisabled:
		return locale.T(ctx, "switch.queue.send")
	case s == ReceiveDisabled:
		return locale.T(ctx, "switch.queue.receive")
	default:
		return locale.T(ctx, "switch.queue.all")
	}
}

// stop is the id of the words that switch to a status which stops something.
func (s Status) stop() string {
	switch s {
	case SendDisabled:
		return "switch.do.send"
	case ReceiveDisabled:
		return "switch.do.receive"
	default:
		return "switch.do.all"
	}
}

// verb is the words that switch from one status to another: what that opens, or
// else what it stops, where it is asked about first.
func (s Status) verb(ctx context.Context, to Status, kind Kind) string {
	opens := s.shuts(kind) &^ to.shuts(kind)
	switch {
	case s.asks(to, kind):
		return locale.T(ctx, to.stop()) + "…"
	case to == Open:
		return locale.T(ctx, "switch.do.open")
	case opens&sending != 0:
		return locale.T(ctx, "switch.do.open.send")
	case opens&receiving != 0:
		return locale.T(ctx, "switch.do.open.receive")
	default:
		return locale.T(ctx, "switch.do.open.rules")
	}
}
