package engine

import (
	"slices"
	"strings"
)

// Create adds a queue, topic or subscription; p is its path and its case is
// kept. A subscription gets the rule $Default with a true filter (FILT-2); ask
// CreateWithRules for others.
func (ns *Namespace) Create(now Instant, kind EntityKind, p Path, c Config, actor string) (Entity, error) {
	var rules []Rule
	if kind == Subscription {
		rules = []Rule{{Name: DefaultRule}}
	}
	return ns.CreateWithRules(now, kind, p, c, rules, actor)
}

// CreateWithRules is Create with the rules a subscription starts with; none at
// all is allowed and selects nothing (FILT-3).
func (ns *Namespace) CreateWithRules(now Instant, kind EntityKind, p Path, c Config, rules []Rule, actor string) (Entity, error) {
	c = ns.limits.Complete(kind, c).stored()
	topic, err := ns.admitEntity(kind, p, c)
	if err != nil {
		return Entity{}, err
	}
	var plans []*planned
	if topic != nil {
		plans, err = ns.admitRules(topic, nil, rules...)
	} else if len(rules) > 0 {
		err = hasNoRules(p, kind)
	}
	if err != nil {
		return Entity{}, err
	}
	e := &entity{Entity: Entity{
		ID: HolderID(ns.keys.Next()), Kind: kind, Path: p, Config: c, CreatedAt: now, UpdatedAt: now,
	}}
	if kind != Topic {
		e.DeadLetterID = HolderID(ns.keys.Next())
	}
	e.TransferID = HolderID(ns.keys.Next())
	if topic != nil {
		e.Path = SubscriptionPath(string(topic.Path), p.Name())
	}
	for _, p := range plans {
		p.Subscription, p.CreatedAt = e.ID, now
		e.rules = withRule(e.rules, p.Rule)
		e.aside = append(e.aside, p.of(e))
		ns.changes.rules[p.id()] = struct{}{}
	}
	ns.place(e, topic)
	e.main.meter.LastUsed = now
	if kind == Subscription { // as Service Bus has it; a queue or topic was never accessed then
		e.main.meter.AccessedAt = now
	}
	ns.changes.markMeter(e.main)
	ns.changes.entities[e.ID] = e
	ns.changes.hard = true
	ns.changes.note(undo{kind: undoOther, other: func() { ns.unplace(e) }})
	ns.touch(now, e, "create", actor)
	ns.audit(ns.entityEvent(EventEntityCreated, now, e, actor))
	return e.Entity, nil
}

// admitEntity checks what Create is asked for, before anything changes.
func (ns *Namespace) admitEntity(kind EntityKind, p Path, c Config) (topic *entity, err error) {
	if p.IsDeadLetter() {
		return nil, refuseCode(ErrNotAllowed, 40301, "A dead-letter queue cannot be created: '%s'.", p)
	}
	topicName, _, isSub := p.Subscription()
	if isSub != (kind == Subscription) {
		return nil, refuseCode(ErrArgument, 40000, "'%s' is not the path of a %s. A subscription's path is TOPIC/Subscriptions/NAME.", p, kind)
	}
	if err := ns.limits.lacks(kind, nil, c); err != nil {
		return nil, err
	}
	if old := ns.entities[p.Fold()]; old != nil {
		return nil, refuseCode(ErrExists, 40900, "The %s '%s' exists already.", old.Kind, old.Path)
	}
	if err := ns.checkForward(p, c); err != nil {
		return nil, err
	}
	if err := ns.limits.checkAccess(kind, nil, c.AuthorizationRules); err != nil {
		return nil, err
	}
	if kind != Subscription {
		if int64(ns.topLevel) >= ns.limits.Entities {
			return nil, refuseCode(ErrQuota, 40300, "This namespace has %d queues and topics, which is the most it may have.", ns.topLevel)
		}
		return nil, nil
	}
	if topic, err = ns.entity(Path(topicName)); err != nil {
		return nil, err
	}
	if topic.Kind != Topic {
		return nil, refuseCode(ErrNotAllowed, 40301, "'%s' is a %s and has no subscriptions.", topic.Path, topic.Kind)
	}
	if int64(len(topic.subs)) >= ns.limits.SubscriptionsPerTopic {
		return nil, refuseCode(ErrQuota, 40503, "The topic '%s' has %d subscriptions, which is the most it may have.", topic.Path, len(topic.subs))
	}
	return topic, nil
}

