package engine_test

import (
	"fmt"
	"testing"

	"mayfly/engine"
)

// BenchmarkTopic sends to topics with different numbers of subscriptions, and to one where
// exactly one of many correlation or SQL rules matches. The cost of a send depends on the
// number of copies, and hardly on the number of correlation rules.
func BenchmarkTopic(b *testing.B) {
	for _, n := range []int{1, 100, 2000} {
		b.Run(fmt.Sprintf("subscriptions-%d", n), func(b *testing.B) {
			benchTopic(b, n, 0, func(int) engine.Rule { return engine.Rule{Name: engine.DefaultRule} })
		})
	}
	for _, n := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprintf("FILT-18-correlation-%d", n), func(b *testing.B) {
			benchTopic(b, 100, n, func(i int) engine.Rule {
				return engine.Rule{Name: fmt.Sprint("r", i), Filter: conditions(fmt.Sprintf(`{"Label":"l","Properties":{"customer":"c%d"}}`, i))}
			})
		})
	}
	for _, n := range []int{10, 100, 2000} {
		b.Run(fmt.Sprintf("sql-%d", n), func(b *testing.B) {
			benchTopic(b, 10, n, func(i int) engine.Rule {
				return engine.Rule{Name: fmt.Sprint("r", i), Filter: sql(fmt.Sprintf("customer = 'c%d' AND n > 2", i))}
			})
		})
	}
}

// benchTopic creates a topic with this many rules, distributed over its subscriptions, or one
// per subscription if rules is zero.
func benchTopic(b *testing.B, subs, rules int, rule func(i int) engine.Rule) {
	b.Helper()
	keys := engine.NewKeys(1)
	ns := engine.New(engine.Options{Limits: engine.DefaultLimits(), Keys: keys, Nonce: func() uint64 { return 1 }})
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	_, err := ns.Create(1, engine.Topic, "t", engine.Config{MaxSizeInMegabytes: 1 << 20}, "")
	must(err)
	each := max(1, rules/subs)
	for s := range subs {
		var own []engine.Rule
		for i := range each {
			own = append(own, rule(s*each+i))
		}
		_, err := ns.CreateWithRules(1, engine.Subscription, engine.SubscriptionPath("t", fmt.Sprint("s", s)), engine.Config{DefaultMessageTimeToLive: second}, own, "")
		must(err)
	}
	now := engine.Instant(10)
	settle := func() {
		for more := true; more; {
			more = ns.Sweep(now, 1<<20)
		}
		ns.Flush(now, true)
		ns.Seal(true)
	}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		m := engine.Content{MessageID: "m", Subject: "l", Properties: props("customer", "c7", "n", 3)}
		s, err := engine.Submit(m, nil, 0, keys.Next(), ns.Limits())
		must(err)
		_, err = ns.Send(now, "t", []engine.Submission{s}, "")
		must(err)
		if n++; n%64 == 0 { // messages expire
			now += 2000
			settle()
		}
	}
}
