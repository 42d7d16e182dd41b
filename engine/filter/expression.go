package filter

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"unicode/utf8"

	"mayfly/engine/value"
)

// An expr is an expression that has a value.
type expr interface {
	eval(m *Message, how mode) datum
	// reads tells of the properties that eval looks at.
	reads(m *Message, how mode, tell func(Reading))
}

// mode is what evaluation can be asked to do otherwise; zero: nothing.
type mode uint8

// missingFails makes a missing system property fail (FILT-30).
const missingFails mode = 1

// A property is an expression that leads to one property of a message.
type property interface {
	expr
	// find is the value, if there is one. A failure says why there is no
	// answer.
	find(m *Message, how mode) (v value.Value, ok bool, failure string)
}

// A place is a piece of a filter's text, for what is said about it.
type place struct {
	in       string // the whole text
	from, to int    // in bytes
}

func (p place) text() string { return p.in[p.from:p.to] }

// runes is where the place is for people.
func (p place) runes() (from, to int) {
	from = utf8.RuneCountInString(p.in[:p.from])
	return from, from + utf8.RuneCountInString(p.text())
}

// say makes a sentence with the place as its subject.
func (p place) say(verb string) string {
	at, _ := p.runes()
	return fmt.Sprintf("%s at character %d %s.", shorten(p.text()), at+1, verb)
}

// A constant is a literal or a parameter.
type constant struct{ datum datum }

func (c *constant) eval(*Message, mode) datum           { return c.datum }
func (c *constant) reads(*Message, mode, func(Reading)) {}

// unbound is a parameter that was not given (FILT-25).
type unbound struct{ place place }

func (u *unbound) eval(*Message, mode) datum {
	return failure(u.place.say("is a parameter that the rule gives no value for"))
}
func (u *unbound) reads(*Message, mode, func(Reading)) {}

// own is an application property.
type own struct{ name string }

func (o *own) eval(m *Message, _ mode) datum {
	v, ok := m.Properties.LookupFold(o.name)
	if !ok {
		return datum{}
	}
	return of(v)
}

func (o *own) find(m *Message, _ mode) (value.Value, bool, string) {
	v, ok := m.Properties.LookupFold(o.name)
	return v, ok, ""
}

func (o *own) reads(m *Message, _ mode, tell func(Reading)) {
	v, ok := m.Properties.LookupFold(o.name)
	tell(Reading{Name: o.name, Value: v, Missing: !ok})
}

// sys is a system property.
type sys struct {
	property system
	place    place
}

func (s *sys) eval(m *Message, how mode) datum {
	v, ok := m.system(s.property)
	if !ok && how&missingFails != 0 {
		return failure(s.place.say("is not set"))
	}
	return of(v)
}

func (s *sys) find(m *Message, _ mode) (value.Value, bool, string) {
	v, ok := m.system(s.property)
	return v, ok, ""
}

func (s *sys) reads(m *Message, _ mode, tell func(Reading)) {
	v, ok := m.system(s.property)
	tell(Reading{Name: "sys." + s.property.String(), Value: v, Missing: !ok})
}

// computed is property(name): an application property whose name is the value
// of an expression (FILT-24).
type computed struct {
	name  expr
	place place
}

func (c *computed) eval(m *Message, how mode) datum {
	v, ok, why := c.find(m, how)
	switch {
	case why != "":
		return failure(why)
	case !ok:
		return datum{}
	default:
		return of(v)
	}
}

func (c *computed) find(m *Message, how mode) (value.Value, bool, string) {
	switch name := c.name.eval(m, how); name.class {
	case failed:
		return value.Value{}, false, name.text()
	case unknown:
		return value.Value{}, false, ""
	case textual:
		v, ok := m.Properties.LookupFold(name.text())
		return v, ok, ""
	default:
		return value.Value{}, false, c.place.say("needs a text for the name, not " + name.value.Kind().String())
	}
}

func (c *computed) reads(m *Message, how mode, tell func(Reading)) {
	c.name.reads(m, how, tell)
	if name := c.name.eval(m, how); name.class == textual {
		(&own{name.text()}).reads(m, how, tell)
	}
}

// newID is newid().
type newID struct{ place place }

func (n *newID) eval(m *Message, _ mode) datum {
	b := binary.AppendUvarint(nil, m.Random)
	b = binary.AppendVarint(b, m.SequenceNumber)
	b = binary.AppendVarint(b, m.EnqueuedTime)
	b = binary.AppendUvarint(b, uint64(n.place.from))
	b = append(b, m.MessageID...)
	b = append(b, 0)
	b = append(b, n.place.in...)
	sum := sha256.Sum256(b)
	id := [16]byte(sum[:16])
	id[6] = id[6]&0x0f | 0x40 // version 4, random
	id[8] = id[8]&0x3f | 0x80
	return of(value.OfUUID(id))
}

func (n *newID) reads(*Message, mode, func(Reading)) {}

// A chain is operations of one precedence from left to right. It is flat so
// that a long sum needs no deep stack.
type chain struct {
	first expr
	rest  []link
	place place
}

type link struct {
	op operator
	x  expr
}

func (c *chain) eval(m *Message, how mode) datum {
	d := c.first.eval(m, how)
	for i := range c.rest {
		if d.class == failed {
			return d
		}
		x := c.rest[i].x.eval(m, how)
		if x.class == failed {
			return x
		}
		if d = apply(c.rest[i].op, d, x); d.class == failed {
			return failure(c.place.say(d.text()))
		}
	}
	return d
}

func (c *chain) reads(m *Message, how mode, tell func(Reading)) {
	c.first.reads(m, how, tell)
	for i := range c.rest {
		c.rest[i].x.reads(m, how, tell)
	}
}

// signed is an expression behind a sign.
type signed struct {
	op    operator
	x     expr
	place place
}

func (s *signed) eval(m *Message, how mode) datum {
	d := s.x.eval(m, how)
	switch {
	case d.class == failed:
		return d
	case s.op == '-':
		if d = negate(d); d.class == failed {
			return failure(s.place.say(d.text()))
		}
		return d
	case d.class == unknown, d.numeric(), d.class == span:
		return d
	default:
		return failure(s.place.say("has no sign, being of type " + d.value.Kind().String()))
	}
}

func (s *signed) reads(m *Message, how mode, tell func(Reading)) { s.x.reads(m, how, tell) }
