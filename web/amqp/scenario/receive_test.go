package scenario

import (
	"fmt"
	"slices"
	"strconv"
	"testing/synctest"
	"time"

	"mayfly/engine"
	"mayfly/engine/enginetest"
	"mayfly/engine/value"
	"mayfly/web/amqp/amqptest"
	"mayfly/web/amqp/wire"
)

// attach attaches a receiving link.
func (d *executor) attach(by *caller, c enginetest.Command, change func(*wire.Attach)) (*receiver, error) {
	r := &receiver{by: by, path: c.Path(0), deletes: slices.Contains(c.Args, "delete")}
	a := amqptest.ReceiverAttach(0, r.path)
	if r.deletes {
		a.SenderSettleMode, a.ReceiverSettleMode = wire.Some(wire.SenderSettled), wire.Some(wire.ReceiverFirst)
	}
	if change != nil {
		change(&a)
	}
	var err error
	r.link, err = by.attach(a)
	return r, err
}

func (d *executor) receive(c enginetest.Command) ([]string, error) {
	n, err := amount(c, "n")
	if err != nil {
		return nil, err
	}
	r, err := d.attach(d.main, c, nil)
	if err == nil {
		err = refusal(r.link.refused())
	}
	if err != nil {
		return nil, err
	}
	lines, err := d.drain(r, n, r.link)
	if err == nil && (r.deletes || len(lines) == 1 && lines[0] == nothing) {
		err = r.by.detach(r.link)
	}
	return lines, err
}

const nothing = "nothing"

// drain returns up to n messages that a receiver gets without waiting.
func (d *executor) drain(r *receiver, n int, last *end) ([]string, error) {
	var err error
	if !d.together {
		err = r.by.credit(r.link, uint32(n), false)
	}
	if left := n - len(r.link.got); err == nil && left > 0 && !r.link.over {
		err = r.by.credit(r.link, uint32(left), true)
	}
	if err != nil {
		return nil, err
	}
	if why := r.link.refused(); why != nil {
		return nil, refusal(why)
	}
	if !r.link.dry && len(r.link.got) < n {
		return nil, fmt.Errorf("of %d messages %d arrived, and the drain got no answer", n, len(r.link.got))
	}
	return d.unpack(r, last)
}

// unpack returns the messages that a receiver got, as lines.
func (d *executor) unpack(r *receiver, last *end) (lines []string, err error) {
	for _, t := range r.link.got {
		l, err := d.letter(t.Payload, r.path)
		if err != nil {
			return nil, err
		}
		lines = append(lines, l.shown.String())
		if settled := t.Settled.Or(false); settled != r.deletes {
			return nil, fmt.Errorf("%s is settled: %v", l.shown, settled)
		}
		if r.deletes {
			continue
		}
		if len(t.DeliveryTag) != 16 || guid([16]byte(t.DeliveryTag)) != l.token {
			return nil, fmt.Errorf("%s has the tag % x and the token % x", l.shown, t.DeliveryTag, l.token)
		}
		if !l.lockedUntil.After(time.Now()) {
			return nil, fmt.Errorf("%s is locked until %v", l.shown, l.lockedUntil)
		}
		d.delivered[l.body] = &parcel{letter: l, by: r.by, path: r.path, session: r.session, link: r.link, id: t.DeliveryID.Or(0), last: last}
	}
	r.link.got = nil
	if lines == nil {
		lines = []string{nothing}
	}
	return lines, nil
}

// guid returns the UUID of a delivery tag, which has the byte order of a .NET Guid.
func guid(b [16]byte) (id [16]byte) {
	for i, from := range [16]int{3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15} {
		id[i] = b[from]
	}
	return id
}

func (d *executor) letter(b []byte, path string) (letter, error) {
	return read(b, time.Now().Truncate(time.Millisecond), !engine.Path(path).IsDeadLetter())
}

func (d *executor) open(c enginetest.Command) error {
	n, err := amount(c, "credit")
	if err != nil {
		return err
	}
	by, err := d.connect()
	if err != nil {
		return err
	}
	r, err := d.attach(by, c, nil)
	if err == nil {
		err = refusal(r.link.refused())
	}
	if err == nil {
		err = by.credit(r.link, uint32(n), false)
	}
	if err == nil {
		d.named[c.Options["as"]] = r
	}
	return err
}

func (d *executor) got(c enginetest.Command) ([]string, error) {
	r := d.named[c.Arg(0)]
	if err := r.by.hear(); err != nil {
		return nil, err
	}
	return d.unpack(r, nil)
}

func (d *executor) accept(c enginetest.Command) ([]string, error) {
	by, err := d.connect()
	if err != nil {
		return nil, err
	}
	want := value.Value{}
	args := slices.DeleteFunc(slices.Clone(c.Args), func(a string) bool { return a == "delete" })
	if len(args) > 1 {
		want = value.OfString(args[1])
	}
	r, err := d.attach(by, c, func(a *wire.Attach) {
		a.Source.Filter = value.Properties{{Name: sessionFilter, Value: value.OfRaw(wire.AppendDescribed(nil, value.OfULong(0x137000000c), want))}}
		a.Properties = value.Properties{{Name: "com.microsoft:timeout", Value: value.OfUInt(0)}}
	})
	if err == nil && r.link.answer == nil { // the wait of zero ends as soon as time passes
		time.Sleep(time.Nanosecond)
		err = by.hear()
	}
	if err != nil {
		return nil, err
	}
	if why := r.link.refused(); why != nil {
		if err := by.goodbye(); err != nil {
			return nil, err
		}
		return nil, refusal(why)
	}
	of, _ := r.link.answer.Source.Filter.Lookup(sessionFilter)
	raw, _ := of.Bytes()
	_, got, err := wire.ParseDescribed(raw)
	if err != nil {
		return nil, fmt.Errorf("the session that was given: %w", err)
	}
	id, ok := got.Str()
	until, timed := r.link.answer.Properties.Lookup("com.microsoft:locked-until-utc")
	if ticks, _ := until.Int64(); !ok || !timed || ticks <= wire.DotNetTicks(time.Now().UnixMilli()) {
		return nil, fmt.Errorf("the session is %v, locked until %v", got, until)
	}
	r.session = wire.Some(id)
	d.named[c.Options["as"]] = r
	return []string{id}, nil
}

const sessionFilter = "com.microsoft:session-filter"

func (d *executor) take(c enginetest.Command) ([]string, error) {
	n, err := amount(c, "n")
	if err != nil {
		return nil, err
	}
	r := d.named[c.Arg(0)]
	if err := r.by.hear(); err != nil {
		return nil, err
	}
	if why := r.link.refused(); why != nil {
		return nil, refusal(why)
	}
	return d.drain(r, n, nil)
}

func (d *executor) leave(c enginetest.Command) error {
	r := d.named[c.Arg(0)]
	if c.Name == "leave" {
		r.by.farewell = &wire.Close{}
		r.by.Disconnect()
		synctest.Wait()
		return nil
	}
	if err := r.by.detach(r.link); err != nil {
		return err
	}
	return r.by.goodbye()
}

// amount returns the number in a command's option, or 1 if the command does not have it.
func amount(c enginetest.Command, name string) (int, error) {
	text, ok := c.Options[name]
	if !ok {
		return 1, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	return n, nil
}
