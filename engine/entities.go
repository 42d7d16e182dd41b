package engine

import (
	"slices"
	"strings"

	"mayfly/engine/shorten"
)

// Create adds a queue, topic or subscription at path p, whose case is kept. A subscription
// gets the rule $Default with a true filter (FILT-2); for other rules, use CreateWithRules.
func (ns *Namespace) Create(now Instant, kind EntityKind, p Path, c Config, actor string) (Entity, error) {
	var rules []Rule
	if kind == Subscription {
		rules = []Rule{{Name: DefaultRule}}
	}
	return ns.CreateWithRules(now, kind, p, c, rules, actor)
}

// CreateWithRules is Create with the rules a subscription starts with; no rules at all are
// allowed and select nothing (FILT-3).
func (ns *Namespace) CreateWithRules(now Instant, kind EntityKind, p Path, c Config, rules []Rule, actor string) (Entity, error) {
	c = ns.limits.Complete(kind, c).stored()
	topic, err := ns.admitEntity(kind, p, c)
	if err != nil {
		return Entity{}, err
	}
	var plans []*compiledRule
	if topic != nil {
		plans, err = ns.admitRules(topic, nil, rules...)
	} else if len(rules) > 0 {
		err = hasNoRules(p, kind)
	}
	if err != nil {
		return Entity{}, err
	}
	e := &entity{Entity: Entity{
		ID: SubqueueID(ns.keys.Next()), Kind: kind, Path: p, Config: c, CreatedAt: now, UpdatedAt: now,
	}}
	if kind != Topic {
		e.DeadLetterID = SubqueueID(ns.keys.Next())
	}
	e.TransferID = SubqueueID(ns.keys.Next())
	if topic != nil {
		e.Path = SubscriptionPath(string(topic.Path), p.Name())
	}
	for _, p := range plans {
		p.Subscription, p.CreatedAt = e.ID, now
		e.rules = withRule(e.rules, p.Rule)
		e.detachedRules = append(e.detachedRules, p.of(e))
		ns.changes.rules[p.id()] = struct{}{}
	}
	ns.addEntity(e, topic)
	e.main.meter.LastUsed = now
	if kind == Subscription { // as in Service Bus, where a new queue or topic has not been accessed
		e.main.meter.AccessedAt = now
		m := topic.main.meter
		m.AccessedAt = now
		ns.meter(topic.main, m)
	}
	ns.changes.markMeter(e.main)
	ns.changes.entities[e.ID] = e
	ns.changes.hard = true
	ns.changes.addUndo(undo{kind: undoOther, other: func() {
		ns.removeEntity(e)
		for _, h := range e.subqueues() { // empty maps are counted while they are kept for reuse
			ns.account.add(-h.account.bytes)
		}
	}})
	ns.touch(now, e, "create", actor)
	ns.audit(ns.entityEvent(EventEntityCreated, now, e, actor))
	return e.Entity, nil
}

// admitEntity checks the arguments of Create before anything changes. It returns the topic of a
// subscription, or nil for other kinds.
func (ns *Namespace) admitEntity(kind EntityKind, p Path, c Config) (topic *entity, err error) {
	if p.IsDeadLetter() {
		return nil, RefuseCode(ErrNotAllowed, 40301, "A dead-letter queue cannot be created by itself: '%s'. Create its queue or subscription.", p)
	}
	topicName, _, isSub := p.Subscription()
	if isSub != (kind == Subscription) {
		return nil, RefuseCode(ErrArgument, 40000, "'%s' is not the path of a %s. A subscription's path is TOPIC/Subscriptions/NAME.", p, kind)
	}
	if err := ns.limits.checkFeatures(kind, nil, c); err != nil {
		return nil, err
	}
	if old := ns.entities[p.Fold()]; old != nil {
		return nil, RefuseCode(ErrExists, 40900, "The %s '%s' already exists.", old.Kind, old.Path)
	}
	if err := ns.checkForward(p, c); err != nil {
		return nil, err
	}
	if err := ns.limits.checkAccess(kind, nil, c.AuthorizationRules); err != nil {
		return nil, err
	}
	if err := ns.admitMemory((&entity{Entity: Entity{Path: p, Config: c}}).memory()); err != nil {
		return nil, err
	}
	if kind != Subscription {
		if int64(ns.topLevelCount) >= ns.limits.Entities {
			return nil, RefuseCode(ErrQuota, 40300, "This namespace already has %d queues and topics, the maximum. Delete one first.", ns.topLevelCount)
		}
		return nil, nil
	}
	if topic, err = ns.entity(Path(topicName)); err != nil {
		return nil, err
	}
	if topic.Kind != Topic {
		return nil, RefuseCode(ErrNotAllowed, 40301, "'%s' is a %s. Only topics have subscriptions.", topic.Path, topic.Kind)
	}
	if int64(len(topic.subs)) >= ns.limits.SubscriptionsPerTopic {
		return nil, RefuseCode(ErrQuota, 40503, "The topic '%s' already has %d subscriptions, the maximum. Delete one first.", topic.Path, len(topic.subs))
	}
	return topic, nil
}