// checkForward wants a queue or topic to forward to (FWD-2) that is not the
// entity itself (PROP-9), and keeps conflicting properties apart.
func (ns *Namespace) checkForward(p Path, c Config) error {
	for _, f := range [...]struct{ name, to string }{{"ForwardTo", c.ForwardTo}, {"ForwardDeadLetteredMessagesTo", c.ForwardDeadLetteredMessagesTo}} {
		name, to := f.name, f.to
		if to == "" {
			continue
		}
		if Path(to).Fold() == p.Fold() {
			return &PropertyError{Property: name, Value: to, Kind: ErrArgument, Text: "Entity cannot have auto-forwarding policy to itself."}
		}
		if e := ns.entities[Path(to).Fold()]; e == nil || e.Kind == Subscription {
			return &PropertyError{Property: name, Value: to, Kind: ErrArgument, SubCode: 40401, Text: "The queue or topic '" + cut(to, 260) + "' that '" + name + "' names does not exist."}
		}
	}
	if c.EnableExpress && c.RequiresDuplicateDetection {
		return &PropertyError{Property: "EnableExpress", Value: "true", Kind: ErrArgument, Text: "'EnableExpress' cannot be combined with 'RequiresDuplicateDetection'."}
	}
	return nil
}

// place gives e its holders and makes it findable.
func (ns *Namespace) place(e *entity, topic *entity) {
	e.topic = topic
	if e.main == nil {
		if e.Config.RequiresDuplicateDetection && e.Kind != Subscription {
			e.seen = &sightings{}
		}
		e.main = newHolder(e.ID, e.Path, e, false)
		if e.sessionful() {
			e.main.sessions = newSessions()
		}
		if e.DeadLetterID != 0 {
			e.dead = newHolder(e.DeadLetterID, e.Path.DeadLetter(), e, true)
			e.dead.terms = Terms{DeadLetterQueue: true}
		}
		e.placeTransfer()
	}
	ns.entities[e.Path.Fold()], ns.inOrder = e, nil
	for _, h := range e.holders() {
		h.near = ns.vigil.at(h.path)
		ns.holders[h.id] = h
	}
	if topic != nil {
		at, _ := slices.BinarySearchFunc(topic.subs, e, func(a, b *entity) int { return strings.Compare(a.Path.Fold(), b.Path.Fold()) })
		topic.subs = slices.Insert(topic.subs, at, e)
		topic.bytes += e.bytesHeld()
		for _, p := range e.aside {
			topic.selector.add(p)
		}
		e.aside = nil
		ns.publish(topic)
	} else {
		ns.topLevel++
	}
	ns.publish(e)
	ns.setTerms(e)
	for _, h := range e.holders() {
		ns.reschedule(h)
	}
}

// unplace takes e, with a topic's subscriptions, out of sight. What its
// holders contain stays as it is, so that place undoes it.
func (ns *Namespace) unplace(e *entity) {
	delete(ns.entities, e.Path.Fold())
	ns.inOrder = nil
	for _, h := range e.holders() {
		delete(ns.holders, h.id)
		h.at = 0
		ns.due.fix(h)
	}
	if e.topic != nil {
		e.topic.subs = slices.DeleteFunc(e.topic.subs, func(s *entity) bool { return s == e })
		e.topic.bytes -= e.bytesHeld()
		for _, r := range e.rules {
			e.aside = append(e.aside, e.topic.selector.rules[r.id()])
			e.topic.selector.remove(r.id())
		}
		ns.publish(e.topic)
	} else {
		ns.publish(e)
		ns.topLevel--
	}
}

func (e *entity) holders() []*holder {
	all := make([]*holder, 0, 3)
	for _, h := range [...]*holder{e.main, e.dead, e.transfer} {
		if h != nil {
			all = append(all, h)
		}
	}
	return all
}

