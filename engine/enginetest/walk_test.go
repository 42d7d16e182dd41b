package enginetest

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"mayfly/engine"
)

// A step of a walk: what kind, and the seed of everything that is drawn while it
// is taken. Steps can be left out of a walk and those that remain still mean
// something: this is how a failing walk becomes a short one.
type step struct {
	name string
	seed uint64
}

// A walk takes the engine and the model through the same steps.
type walk struct {
	ns       *engine.Namespace
	w        *model
	store    *remembered
	sweeping bool
	r        *rand.Rand // of the step being taken
	reached  map[pair]int
	trace    []string

	sealed, durable *model
	limits          engine.Limits
	epoch           uint64
	keys            *engine.Keys
	nonce, links    uint64
	tags            int
	ghosts          []*message // messages that are gone, the latest last
	alive           map[uint64]*message
	ended           map[uint64]string     // links whose end is to be told
	fresh, held     []reading             // bodies of deliveries, of this batch and of earlier ones
	told            map[engine.Key]string // where messages are, by events alone
	topics          map[string]bool       // which paths are topics, by events alone
	slow            *slowly               // a purge on its way
	forced          *message              // what is not drawn but visited
}

// A pair is an operation met by a message in a state.
type pair struct{ operation, state string }

// A reading is a body that somebody has been handed and not read yet.
type reading struct {
	pin     engine.Pin
	content engine.Key
}

type failure struct{ text string }

func (x *walk) failf(format string, args ...any) {
	panic(failure{fmt.Sprintf(format, args...)})
}

func (x *walk) logf(format string, args ...any) {
	x.trace = append(x.trace, fmt.Sprintf("%9d  ", x.w.now-begin)+fmt.Sprintf(format, args...))
}

const begin = 1_700_000_000_000

func newWalk(sweeping bool, reached map[pair]int) *walk {
	l := engine.DefaultLimits()
	l.Entities, l.SubscriptionsPerTopic, l.Receives, l.PeekCount, l.BatchDelete, l.ReasonLength = 5, 2, 4, 5, 4, 8
	l.MessageSize, l.EntitySize = 300, 1000
	x := &walk{
		sweeping: sweeping, reached: reached, limits: l, store: newRemembered(),
		ended: map[uint64]string{}, alive: map[uint64]*message{}, told: map[engine.Key]string{}, topics: map[string]bool{},
		w: &model{now: begin, limits: limits{entities: 5, subscriptions: 2, receivers: 4, peek: 5, batchDelete: 4, reason: 8, messageSize: 300, entitySize: 1000}},
	}
	x.ns = engine.New(x.options())
	x.sealed, x.durable = x.w.clone(), x.w.clone()
	return x
}

func (x *walk) options() engine.Options {
	x.epoch++
	x.keys = engine.NewKeys(x.epoch)
	return engine.Options{Limits: x.limits, Keys: x.keys, Nonce: func() uint64 { x.nonce++; return x.nonce }}
}

func (x *walk) now() engine.Instant { return engine.Instant(x.w.now) }

// take takes one step.
func (x *walk) take(s step) {
	x.r = rand.New(rand.NewPCG(s.seed, 1))
	operations()[s.name](x)
	x.compare()
}

func (x *walk) compare() {
	if err := x.ns.Check(); err != nil {
		x.failf("INVARIANT %v", err)
	}
	if err := difference(x.ns, x.w, false); err != nil {
		x.failf("%v", err)
	}
	for k, m := range x.alive {
		if !slices.ContainsFunc(x.w.messages, func(o *message) bool { return o.key == k }) {
			delete(x.alive, k)
			x.ghosts = append(x.ghosts, m)
		}
	}
	for _, m := range x.w.messages {
		x.alive[m.key] = m
	}
	if n := len(x.ghosts); n > 8 {
		x.ghosts = slices.Delete(x.ghosts, 0, n-8)
	}
}

// --- drawing ---

func (x *walk) chance(percent int) bool { return x.r.IntN(100) < percent }

func one[T any](x *walk, of ...T) T { return of[x.r.IntN(len(of))] }

