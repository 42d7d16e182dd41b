package enginetest

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"mayfly/engine"
	"mayfly/engine/value"
)

// operations returns a walk's operations by name. Each runs on the engine and on the model and
// compares the results.
func operations() map[string]func(*walk) {
	ops := map[string]func(*walk){
		"turn": (*walk).settle, "advance": (*walk).advance, "send": (*walk).send,
		"receive": (*walk).receive, "attach": (*walk).attach, "credit": (*walk).credit, "withdraw": (*walk).withdraw, "detach": (*walk).detach,
		"fetch": (*walk).fetch, "peek": (*walk).peek, "cancel": (*walk).cancel, "sweep once": (*walk).sweepOnce, "crash": (*walk).crashOrNot,
		"move back": func(x *walk) { x.move("move back") }, "move": func(x *walk) { x.move("move") }, "copy": func(x *walk) { x.move("copy") },
		"extend": (*walk).extend, "return": (*walk).giveBack, "dead-letter one": (*walk).deadLetterOne, "delete one": (*walk).deleteOne,
		"break lock": (*walk).breakLock, "renew for": (*walk).renewFor, "send now": (*walk).sendNow, "reschedule": (*walk).reschedule,
		"purge": (*walk).purge, "batch delete": (*walk).batchDelete, "renew": (*walk).renew,
		"create": (*walk).create, "update": (*walk).update, "delete": (*walk).delete, "add rule": (*walk).addRule, "remove rule": (*walk).removeRule,
		"touch": (*walk).touch, "pin": (*walk).pin, "unpin": (*walk).unpin, "purge slowly": (*walk).purgeSlowly, "visit": (*walk).visit,
		"declare": (*walk).declare, "send in": (*walk).sendIn, "discharge": (*walk).discharge, "settle all in": (*walk).settleAllIn,
	}
	for _, o := range []engine.Outcome{engine.Complete, engine.Abandon, engine.Defer, engine.DeadLetter, engine.Release} {
		ops[o.String()] = func(x *walk) { x.outcome(o) }
	}
	return ops
}

// often returns the weight of an operation in random draws.
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
	case "send in", "discharge":
		return 5
	case "attach", "credit", "abandon", "create", "declare", "settle all in":
		return 4
	case "complete", "delete one", "purge", "batch delete", "fetch and delete", "crash":
		return 1
	default:
		return 2
	}
}

// suits reports whether an operation usually has an effect in a state.
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
	n := one(x, 1, 1, 1, 2, 3)
	if x.chance(1) {
		n = 0
	}
	subs, want := x.submissions(n)
	x.logf("send to %s %+v", to, want)
	seqs, err := x.ns.Send(x.now(), engine.Path(to), subs, "sender")
	if e, _ := x.w.find(to); e != nil && errIs(err, engine.ErrQuota) {
		// Bytes that settlements added count too, and only the engine knows them.
		s, e2 := x.ns.State(engine.Path(root(e).path))
		more := s.SizeInBytes - x.w.bytes(e)
		if e2 != nil || more < 0 {
			x.failf("%s holds %d bytes, the model says at least %d: %v", e.path, s.SizeInBytes, x.w.bytes(e), e2)
		}
		x.w.limits.entitySize -= more
		defer func() { x.w.limits.entitySize = x.limits.EntitySize }()
	}
	have, code := x.w.send(to, want)
	if x.expect(err, code) {
		x.sameNumbers(seqs, have)
	}
}

func (x *walk) sameNumbers(seqs []engine.Seq, have []int64) {
	same := len(seqs) == len(have)
	for i := range seqs {
		same = same && int64(seqs[i]) == have[i]
	}
	if !same {
		x.failf("numbers are %v, the model says %v", seqs, have)
	}
}

// submissions returns n random messages, for the engine and for the model. Some of them are
// sent a second time.
func (x *walk) submissions(n int) (subs []engine.Submission, want []submission) {
	for range n {
		x.tags++
		c := engine.Content{MessageID: fmt.Sprintf("m%d", x.tags)}
		if len(want) > 0 && x.chance(10) {
			c.MessageID = want[0].tag
		} else if e := one(x, append(slices.Clone(x.w.entities), nil)...); e != nil && len(e.seen) > 0 && x.chance(40) {
			c.MessageID = one(x, slices.Sorted(maps.Keys(e.seen))...)
		}
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
	return subs, want
}

func (x *walk) receive() {
	path := x.randomPath()
	x.links++
	l := engine.Link{ID: engine.LinkID(x.links), Path: engine.Path(path), Mode: one(x, engine.PeekLock, engine.PeekLock, engine.PeekLock, engine.ReceiveAndDelete), Client: "receiver", SingleMessage: true, NoWait: x.chance(80)}
	operation := "receive"
	if l.Mode == engine.ReceiveAndDelete {
		operation = "receive and delete"
	}
	x.met(operation, path)
	x.logf("receive from %s as link %d, %+v", path, x.links, l)
	if x.attachBoth(path, l) && !x.creditBoth(x.links, 1) {
		x.ns.Detach(x.now(), l.ID, engine.DetachedByClient)
		x.w.detach(x.links)
	}
}

func (x *walk) attachBoth(path string, l engine.Link) bool {
	err := x.ns.Attach(x.now(), l)
	return x.expect(err, x.w.attach(path, link{id: uint64(l.ID), client: l.Client, remove: l.Mode == engine.ReceiveAndDelete, once: l.SingleMessage, noWait: l.NoWait}))
}

func (x *walk) creditBoth(id uint64, n int) bool {
	x.logf("credit %d for link %d", n, id)
	return x.expect(x.ns.Credit(x.now(), engine.LinkID(id), n), x.w.credit(id, n))
}

func (x *walk) attach() {
	path := x.randomPath()
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
	x.ns.Detach(x.now(), engine.LinkID(id), one(x, engine.DetachedByClient, engine.DetachedLost))
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
	ds, err := x.ns.ReceiveDeferred(x.now(), engine.Path(path), seqs, mode, "fetcher")
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
	path, from, count := x.randomPath(), int64(x.r.IntN(6)), one(x, 0, 1, 3, 100)
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
	if x.forced == nil && x.chance(35) {
		x.settleIn(x.anyTransaction(), m, s)
		return
	}
	if x.chance(30) {
		s.Path = engine.Path(m.path())
		if x.chance(10) {
			s.Path = engine.Path(x.randomPath())
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
	until, err := x.ns.RenewLock(x.now(), token(m.token), "", "renewer")
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
	x.expect(x.ns.CancelScheduled(x.now(), engine.Path(path), seqs, "canceller"), x.w.cancel(path, list))
}
