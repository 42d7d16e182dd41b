package entity

import (
	"context"

	"mayfly/views/locale"
	"mayfly/views/page"
)

// A statusOperation is an operation that an entity's status can disable.
type statusOperation uint8

const (
	operationSend statusOperation = 1 << iota
	operationReceive
	operationRules // its rules can be changed (STAT-9)
)

// statuses returns the statuses that a kind of entity can have (§1.4).
func statuses(kind page.EntityKind) []Status {
	switch kind {
	case page.Topic:
		return []Status{StatusActive, StatusSendDisabled, StatusDisabled}
	case page.Subscription:
		return []Status{StatusActive, StatusReceiveDisabled, StatusDisabled}
	default:
		return []Status{StatusActive, StatusSendDisabled, StatusReceiveDisabled, StatusDisabled}
	}
}

// operationsOf returns the operations that a kind of entity has.
func operationsOf(kind page.EntityKind) []statusOperation {
	switch kind {
	case page.Topic:
		return []statusOperation{operationSend}
	case page.Subscription:
		return []statusOperation{operationReceive}
	default:
		return []statusOperation{operationSend, operationReceive}
	}
}

// disables returns the operations that a status disables for a kind of entity.
func (s Status) disables(kind page.EntityKind) statusOperation {
	var d statusOperation
	switch s {
	case StatusSendDisabled:
		d = operationSend
	case StatusReceiveDisabled:
		d = operationReceive
	case StatusDisabled:
		d = operationSend | operationReceive | operationRules
	}
	has := statusOperation(0)
	for _, one := range operationsOf(kind) {
		has |= one
	}
	if kind != page.Queue {
		has |= operationRules
	}
	return d & has
}

// needsConfirmation reports whether a change of status disables an operation, and therefore
// needs confirmation.
func (s Status) needsConfirmation(to Status, kind page.EntityKind) bool {
	return to.disables(kind)&^s.disables(kind) != 0
}

// DisabledText returns what a status means for a kind of entity, as a sentence.
func (s Status) DisabledText(ctx context.Context, kind page.EntityKind) string {
	switch {
	case s == StatusActive:
		return locale.T(ctx, "switch.open")
	case kind == page.Topic && s == StatusSendDisabled:
		return locale.T(ctx, "switch.topic.send")
	case kind == page.Topic:
		return locale.T(ctx, "switch.topic.all")
	case kind == page.Subscription && s == StatusReceiveDisabled:
		return locale.T(ctx, "switch.subscription.receive")
	case kind == page.Subscription:
		return locale.T(ctx, "switch.subscription.all")
	case s == StatusSendDisabled:
		return locale.T(ctx, "switch.queue.send")
	case s == StatusReceiveDisabled:
		return locale.T(ctx, "switch.queue.receive")
	default:
		return locale.T(ctx, "switch.queue.all")
	}
}

// Stop returns the text id of the action that sets a status which disables operations.
func (s Status) Stop() string {
	switch s {
	case StatusSendDisabled:
		return "switch.do.send"
	case StatusReceiveDisabled:
		return "switch.do.receive"
	default:
		return "switch.do.all"
	}
}

// actionLabel returns the label of a change of status: the operations it enables, or else
// those it disables, with an ellipsis because it asks for confirmation.
func (s Status) actionLabel(ctx context.Context, to Status, kind page.EntityKind) string {
	opens := s.disables(kind) &^ to.disables(kind)
	switch {
	case s.needsConfirmation(to, kind):
		return locale.T(ctx, to.Stop()) + "…"
	case to == StatusActive:
		return locale.T(ctx, "switch.do.open")
	case opens&operationSend != 0:
		return locale.T(ctx, "switch.do.open.send")
	case opens&operationReceive != 0:
		return locale.T(ctx, "switch.do.open.receive")
	default:
		return locale.T(ctx, "switch.do.open.rules")
	}
}

// Question returns the text id of the title of the form that confirms the change to status s.
func (s Status) Question() string {
	switch s {
	case StatusSendDisabled:
		return "confirm.status.send"
	case StatusReceiveDisabled:
		return "confirm.status.receive"
	case StatusDisabled:
		return "confirm.status.all"
	default:
		return "confirm.status.open"
	}
}
