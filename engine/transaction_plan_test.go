package engine

import (
	"fmt"
	"testing"
)

// The rules' results for a transaction's messages are evaluated before its commit. The commit
// uses each message's results unless the rules have changed since.
func TestCommitTakesPlans(t *testing.T) {
	const now = Instant(1_000_000)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	const s = Path("t/Subscriptions/s")
	rule := func(text string) Rule { return Rule{Name: "r", Filter: Filter{Kind: SQLFilter, Text: text}} }
	for _, changed := range []bool{false, true} {
		t.Run(fmt.Sprintf("changed %t", changed), func(t *testing.T) {
			nonce := uint64(0)
			ns := New(Options{Limits: DefaultLimits(), Keys: NewKeys(1), Nonce: func() uint64 { nonce++; return nonce }})
			for _, p := range []Path{"q", "by"} {
				_, err := ns.Create(now, Queue, p, Config{}, "")
				must(err)
			}
			_, err := ns.Create(now, Topic, "t", Config{}, "")
			must(err)
			_, err = ns.CreateWithRules(now, Subscription, s, Config{}, []Rule{rule("sys.MessageId LIKE 'm%'")}, "")
			must(err)
			submit := func(ids ...string) (batch []Submission) {
				for _, id := range ids {
					m, err := Submit(Content{MessageID: id}, nil, 0, ns.keys.Next(), ns.limits)
					must(err)
					batch = append(batch, m)
				}
				return batch
			}
			id, err := ns.BeginTransaction(now, "")
			must(err)
			must(ns.SendInTx(now, id, "q", submit("m0")))
			if ask := ns.UnplannedMessages(id); ask != nil {
				t.Fatalf("%d messages would be planned without need", len(ask))
			}
			must(ns.SendInTx(now, id, "t", submit("m1", "n2")))
			must(ns.SendViaInTx(now, id, "by", "t", submit("m3")))
			var plans []*Plan
			for _, u := range ns.UnplannedMessages(id) {
				plans = append(plans, u.Plan())
			}
			if len(plans) != 4 || plans[0] != nil || len(plans[1].matches) != 1 || len(plans[2].matches) != 0 || len(plans[3].matches) != 1 {
				t.Fatalf("the plans are %+v", plans)
			}
			plans[1].matches, plans[2].matches = plans[2].matches, plans[1].matches // swapped, so that the test sees which plan is used
			must(ns.SendInTx(now, id, "t", submit("m4")))                           // this message has no plan
			want := []string{"n2", "m3", "m4"}
			if changed {
				must(ns.ReplaceRule(now, s, rule("sys.MessageId LIKE '%2' OR sys.MessageId LIKE '%1'"), ""))
				want = []string{"m1", "n2"}
			}
			_, err = ns.CommitPlanned(now, id, plans)
			must(err)
			var have []string
			for m := range ns.entities[s.Fold()].main.order.from(0) {
				have = append(have, m.packed().MessageID())
			}
			if fmt.Sprint(have) != fmt.Sprint(want) {
				t.Errorf("selected are %v, want %v", have, want)
			}
			must(ns.Check())
			if ns.UnplannedMessages(id) != nil {
				t.Error("an ended transaction has messages to plan")
			}
		})
	}
}
