package engine

import (
	"fmt"

	"mayfly/engine/value"
)

// The dead-letter reasons the broker gives itself (§6.2).
const (
	ReasonExpired    = "TTLExpiredException"
	ReasonExhausted  = "MaxDeliveryCountExceeded"
	ReasonNoSession  = "Session ID is null."
	ReasonOutgrown   = "HeaderSizeExceeded"
	ReasonHops       = "MaxTransferHopCountExceeded"
	ReasonForwarding = "ForwardingFailed"
)

func exhausted(n int32) *Extra {
	return &Extra{Reason: ReasonExhausted, Description: fmt.Sprintf("Message could not be consumed after %d delivery attempts.", n)}
}

// deadLetter moves m to its entity's dead-letter queue; x says why and is kept
// with what m had before (DLQ-8).
func (ns *Namespace) deadLetter(now Instant, h *holder, m *message, x *Extra) *Event {
	old := m.extra()
	x.DeadLettered, x.DeadAt, x.Source = true, now, old.Source
	x.Properties, x.Rewritten = merged(old.Properties, x.Properties), old.Rewritten
	next := m.Message
	next.Holder, next.State, next.LockedUntil, next.Extra = h.entity.DeadLetterID, Active, 0, x
	ns.put(m, next)
	ns.changes.hard = true
	ev := ns.event(EventDeadLettered, now, m, h, x.By, x.Reason)
	ev.To = h.entity.dead.path
	return ev
}

func merged(old, over value.Properties) value.Properties {
	if len(over) == 0 {
		return old
	}
	return old.Merge(over)
}
