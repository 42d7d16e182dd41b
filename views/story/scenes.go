package story

import (
	"time"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/page/activity"
)

func sceneStories() []Story {
	return []Story{
		{Name: "scenes", Page: scenes()},
		{Name: "scenes-full", Page: scenesFull()},
		{Name: "scenes-remove", Page: activity.ConfirmRemoveScene{Shell: scenes().Shell, Name: "Our checkout", To: "/scenes/remove/checkout", All: "/scenes", Text: "/scenes/text/checkout"}},
		{Name: "scenes-new", Page: scenesNew()},
		{Name: "scenes-new-wrong", Page: scenesWrong()},
		{Name: "scenes-stage", Page: onStage(layout.SceneBar{Step: 2, Of: 6, Caption: "The first receiver takes it, and gives it back with an error.", Rate: 10,
			Checks: []layout.StepCheck{{Text: "One attempt has failed."}, {Text: "It waits again.", Actual: "It is locked."}}, Highlights: []layout.Highlight{{Label: "poison", Href: home + "/m/1"}, {Label: "orders", Href: home + "/q/orders"}}})},
		{Name: "scenes-stage-foreign", Page: onStage(layout.SceneBar{Step: 1, Of: 5, Lang: "cs", Caption: "Co vyprší v `orders`, se ztratí.", Checks: []layout.StepCheck{{Text: "V `orders` není nic.", Actual: "orders has 1 active, not 0."}}})},
		{Name: "scenes-stage-begins", Page: onStage(layout.SceneBar{Of: 6, Caption: "A message that no receiver survives is set aside."})},
		{Name: "scenes-stage-playing", Page: onStage(layout.SceneBar{Step: 4, Of: 6, Caption: "Thirty seconds later the lock is over.", Playing: true, Rate: 10, Animated: true})},
		{Name: "scenes-stage-trouble", Page: onStage(layout.SceneBar{Step: 4, Of: 6, Caption: "Thirty seconds later the lock is over.", Over: true, Trouble: "The lock supplied is invalid."})},
		{Name: "scenes-stage-over", Page: onStage(layout.SceneBar{Step: 6, Of: 6, Caption: "Somebody reads it, and sends it again.", Over: true, Rebuilt: true, Next: &layout.NextScene{Title: "Mensagens", Lang: "pt-PT", Play: "/scenes/play/scheduled"}})},
	}
}

func scenes() activity.Scenes {
	s := namespaceShell("Scenes")
	s.Back, s.Scenes, s.Active = "/scenes", "/scenes", layout.Scenes
	return activity.Scenes{
		Shell: s, Stay: 30, Add: "/scenes/new",
		Cards: []activity.SceneCard{
			{Title: "Defer and recall", Summary: "A step that comes too early is deferred.", Play: "/scenes/play/defer", Steps: 4, Minutes: 3, ScenarioIDs: []string{"DEF-S1"}, Text: "/scenes/text/defer"},
			{Title: "Our checkout", Summary: "What happens to an order.", Play: "/scenes/play/checkout", Steps: 1, Loaded: true, Text: "/scenes/text/checkout", Remove: "/scenes/remove/checkout"},
		},
	}
}

func scenesFull() activity.Scenes {
	m := scenes()
	m.Plays = []activity.ScenePlay{{Title: "Defer and recall", Namespace: "defer-c0ffee", Href: "/n/defer-c0ffee/deferred", End: "/scenes/on/defer-c0ffee/leave", Step: 2, Of: 4}}
	m.Invalid = []activity.InvalidScene{
		{ID: "lunch", Faults: []activity.SceneFault{{Line: 6, At: "step 1, highlight 1", Text: "'highlight' must name a message or an entity from this or an earlier step, not 'bar'.", Source: "highlight: [bar]"}}, RepairURL: "/scenes/new?kept=lunch", Remove: "/scenes/remove/lunch"},
		{ID: "deadline", Faults: []activity.SceneFault{{Text: "The scene 'deadline' is built in. Choose another ID."}}, RepairURL: "/scenes/new?kept=deadline", Remove: "/scenes/remove/deadline"},
	}
	m.Refused = component.Notice{Tone: component.Critical, Title: "There are already 10 temporary namespaces, the maximum. Delete one first.", Detail: "End a scene that is under way, or a temporary namespace, and try again."}
	return m
}

// onStage returns the page of scenes with s as its scene bar.
func onStage(s layout.SceneBar) activity.Scenes {
	m := scenes()
	s.Title, s.URL, s.All, s.Now, s.RealTime = "A poison message", "/scenes/on/shop", "/scenes", now.Add(3*time.Hour), now
	if s.Over {
		s.Now = now.Add(51 * time.Hour)
	}
	m.Shell.Scene = &s
	m.Shell.Live = shell("", "", "").Live
	m.Shell.Live.Pace = layout.Pace{Turned: true, Rate: s.Rate}
	return m
}

func scenesNew() activity.SceneForm {
	return activity.SceneForm{Shell: scenes().Shell, All: "/scenes", To: "/scenes/new", Most: "32 KB"}
}

func scenesWrong() activity.SceneForm {
	m := scenesNew()
	m.ID, m.Text = "lunch", "title: Lunch\nsteps:\n  - actions:\n      - wait: soon\n"
	m.Faults = []activity.SceneFault{
		{Text: "'summary' must be a text of 1 to 1000 characters, not 0."},
		{Line: 3, At: "step 1", Text: "'caption' must be a text of 1 to 1000 characters, not 0.", Source: "- actions:"},
		{Line: 4, At: "step 1, action 1", Text: "'wait' is a duration such as 30s.", Source: "- wait: soon"},
	}
	return m
}