func (e *entity) bytesHeld() (n int64) {
	for _, h := range e.holders() {
		n += h.bytes
	}
	return n
}

func (e *entity) messages() (n int64) {
	for _, h := range e.holders() {
		n += int64(h.order.len())
	}
	return n
}

// contained counts the messages that go with e: its own and its
// subscriptions'.
func (e *entity) contained() int64 {
	n := e.messages()
	for _, s := range e.subs {
		n += s.messages()
	}
	return n
}

// setTerms derives what Judge needs from e's description and its topic's
// (TTL-7), and has every message's alarm set anew if that changed.
func (ns *Namespace) setTerms(e *entity) {
	t := ns.termsOf(e)
	if (e.main.terms.TTL != t.TTL || e.main.terms.Forwards != t.Forwards) && e.main.order.len() > 0 {
		e.main.rejudge = 1
	}
	e.main.terms = t
	for _, h := range e.holders() {
		h.out.parked, h.out.look = 0, 0 // another destination, perhaps
		ns.reschedule(h)
	}
	for _, s := range e.subs {
		ns.setTerms(s)
	}
}

func (ns *Namespace) termsOf(e *entity) Terms {
	if e.topic != nil {
		return ns.terms(e.Config, &e.topic.Config)
	}
	return ns.terms(e.Config, nil)
}

// terms are what descriptions come to: an entity's and, of a subscription, its
// topic's.
func (ns *Namespace) terms(c Config, topic *Config) Terms {
	c = c.InForce()
	t := Terms{
		TTL: effectiveTTL(c.DefaultMessageTimeToLive, ns.limits.MaxTTL), Deliveries: c.Deliveries(),
		KeepExpired: c.DeadLetteringOnMessageExpiration, Forwards: c.ForwardTo != "",
	}
	if topic != nil {
		t.TTL = effectiveTTL(t.TTL, topic.DefaultMessageTimeToLive)
	}
	return t
}

// Update replaces the description of an entity (PROP-2). What is fixed at
// creation must be as it was (PROP-1). Locks that stand keep their deadline
// (PROP-10).
func (ns *Namespace) Update(now Instant, p Path, c Config, actor string) (Entity, error) {
	e, c, err := ns.admitUpdate(p, c)
	if err != nil {
		return Entity{}, err
	}
	next := e.Entity
	what := changed(e.Kind, e.Config, c)
	next.Config, next.UpdatedAt = c, max(now, e.UpdatedAt)
	if c.AutoDeleteOnIdle != e.Config.AutoDeleteOnIdle || c.ForwardTo != "" {
		next.Unpinned = 0
	}
	ns.lengthen(now, e, c)
	ns.describe(e, next)
	ns.endRefused(e)
	ns.touch(now, e, "update", actor)
	ns.audit(ns.entityEvent(EventEntityUpdated, now, e, actor)).Reason = what
	return e.Entity, nil
}

// admitUpdate decides whether an entity may have another description, and what
// that comes to.
func (ns *Namespace) admitUpdate(p Path, c Config) (*entity, Config, error) {
	e, err := ns.admin(p)
	if err != nil {
		return nil, c, err
	}
	c = ns.limits.described(e.Kind, e.Config, c)
	if err := ns.limits.lacks(e.Kind, &e.Config, c); err != nil {
		return nil, c, err
	}
	for _, prop := range Properties(e.Kind) {
		if was, is := prop.Text(e.Config), prop.Text(c); prop.CreateOnly && was != is {
			return nil, c, fixed(prop, e.Kind, is)
		}
	}
	if err := ns.checkForward(e.Path, c); err != nil {
		return nil, c, err
	}
	return e, c, ns.limits.checkAccess(e.Kind, e.Config.AuthorizationRules, c.AuthorizationRules)
}

// changed says what differs between two descriptions of an entity: the status
// with what it was, of the others their names; empty: nothing does.
func changed(kind EntityKind, was, is Config) string {
	var all []string
	for _, p := range Properties(kind) {
		switch from, to := p.Text(was), p.Text(is); {
		case from == to:
		case p.Name == "Status":
			all = slices.Insert(all, 0, "status: "+from+" → "+to)
		default:
			all = append(all, p.Name)
		}
	}
	if !slices.Equal(was.AuthorizationRules, is.AuthorizationRules) {
		all = append(all, AuthorizationRules)
	}
	return strings.Join(all, ", ")
}

