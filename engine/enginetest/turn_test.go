package enginetest

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"mayfly/engine"
)

// settle ends a turn as a broker does: sweep, match, flush, commit, seal.
func (x *walk) settle() {
	if x.sweeping {
		x.sweep()
	}
	x.match()
	hard, _ := x.ns.Pending()
	switch {
	case x.chance(8):
		x.rollback(x.chance(50))
		return
	case !hard && x.chance(60):
		x.logf("flush, nothing committed")
		fx := x.ns.Flush(x.now(), false)
		x.effects(fx)
		x.ns.Seal(false)
		x.listen(fx.Events)
	default:
		spare := hard && x.chance(50)
		x.logf("commit, sparing %v", spare)
		var fx engine.Effects
		if spare {
			fx = x.ns.FlushHard(x.now())
		} else {
			fx = x.ns.Flush(x.now(), true)
		}
		if err := x.store.apply(fx.Batch); err != nil {
			x.failf("batch: %v", err)
		}
		for _, r := range slices.Concat(x.held, x.fresh) {
			if slices.ContainsFunc(fx.Batch.DropContents, func(d engine.DroppedContent) bool { return d.Key == r.content }) {
				x.failf("content %d is dropped and still being read", r.content)
			}
		}
		if fx.Batch.Hard != hard {
			x.failf("the batch is hard %v, pending said %v", fx.Batch.Hard, hard)
		}
		x.effects(fx)
		x.ns.Seal(true)
		x.listen(fx.Events)
		x.durable = x.w.clone()
		if spare {
			x.spared()
		}
		if hard, soft := x.ns.Pending(); hard || soft && len(x.held)+len(x.fresh) == 0 && x.chance(0) {
			x.failf("hard %v after a commit", hard)
		}
		if x.chance(10) {
			x.reload()
		}
	}
	x.held, x.fresh, x.given = append(x.held, x.fresh...), nil, nil
	for len(x.held) > 0 && x.chance(70) {
		i := x.r.IntN(len(x.held))
		x.ns.ReleaseBody(x.held[i].pin)
		x.held = slices.Delete(x.held, i, i+1)
	}
	if what := hardChange(x.sealed, x.w); what != "" && !hard {
		x.failf("%s, and nothing had to be durable", what)
	}
	x.sealed = x.w.clone()
	if len(x.ended) > 0 {
		x.failf("links %v ended without being reported", x.ended)
	}
}

// sparedLock is the coverage entry for a commit that left a soft lock unstored.
var sparedLock = pair{"commit", "a lock that waits"}

// spared replaces each lock in the durable model that the batch omitted with the lock that the store
// has. It fails if the batch omitted the renewal of a stored lock.
func (x *walk) spared() {
	for _, m := range x.durable.messages {
		r := x.store.messages[engine.Key(m.key)]
		if m.until == 0 || int64(r.LockedUntil) == m.until {
			continue
		}
		if r.LockedUntil != 0 && r.Token().String() == m.token {
			x.failf("the renewal of the lock on %s #%d was left out", m.path(), m.seq)
		}
		m.until, m.token = int64(r.LockedUntil), ""
		if r.LockedUntil != 0 { // an earlier lock, which has not expired for the store
			m.token = r.Token().String()
		}
		x.reached[sparedLock]++
	}
}

// hardChange names a change that must be durable before any answer: anything except a lock, its
// renewal, or the use of an entity.
func hardChange(was, is *model) string {
	if len(was.messages) != len(is.messages) || len(was.entities) != len(is.entities) {
		return "something has come or gone"
	}
	before := map[uint64]message{}
	for _, m := range was.messages {
		before[m.key] = *m
	}
	for _, m := range is.messages {
		b, ok := before[m.key]
		if !ok {
			return fmt.Sprintf("%s #%d is new", m.path(), m.seq)
		}
		if b.in.path != m.in.path || b.dead != m.dead || b.seq != m.seq || b.own != m.own || b.due != m.due || b.deferred != m.deferred ||
			b.count != m.count || b.until != 0 && m.until == 0 || !maps.Equal(b.props, m.props) {
			return fmt.Sprintf("%s #%d has changed", m.path(), m.seq)
		}
	}
	for i, e := range is.entities {
		if b := was.entities[i]; b.path != e.path || b.cfg != e.cfg || b.pinned != e.pinned || b.next != e.next || !maps.Equal(b.rules, e.rules) {
			return e.path + " has changed"
		}
		if !maps.Equal(was.entities[i].seen, e.seen) {
			return e.path + " has seen more"
		}
	}
	return ""
}