// checkForward returns an error unless the entity at p may forward as c says: to queues or
// topics that exist (FWD-2), or to itself (PROP-9). It also rejects conflicting properties.
func (ns *Namespace) checkForward(p Path, c Config) error {
	for _, f := range [...]struct{ name, to string }{{"ForwardTo", c.ForwardTo}, {"ForwardDeadLetteredMessagesTo", c.ForwardDeadLetteredMessagesTo}} {
		name, to := f.name, f.to
		if to == "" {
			continue
		}
		if _, _, sub := p.Subscription(); !sub && Path(to).Fold() == p.Fold() {
			continue // itself, which may not exist yet
		}
		if e := ns.entities[Path(to).Fold()]; e == nil || e.Kind == Subscription {
			return &PropertyError{Property: name, Value: to, Kind: ErrArgument, SubCode: 40401, Text: "The queue or topic '" + shorten.To(to, 260) + "' that '" + name + "' names does not exist."}
		}
	}
	if c.EnableExpress && c.RequiresDuplicateDetection {
		return &PropertyError{Property: "EnableExpress", Value: "true", Kind: ErrArgument, Text: "'EnableExpress' cannot be combined with 'RequiresDuplicateDetection'."}
	}
	return nil
}

// addEntity creates e's subqueues, unless it has them already because removeEntity is undone, and
// adds e to the indexes.
func (ns *Namespace) addEntity(e *entity, topic *entity) {
	e.topic = topic
	if e.main == nil {
		if e.Config.RequiresDuplicateDetection && e.Kind != Subscription {
			e.seen = &duplicateHistory{}
		}
		e.main = ns.newSubqueue(e.ID, e.Path, e, false)
		if e.requiresSession() {
			e.main.sessions = newSessions(e.main)
			e.main.sessions.watch = &ns.watch
		}
		if e.DeadLetterID != 0 {
			e.dead = ns.newSubqueue(e.DeadLetterID, e.Path.DeadLetter(), e, true)
			e.dead.terms = Terms{DeadLetterQueue: true}
		}
		ns.addTransferSubqueue(e)
	}
	ns.entities[e.Path.Fold()], ns.sortedEntities = e, nil
	ns.account.add(e.memory())
	e.ruleIndex.account = &ns.account
	for _, h := range e.subqueues() {
		h.expiryWatch = ns.expiryWatch.at(h.path)
		ns.subqueues[h.id] = h
	}
	if topic != nil {
		at, _ := slices.BinarySearchFunc(topic.subs, e, func(a, b *entity) int { return strings.Compare(a.Path.Fold(), b.Path.Fold()) })
		topic.subs = slices.Insert(topic.subs, at, e)
		topic.bytes += e.subqueueBytes()
		topic.charged += e.subqueueCharge()
		for _, p := range e.detachedRules {
			topic.ruleIndex.add(p)
		}
		e.detachedRules = nil
		ns.updateRulebook(topic)
	} else {
		ns.topLevelCount++
	}
	ns.updateRulebook(e)
	ns.setTerms(e)
	for _, h := range e.subqueues() {
		ns.reschedule(h)
	}
}

// removeEntity removes e from the indexes. The contents of its subqueues stay as they are, so that
// addEntity undoes it.
func (ns *Namespace) removeEntity(e *entity) {
	delete(ns.entities, e.Path.Fold())
	ns.sortedEntities = nil
	ns.account.add(-e.memory())
	for _, h := range e.subqueues() {
		delete(ns.subqueues, h.id)
		h.dueAt = 0
		ns.due.fix(h)
	}
	if e.topic != nil {
		e.topic.subs = slices.DeleteFunc(e.topic.subs, func(s *entity) bool { return s == e })
		e.topic.bytes -= e.subqueueBytes()
		e.topic.charged -= e.subqueueCharge()
		for _, r := range e.rules {
			e.detachedRules = append(e.detachedRules, e.topic.ruleIndex.rules[r.id()])
			e.topic.ruleIndex.remove(r.id())
		}
		ns.updateRulebook(e.topic)
	} else {
		ns.updateRulebook(e)
		ns.topLevelCount--
	}
}

