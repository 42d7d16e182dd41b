package topology_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/topology"
)

const now engine.Instant = 1_800_000_000_000

func empty() *engine.Namespace {
	nonce := uint64(0)
	return engine.New(engine.Options{Limits: engine.DefaultLimits(), Keys: engine.NewKeys(1), Nonce: func() uint64 { nonce++; return nonce }})
}

// apply applies a step to a namespace, as the caller of Steps does with a broker.
func apply(ns *engine.Namespace, s topology.Step) (err error) {
	switch s.Action {
	case topology.Create:
		_, err = ns.CreateWithRules(now, s.Kind, s.Path, s.Config, s.Rules, "file")
	case topology.Update:
		_, err = ns.Update(now, s.Path, s.Config, "file")
	case topology.AddRule:
		err = ns.AddRule(now, s.Path, s.Rule, "file")
	case topology.RemoveRule:
		err = ns.RemoveRule(now, s.Path, s.Rule.Name, "file")
	case topology.ReplaceRule:
		err = ns.ReplaceRule(now, s.Path, s.Rule, "file")
	}
	return err
}

func read(t *testing.T, file string) topology.Topology {
	t.Helper()
	top, err := topology.Read(strings.NewReader(file), topology.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return top
}

// words returns the action and path of each step.
func words(steps []topology.Step) []string {
	out := []string{}
	for _, s := range steps {
		w := s.Action.String() + " " + string(s.Path)
		if s.Rule.Name != "" {
			w += " " + s.Rule.Name
		}
		out = append(out, w)
	}
	return out
}

// load applies a file to ns and returns its steps.
func load(t *testing.T, ns *engine.Namespace, file string) []string {
	t.Helper()
	steps, err := topology.Steps(ns.States(0), read(t, file))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range steps {
		if err := apply(ns, s); err != nil {
			t.Fatalf("%v %s: %v", s.Action, s.Path, err)
		}
	}
	return words(steps)
}

func same(t *testing.T, got []string, want ...string) {
	t.Helper()
	if d := cmp.Diff(append([]string{}, want...), got); d != "" {
		t.Error(d)
	}
}

func makesSample(t *testing.T) {
	file, err := os.ReadFile("testdata/Config.json")
	if err != nil {
		t.Fatal(err)
	}
	ns := empty()
	same(t, load(t, ns, string(file)),
		"create orders.in", "create prices", "create prices/Subscriptions/by.system", "create prices/Subscriptions/by.property",
		"create prices/Subscriptions/everything", "create prices/Subscriptions/by.sql")
	s, err := ns.State("prices/Subscriptions/everything")
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Rules) != 1 || s.Rules[0].Name != engine.DefaultRule || s.Rules[0].Filter.Kind != engine.TrueFilter { // FILT-2
		t.Errorf("its rules are %+v", s.Rules)
	}
	same(t, load(t, ns, string(file))) // a second time there is nothing to do
}

// Entities are created after their destinations. In a cycle, one destination is set last.
func TestStepsForwardOrder(t *testing.T) {
	ns := empty()
	same(t, load(t, ns, in(`"Queues":[
		{"Name":"a","Properties":{"ForwardTo":"B"}},
		{"Name":"b","Properties":{"ForwardTo":"c","ForwardDeadLetteredMessagesTo":"t"}},
		{"Name":"c"}],
		"Topics":[{"Name":"t","Subscriptions":[{"Name":"s","Properties":{"ForwardTo":"z"}}]},{"Name":"z"}]`)),
		"create c", "create t", "create b", "create a", "create z", "create t/Subscriptions/s")

	ns = empty()
	circle := in(`"Queues":[{"Name":"a","Properties":{"ForwardTo":"b"}},{"Name":"b","Properties":{"ForwardTo":"a"}}]`)
	same(t, load(t, ns, circle), "create b", "create a", "update b")
	same(t, load(t, ns, circle))
	same(t, load(t, ns, in(`"Queues":[{"Name":"c","Properties":{"ForwardTo":"a"}}]`)), "create c") // to a destination that exists

	self := in(`"Queues":[{"Name":"e","Properties":{"ForwardTo":"E","ForwardDeadLetteredMessagesTo":"e"}}]`) // PROP-9
	same(t, load(t, ns, self), "create e")
	same(t, load(t, ns, self))

	never := in(`"Queues":[{"Name":"d","Properties":{"ForwardTo":"a","DefaultMessageTimeToLive":"PT1M"}}]`) // TTL-18: the time to live does not apply
	same(t, load(t, ns, never), "create d")
	same(t, load(t, ns, never))
}

