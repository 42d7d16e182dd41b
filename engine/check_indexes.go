package engine

import (
	"fmt"
	"maps"
	"slices"
)

// checkAccount checks that the account is the sum of the sizes, as memory_account.go counts them,
// of the records and their indexes, with maps at the size to which they have grown.
func (ns *Namespace) checkAccount() error {
	want := int64(ns.peakMessages) * messageEntry
	for _, e := range ns.entities {
		want += e.memory()
		for _, p := range e.ruleIndex.rules {
			want += p.memory()
		}
	}
	for _, s := range ns.settings.byKey {
		want += s.memory()
	}
	contents := map[*content]bool{}
	for _, m := range ns.messages {
		want += ns.sizer.message(m.Extra)
		contents[m.content] = true
	}
	for _, t := range ns.transactions.open {
		t.contents(func(c *content) { contents[c] = true })
	}
	for c := range contents {
		want += ns.sizer.content(c.packed)
	}
	for _, h := range slices.Concat(slices.Collect(maps.Values(ns.subqueues)), ns.freeing, ns.changes.deleted) {
		if bytes := h.indexMemory(); bytes != h.account.bytes {
			return invariantError(h.path, "its indexes take %d bytes, counted %d", bytes, h.account.bytes)
		}
		want += h.account.bytes
	}
	if want != ns.account.bytes || ns.peakMessages < len(ns.messages) {
		return fmt.Errorf("%d bytes of memory are counted, %d are taken, for %d messages of %d at most", ns.account.bytes, want, len(ns.messages), ns.peakMessages)
	}
	return nil
}

// indexMemory returns the memory of the indexes of h, without its messages.
func (h *subqueue) indexMemory() int64 {
	n := h.order.memory() + h.forwarding.held.memory() + h.expiring.counted + h.pending.counted + int64(h.peakLocks)*lockEntry
	for c := range h.byClass {
		n += h.byClass[c].memory()
	}
	if h.sessions == nil {
		return n
	}
	n += int64(h.sessions.peak) * sessionEntry
	for _, s := range h.sessions.byID {
		n += s.memory() + s.order.memory() + h.sizer.state(s.state)
		if s.lock != nil {
			n += sessionLockMemory + s.lock.locked.memory()
		}
	}
	return n
}

func (o *order) memory() int64 {
	if o.root == nil {
		return 0
	}
	return o.root.memory()
}

func (p *page) memory() int64 {
	n := int64(pageMemory + pointerMemory*p.lists())
	for _, below := range p.pages {
		n += below.memory()
	}
	return n
}

// checkCharge returns an error unless h.charged is the sum over messages and sessions.
func (h *subqueue) checkCharge() error {
	want := int64(0)
	for m := range h.order.from(0) {
		want += h.sizer.charge(m)
	}
	if h.sessions != nil {
		for _, s := range h.sessions.byID {
			want += h.sizer.chargeSession(s) + h.sizer.chargeState(s.state)
		}
	}
	if want != h.charged || h.charged < h.bytes {
		return invariantError(h.path, "it is charged with %d bytes and should be with %d; its size is %d", h.charged, want, h.bytes)
	}
	return nil
}

// checkRuleIndex checks that a topic's rule index and its rulebook are functions of the rules of
// its subscriptions.
func (ns *Namespace) checkRuleIndex(e *entity) error {
	s := &e.ruleIndex
	rules := map[RuleID]bool{}
	for _, sub := range e.subs {
		if sub.detachedRules != nil {
			return invariantError(sub.Path, "%d of its rules are aside", len(sub.detachedRules))
		}
		for _, r := range sub.rules {
			p := s.rules[r.id()]
			if p == nil || p.sub != sub || p.Name != r.Name || p.Action != r.Action || !p.Filter.Equal(r.Filter) {
				return invariantError(sub.Path, "rule %q is not what its topic has", r.Name)
			}
			rules[r.id()] = true
		}
	}
	always, correlated, correlations, others := 0, 0, 0, 0
	for id, p := range s.rules {
		if !rules[id] {
			return invariantError(e.Path, "it has a rule %q that no subscription has", id.Name)
		}
		if p.Filter.Kind != SQLFilter {
			others++
		}
		if p.Filter.Kind == CorrelationFilter {
			correlations++
		}
		switch {
		case p.compileErr != nil:
		case p.correlation != nil:
			correlated++
		case p.sql != nil && !slices.Contains(s.sql, p):
			return invariantError(e.Path, "it does not ask rule %q", id.Name)
		case p.Filter.Kind == TrueFilter:
			always++
			if !slices.Contains(s.always, p) {
				return invariantError(e.Path, "rule %q does not always select", id.Name)
			}
		}
	}
	asked := 0
	if s.set != nil {
		asked = len(s.set.early) + len(s.set.late)
	}
	if len(s.always) != always || !slices.IsSortedFunc(s.always, compareRules) || s.correlated.Len() != correlated || len(s.sql) != asked || s.others != others || s.correlations != correlations ||
		len(s.sql) != len(slices.Collect(sqlOf(s.rules))) {
		return invariantError(e.Path, "%d true filters, %d correlation filters, %d SQL filters of which %d are asked, %d not SQL", len(s.always), s.correlated.Len(), len(s.sql), asked, s.others)
	}
	if ns.rulebook != nil && ns.rulebook.Of(e.Path) != s.set {
		return invariantError(e.Path, "the rulebook has other rules")
	}
	return nil
}

