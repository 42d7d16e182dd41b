package topology

import (
	"errors"
	"slices"
	"strings"

	"mayfly/engine"
)

// An Action is what a Step does.
type Action uint8

// The actions. Each is one operation of the broker.
const (
	Create      Action = iota + 1 // creates an entity, a subscription with its rules
	Update                        // replaces a description
	AddRule                       // adds a rule to a subscription
	RemoveRule                    // removes a rule from a subscription
	ReplaceRule                   // replaces a rule of a subscription by one with the same name, without a gap
)

func (a Action) String() string {
	return [...]string{"", "create", "update", "add rule", "remove rule", "replace rule"}[a]
}

// A Step is one operation to make a namespace match a file.
type Step struct {
	Action Action
	At     string // position in the file, for errors
	Kind   engine.EntityKind
	Path   engine.Path
	Config engine.Config // for Create and Update
	Was    engine.Config // for Update: the description before it
	Rules  []engine.Rule // for Create of a subscription: all its rules
	Rule   engine.Rule   // for AddRule and ReplaceRule; for RemoveRule only the name
}

// Steps returns the steps, in order, that change a namespace with the entities `have` to match the
// topology. Entities that the topology does not name are not changed, and none is ever deleted; an
// entity that matches already needs no step. A description is replaced as a whole, so properties
// missing from the file are reset to their defaults (PROP-2), except those that are fixed at
// creation and those that a file cannot express, such as authorization rules. A pinned entity stays
// pinned unless the file changes its idle time (OPS-9).
//
// The error is Problems: a property fixed at creation that differs (PROP-1), the name of an entity
// of another kind, a forwarding destination that will not exist, or a size or feature that the
// namespace does not offer and the entity does not have already.
func Steps(have []engine.EntityState, want Topology) ([]Step, error) {
	p := plan{have: map[string]*engine.EntityState{}, want: map[string]int{}, topology: want, progress: make([]progress, len(want.Entities))}
	for i := range have {
		p.have[have[i].Path.Fold()] = &have[i]
	}
	for i, e := range want.Entities {
		p.want[e.Path.Fold()] = i
	}
	p.check()
	for i, e := range want.Entities {
		if p.have[e.Path.Fold()] == nil {
			p.create(i)
		} else {
			p.change(e)
		}
	}
	if err := p.problems.err(); err != nil {
		return nil, err
	}
	return slices.Concat(p.creates, p.before, p.updates, p.after), nil
}

// Destinations checks that forwarding destinations are in the topology. It is for a file that has
// Problems, when the namespace's entities are not known. The error is Problems.
func (t Topology) Destinations() error {
	p := plan{want: map[string]int{}, topology: t, haveUnknown: true}
	for i, e := range t.Entities {
		p.want[e.Path.Fold()] = i
	}
	for _, e := range t.Entities {
		p.checkForward(e, "ForwardTo", engine.Path(e.Config.ForwardTo))
		p.checkForward(e, "ForwardDeadLetteredMessagesTo", engine.Path(e.Config.ForwardDeadLetteredMessagesTo))
	}
	return p.problems.err()
}

type progress uint8

const (
	untouched progress = iota
	begun
	finished
)

type plan struct {
	have        map[string]*engine.EntityState // existing entities by folded path
	want        map[string]int                 // indexes in Topology.Entities by folded path
	topology    Topology
	progress    []progress
	haveUnknown bool // the existing entities are unknown

	creates  []Step
	before   []Step // changes of rules before their subscription or topic is disabled
	updates  []Step
	after    []Step // changes of rules after their subscription and topic are enabled
	problems Problems
}

// check finds problems that do not depend on the order of steps.
func (p *plan) check() {
	counts := map[engine.Path]int64{}
	top, l := int64(0), p.topology.limits
	for _, s := range p.have {
		if s.Kind != engine.Subscription {
			top++
		}
	}
	for _, e := range p.topology.Entities {
		p.checkForward(e, "ForwardTo", engine.Path(e.Config.ForwardTo))
		p.checkForward(e, "ForwardDeadLetteredMessagesTo", engine.Path(e.Config.ForwardDeadLetteredMessagesTo))
		p.checkOffer(e)
		if p.have[e.Path.Fold()] != nil {
			continue
		}
		if e.Kind != engine.Subscription {
			if top++; l.Entities != 0 && top == l.Entities+1 {
				p.problems.add(e.At, "The namespace would have more than %d queues and topics, the maximum.", l.Entities)
			}
			continue
		}
		topic, _, _ := e.Path.Subscription()
		key := engine.Path(engine.Path(topic).Fold())
		if counts[key]++; l.SubscriptionsPerTopic != 0 {
			if s := p.have[string(key)]; s != nil && int64(s.Subscriptions)+counts[key] == l.SubscriptionsPerTopic+1 {
				p.problems.add(e.At, "The topic '%s' would have more than %d subscriptions, the maximum.", topic, l.SubscriptionsPerTopic)
			}
		}
	}
}

