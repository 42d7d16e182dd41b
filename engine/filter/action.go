package filter

import (
	"fmt"
	"slices"
	"strings"

	"mayfly/engine/value"
)

// An Action is a parsed SQL action (§14.4).
type Action struct {
	// MissingSystemFails is the same as SQL.MissingSystemFails.
	MissingSystemFails bool

	statements []statement
	late       bool
}

// A statement is SET target = to, or REMOVE target.
type statement struct {
	target   property // *own or *sys
	to       expr     // nil means REMOVE
	position textRange
}

// ParseAction parses an action of up to `most` statements (ACT-4); params are as for ParseSQL.
// Its errors are *SyntaxError. The caller checks the length of the text.
func ParseAction(text string, params value.Properties, most int64) (*Action, error) {
	p := newParser(text, params)
	a := &Action{}
	for {
		from := p.token()
		s, want := p.statement()
		if p.err != nil {
			return nil, p.err
		}
		a.statements = append(a.statements, s)
		if int64(len(a.statements)) > most {
			p.refuse(p.rangeFrom(from), fmt.Sprintf("An action can have at most %d statements.", most))
		}
		if p.sign(";") {
			want = `",", SET, REMOVE or the end`
		}
		comma := p.sign(",")
		switch {
		case p.err != nil:
			return nil, p.err
		case comma && !p.atWord("SET") && !p.atWord("REMOVE"):
			p.expected("SET or REMOVE")
			return nil, p.err
		case p.token().sort == endToken:
			a.late = p.late
			return a, nil
		case !p.atWord("SET") && !p.atWord("REMOVE"):
			p.expected(want)
			return nil, p.err
		}
	}
}

// statement parses a statement, and returns what can follow it, for an error message.
func (p *parser) statement() (s statement, want string) {
	from := p.token()
	switch {
	case p.word("SET"):
		s.target = p.target()
		p.needSign("=", `"="`)
		s.to = p.asExpr(p.sum())
		want = `an operator, ";", ",", SET, REMOVE or the end`
	case p.word("REMOVE"):
		s.target = p.target()
		want = `";", ",", SET, REMOVE or the end`
	default:
		p.expected("SET or REMOVE")
	}
	s.position = p.rangeFrom(from)
	return s, want
}

// target parses a property that an action may change (ACT-5). A property that is only changed does
// not make the action late.
func (p *parser) target() property {
	late, from := p.late, p.token()
	p.inTarget = true
	x := p.property("a property")
	p.inTarget, p.late = false, late
	if s, ok := x.(*systemProperty); ok && p.err == nil && s.property.readOnly() {
		p.refuse(p.rangeFrom(from), fmt.Sprintf("The property '%s' is set by the broker and cannot be changed.", s.property))
	}
	return x
}

// Late is the same as SQL.Late.
func (a *Action) Late() bool { return a.late }

// Apply returns a copy of m, changed by the statements in their order (ACT-1). It copies m's
// Properties, which others share, before it changes them. Its errors are *Error, named
// RuleActionException. The caller checks the lengths of the texts that it sets.
func (a *Action) Apply(m Message) (Message, error) {
	how := mode(0)
	if a.MissingSystemFails {
		how = missingFails
	}
	c := changedMessage{Message: m}
	for i := range a.statements {
		s := &a.statements[i]
		var to datum
		if s.to != nil {
			if to = s.to.eval(&c.Message, how); to.class == failed {
				return m, &Error{RuleActionException, to.text()}
			}
		}
		if why := c.apply(s, to); why != "" {
			return m, &Error{RuleActionException, s.position.sentence(why)}
		}
	}
	return c.Message, nil
}

// changedMessage is a message whose properties are copied before the first change.
type changedMessage struct {
	Message
	copied bool
}

func (c *changedMessage) apply(s *statement, to datum) (why string) {
	switch t := s.target.(type) {
	case *systemProperty:
		if t.property == sysTimeToLive {
			return c.setTimeToLive(to)
		}
		text, ok := to.written()
		if !ok {
			return "needs a string, but has a value of type " + to.value.Kind().String()
		}
		if at := c.Message.text(t.property); at != nil { // nil means sysScheduled, which has no effect (SCH-15), and sysPersistence
			*at = text
			if t.property == sysSessionID {
				c.EmptySessionID = text == "" && to.class != unknown
			}
		}
	case *applicationProperty:
		if !c.copied {
			c.Properties, c.copied = slices.Clone(c.Properties), true
		}
		if s.to == nil {
			c.remove(t.name)
		} else {
			c.set(t.name, to)
		}
	default:
		panic(fmt.Sprintf("unknown target %T", t))
	}
	return ""
}

// remove removes all properties with the name, ignoring case as filters do.
func (c *changedMessage) remove(name string) {
	c.Properties = slices.DeleteFunc(c.Properties, func(p value.Property) bool { return strings.EqualFold(p.Name, name) })
}

// set changes the property that a filter finds by the name, or adds one. A property keeps its
// spelling (MSG-4) and, where possible, its type (ACT-2). Unknown becomes null (ACT-6).
func (c *changedMessage) set(name string, to datum) {
	i := slices.IndexFunc(c.Properties, func(p value.Property) bool { return p.Name == name })
	if i < 0 {
		i = slices.IndexFunc(c.Properties, func(p value.Property) bool { return strings.EqualFold(p.Name, name) })
	}
	if i < 0 {
		c.Properties = append(c.Properties, value.Property{Name: name, Value: to.value})
		return
	}
	at := &c.Properties[i].Value
	if v, ok := convert(to, at.Kind()); ok {
		*at = v
	} else {
		*at = to.value
	}
}
