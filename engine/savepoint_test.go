package engine

import (
	"fmt"
	"testing"
)

// pictured is all that taking back must restore, in words.
func pictured(t *testing.T, ns *Namespace) string {
	t.Helper()
	if err := ns.Check(); err != nil {
		t.Fatal(err)
	}
	all := fmt.Sprint("hard ", ns.changes.hard, ", events ", len(ns.events), ", accepted ", len(ns.out.Accepted), ", deliveries ", len(ns.out.Deliveries), ", ended ", len(ns.out.Ended))
	for _, e := range ns.sorted() {
		all += fmt.Sprintf("\n%s %+v next %d attached %d credit %d bytes %d", e.Path, e.Config, e.main.meter.NextSeq, e.attached, e.credit, e.bytes)
		for _, h := range e.holders() {
			for m := range h.order.from(0) {
				all += fmt.Sprintf("\n  %s %+v of %d, locked by %q", h.path, m.Message, m.content.refs, h.lockBy[m.Key])
			}
		}
	}
	return all
}

// What a part of a turn did is taken back without the rest of the turn, and the
// rest after it.
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
		must(ns.Attach(now, Link{ID: id, Path: "q", Mode: mode, Once: true, NoWait: true, Client: "taker"}))
		must(ns.Credit(now, id, 1))
		ns.Match(now)
		if ns.out.Deliveries[len(ns.out.Deliveries)-1].Link != id {
			t.Fatal("nothing is delivered")
		}
		return ns.out.Deliveries[len(ns.out.Deliveries)-1]
	}
	for name, do := range map[string]func(ns *Namespace, d Delivery){
		"nothing":    func(*Namespace, Delivery) {},
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
			before, want, to := pictured(t, ns), ns.batch(now), ns.mark()
			do(ns, d)
			ns.undoTo(to)
			if after := pictured(t, ns); after != before {
				t.Fatalf("taken back, it is\n%s\nand was\n%s", after, before)
			}
			do(ns, d)
			ns.undoTo(to)
			have := ns.Flush(now, true).Batch
			if len(have.Contents) != len(want.Contents) || len(have.Bodies) != len(want.Bodies) || len(have.Entities)+len(have.DropHolders)+len(have.Rules) != 0 {
				t.Errorf("the batch is %+v and was %+v", have, want)
			}
			ns.Rollback()
			if after := pictured(t, ns); after[len("hard false, events 0"):] != first[len("hard true, events 1"):] {
				t.Fatalf("taken back as well, it is\n%s\nand was\n%s", after, first)
			}
		})
	}
}
