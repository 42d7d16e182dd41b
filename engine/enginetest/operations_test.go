package enginetest

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"mayfly/engine"
	"mayfly/engine/value"
)

// operations are what a walk can do, by name: each does it to the engine and to
// the model and compares the answers.
func operations() map[string]func(*walk) {
	ops := map[string]func(*walk){
		"turn": (*walk).settle, "advance": (*walk).advance, "send": (*walk).send,
		"receive": (*walk).receive, "attach": (*walk).attach, "credit": (*walk).credit, "detach": (*walk).detach,
		"fetch": (*walk).fetch, "peek": (*walk).peek, "cancel": (*walk).cancel, "sweep once": (*walk).sweepOnce, "crash": (*walk).crashOrNot,
		"move back": func(x *walk) { x.move("move back") }, "move": func(x *walk) { x.move("move") }, "copy": func(x *walk) { x.move("copy") },
		"extend": (*walk).extend, "return": (*walk).giveBack, "dead-letter one": (*walk).deadLetterOne, "delete one": (*walk).deleteOne,
		"break lock": (*walk).breakLock, "renew for": (*walk).renewFor, "send now": (*walk).sendNow, "reschedule": (*walk).reschedule,
		"purge": (*walk).purge, "batch delete": (*walk).batchDelete, "renew": (*walk).renew,
		"create": (*walk).create, "update": (*walk).update, "delete": (*walk).delete, "add rule": (*walk).addRule, "remove rule": (*walk).removeRule,
		"touch": (*walk).touch, "pin": (*walk).pin, "unpin": (*walk).unpin, "purge slowly": (*walk).purgeSlowly, "visit": (*walk).visit,
	}
	for _, o := range []engine.Outcome{engine.Complete, engine.Abandon, engine.Defer, engine.DeadLetter, engine.Release} {
		ops[o.String()] = func(x *walk) { x.outcome(o) }
	}
	return ops
}

// often says how many times as often as once an operation is drawn.
func often(name string) int {
	switch name {
	case "turn":
		return 50
	case "visit":
		return 20
	case "advance":
		return 14
	case "send":
		return 16
	case "defer":
		return 12
	case "fetch":
		return 10
	case "receive":
		return 9
	case "attach", "credit", "abandon", "create":
		return 4
	case "complete", "delete one", "purge", "batch delete", "fetch and delete", "crash":
		return 1
	default:
		return 2
	}
}

// suits tells where an operation usually does something.
func suits(operation, state string) bool {
	switch operation {
	case "complete", "abandon", "defer", "dead-letter", "release", "renew", "break lock", "renew for":
		return strings.Contains(state, "locked")
	case "fetch", "fetch and delete", "return":
		return strings.Contains(state, "deferred") && !strings.Contains(state, "locked")
	case "cancel", "send now", "reschedule":
		return state == "scheduled"
	case "move back":
		return state == "dead"
	}
	return false
}

func token(s string) engine.LockToken {
	t, err := engine.ParseLockToken(s)
	if err != nil {
		return engine.LockToken{}
	}
	return t
}

func (x *walk) send() {
	to := x.any()
	if x.chance(3) {
		to += "/$DeadLetterQueue"
	}
	var subs []engine.Submission
	var want []submission
	n := one(x, 1, 1, 1, 2, 3)
	if x.chance(1) {
		n = 0
	}
	for range n {
		x.tags++
		c := engine.Content{MessageID: fmt.Sprintf("m%d", x.tags)}
		switch x.r.IntN(10) {
		case 0:
			c.TTL = -1
		case 1:
			c.TTL = 1500 * time.Microsecond
		case 2:
			c.TTL = math.MaxInt64
		case 3, 4:
			c.TTL = span(1 + x.r.Int64N(4000))
		case 5:
			c.TTL = span(1 + x.r.Int64N(100_000))
		}
		switch x.r.IntN(12) {
		case 0:
			c.ScheduledFor = x.now() - engine.Instant(x.r.IntN(2))
		case 1, 2:
			c.ScheduledFor = x.now() + 1 + engine.Instant(one(x, x.r.IntN(4000), x.r.IntN(4000), 100_000))
		}
		body := make([]byte, one(x, 0, 5, 30, 120))
		if x.chance(2) {
			body = make([]byte, 400)
		}
		staged := int64(0)
		key := x.keys.Next()
		if len(body) > 0 && x.chance(20) {
			staged, body = int64(len(body)), nil
			x.store.bodies[key] = true
		}
		s, err := engine.Submit(c, body, staged, key, x.limits)
		if err != nil {
			x.failf("submit: %v", err)
		}
		subs = append(subs, s)
		want = append(want, submission{tag: c.MessageID, ttl: ceilMS(c.TTL), due: int64(c.ScheduledFor), size: s.Size()})
	}
	x.logf("send to %s %+v", to, want)
	seqs, err := x.ns.Send(x.now(), engine.Path(to), subs, "sender")
	if e, _ := x.w.find(to); e != nil && errIs(err, engine.ErrQuota) {
		// What settlements added counts, and only the engine knows it.
		if s, _ := x.ns.State(engine.Path(root(e).path)); s.SizeInBytes >= x.w.bytes(e) {
			x.w.limits.entitySize = min(x.w.limits.entitySize, x.w.bytes(e))
			defer func() { x.w.limits.entitySize = x.limits.EntitySize }()
		}
	}
	have, code := x.w.send(to, want)
	if x.expect(err, code) {
		same := len(seqs) == len(have)
		for i := range seqs {
			same = same && int64(seqs[i]) == have[i]
		}
		if !same {
			x.failf("numbers are %v, the model says %v", seqs, have)
		}
	}
}