// PROP-2: properties that are missing from the file get their defaults again, except those that
// are fixed at creation. Entities that the file does not contain are kept.
func TestStepsUpdate(t *testing.T) {
	ns := empty()
	load(t, ns, in(`"Queues":[{"Name":"Orders","Properties":{"MaxDeliveryCount":3,"RequiresSession":true}},{"Name":"other"}]`))
	same(t, load(t, ns, in(`"Queues":[{"Name":"orders","Properties":{"LockDuration":"PT30S"}}]`)), "update Orders")
	s, err := ns.State("orders")
	if err != nil {
		t.Fatal(err)
	}
	if want := (engine.Config{LockDuration: 30 * time.Second, RequiresSession: true}); !s.Config.Equal(want) {
		t.Errorf("its description is %+v", s.Config)
	}
	if _, err := ns.State("other"); err != nil {
		t.Error(err)
	}
	same(t, load(t, ns, in(`"Queues":[{"Name":"orders","Properties":{"LockDuration":"00:00:30","MaxDeliveryCount":10}}]`))) // the same values in another form
}

// Properties that a file cannot express are kept: authorization rules, partitioning, and the
// spelling of a destination.
func TestStepsKeepSettingsThatAFileCannotHave(t *testing.T) {
	ns := empty()
	was := engine.Config{
		AuthorizationRules: []engine.AccessRule{{Name: "ci", Rights: engine.SendRight, PrimaryKey: "k", CreatedAt: 7}}, EnablePartitioning: true,
		ForwardTo: "other", ForwardToAddress: "sb://host/other",
	}
	load(t, ns, in(`"Queues":[{"Name":"other"}]`))
	for kind, path := range map[engine.EntityKind]engine.Path{engine.Queue: "q", engine.Topic: "t"} {
		c := was
		if kind == engine.Topic {
			c.ForwardTo, c.ForwardToAddress = "", ""
		}
		if _, err := ns.Create(now, kind, path, c, "me"); err != nil {
			t.Fatal(err)
		}
	}
	file := in(`"Queues":[{"Name":"q","Properties":{"MaxDeliveryCount":4,"ForwardTo":"Other"}}],"Topics":[{"Name":"t","Properties":{"RequiresDuplicateDetection":false,"DefaultMessageTimeToLive":"PT1H"}}]`)
	same(t, load(t, ns, file), "update q", "update t")
	for _, s := range ns.States(0) {
		if c := s.Config; s.Path != "other" && (!slices.Equal(c.AuthorizationRules, was.AuthorizationRules) || !c.EnablePartitioning) {
			t.Errorf("%s has %+v", s.Path, c)
		}
		if s.Path == "q" && s.Config.ForwardToAddress != was.ForwardToAddress {
			t.Errorf("it forwards to %q", s.Config.ForwardToAddress)
		}
	}
	same(t, load(t, ns, file))
}

// OPS-9: an entity stays pinned after a start with the same file.
func TestStepsKeepPin(t *testing.T) {
	ns, file := empty(), queue(`"AutoDeleteOnIdle":"PT5M"`)
	load(t, ns, file)
	if err := ns.Pin(now, "q", ""); err != nil {
		t.Fatal(err)
	}
	same(t, load(t, ns, file))
	same(t, load(t, ns, queue(`"AutoDeleteOnIdle":"PT6M"`)), "update q")
}

func sub(rest string) string {
	return in(`"Topics":[{"Name":"t","Subscriptions":[{"Name":"s"` + rest + `}]}]`)
}

func sqlRule(name, expression string) string {
	return `{"Name":"` + name + `","Properties":{"FilterType":"Sql","SqlFilter":{"SqlExpression":"` + expression + `"}}}`
}

func TestStepsRules(t *testing.T) {
	const s = "t/Subscriptions/s"
	ns := empty()
	load(t, ns, sub(""))
	same(t, load(t, ns, sub(`,"Rules":[`+sqlRule("a", "x=1")+`,`+sqlRule("b", "x=2")+`]`)),
		"add rule "+s+" a", "add rule "+s+" b", "remove rule "+s+" $Default")
	same(t, load(t, ns, sub(`,"Rules":[`+sqlRule("A", "x=1")+`,`+sqlRule("b", "x=3")+`,`+sqlRule("c", "1=1")+`]`)),
		"add rule "+s+" c", "replace rule "+s+" b")
	same(t, load(t, ns, sub(""))) // the file has no rules, so they are not changed
	same(t, load(t, ns, sub(`,"Rules":[]`)), "remove rule "+s+" a", "remove rule "+s+" b", "remove rule "+s+" c")
}