func (e *entity) subqueues() []*subqueue {
	all := make([]*subqueue, 0, 3)
	for _, h := range [...]*subqueue{e.main, e.dead, e.transfer} {
		if h != nil {
			all = append(all, h)
		}
	}
	return all
}

func (e *entity) subqueueBytes() (n int64) {
	for _, h := range e.subqueues() {
		n += h.bytes
	}
	return n
}

func (e *entity) subqueueCharge() (n int64) {
	for _, h := range e.subqueues() {
		n += h.charged
	}
	return n
}

func (e *entity) messages() (n int64) {
	for _, h := range e.subqueues() {
		n += int64(h.order.len())
	}
	return n
}

// countContained counts the messages that are deleted with e: its own and its subscriptions'.
func (e *entity) countContained() int64 {
	n := e.messages()
	for _, s := range e.subs {
		n += s.messages()
	}
	return n
}

// setTerms derives the terms for Judge of e and its subscriptions from their descriptions and their
// topic's (TTL-7). If messages expire at other times by the new terms, it marks all alarms of the
// main subqueue to be set again (rejudge).
func (ns *Namespace) setTerms(e *entity) {
	t := ns.termsOf(e)
	if (e.main.terms.TTL != t.TTL || e.main.terms.Forwards != t.Forwards) && e.main.order.len() > 0 {
		e.main.rejudge = 1
	}
	e.main.terms = t
	for _, h := range e.subqueues() {
		h.forwarding.retryAt, h.forwarding.recheckAt, h.forwarding.lacksMemory = 0, 0, false // the destination may have changed
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

// terms returns the terms that follow from the description of an entity and, for a
// subscription, its topic's.
func (ns *Namespace) terms(c Config, topic *Config) Terms {
	c = c.Effective()
	t := Terms{
		TTL: effectiveTTL(c.DefaultMessageTimeToLive, ns.limits.MaxTTL), MaxDeliveries: c.MaxDeliveries(),
		KeepExpired: c.DeadLetteringOnMessageExpiration, Forwards: c.ForwardTo != "",
	}
	if topic != nil {
		t.TTL = effectiveTTL(t.TTL, topic.DefaultMessageTimeToLive)
	}
	return t
}

// Update replaces the description of an entity (PROP-2). Properties fixed at creation must
// not change (PROP-1). Existing locks keep their deadline (PROP-10).
func (ns *Namespace) Update(now Instant, p Path, c Config, actor string) (Entity, error) {
	e, c, err := ns.admitUpdate(p, c)
	if err != nil {
		return Entity{}, err
	}
	next := e.Entity
	what := describeChanges(e.Kind, e.Config, c)
	next.Config, next.UpdatedAt = c, max(now, e.UpdatedAt)
	if c.AutoDeleteOnIdle != e.Config.AutoDeleteOnIdle || c.ForwardTo != "" {
		next.UnpinnedIdle = 0
	}
	ns.extendWindow(now, e, c)
	ns.setDescription(e, next)
	ns.endRefusedLinks(e)
	ns.touch(now, e, "update", actor)
	ns.audit(ns.entityEvent(EventEntityUpdated, now, e, actor)).Reason = what
	return e.Entity, nil
}

// admitUpdate checks whether an entity's description may change to c, and returns the
// description that results.
func (ns *Namespace) admitUpdate(p Path, c Config) (*entity, Config, error) {
	e, err := ns.entityForAdmin(p)
	if err != nil {
		return nil, c, err
	}
	c = ns.limits.completeUpdate(e.Kind, e.Config, c)
	if err := ns.limits.checkFeatures(e.Kind, &e.Config, c); err != nil {
		return nil, c, err
	}
	for _, prop := range Properties(e.Kind) {
		if was, is := prop.Text(e.Config), prop.Text(c); prop.CreateOnly && was != is {
			return nil, c, fixedPropertyError(prop, e.Kind, is)
		}
	}
	if err := ns.checkForward(e.Path, c); err != nil {
		return nil, c, err
	}
	return e, c, ns.limits.checkAccess(e.Kind, e.Config.AuthorizationRules, c.AuthorizationRules)
}

// describeChanges lists what differs between two descriptions of an entity: the status with both
// values, other properties by name. It returns "" if nothing differs.
func describeChanges(kind EntityKind, was, is Config) string {
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

// setDescription replaces e's stored record, with its description, by next, and updates its terms. No
// other function changes a description.
func (ns *Namespace) setDescription(e *entity, next Entity) {
	before := e.Entity
	put := func(is Entity) {
		ns.account.add(is.Config.memory() - e.Config.memory())
		e.Entity = is
		ns.setTerms(e)
	}
	ns.changes.addUndo(undo{kind: undoOther, other: func() { put(before) }})
	put(next)
	ns.changes.entities[e.ID] = e
	ns.changes.hard = true
}

// entityForAdmin returns an entity for administration, in any status (STAT-5).
func (ns *Namespace) entityForAdmin(p Path) (*entity, error) {
	if p.IsDeadLetter() {
		return nil, RefuseCode(ErrNotAllowed, 40000, "A dead-letter queue has no properties of its own: '%s'. Use those of its queue or subscription.", p)
	}
	return ns.entity(p)
}

// CountContained returns how many messages Delete would remove with the entity.
func (ns *Namespace) CountContained(p Path) (int64, error) {
	e, err := ns.entityForAdmin(p)
	if err != nil {
		return 0, err
	}
	return e.countContained(), nil
}

// Delete removes an entity with everything in it (PROP-14, DLQ-1).
func (ns *Namespace) Delete(now Instant, p Path, actor string) error {
	e, err := ns.entityForAdmin(p)
	if err != nil {
		return err
	}
	ns.deleteEntity(now, e, EventEntityDeleted, actor)
	return nil
}

// deleteEntity removes e and, with a topic, its subscriptions (IDLE-11). It ends their links, and adds
// an event of the given kind for each entity.
func (ns *Namespace) deleteEntity(now Instant, e *entity, kind EventKind, actor string) {
	gone := append(slices.Clone(e.subs), e)
	tell := func(g *entity) *Event {
		ev := ns.entityEvent(kind, now, g, actor)
		if kind == EventEntityDeleted { // on request, not because it was idle
			ns.audit(ev)
		}
		return ev
	}
	ev := tell(e)
	ev.Count = e.countContained()
	for _, g := range gone {
		ev.Rules = append(ev.Rules, g.rules...)
		if g != e {
			ev.Subscriptions = append(ev.Subscriptions, g.Entity) // subscriptions have no keys
		}
	}
	for _, g := range gone {
		if g != e {
			tell(g).Count = g.messages()
		}
		for _, h := range g.subqueues() {
			ns.endLinks(h, notFound(h.path))
		}
		topic := g.topic
		ns.removeEntity(g)
		for _, h := range g.subqueues() {
			ns.changes.subqueues[h.id] = struct{}{}
			ns.changes.deleted = append(ns.changes.deleted, h)
		}
		ns.changes.addUndo(undo{kind: undoOther, other: func() { ns.addEntity(g, topic) }})
	}
	switch {
	case e.topic == nil:
	case kind == EventEntityAutoDeleted: // this is not a use of the topic
		ns.setIdleAlarm(now, e.topic)
	default:
		ns.touch(now, e.topic, "delete subscription", actor)
	}
	ns.changes.hard = true
}

// entityEvent adds an event about e, with its present description.
func (ns *Namespace) entityEvent(kind EventKind, now Instant, e *entity, actor string) *Event {
	d := e.Entity
	if kind != EventEntityDeleted && kind != EventEntityAutoDeleted { // a deleted entity can be restored from its event, which needs the keys
		d.Config = d.Config.withoutKeys()
	}
	ns.events = append(ns.events, Event{Kind: kind, At: now, Subqueue: e.ID, Path: e.Path, Actor: actor, Entity: &d})
	return &ns.events[len(ns.events)-1]
}

// fixedPropertyError returns the error for changing a property that is fixed at creation (PROP-1),
// in the words of Service Bus, which differ by property.
func fixedPropertyError(p Property, kind EntityKind, is string) error {
	text := "The value for the '" + lowerFirst(p.Name) + "' property of an existing Queue(or Topic) can't be changed."
	switch p.Name {
	case "RequiresSession":
		text = "The value for the RequiresSession property of an existing " + kindTitle(kind) + " cannot be changed."
	case "EnablePartitioning":
		text = "Partitioning cannot be changed for " + kindTitle(kind) + ". "
	}
	return &PropertyError{Property: p.Name, Value: is, Kind: ErrArgument, Text: text}
}

func lowerFirst(s string) string { return strings.ToLower(s[:1]) + s[1:] }
