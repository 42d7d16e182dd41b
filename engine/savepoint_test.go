package engine

import (
	"fmt"
	"testing"
	"time"
)

// pictured returns everything that undoing must restore, as text.
func pictured(t *testing.T, ns *Namespace) string {
	t.Helper()
	if err := ns.Check(); err != nil {
		t.Fatal(err)
	}
	all := fmt.Sprint("hard ", ns.changes.hard, ", events ", len(ns.events), ", accepted ", len(ns.effects.Accepted), ", deliveries ", len(ns.effects.Deliveries), ", ended ", len(ns.effects.Ended))
	all += fmt.Sprint(", settings ", ns.Settings(""))
	for _, e := range ns.sorted() {
		all += fmt.Sprintf("\n%s %+v next %d credit %d bytes %d", e.Path, e.Config, e.main.meter.NextSeq, e.credit, e.bytes)
		for _, h := range e.subqueues() {
			for m := range h.order.from(0) {
				all += fmt.Sprintf("\n  %s %+v of %d, locked by %+v", h.path, m.Message, m.content.refs, h.lock(m))
			}
		}
	}
	return all
}

// Part of a turn is undone without the rest of the turn, which is undone afterwards.
func TestSavepoint(t *testing.T) {
	const now = Instant(1_100_000)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	send := func(ns *Namespace, p Path, c Content) {
		s, err := Submit(c, []byte("body"), 0, ns.keys.Next(), ns.limits)
		must(err)
		_, err = ns.Send(now, p, []Submission{s}, "")
		must(err)
	}
	take := func(ns *Namespace, id LinkID, mode Mode) Delivery {
		must(ns.Attach(now, Link{ID: id, Path: "q", Mode: mode, SingleMessage: true, NoWait: true, Client: "taker"}))
		must(ns.Credit(now, id, 1))
		ns.Match(now)
		if ns.effects.Deliveries[len(ns.effects.Deliveries)-1].Link != id {
			t.Fatal("nothing is delivered")
		}
		return ns.effects.Deliveries[len(ns.effects.Deliveries)-1]
	}
	for name, do := range map[string]func(ns *Namespace, d Delivery){
		"nothing": func(*Namespace, Delivery) {},
		"setting": func(ns *Namespace, _ Delivery) {
			_, err := ns.SetSetting(now, "view/c", "x", nil)
			must(err)
			_, err = ns.SetSetting(now, "view/a", "xx", nil)
			must(err)
			must(ns.DropSetting("view/b"))
		},
		"send":       func(ns *Namespace, _ Delivery) { send(ns, "q", Content{}) },
		"schedule":   func(ns *Namespace, _ Delivery) { send(ns, "waiting", Content{ScheduledFor: now + 1}) },
		"distribute": func(ns *Namespace, _ Delivery) { send(ns, "t", Content{}) },
		"complete":   func(ns *Namespace, d Delivery) { must(ns.Settle(now, Settlement{Token: d.Token()})) },
		"abandon":    func(ns *Namespace, d Delivery) { must(ns.Settle(now, Settlement{Token: d.Token(), Outcome: Abandon})) },
		"dead-letter": func(ns *Namespace, d Delivery) {
			must(ns.Settle(now, Settlement{Token: d.Token(), Outcome: DeadLetter}))
		},
		"receive": func(ns *Namespace, _ Delivery) { take(ns, 12, ReceiveAndDelete) },
		"create": func(ns *Namespace, _ Delivery) {
			_, err := ns.Create(now, Subscription, "t/Subscriptions/new", Config{}, "")
			must(err)
			send(ns, "t", Content{})
		},
		"delete": func(ns *Namespace, _ Delivery) { must(ns.Delete(now, "q", "")) },
		"accept": func(ns *Namespace, _ Delivery) {
			must(ns.Attach(now, Link{ID: 14, Path: "s", Session: SessionRequest{NamedSession, "a"}}))
			must(ns.Attach(now, Link{ID: 15, Path: "s", Session: SessionRequest{Want: NextSession}}))
			ns.Match(now)
			must(ns.SetSessionState(now, 15, new("state")))
		},
		"much": func(ns *Namespace, d Delivery) {
			must(ns.Settle(now, Settlement{Token: d.Token(), Outcome: Abandon}))
			must(ns.Delete(now, "waiting", ""))
			must(ns.Delete(now, "t", ""))
			take(ns, 13, PeekLock)
			send(ns, "q", Content{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			ns := populated(t)
			_, err := ns.Create(now, Queue, "s", Config{RequiresSession: true}, "")
			must(err)
			send(ns, "s", Content{SessionID: "b"})
			ns.Seal(true)
			send(ns, "q", Content{Subject: "other"})
			first := pictured(t, ns)
			ns.Flush(now, true)
			ns.Seal(true)
			send(ns, "q", Content{Subject: "same turn"})
			d := take(ns, 11, PeekLock)
			before, want, to := pictured(t, ns), ns.batch(now), ns.savepoint()
			do(ns, d)
			ns.undoTo(to)
			if after := pictured(t, ns); after != before {
				t.Fatalf("after undoing, the namespace is\n%s\nand was\n%s", after, before)
			}
			do(ns, d)
			ns.undoTo(to)
			have := ns.Flush(now, true).Batch
			if len(have.Contents) != len(want.Contents) || len(have.Bodies) != len(want.Bodies) || len(have.Entities)+len(have.DropSubqueues)+len(have.Rules) != 0 {
				t.Errorf("the batch is %+v and was %+v", have, want)
			}
			ns.Rollback()
			if after := pictured(t, ns); after[len("hard false, events 0"):] != first[len("hard true, events 1"):] {
				t.Fatalf("after the rollback, the namespace is\n%s\nand was\n%s", after, first)
			}
		})
	}
}

// A commit that fails undoes its own changes and leaves everything else alone, even if nothing
// else was done in its turn: entities that it did not touch are not even visited.
func TestFailedCommitCostsItsChanges(t *testing.T) {
	const now = Instant(1_000_000)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	nonce := uint64(0)
	ns := New(Options{Limits: DefaultLimits(), Keys: NewKeys(1), Nonce: func() uint64 { nonce++; return nonce }})
	for _, p := range []Path{"bystander", "q", "gone", "sessions", "seen"} {
		_, err := ns.Create(now, Queue, p, Config{AutoDeleteOnIdle: time.Hour, RequiresSession: p == "sessions", RequiresDuplicateDetection: p == "seen"}, "")
		must(err)
	}
	give := func(now Instant, id TxID, p Path) {
		s, err := Submit(Content{SessionID: "s", MessageID: "m"}, nil, 0, ns.keys.Next(), ns.limits)
		must(err)
		must(ns.SendInTx(now, id, p, []Submission{s}))
	}
	old, err := Submit(Content{MessageID: "old"}, nil, 0, ns.keys.Next(), ns.limits)
	must(err)
	_, err = ns.Send(now, "seen", []Submission{old}, "")
	must(err)
	late := now.Add(11 * time.Minute) // the window of the first id has passed, which the next send finds
	id, err := ns.BeginTransaction(late, "")
	must(err)
	for _, p := range []Path{"q", "sessions", "seen", "gone"} {
		give(late, id, p)
	}
	must(ns.Delete(late, "gone", ""))
	ns.Flush(late, true)
	ns.Seal(true)
	if _, err := ns.Discharge(late, id, Commit); err == nil {
		t.Fatal("a commit that must fail succeeded")
	}
	must(ns.Check())
	if ns.entities["bystander"].idleAt == 1 {
		t.Error("the idleness of the bystander is checked again")
	}
	for _, p := range []string{"q", "sessions", "seen"} {
		if ns.entities[p].idleAt != 1 {
			t.Errorf("the idleness of %s is not checked again", p)
		}
	}
	ns.Rollback()
	must(ns.Check())
	if ns.entities["bystander"].idleAt == 1 {
		t.Error("the idleness of the bystander is checked again after the rollback")
	}
}

// If an attach or detach is undone, the idleness of its entity is checked again, because it
// depends on its receivers (IDLE-8).
func TestRollbackExaminesWhereReceiversAre(t *testing.T) {
	const now = Instant(1_100_000)
	for name, do := range map[string]func(ns *Namespace) error{
		"came": func(ns *Namespace) error { return ns.Attach(now, Link{ID: 9, Path: "waiting"}) },
		"went": func(ns *Namespace) error { ns.Detach(now, 2, DetachedByClient); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			ns := populated(t)
			ns.touch(now, ns.entities["waiting"], "", "")
			ns.Flush(now, true)
			ns.Seal(true)
			if err := do(ns); err != nil {
				t.Fatal(err)
			}
			ns.Rollback()
			if ns.entities["waiting"].idleAt != 1 || ns.entities["q"].idleAt == 1 {
				t.Errorf("the idleness of its entity is checked at %d, and of another at %d", ns.entities["waiting"].idleAt, ns.entities["q"].idleAt)
			}
			if err := ns.Check(); err != nil {
				t.Error(err)
			}
		})
	}
}