// STAT-9: the rules of a disabled subscription are changed while it is enabled.
func TestStepsRulesOfDisabled(t *testing.T) {
	const s = "t/Subscriptions/s"
	disabled, a := `,"Properties":{"Status":"Disabled"}`, `,"Rules":[`+sqlRule("a", "x=1")+`]`
	ns := empty()
	load(t, ns, sub(""))
	same(t, load(t, ns, sub(disabled+a)), "add rule "+s+" a", "remove rule "+s+" $Default", "update "+s)
	_, err := topology.Steps(ns.States(0), read(t, sub(disabled+`,"Rules":[]`)))
	if err == nil || !strings.HasPrefix(err.Error(), "UserConfig.Namespaces[0].Topics[0].Subscriptions[0].Rules: The rules of 't/Subscriptions/s'") {
		t.Errorf("got %v", err)
	}
	same(t, load(t, ns, sub(`,"Rules":[]`)), "update "+s, "remove rule "+s+" a")
}

// TestStepsRefuse tests PROP-1 and other problems that no order of steps can solve: all are
// reported, with their paths.
func TestStepsRefuse(t *testing.T) {
	l := engine.DefaultLimits()
	l.Entities, l.SubscriptionsPerTopic = 5, 1
	const n = "UserConfig.Namespaces[0]."
	for name, tc := range map[string]struct {
		file string
		want []string
	}{
		"PROP-1 sessions":        {in(`"Queues":[{"Name":"Q","Properties":{"RequiresSession":true}}]`), []string{n + "Queues[0].Properties.RequiresSession: The queue 'Q' exists with false, which cannot be changed; the file has true."}},
		"PROP-1 duplicates":      {in(`"Topics":[{"Name":"t","Properties":{"RequiresDuplicateDetection":true}}]`), []string{n + "Topics[0].Properties.RequiresDuplicateDetection: The topic"}},
		"NAME-7":                 {in(`"Topics":[{"Name":"q"}]`), []string{n + "Topics[0].Name: 'q' is a queue in the namespace, but a topic in the file."}},
		"FWD-2":                  {in(`"Queues":[{"Name":"a","Properties":{"ForwardDeadLetteredMessagesTo":"nowhere"}}]`), []string{n + "Queues[0].Properties.ForwardDeadLetteredMessagesTo: The queue or topic 'nowhere' is neither"}},
		"too many entities":      {in(`"Queues":[{"Name":"a"},{"Name":"b"},{"Name":"c"}]`), []string{n + "Queues[2]: The namespace would have more than 5 queues and topics, the maximum."}},
		"too many subscriptions": {in(`"Topics":[{"Name":"T","Subscriptions":[{"Name":"u"}]}]`), []string{n + "Topics[0].Subscriptions[0]: The topic 'T' would have more than 1 subscriptions, the maximum."}},
		"both": {in(`"Queues":[{"Name":"q","Properties":{"RequiresSession":true,"ForwardTo":"x"}}]`), []string{
			n + "Queues[0].Properties.ForwardTo: The queue or topic", n + "Queues[0].Properties.RequiresSession: The queue",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			ns := empty()
			load(t, ns, in(`"Queues":[{"Name":"q"},{"Name":"sessions","Properties":{"RequiresSession":true}}],"Topics":[{"Name":"t","Subscriptions":[{"Name":"s"}]}]`))
			top, err := topology.Read(strings.NewReader(tc.file), topology.Options{Limits: &l})
			if err != nil {
				t.Fatal(err)
			}
			steps, err := topology.Steps(ns.States(0), top)
			problems, ok := errors.AsType[topology.Problems](err)
			if !ok || len(problems.First) != len(tc.want) || steps != nil {
				t.Fatalf("got %v and %v", words(steps), err)
			}
			for i, p := range problems.First {
				if !strings.HasPrefix(p.String(), tc.want[i]) {
					t.Errorf("problem %d is %q", i, p)
				}
			}
		})
	}
}
