package main

import (
	"strings"
	"testing"

	"mayfly/engine"
	"mayfly/web/api"
)

func TestEntitiesCommand(t *testing.T) {
	s := serving(t, Config{Store: "memory:"})
	t.Setenv("MAYFLY_SERVER", s.Dashboard)
	step := func(exit int, in, want, complaint string, args ...string) {
		t.Helper()
		out, said, code := typed(t, in, append([]string{"entities"}, args...)...)
		if code != exit || !strings.Contains(out, want) || !strings.Contains(said, complaint) || complaint == "" && said != "" {
			t.Errorf("%q: got %d %q %q, want %d %q %q", args, code, out, said, exit, want, complaint)
		}
	}
	step(exitOK, "", "There is no such queue, topic or subscription.\n", "")
	step(exitEmpty, "", "", "there is no such queue", "list", "--fail-empty")
	step(exitOK, "", "queue", "", "create", "queue", "orders", "LockDuration=PT30S", "MaxDeliveryCount=3")
	step(exitOK, "", "  MaxDeliveryCount", "", "show", "orders")
	step(exitRefused, "", "", "exists already", "create", "queue", "orders")
	step(exitRefused, "", "", "A queue has no property 'Colour'.", "create", "queue", "x", "Colour=red")
	step(exitUsage, "", "", "a property is written NAME=VALUE", "create", "queue", "x", "Colour")
	step(exitUsage, "", "", "the property A is given twice", "create", "queue", "x", "A=1", "A=2")
	step(exitUsage, "", "", "a queue has no rules", "create", "queue", "x", "--filter", "TRUE")
	step(exitUsage, "", "", "must be one of", "create", "box", "x")
	step(exitOK, "", "topic", "", "create", "topic", "prices")
	step(exitOK, "", "  price > 100; SET dear = TRUE\n", "", "create", "subscription", "prices/Subscriptions/dear", "--filter", "price > 100", "--action", "SET dear = TRUE")
	step(exitOK, "", `"kind":"subscription"`, "", "create", "subscription", "prices/Subscriptions/all", "AutoDeleteOnIdle=PT10M", "--json")
	step(exitNotFound, "", "", "could not be found", "show", "nowhere")

	step(exitOK, "", "LockDuration                         PT1M", "", "update", "orders", "LockDuration=")
	step(exitRefused, "", "", "lock time exceeds", "update", "orders", "LockDuration=PT9H")
	for range 3 {
		if _, said, code := typed(t, "", "send", "orders", "x"); code != exitOK {
			t.Fatal(said)
		}
	}
	if _, said, code := typed(t, "", "send", "prices", "x", "-p", "price=101"); code != exitOK {
		t.Fatal(said)
	}
	if _, said, code := typed(t, "", "receive", "orders", "--then", "dead-letter"); code != exitOK {
		t.Fatal(said)
	}
	step(exitOK, "", "Nothing is changed. 0 messages would run out at once", "", "update", "orders", "DefaultMessageTimeToLive=PT1H", "--dry-run")
	if got := entity(t, s, "orders").Properties["DefaultMessageTimeToLive"]; got == "PT1H" {
		t.Error("a dry run has changed it")
	}
	for words, want := range map[string]string{
		"":                      "orders prices prices/Subscriptions/all prices/Subscriptions/dear",
		"has:dlq":               "orders",
		"has:messages":          "orders prices prices/Subscriptions/all prices/Subscriptions/dear",
		"kind:subscription":     "prices/Subscriptions/all prices/Subscriptions/dear",
		"subscription":          "prices/Subscriptions/all prices/Subscriptions/dear",
		"PRICE kind:topic":      "prices",
		"dlq:>1":                "",
		"dlq:1":                 "orders",
		"-- -has:dlq -dear":     "prices prices/Subscriptions/all",
		"temp:<=10m":            "prices/Subscriptions/all",
		"temp:<10s":             "",
		"idle:<1h has:dlq":      "orders",
		"status:disabled":       "",
		"temp:":                 "prices/Subscriptions/all",
		"dear has:active":       "prices/Subscriptions/dear",
		"has:scheduled":         "",
		"kind:queue has:locked": "",
		"has:deferred dear":     "",
	} {
		out, said, code := typed(t, "", append([]string{"entities", "list", "--names"}, strings.Fields(words)...)...)
		if got := strings.Join(strings.Fields(out), " "); code != exitOK || got != want {
			t.Errorf("%q: got %d %q %q, want %q", words, code, got, said, want)
		}
	}
	step(exitUsage, "", "", `There is no has "luck"; there are messages`, "has:luck")
	step(exitUsage, "", "", `There is no key "colour"`, "list", "colour:red")
	out, _, _ := typed(t, "", "entities", "--json")
	if strings.Count(out, "\n") != 4 || !strings.HasPrefix(out, `{"kind":"queue","path":"orders"`) {
		t.Errorf("got %q", out)
	}
	step(exitOK, "", "orders                     queue         2       0       0         0          1     114    never", "")

	step(exitFailed, "price\n", "", "This deletes the topic prices with 2 subscriptions and 2 messages for good.\nType prices to go on: mayfly: nothing was done", "delete", "prices")
	step(exitOK, "prices\n", "Deleted the topic prices with 2 subscriptions and 2 messages.\n", "Type prices", "delete", "prices")
	step(exitOK, "", "Deleted the queue orders with 3 messages.\n", "", "delete", "ORDERS", "--yes")
	step(exitNotFound, "", "", "could not be found", "delete", "orders", "--yes")
}

// What a rule takes is told in the words it was written in.
func TestRuleText(t *testing.T) {
	dear := "price > 1"
	for _, tc := range []struct {
		rule api.Rule
		want string
	}{
		{api.Rule{Name: engine.DefaultRule}, "everything"},
		{api.Rule{Kind: "False"}, "nothing"},
		{api.Rule{Filter: &dear, Action: "SET a = 1"}, "price > 1; SET a = 1"},
		{api.Rule{Correlation: []byte(`{"Label":"x"}`)}, `{"Label":"x"}`},
		{api.Rule{Filter: &dear, Error: "it is torn"}, "nothing: it is torn"},
	} {
		if got := ruleText(tc.rule); got != tc.want {
			t.Errorf("%+v: got %q, want %q", tc.rule, got, tc.want)
		}
	}
}
