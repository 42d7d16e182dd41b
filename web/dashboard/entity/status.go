package entity

import (
	"slices"

	"mayfly/engine"
	"mayfly/web/dashboard/pages"
)

// ParseStatus parses a status that an entity of this kind can have. ok is false for any other
// (semantics §1.4).
func ParseStatus(kind engine.EntityKind, name string) (s engine.Status, ok bool) {
	all := []engine.Status{engine.StatusActive, engine.StatusDisabled}
	if kind != engine.Subscription {
		all = append(all, engine.StatusSendDisabled)
	}
	if kind != engine.Topic {
		all = append(all, engine.StatusReceiveDisabled)
	}
	i := slices.IndexFunc(all, func(s engine.Status) bool { return s.String() == name })
	if i < 0 {
		return 0, false
	}
	return all[i], true
}

// StopsOperation reports whether a change of status stops sends, receives or changes of rules
// (STAT-9).
func StopsOperation(kind engine.EntityKind, from, to engine.Status) bool {
	return kind != engine.Subscription && pages.AllowsSend(from) && !pages.AllowsSend(to) ||
		kind != engine.Topic && pages.AllowsReceive(from) && !pages.AllowsReceive(to) ||
		kind != engine.Queue && from != engine.StatusDisabled && to == engine.StatusDisabled
}
