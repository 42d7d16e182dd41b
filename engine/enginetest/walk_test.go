package enginetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"mayfly/engine"
)

// A step of a walk is an operation, and the seed of all random numbers drawn in it. So steps
// keep their meaning when others are omitted, which is how a failing walk is shortened.
type step struct {
	name string
	seed uint64
}

// A walk runs the same steps on the engine and on the model.
type walk struct {
	ns       *engine.Namespace
	w        *model
	store    *remembered
	sweeping bool
	charged  bool
	r        *rand.Rand // of the step being taken
	reached  map[pair]int
	trace    []string

	sealed, durable *model
	limits          engine.Limits
	epoch           uint64
	keys            *engine.Keys
	nonce, links    uint64
	tags            int
	ghosts          []*message // deleted messages, latest last
	alive           map[uint64]*message
	ended           map[uint64]string     // links whose end must be reported, with the error
	fresh, held     []reading             // bodies of deliveries that are not read yet, of this batch and of earlier ones
	given           []engine.Submission   // added to transactions in this turn
	positions       map[engine.Key]string // where each message is, by events alone
	topics          map[string]bool       // which paths are topics, by events alone
	slow            *slowly               // a purge in progress
	forced          *message              // the message to operate on, instead of a random one
}

// A pair is an operation and the state of a message that it met.
type pair struct{ operation, state string }

// A reading is a delivered body that is not read yet.
type reading struct {
	pin     engine.BodyPin
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

func newWalk(is mode, reached map[pair]int) *walk {
	l := engine.DefaultLimits()
	l.Entities, l.SubscriptionsPerTopic, l.Receives, l.PeekCount, l.BatchDelete, l.ReasonLength = 5, 2, 4, 5, 4, 8
	l.MessageSize, l.EntitySize, l.TransactionMessages, l.TransactionTime = 300, 1000, 3, 30*time.Second
	l.MessageMemory = 0
	if is.charged {
		l.MessageMemory, l.EntitySize = 256, 1<<40
	}
	x := &walk{
		sweeping: is.sweeping, charged: is.charged, reached: reached, limits: l, store: newRemembered(),
		ended: map[uint64]string{}, alive: map[uint64]*message{}, positions: map[engine.Key]string{}, topics: map[string]bool{},
		w: &model{now: begin, limits: limits{entities: 5, subscriptions: 2, receivers: 4, peek: 5, batchDelete: 4, reason: 8, messageSize: 300, entitySize: l.EntitySize, transactionMessages: 3, transactionTime: 30_000}},
	}
	x.ns = engine.New(x.options())
	x.sealed, x.durable = x.w.clone(), x.w.clone()
	return x
}

func (x *walk) options() engine.Options {
	x.epoch++
	x.keys = engine.NewKeys(x.epoch)
	return engine.Options{Limits: x.limits, Keys: x.keys, InMemory: x.charged, Nonce: func() uint64 { x.nonce++; return x.nonce }}
}

func (x *walk) now() engine.Instant { return engine.Instant(x.w.now) }

// take runs one step.
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
	if kind != 's' {
		c.detects, c.window = x.chance(40), one[int64](x, 20_000, 20_000, 25_000, 60_000)
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

// any returns the path of an entity with random case, sometimes of a missing one.
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

// randomPath returns any path, sometimes of a dead-letter queue.
func (x *walk) randomPath() string {
	if x.forced != nil {
		return x.forced.path()
	}
	if x.chance(35) {
		return x.any() + "/$DeadLetterQueue"
	}
	return x.any()
}

// target draws a state and then a message in that state, so that messages in rare states are
// drawn too.
func (x *walk) target(operation string) *message {
	if x.forced != nil {
		x.reached[pair{operation, x.state(x.forced)}]++
		return x.forced
	}
	by := map[string][]*message{}
	var states []string
	x.removeGhosts() // after a rollback, a new message may get the key of an undone one
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

// removeGhosts removes those removed messages from x.ghosts that exist in the model again.
func (x *walk) removeGhosts() {
	x.ghosts = slices.DeleteFunc(x.ghosts, func(g *message) bool {
		return slices.ContainsFunc(x.w.messages, func(m *message) bool { return m.key == g.key })
	})
}

// met counts, in x.reached, the operation against the state of each message of a subqueue.
func (x *walk) met(operation, path string) {
	e, dead := x.w.find(path)
	for _, m := range x.w.messages {
		if m.in == e && m.dead == dead {
			x.reached[pair{operation, x.state(m)}]++
		}
	}
}

// state returns the state of a message, including the effect of time.
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
	case errors.Is(err, engine.ErrTransaction):
		have = "transaction"
	default:
		have = err.Error()
	}
	x.trace[len(x.trace)-1] += " → " + strings.TrimSpace(want+" ")
	if have != want {
		x.failf("the engine says %q (%v), the model %q", have, err, want)
	}
	return err == nil
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
		for _, at := range e.seen {
			edges = append(edges, at+window(e))
		}
	}
	for _, t := range x.w.transactions {
		edges = append(edges, t.ends)
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

// finish releases all bodies and commits until nothing is pending. Then the store must contain
// the contents in use, and no others.
func (x *walk) finish() {
	for _, t := range x.w.transactions {
		if _, err := x.ns.Discharge(x.now(), engine.TxID(t.id), engine.Rollback); err != nil && !errIs(err, engine.ErrTransaction) {
			x.failf("%v", err)
		}
	}
	for _, p := range append(x.held, x.fresh...) {
		x.ns.ReleaseBody(p.pin)
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