func (x *walk) config(kind byte) config {
	c := config{
		lock: one[int64](x, 1000, 5000, 5000, 60_000), ttl: one[int64](x, 0, 0, 0, 3000, 20_000), idle: one[int64](x, 0, 0, 0, 0, 0, 0, 0, 0, 30_000, 300_000),
		deliveries: one(x, 1, 2, 3, 5, 10, 10, 10), keep: x.chance(50), status: "Active", metadata: one(x, "", "some words"),
	}
	if x.chance(8) {
		c.status = "Disabled"
		if kind != 't' {
			c.status = one(x, "Disabled", "ReceiveDisabled")
		}
		if kind != 's' {
			c.status = one(x, c.status, "SendDisabled")
		}
	}
	return c
}

func (x *walk) name(kind byte) string {
	switch kind {
	case 'q':
		return one(x, "q1", "Q2", "a/b", "t1")
	case 't':
		return one(x, "t1", "T2", "q1")
	}
	return one(x, "t1", "T2", "q1") + "/Subscriptions/" + one(x, "s1", "S2", "s3")
}

// any is the path of an entity, seldom of one that is not there, in some case.
func (x *walk) any() string {
	if x.forced != nil {
		return x.forced.in.path
	}
	var path string
	if len(x.w.entities) > 0 && !x.chance(4) {
		path = one(x, x.w.entities...).path
	} else {
		path = x.name(one[byte](x, 'q', 't', 's'))
	}
	if x.chance(5) {
		path = strings.NewReplacer("q", "Q", "s1", "S1").Replace(path)
	}
	return path
}

// place is any, now and then a dead-letter queue.
func (x *walk) place() string {
	if x.forced != nil {
		return x.forced.path()
	}
	if x.chance(35) {
		return x.any() + "/$DeadLetterQueue"
	}
	return x.any()
}

// target is a message: first a state is drawn, then a message in it, so that
// rare ones have their turn.
func (x *walk) target(operation string) *message {
	if x.forced != nil {
		x.reached[pair{operation, x.state(x.forced)}]++
		return x.forced
	}
	by := map[string][]*message{}
	var states []string
	for _, m := range append(slices.Clone(x.w.messages), x.ghosts...) {
		s := x.state(m)
		if len(by[s]) == 0 {
			states = append(states, s)
		}
		by[s] = append(by[s], m)
	}
	if len(states) == 0 {
		return &message{in: &entity{path: "nowhere"}, seq: 1, key: 1, token: engine.LockToken{}.String()}
	}
	slices.Sort(states)
	s := one(x, states...)
	if likely := slices.DeleteFunc(slices.Clone(states), func(s string) bool { return !suits(operation, s) }); len(likely) > 0 && x.chance(60) {
		s = one(x, likely...)
	}
	x.reached[pair{operation, s}]++
	return one(x, by[s]...)
}

// met notes every message of a place as met by an operation on the place.
func (x *walk) met(operation, path string) {
	e, dead := x.w.find(path)
	for _, m := range x.w.messages {
		if m.in == e && m.dead == dead {
			x.reached[pair{operation, x.state(m)}]++
		}
	}
}

// state names what a message is in, time considered.
func (x *walk) state(m *message) string {
	if !x.w.here(m) {
		return "gone"
	}
	var words []string
	if m.dead {
		words = append(words, "dead")
	}
	if m.deferred {
		words = append(words, "deferred")
	}
	switch {
	case m.due != 0 && x.w.now >= m.due:
		words = append(words, "scheduled, due")
	case m.due != 0:
		words = append(words, "scheduled")
	case m.until != 0 && x.w.now >= m.until:
		words = append(words, "lock run out")
	case m.until != 0:
		words = append(words, "locked")
	}
	if len(words) == 0 {
		words = append(words, "active")
	}
	if expiredAt(m, x.w.now) {
		words = append(words, "expired")
	}
	return strings.Join(words, " ")
}

func (m *message) path() string {
	if m.dead {
		return m.in.deadPath()
	}
	return m.in.path
}

