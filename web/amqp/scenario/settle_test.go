package scenario

import (
	"fmt"
	"maps"

	"mayfly/engine/enginetest"
	"mayfly/engine/value"
	"mayfly/web/amqp/amqptest"
	"mayfly/web/amqp/wire"
)

// settle settles the latest delivery of a body on its link, or at $management if the link
// has already settled it.
func (d *executor) settle(c enginetest.Command) error {
	p := d.delivered[c.Arg(0)]
	if p == nil {
		return fmt.Errorf("no client has received %q", c.Arg(0))
	}
	onLink := p.link != nil && !p.link.over && (!p.done || p.by.enlisted[p.id]) && p.by.farewell == nil
	if d.manage && c.Name != "release" || !onLink {
		return d.settleAtManagement(c, p)
	}
	p.done = true
	state := disposition(c)
	_, inside := c.Options["within"]
	if d.silent && !inside {
		if _, err := p.by.dispose(p.id, state, true); err != nil {
			return err
		}
		if err := d.let(p); err != nil {
			return err
		}
		return enginetest.ErrNoAnswer
	}
	got, err := p.by.dispose(p.id, d.within(c, state), false)
	if err == nil {
		err = settled(state, got)
	}
	if err == nil {
		err = d.let(p)
	}
	return err
}

// let detaches the link of a delivery once all deliveries of that link are settled.
func (d *executor) let(p *parcel) error {
	if p.last == nil {
		return nil
	}
	for other := range maps.Values(d.delivered) {
		if other.last == p.last && !other.done {
			return nil
		}
	}
	return p.by.detach(p.last)
}

// disposition returns the outcome with which a link executes a command.
func disposition(c enginetest.Command) wire.State {
	switch c.Name {
	case "complete":
		return wire.Accepted{}
	case "release":
		return wire.Released{}
	case "abandon", "defer":
		return wire.Modified{UndeliverableHere: c.Name == "defer", MessageAnnotations: modified(c)}
	default:
		info := modified(c)
		for name, key := range map[string]string{"reason": "DeadLetterReason", "description": "DeadLetterErrorDescription"} {
			if text := c.Options[name]; text != "" {
				info = append(info, value.Property{Name: key, Value: value.OfString(text)})
			}
		}
		return wire.Rejected{Error: &wire.Error{Condition: "com.microsoft:dead-letter", Info: info}}
	}
}

func modified(c enginetest.Command) (out value.Properties) {
	for _, name := range c.Names {
		if name != "reason" && name != "description" && name != "within" {
			out = append(out, value.Property{Name: name, Value: value.OfString(c.Options[name])})
		}
	}
	return out
}

// settled returns nil if the server answered with the state that was asked for, and otherwise an
// error.
func settled(asked, got wire.State) error {
	if t, ok := got.(wire.Transactional); ok {
		got = t.Outcome
	}
	if r, ok := got.(wire.Rejected); ok && r.Error != nil {
		return refusal(r.Error)
	}
	if got == nil || asked.StateCode() != got.StateCode() {
		return fmt.Errorf("%#v was answered with %#v", asked, got)
	}
	return nil
}

func (d *executor) settleAtManagement(c enginetest.Command, p *parcel) error {
	status, ok := map[string]string{"complete": "completed", "abandon": "abandoned", "defer": "defered", "dead-letter": "suspended"}[c.Name]
	if !ok {
		return fmt.Errorf("%s, but not on the link of its delivery: %w", c.Name, enginetest.ErrUnsupported)
	}
	body := value.Properties{
		{Name: "disposition-status", Value: value.OfString(status)},
		{Name: "lock-tokens", Value: value.OfRaw(wire.AppendArray(nil, value.UUID, value.OfUUID(p.token)))},
	}
	for name, key := range map[string]string{"reason": "deadletter-reason", "description": "deadletter-description"} {
		if text := c.Options[name]; text != "" {
			body = append(body, value.Property{Name: key, Value: value.OfString(text)})
		}
	}
	if m := modified(c); m != nil {
		body = append(body, value.Property{Name: "properties-to-modify", Value: value.OfRaw(wire.AppendMap(nil, m))})
	}
	body = inSession(body, p.session)
	by := p.by
	if by.farewell != nil {
		by = d.main
	}
	_, why, err := by.ask(p.path, "update-disposition", d.within(c, nil), body)
	p.done = true
	if err == nil && p.by.farewell == nil {
		err = d.let(p)
	}
	if err != nil {
		return err
	}
	if _, ok := p.session.Get(); ok && why != nil && why.Condition == "com.microsoft:message-lock-lost" {
		why.Condition = "com.microsoft:session-lock-lost" // SES-21: the engine's client does not name the link that holds the session
	}
	return refusal(why)
}

func inSession(body value.Properties, id wire.Opt[string]) value.Properties {
	if id, ok := id.Get(); ok {
		body = append(body, value.Property{Name: "session-id", Value: value.OfString(id)})
	}
	return body
}

// transact declares and discharges transactions.
func (d *executor) transact(c enginetest.Command) ([]string, error) {
	if d.coordinator == nil {
		l, err := d.main.attach(amqptest.CoordinatorAttach(0))
		if err != nil {
			return nil, err
		}
		if why := l.refused(); why != nil {
			return nil, fmt.Errorf("%s: %w", why.Description, enginetest.ErrUnsupported)
		}
		d.coordinator = l
	}
	name := c.Arg(0)
	ask := (&wire.Declare{}).Append(nil)
	if c.Name != "transaction" {
		ask = (&wire.Discharge{TxnID: d.begun[name], Fail: c.Name == "rollback"}).Append(nil)
	}
	got, err := d.main.send(d.coordinator, 0, nil, wire.AppendSection(nil, wire.SectionValue, ask), 1024)
	if err != nil {
		return nil, err
	}
	if declared, ok := got.(wire.Declared); ok && c.Name == "transaction" {
		d.begun[name] = declared.TxnID
		return nil, nil
	}
	if err := outcome(got); err != nil {
		return nil, err
	}
	if c.Name == "commit" {
		return nil, enginetest.ErrNoResult
	}
	return nil, nil
}
