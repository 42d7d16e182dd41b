package enginetest

import (
	"fmt"
	"strconv"
	"strings"

	"mayfly/engine"
)

// read runs the commands that change nothing, except that they may count as use.
func (x *Engine) read(c Command) (lines []string, err error) {
	switch c.Name {
	case "peek":
		from, err := number(c.Options["from"])
		if err != nil {
			return nil, err
		}
		rows, err := x.peek(c, from)
		for _, r := range rows {
			state := strings.ToLower(r.Message.State.String())
			if r.Message.Locked() {
				state += " locked"
			}
			expires := r.Message.ExpiresAt // without the entity's default time to live (TTL-14)
			if c.path(0).IsDeadLetter() {
				expires = 0
			}
			lines = append(lines, x.show(r.Message, r.Content, expires, strings.TrimPrefix(strings.TrimPrefix(state, "active"), " ")).String())
		}
		return lines, err
	case "counts":
		s, err := x.ns.State(c.path(0))
		if err != nil {
			return nil, err
		}
		return []string{countsLine(s.Counts)}, nil
	case "entities":
		for _, s := range x.ns.States(0) {
			lines = append(lines, string(s.Path))
		}
		return lines, nil
	case "events":
		for _, e := range x.events {
			lines = append(lines, eventLine(e, x.bodies[e.Message.Content]))
		}
		x.events = nil
		return lines, nil
	default:
		return nil, fmt.Errorf("there is no command %q", c.Name)
	}
}

func countsLine(c engine.Counts) string {
	var words []string
	for _, n := range []struct {
		name string
		n    int64
	}{
		{"active", c.Active}, {"locked", c.Locked}, {"deferred", c.Deferred}, {"scheduled", c.Scheduled}, {"dead", c.DeadLetter}, {"of these locked", c.DeadLocked},
		{"to be forwarded", c.Transfer}, {"transfer dead", c.TransferDeadLetter},
	} {
		if n.n != 0 {
			words = append(words, n.name+" "+strconv.FormatInt(n.n, 10))
		}
	}
	if words == nil {
		return "empty"
	}
	return strings.Join(words, ", ")
}
