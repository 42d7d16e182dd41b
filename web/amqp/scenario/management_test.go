package scenario

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"mayfly/engine/enginetest"
	"mayfly/engine/value"
	"mayfly/web/amqp/wire"
)

// manageIt runs a command by a request to $management.
func (d *executor) manageIt(c enginetest.Command) ([]string, error) {
	switch c.Name {
	case "renew":
		p := d.delivered[c.Arg(0)]
		if p == nil {
			return nil, fmt.Errorf("no client has received %q", c.Arg(0))
		}
		_, err := d.ask(d.main, p.path, "renew-lock", value.Properties{
			{Name: "lock-tokens", Value: value.OfRaw(wire.AppendArray(nil, value.UUID, value.OfUUID(p.token)))},
		})
		return nil, err
	case "renew-session":
		r := d.named[c.Arg(0)]
		_, err := d.ask(r.by, r.path, "renew-session-lock", inSession(nil, r.session))
		return nil, err
	case "state":
		return d.state(c)
	case "sessions":
		return d.sessions(c)
	case "peek":
		return d.peek(c)
	case "cancel":
		seqs, err := numbers(c)
		if err == nil {
			_, err = d.ask(d.main, c.Path(0), "cancel-scheduled-message", seqs)
		}
		return nil, err
	case "fetch":
		return d.fetch(c)
	case "rules":
		return nil, d.rules(c)
	default:
		n, err := strconv.Atoi(c.Arg(1))
		if err != nil {
			return nil, fmt.Errorf("how many: %w", err)
		}
		got, err := d.ask(d.main, c.Path(0), "batch-delete-messages", value.Properties{
			{Name: "message-count", Value: value.OfInt(int32(n))}, {Name: "enqueued-time-utc", Value: value.OfTimestamp(lastDate)},
		})
		if err != nil {
			return nil, err
		}
		deleted, _ := got.Lookup("message-count")
		if got == nil {
			deleted = value.OfInt(0)
		}
		return []string{deleted.Text()}, nil
	}
}

// lastDate is the end of the year 9999, which clients send as a wildcard.
const lastDate = 253402300799999

func (d *executor) ask(by *caller, path, operation string, body value.Properties) (value.Properties, error) {
	got, why, err := by.ask(path, operation, nil, body)
	if err == nil {
		err = refusal(why)
	}
	return got, err
}

func (d *executor) state(c enginetest.Command) ([]string, error) {
	r := d.named[c.Arg(0)]
	text, sets := c.Options["set"]
	body := inSession(nil, r.session)
	switch {
	case sets:
		body = append(body, value.Property{Name: "session-state", Value: value.OfBinary([]byte(text))})
	case c.Arg(1) == "clear":
		body = append(body, value.Property{Name: "session-state"})
	default:
		got, err := d.ask(r.by, r.path, "get-session-state", body)
		if err != nil {
			return nil, err
		}
		v, _ := got.Lookup("session-state")
		if v.Kind() == value.Null {
			return []string{"none"}, nil
		}
		b, _ := v.Bytes()
		return []string{string(b)}, nil
	}
	_, err := d.ask(r.by, r.path, "set-session-state", body)
	return nil, err
}

func (d *executor) sessions(c enginetest.Command) ([]string, error) {
	skip, err := amount(c, "skip")
	if c.Options["skip"] == "" {
		skip = 0
	}
	top, wrong := amount(c, "top")
	if c.Options["top"] == "" {
		top = 100
	}
	if err := errors.Join(err, wrong); err != nil {
		return nil, err
	}
	got, err := d.ask(d.main, c.Path(0), "get-message-sessions", value.Properties{
		{Name: "last-updated-time", Value: value.OfTimestamp(lastDate + 1)},
		{Name: "skip", Value: value.OfInt(int32(skip))}, {Name: "top", Value: value.OfInt(int32(top))},
	})
	if err != nil || got == nil {
		return []string{nothing}, err
	}
	ids, err := elements(got, "sessions-ids", wire.ParseArray)
	var lines []string
	for _, id := range ids {
		lines = append(lines, id.Text())
	}
	return lines, err
}

// elements returns those of an array or list in a response.
func elements(in value.Properties, name string, parse func([]byte) ([]value.Value, error)) ([]value.Value, error) {
	v, _ := in.Lookup(name)
	raw, _ := v.Bytes()
	out, err := parse(raw)
	if err != nil {
		return nil, fmt.Errorf("the answer's %s: %w", name, err)
	}
	return out, nil
}

