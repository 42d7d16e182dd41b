package engine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"mayfly/engine/filter"
)

// A planned rule is a Rule with what its texts mean. It is never changed.
type planned struct {
	Rule
	sub         *entity
	at          string // where it stands among a topic's: its subscription's folded path, then its folded name
	correlation *filter.Correlation
	sql         *filter.SQL
	action      *filter.Action
	broken      error // it came from the store and cannot be read: it selects nothing
}

// compile makes a rule's texts out; its errors are *RuleError.
func compile(r Rule, l Limits) (p *planned, err error) {
	p = &planned{Rule: r}
	switch r.Filter.Kind {
	case TrueFilter, FalseFilter:
	case CorrelationFilter:
		if p.correlation, err = filter.ParseCorrelation(r.Filter.Text); err != nil {
			return p, ruleError(r, PartFilter, err)
		}
	case SQLFilter:
		if p.sql, err = filter.ParseSQL(r.Filter.Text, r.Filter.Parameters); err != nil {
			return p, ruleError(r, PartFilter, err)
		}
	default:
		return p, ruleError(r, PartFilter, fmt.Errorf("there is no kind %d of filters", r.Filter.Kind)) //nolint:err113 // of a store that a newer version wrote
	}
	if r.Action != "" {
		if p.action, err = filter.ParseAction(r.Action, r.Filter.Parameters, l.ActionExpressions); err != nil {
			return p, ruleError(r, PartAction, err)
		}
	}
	return p, nil
}

// of is p as a rule of e.
func (p *planned) of(e *entity) *planned {
	own := *p
	own.sub, own.at = e, e.Path.Fold()+"\x00"+strings.ToLower(p.Name)
	return &own
}

func byPlace(a, b *planned) int { return strings.Compare(a.at, b.at) }

// late tells whether p's filter reads what is known only when the message is
// accepted.
func (p *planned) late() bool { return p.sql != nil && p.sql.Late() }

// A selector finds the rules of a topic that select a message, without asking
// each: true filters always do, correlation filters are found by the values they
// want (FILT-18), SQL filters are asked.
type selector struct {
	rules      map[RuleID]*planned
	always     []*planned // true filters, by place
	correlated filter.Index[*planned]
	sql        []*planned
	set        *RuleSet // of sql; nil if there are none
	others     int      // rules that are not SQL, false and broken ones too

	correlations int // of the others, broken ones too
}

func (s *selector) counts() FilterCounts {
	return FilterCounts{SQL: len(s.rules) - s.correlations, Correlation: s.correlations}
}

func (s *selector) add(p *planned) {
	if s.rules == nil {
		s.rules = map[RuleID]*planned{}
	}
	s.rules[p.id()] = p
	if p.Filter.Kind != SQLFilter {
		s.others++
	}
	if p.Filter.Kind == CorrelationFilter {
		s.correlations++
	}
	switch {
	case p.broken != nil:
	case p.correlation != nil:
		s.correlated.Add(p.correlation, p)
	case p.sql != nil:
		s.sql = append(s.sql, p)
		s.set = newRuleSet(s.sql)
	case p.Filter.Kind == TrueFilter:
		at, _ := slices.BinarySearchFunc(s.always, p, byPlace)
		s.always = slices.Insert(s.always, at, p)
	}
}

func (s *selector) remove(id RuleID) {
	p := s.rules[id]
	delete(s.rules, id)
	if p.Filter.Kind != SQLFilter {
		s.others--
	}
	if p.Filter.Kind == CorrelationFilter {
		s.correlations--
	}
	switch {
	case p.broken != nil:
	case p.correlation != nil:
		s.correlated.Remove(p.correlation, p)
	case p.sql != nil:
		s.sql = slices.DeleteFunc(s.sql, func(o *planned) bool { return o == p })
		s.set = newRuleSet(s.sql)
	case p.Filter.Kind == TrueFilter:
		s.always = slices.DeleteFunc(s.always, func(o *planned) bool { return o == p })
	}
}

// A hit is a rule that selects a message, or that could not be evaluated.
type hit struct {
	rule *planned
	err  error
}

// hits are those of a message, by place. plan is what was found out beforehand;
// it counts if the SQL rules are still those it was found for.
func (s *selector) hits(g *glance, plan *Plan) []hit {
	out := make([]hit, 0, len(s.always)+4)
	for _, p := range s.always {
		out = append(out, hit{rule: p})
	}
	if s.correlated.Len()+len(s.sql) == 0 {
		return out
	}
	if s.correlated.Len() > 0 {
		s.correlated.Match(g.message(), func(p *planned) { out = append(out, hit{rule: p}) })
	}
	switch {
	case plan != nil && plan.set == s.set && s.set != nil:
		out = ask(append(out, plan.hits...), s.set.late, g)
	case s.set != nil:
		out = ask(ask(out, s.set.early, g), s.set.late, g)
	}
	slices.SortFunc(out, func(a, b hit) int { return byPlace(a.rule, b.rule) })
	return out
}