func sqlOf(rules map[RuleID]*compiledRule) func(func(*compiledRule) bool) {
	return func(yield func(*compiledRule) bool) {
		for p := range maps.Values(rules) {
			if p.sql != nil && p.compileErr == nil && !yield(p) {
				return
			}
		}
	}
}

// checkSeen checks that an entity remembers MessageIds exactly if it detects duplicates, each at an
// instant of its generation; the generations are in order and none is empty; ids that the
// store does not have yet are remembered, and are in the next batch.
func (ns *Namespace) checkSeen() error {
	waiting := map[*entity]bool{}
	for _, e := range ns.changes.seen {
		if !e.seen.dirty || waiting[e] {
			return invariantError(e.Path, "what it has seen waits for the store twice, or is not dirty")
		}
		waiting[e] = true
	}
	for _, e := range ns.entities {
		s := e.seen
		switch wanted := e.Config.RequiresDuplicateDetection && e.Kind != Subscription; {
		case wanted != (s != nil):
			return invariantError(e.Path, "it detects duplicates: %v, and remembers: %v", wanted, s != nil)
		case s == nil:
			continue
		case s.dirty != waiting[e], !s.dirty && len(s.unsaved) > 0, !s.dirty && s.dropped != 0:
			return invariantError(e.Path, "dirty is %v, waiting %v, with %d new and %d dropped", s.dirty, waiting[e], len(s.unsaved), s.dropped)
		}
		if err := s.verify(); err != nil {
			return invariantError(e.Path, "%v", err)
		}
	}
	return nil
}

func (s *duplicateHistory) verify() error {
	var before generation
	for i, g := range s.generations {
		if len(g.ids) == 0 || g.from > g.newest || g.newest < before.newest || g.through <= before.through {
			return fmt.Errorf("generation %d has %d ids from %d to %d, up to number %d; the one before ends at %d with %d", i, len(g.ids), g.from, g.newest, g.through, before.newest, before.through)
		}
		latest := g.from
		for _, after := range g.ids {
			latest = max(latest, g.from+Instant(after))
		}
		if latest != g.newest {
			return fmt.Errorf("the newest id of generation %d is of %d, not %d", i, latest, g.newest)
		}
		before = *g
	}
	last := uint64(0)
	for _, r := range s.unsaved {
		if r.N <= last {
			return fmt.Errorf("what was seen has number %d after %d", r.N, last)
		}
		last = r.N
		if len(r.Digests) == 0 && r.At > s.floor {
			return fmt.Errorf("all of %d is forgotten, not only of %d", r.At, s.floor)
		}
		for _, d := range r.Digests {
			if r.N > s.dropped && !slices.ContainsFunc(s.generations, func(g *generation) bool {
				after, ok := g.ids[d]
				return ok && g.from+Instant(after) >= r.At
			}) {
				return fmt.Errorf("an id of %d waits for the store and is not remembered", r.At)
			}
		}
	}
	return nil
}

// checkTransactions checks that every transaction has a deadline, and the soonest is first; the
// messages that transactions send and settle, and the bytes that they keep, are counted.
func (ns *Namespace) checkTransactions() error {
	x := &ns.transactions
	all := txUsage{}
	for id, t := range x.open {
		have, messages, settled := usageOfDeclaring(t.owner), 0, 0
		for _, o := range t.operations {
			have = have.plus(o.usage())
			messages += len(o.batch)
			if slices.ContainsFunc(o.batch, func(s Submission) bool { return s.Plan != nil }) {
				return fmt.Errorf("transaction %d keeps a plan, which nobody counts", id)
			}
			if !o.settles() {
				continue
			}
			settled++
			if _, ok := t.settled[o.settle.Token]; !ok {
				return fmt.Errorf("a transaction settles message %d and does not know it", o.settle.Token.Key())
			}
		}
		all = all.plus(have)
		if have != t.usage || messages != t.messages || settled != len(t.settled) {
			return fmt.Errorf("a transaction that sends %d messages, settles %d and keeps %v bytes counts %d, %d and %v", messages, settled, have, t.messages, len(t.settled), t.usage)
		}
		if id != t.id || t.deadline == 0 || t.heapIndex >= len(x.deadlines) || x.deadlines[t.heapIndex] != t {
			return fmt.Errorf("nobody will end transaction %d of %q", id, t.owner)
		}
	}
	for i, t := range x.deadlines {
		if x.open[t.id] != t || i > 0 && t.deadline < x.deadlines[(i-1)/2].deadline {
			return fmt.Errorf("transaction %d, to be ended at %d, is over, or not in its place", t.id, t.deadline)
		}
	}
	if all != x.usage {
		return fmt.Errorf("transactions keep %v bytes, not %v", all, x.usage)
	}
	return nil
}