func (x *walk) sweep() {
	x.logf("sweep")
	for n, more := 0, true; more; n++ {
		if more = x.ns.Sweep(x.now(), one(x, 1, 3, 100)); n > 10_000 {
			x.failf("sweeping does not end")
		}
	}
	links := slices.Clone(x.w.links)
	x.w.sweep()
	for _, l := range links {
		if x.w.link(l.id) == nil {
			x.ended[l.id] = "not found" // the link ended when its idle entity was deleted
		}
	}
	x.compare()
	if err := horizonDiffers(x.ns, x.w, []int64{x.w.now + 1000, x.w.now + x.r.Int64N(20_000), x.w.now + 20_000}); err != nil {
		x.failf("%v", err)
	}
}

// match lets the engine serve its links. Without a sweeper, the expiry of a lock does not wake a
// waiting receiver, so match first adds no credit to each, which makes the engine check again.
func (x *walk) match() {
	if !x.sweeping {
		for _, l := range x.w.links {
			if l.credit > 0 {
				if err := x.ns.Credit(x.now(), engine.LinkID(l.id), 0); err != nil {
					x.failf("credit: %v", err)
				}
				x.w.use(l.in)
			}
		}
	}
	x.ns.Match(x.now())
	for range 3 {
		if x.ns.NextDue() == 1 {
			x.ns.Match(x.now())
		}
	}
}

// effects compares deliveries and ended links. Each delivery is the head of its subqueue in
// turn and goes to a link with credit there, and afterwards no message is left for a link with
// credit. The engine chooses the order of subqueues.
func (x *walk) effects(fx engine.Effects) {
	served, sure := map[uint64]int{}, map[uint64]bool{}
	for _, l := range x.w.links {
		sure[l.id] = !l.dead || slices.ContainsFunc(x.w.at(l.in, true), func(m *message) bool { return !m.deferred && m.until <= x.w.now })
	}
	for _, d := range fx.Deliveries {
		l := x.w.link(uint64(d.Link))
		if l == nil || l.credit == 0 {
			x.failf("link %d got #%d without credit", d.Link, d.Message.Seq)
		}
		m := x.w.head(l.in, l.dead)
		if m == nil || m.seq != int64(d.Message.Seq) { // serving another subqueue has dead-lettered the expected message to this one
			for _, o := range x.w.links {
				if o.credit > 0 {
					x.w.head(o.in, o.dead)
				}
			}
			m = x.w.head(l.in, l.dead)
		}
		if m == nil {
			x.failf("link %d got %s #%d, the model has nothing for it", l.id, d.Path, d.Message.Seq)
		}
		x.met("deliver", m.path())
		x.delivered(d, m, l.remove, l.client)
		l.credit--
		l.served = true
		if l.credit == 0 {
			x.w.use(l.in)
		}
		served[l.id]++
	}
	for _, l := range slices.Clone(x.w.links) {
		// A link that does not wait, or gets a single message, may have ended before serving
		// another subqueue dead-lettered a message to the link's.
		gone := l.dead && l.once && l.served || l.noWait && !sure[l.id]
		if l.credit > 0 {
			if m := x.w.head(l.in, l.dead); m != nil && !gone {
				x.failf("link %d waits, and %s #%d is ready", l.id, m.path(), m.seq)
			}
		}
		for _, o := range x.w.links {
			if o.in == l.in && o.dead == l.dead && o.credit > 0 && !o.once && served[l.id] > served[o.id]+2 {
				x.failf("link %d got %d while %d got %d", l.id, served[l.id], o.id, served[o.id])
			}
		}
		if l.once && l.served || l.noWait {
			x.ended[l.id] = ""
			x.w.detach(l.id)
		}
	}
	for _, e := range fx.Ended {
		want, ok := x.ended[uint64(e.ID)]
		if !ok {
			x.failf("link %d ended: %v", e.ID, e.Err)
		}
		delete(x.ended, uint64(e.ID))
		x.logf("link %d ended", e.ID)
		x.expect(e.Err, want)
	}
	if len(x.ended) > 0 {
		x.failf("links %v ended without being reported", x.ended)
	}
	x.compare()
}