// checkOffer reports sizes and features that the namespace does not offer and the entity does not
// have already.
func (p *plan) checkOffer(e Entity) {
	l, has, is := p.topology.limits, engine.Config{}, (*engine.Config)(nil)
	if s := p.have[e.Path.Fold()]; s != nil {
		has, is = s.Config, &s.Config
	}
	for _, name := range []string{"MaxSizeInMegabytes", "MaxMessageSizeInKilobytes"} {
		prop, ok := engine.LookupProperty(e.Kind, name)
		if !ok || !e.Stated[name] {
			continue
		}
		if err := prop.Set(&has, l, e.Kind, prop.Text(e.Config)); err != nil {
			p.problems.add(e.At+".Properties."+name, "%v", err)
		}
	}
	for _, err := range l.MissingFeatures(e.Kind, is, e.Config) {
		at := e.At
		if wrong, ok := errors.AsType[*engine.PropertyError](err); ok {
			at += ".Properties." + wrong.Property
		}
		p.problems.add(at, "%v", err)
	}
}

// checkForward reports a destination that is a queue or topic neither in the namespace nor in the
// file (FWD-2). An entity may forward to itself (PROP-9).
func (p *plan) checkForward(e Entity, name string, to engine.Path) {
	at := e.At + ".Properties." + name
	there, wanted := p.have[to.Fold()], false
	if i, ok := p.want[to.Fold()]; ok {
		wanted = p.topology.Entities[i].Kind != engine.Subscription
	}
	switch {
	case to == "":
	case !wanted && p.haveUnknown:
		p.problems.add(at, "The queue or topic '%s' is not in the file.", to)
	case !wanted && (there == nil || there.Kind == engine.Subscription):
		p.problems.add(at, "The queue or topic '%s' is neither in the file nor in the namespace.", to)
	}
}

// create appends the step that creates entity i, after those that create the entities on which it
// depends. If entities forward in a circle, one of them is created without forwarding and updated
// afterwards. An entity that forwards to itself is created with forwarding (PROP-9).
func (p *plan) create(i int) {
	if p.progress[i] != untouched {
		return
	}
	p.progress[i] = begun
	e := p.topology.Entities[i]
	if topic, _, ok := e.Path.Subscription(); ok {
		if j, ok := p.indexOfNew(engine.Path(topic)); ok {
			p.create(j)
		}
	}
	c := e.Config
	for _, to := range []*string{&c.ForwardTo, &c.ForwardDeadLetteredMessagesTo} {
		if j, ok := p.indexOfNew(engine.Path(*to)); ok && j != i {
			if p.create(j); p.progress[j] == begun {
				*to = ""
			}
		}
	}
	step := Step{Action: Create, At: e.At, Kind: e.Kind, Path: e.Path, Config: c}
	if e.Kind == engine.Subscription {
		if step.Rules = slices.Clone(e.Rules); !e.RulesGiven {
			step.Rules = []engine.Rule{{Name: engine.DefaultRule}}
		}
	}
	p.creates = append(p.creates, step)
	p.progress[i] = finished
	if !c.Equal(e.Config) {
		p.updates = append(p.updates, Step{Action: Update, At: e.At, Kind: e.Kind, Path: e.Path, Config: e.Config, Was: c})
	}
}

// indexOfNew returns the index of an entity in the topology; ok is false if it is not in it or exists
// already.
func (p *plan) indexOfNew(path engine.Path) (int, bool) {
	i, ok := p.want[path.Fold()]
	return i, ok && p.have[path.Fold()] == nil
}

