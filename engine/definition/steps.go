package definition

import (
	"errors"
	"slices"
	"strings"

	"mayfly/engine"
)

// An Action is what a Step does.
type Action uint8

// The actions. Each is a call of the broker.
const (
	Create      Action = iota + 1 // an entity, a subscription with its rules
	Update                        // replaces a description
	AddRule                       // to a subscription
	RemoveRule                    // from a subscription
	ReplaceRule                   // of a subscription, by another of its name: no message passes between
)

func (a Action) String() string {
	return [...]string{"", "create", "update", "add rule", "remove rule", "replace rule"}[a]
}

// A Step is one thing to do to make a namespace what a file says.
type Step struct {
	Do     Action
	At     string // where the file says so, for errors
	Kind   engine.EntityKind
	Path   engine.Path
	Config engine.Config // of Create and Update
	Was    engine.Config // of Update: what it is by then
	Rules  []engine.Rule // of Create, for a subscription: all it starts with
	Rule   engine.Rule   // of AddRule and ReplaceRule; of RemoveRule the name alone
}

// Steps are what makes a namespace that has these entities what the topology
// says, in order. Entities that the topology does not name stay as they are,
// and none is ever deleted; what is as it should be needs no step. A
// description is replaced whole, so what the file leaves out is the default
// again (PROP-2), but for what is fixed at creation and what no file can say,
// authorization rules among it. An entity that was pinned
// stays pinned as long as the file does not change its idle time (OPS-9).
//
// The error is Problems: a property fixed at creation that differs (PROP-1), a
// name that something else has, a forwarding target that will not exist, a size
// or a feature that the namespace does not offer and the entity does not have.
func Steps(have []engine.EntityState, want Topology) ([]Step, error) {
	p := plan{have: map[string]*engine.EntityState{}, want: map[string]int{}, topology: want, done: make([]progress, len(want.Entities))}
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

type progress uint8

const (
	untouched progress = iota
	begun
	finished
)

type plan struct {
	have     map[string]*engine.EntityState // by folded path
	want     map[string]int                 // by folded path: place in topology.Entities
	topology Topology
	done     []progress

	creates  []Step
	before   []Step // rules that change while their subscription is still enabled
	updates  []Step
	after    []Step // rules that change once it is enabled again
	problems Problems
}

// check finds what no order of steps could do.
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
				p.problems.add(e.At, "With this the namespace would have more than the %d queues and topics allowed.", l.Entities)
			}
			continue
		}
		topic, _, _ := e.Path.Subscription()
		key := engine.Path(engine.Path(topic).Fold())
		if counts[key]++; l.SubscriptionsPerTopic != 0 {
			if s := p.have[string(key)]; s != nil && int64(s.Subscriptions)+counts[key] == l.SubscriptionsPerTopic+1 {
				p.problems.add(e.At, "With this the topic '%s' would have more than the %d subscriptions allowed.", topic, l.SubscriptionsPerTopic)
			}
		}
	}
}

// checkOffer wants only what the namespace offers, or the entity has.
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
	for _, err := range l.Lacking(e.Kind, is, e.Config) {
		at := e.At
		if wrong, ok := errors.AsType[*engine.PropertyError](err); ok {
			at += ".Properties." + wrong.Property
		}
		p.problems.add(at, "%v", err)
	}
}

// checkForward wants a queue or topic that is there or will be (PROP-9, FWD-2).
func (p *plan) checkForward(e Entity, name string, to engine.Path) {
	at := e.At + ".Properties." + name
	there, wanted := p.have[to.Fold()], false
	if i, ok := p.want[to.Fold()]; ok {
		wanted = p.topology.Entities[i].Kind != engine.Subscription
	}
	switch {
	case to == "":
	case to.Fold() == e.Path.Fold():
		p.problems.add(at, "Entity cannot have auto-forwarding policy to itself.")
	case !wanted && (there == nil || there.Kind == engine.Subscription):
		p.problems.add(at, "There is no queue or topic '%s', neither in the file nor in the namespace.", to)
	}
}

// create appends what makes entity i, after whatever it needs to be there.
// Where entities forward in a circle one of them is made without, and gets its
// forwarding afterwards.
func (p *plan) create(i int) {
	if p.done[i] != untouched {
		return
	}
	p.done[i] = begun
	e := p.topology.Entities[i]
	if topic, _, ok := e.Path.Subscription(); ok {
		if j, ok := p.new(engine.Path(topic)); ok {
			p.create(j)
		}
	}
	c := e.Config
	for _, to := range []*string{&c.ForwardTo, &c.ForwardDeadLetteredMessagesTo} {
		if j, ok := p.new(engine.Path(*to)); ok {
			if p.create(j); p.done[j] == begun {
				*to = ""
			}
		}
	}
	step := Step{Do: Create, At: e.At, Kind: e.Kind, Path: e.Path, Config: c}
	if e.Kind == engine.Subscription {
		if step.Rules = slices.Clone(e.Rules); !e.RulesGiven {
			step.Rules = []engine.Rule{{Name: engine.DefaultRule}}
		}
	}
	p.creates = append(p.creates, step)
	p.done[i] = finished
	if !c.Equal(e.Config) {
		p.updates = append(p.updates, Step{Do: Update, At: e.At, Kind: e.Kind, Path: e.Path, Config: e.Config, Was: c})
	}
}

// new finds an entity that is still to be made.
func (p *plan) new(path engine.Path) (int, bool) {
	i, ok := p.want[path.Fold()]
	return i, ok && p.have[path.Fold()] == nil
}

// change appends what makes an entity that exists as it should be.
func (p *plan) change(e Entity) {
	is := p.have[e.Path.Fold()]
	if is.Kind != e.Kind {
		p.problems.add(e.At+".Name", "'%s' is a %s here; the file wants a %s.", is.Path, is.Kind, e.Kind)
		return
	}
	c, differs := e.Config, false
	if is.Unpinned != 0 && is.Unpinned == c.AutoDeleteOnIdle {
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
			p.problems.add(e.At+".Properties."+prop.Name, "The %s '%s' exists with %s, and this cannot be changed; the file says %s.", e.Kind, e.Path, was, is)
		}
	}
	keepFixed(&c, is.Config, e.Stated)
	if differs {
		p.updates = append(p.updates, Step{Do: Update, At: e.At, Kind: e.Kind, Path: is.Path, Config: c, Was: is.Config})
	}
	if e.Kind == engine.Subscription && e.RulesGiven {
		p.changeRules(e, is)
	}
}

// keepFixed takes over what an entity was created with and the file is silent
// about, and what no file can say: who may do what, and by which address a
// destination was named that stays the same.
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

// changeRules makes a subscription's rules those of the file. New ones come
// first, so that no message passes between.
func (p *plan) changeRules(e Entity, is *engine.EntityState) {
	var add, replace, remove []Step
	step := func(do Action, r engine.Rule) Step {
		return Step{Do: do, At: e.At + ".Rules", Kind: e.Kind, Path: is.Path, Rule: r}
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