// delivered compares what a receiver gets with m, and receives m in the model.
func (x *walk) delivered(d engine.Delivery, m *message, remove bool, by string) {
	x.logf("delivery of %s #%d to link %d", d.Path, d.Message.Seq, d.Link)
	ttl := int64(0)
	if e := expires(m); e != 0 {
		ttl = e - m.at
	}
	if lower(string(d.Path)) != lower(m.path()) || int64(d.Message.Seq) != m.seq || d.Deleted != remove ||
		int64(d.Expires) != expires(m) || int(d.Message.DeliveryCount) != m.count || ms(d.TTL()) != min(ttl, math.MaxInt64/1_000_000) || d.Content.MessageID() != m.tag {
		x.failf("delivered is %s #%d (%s), count %d, expiry %d, TTL %v, deleted %v; the model has %s #%d (%s), count %d, expiry %d", d.Path, d.Message.Seq, d.Content.MessageID(), d.Message.DeliveryCount, d.Expires, d.TTL(), d.Deleted, m.path(), m.seq, m.tag, m.count, expires(m))
	}
	if m.until != 0 || m.due != 0 {
		x.failf("delivered %s #%d, which is not available", m.path(), m.seq)
	}
	x.w.take(m, remove, d.Token().String(), by)
	if !remove {
		if row, err := x.ns.Message(d.Message.Key); err != nil || row.Lock.By != by && row.Message.LockedUntil != 0 && row.Message.Nonce == d.Message.Nonce {
			x.failf("it is locked by %q (%v), not %q", row.Lock.By, err, by)
		}
	}
	if !remove && int64(d.Message.LockedUntil) != m.until {
		x.failf("locked until %d, the model says %d", d.Message.LockedUntil, m.until)
	}
	x.fresh = append(x.fresh, reading{d.Pin, d.Message.Content})
}

// rollback rolls back a turn, as when the store refuses its batch.
func (x *walk) rollback(flushed bool) {
	x.logf("rollback, flushed %v", flushed)
	if flushed {
		x.ns.Flush(x.now(), true)
	}
	x.ns.Rollback()
	x.ns.DiscardStaged(x.given) // their senders do not retry
	x.given = nil
	x.fresh, x.ended = nil, map[uint64]string{}
	x.back(x.sealed)
}

// back replaces the model by a copy of a former one, at the current time. Uses of entities since
// that former state may count or not.
func (x *walk) back(was *model) {
	now := x.w.now
	x.w = was.clone()
	x.w.now = now
	x.sealed = x.w.clone()
	x.resetPositions()
	x.slow = nil
	x.removeGhosts()
	clear(x.alive)
	for _, w := range []*model{x.w, x.sealed} {
		for _, e := range w.entities {
			s, err := x.ns.State(engine.Path(e.path))
			if err != nil {
				x.failf("%s: %v", e.path, err)
			}
			if !w.held(e) && int64(s.LastUsed) < e.used || int64(s.LastUsed) > now {
				x.failf("%s: last used is %d, and was %d", e.path, s.LastUsed, e.used)
			}
			e.used = int64(s.LastUsed)
		}
	}
}

// reload loads the stored state into a new namespace, which must be equal. Sometimes the walk
// continues with it, as after a crash.
func (x *walk) reload() {
	o := engine.Options{Limits: x.limits, Keys: engine.NewKeys(1), Nonce: func() uint64 { return 0 }}
	ns, err := x.store.load(x.now(), o)
	if err != nil {
		x.failf("%v", err)
	}
	if err := ns.Check(); err != nil {
		x.failf("INVARIANT after a restart: %v", err)
	}
	w := x.durable.clone()
	w.now = x.w.now
	for _, l := range w.links { // the idle timer of the entities that they used did not run
		for e := l.in; e != nil; e = e.topic {
			s, err := ns.State(engine.Path(e.path))
			if err != nil {
				x.failf("%v", err)
			}
			e.used = int64(s.LastUsed)
		}
	}
	w.links = nil
	w.forgetLocks()
	if err := difference(ns, w, true); err != nil {
		x.failf("after a restart: %v", err)
	}
}

func (x *walk) crash() {
	x.logf("crash")
	for k := range x.store.bodies { // staged but unused bodies: garbage after an open
		if _, ok := x.store.contents[k]; !ok {
			delete(x.store.bodies, k)
		}
	}
	ns, err := x.store.load(x.now(), x.options())
	if err != nil {
		x.failf("%v", err)
	}
	x.ns = ns
	x.held, x.fresh, x.given, x.ended = nil, nil, nil, map[uint64]string{}
	for _, l := range x.durable.links {
		for e := l.in; e != nil; e = e.topic {
			e.used = 0
		}
	}
	x.durable.links, x.durable.transactions = nil, nil
	x.durable.forgetLocks()
	x.back(x.durable)
	x.durable = x.w.clone()
}
