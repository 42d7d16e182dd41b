package filter

import (
	"fmt"
	"slices"
	"strings"

	"mayfly/engine/value"
)

// An Action is a parsed SQL action (§14.4).
type Action struct {
	// MissingSystemFails is as SQL.MissingSystemFails.
	MissingSystemFails bool

	statements []statement
	late       bool
}

// A statement is SET target = to, or REMOVE target.
type statement struct {
	target property // *own or *sys
	to     expr     // nil: REMOVE
	place  place
}

// ParseAction reads an action, most being how many statements it may have
// (ACT-4); params are as for ParseSQL. Its errors are *SyntaxError. How long the
// text may be is the caller's to check.
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
			p.refuse(p.since(from), fmt.Sprintf("An action has at most %d statements.", most))
		}
		if p.sign(";") {
			want = "SET, REMOVE or the end"
		}
		switch {
		case p.err != nil:
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

// statement reads one, and says what can follow it.
func (p *parser) statement() (s statement, want string) {
	from := p.token()
	switch {
	case p.word("SET"):
		s.target = p.target()
		p.needSign("=", `"="`)
		s.to = p.asExpr(p.sum())
		want = `an operator, ";", SET, REMOVE or the end`
	case p.word("REMOVE"):
		s.target = p.target()
		want = `";", SET, REMOVE or the end`
	default:
		p.expected("SET or REMOVE")
	}
	s.place = p.since(from)
	return s, want
}

// target reads a property that an action may change (ACT-5). That it is there
// to be changed does not make the action late.
func (p *parser) target() property {
	late, from := p.late, p.token()
	p.inTarget = true
	x := p.property("a property")
	p.inTarget, p.late = false, late
	if s, ok := x.(*sys); ok && p.err == nil && s.property.late() {
		p.refuse(p.since(from), fmt.Sprintf("The property '%s' is set by the broker and cannot be changed.", s.property))
	}
	return x
}

// Late is as SQL.Late.
func (a *Action) Late() bool { return a.late }

// Apply is m changed by the statements in their order (ACT-1). What m shares
// with others, its Properties, is not touched. Its errors are *Error, named
// RuleActionException. How long the texts are that it sets, the caller checks.
func (a *Action) Apply(m Message) (Message, error) {
	how := mode(0)
	if a.MissingSystemFails {
		how = missingFails
	}
	c := changed{Message: m}
	for i := range a.statements {
		s := &a.statements[i]
		var to datum
		if s.to != nil {
			if to = s.to.eval(&c.Message, how); to.class == failed {
				return m, &Error{RuleActionException, to.text()}
			}
		}
		if why := c.carryOut(s, to); why != "" {
			return m, &Error{RuleActionException, s.place.say(why)}
		}
	}
	return c.Message, nil
}

// changed is a message whose properties are copied before they are changed.
type changed struct {
	Message
	copied bool
}

func (c *changed) carryOut(s *statement, to datum) (why string) {
	switch t := s.target.(type) {
	case *sys:
		text, ok := to.written()
		if !ok {
			return "needs a text, which a value of type " + to.value.Kind().String() + " is not"
		}
		if at := c.Message.text(t.property); at != nil { // nil: sysScheduled, which has no effect (SCH-15)
			*at = text
			if t.property == sysSessionID {
				c.EmptySessionID = text == "" && to.class != unknown
			}
		}
	case *own:
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

// remove takes away every property that a filter finds by the name.
func (c *changed) remove(name string) {
	c.Properties = slices.DeleteFunc(c.Properties, func(p value.Property) bool { return strings.EqualFold(p.Name, name) })
}

// set changes the property that a filter finds by the name, which keeps its
// spelling (MSG-4) and, where that is possible, its type (ACT-2), or adds one.
// Unknown becomes null (ACT-6).
func (c *changed) set(name string, to datum) {
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