func (x *walk) receive() {
	path := x.place()
	x.links++
	l := engine.Link{ID: engine.LinkID(x.links), Path: engine.Path(path), Mode: one(x, engine.PeekLock, engine.PeekLock, engine.PeekLock, engine.ReceiveAndDelete), Client: "receiver", Once: true, NoWait: x.chance(80)}
	operation := "receive"
	if l.Mode == engine.ReceiveAndDelete {
		operation = "receive and delete"
	}
	x.met(operation, path)
	x.logf("receive from %s as link %d, %+v", path, x.links, l)
	if x.attachBoth(path, l) {
		x.creditBoth(x.links, 1)
	}
}

func (x *walk) attachBoth(path string, l engine.Link) bool {
	err := x.ns.Attach(x.now(), l)
	return x.expect(err, x.w.attach(path, link{id: uint64(l.ID), client: l.Client, remove: l.Mode == engine.ReceiveAndDelete, once: l.Once, noWait: l.NoWait}))
}

func (x *walk) creditBoth(id uint64, n int) {
	x.logf("credit %d for link %d", n, id)
	x.expect(x.ns.Credit(x.now(), engine.LinkID(id), n), x.w.credit(id, n))
}

func (x *walk) attach() {
	path := x.place()
	x.links++
	l := engine.Link{ID: engine.LinkID(x.links), Path: engine.Path(path), Mode: one(x, engine.PeekLock, engine.PeekLock, engine.PeekLock, engine.ReceiveAndDelete), Client: "receiver"}
	x.logf("attach link %d to %s", x.links, path)
	x.attachBoth(path, l)
}

func (x *walk) anyLink() uint64 {
	if len(x.w.links) == 0 || x.chance(3) {
		return 1
	}
	return one(x, x.w.links...).id
}

func (x *walk) credit() { x.creditBoth(x.anyLink(), 1+x.r.IntN(3)) }

func (x *walk) detach() {
	id := x.anyLink()
	x.logf("detach link %d", id)
	x.ns.Detach(x.now(), engine.LinkID(id), one(x, engine.ByClient, engine.Lost))
	x.w.detach(id)
}

func (x *walk) fetch() {
	mode := one(x, engine.PeekLock, engine.PeekLock, engine.PeekLock, engine.PeekLock, engine.ReceiveAndDelete)
	operation := "fetch"
	if mode == engine.ReceiveAndDelete {
		operation = "fetch and delete"
	}
	x.fetchAs(operation, mode)
}

func (x *walk) fetchAs(operation string, mode engine.Mode) {
	m := x.target(operation)
	path := m.path()
	list := []int64{m.seq}
	for x.chance(15) {
		list = append(list, one(x, m.seq, m.seq+1, m.seq-1))
	}
	var seqs []engine.Seq
	for _, s := range list {
		seqs = append(seqs, engine.Seq(s))
	}
	if x.chance(2) {
		list, seqs = nil, nil
	}
	x.logf("%s %v from %s", operation, list, path)
	ds, err := x.ns.Fetch(x.now(), engine.Path(path), seqs, mode, "fetcher")
	have, code := x.w.fetch(path, list)
	if !x.expect(err, code) {
		return
	}
	if len(ds) != len(have) {
		x.failf("%d messages are fetched, the model has %d", len(ds), len(have))
	}
	for i, d := range ds {
		x.delivered(d, have[i], mode == engine.ReceiveAndDelete, "fetcher")
	}
}

