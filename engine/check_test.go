package engine

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// populated returns a namespace with an entry in every index.
func populated(t *testing.T) *Namespace {
	t.Helper()
	nonce := uint64(0)
	ns := New(Options{Limits: DefaultLimits(), Keys: NewKeys(1), Nonce: func() uint64 { nonce++; return nonce }})
	now := Instant(1_000_000)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	create := func(kind EntityKind, p Path) {
		_, err := ns.Create(now, kind, p, Config{AutoDeleteOnIdle: time.Hour}, "")
		must(err)
	}
	send := func(p Path, c Content) {
		s, err := Submit(c, []byte("body"), 0, ns.keys.Next(), ns.limits)
		must(err)
		_, err = ns.Send(now, p, []Submission{s}, "")
		must(err)
	}
	create(Queue, "q")
	create(Queue, "waiting")
	create(Topic, "t")
	create(Subscription, "t/Subscriptions/a")
	create(Subscription, "t/Subscriptions/b")
	must(ns.Attach(now, Link{ID: 1, Path: "q"}))
	for range 3 {
		send("q", Content{TTL: time.Minute})
	}
	must(ns.Credit(now, 1, 3))
	ns.Match(now)
	fx := ns.Flush(now, true)
	must(ns.Settle(now, Settlement{Token: fx.Deliveries[0].Token(), Outcome: Defer}))
	must(ns.Settle(now, Settlement{Token: fx.Deliveries[1].Token(), Outcome: DeadLetter}))
	send("q", Content{TTL: time.Minute})
	send("q", Content{ScheduledFor: now + 1000})
	send("t", Content{})
	tx, err := ns.BeginTransaction(now, "")
	must(err)
	_, err = ns.BeginTransaction(now, "")
	must(err)
	s, err := Submit(Content{}, []byte("body"), 0, ns.keys.Next(), ns.limits)
	must(err)
	must(ns.SendInTx(now, tx, "q", []Submission{s}))
	must(ns.SettleInTx(now, tx, Settlement{Token: fx.Deliveries[2].Token()}))
	must(ns.Attach(now, Link{ID: 2, Path: "waiting"}))
	must(ns.Credit(now, 2, 1))
	ns.Match(now)
	for _, key := range []string{"view/b", "view/a"} {
		_, err := ns.SetSetting(now, key, "x", nil)
		must(err)
	}
	ns.Settings("")
	must(ns.Check())
	return ns
}