func ask(out []hit, rules []*planned, g *glance) []hit {
	for _, p := range rules {
		if g.nonce != nil && p.late() {
			g.message().Random = g.nonce() // of this rule alone (FILT-24)
		}
		if yes, err := p.sql.Matches(g.message()); yes || err != nil {
			out = append(out, hit{p, err})
		}
	}
	return out
}

// A RuleSet is the SQL rules of a topic at one moment. It is immutable, so that
// messages can be judged outside the owner's loop.
type RuleSet struct{ early, late []*planned }

func newRuleSet(rules []*planned) *RuleSet {
	if len(rules) == 0 {
		return nil
	}
	s := &RuleSet{}
	for _, p := range rules {
		if p.late() {
			s.late = append(s.late, p)
		} else {
			s.early = append(s.early, p)
		}
	}
	return s
}

// A Plan is what the SQL rules of a topic say of a message, found out before
// its turn.
type Plan struct {
	set  *RuleSet
	hits []hit
}

// Plan asks every rule that can be asked before the message has a number.
func (s *RuleSet) Plan(c Content) *Plan {
	g := glance{content: &c}
	return &Plan{set: s, hits: ask(nil, s.early, &g)}
}

// A Rulebook has the present RuleSet of every topic that has SQL rules. It is
// safe for concurrent use; the namespace that it was given to keeps it.
type Rulebook struct{ sets sync.Map } // of *RuleSet by folded path

// Of is a topic's, nil if it has no SQL rules.
func (b *Rulebook) Of(topic Path) *RuleSet {
	if set, ok := b.sets.Load(topic.Fold()); ok {
		return set.(*RuleSet) //nolint:forcetypeassert // nothing else is put in
	}
	return nil
}

// publish tells the rulebook of a topic's present rules; of none once it went.
func (ns *Namespace) publish(topic *entity) {
	if ns.rulebook == nil {
		return
	}
	key := topic.Path.Fold()
	if set := topic.selector.set; set != nil && ns.entities[key] == topic {
		ns.rulebook.sets.Store(key, set)
	} else {
		ns.rulebook.sets.Delete(key)
	}
}

// A glance is a message as filters see it, made when the first one looks.
type glance struct {
	packed  Packed
	content *Content // of packed, or instead of it
	m       Message
	nonce   func() uint64 // for rules that ask for something new each time; nil beforehand: those are asked later
	seen    *filter.Message
}

// message is what the filters see (FILT-11, FILT-21).
func (g *glance) message() *filter.Message {
	if g.seen != nil {
		return g.seen
	}
	if g.content == nil {
		c, err := g.packed.Content()
		if err != nil { // nobody but Pack writes them
			panic(fmt.Sprintf("a message's content cannot be read: %v", err))
		}
		g.content = &c
	}
	m := FilterMessage(*g.content)
	m.Properties = g.m.Properties(*g.content)
	m.SequenceNumber, m.EnqueuedSequenceNumber, m.EnqueuedTime = int64(g.m.Seq), int64(g.m.EnqueuedSeq), int64(g.m.EnqueuedAt)
	g.seen = &m
	return g.seen
}

// FilterMessage is what filters see of a message before it was accepted.
func FilterMessage(c Content) filter.Message {
	return filter.Message{
		MessageID: c.MessageID, CorrelationID: c.CorrelationID, SessionID: c.SessionID, ReplyTo: c.ReplyTo,
		ReplyToSessionID: c.ReplyToSessionID, Label: c.Subject, To: c.To, ContentType: c.ContentType, PartitionKey: c.PartitionKey,
		Properties: c.Properties, EmptySessionID: c.EmptySessionID,
	}
}

// A RulePart is what of a rule is wrong.
type RulePart string

// The parts.
const (
	PartName   RulePart = "name"
	PartFilter RulePart = "filter"
	PartAction RulePart = "action"
)

// A RuleError says which part of a rule was refused and why, so that a form can
// show the reason beside the field. It unwraps to ErrArgument, and to the
// *filter.SyntaxError with the position if there is one (FILT-28).
type RuleError struct {
	Rule string
	Part RulePart
	Err  error
}

func (e *RuleError) Error() string {
	return fmt.Sprintf("The %s of rule '%s' is not valid: %v", e.Part, cut(e.Rule, 64), e.Err)
}

// Unwrap is for errors.Is and errors.As.
func (e *RuleError) Unwrap() []error {
	return []error{&Refusal{Kind: ErrArgument, SubCode: 40000, Text: e.Error()}, e.Err}
}

func ruleError(r Rule, part RulePart, err error) error {
	return &RuleError{Rule: r.Name, Part: part, Err: err}
}

// reasonOf is the dead-letter reason and description of a message for which a
// rule could not be evaluated (§6.2, row 6).
func reasonOf(err error) *Extra {
	x := &Extra{Reason: filter.FilterException, Description: err.Error()}
	if e, ok := errors.AsType[*filter.Error](err); ok {
		x.Reason = cmp.Or(e.Name, x.Reason)
	}
	return x
}