// expect compares an error of the engine with the model's.
func (x *walk) expect(err error, want string) bool {
	have := ""
	switch {
	case err == nil:
	case errors.Is(err, engine.ErrNotFound):
		have = "not found"
	case errors.Is(err, engine.ErrExists):
		have = "exists"
	case errors.Is(err, engine.ErrDisabled):
		have = "disabled"
	case errors.Is(err, engine.ErrLockLost):
		have = "lock lost"
	case errors.Is(err, engine.ErrMessageNotFound):
		have = "no message"
	case errors.Is(err, engine.ErrTooLarge):
		have = "too large"
	case errors.Is(err, engine.ErrQuota):
		have = "quota"
	case errors.Is(err, engine.ErrBusy):
		have = "busy"
	case errors.Is(err, engine.ErrNotAllowed):
		have = "not allowed"
	case errors.Is(err, engine.ErrArgument):
		have = "argument"
	case errors.Is(err, engine.ErrOutOfRange):
		have = "out of range"
	case errors.Is(err, engine.ErrNotImplemented):
		have = "not implemented"
	default:
		have = err.Error()
	}
	x.trace[len(x.trace)-1] += " → " + strings.TrimSpace(want+" ")
	if have != want {
		x.failf("the engine says %q (%v), the model %q", have, err, want)
	}
	return err == nil
}

// --- the end of a turn ---

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
		x.logf("commit")
		fx := x.ns.Flush(x.now(), true)
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
		if hard, soft := x.ns.Pending(); hard || soft && len(x.held)+len(x.fresh) == 0 && x.chance(0) {
			x.failf("hard %v after a commit", hard)
		}
		if x.chance(10) {
			x.reload()
		}
	}
	x.held, x.fresh = append(x.held, x.fresh...), nil
	for len(x.held) > 0 && x.chance(70) {
		i := x.r.IntN(len(x.held))
		x.ns.Taken(x.held[i].pin)
		x.held = slices.Delete(x.held, i, i+1)
	}
	if what := hardChange(x.sealed, x.w); what != "" && !hard {
		x.failf("%s, and nothing had to be durable", what)
	}
	x.sealed = x.w.clone()
	if len(x.ended) > 0 {
		x.failf("links %v should have been told of their end", x.ended)
	}
}

// hardChange names something that must be durable before anybody is answered:
// whatever is not a lock, its renewal, or use of an entity.
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
			x.ended[l.id] = "not found" // gone with its idle entity
		}
	}
	x.compare()
	if err := horizonDiffers(x.ns, x.w, []int64{x.w.now + 1000, x.w.now + x.r.Int64N(20_000), x.w.now + 20_000}); err != nil {
		x.failf("%v", err)
	}
}

// match lets the engine serve its links. Without a sweeper nothing tells a
// waiting receiver that a lock has run out: there it asks again.
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

// effects compares deliveries and ended links: each delivery is the head of its
// place at its turn, goes to a link there with credit, and afterwards nobody
// with credit has anything left to get. In which order places are served is the
// engine's own affair.
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
		if m == nil || m.seq != int64(d.Message.Seq) { // a look at another place has dead-lettered it before
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
		// Who does not wait has gone before a look at another place dead-letters
		// something to where it was.
		if l.credit > 0 {
			if m := x.w.head(l.in, l.dead); m != nil && (sure[l.id] || !l.noWait) {
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
		x.failf("links %v should have been told of their end", x.ended)
	}
	x.compare()
}

// delivered compares what a receiver gets with m, and has m taken.
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
		x.failf("delivered %s #%d is not to be had", m.path(), m.seq)
	}
	x.w.take(m, remove, d.Token().String(), by)
	if !remove {
		if row, err := x.ns.Message(d.Message.Key); err != nil || row.LockedBy != by && row.Message.LockedUntil != 0 && row.Message.Nonce == d.Message.Nonce {
			x.failf("it is locked by %q (%v), not %q", row.LockedBy, err, by)
		}
	}
	if !remove && int64(d.Message.LockedUntil) != m.until {
		x.failf("locked until %d, the model says %d", d.Message.LockedUntil, m.until)
	}
	x.fresh = append(x.fresh, reading{d.Pin, d.Message.Content})
}