// change appends the steps that update an existing entity.
func (p *plan) change(e Entity) {
	is := p.have[e.Path.Fold()]
	if is.Kind != e.Kind {
		p.problems.add(e.At+".Name", "'%s' is a %s in the namespace, but a %s in the file.", is.Path, is.Kind, e.Kind)
		return
	}
	c, differs := e.Config, false
	if is.UnpinnedIdle != 0 && is.UnpinnedIdle == c.AutoDeleteOnIdle {
		c.AutoDeleteOnIdle = 0
	}
	for _, prop := range engine.Properties(e.Kind) {
		was, is := prop.Text(is.Config), prop.Text(c)
		if was == is || prop.Type == engine.EntityProperty && strings.EqualFold(was, is) {
			continue
		}
		if !prop.CreateOnly {
			differs = true
			continue
		}
		if e.Stated[prop.Name] {
			p.problems.add(e.At+".Properties."+prop.Name, "The %s '%s' exists with %s, which cannot be changed; the file has %s.", e.Kind, e.Path, was, is)
		}
	}
	keepFixed(&c, is.Config, e.Stated)
	if differs {
		p.updates = append(p.updates, Step{Action: Update, At: e.At, Kind: e.Kind, Path: is.Path, Config: c, Was: is.Config})
	}
	if e.Kind == engine.Subscription && e.RulesGiven {
		p.changeRules(e, is)
	}
}

// keepFixed copies properties of the existing description `was` to c: those that are fixed at
// creation and missing from the file, and those that a file cannot express, which are authorization
// rules and the addresses of destinations that stay the same.
func keepFixed(c *engine.Config, was engine.Config, stated map[string]bool) {
	if !stated["RequiresSession"] {
		c.RequiresSession = was.RequiresSession
	}
	if !stated["RequiresDuplicateDetection"] {
		c.RequiresDuplicateDetection = was.RequiresDuplicateDetection
	}
	if !stated["EnablePartitioning"] {
		c.EnablePartitioning = was.EnablePartitioning
	}
	c.AuthorizationRules = was.AuthorizationRules
	if c.ForwardToAddress == "" && strings.EqualFold(c.ForwardTo, was.ForwardTo) {
		c.ForwardToAddress = was.ForwardToAddress
	}
	if c.ForwardDeadLetteredMessagesToAddress == "" && strings.EqualFold(c.ForwardDeadLetteredMessagesTo, was.ForwardDeadLetteredMessagesTo) {
		c.ForwardDeadLetteredMessagesToAddress = was.ForwardDeadLetteredMessagesToAddress
	}
}

// changeRules appends the steps that replace a subscription's rules by those of the file. New rules
// are added before others are removed, so that the subscription does not miss messages in between.
func (p *plan) changeRules(e Entity, is *engine.EntityState) {
	var add, replace, remove []Step
	step := func(do Action, r engine.Rule) Step {
		return Step{Action: do, At: e.At + ".Rules", Kind: e.Kind, Path: is.Path, Rule: r}
	}
	for _, r := range e.Rules {
		i := slices.IndexFunc(is.Rules, func(o engine.Rule) bool { return strings.EqualFold(o.Name, r.Name) })
		switch {
		case i < 0:
			add = append(add, step(AddRule, r))
		case !is.Rules[i].Filter.Equal(r.Filter) || is.Rules[i].Action != r.Action:
			r.Name = is.Rules[i].Name
			replace = append(replace, step(ReplaceRule, r))
		}
	}
	for _, o := range is.Rules {
		if !slices.ContainsFunc(e.Rules, func(r engine.Rule) bool { return strings.EqualFold(o.Name, r.Name) }) {
			remove = append(remove, step(RemoveRule, engine.Rule{Name: o.Name}))
		}
	}
	steps := slices.Concat(add, replace, remove)
	now, then := is.Config.Status == engine.StatusDisabled, e.Config.Status == engine.StatusDisabled
	topic, _, _ := e.Path.Subscription()
	key := engine.Path(topic).Fold()
	if t := p.have[key]; t != nil {
		now = now || t.Config.Status == engine.StatusDisabled
	}
	if i, ok := p.want[key]; ok {
		then = then || p.topology.Entities[i].Config.Status == engine.StatusDisabled
	}
	switch { // rules change only while subscription and topic are enabled (STAT-9)
	case len(steps) == 0:
	case !now:
		p.before = append(p.before, steps...)
	case !then:
		p.after = append(p.after, steps...)
	default:
		p.problems.add(e.At+".Rules", "The rules of '%s' cannot be changed while it or its topic is disabled.", e.Path)
	}
}