func (x *walk) peek() {
	path, from, count := x.place(), int64(x.r.IntN(6)), one(x, 0, 1, 3, 100)
	x.met("peek", path)
	x.logf("peek %d of %s from #%d", count, path, from)
	rows, err := x.ns.Peek(x.now(), engine.Path(path), engine.Seq(from), count, "looker")
	have, code := x.w.peek(path, from, count)
	if x.expect(err, code) && numbers(rows) != modelNumbers(have) {
		x.failf("peeked %s, the model has %s", numbers(rows), modelNumbers(have))
	}
}

func (x *walk) outcome(o engine.Outcome) {
	m := x.target(o.String())
	if m.token == "" {
		m.token = engine.LockToken{}.String()
	}
	s := engine.Settlement{Token: token(m.token), Outcome: o, Client: "settler"}
	if x.chance(30) {
		s.Path = engine.Path(m.path())
		if x.chance(10) {
			s.Path = engine.Path(x.place())
		}
	}
	props := map[string]string{}
	if x.chance(40) {
		props[one(x, "a", "b")] = one(x, "x", "y")
	}
	for k, v := range props {
		s.Modify = append(s.Modify, value.Property{Name: k, Value: value.OfString(v)})
	}
	if o == engine.DeadLetter || x.chance(5) {
		s.Reason, s.Description = one(x, "", "bad", "ünïcödé"), one(x, "", "why", "far too long")
	}
	x.logf("%v %s #%d, path %q, %q %q %v", o, m.path(), m.seq, s.Path, s.Reason, s.Description, props)
	x.expect(x.ns.Settle(x.now(), s), x.w.settle(m.token, string(s.Path), o.String(), s.Reason, s.Description, props))
}

func (x *walk) renew() {
	m := x.target("renew")
	if m.token == "" {
		m.token = engine.LockToken{}.String()
	}
	x.logf("renew %s #%d", m.path(), m.seq)
	until, err := x.ns.Renew(x.now(), token(m.token), "", "renewer")
	have, code := x.w.renew(m.token, "")
	if x.expect(err, code) && int64(until) != have {
		x.failf("renewed until %d, the model says %d", until, have)
	}
}

func (x *walk) cancel() {
	m := x.target("cancel")
	path := m.path()
	list := []int64{m.seq}
	for x.chance(20) {
		list = append(list, one(x, m.seq, m.seq+1, m.seq-1))
	}
	var seqs []engine.Seq
	for _, s := range list {
		seqs = append(seqs, engine.Seq(s))
	}
	x.logf("cancel %v of %s", list, path)
	x.expect(x.ns.Cancel(x.now(), engine.Path(path), seqs, "canceller"), x.w.cancel(path, list))
}

// --- operator actions ---

func (x *walk) move(operation string) {
	m := x.target(operation)
	to, keep := "", operation == "copy"
	if operation != "move back" && !x.chance(10) {
		to = x.any()
		if x.chance(3) {
			to += "/$DeadLetterQueue"
		}
	}
	x.logf("%s %s #%d to %q", operation, m.path(), m.seq, to)
	seq, err := x.ns.Move(x.now(), engine.Move{Key: engine.Key(m.key), To: engine.Path(to), Copy: keep}, "operator")
	if errIs(err, engine.ErrQuota) {
		x.w.limits.entitySize = 0
		defer func() { x.w.limits.entitySize = x.limits.EntitySize }()
	}
	have, code := x.w.move(m, to, keep)
	if x.expect(err, code) && int64(seq) != have {
		x.failf("moved to #%d, the model says %d", seq, have)
	}
}

func (x *walk) extend() {
	m := x.target("extend")
	to := x.w.now + one[int64](x, -1, 0, 1, 1000, 1000, 50_000, 50_000, lastInstant-x.w.now)
	x.logf("extend %s #%d to %d", m.path(), m.seq, to-begin)
	x.expect(x.ns.Extend(x.now(), engine.Key(m.key), engine.Instant(to), "operator"), x.w.extend(m, to))
}

func (x *walk) giveBack() {
	m := x.target("return")
	x.logf("return %s #%d", m.path(), m.seq)
	x.expect(x.ns.ReturnToActive(x.now(), engine.Key(m.key), "operator"), x.w.giveBack(m))
}

func (x *walk) deadLetterOne() {
	m := x.target("dead-letter one")
	reason := one(x, "", "operator", "much too long")
	x.logf("dead-letter %s #%d, %q", m.path(), m.seq, reason)
	x.expect(x.ns.DeadLetterOne(x.now(), engine.Key(m.key), reason, "", "operator"), x.w.deadLetterOne(m, reason, ""))
}

