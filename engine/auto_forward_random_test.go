package engine_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/engine/longtest"
)

// In random networks of forwarding queues, with transactions, refused commits and crashes, an
// accepted message is in exactly one subqueue until it is completed (FWD-3, FWD-14), and all
// forwarding ends eventually (FWD-6).
func TestForwardingLosesNothing(t *testing.T) {
	fates := map[string]int{}
	seeds := uint64(5)
	if longtest.Enabled(t) {
		seeds = 25
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			n := &network{clocked: newClocked(t, asked), r: rand.New(rand.NewPCG(seed, 7)), there: map[string]bool{}, fates: map[string]int{}}
			n.limit(func(l *engine.Limits) {
				l.EntitySize, l.TransactionMessages, l.TransactionTime = 600, 3, 20*time.Second
			})
			for _, p := range n.queues() {
				n.queue(p, engine.Config{LockDuration: 5 * time.Second, MaxDeliveryCount: 3})
			}
			for range 400 {
				n.turn()
			}
			for p := range slices.Values(n.queues()) { // enable everything, so that waiting messages may move
				n.update(p, func(cfg *engine.Config) { cfg.Status = engine.StatusActive })
			}
			n.pass(time.Minute)
			for range 100 { // until every message that can be forwarded has been
				n.sweep()
				n.pass(2 * time.Second)
			}
			moved := len(n.events)
			n.sweep()
			n.pass(time.Hour)
			n.sweep()
			n.equal(len(n.events), moved)
			n.compare()
			for what, count := range n.fates {
				fates[what] += count
			}
		})
	}
	t.Logf("transactions by outcome: %v", fates)
	for _, what := range []string{"committed", "failed", "rolled back", "over", "too many", "taken back"} {
		if fates[what] == 0 && longtest.Enabled(t) { // a few seeds need not cover all outcomes
			t.Errorf("no transaction was %s", what)
		}
	}
}

// A network is a set of queues that forward to one another.
type network struct {
	*clocked
	r     *rand.Rand
	ids   int
	there map[string]bool // ids of messages that were accepted and not completed

	deals []openTx       // open transactions
	fates map[string]int // how many transactions had each outcome
}

func (n *network) queues() []engine.Path { return []engine.Path{"a", "b", "c", "d"} }

func (n *network) any() engine.Path { return n.queues()[n.r.IntN(4)] }

// turn does some random operations and then has them committed, refused by the store or lost in
// a crash.
func (n *network) turn() {
	before, deals := maps.Clone(n.there), slices.Clone(n.deals)
	for range 1 + n.r.IntN(3) {
		n.do()
		n.must(n.ns.Check())
	}
	if n.r.IntN(6) == 0 {
		n.ns.Flush(n.now, true)
		n.ns.Rollback()
		n.must(n.ns.Check())
		if n.there = before; len(deals) > len(n.deals) {
			n.fates["taken back"]++
		}
		n.deals = deals
	} else {
		n.step()
		n.inbox = nil
	}
	if n.r.IntN(20) == 0 {
		n.restart()
	}
	n.compare()
}

func (n *network) do() {
	switch n.r.IntN(13) {
	case 0, 1:
		id := fmt.Sprint(n.ids)
		n.ids++
		batch, to := n.submissions(engine.Content{MessageID: id}), n.any()
		var err error
		if n.r.IntN(3) == 0 {
			_, err = n.ns.SendVia(n.now, n.any(), to, batch, "")
		} else {
			_, err = n.ns.Send(n.now, to, batch, "")
		}
		switch {
		case err == nil:
			n.there[id] = true
		case !errors.Is(err, engine.ErrDisabled) && !errors.Is(err, engine.ErrQuota):
			n.Fatal(err)
		}
	case 2, 3:
		n.ns.Sweep(n.now, 1+n.r.IntN(4))
	case 4:
		n.settleSome()
	case 5:
		n.now = n.now.Add(time.Duration(n.r.IntN(4000)) * time.Millisecond)
	case 6:
		p := n.any()
		cfg := n.state(p).Config
		switch n.r.IntN(3) {
		case 0:
			cfg.ForwardTo = n.elsewhere(p)
		case 1:
			cfg.ForwardDeadLetteredMessagesTo = n.elsewhere(p)
		case 2:
			cfg.Status = []engine.Status{engine.StatusActive, engine.StatusActive, engine.StatusDisabled, engine.StatusSendDisabled, engine.StatusReceiveDisabled}[n.r.IntN(5)]
		}
		_, err := n.ns.Update(n.now, p, cfg, "")
		n.must(err)
	case 9, 10, 11, 12:
		n.randomTx()
	case 7:
		for m := range slices.Values(n.rows(n.any().DeadLetter())) {
			_, err := n.ns.Move(n.now, engine.Move{Key: m.Message.Key, To: n.any()}, "")
			if err != nil && !errors.Is(err, engine.ErrDisabled) && !errors.Is(err, engine.ErrQuota) && !errors.Is(err, engine.ErrNotAllowed) {
				n.Fatal(err)
			}
			break
		}
	case 8:
		if rows := n.rows(n.any().Transfer()); len(rows) > 0 {
			_, err := n.ns.Move(n.now, engine.Move{Key: rows[0].Message.Key}, "")
			if err != nil && !errors.Is(err, engine.ErrDisabled) && !errors.Is(err, engine.ErrQuota) && !errors.Is(err, engine.ErrNotAllowed) {
				n.Fatal(err)
			}
		}
	}
}

func (n *network) elsewhere(p engine.Path) string {
	if to := n.any(); to != p && n.r.IntN(4) > 0 {
		return string(to)
	}
	return ""
}

// settleSome receives from a random queue and settles the messages in random ways.
func (n *network) settleSome() {
	p := n.any()
	if n.r.IntN(3) == 0 {
		p = []engine.Path{p.DeadLetter(), p.Transfer()}[n.r.IntN(2)]
	}
	n.links++
	if err := n.ns.Attach(n.now, engine.Link{ID: n.links, Path: p}); err != nil {
		return
	}
	n.must(n.ns.Credit(n.now, n.links, 1+n.r.IntN(3)))
	n.ns.Match(n.now)
	n.ns.Detach(n.now, n.links, engine.DetachedByClient)
	for _, r := range n.rows(p) {
		if !r.Message.Locked() || r.Message.LockedUntil.Passed(n.now) {
			continue
		}
		o := []engine.Outcome{engine.Complete, engine.Abandon, engine.Defer, engine.DeadLetter, engine.DeadLetter, engine.Release}[n.r.IntN(6)]
		err := n.ns.Settle(n.now, engine.Settlement{Token: r.Message.Token(), Outcome: o})
		switch {
		case err == nil && o == engine.Complete:
			delete(n.there, r.Content.MessageID())
		case err != nil && !errors.Is(err, engine.ErrNotAllowed) && !errors.Is(err, engine.ErrDisabled):
			n.Fatal(err)
		}
	}
}

func (n *network) compare() {
	n.Helper()
	seen := map[string]bool{}
	for _, q := range n.queues() {
		for _, p := range []engine.Path{q, q.DeadLetter(), q.Transfer()} {
			for _, r := range n.rows(p) {
				id := r.Content.MessageID()
				if seen[id] || !n.there[id] {
					n.Fatalf("message %s is in %s, and also elsewhere or completed", id, p)
				}
				if r.Message.Hops > 4 {
					n.Fatalf("message %s was forwarded %d times", id, r.Message.Hops)
				}
				seen[id] = true
			}
		}
	}
	if len(seen) != len(n.there) {
		n.Fatalf("there are %d messages, want %d", len(seen), len(n.there))
	}
}