// TestCheckFinds corrupts the indexes one after the other: Check reports each.
func TestCheckFinds(t *testing.T) {
	active := func(ns *Namespace) *message { return ns.entities["q"].main.order.first() }
	for name, spoil := range map[string]func(ns *Namespace, q, topic *entity){
		"an entity under another path": func(ns *Namespace, q, _ *entity) { delete(ns.entities, "q"); ns.entities["Q"] = q },
		"a place nobody owns":          func(ns *Namespace, q, _ *entity) { ns.subqueues[77] = q.main },
		"a place that is lost":         func(ns *Namespace, q, _ *entity) { delete(ns.subqueues, q.dead.id) },
		"queues miscounted":            func(ns *Namespace, _, _ *entity) { ns.topLevelCount++ },
		"subscriptions out of order":   func(_ *Namespace, _, topic *entity) { topic.subs[0], topic.subs[1] = topic.subs[1], topic.subs[0] },
		"a subscription unknown":       func(_ *Namespace, _, topic *entity) { topic.subs = topic.subs[:1] },
		"a rule twice":                 func(_ *Namespace, _, topic *entity) { s := topic.subs[0]; s.rules = append(s.rules, s.rules[0]) },
		"bytes at the root":            func(_ *Namespace, _, topic *entity) { topic.bytes++ },
		"bytes in the place":           func(_ *Namespace, q, _ *entity) { q.main.bytes++; q.bytes++; q.dead.bytes--; q.bytes-- },
		"a count":                      func(_ *Namespace, q, _ *entity) { q.main.count[classActive]++ },
		"terms of yesterday":           func(_ *Namespace, q, _ *entity) { q.Config.DefaultMessageTimeToLive = time.Second },
		"a ready bit":                  func(ns *Namespace, q, _ *entity) { q.main.order.setReady(active(ns).Seq, false) },
		"a locked one ready":           func(_ *Namespace, q, _ *entity) { q.main.order.setReady(3, true) },
		"held and not ready":           func(_ *Namespace, q, _ *entity) { q.dead.forwarding.hold(q.main.order.at(1)) },
		"held and to go":               func(_ *Namespace, q, _ *entity) { q.dead.forwarding.hold(q.dead.order.first()) },
		"passed over and not counted": func(_ *Namespace, q, _ *entity) {
			m := q.dead.order.first()
			q.dead.order.setReady(m.Seq, false)
			q.dead.forwarding.hold(m)
		},
		"it stays and is to go": func(_ *Namespace, q, _ *entity) {
			x := q.dead.order.first()
			e := x.copyExtra()
			e.NeverForwarded = true
			x.Extra = e
		},
		"a list apart":                   func(_ *Namespace, q, _ *entity) { q.main.byClass[classDeferred].drop(1) },
		"a list apart with one too many": func(ns *Namespace, q, _ *entity) { q.main.byClass[classLocked].put(active(ns)) },
		"an alarm missing":               func(ns *Namespace, q, _ *entity) { q.main.clearAlarm(active(ns)) },
		"an alarm elsewhere":             func(ns *Namespace, q, _ *entity) { q.main.expiring.add(5, active(ns).Seq) },
		"an alarm at another time":       func(ns *Namespace, _, _ *entity) { m := active(ns); m.setAlarm(m.alarm() + 1) },
		"a lock that nobody holds":       func(ns *Namespace, q, _ *entity) { q.main.setLockDetails(active(ns).Key, Lock{By: "somebody"}) },
		"a number from the future":       func(_ *Namespace, q, _ *entity) { q.main.meter.NextSeq = 2 },
		"a message under no key":         func(ns *Namespace, _, _ *entity) { delete(ns.messages, active(ns).Key) },
		"a key for nothing":              func(ns *Namespace, _, _ *entity) { ns.messages[99] = &message{content: &content{}} },
		"a content forgotten":            func(ns *Namespace, _, _ *entity) { active(ns).content.refs-- },
		"readers below zero":             func(ns *Namespace, _, _ *entity) { active(ns).content.pins = -1 },
		"another's content":              func(ns *Namespace, _, _ *entity) { active(ns).Content++ },
		"a scheduled one without a time": func(_ *Namespace, q, _ *entity) { q.main.order.at(5).ScheduledFor = 0 },
		"a dead letter among the living": func(ns *Namespace, _, _ *entity) { active(ns).Extra = &Extra{DeadLettered: true} },
		"a link elsewhere":               func(ns *Namespace, q, _ *entity) { ns.links[2].subqueue = q.main },
		"a link unknown":                 func(ns *Namespace, _, _ *entity) { delete(ns.links, 2) },
		"credit miscounted":              func(ns *Namespace, _, _ *entity) { ns.entities["waiting"].credit++ },
		"a topic's credit miscounted":    func(_ *Namespace, _, topic *entity) { topic.credit++ },
		"a receiver nobody will serve": func(ns *Namespace, q, _ *entity) {
			ns.links[1].setCredit(ns, 1)
			q.main.needsMatch, ns.needMatch = false, nil
		},
		"credit and not in line":     func(ns *Namespace, _, _ *entity) { ns.links[1].credit = 1 },
		"in line without credit":     func(ns *Namespace, _, _ *entity) { ns.links[2].credit = 0 },
		"a link without its spot":    func(ns *Namespace, _, _ *entity) { ns.links[2].positions[waitingLinks].in = false },
		"it is in a hurry unknown":   func(ns *Namespace, _, _ *entity) { ns.links[2].NoWait = true },
		"a line without its end":     func(_ *Namespace, q, _ *entity) { q.main.links[attachedLinks].last = nil },
		"a line miscounted":          func(ns *Namespace, _, _ *entity) { ns.links[2].subqueue.links[waitingLinks].n++ },
		"links miscounted":           func(ns *Namespace, _, _ *entity) { ns.entities["waiting"].attached++ },
		"a topic's links miscounted": func(_ *Namespace, _, topic *entity) { topic.attached-- },
		"needs a match, not in line": func(_ *Namespace, q, _ *entity) { q.main.needsMatch = true },
		"due and not in the heap":    func(ns *Namespace, q, _ *entity) { ns.due.remove(q.main) },
		"due at another time":        func(ns *Namespace, q, _ *entity) { q.main.dueAt++; ns.due.fix(q.main) },
		"in turn and not in line":    func(_ *Namespace, q, _ *entity) { q.main.inRotation = true },
		"an idle alarm too late":     func(_ *Namespace, _, topic *entity) { topic.idleAt++ },
		"no idle alarm":              func(ns *Namespace, _, _ *entity) { ns.entities["waiting"].idleAt = 0 },
		"dirty and not waiting":      func(ns *Namespace, _, _ *entity) { active(ns).alarmFlags |= flagDirty; ns.changes.messages = nil },
		"neither stored nor waiting": func(ns *Namespace, _, _ *entity) { m := active(ns); m.alarmFlags &^= flagDirty | flagStored },
		"there and dropped":          func(ns *Namespace, _, _ *entity) { ns.changes.dropped[active(ns).Key] = struct{}{} },
		"waiting twice": func(ns *Namespace, _, _ *entity) {
			ns.changes.messages = append(ns.changes.messages, ns.changes.messages[0])
		},
		"a content that never gets there": func(ns *Namespace, _, _ *entity) { ns.changes.contents = nil; active(ns).content.stored = false },
		"a content that gets there twice": func(ns *Namespace, _, _ *entity) {
			ns.changes.contents = append(ns.changes.contents, ns.changes.contents[0])
		},
		"a transaction nobody ends":         func(ns *Namespace, _, _ *entity) { ns.transactions.deadlines = nil },
		"a transaction out of its place":    func(ns *Namespace, _, _ *entity) { ns.transactions.deadlines[1].deadline = 1 },
		"a transaction that is over":        func(ns *Namespace, _, _ *entity) { delete(ns.transactions.open, ns.transactions.deadlines[1].id) },
		"what a transaction keeps":          func(ns *Namespace, _, _ *entity) { ns.transactions.deadlines[0].usage.staged++ },
		"what transactions keep":            func(ns *Namespace, _, _ *entity) { ns.transactions.usage.memory-- },
		"what a transaction sends":          func(ns *Namespace, _, _ *entity) { ns.transactions.deadlines[0].messages++ },
		"what a transaction settles":        func(ns *Namespace, _, _ *entity) { clear(ns.transactions.deadlines[0].settled) },
		"a plan in a transaction":           func(ns *Namespace, _, _ *entity) { ns.transactions.deadlines[0].operations[0].batch[0].Plan = &Plan{} },
		"a setting under another key":       func(ns *Namespace, _, _ *entity) { ns.settings.byKey["view/c"] = ns.settings.byKey["view/a"] },
		"bytes of settings":                 func(ns *Namespace, _, _ *entity) { ns.settings.bytes-- },
		"settings out of order":             func(ns *Namespace, _, _ *entity) { slices.Reverse(ns.settings.inOrder) },
		"a meter that waits and is not due": func(ns *Namespace, q, _ *entity) { q.main.meterDirty = !q.main.meterDirty },
	} {
		t.Run(name, func(t *testing.T) {
			ns := populated(t)
			spoil(ns, ns.entities["q"], ns.entities["t"])
			if err := ns.Check(); err == nil {
				t.Error("Check found nothing")
			} else if strings.Contains(err.Error(), "%!") {
				t.Errorf("Check returned %v", err)
			}
		})
	}
}

// Messages that the store refuses for hours must not accumulate in memory.
func TestRollbackForgets(t *testing.T) {
	ns := populated(t)
	ns.Seal(true)
	for range 3 {
		for _, p := range []Path{"q", "t"} {
			s, err := Submit(Content{}, []byte("body"), 0, ns.keys.Next(), ns.limits)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := ns.Send(2_000_000, p, []Submission{s}, ""); err != nil {
				t.Fatal(err)
			}
		}
		ns.Rollback()
	}
	c := &ns.changes
	if n := len(c.messages) + len(c.contents) + len(c.bodies) + len(c.garbage); n != 0 {
		t.Errorf("%d messages, %d contents, %d bodies and %d pieces of garbage are kept", len(c.messages), len(c.contents), len(c.bodies), len(c.garbage))
	}
	if err := ns.Check(); err != nil {
		t.Error(err)
	}
}