// rollback is a store that refuses the batch.
func (x *walk) rollback(flushed bool) {
	x.logf("rollback, flushed %v", flushed)
	if flushed {
		x.ns.Flush(x.now(), true)
	}
	x.ns.Rollback()
	x.fresh, x.ended = nil, map[uint64]string{}
	x.back(x.sealed)
}

// back is the model as it was, at the present time; that something was used in
// between may stand or not.
func (x *walk) back(was *model) {
	now := x.w.now
	x.w = was.clone()
	x.w.now = now
	x.sealed = x.w.clone()
	x.retell()
	x.slow = nil
	x.ghosts = slices.DeleteFunc(x.ghosts, func(g *message) bool {
		return slices.ContainsFunc(x.w.messages, func(m *message) bool { return m.key == g.key })
	})
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

// reload loads what is remembered into a new namespace, which must be the same;
// now and then the walk goes on there, as after a crash.
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
	for _, l := range w.links { // the clock of what they held stood
		for e := l.in; e != nil; e = e.topic {
			s, err := ns.State(engine.Path(e.path))
			if err != nil {
				x.failf("%v", err)
			}
			e.used = int64(s.LastUsed)
		}
	}
	w.links = nil
	if err := difference(ns, w, true); err != nil {
		x.failf("after a restart: %v", err)
	}
}

func (x *walk) crash() {
	x.logf("crash")
	for k := range x.store.bodies { // staged for nothing: garbage after an open
		if _, ok := x.store.contents[k]; !ok {
			delete(x.store.bodies, k)
		}
	}
	ns, err := x.store.load(x.now(), x.options())
	if err != nil {
		x.failf("%v", err)
	}
	x.ns = ns
	x.held, x.fresh, x.ended = nil, nil, map[uint64]string{}
	for _, l := range x.durable.links {
		for e := l.in; e != nil; e = e.topic {
			e.used = 0
		}
	}
	x.durable.links = nil
	x.back(x.durable)
	x.durable = x.w.clone()
}

func (x *walk) advance() {
	var edges []int64
	for _, m := range x.w.messages {
		edges = append(edges, m.due, m.until, expires(m))
	}
	for _, e := range x.w.entities {
		if e.cfg.idle != 0 {
			edges = append(edges, e.used+e.cfg.idle)
		}
	}
	edges = slices.DeleteFunc(edges, func(t int64) bool { return t <= x.w.now+1 || t > x.w.now+400_000 })
	slices.Sort(edges)
	edges = edges[:min(len(edges), 4)]
	by := one(x, 1, 1+x.r.Int64N(100), 1+x.r.Int64N(1000))
	switch {
	case len(edges) > 0 && x.chance(80):
		by = one(x, edges...) - x.w.now - one[int64](x, 0, 0, 1)
	case x.chance(3):
		by = x.r.Int64N(100_000)
	}
	x.w.now += by
	x.logf("%v later", span(by))
}

// finish lets go of everything read and commits until nothing is pending: the
// store must then keep the contents in use, and no others.
func (x *walk) finish() {
	for _, p := range append(x.held, x.fresh...) {
		x.ns.Taken(p.pin)
	}
	for range 4 {
		x.ns.Sweep(x.now(), 1<<20)
		fx := x.ns.Flush(x.now(), true)
		if err := x.store.apply(fx.Batch); err != nil {
			x.failf("batch: %v", err)
		}
		x.ns.Seal(true)
	}
	if hard, soft := x.ns.Pending(); hard || soft {
		x.failf("hard %v, soft %v is pending at the end", hard, soft)
	}
	used := map[engine.Key]bool{}
	for _, m := range x.store.messages {
		if x.store.holds(m) {
			used[m.Content] = true
		}
	}
	for k := range x.store.contents {
		if !used[k] {
			x.failf("content %d is stored for nothing", k)
		}
	}
	for k := range x.store.bodies {
		if !used[k] {
			x.failf("the body of %d is stored for nothing", k)
		}
	}
}

func ceilMS(d time.Duration) int64 {
	if d < 0 {
		return -1
	}
	n := int64(d / time.Millisecond)
	if d%time.Millisecond > 0 {
		n++
	}
	return n
}
