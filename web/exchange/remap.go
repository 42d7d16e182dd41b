package exchange

import (
	"slices"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/shorten"
)

// A Remap changes properties of imported messages. The zero value keeps everything.
type Remap struct {
	TTL      string // keep, remaining or drop; empty means keep
	Schedule string // keep, shift or drop; empty means keep
	IDs      string // keep or new; empty means keep
}

// TTLs returns the values of Remap.TTL.
func TTLs() []string { return []string{"keep", "remaining", "drop"} }

// Schedules returns the values of Remap.Schedule.
func Schedules() []string { return []string{"keep", "shift", "drop"} }

// IDs returns the values of Remap.IDs.
func IDs() []string { return []string{"keep", "new"} }

// Check returns engine.ErrArgument if m has an unknown value.
func (m Remap) Check() error {
	for _, f := range []struct {
		name, word string
		known      []string
	}{{"ttl", m.TTL, TTLs()}, {"schedule", m.Schedule, Schedules()}, {"ids", m.IDs, IDs()}} {
		if f.word != "" && !slices.Contains(f.known, f.word) {
			return engine.Refuse(engine.ErrArgument, "'%s' is not a value of '%s'.", shorten.Quote(f.word), f.name)
		}
	}
	return nil
}

// apply changes the times and ids of c, using the times in s, which may be nil. It returns false if
// the message has expired under ttl=remaining.
func (m Remap) apply(c *engine.Content, s *System, now engine.Instant) (left bool, err error) {
	if (m.TTL == "remaining" || m.Schedule == "shift") && s == nil {
		return false, engine.Refuse(engine.ErrArgument, "'system' is missing; ttl=remaining and schedule=shift need its times.")
	}
	switch m.TTL {
	case "drop":
		c.TTL = 0
	case "remaining":
		if s.ExpiresAt == nil || s.ScheduledFor != nil { // the time of a scheduled message has not started
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
