package filter

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"unicode/utf8"

	"mayfly/engine/shorten"
	"mayfly/engine/value"
)

// An expr is an expression with a value.
type expr interface {
	eval(m *Message, how mode) datum
	// reads calls `tell` with each property that eval reads.
	reads(m *Message, how mode, tell func(Reading))
}

// mode changes how expressions are evaluated; zero is the default.
type mode uint8

// missingFails makes a missing system property fail (FILT-30).
const missingFails mode = 1

// A property is an expression that names one property of a message.
type property interface {
	expr
	// find returns the property's value, if there is one, or why it cannot be determined.
	find(m *Message, how mode) (v value.Value, ok bool, failure string)
}

// A textRange is a part of a filter's text, for errors and explanations.
type textRange struct {
	in       string // the whole text
	from, to int    // in bytes
}

func (p textRange) text() string { return p.in[p.from:p.to] }

// runes returns the position of the range in runes.
func (p textRange) runes() (from, to int) {
	from = utf8.RuneCountInString(p.in[:p.from])
	return from, from + utf8.RuneCountInString(p.text())
}

// sentence returns a sentence with the range as its subject.
func (p textRange) sentence(verb string) string {
	at, _ := p.runes()
	return fmt.Sprintf("%s at character %d %s.", shorten.To(p.text(), 40), at+1, verb)
}

// A constant is a literal or a parameter.
type constant struct{ datum datum }

func (c *constant) eval(*Message, mode) datum           { return c.datum }
func (c *constant) reads(*Message, mode, func(Reading)) {}

// missingParameter is a parameter without a value (FILT-25).
type missingParameter struct{ position textRange }

func (u *missingParameter) eval(*Message, mode) datum {
	return failure(u.position.sentence("is a parameter without a value in the rule"))
}
func (u *missingParameter) reads(*Message, mode, func(Reading)) {}

// applicationProperty is an application property.
type applicationProperty struct{ name string }

func (o *applicationProperty) eval(m *Message, _ mode) datum {
	v, ok := m.Properties.LookupFold(o.name)
	if !ok {
		return datum{}
	}
	return datumOf(v)
}

func (o *applicationProperty) find(m *Message, _ mode) (value.Value, bool, string) {
	v, ok := m.Properties.LookupFold(o.name)
	return v, ok, ""
}

func (o *applicationProperty) reads(m *Message, _ mode, tell func(Reading)) {
	v, ok := m.Properties.LookupFold(o.name)
	tell(Reading{Name: o.name, Value: v, Missing: !ok})
}

// systemProperty is a system property.
type systemProperty struct {
	property system
	position textRange
}

func (s *systemProperty) eval(m *Message, how mode) datum {
	v, ok := m.system(s.property)
	if !ok && how&missingFails != 0 {
		return failure(s.position.sentence("is not set"))
	}
	return datumOf(v)
}

func (s *systemProperty) find(m *Message, _ mode) (value.Value, bool, string) {
	v, ok := m.system(s.property)
	return v, ok, ""
}

func (s *systemProperty) reads(m *Message, _ mode, tell func(Reading)) {
	v, ok := m.system(s.property)
	tell(Reading{Name: "sys." + s.property.String(), Value: v, Missing: !ok})
}

// namedProperty is property(name): an application property whose name is the value of an expression
// (FILT-24).
type namedProperty struct {
	name     expr
	position textRange
}

func (c *namedProperty) eval(m *Message, how mode) datum {
	v, ok, why := c.find(m, how)
	switch {
	case why != "":
		return failure(why)
	case !ok:
		return datum{}
	default:
		return datumOf(v)
	}
}

func (c *namedProperty) find(m *Message, how mode) (value.Value, bool, string) {
	switch name := c.name.eval(m, how); name.class {
	case failed:
		return value.Value{}, false, name.text()
	case unknown:
		return value.Value{}, false, ""
	case textual:
		v, ok := m.Properties.LookupFold(name.text())
		return v, ok, ""
	default:
		return value.Value{}, false, c.position.sentence("needs a string as the name, not " + name.value.Kind().String())
	}
}

func (c *namedProperty) reads(m *Message, how mode, tell func(Reading)) {
	c.name.reads(m, how, tell)
	if name := c.name.eval(m, how); name.class == textual {
		(&applicationProperty{name.text()}).reads(m, how, tell)
	}
}

// newID is the function newid().
type newID struct{ position textRange }

func (n *newID) eval(m *Message, _ mode) datum {
	b := binary.AppendUvarint(nil, m.Random)
	b = binary.AppendVarint(b, m.SequenceNumber)
	b = binary.AppendVarint(b, m.EnqueuedTime)
	b = binary.AppendUvarint(b, uint64(n.position.from))
	b = append(b, m.MessageID...)
	b = append(b, 0)
	b = append(b, n.position.in...)
	sum := sha256.Sum256(b)
	id := [16]byte(sum[:16])
	id[6] = id[6]&0x0f | 0x40 // version 4, random
	id[8] = id[8]&0x3f | 0x80
	return datumOf(value.OfUUID(id))
}

func (n *newID) reads(*Message, mode, func(Reading)) {}

// A chain is a series of operations of one precedence, evaluated from left to right. It is flat, so
// that a long sum needs no deep stack.
type chain struct {
	first    expr
	rest     []link
	position textRange
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
			return failure(c.position.sentence(d.text()))
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

// signedExpr is an expression after a sign.
type signedExpr struct {
	op       operator
	x        expr
	position textRange
}

func (s *signedExpr) eval(m *Message, how mode) datum {
	d := s.x.eval(m, how)
	switch {
	case d.class == failed:
		return d
	case s.op == '-':
		if d = negate(d); d.class == failed {
			return failure(s.position.sentence(d.text()))
		}
		return d
	case d.class == unknown, d.numeric(), d.class == span:
		return d
	default:
		return failure(s.position.sentence("cannot have a sign, because it is of type " + d.value.Kind().String()))
	}
}

func (s *signedExpr) reads(m *Message, how mode, tell func(Reading)) { s.x.reads(m, how, tell) }
