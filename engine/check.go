package engine

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"
)

// Check rebuilds every index from the records and returns the first difference: it checks the
// INVARIANT lines of the package comment one after the other. It changes nothing, takes time
// in proportion to the whole state, and may be called between any two steps.
func (ns *Namespace) Check() error {
	for _, check := range []func() error{ns.checkEntities, ns.checkSubqueues, ns.checkLinks, ns.checkDue, ns.checkMessages, ns.checkSeen, ns.checkTransactions, ns.checkAccess, ns.checkSettings, ns.checkChanges, ns.checkAccount} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// checkAccess checks that the namespace's access rules are sorted by name, and names are unique.
func (ns *Namespace) checkAccess() error {
	for i, r := range ns.access {
		if i > 0 && compareAccess(ns.access[i-1], r) >= 0 {
			return fmt.Errorf("the access rule %s comes after %s", r, ns.access[i-1])
		}
	}
	return nil
}

// checkSettings checks that a setting is found by its key, the bytes of all settings are counted,
// and their order, once computed, is that of the keys.
func (ns *Namespace) checkSettings() error {
	bytes := int64(0)
	for key, s := range ns.settings.byKey {
		if s.Key != key {
			return fmt.Errorf("the setting %q is kept under %q", s.Key, key)
		}
		bytes += s.size()
	}
	if bytes != ns.settings.bytes {
		return fmt.Errorf("settings have %d bytes, counted %d", bytes, ns.settings.bytes)
	}
	if keys := slices.Sorted(maps.Keys(ns.settings.byKey)); ns.settings.inOrder != nil && !slices.Equal(ns.settings.inOrder, keys) {
		return fmt.Errorf("the keys of settings are %q, and should be %q", ns.settings.inOrder, keys)
	}
	return nil
}

func invariantError(at Path, format string, args ...any) error {
	return fmt.Errorf("%q: %s", at, fmt.Sprintf(format, args...))
}

// checkEntities checks that an entity is found by its folded path, its subqueues by their ids, and a
// subscription through its topic, in path order.
func (ns *Namespace) checkEntities() error {
	subqueues, top := 0, 0
	for key, e := range ns.entities {
		switch {
		case key != e.Path.Fold():
			return invariantError(e.Path, "it is kept under %q", key)
		case e.main.id != e.ID || e.main.dead || e.main.entity != e || e.main.path != e.Path:
			return invariantError(e.Path, "its main place is %d of %q", e.main.id, e.main.path)
		case (e.dead == nil) != (e.Kind == Topic) || (e.DeadLetterID == 0) != (e.dead == nil):
			return invariantError(e.Path, "a %s with dead-letter queue %d", e.Kind, e.DeadLetterID)
		case e.dead != nil && (e.dead.id != e.DeadLetterID || !e.dead.dead || e.dead.entity != e || e.dead.path != e.Path.DeadLetter()):
			return invariantError(e.Path, "its dead-letter queue is %d of %q", e.dead.id, e.dead.path)
		case e.transfer == nil || e.transfer.id != e.TransferID || !e.transfer.dead || e.transfer.entity != e || e.transfer.path != e.Path.Transfer():
			return invariantError(e.Path, "its transfer dead-letter queue is not %d", e.TransferID)
		}
		for _, h := range e.subqueues() {
			if ns.subqueues[h.id] != h {
				return invariantError(h.path, "its id %d leads elsewhere", h.id)
			}
			subqueues++
		}
		if err := ns.checkSubscriptions(e); err != nil {
			return err
		}
		if e.topic == nil {
			top++
		}
	}
	if ns.sortedEntities != nil && (len(ns.sortedEntities) != len(ns.entities) || slices.ContainsFunc(ns.sortedEntities, func(e *entity) bool { return ns.entities[e.Path.Fold()] != e })) {
		return fmt.Errorf("%d entities are listed and %d are there, or others", len(ns.sortedEntities), len(ns.entities))
	}
	if subqueues != len(ns.subqueues) || top != ns.topLevelCount {
		return fmt.Errorf("%d places are known and %d belong to entities; %d queues and topics are counted and %d are there", len(ns.subqueues), subqueues, ns.topLevelCount, top)
	}
	return nil
}

func (ns *Namespace) checkSubscriptions(e *entity) error {
	name, _, isSub := e.Path.Subscription()
	switch {
	case isSub != (e.Kind == Subscription) || isSub != (e.topic != nil):
		return invariantError(e.Path, "a %s with topic %v", e.Kind, e.topic)
	case isSub && (ns.entities[Path(name).Fold()] != e.topic || e.topic.Kind != Topic || !slices.Contains(e.topic.subs, e)):
		return invariantError(e.Path, "its topic does not know it")
	case !slices.IsSortedFunc(e.subs, func(a, b *entity) int { return strings.Compare(a.Path.Fold(), b.Path.Fold()) }):
		return invariantError(e.Path, "its subscriptions are not sorted")
	}
	if err := ns.checkRuleIndex(e); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, s := range e.subs {
		if ns.entities[s.Path.Fold()] != s || s.topic != e {
			return invariantError(e.Path, "it has a subscription %q that is not its own", s.Path)
		}
	}
	for _, r := range e.rules {
		if r.Subscription != e.ID || seen[strings.ToLower(r.Name)] || e.topic == nil {
			return invariantError(e.Path, "rule %q of %d is there twice or elsewhere's", r.Name, r.Subscription)
		}
		seen[strings.ToLower(r.Name)] = true
	}
	bytes, charged := int64(0), int64(0)
	if e.topic == nil {
		for _, o := range append(slices.Clone(e.subs), e) {
			bytes += o.subqueueBytes()
			charged += o.subqueueCharge()
		}
	}
	if e.charged != charged { // INVARIANT: the charge is summed at the root
		return invariantError(e.Path, "%d bytes are charged and %d should be", e.charged, charged)
	}
	if e.bytes != bytes { // INVARIANT: bytes are summed at the root
		return invariantError(e.Path, "%d bytes are counted and %d are there", e.bytes, bytes)
	}
	return nil
}

func (ns *Namespace) checkSubqueues() error {
	for _, e := range ns.sorted() {
		terms := ns.termsOf(e)
		apart := Terms{DeadLetterQueue: true}
		if e.main.terms != terms || e.dead != nil && e.dead.terms != apart || e.transfer.terms != apart {
			return invariantError(e.Path, "terms are %+v and should be %+v", e.main.terms, terms)
		}
		for _, h := range e.subqueues() {
			if err := ns.checkSubqueue(h); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkSubqueue checks that order, lists by class, alarms, counts and bytes of a subqueue are a
// function of its messages.
func (ns *Namespace) checkSubqueue(h *subqueue) error {
	var count [classes]int64
	var bytes int64
	var expiring, pending []alarm
	ready, held, passed := 0, 0, 0
	if h.sessions != nil {
		for _, s := range h.sessions.byID {
			if s.state != nil {
				bytes += int64(len(s.state.text))
			}
		}
	}
	for m := range h.order.from(0) {
		if err := ns.checkMessage(h, m); err != nil {
			return err
		}
		c := classOf(m.Message)
		count[c]++
		bytes += m.size()
		switch in := h.forwarding.held.at(m.Seq); {
		case in != nil && in != m, in != nil && !m.ready(), in == nil && m.ready() && m.neverForwarded():
			return invariantError(h.path, "#%d is ready: %v, stays: %v, and is held: %v", m.Seq, m.ready(), m.neverForwarded(), in != nil)
		case in != nil:
			if held++; !m.neverForwarded() {
				passed++
			}
		case m.ready():
			if ready++; ready == 1 && h.order.first() != m {
				return invariantError(h.path, "#%d is the first that is ready, not %v", m.Seq, h.order.first())
			}
		}
		if c != classActive && h.byClass[c].at(m.Seq) != m {
			return invariantError(h.path, "#%d is missing in its list apart", m.Seq)
		}
		switch a := (alarm{m.alarm(), m.Seq}); {
		case m.alarm() == 0:
		case h.alarmsFor(m.Message) == &h.pending:
			pending = append(pending, a)
		default:
			expiring = append(expiring, a)
		}
	}
	if count != h.count || bytes != h.bytes || ready != h.order.ready() {
		return invariantError(h.path, "counts %v, bytes %d, ready %d; there are %v, %d, %d", h.count, h.bytes, h.order.ready(), count, bytes, ready)
	}
	if o := &h.forwarding; held != o.held.len() || held != o.held.ready() || passed != o.rejected || passed > 0 && h != h.entity.dead {
		return invariantError(h.path, "%d are held, %d of them ready, %d passed over; there are %d and %d", o.held.len(), o.held.ready(), o.rejected, held, passed)
	}
	for c := range classes {
		if n := int64(h.byClass[c].len()); c != classActive && n != count[c] || c == classActive && n != 0 {
			return invariantError(h.path, "list apart %d has %d messages, not %d", c, n, count[c])
		}
	}
	for _, o := range []*order{&h.order, &h.forwarding.held, &h.byClass[classLocked], &h.byClass[classDeferred], &h.byClass[classScheduled]} {
		if err := o.verify(); err != nil {
			return invariantError(h.path, "%v", err)
		}
	}
	for k := range h.locks { // INVARIANT: details are recorded only of locks that exist
		if m := ns.messages[k]; m == nil || m.Subqueue != h.id || !m.Locked() {
			return invariantError(h.path, "something is known of a lock on %d, which is not locked here", k)
		}
	}
	if err := h.expiring.verify(expiring); err != nil {
		return invariantError(h.path, "expiring %v", err)
	}
	if err := h.pending.verify(pending); err != nil {
		return invariantError(h.path, "pending %v", err)
	}
	if err := h.checkCharge(); err != nil {
		return err
	}
	return ns.checkSessions(h)
}

func (ns *Namespace) checkMessage(h *subqueue, m *message) error {
	switch {
	case m.Subqueue != h.id || ns.messages[m.Key] != m || h.order.at(m.Seq) != m:
		return invariantError(h.path, "#%d leads elsewhere: holder %d, key %d", m.Seq, m.Subqueue, m.Key)
	case m.Seq < 1 || m.Seq >= h.entity.main.meter.NextSeq: // INVARIANT: NextSeq is above every number
		return invariantError(h.path, "#%d is not below the next number, %d", m.Seq, h.entity.main.meter.NextSeq)
	case m.Content != m.content.key:
		return invariantError(h.path, "#%d has content %d and refers to %d", m.Seq, m.content.key, m.Content)
	case (m.State == Scheduled) != (m.ScheduledFor != 0) || m.State == Scheduled && (h.dead || m.Locked()):
		return invariantError(h.path, "#%d is %v for %d, locked until %d", m.Seq, m.State, m.ScheduledFor, m.LockedUntil)
	case h.entity.Kind == Topic && !h.dead && m.State != Scheduled:
		return invariantError(h.path, "#%d is at a topic, %v", m.Seq, m.State)
	case h.dead != (m.Extra != nil && m.Extra.DeadLettered):
		return invariantError(h.path, "#%d is dead-lettered: %v", m.Seq, !h.dead)
	case m.neverForwarded() && h != h.entity.dead:
		return invariantError(h.path, "#%d stays in a place that it need not stay in", m.Seq)
	case m.alarm() != h.nextChange(m.Message) && (h.rejudge == 0 || m.Seq < h.rejudge):
		return invariantError(h.path, "the alarm of #%d is at %d and should be at %d", m.Seq, m.alarm(), h.nextChange(m.Message))
	}
	return nil
}

// verify returns an error if o breaks its invariants.
func (o *order) verify() error {
	total, able := 0, 0
	if o.root != nil {
		var err error
		if total, able, err = o.root.verify(o.level); err != nil {
			return err
		}
	}
	if total != o.total || able != o.readyCount || (o.root == nil) != (o.total == 0) || o.root != nil && o.level > 0 && o.root.present == 1 {
		return fmt.Errorf("an order of level %d counts %d, %d ready; there are %d and %d", o.level, o.total, o.readyCount, total, able)
	}
	return nil
}

func (p *page) verify(level uint) (total, able int, err error) {
	n := bits.OnesCount64(p.present)
	if p.present == 0 || p.ready&^p.present != 0 || level == 0 && len(p.msgs) != n || level > 0 && len(p.pages) != n {
		return 0, 0, fmt.Errorf("a page of level %d has there %b, ready %b, %d messages, %d pages", level, p.present, p.ready, len(p.msgs), len(p.pages))
	}
	if level == 0 {
		for _, m := range p.msgs {
			if !p.has(digit(m.Seq, 0)) || p.msgs[p.index(digit(m.Seq, 0))] != m {
				return 0, 0, fmt.Errorf("#%d is out of place", m.Seq)
			}
		}
		return n, bits.OnesCount64(p.ready), nil
	}
	for i := range uint(64) {
		if !p.has(i) {
			continue
		}
		below := p.pages[p.index(i)]
		if (below.ready != 0) != (p.ready>>i&1 != 0) {
			return 0, 0, fmt.Errorf("a page of level %d has ready %b, the one under %d %b", level, p.ready, i, below.ready)
		}
		t, a, err := below.verify(level - 1)
		if err != nil {
			return 0, 0, err
		}
		total, able = total+t, able+a
	}
	return total, able, nil
}

// verify returns an error if s breaks its invariants or does not contain exactly the alarms
// in `want`.
func (s *alarms) verify(want []alarm) error {
	slices.SortFunc(want, alarm.compare)
	var have []alarm
	for i, c := range s.chunks {
		if len(c) == 0 || len(c) > chunkSize || i >= len(s.last) || s.last[i] != c[len(c)-1] {
			return fmt.Errorf("alarms: chunk %d of %d has %d", i, len(s.chunks), len(c))
		}
		have = append(have, c...)
	}
	if len(s.last) != len(s.chunks) || s.n != len(have) || !slices.Equal(have, want) {
		return fmt.Errorf("alarms are %v, counted %d, and should be %v", have, s.n, want)
	}
	return nil
}

// checkDue checks that a subqueue with something due is in the rotation, or in the heap at the time
// of its next alarm; an entity's idle alarm is never late.
func (ns *Namespace) checkDue() error {
	for i, h := range ns.due {
		if h.heapIndex != i || ns.subqueues[h.id] != h || h.dueAt <= 0 || i > 0 && ns.due[(i-1)/2].dueAt > h.dueAt {
			return invariantError(h.path, "it is at place %d of the heap, due at %d, and says %d", i, h.dueAt, h.heapIndex)
		}
	}
	for _, h := range ns.subqueues {
		turns := 0
		for _, o := range ns.rotation {
			if o == h {
				turns++
			}
		}
		switch at := h.nextDue(); {
		case h.inRotation && (turns != 1 || h.heapIndex >= 0), !h.inRotation && turns != 0:
			return invariantError(h.path, "in turn is %v, but it is there %d times and at place %d of the heap", h.inRotation, turns, h.heapIndex)
		case !h.inRotation && (h.dueAt != at || (at != 0) != (h.heapIndex >= 0)):
			return invariantError(h.path, "it is due at %d and stands in the heap for %d, at place %d", at, h.dueAt, h.heapIndex)
		}
	}
	for _, e := range ns.entities {
		idle, a := e.Config.AutoDeleteOnIdle, e.activity()
		switch {
		case idle == 0 || e.Config.ForwardTo != "" || a.Receivers == 0 && a.Scheduled > 0:
		case e.idleAt == 0, a.Receivers == 0 && e.idleAt > a.LastUsed.Add(idle):
			return invariantError(e.Path, "last used at %d, it will be looked at only at %d", a.LastUsed, e.idleAt)
		}
	}
	return nil
}

// checkMessages checks that messages are those of existing subqueues and of deleted ones that have
// not been freed; contents count the messages that refer to them.
func (ns *Namespace) checkMessages() error {
	n := 0
	refs := map[*content]int32{}
	subqueues := slices.Concat(slices.Collect(maps.Values(ns.subqueues)), ns.freeing, ns.changes.deleted)
	for _, h := range subqueues {
		for m := range h.order.from(0) {
			if ns.messages[m.Key] != m {
				return invariantError(h.path, "#%d cannot be found by its key", m.Seq)
			}
			n++
			refs[m.content]++
		}
	}
	if n != len(ns.messages) {
		return fmt.Errorf("%d messages are known by key and %d are at a place", len(ns.messages), n)
	}
	for _, t := range ns.transactions.open {
		t.contents(func(c *content) { refs[c]++ })
	}
	for c, n := range refs {
		if c.refs != n || c.pins < 0 {
			return fmt.Errorf("content %d counts %d messages and %d readers; %d messages refer to it", c.key, c.refs, c.pins, n)
		}
	}
	return nil
}

// checkChanges checks that marks such as flagStored and flagDirty agree with the lists of changes.
// Whether the store's records, changed by the pending batch, equal the state here is checked by
// enginetest, because the engine does not read the store.
func (ns *Namespace) checkChanges() error {
	c := &ns.changes
	listed, meters := map[*message]bool{}, map[*subqueue]bool{}
	for _, m := range c.messages {
		if !m.hasFlag(flagDirty) || listed[m] || m.hasFlag(flagLockOnly) && !m.hasFlag(flagStored) {
			return fmt.Errorf("message %d waits for the store twice, is not dirty, or may wait though the store does not have it", m.Key)
		}
		listed[m] = true
	}
	for _, h := range c.meters {
		if !h.meterDirty || meters[h] {
			return invariantError(h.path, "its meter waits for the store twice, or is not dirty")
		}
		meters[h] = true
	}
	fresh := map[*content]bool{}
	for _, k := range c.contents {
		fresh[k] = true
	}
	for k, m := range ns.messages {
		_, dropped := c.dropped[k]
		switch {
		case m.hasFlag(flagDirty) != listed[m] || !m.hasFlag(flagDirty) && !m.hasFlag(flagStored) || dropped:
			return fmt.Errorf("message %d: stored %v, dirty %v, listed %v, dropped %v", k, m.hasFlag(flagStored), m.hasFlag(flagDirty), listed[m], dropped)
		case !m.content.stored && !fresh[m.content]:
			return fmt.Errorf("message %d: its content %d is not in the store and not on the way", k, m.content.key)
		}
	}
	for id, h := range ns.subqueues {
		if h.meterDirty != meters[h] {
			return invariantError(h.path, "meter dirty is %v, listed %v", h.meterDirty, meters[h])
		}
		if e, ok := c.entities[id]; ok && e != h.entity {
			return invariantError(h.path, "another %q waits for the store", e.Path)
		}
	}
	return ns.batch(0).verify()
}

// verify returns an error if b names an identity twice.
func (b *Batch) verify() error {
	seen := map[any]bool{}
	var twice any
	note := func(id any) {
		if seen[id] {
			twice = id
		}
		seen[id] = true
	}
	type meter SubqueueID
	type message Key
	type content Key
	type body Key
	for _, e := range b.Entities {
		note(e.ID)
	}
	for _, id := range b.DropSubqueues {
		note(id)
	}
	for _, r := range b.Rules {
		note(r.id())
	}
	for _, s := range b.Sessions {
		note(SessionID{s.Subqueue, s.ID})
	}
	for _, id := range b.DropSessions {
		note(id)
	}
	for _, id := range b.DropRules {
		note(id)
	}
	for _, m := range b.Meters {
		note(meter(m.Subqueue))
	}
	for _, m := range b.Messages {
		note(message(m.Key))
	}
	for _, k := range b.DropMessages {
		note(message(k))
	}
	for _, k := range b.Contents {
		note(content(k.Key))
	}
	for _, k := range b.DropContents {
		note(content(k.Key))
	}
	for _, k := range b.Bodies {
		note(body(k.Key))
	}
	type key string
	for _, s := range b.Settings {
		note(key(s.Key))
	}
	for _, k := range b.DropSettings {
		note(key(k))
	}
	for _, r := range b.Seen {
		note(SeenIDsThrough{r.Subqueue, r.N})
	}
	type through SubqueueID
	for _, d := range b.DropSeen {
		note(through(d.Subqueue))
	}
	if twice != nil {
		return fmt.Errorf("a batch names %T %v twice", twice, twice)
	}
	return nil
}
