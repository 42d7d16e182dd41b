// Package scenario runs the scenarios of engine/testdata against a server over AMQP, step
// by step beside the engine, in synctest bubbles where weeks pass at once.
package scenario

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/enginetest"
	"mayfly/storage/memory"
)

// manners are the ways in which every scenario runs, such as settling on links or by $management.
var manners = []manner{
	{name: "links"},
	{name: "management", manage: true, annotate: true, together: true, frame: 512},
	{name: "silent", silent: true, frame: 600},
	{name: "unswept", together: true, lazy: true},
}

// floor is the least number of steps to run over AMQP in each manner.
const floor = 380

// elsewhere are the commands that AMQP does not have, with the reason. The test runs them at the
// broker.
var elsewhere = map[string]string{
	"limit":    "the server's flags",
	"create":   "entities are made over HTTP",
	"update":   "entities are described over HTTP",
	"delete":   "entities are removed over HTTP",
	"counts":   "told over HTTP",
	"entities": "told over HTTP",
	"events":   "told over HTTP",
	"operate":  "an operator's, who comes over HTTP",
	"purge":    "an operator's, who comes over HTTP",
}

func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("../../../engine/testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios found: %v", err)
	}
	used := map[string]int{}
	for _, m := range manners {
		t.Run(m.name, func(t *testing.T) {
			var all enginetest.StepCounts
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				name := strings.TrimSuffix(filepath.Base(file), ".txt")
				story, err := enginetest.Parse(name, string(text))
				if err != nil {
					t.Fatal(err)
				}
				if m.lazy && story.Needs("sweeper") {
					continue
				}
				t.Run(name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { all.Add(tell(t, m, story, used)) })
				})
			}
			through := all.Compared + all.Uncompared
			t.Logf("ran %d steps over AMQP, of which %d did not check all that they show; %d elsewhere; time passed %d times", through, all.Uncompared, all.Operator, all.Waits)
			if through < floor {
				t.Errorf("only %d steps ran over AMQP; want at least %d", through, floor)
			}
		})
	}
	for name, why := range elsewhere {
		if used[name] == 0 {
			t.Errorf("no scenario has %q run elsewhere: %s", name, why)
		}
	}
	t.Logf("elsewhere: %v", used)
}

// tell runs a scenario in one manner beside the engine, and returns how many of its steps ran over
// AMQP.
func tell(t *testing.T, m manner, story *enginetest.Scenario, used map[string]int) enginetest.StepCounts {
	house := enginetest.NewOperator(func(l engine.Limits) (*broker.Broker, error) {
		return broker.Open(t.Context(), func(context.Context) (engine.Store, error) { return new(memory.Store), nil }, broker.Options{Limits: &l, NoSweep: m.lazy})
	})
	d := &executor{
		manner: m, t: t, broker: house.Broker, senders: map[string]*end{}, named: map[string]*receiver{},
		delivered: map[string]*parcel{}, begun: map[string][]byte{},
	}
	x := &enginetest.Comparison{
		Engine: enginetest.NewEngine(), Protocol: d, Wait: d.pass, Visible: plain,
		Operator: func(c enginetest.Command) ([]string, error) {
			if elsewhere[c.Name] == "" {
				return nil, enginetest.ErrUnsupported
			}
			used[c.Name]++
			return house.Do(t.Context(), c)
		},
	}
	x.Engine.NoSweeper = m.lazy
	_, err := story.Run(x, m.lazy)
	if err != nil {
		t.Error(err)
	}
	for _, c := range d.callers {
		if err := c.goodbye(); err != nil && !t.Failed() {
			t.Error(err)
		}
	}
	b, err := house.Broker()
	if err != nil {
		t.Fatal(err)
	}
	if d.server != nil {
		d.server.Close(t.Context())
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	return x.Counts
}

// sized matches the size that the engine counts for a message. Over AMQP it is larger
// than the body's, because there is at least a message-id.
var sized = regexp.MustCompile(`this one has \d+`)

// plain returns a line without the parts that clients cannot see: whether a peeked message is
// locked, and the kind of the error that rolled a transaction back, which is in the description.
func plain(c enginetest.Command, line string) string {
	switch {
	case c.Name == "commit" && strings.HasPrefix(line, "refused: ") && line != "refused: no transaction":
		return rolledBack.Error()
	case c.Name == "peek":
		line = strings.Replace(strings.Replace(line, "; locked", "", 1), "deferred locked", "deferred", 1)
	}
	return sized.ReplaceAllString(line, "this one has so many")
}
