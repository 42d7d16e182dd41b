package demo_test

import (
	"os"
	"regexp"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine/demo"
)

// shown maps the scenarios of the specification (§§4.4, 8, 10) to the scenes that show them.
var shown = map[string]string{
	"TTL-S1": "deadline", "TTL-S2": "clean-runs", "TTL-S3": "slow-backend", "TTL-S4": "fast-backend", "TTL-S5": "scheduled",
	"DEF-S1": "defer", "DEF-S2": "payment-first", "DEF-S3": "rendezvous", "DEF-S4": "missing-resource", "DEF-S5": "database-down",
	"IDLE-S1": "test-entities", "IDLE-S2": "reply-queues",
}

// TestScenarios checks that the scenes show exactly the scenarios above, and that each scene
// names its own.
func TestScenarios(t *testing.T) {
	lib, err := demo.Open()
	if err != nil {
		t.Fatal(err)
	}
	scenario := regexp.MustCompile(`^[A-Z]+-S\d+$`)
	for _, s := range lib.List() {
		for _, id := range s.Shows {
			if scenario.MatchString(id) && shown[id] != s.ID {
				t.Errorf("%s shows %s, which is not in the table", s.ID, id)
			}
		}
	}
	for id, in := range shown {
		s, err := lib.Find(in)
		if err != nil || !slices.Contains(s.Shows, id) {
			t.Errorf("no scene %s shows %s: %v", in, id, err)
		}
	}
}

// Scenes that show other things have no scenario id. Each is found by its name, and recognized
// by its contents.
func TestScenesWithoutID(t *testing.T) {
	lib, err := demo.Open()
	if err != nil {
		t.Fatal(err)
	}
	does := func(of func(demo.Step) bool) func(*demo.Scene) bool {
		return func(s *demo.Scene) bool { return slices.ContainsFunc(s.Steps, of) }
	}
	action := func(of func(demo.Action) bool) func(*demo.Scene) bool {
		return does(func(step demo.Step) bool { return slices.ContainsFunc(step.Actions, of) })
	}
	for id, so := range map[string]func(*demo.Scene) bool{
		"poison": does(func(step demo.Step) bool { // all receivers fail on the message
			return slices.ContainsFunc(step.Expectations, func(e demo.Expectation) bool { return e.Reason == "MaxDeliveryCountExceeded" })
		}),
		"scheduled": action(func(a demo.Action) bool { // a burst of sends
			return a.Send != nil && a.Send.Delay != "" && a.Send.Every == "" && a.Send.Repeat > 1
		}),
		"fan-out": func(s *demo.Scene) bool { // a filtered subscription
			return slices.ContainsFunc(s.Entities, func(e demo.Entity) bool { return len(e.Rules) > 0 && e.Rules[0].SQL != "" })
		},
		"reply-queues": action(func(a demo.Action) bool { // a temporary queue
			return a.Create != nil && a.Create.Queue != "" && a.Create.Properties["AutoDeleteOnIdle"] != nil
		}),
	} {
		if s, err := lib.Find(id); err != nil || !so(s) {
			t.Errorf("no scene %s shows that: %v", id, err)
		}
	}
}

// Every scene is played to its end, and its expectations hold, both at once and animated. The
// real time of an animated step is what viewers wait.
func TestScenes(t *testing.T) {
	lib, err := demo.Open()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range lib.List() {
		for name, speed := range map[string]demo.Speed{"at once": demo.Instant, "animated": demo.Animated} {
			t.Run(s.ID+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := open(t, demo.Options{})
					p := w.begin(s.ID)
					began := p.State().Clock
					for n, step := range s.Steps {
						hour := time.Now()
						w.must(p.NextStep(t.Context(), n, speed, "me"))
						for p.State().Playing {
							time.Sleep(100 * time.Millisecond)
						}
						is := p.State()
						if is.Trouble != nil || is.Done != n+1 || len(is.Results) != len(step.Expectations) {
							t.Fatalf("step %d: %+v", n+1, is)
						}
						for _, f := range is.Results {
							if !f.OK {
								t.Errorf("step %d: %s %s", n+1, f.Text, f.Actual)
							}
						}
						if took := time.Since(hour); speed == demo.Instant && took > 0 || took > 10*time.Second {
							t.Errorf("step %d took %v", n+1, took)
						}
						if is.ClockState.Rate != 0 {
							t.Errorf("the clock still runs after step %d: %+v", n+1, is.ClockState)
						}
						if len(step.Expectations) == 0 {
							t.Errorf("step %d has no expectations", n+1)
						}
					}
					if is := p.State(); !is.Ended() || is.Clock < began {
						t.Errorf("in the end: %+v", is)
					}
				})
			})
		}
	}
}

// Every id that a scene lists under "shows" has the form of a rule's id.
func TestShowsAreRules(t *testing.T) {
	lib, err := demo.Open()
	if err != nil {
		t.Fatal(err)
	}
	form := regexp.MustCompile(`^[A-Z]+-S?\d+$`)
	for _, s := range lib.List() {
		for _, id := range s.Shows {
			if !form.MatchString(id) {
				t.Errorf("%s shows %q, which is not the id of a rule", s.ID, id)
			}
		}
	}
}

// The scene in the documentation is valid.
func TestScenesOfTheDocumentation(t *testing.T) {
	text, err := os.ReadFile("write-a-scene.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)```yaml\n(title:.*?)```").FindAllSubmatch(text, -1)
	for _, f := range found {
		synctest.Test(t, func(t *testing.T) {
			w := open(t, demo.Options{})
			p := w.add(string(f[1]))
			w.must(p.NextStep(t.Context(), 0, demo.Instant, "me"))
			if is := p.State(); len(is.Results) != 1 || !is.Results[0].OK {
				t.Errorf("%+v", is.Results)
			}
		})
	}
	if len(found) != 1 {
		t.Fatalf("there are %d", len(found))
	}
	words := regexp.MustCompile("(?s)```yaml\n(languages:.*?)```").FindSubmatch(text)
	if words == nil {
		t.Fatal("the scene has no translation")
	}
	if s, err := demo.Parse("x", slices.Concat(found[0][1], words[1])); err != nil || s.InLanguage("cs").Title != "Lhůta" {
		t.Errorf("in Czech: %v", err)
	}
}
