package topology_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/topology"
)

func profile(t *testing.T, name string) engine.Limits {
	t.Helper()
	l, err := engine.Profile(name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// loading reads a file under limits and applies it to ns. problems has one problem per element.
func loading(t *testing.T, ns *engine.Namespace, l engine.Limits, file string) (done, problems []string) {
	t.Helper()
	top, err := topology.Read(strings.NewReader(file), topology.Options{Limits: &l})
	var steps []topology.Step
	if err == nil {
		steps, err = topology.Steps(ns.States(0), top)
	}
	if list, ok := errors.AsType[topology.Problems](err); ok {
		for _, p := range list.First {
			problems = append(problems, p.String())
		}
		return nil, problems
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range steps {
		if err := apply(ns, s); err != nil {
			t.Fatalf("%v %s: %v", s.Action, s.Path, err)
		}
	}
	return words(steps), nil
}

func memberPath(l engine.Limits) *engine.Namespace {
	nonce := uint64(0)
	return engine.New(engine.Options{Limits: l, Keys: engine.NewKeys(1), Nonce: func() uint64 { nonce++; return nonce }})
}

// EMU-8: a file of the emulator's form can be loaded in every tier that has topics. Its values
// apply, and for missing ones the defaults of the profile.
func TestSampleInEveryProfile(t *testing.T) {
	sample, err := os.ReadFile("testdata/Config.json")
	if err != nil {
		t.Fatal(err)
	}
	const silent = "prices/Subscriptions/everything"
	stated := map[engine.Path]map[string]string{
		"orders.in":                       {"DefaultMessageTimeToLive": "PT1H", "MaxDeliveryCount": "3", "DuplicateDetectionHistoryTimeWindow": "PT20S", "LockDuration": "PT1M"},
		"prices":                          {"DefaultMessageTimeToLive": "PT1H", "DuplicateDetectionHistoryTimeWindow": "PT5S"},
		"prices/Subscriptions/by.system":  {"DefaultMessageTimeToLive": "PT5M", "LockDuration": "PT5S", "MaxDeliveryCount": "10"},
		"prices/Subscriptions/everything": {"LockDuration": "PT1M", "AutoDeleteOnIdle": engine.MaxDurationText},
	}
	for name, left := range map[string]map[engine.Path]map[string]string{
		"standard": {silent: {"DefaultMessageTimeToLive": engine.MaxDurationText, "MaxDeliveryCount": "10"}, "prices": {"MaxSizeInMegabytes": "1024"}},
		"premium":  {silent: {"DefaultMessageTimeToLive": engine.MaxDurationText, "MaxDeliveryCount": "10"}, "prices": {"MaxSizeInMegabytes": "1024"}},
		"emulator": {silent: {"DefaultMessageTimeToLive": "PT1H", "MaxDeliveryCount": "3"}, "prices": {"MaxSizeInMegabytes": "100"}},
	} {
		l := profile(t, name)
		ns := memberPath(l)
		if done, problems := loading(t, ns, l, string(sample)); len(done) != 6 || problems != nil {
			t.Errorf("%s: did %q, found %q", name, done, problems)
		}
		for _, want := range []map[engine.Path]map[string]string{stated, left} {
			for path, properties := range want {
				s, err := ns.State(path)
				if err != nil {
					t.Fatal(err)
				}
				for property, text := range properties {
					p, _ := engine.LookupProperty(s.Kind, property)
					if got := p.Text(s.Config); got != text {
						t.Errorf("%s: %s of %s is %s; want %s", name, property, path, got, text)
					}
				}
			}
		}
		if done, problems := loading(t, ns, l, string(sample)); len(done) != 0 || problems != nil {
			t.Errorf("%s, a second time: did %q, found %q", name, done, problems)
		}
	}
}

// A feature that a tier lacks is reported for every entity that needs it, and nothing is done.
func TestSampleInBasic(t *testing.T) {
	sample, err := os.ReadFile("testdata/Config.json")
	if err != nil {
		t.Fatal(err)
	}
	l := profile(t, "basic")
	const top, why = "UserConfig.Namespaces[0].Topics[0]", " because the namespace 'sbemulatorns' is using 'Basic' tier."
	_, problems := loading(t, memberPath(l), l, string(sample))
	if d := cmp.Diff([]string{
		top + ": Cannot operate on type Topic" + why,
		top + ".Subscriptions[0]: Cannot operate on type Subscription" + why,
		top + ".Subscriptions[1]: Cannot operate on type Subscription" + why,
		top + ".Subscriptions[2]: Cannot operate on type Subscription" + why,
		top + ".Subscriptions[3]: Cannot operate on type Subscription" + why,
	}, problems); d != "" {
		t.Error(d)
	}
	const q = "UserConfig.Namespaces[0].Queues[0].Properties."
	_, problems = loading(t, memberPath(l), l, queue(`"RequiresSession":true,"AutoDeleteOnIdle":"PT5M"`))
	if len(problems) != 2 || !strings.HasPrefix(problems[0], q+"AutoDeleteOnIdle: The property 'AutoDeleteOnIdle' cannot be set when creating a Queue because") ||
		!strings.HasPrefix(problems[1], q+"RequiresSession: ") {
		t.Errorf("found %q", problems)
	}
	// An entity keeps the features that it has.
	old := memberPath(engine.DefaultLimits())
	if _, err := old.Create(now, engine.Queue, "q", engine.Config{RequiresSession: true, AutoDeleteOnIdle: 5 * time.Minute}, ""); err != nil {
		t.Fatal(err)
	}
	if _, problems = loading(t, old, l, queue(`"RequiresSession":true,"AutoDeleteOnIdle":"PT5M","UserMetadata":"x"`)); problems != nil {
		t.Errorf("found %q", problems)
	}
	if _, problems = loading(t, old, l, queue(`"RequiresSession":true,"AutoDeleteOnIdle":"PT6M"`)); len(problems) != 1 || !strings.HasPrefix(problems[0], q+"AutoDeleteOnIdle: The property 'AutoDeleteOnIdle' cannot be changed because") {
		t.Errorf("found %q", problems)
	}
	// The emulator's queues need no feature that basic lacks.
	ns := memberPath(l)
	done, problems := loading(t, ns, l, queue(`"DefaultMessageTimeToLive":"PT1H","DuplicateDetectionHistoryTimeWindow":"PT20S","ForwardTo":"","RequiresSession":false`))
	if len(done) != 1 || problems != nil {
		t.Errorf("did %q, found %q", done, problems)
	}
}

// In the emulator's own profile only the emulator's ranges apply.
func TestEmulatorsRangesInItsProfile(t *testing.T) {
	l := profile(t, "emulator")
	for file, want := range map[string]string{
		queue(`"DefaultMessageTimeToLive":"PT1H0.001S"`):                                                        "'DefaultMessageTimeToLive' must be between 00:05:00 and 01:00:00",
		queue(`"MaxDeliveryCount":11`):                                                                          "between 1 and 10",
		queue(`"DuplicateDetectionHistoryTimeWindow":"PT4.999S"`):                                               "between PT5S and PT5M",
		in(`"Queues":[` + strings.Repeat(`{"Name":"q"},`, 50) + `{"Name":"q"}]`):                                "The file has 51 queues and topics; the maximum is 50.",
		in(`"Topics":[{"Name":"t","Subscriptions":[` + strings.Repeat(`{"Name":"s"},`, 50) + `{"Name":"s"}]}]`): "The topic has 51 subscriptions; the maximum is 50.",
	} {
		if _, problems := loading(t, memberPath(l), l, file); !strings.Contains(strings.Join(problems, "\n"), want) {
			t.Errorf("found %q; want %s", problems, want)
		}
	}
	// In other profiles they are accepted in addition to narrower ranges.
	few := engine.DefaultLimits()
	few.MaxDeliveries = 2
	if done, problems := loading(t, memberPath(few), few, queue(`"MaxDeliveryCount":10`)); len(done) != 1 {
		t.Errorf("found %q", problems)
	}
}

// A size that the tier does not offer is refused for a new entity, and accepted for one that
// has it.
func TestSizesOfBefore(t *testing.T) {
	standard := profile(t, "standard")
	const sized = `"MaxSizeInMegabytes":100,"MaxMessageSizeInKilobytes":4096`
	ns := memberPath(standard)
	_, problems := loading(t, ns, standard, queue(sized))
	if len(problems) != 2 || !strings.Contains(problems[0], "Properties.MaxSizeInMegabytes: The value for 'MaxSizeInMegabytes' must be between 1024 and 5120.") ||
		!strings.Contains(problems[1], "Properties.MaxMessageSizeInKilobytes: The property 'MaxMessageSizeInKilobytes' cannot be set because the namespace 'default' is using 'Standard' tier") {
		t.Errorf("found %q", problems)
	}
	if _, err := ns.Create(now, engine.Queue, "q", engine.Config{MaxSizeInMegabytes: 100, MaxMessageSizeInKilobytes: 4096}, ""); err != nil {
		t.Fatal(err)
	}
	if done, problems := loading(t, ns, standard, queue(sized+`,"UserMetadata":"x"`)); len(done) != 1 || problems != nil {
		t.Errorf("did %q, found %q", done, problems)
	}
	if _, problems := loading(t, ns, standard, queue(strings.Replace(sized, "4096", "4097", 1))); len(problems) != 1 {
		t.Errorf("found %q", problems)
	}
	premium := profile(t, "premium")
	if done, problems := loading(t, memberPath(premium), premium, queue(`"MaxSizeInMegabytes":81920,"MaxMessageSizeInKilobytes":102400`)); len(done) != 1 {
		t.Errorf("found %q", problems)
	}
}

// An invalid expression is reported before anything is done (FILT-28, ACT-4), and so are more
// filters than a topic may have.
func TestExpressionsAreRead(t *testing.T) {
	const at = "UserConfig.Namespaces[0].Topics[0].Subscriptions[0].Rules[0].Properties."
	for file, want := range map[string]string{
		rule(`"FilterType":"Sql","SqlFilter":{"SqlExpression":"a = "}`):                                         at + "SqlFilter.SqlExpression: ",
		rule(`"FilterType":"True","Action":{"SqlExpression":"SET"}`):                                            at + "Action.SqlExpression: ",
		rule(`"FilterType":"True","Action":{"SqlExpression":"` + strings.Repeat("SET a = 1;", 33) + `"}`):       at + "Action.SqlExpression: ",
		rule(`"FilterType":"Sql","SqlFilter":{"SqlExpression":"a ="},"Action":{"SqlExpression":"GET"}`):         at + "SqlFilter.SqlExpression: |" + at + "Action.SqlExpression: ",
		rule(`"FilterType":"Sql","SqlFilter":{"SqlExpression":"a = 1"},"Action":{"SqlExpression":"SET a = 1"}`): "",
		rule(`"FilterType":"Correlation","CorrelationFilter":{"Properties":{"a":1}}`):                           "",
	} {
		_, problems := loading(t, empty(), engine.DefaultLimits(), file)
		wanted := strings.Split(want, "|")
		if want == "" {
			wanted = nil
		}
		if len(problems) != len(wanted) {
			t.Fatalf("%s: found %q", file, problems)
		}
		for i, p := range problems {
			if !strings.HasPrefix(p, wanted[i]) || len(p) == len(wanted[i]) {
				t.Errorf("%s: found %q", file, problems)
			}
		}
	}
	l := engine.DefaultLimits()
	l.SQLFiltersPerTopic = 1
	two := in(`"Topics":[{"Name":"t","Subscriptions":[{"Name":"s","Rules":[
		{"Name":"a","Properties":{"FilterType":"Sql","SqlFilter":{"SqlExpression":"a = 1"}}},
		{"Name":"b","Properties":{"FilterType":"Sql","SqlFilter":{"SqlExpression":"b = 1"}}}]}]}]`)
	if _, problems := loading(t, memberPath(l), l, two); len(problems) != 1 || !strings.HasSuffix(problems[0], "The topic has 2 SQL filters; the maximum is 1.") {
		t.Errorf("found %q", problems)
	}
}
