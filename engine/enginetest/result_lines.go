package enginetest

import (
	"fmt"
	"strconv"

	"mayfly/engine"
)

// An entityRequest is the entity that a create or update command describes.
type entityRequest struct {
	kind   engine.EntityKind
	path   engine.Path
	config engine.Config
}

// parseEntityRequest parses create and update; state returns an existing entity.
func parseEntityRequest(c Command, limits engine.Limits, state func(engine.Path) (engine.EntityState, error)) (d entityRequest, err error) {
	if c.Name == "create" {
		kinds := map[string]engine.EntityKind{"queue": engine.Queue, "topic": engine.Topic, "subscription": engine.Subscription}
		if d.kind = kinds[c.Arg(0)]; d.kind == 0 {
			return d, fmt.Errorf("there is no kind %q", c.Arg(0))
		}
		d.path = c.path(1)
	} else {
		d.path = c.path(0)
		s, err := state(d.path)
		if err != nil {
			return d, err
		}
		d.kind, d.config = s.Kind, s.Config
	}
	for name, text := range c.Options {
		p, ok := engine.LookupProperty(d.kind, name)
		if !ok {
			return d, fmt.Errorf("a %v has no property %q", d.kind, name)
		}
		if err := p.Set(&d.config, limits, d.kind, text); err != nil {
			return d, err
		}
	}
	return d, nil
}

// eventLine returns an event as a result line, given the body of its message.
func eventLine(e engine.Event, body string) string {
	line := e.Kind.String() + " " + string(e.Path)
	if e.Message.Key != 0 {
		line += fmt.Sprintf(" #%d %s", e.Message.Seq, body)
	}
	if e.Session != "" {
		line += " " + e.Session
	}
	if e.Count != 0 {
		line += fmt.Sprintf(", %d messages", e.Count)
	}
	if e.To != "" {
		line += " to " + string(e.To)
	}
	if e.Reason != "" {
		line += ", " + e.Reason
	}
	return line
}

// classesOf returns the classes with the names that a purge command uses.
func classesOf(names []string) (classes []engine.Class, err error) {
	for _, name := range names {
		class, ok := map[string]engine.Class{"active": engine.ClassActive, "deferred": engine.ClassDeferred, "scheduled": engine.ClassScheduled}[name]
		if !ok {
			return nil, fmt.Errorf("there is no state %q to purge", name)
		}
		classes = append(classes, class)
	}
	return classes, nil
}

func purgeLine(p engine.Purge) string {
	line := strconv.FormatInt(p.Removed, 10)
	if p.Skipped > 0 {
		line += fmt.Sprintf(", %d locked", p.Skipped)
	}
	return line
}
