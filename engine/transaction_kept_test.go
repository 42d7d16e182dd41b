package engine

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"mayfly/engine/value"
)

// Transactions are charged with about as much memory as they use, whatever their operations, so
// that the limit on their memory is effective.
func TestTransactionsKeepWhatTheyCount(t *testing.T) {
	const now, many = Instant(1_000_000), 4000
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	heap := func() int64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	submit := func(ns *Namespace, c Content, body int) []Submission {
		s, err := Submit(c, make([]byte, body), 0, ns.keys.Next(), ns.limits)
		must(err)
		return []Submission{s}
	}
	for name, give := range map[string]func(ns *Namespace, id TxID, token LockToken, i int) error{
		"declared": func(ns *Namespace, _ TxID, _ LockToken, i int) error {
			_, err := ns.BeginTransaction(now, fmt.Sprint("teller of some name ", i))
			return err
		},
		"small messages": func(ns *Namespace, id TxID, _ LockToken, i int) error {
			return ns.SendInTx(now, id, "q", submit(ns, Content{MessageID: fmt.Sprint(i)}, 10))
		},
		"larger messages": func(ns *Namespace, id TxID, _ LockToken, i int) error {
			return ns.SendInTx(now, id, "q", submit(ns, Content{MessageID: fmt.Sprint(i), Subject: strings.Repeat("s", 500)}, 2000))
		},
		"messages that are planned": func(ns *Namespace, id TxID, _ LockToken, i int) error {
			c := Content{MessageID: fmt.Sprint(i)}
			batch := submit(ns, c, 10)
			batch[0].Plan = ns.entities["t"].ruleIndex.set.Plan(c)
			return ns.SendInTx(now, id, "t", batch)
		},
		"completed": func(ns *Namespace, id TxID, token LockToken, _ int) error {
			return ns.SettleInTx(now, id, Settlement{Token: token})
		},
		"dead-lettered with words": func(ns *Namespace, id TxID, token LockToken, i int) error {
			return ns.SettleInTx(now, id, Settlement{
				Token: token, Outcome: DeadLetter, Reason: strings.Repeat(fmt.Sprint(i%10), 500), Description: strings.Repeat("d", 500+i%2),
				Modify: value.Properties{{Name: strings.Repeat("n", 100+i%2), Value: value.OfString(strings.Repeat("v", 1000+i%2))}},
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			nonce, l := uint64(0), DefaultLimits()
			l.TransactionMessages, l.Receives = many, 1
			ns := New(Options{Limits: l, Keys: NewKeys(1), Nonce: func() uint64 { nonce++; return nonce }})
			_, err := ns.Create(now, Queue, "q", Config{}, "")
			must(err)
			_, err = ns.Create(now, Topic, "t", Config{}, "")
			must(err)
			var rules []Rule
			for i := range 50 {
				rules = append(rules, Rule{Name: fmt.Sprint("r", i), Filter: Filter{Kind: SQLFilter, Text: "1 = 1"}})
			}
			_, err = ns.CreateWithRules(now, Subscription, "t/Subscriptions/s", Config{}, rules, "")
			must(err)
			for range many {
				_, err := ns.Send(now, "q", submit(ns, Content{}, 10), "")
				must(err)
			}
			must(ns.Attach(now, Link{ID: 1, Path: "q"}))
			must(ns.Credit(now, 1, many))
			ns.Match(now)
			held := ns.Flush(now, true).Deliveries
			ns.Seal(true)
			id, err := ns.BeginTransaction(now, "")
			must(err)
			ns.Seal(true)
			before, counted := heap(), ns.transactions.usage.memory
			for i, d := range held {
				must(give(ns, id, d.Token(), i))
				ns.Seal(true)
			}
			took, says := heap()-before, ns.transactions.usage.memory-counted
			if says < took*3/4 || says > took*3/2 {
				t.Errorf("%d operations take %d bytes each, but are counted with %d", many, took/many, says/many)
			}
			must(ns.Check())
			runtime.KeepAlive(held)
		})
	}
}