// describe is the one place where an entity's description changes.
func (ns *Namespace) describe(e *entity, next Entity) {
	before := e.Entity
	ns.changes.note(undo{kind: undoOther, other: func() { e.Entity = before; ns.setTerms(e) }})
	e.Entity = next
	ns.setTerms(e)
	ns.changes.entities[e.ID] = e
	ns.changes.hard = true
}

// admin finds an entity for its administration, in any status (STAT-5).
func (ns *Namespace) admin(p Path) (*entity, error) {
	if p.IsDeadLetter() {
		return nil, refuseCode(ErrNotAllowed, 40000, "A dead-letter queue has no description of its own: '%s'.", p)
	}
	return ns.entity(p)
}

// Contained counts the messages that Delete would remove with the entity.
func (ns *Namespace) Contained(p Path) (int64, error) {
	e, err := ns.admin(p)
	if err != nil {
		return 0, err
	}
	return e.contained(), nil
}

// Delete removes an entity with everything in it (PROP-14, DLQ-1).
func (ns *Namespace) Delete(now Instant, p Path, actor string) error {
	e, err := ns.admin(p)
	if err != nil {
		return err
	}
	ns.remove(now, e, EventEntityDeleted, actor)
	return nil
}

// remove takes e away; a topic takes its subscriptions along (IDLE-11).
func (ns *Namespace) remove(now Instant, e *entity, kind EventKind, actor string) {
	gone := append(slices.Clone(e.subs), e)
	tell := func(g *entity) *Event {
		ev := ns.entityEvent(kind, now, g, actor)
		if kind == EventEntityDeleted { // by hand
			ns.audit(ev)
		}
		return ev
	}
	ev := tell(e)
	ev.Count = e.contained()
	for _, g := range gone {
		ev.Rules = append(ev.Rules, g.rules...)
		if g != e {
			ev.Subs = append(ev.Subs, g.Entity) // which have no keys
		}
	}
	for _, g := range gone {
		if g != e {
			tell(g).Count = g.messages()
		}
		for _, h := range g.holders() {
			ns.end(h, notFound(h.path))
		}
		topic := g.topic
		ns.unplace(g)
		for _, h := range g.holders() {
			ns.changes.holders[h.id] = struct{}{}
			ns.changes.deleted = append(ns.changes.deleted, h)
		}
		ns.changes.note(undo{kind: undoOther, other: func() { ns.place(g, topic) }})
	}
	switch {
	case e.topic == nil:
	case kind == EventEntityAutoDeleted: // nobody used anything
		ns.reconsider(now, e.topic)
	default:
		ns.touch(now, e.topic, "delete subscription", actor)
	}
	ns.changes.hard = true
}

// entityEvent notes what happened to e, with its description as it is now.
func (ns *Namespace) entityEvent(kind EventKind, now Instant, e *entity, actor string) *Event {
	d := e.Entity
	if kind != EventEntityDeleted && kind != EventEntityAutoDeleted { // from which it can be restored
		d.Config = d.Config.withoutKeys()
	}
	ns.events = append(ns.events, Event{Kind: kind, At: now, Holder: e.ID, Path: e.Path, Actor: actor, Entity: &d})
	return &ns.events[len(ns.events)-1]
}

// fixed refuses another value for what was settled at creation (PROP-1), in the
// words of Service Bus, which has some for each property.
func fixed(p Property, kind EntityKind, is string) error {
	text := "The value for the '" + lowerFirst(p.Name) + "' property of an existing Queue(or Topic) can't be changed."
	switch p.Name {
	case "RequiresSession":
		text = "The value for the RequiresSession property of an existing " + title(kind) + " cannot be changed."
	case "EnablePartitioning":
		text = "Partitioning cannot be changed for " + title(kind) + ". "
	}
	return &PropertyError{Property: p.Name, Value: is, Kind: ErrArgument, Text: text}
}

func lowerFirst(s string) string { return strings.ToLower(s[:1]) + s[1:] }
