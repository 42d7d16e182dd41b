package scene_test

import (
	"os"
	"regexp"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine/scene"
)

// shown says which scene shows a scenario of the specification (§§4.4, 8, 10).
var shown = map[string]string{
	"TTL-S1": "deadline", "TTL-S2": "clean-runs", "TTL-S3": "slow-backend", "TTL-S4": "fast-backend", "TTL-S5": "scheduled",
	"DEF-S1": "defer", "DEF-S2": "payment-first", "DEF-S3": "rendezvous", "DEF-S4": "missing-resource", "DEF-S5": "database-down",
	"IDLE-S1": "test-entities", "IDLE-S2": "reply-queues",
}

// The scenarios above are all that the scenes are to show, and each says so.
func TestScenarios(t *testing.T) {
	lib, err := scene.Open()
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

// What else the scenes are to show has no id there; each is found by its name, and by what
// it does.
func TestScenesWithoutID(t *testing.T) {
	lib, err := scene.Open()
	if err != nil {
		t.Fatal(err)
	}
	does := func(of func(scene.Step) bool) func(*scene.Scene) bool {
		return func(s *scene.Scene) bool { return slices.ContainsFunc(s.Steps, of) }
	}
	action := func(of func(scene.Action) bool) func(*scene.Scene) bool {
		return does(func(step scene.Step) bool { return slices.ContainsFunc(step.Do, of) })
	}
	for id, so := range map[string]func(*scene.Scene) bool{
		"poison": does(func(step scene.Step) bool { // no receiver survives the message
			return slices.ContainsFunc(step.Then, func(e scene.Expect) bool { return e.Reason == "MaxDeliveryCountExceeded" })
		}),
		"scheduled": action(func(a scene.Action) bool { // a burst
			return a.Send != nil && a.Send.Delay != "" && a.Send.Every == "" && a.Send.Times > 1
		}),
		"fan-out": func(s *scene.Scene) bool { // filtered
			return slices.ContainsFunc(s.Entities, func(e scene.Entity) bool { return len(e.Rules) > 0 && e.Rules[0].SQL != "" })
		},
		"reply-queues": action(func(a scene.Action) bool { // temporary
			return a.Create != nil && a.Create.Queue != "" && a.Create.With["AutoDeleteOnIdle"] != nil
		}),
	} {
		if s, err := lib.Find(id); err != nil || !so(s) {
			t.Errorf("no scene %s shows that: %v", id, err)
		}
	}
}

// Every scene is played to its end, and all is as it says: at once, and as it is
// watched. The real time of that is what somebody waits for.
func TestScenes(t *testing.T) {
	lib, err := scene.Open()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range lib.List() {
		for name, tempo := range map[string]scene.Tempo{"at once": scene.AtOnce, "gliding": scene.Gliding} {
			t.Run(s.ID+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := open(t, scene.Options{})
					p := w.begin(s.ID)
					began := p.State().Clock
					for n, step := range s.Steps {
						hour := time.Now()
						w.must(p.Next(t.Context(), n, tempo, "me"))
						for p.State().Playing {
							time.Sleep(100 * time.Millisecond)
						}
						is := p.State()
						if is.Trouble != nil || is.Done != n+1 || len(is.Findings) != len(step.Then) {
							t.Fatalf("step %d: %+v", n+1, is)
						}
						for _, f := range is.Findings {
							if !f.OK {
								t.Errorf("step %d: %s %s", n+1, f.Text, f.Is)
							}
						}
						if took := time.Since(hour); tempo == scene.AtOnce && took > 0 || took > 10*time.Second {
							t.Errorf("step %d took %v", n+1, took)
						}
						if is.Pace.Rate != 0 {
							t.Errorf("after step %d the clock runs: %+v", n+1, is.Pace)
						}
						if len(step.Then) == 0 {
							t.Errorf("step %d says nothing that is so", n+1)
						}
					}
					if is := p.State(); !is.Over() || is.Clock < began {
						t.Errorf("in the end: %+v", is)
					}
				})
			})
		}
	}
}

// What a scene says it shows are ids of the specification.
func TestShowsAreRules(t *testing.T) {
	lib, err := scene.Open()
	if err != nil {
		t.Fatal(err)
	}
	form := regexp.MustCompile(`^[A-Z]+-S?\d+$`)
	for _, s := range lib.List() {
		for _, id := range s.Shows {
			if !form.MatchString(id) {
				t.Errorf("%s shows %q, which is no rule", s.ID, id)
			}
		}
	}
}

// The scene that the README has is one.
func TestScenesOfTheReadme(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)```yaml\n(title:.*?)```").FindAllSubmatch(readme, -1)
	for _, f := range found {
		synctest.Test(t, func(t *testing.T) {
			w := open(t, scene.Options{})
			p := w.add(string(f[1]))
			w.must(p.Next(t.Context(), 0, scene.AtOnce, "me"))
			if is := p.State(); len(is.Findings) != 1 || !is.Findings[0].OK {
				t.Errorf("%+v", is.Findings)
			}
		})
	}
	if len(found) != 1 {
		t.Fatalf("there are %d", len(found))
	}
	words := regexp.MustCompile("(?s)```yaml\n(languages:.*?)```").FindSubmatch(readme)
	if words == nil {
		t.Fatal("it is in no other language")
	}
	if s, err := scene.Parse("x", slices.Concat(found[0][1], words[1])); err != nil || s.In("cs").Title != "Lhůta" {
		t.Errorf("in Czech: %v", err)
	}
}
