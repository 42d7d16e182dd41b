package engine

import (
	"testing"
)

// Held messages are not even visited when others are forwarded (FWD-6, FWD-8). The test sets
// them to nil, so a visit would panic.
func TestHeldCostNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		hops int64
		size int // size of held messages, in bytes
	}{
		"FWD-6 they stay":            {1, 10},
		"FWD-8 they are passed over": {4, 2000},
	} {
		t.Run(name, func(t *testing.T) {
			ns, now := New(Options{Limits: DefaultLimits(), Keys: NewKeys(1), Nonce: func() uint64 { return 1 }}), Instant(1_000_000)
			ns.limits.ForwardHops = tc.hops
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			queue := func(p Path, c Config) { _, err := ns.Create(now, Queue, p, c, ""); must(err) }
			queue("z", Config{MaxMessageSizeInKilobytes: 1})
			queue("b", Config{ForwardDeadLetteredMessagesTo: "z", LockDuration: 300e9})
			queue("a", Config{ForwardTo: "b"})
			const n = 500
			send := func(p Path, size int) {
				s, err := Submit(Content{}, make([]byte, size), 0, ns.keys.Next(), ns.limits)
				must(err)
				_, err = ns.Send(now, p, []Submission{s}, "")
				must(err)
				ns.Sweep(now, 100)
			}
			for range n { // every second message may be forwarded
				send("b", 10)
				send("a", tc.size)
			}
			must(ns.Attach(now, Link{ID: 1, Path: "b"}))
			must(ns.Credit(now, 1, 2*n))
			ns.Match(now)
			kill := func(d Delivery) {
				must(ns.Settle(now, Settlement{Token: d.Token(), Outcome: DeadLetter}))
				ns.Sweep(now, 100)
			}
			all := ns.Flush(now, true).Deliveries
			ns.Seal(true)
			var free []Delivery
			for i, d := range all {
				if i%2 == 0 {
					free = append(free, d)
				} else {
					kill(d)
				}
			}
			b := ns.entities["b"].dead
			if b.forwarding.held.len() != n || b.order.ready() != 0 {
				t.Fatalf("%d messages are held, %d are not", b.forwarding.held.len(), b.order.ready())
			}
			hidden := map[Seq]*message{}
			for m := range b.forwarding.held.from(0) {
				hidden[m.Seq] = m
			}
			show := func(yes bool) {
				for seq, m := range hidden {
					for _, o := range []*order{&b.order, &b.forwarding.held} {
						p := o.leaf(seq)
						if p.msgs[p.index(digit(seq, 0))] = nil; yes {
							p.msgs[p.index(digit(seq, 0))] = m
						}
					}
				}
			}
			show(false)
			func() {
				defer func() {
					if r := recover(); r != nil {
						t.Errorf("a held message was visited: %v", r)
					}
				}()
				for i := range free { // from the last to the first: below all held messages
					kill(free[len(free)-1-i])
				}
			}()
			show(true)
			must(ns.Check())
			if got := ns.entities["z"].main.order.len(); got != n {
				t.Errorf("%d were forwarded", got)
			}
			if b.order.len() != n {
				t.Errorf("%d are held", b.order.len())
			}
		})
	}
}