func (x *walk) deleteOne() {
	m := x.target("delete one")
	x.logf("delete %s #%d", m.path(), m.seq)
	x.expect(x.ns.DeleteOne(x.now(), engine.Key(m.key), "operator"), x.w.deleteOne(m))
}

func (x *walk) breakLock() {
	m := x.target("break lock")
	x.logf("break the lock of %s #%d", m.path(), m.seq)
	x.expect(x.ns.BreakLock(x.now(), engine.Key(m.key), "operator"), x.w.breakLock(m))
}

func (x *walk) renewFor() {
	m := x.target("renew for")
	x.logf("renew the lock of %s #%d for its holder", m.path(), m.seq)
	until, err := x.ns.RenewFor(x.now(), engine.Key(m.key), "operator")
	have, code := x.w.renewFor(m)
	if x.expect(err, code) && int64(until) != have {
		x.failf("renewed until %d, the model says %d", until, have)
	}
}

func (x *walk) sendNow() {
	m := x.target("send now")
	x.logf("send %s #%d now", m.path(), m.seq)
	x.expect(x.ns.SendNow(x.now(), engine.Key(m.key), "operator"), x.w.sendNow(m))
}

func (x *walk) reschedule() {
	m := x.target("reschedule")
	to := x.w.now + one[int64](x, -1, 0, 1, 2000, 5000)
	x.logf("reschedule %s #%d for %d", m.path(), m.seq, to-begin)
	seq, err := x.ns.Reschedule(x.now(), engine.Key(m.key), engine.Instant(to), "operator")
	have, code := x.w.reschedule(m, to)
	if x.expect(err, code) && int64(seq) != have {
		x.failf("rescheduled as #%d, the model says %d", seq, have)
	}
}

func (x *walk) purge() {
	path := x.place()
	var classes []engine.Class
	var kinds []string
	for c, k := range map[engine.Class]string{engine.ClassActive: "active", engine.ClassDeferred: "deferred", engine.ClassScheduled: "scheduled"} {
		if x.chance(40) {
			classes, kinds = append(classes, c), append(kinds, k)
		}
	}
	slices.Sort(kinds)
	x.met("purge", path)
	x.logf("purge %v of %s", kinds, path)
	p, err := x.ns.BeginPurge(x.now(), engine.Path(path), classes)
	for err == nil && !p.Done {
		err = x.ns.PurgeSlice(x.now(), &p, one(x, 1, 2, 100), "operator")
	}
	removed, skipped, code := x.w.purge(path, kinds)
	if x.expect(err, code) && (p.Removed != removed || p.Skipped != skipped) {
		x.failf("purged %d, skipped %d; the model says %d and %d", p.Removed, p.Skipped, removed, skipped)
	}
}

// slowly is a purge of which a slice is done now and then.
type slowly struct {
	engine engine.Purge
	model  modelPurge
}

func (x *walk) purgeSlowly() {
	if x.slow == nil {
		path := x.place()
		x.logf("begin to purge %s", path)
		p, err := x.ns.BeginPurge(x.now(), engine.Path(path), []engine.Class{engine.ClassActive, engine.ClassScheduled})
		m, code := x.w.beginPurge(path, []string{"active", "scheduled"})
		if x.expect(err, code) {
			x.slow = &slowly{p, m}
		}
		return
	}
	limit := one(x, 1, 2, 5)
	x.logf("purge up to %d more of %s", limit, x.slow.model.path)
	err := x.ns.PurgeSlice(x.now(), &x.slow.engine, limit, "operator")
	if !x.expect(err, x.w.purgeSlice(&x.slow.model, limit)) {
		x.slow = nil
		return
	}
	e, m := x.slow.engine, x.slow.model
	if e.Removed != m.removed || e.Skipped != m.skipped || e.Done != m.done {
		x.failf("purged %d, skipped %d, done %v; the model says %d, %d, %v", e.Removed, e.Skipped, e.Done, m.removed, m.skipped, m.done)
	}
	if m.done {
		x.slow = nil
	}
}

func (x *walk) batchDelete() {
	path, count := x.place(), one(x, 0, 1, 2, 4, 5)
	before := x.w.now - one[int64](x, 0, 0, 1, 2000)
	x.met("batch delete", path)
	x.logf("batch delete %d of %s before %d", count, path, before-begin)
	n, err := x.ns.BatchDelete(x.now(), engine.Path(path), count, engine.Instant(before), "client")
	have, code := x.w.batchDelete(path, count, before)
	if x.expect(err, code) && n != have {
		x.failf("deleted %d, the model says %d", n, have)
	}
}

