package engine

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"mayfly/engine/filter"
	"mayfly/engine/shorten"
)

// A compiledRule is a Rule with its parsed filter and action. It is never changed.
type compiledRule struct {
	Rule
	sub         *entity
	sortKey     string // its sort key among the rules of a topic: its subscription's folded path, then its folded name
	correlation *filter.Correlation
	sql         *filter.SQL
	action      *filter.Action
	compileErr  error // why the rule, restored from the store, cannot be compiled; it then selects nothing
}

// compile compiles a rule; its errors are *RuleError.
func compile(r Rule, l Limits) (p *compiledRule, err error) {
	p = &compiledRule{Rule: r}
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
		return p, ruleError(r, PartFilter, fmt.Errorf("the filter has the unknown kind %d", r.Filter.Kind))
	}
	if r.Action != "" {
		if p.action, err = filter.ParseAction(r.Action, r.Filter.Parameters, l.ActionExpressions); err != nil {
			return p, ruleError(r, PartAction, err)
		}
	}
	return p, nil
}

// of returns a copy of p as a rule of the subscription e.
func (p *compiledRule) of(e *entity) *compiledRule {
	own := *p
	own.sub, own.sortKey = e, e.Path.Fold()+"\x00"+strings.ToLower(p.Name)
	return &own
}

func compareRules(a, b *compiledRule) int { return strings.Compare(a.sortKey, b.sortKey) }

// isLate reports whether p's filter reads a value that is assigned only when the message is accepted.
func (p *compiledRule) isLate() bool { return p.sql != nil && p.sql.Late() }

// A ruleIndex finds the rules of a topic that select a message, without evaluating each: true
// filters select every message, correlation filters are found by the values they require
// (FILT-18), and SQL filters are evaluated.
type ruleIndex struct {
	rules      map[RuleID]*compiledRule
	always     []*compiledRule // true filters, sorted by sortKey
	correlated filter.Index[*compiledRule]
	sql        []*compiledRule
	set        *RuleSet // the rules in sql; nil if there are none
	others     int      // rules without a SQL filter, including false and broken ones

	correlations int // rules among the others that have a correlation filter, including broken ones

	account *account // of the rules; nil if they are not counted
}

func (s *ruleIndex) counts() FilterCounts {
	return FilterCounts{SQL: len(s.rules) - s.correlations, Correlation: s.correlations}
}

func (s *ruleIndex) add(p *compiledRule) {
	if s.rules == nil {
		s.rules = map[RuleID]*compiledRule{}
	}
	s.rules[p.id()] = p
	s.account.add(p.memory())
	if p.Filter.Kind != SQLFilter {
		s.others++
	}
	if p.Filter.Kind == CorrelationFilter {
		s.correlations++
	}
	switch {
	case p.compileErr != nil:
	case p.correlation != nil:
		s.correlated.Add(p.correlation, p)
	case p.sql != nil:
		s.sql = append(s.sql, p)
		s.set = newRuleSet(s.sql)
	case p.Filter.Kind == TrueFilter:
		at, _ := slices.BinarySearchFunc(s.always, p, compareRules)
		s.always = slices.Insert(s.always, at, p)
	}
}

func (s *ruleIndex) remove(id RuleID) {
	p := s.rules[id]
	delete(s.rules, id)
	s.account.add(-p.memory())
	if p.Filter.Kind != SQLFilter {
		s.others--
	}
	if p.Filter.Kind == CorrelationFilter {
		s.correlations--
	}
	switch {
	case p.compileErr != nil:
	case p.correlation != nil:
		s.correlated.Remove(p.correlation, p)
	case p.sql != nil:
		s.sql = slices.DeleteFunc(s.sql, func(o *compiledRule) bool { return o == p })
		s.set = newRuleSet(s.sql)
	case p.Filter.Kind == TrueFilter:
		s.always = slices.DeleteFunc(s.always, func(o *compiledRule) bool { return o == p })
	}
}

// A ruleMatch is a rule that selects a message, or that could not be evaluated.
type ruleMatch struct {
	rule *compiledRule
	err  error
}

// match returns the rules that select a message, or that could not be evaluated, sorted by
// sortKey. plan holds results that were evaluated ahead; it is used if the SQL rules are still
// the ones it was made with.
func (s *ruleIndex) match(g *filterView, plan *Plan) []ruleMatch {
	out := make([]ruleMatch, 0, len(s.always)+4)
	for _, p := range s.always {
		out = append(out, ruleMatch{rule: p})
	}
	if s.correlated.Len()+len(s.sql) == 0 {
		return out
	}
	if s.correlated.Len() > 0 {
		s.correlated.Match(g.message(), func(p *compiledRule) { out = append(out, ruleMatch{rule: p}) })
	}
	switch {
	case plan != nil && plan.set == s.set && s.set != nil:
		out = appendMatches(append(out, plan.matches...), s.set.late, g)
	case s.set != nil:
		out = appendMatches(appendMatches(out, s.set.early, g), s.set.late, g)
	}
	slices.SortFunc(out, func(a, b ruleMatch) int { return compareRules(a.rule, b.rule) })
	return out
}

func appendMatches(out []ruleMatch, rules []*compiledRule, g *filterView) []ruleMatch {
	for _, p := range rules {
		if g.nonce != nil && p.isLate() {
			g.message().Random = g.nonce() // for this rule alone (FILT-24)
		}
		if yes, err := p.sql.Matches(g.message()); yes || err != nil {
			out = append(out, ruleMatch{p, err})
		}
	}
	return out
}

// A RuleSet is the SQL rules of a topic at one moment. It is immutable, so that messages can
// be evaluated outside the owner's loop.
type RuleSet struct{ early, late []*compiledRule }

