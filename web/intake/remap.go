package intake

import (
	"slices"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// A Remap says what becomes of some properties of messages that are imported. The
// zero value keeps everything.
type Remap struct {
	TTL      string // keep, remaining or drop; empty: keep
	Schedule string // keep, shift or drop; empty: keep
	IDs      string // keep or new; empty: keep
}

// TTLs, Schedules and IDs are the words that a Remap has.
func TTLs() []string { return []string{"keep", "remaining", "drop"} }

// Schedules are those of Remap.Schedule.
func Schedules() []string { return []string{"keep", "shift", "drop"} }

// IDs are those of Remap.IDs.
func IDs() []string { return []string{"keep", "new"} }

// Check refuses words that there are not (engine.ErrArgument).
func (m Remap) Check() error {
	for _, f := range []struct {
		name, word string
		known      []string
	}{{"ttl", m.TTL, TTLs()}, {"schedule", m.Schedule, Schedules()}, {"ids", m.IDs, IDs()}} {
		if f.word != "" && !slices.Contains(f.known, f.word) {
			return argument("'%s' is no word for '%s'.", cut(f.word), f.name)
		}
	}
	return nil
}

// apply changes c as m says; left is false if nothing is left of its time.
func (m Remap) apply(c *engine.Content, s *System, now engine.Instant) (left bool, err error) {
	if (m.TTL == "remaining" || m.Schedule == "shift") && s == nil {
		return false, argument("There is no 'system' with the times that ttl=remaining and schedule=shift need.")
	}
	switch m.TTL {
	case "drop":
		c.TTL = 0
	case "remaining":
		if s.ExpiresAt == nil || s.ScheduledFor != nil { // of a scheduled one nothing has passed yet
			break
		}
		if c.TTL = s.ExpiresAt.Sub(now.Time()); c.TTL <= 0 {
			return false, nil
		}
	}
	if s != nil && s.ScheduledFor != nil { // it may have been rescheduled
		c.ScheduledFor = engine.At(*s.ScheduledFor)
	}
	switch m.Schedule {
	case "drop":
		c.ScheduledFor = 0
	case "shift":
		if c.ScheduledFor != 0 {
			c.ScheduledFor = c.ScheduledFor.Add(max(0, now.Time().Sub(s.ExportedAt)))
		}
	}
	if m.IDs == "new" || c.MessageID == "" {
		c.MessageID = broker.NewMessageID()
	}
	return true, nil
}