// --- entities ---

func (x *walk) create() {
	kind := one[byte](x, 'q', 't', 's', 's')
	path, c := x.name(kind), x.config(kind)
	switch {
	case x.chance(2):
		path += "/$DeadLetterQueue"
	case x.chance(2):
		kind = one[byte](x, 'q', 't', 's')
	}
	if kind == 't' {
		c.deliveries, c.keep, c.lock = 10, false, 60_000
	}
	x.logf("create %c %s %+v", kind, path, c)
	k := map[byte]engine.EntityKind{'q': engine.Queue, 't': engine.Topic, 's': engine.Subscription}[kind]
	_, err := x.ns.Create(x.now(), k, engine.Path(path), described(c), "creator")
	x.expect(err, x.w.create(kind, path, c))
}

// administered is any entity; every message there meets the operation.
func (x *walk) administered(operation string) string {
	path := x.any()
	if x.chance(2) {
		path += "/$DeadLetterQueue"
	}
	x.met(operation, path)
	x.met(operation, path+"/$DeadLetterQueue")
	x.logf("%s %s", operation, path)
	return path
}

func (x *walk) update() {
	path := x.administered("update")
	e, _ := x.w.find(path)
	kind := byte('q')
	var c config
	if e != nil {
		kind, c = e.kind, e.cfg
	}
	drawn := x.config(kind)
	switch x.r.IntN(7) {
	case 0:
		c = drawn
	case 1:
		c.ttl = drawn.ttl
	case 2:
		c.keep = drawn.keep && kind != 't'
	case 3:
		c.deliveries = drawn.deliveries
	case 4:
		c.idle = drawn.idle
	case 5:
		c.status = drawn.status
	case 6:
		c.lock = drawn.lock
	}
	if c.status == "" {
		c = drawn
	}
	x.trace[len(x.trace)-1] += fmt.Sprintf(" to %+v", c)
	_, err := x.ns.Update(x.now(), engine.Path(path), described(c), "updater")
	ended, code := x.w.update(path, c)
	for _, id := range ended {
		x.ended[id] = "disabled"
	}
	x.expect(err, code)
}

func (x *walk) delete() {
	if x.forced == nil && !x.chance(15) {
		return
	}
	path := x.administered("delete entity")
	e, _ := x.w.find(path)
	if !strings.Contains(path, "$") {
		for _, l := range x.w.links {
			if l.in == e || e != nil && l.in.topic == e {
				x.ended[l.id] = "not found"
			}
		}
	}
	x.expect(x.ns.Delete(x.now(), engine.Path(path), "deleter"), x.w.delete(path))
}

func (x *walk) addRule() {
	path, name := x.any(), one(x, "Plus", "plus", "other")
	f := engine.Filter{}
	if x.chance(10) {
		f.Kind = engine.FalseFilter
	}
	x.logf("add rule %s to %s, %v", name, path, f.Kind)
	x.expect(x.ns.AddRule(x.now(), engine.Path(path), engine.Rule{Name: name, Filter: f}, "ruler"), x.w.addRule(path, name, f.Kind == engine.TrueFilter))
}

func (x *walk) removeRule() {
	path, name := x.any(), one(x, "plus", "Other", "OTHER", "plus", "Other", "OTHER", "$default")
	x.logf("remove rule %s from %s", name, path)
	x.expect(x.ns.RemoveRule(x.now(), engine.Path(path), name, "ruler"), x.w.removeRule(path, name))
}

func (x *walk) touch() {
	path := x.administered("touch")
	x.expect(x.ns.Touch(x.now(), engine.Path(path), "operator"), x.w.touch(path))
	x.ns.Looked(x.now(), engine.Path(path), "look", "operator") // has no effect to compare
}

func (x *walk) pin() {
	path := x.administered("pin")
	x.expect(x.ns.Pin(x.now(), engine.Path(path), "operator"), x.w.pin(path))
}

func (x *walk) unpin() {
	path := x.administered("unpin")
	x.expect(x.ns.Unpin(x.now(), engine.Path(path), "operator"), x.w.unpin(path))
}

func (x *walk) sweepOnce() {
	if x.forced != nil || x.chance(20) {
		for _, m := range x.w.messages {
			x.reached[pair{"sweep", x.state(m)}]++
		}
		x.sweep()
	}
}

func (x *walk) crashOrNot() {
	if x.chance(30) {
		x.crash()
	}
}