// entries returns the maps in a list of a response.
func entries(in value.Properties, name string) (out []value.Properties, err error) {
	all, err := elements(in, name, wire.ParseList)
	for _, v := range all {
		raw, _ := v.Bytes()
		m, err := wire.ParseMap(raw)
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, err
}

func numbers(c enginetest.Command) (value.Properties, error) {
	seqs, err := c.Numbers(1)
	var all []value.Value
	for _, n := range seqs {
		all = append(all, value.OfLong(n))
	}
	return value.Properties{{Name: "sequence-numbers", Value: value.OfRaw(wire.AppendArray(nil, value.Long, all...))}}, err
}

func (d *executor) peek(c enginetest.Command) (lines []string, err error) {
	from := int64(0)
	if text := c.Options["from"]; text != "" {
		if from, err = strconv.ParseInt(strings.TrimPrefix(text, "#"), 10, 64); err != nil {
			return nil, err
		}
	}
	body := value.Properties{{Name: "from-sequence-number", Value: value.OfLong(from)}, {Name: "message-count", Value: value.OfInt(250)}}
	if id := c.Options["session"]; id != "" {
		body = inSession(body, wire.Some(id))
	}
	got, err := d.ask(d.main, c.Path(0), "peek-message", body)
	if err != nil || got == nil {
		return nil, err
	}
	found, err := entries(got, "messages")
	for _, m := range found {
		v, _ := m.Lookup("message")
		b, _ := v.Bytes()
		l, err := d.letter(b, c.Path(0))
		if err != nil {
			return nil, err
		}
		if l.token != [16]byte{} {
			return nil, fmt.Errorf("%s was peeked with a lock token", l.shown)
		}
		lines = append(lines, l.shown.String())
	}
	return lines, err
}

func (d *executor) fetch(c enginetest.Command) (lines []string, err error) {
	by, mode := d.main, uint32(1)
	body, err := numbers(c)
	if err != nil {
		return nil, err
	}
	var session wire.Opt[string]
	if name := c.Options["by"]; name != "" {
		by, session = d.named[name].by, d.named[name].session
		body = inSession(body, session)
	}
	for _, a := range c.Args {
		if a == "delete" {
			mode = 0
		}
	}
	got, err := d.ask(by, c.Path(0), "receive-by-sequence-number", append(body, value.Property{Name: "receiver-settle-mode", Value: value.OfUInt(mode)}))
	if err != nil {
		return nil, err
	}
	found, err := entries(got, "messages")
	for _, m := range found {
		v, _ := m.Lookup("message")
		b, _ := v.Bytes()
		l, err := d.letter(b, c.Path(0))
		if err != nil {
			return nil, err
		}
		if l.shown.State != "deferred" {
			return nil, fmt.Errorf("%s was deferred", l.shown)
		}
		l.shown.State = "" // always the same here
		lines = append(lines, l.shown.String())
		token, locked := m.Lookup("lock-token")
		if locked != (mode == 1) {
			return nil, fmt.Errorf("%s has the lock %v", l.shown, token)
		}
		if l.token, _ = token.UUID(); locked {
			d.delivered[l.body] = &parcel{letter: l, by: by, path: c.Path(0), session: session}
		}
	}
	return lines, err
}

// schedule schedules messages and returns their sequence numbers.
func (d *executor) schedule(c enginetest.Command, m draft, all [][]byte) ([]string, error) {
	var list []value.Value
	for i, message := range all {
		entry := value.Properties{
			{Name: "message-id", Value: value.OfString(strconv.Itoa(i))}, {Name: "message", Value: value.OfBinary(message)},
		}
		if m.session != "" {
			entry = inSession(entry, wire.Some(m.session))
		}
		list = append(list, value.OfRaw(wire.AppendMap(nil, entry)))
	}
	got, why, err := d.main.ask(c.Path(0), "schedule-message", d.within(c, nil), value.Properties{{Name: "messages", Value: value.OfRaw(wire.AppendList(nil, list...))}})
	if err == nil {
		err = refusal(why)
	}
	if err != nil {
		return nil, err
	}
	seqs, err := elements(got, "sequence-numbers", wire.ParseArray)
	var texts []string
	for _, n := range seqs {
		texts = append(texts, "#"+n.Text())
	}
	return []string{strings.Join(texts, " ")}, err
}

func (d *executor) rules(c enginetest.Command) error {
	for _, name := range c.Args[1:] {
		operation, body := "remove-rule", value.Properties{{Name: "rule-name", Value: value.OfString(strings.TrimLeft(name, "+-"))}}
		if strings.HasPrefix(name, "+") {
			sql := value.OfRaw(wire.AppendMap(nil, value.Properties{{Name: "expression", Value: value.OfString("1=1")}}))
			operation = "add-rule"
			body = append(body, value.Property{Name: "rule-description", Value: value.OfRaw(wire.AppendMap(nil, value.Properties{{Name: "sql-filter", Value: sql}}))})
		}
		if _, err := d.ask(d.main, c.Path(0), operation, body); err != nil {
			return err
		}
	}
	return nil
}
