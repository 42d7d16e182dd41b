package e2e

import (
	"strings"
	"testing"

	"mayfly/cmd/mayfly/cli"
	"mayfly/cmd/mayfly/server"
)

func TestEntitiesCommand(t *testing.T) {
	s := Start(t, server.Config{Store: "memory:"})
	t.Setenv("MAYFLY_SERVER", s.Dashboard)
	step := func(exit int, in, want, complaint string, args ...string) {
		t.Helper()
		out, said, code := RunCommand(t, in, append([]string{"entities"}, args...)...)
		if code != exit || !strings.Contains(out, want) || !strings.Contains(said, complaint) || complaint == "" && said != "" {
			t.Errorf("%q: got %d %q %q, want %d %q %q", args, code, out, said, exit, want, complaint)
		}
	}
	step(cli.ExitOK, "", "No queue, topic or subscription was found.\n", "")
	step(cli.ExitEmpty, "", "", "no queue, topic or subscription was found", "list", "--fail-empty")
	step(cli.ExitOK, "", "queue", "", "create", "queue", "orders", "LockDuration=PT30S", "MaxDeliveryCount=3")
	step(cli.ExitOK, "", "  MaxDeliveryCount", "", "show", "orders")
	step(cli.ExitRefused, "", "", "already exists", "create", "queue", "orders")
	step(cli.ExitRefused, "", "", "A queue has no property 'Colour'.", "create", "queue", "x", "Colour=red")
	step(cli.ExitUsage, "", "", "a property must be NAME=VALUE", "create", "queue", "x", "Colour")
	step(cli.ExitUsage, "", "", "the property A is given twice", "create", "queue", "x", "A=1", "A=2")
	step(cli.ExitUsage, "", "", "a queue has no rules", "create", "queue", "x", "--filter", "TRUE")
	step(cli.ExitUsage, "", "", "must be one of", "create", "box", "x")
	step(cli.ExitOK, "", "topic", "", "create", "topic", "prices")
	step(cli.ExitOK, "", "  price > 100; SET dear = TRUE\n", "", "create", "subscription", "prices/Subscriptions/dear", "--filter", "price > 100", "--action", "SET dear = TRUE")
	step(cli.ExitOK, "", `"kind":"subscription"`, "", "create", "subscription", "prices/Subscriptions/all", "AutoDeleteOnIdle=PT10M", "--json")
	step(cli.ExitNotFound, "", "", "could not be found", "show", "nowhere")

	step(cli.ExitOK, "", "LockDuration                         PT1M", "", "update", "orders", "LockDuration=")
	step(cli.ExitRefused, "", "", "lock time exceeds", "update", "orders", "LockDuration=PT9H")
	for range 3 {
		if _, said, code := RunCommand(t, "", "send", "orders", "x"); code != cli.ExitOK {
			t.Fatal(said)
		}
	}
	if _, said, code := RunCommand(t, "", "send", "prices", "x", "-p", "price=101"); code != cli.ExitOK {
		t.Fatal(said)
	}
	if _, said, code := RunCommand(t, "", "receive", "orders", "--then", "dead-letter"); code != cli.ExitOK {
		t.Fatal(said)
	}
	step(cli.ExitOK, "", "Nothing was changed. 0 messages would expire at once", "", "update", "orders", "DefaultMessageTimeToLive=PT1H", "--dry-run")
	if got := Entity(t, s, "orders").Properties["DefaultMessageTimeToLive"]; got == "PT1H" {
		t.Error("the dry run changed the entity")
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
		out, said, code := RunCommand(t, "", append([]string{"entities", "list", "--names"}, strings.Fields(words)...)...)
		if got := strings.Join(strings.Fields(out), " "); code != cli.ExitOK || got != want {
			t.Errorf("%q: got %d %q %q, want %q", words, code, got, said, want)
		}
	}
	step(cli.ExitUsage, "", "", `"luck" is not a value of has. Choose from messages`, "has:luck")
	step(cli.ExitUsage, "", "", `The key "colour" does not exist`, "list", "colour:red")
	out, _, _ := RunCommand(t, "", "entities", "--json")
	if strings.Count(out, "\n") != 4 || !strings.HasPrefix(out, `{"kind":"queue","path":"orders"`) {
		t.Errorf("got %q", out)
	}
	step(cli.ExitOK, "", "orders                     queue         2       0       0         0          1     114    never", "")

	step(cli.ExitFailed, "price\n", "", "This permanently deletes the topic prices with 2 subscriptions and 2 messages.\nType prices to confirm: mayfly: not confirmed, so nothing was changed", "delete", "prices")
	step(cli.ExitOK, "prices\n", "Deleted the topic prices with 2 subscriptions and 2 messages.\n", "Type prices", "delete", "prices")
	step(cli.ExitOK, "", "Deleted the queue orders with 3 messages.\n", "", "delete", "ORDERS", "--yes")
	step(cli.ExitNotFound, "", "", "could not be found", "delete", "orders", "--yes")
}

// TestEntitiesCreateRules checks that a new subscription has all rules of --rule and --correlation,
// with their actions, and that a name that occurs twice is refused.
func TestEntitiesCreateRules(t *testing.T) {
	s := Start(t, server.Config{Store: "memory:"})
	t.Setenv("MAYFLY_SERVER", s.Dashboard)
	step := func(exit int, in, want, complaint string, args ...string) {
		t.Helper()
		out, said, code := RunCommand(t, in, append([]string{"entities"}, args...)...)
		if code != exit || !strings.Contains(out, want) || !strings.Contains(said, complaint) {
			t.Errorf("%q: got %d %q %q, want %d %q %q", args, code, out, said, exit, want, complaint)
		}
	}
	step(cli.ExitOK, "", "topic", "", "create", "topic", "rules")
	step(cli.ExitOK, "", "  price > 100; SET dear = TRUE\n", "", "create", "subscription", "rules/Subscriptions/some", "--rule", "dear=price > 100", "--rule", "none=a = ','", "--correlation", `eu={"Label":"x"}`, "--rule-action", "DEAR=SET dear = TRUE")
	step(cli.ExitOK, "", `{"Label":"x"}`, "", "show", "rules/Subscriptions/some")
	step(cli.ExitUsage, "", "", "the rule a is given twice", "create", "subscription", "rules/Subscriptions/x", "--rule", "a=TRUE", "--rule", "A=FALSE")
	step(cli.ExitUsage, "", "", "the rule a is given twice", "create", "subscription", "rules/Subscriptions/x", "--rule", "a=TRUE", "--correlation", "a={}")
	step(cli.ExitUsage, "", "", "the filter must be JSON", "create", "subscription", "rules/Subscriptions/x", "--correlation", "a=x")
	step(cli.ExitUsage, "", "", "--rule must be NAME=VALUE", "create", "subscription", "rules/Subscriptions/x", "--rule", "TRUE")
	step(cli.ExitUsage, "", "", "a queue has no rules", "create", "queue", "x", "--rule", "a=TRUE")
}
