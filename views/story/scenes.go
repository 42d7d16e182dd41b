package story

import (
	"time"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/page"
)

func sceneStories() []Story {
	return []Story{
		{Name: "scenes", Page: scenes()},
		{Name: "scenes-full", Page: scenesFull()},
		{Name: "scenes-remove", Page: page.SceneAsk{Shell: scenes().Shell, Name: "Our checkout", To: "/scenes/remove/checkout", All: "/scenes", Text: "/scenes/text/checkout"}},
		{Name: "scenes-new", Page: scenesNew()},
		{Name: "scenes-new-wrong", Page: scenesWrong()},
		{Name: "scenes-stage", Page: onStage(layout.Strip{Step: 2, Of: 6, Say: "The first receiver takes it, and gives it back with an error.", Rate: 10,
			Done: []layout.Finding{{Text: "One attempt has failed."}, {Text: "It waits again.", Is: "It is locked."}}, Marks: []layout.Mark{{Label: "poison", Href: home + "/m/1"}, {Label: "orders", Href: home + "/q/orders"}}})},
		{Name: "scenes-stage-foreign", Page: onStage(layout.Strip{Step: 1, Of: 5, Lang: "cs", Say: "Co vyprší v `orders`, se ztratí.", Done: []layout.Finding{{Text: "V `orders` není nic.", Is: "orders has 1 active, not 0."}}})},
		{Name: "scenes-stage-begins", Page: onStage(layout.Strip{Of: 6, Say: "A message that no receiver survives is set aside."})},
		{Name: "scenes-stage-playing", Page: onStage(layout.Strip{Step: 4, Of: 6, Say: "Thirty seconds later the lock is over.", Playing: true, Rate: 10, Glide: true})},
		{Name: "scenes-stage-trouble", Page: onStage(layout.Strip{Step: 4, Of: 6, Say: "Thirty seconds later the lock is over.", Over: true, Trouble: "The lock supplied is invalid."})},
		{Name: "scenes-stage-over", Page: onStage(layout.Strip{Step: 6, Of: 6, Say: "Somebody reads it, and sends it again.", Over: true, Mended: true, Then: &layout.Sequel{Title: "Mensagens", Lang: "pt-PT", Play: "/scenes/play/scheduled"}})},
	}
}

func scenes() page.Scenes {
	s := namespaceShell("Scenes")
	s.Back, s.Scenes, s.Active = "/scenes", "/scenes", layout.Scenes
	return page.Scenes{
		Shell: s, Stay: 30, Add: "/scenes/new",
		Cards: []page.SceneCard{
			{Title: "Defer and recall", Teaches: "A step that comes too early is deferred.", Play: "/scenes/play/defer", Steps: 4, Minutes: 3, Shows: []string{"DEF-S1"}, Text: "/scenes/text/defer"},
			{Title: "Our checkout", Teaches: "What happens to an order.", Play: "/scenes/play/checkout", Steps: 1, Loaded: true, Text: "/scenes/text/checkout", Remove: "/scenes/remove/checkout"},
		},
	}
}

func scenesFull() page.Scenes {
	m := scenes()
	m.Plays = []page.ScenePlay{{Title: "Defer and recall", Namespace: "defer-c0ffee", Href: "/n/defer-c0ffee/deferred", End: "/scenes/on/defer-c0ffee/leave", Step: 2, Of: 4}}
	m.Unfit = []page.SceneUnfit{
		{ID: "lunch", Faults: []page.SceneFault{{Line: 6, At: "step 1, mark 1", Text: "'mark' names a message or an entity that there is by then, not 'bar'.", Source: "mark: [bar]"}}, Mend: "/scenes/new?kept=lunch", Remove: "/scenes/remove/lunch"},
		{ID: "deadline", Faults: []page.SceneFault{{Text: "There is a scene 'deadline' that came with the program."}}, Mend: "/scenes/new?kept=deadline", Remove: "/scenes/remove/deadline"},
	}
	m.Refused = component.Notice{Tone: component.Critical, Title: "There are 10 temporary namespaces, which is the most there may be.", Detail: "End a scene that is under way, or a temporary namespace, and try again."}
	return m
}

// onStage is a small page of a namespace that a scene is played in.
func onStage(s layout.Strip) page.Scenes {
	m := scenes()
	s.Title, s.To, s.All, s.Now, s.Wall = "A poison message", "/scenes/on/shop", "/scenes", now.Add(3*time.Hour), now
	if s.Over {
		s.Now = now.Add(51 * time.Hour)
	}
	m.Shell.Strip = &s
	m.Shell.Live = shell("", "", "").Live
	m.Shell.Live.Pace = layout.Pace{Turned: true, Rate: s.Rate}
	return m
}

func scenesNew() page.SceneForm {
	return page.SceneForm{Shell: scenes().Shell, All: "/scenes", To: "/scenes/new", Most: "32 KB"}
}

func scenesWrong() page.SceneForm {
	m := scenesNew()
	m.ID, m.Text = "lunch", "title: Lunch\nsteps:\n  - do:\n      - wait: soon\n"
	m.Faults = []page.SceneFault{
		{Text: "'teaches' is a text of 1 to 1000 characters, not 0."},
		{Line: 3, At: "step 1", Text: "'say' is a text of 1 to 1000 characters, not 0.", Source: "- do:"},
		{Line: 4, At: "step 1, do 1", Text: "'wait' is a duration such as 30s.", Source: "- wait: soon"},
	}
	return m
}