func newRuleSet(rules []*compiledRule) *RuleSet {
	if len(rules) == 0 {
		return nil
	}
	s := &RuleSet{}
	for _, p := range rules {
		if p.isLate() {
			s.late = append(s.late, p)
		} else {
			s.early = append(s.early, p)
		}
	}
	return s
}

// A Plan holds the results of a topic's SQL rules for a message, evaluated before it is sent.
type Plan struct {
	set     *RuleSet
	matches []ruleMatch
}

// Plan evaluates the rules that do not depend on values that are assigned when the message is
// accepted, such as its number.
func (s *RuleSet) Plan(c Content) *Plan {
	g := filterView{content: &c}
	return &Plan{set: s, matches: appendMatches(nil, s.early, &g)}
}

// A Rulebook has the present RuleSet of every topic with SQL rules. It is safe for concurrent
// use; the namespace that has it in its Options updates it.
type Rulebook struct{ sets sync.Map } // of *RuleSet by folded path

// Of returns a topic's RuleSet, or nil if it has no SQL rules.
func (b *Rulebook) Of(topic Path) *RuleSet {
	if set, ok := b.sets.Load(topic.Fold()); ok {
		return set.(*RuleSet) //nolint:forcetypeassert // only RuleSets are stored
	}
	return nil
}

// updateRulebook updates a topic's RuleSet in the rulebook, or removes it if the topic was deleted.
func (ns *Namespace) updateRulebook(topic *entity) {
	if ns.rulebook == nil {
		return
	}
	key := topic.Path.Fold()
	if set := topic.ruleIndex.set; set != nil && ns.entities[key] == topic {
		ns.rulebook.sets.Store(key, set)
	} else {
		ns.rulebook.sets.Delete(key)
	}
}

// A filterView is a message as filters see it, decoded when first needed.
type filterView struct {
	packed    Packed
	content   *Content // decoded from packed, or given instead
	m         Message
	size      int64         // of the stored message; zero when planning
	nonce     func() uint64 // for rules that need a random value for each evaluation; nil when planning, which skips such rules
	forFilter *filter.Message
}

// message returns the message as filters see it (FILT-11, FILT-21).
func (g *filterView) message() *filter.Message {
	if g.forFilter != nil {
		return g.forFilter
	}
	if g.content == nil {
		c, err := g.packed.Content()
		if err != nil { // cannot happen: Pack wrote it
			panic(fmt.Sprintf("the content of a message cannot be read: %v", err))
		}
		g.content = &c
	}
	m := NewFilterMessage(*g.content)
	m.Properties = g.m.Properties(*g.content)
	m.SequenceNumber, m.EnqueuedSequenceNumber, m.EnqueuedTime = int64(g.m.Seq), int64(g.m.EnqueuedSeq), int64(g.m.EnqueuedAt)
	m.Size, m.DeliveryCount, m.State = g.size, int32(min(g.m.DeliveryCount, math.MaxInt32)), int32(g.m.State)
	switch m.ExpiresAt = int64(g.m.ExpiresAt); {
	case m.ExpiresAt != 0:
	case m.TimeToLive == 0:
		m.ExpiresAt = int64(Forever) // DateTime.MaxValue in .NET
	default:
		m.ExpiresAt = int64(g.m.EnqueuedAt.Add(max(m.TimeToLive, 0)))
	}
	if x := g.m.Extra; x != nil {
		m.DeadLetterSource = x.Source
	}
	g.forFilter = &m
	return g.forFilter
}

// NewFilterMessage returns a message as filters see it before it is accepted.
func NewFilterMessage(c Content) filter.Message {
	return filter.Message{
		MessageID: c.MessageID, CorrelationID: c.CorrelationID, SessionID: c.SessionID, ReplyTo: c.ReplyTo,
		ReplyToSessionID: c.ReplyToSessionID, Label: c.Subject, To: c.To, ContentType: c.ContentType, PartitionKey: c.PartitionKey,
		ViaPartitionKey: c.ViaPartitionKey, TimeToLive: c.TTL, ScheduledFor: int64(c.ScheduledFor),
		Properties: c.Properties, EmptySessionID: c.EmptySessionID,
	}
}

// A RulePart is a part of a rule, as named in a RuleError.
type RulePart string

// The parts of a rule.
const (
	PartName   RulePart = "name"
	PartFilter RulePart = "filter"
	PartAction RulePart = "action"
)

// A RuleError names the part of a rule that was rejected and why, so that a form can show the
// reason beside the field. It unwraps to ErrArgument, and to the *filter.SyntaxError with the
// position if there is one (FILT-28).
type RuleError struct {
	Rule string
	Part RulePart
	Err  error
}

func (e *RuleError) Error() string {
	return fmt.Sprintf("The %s of rule '%s' is not valid: %v", e.Part, shorten.To(e.Rule, 64), e.Err)
}

// Unwrap supports errors.Is and errors.As.
func (e *RuleError) Unwrap() []error {
	return []error{Refuse(ErrArgument, "%s", e.Error()), e.Err}
}

func ruleError(r Rule, part RulePart, err error) error {
	return &RuleError{Rule: r.Name, Part: part, Err: err}
}

// ruleFailure returns the dead-letter reason and description of a message for which a rule could
// not be evaluated (§6.2, row 6).
func ruleFailure(err error) *Extra {
	x := &Extra{Reason: filter.FilterException, Description: err.Error()}
	if e, ok := errors.AsType[*filter.Error](err); ok {
		x.Reason = cmp.Or(e.Name, x.Reason)
	}
	return x
}
