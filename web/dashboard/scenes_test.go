package dashboard_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/demo"
	"mayfly/engine/namespaces"
	"mayfly/views/layout"
)

const lunch = `title: Lunch & <b>more</b>
summary: What nobody fetches gets cold.
entities:
  - queue: kitchen
steps:
  - caption: Two soups.
    actions:
      - send: {to: kitchen, body: two soups, timeToLive: 1m}
`

// TestSceneIsAdded: a scene is added from a file or from pasted text, and stored; errors have
// their lines, beside the text, and nothing is added.
func TestSceneIsAdded(t *testing.T) {
	withinNamespaces(t, openManager, func(w *world) {
		lib := w.scenes.Library()
		own := len(lib.List())
		const at = "/scenes/new"
		if w.see("/scenes").Find(`a[href="`+at+`"]`).Length() != 1 {
			w.Error("no link leads to the page")
		}
		w.see(at).wants(200, "Add a scene")
		refused := func(status int, says []string, pairs ...string) {
			w.Helper()
			a := w.upload(at, append([]string{"csrf", w.token()}, pairs...)...)
			a.wants(status, says...)
			if len(lib.List()) != own {
				w.Errorf("%q was added", pairs)
			}
		}
		wrong := strings.Replace(lunch, "timeToLive: 1m", "timeToLive: </textarea>", 1) + "  - caption:\n"
		refused(422, []string{"2 things are wrong", "Line 8 · step 1, action 1", "- send: {to: kitchen, body: two soups, timeToLive: </textarea>}", "Line 9 · step 2", "title: Lunch"}, "text", wrong, "id", "lunch")
		refused(422, []string{"1 thing is wrong", "Line 1", "title: ["}, "file/x.yaml", "title: [")
		refused(422, []string{"Choose a file"}, "id", "lunch")
		refused(422, []string{"needs a name", "title: Lunch"}, "text", lunch)
		refused(422, []string{"small letters"}, "text", lunch, "id", "A b")
		refused(409, []string{"The scene 'deadline' is built in. Choose another ID."}, "text", lunch, "id", "deadline")
		refused(413, []string{"at most 32"}, "file/x.yaml", strings.Repeat("#", 2<<20))
		refused(422, []string{"at most 32768 bytes"}, "file/x.yaml", strings.Repeat("#", demo.MaxBytes+1))
		if a := w.upload(at, "csrf", "forged", "text", lunch, "id", "lunch"); a.status != http.StatusForbidden || len(lib.List()) != own {
			w.Errorf("a forged form returned %d", a.status)
		}

		if a := w.upload(at, "csrf", w.token(), "file/07-lunch.yaml", lunch, "text", "", "id", ""); a.status != http.StatusSeeOther || a.to != "/scenes" {
			w.Fatalf("answered with %d %q", a.status, a.to)
		}
		w.see("/scenes").wants(200, "The scene Lunch & <b>more</b> was added.", "added here")
		told := func(what engine.EventKind) {
			w.Helper()
			if e := w.b.Events().Recent(1); !e[0].Audit || e[0].Actor != "dashboard" || e[0].Kind != what || !strings.HasPrefix(e[0].Reason, "lunch") {
				w.Errorf("the event is %+v", e)
			}
		}
		told(engine.EventSceneAdded)
		if got := w.get("/scenes/text/lunch"); got.status != 200 || got.text != lunch {
			w.Errorf("the source is %d %q", got.status, got.text)
		}
		w.get("/scenes/text/none").wants(404)
		w.restart()
		if s, err := w.scenes.Library().Find("lunch"); err != nil || s.Text != lunch {
			w.Errorf("after a restart the scene is %+v, %v", s, err)
		}

		// The scene is removed after a confirmation. Before that, its source can be downloaded.
		if n := w.see("/scenes").Find(`a[data-ask][href^="/scenes/remove/"]`).Length(); n != 1 {
			w.Errorf("%d scenes can be removed", n)
		}
		const remove = "/scenes/remove/lunch"
		ask := w.see(remove)
		ask.wants(200, "Remove the scene Lunch & <b>more</b>?")
		if to, _ := ask.Find("a[download]").Attr("href"); w.get(to).text != lunch {
			w.Errorf("the source is not at %q", to)
		}
		w.post(remove).wants(200, "Remove the scene")
		if len(w.scenes.Library().List()) != own+1 {
			w.Error("the scene was removed without confirmation")
		}
		if says, at := w.done(remove, "count", "1"); !strings.Contains(says, "was removed") || at != "/scenes" {
			w.Errorf("got %q at %s", says, at)
		}
		told(engine.EventSceneRemoved)
		w.get(remove).wants(404)
		w.get("/scenes/remove/deadline").wants(404)
		if says, at := w.done("/scenes/remove/deadline", "count", "1"); !strings.Contains(says, "is built in") || at != "/scenes" {
			w.Errorf("a built-in scene: %q at %s", says, at)
		}
	})
}

// TestUnfitScene: a stored scene that cannot be played is shown with the reason, and is
// repaired or removed.
func TestUnfitScene(t *testing.T) {
	withinNamespaces(t, openManager, func(w *world) {
		marked := strings.Replace(lunch, "steps:\n  - ", "steps:\n  - highlight: [bar]\n    ", 1)
		for id, text := range map[string]string{"lunch": marked, "deadline": lunch} {
			_, err := w.b.SetSetting(w.Context(), "scene/"+id, text, nil)
			w.must(err)
		}
		w.see("/scenes").lacks("cannot be played")
		w.must(w.scenes.LoadSaved(w.Context(), w.b.Broker))
		own := len(w.scenes.Library().List())
		a := w.see("/scenes")
		a.wants(200, "2 scenes that were added cannot be played", "Line 6 · step 1, highlight 1", "'highlight' must name a message or an entity from this or an earlier step, not 'bar'.", "The scene 'deadline' is built in. Choose another ID.")
		if n := a.Find(".faults a[data-ask]").Length(); n != 2 {
			w.Errorf("%d scenes can be removed", n)
		}
		to, _ := a.Find(`.faults a[href*="lunch"]:not([data-ask])`).Attr("href")
		form := w.see(to)
		form.wants(200, "1 thing is wrong", "Line 6 · step 1, highlight 1", "highlight: [bar]")
		if id, _ := form.Find("input[name=id]").Attr("value"); id != "lunch" || form.Find("textarea[name=text]").Text() != marked {
			w.Errorf("the form has the scene %q", id)
		}
		w.see("/scenes/new?kept=deadline").wants(200, "The scene 'deadline' is built in. Choose another ID.")
		if n := w.see("/scenes/new?kept=none").Find(".faults, .err").Length(); n != 0 {
			w.Errorf("an empty form has %d errors", n)
		}
		if b := w.upload("/scenes/new", "csrf", w.token(), "text", lunch, "id", "lunch"); b.status != http.StatusSeeOther {
			w.Errorf("repaired: %d", b.status)
		}
		a = w.see("/scenes")
		a.wants(200, "One scene that was added cannot be played")
		a.lacks("'highlight' names")

		ask := w.see("/scenes/remove/deadline")
		ask.wants(200, "Remove the scene deadline?")
		if to, _ := ask.Find("a[download]").Attr("href"); w.get(to).text != lunch {
			w.Errorf("the source is not at %q", to)
		}
		if says, at := w.done("/scenes/remove/deadline", "count", "1"); !strings.Contains(says, "The scene deadline was removed.") || at != "/scenes" {
			w.Errorf("got %q at %s", says, at)
		}
		w.restart()
		w.see("/scenes").lacks("cannot be played")
		if n := len(w.scenes.Library().List()); n != own+1 {
			w.Errorf("got %d scenes, want %d", n, own+1)
		}
	})
}

// TestPlayIsOver: every form of an ended playback leads to the scenes with a notice in the page's
// language: also a form from before a restart, one that the script sends, and a GET of its
// address, which leads to the playback while that runs.
func TestPlayIsOver(t *testing.T) {
	withinNamespaces(t, openManager, func(w *world) {
		const scenes, says = "/scenes", "Tato scéna skončila. Její obor názvů už neexistuje."
		w.post("/n/default/language", "lang", "cs", "back", scenes)
		p, err := w.scenes.Begin(w.Context(), "deadline", "test")
		w.must(err)
		on, stage := "/scenes/on/"+p.Name(), "/n/"+p.Name()+"/queues"
		if a := w.get(on + "/next"); a.status != http.StatusSeeOther || a.to != stage {
			w.Errorf("the address of a form: %d %s", a.status, a.to)
		}
		old := url.Values{"csrf": {w.token()}, "step": {"0"}}
		if a := w.send(on+"/next", url.Values{"csrf": {"forged"}, "step": {"0"}}); a.status != http.StatusForbidden || p.State().Done != 0 {
			w.Errorf("a forged form: %d, step %d", a.status, p.State().Done)
		}
		w.restart()
		over := func(what string, a answer) {
			w.Helper()
			if a.status != http.StatusSeeOther || a.to != scenes {
				w.Errorf("%s: %d %s", what, a.status, a.to)
				return
			}
			w.see(scenes).wants(200, says)
		}
		for _, verb := range []string{"next", "back", "reset", "leave", "clock", "leap"} {
			over(verb, w.send(on+"/"+verb, old))
			over("look at "+verb, w.get(on+"/"+verb))
		}
		if a := w.over(on+"/next", url.Values{"step": {"0"}}); a.status != http.StatusNoContent || a.header.Get("Mayfly-Go") != scenes {
			w.Errorf("sent by the script: %d %q", a.status, a.header)
		}
		w.see(scenes).wants(200, says)

		p, err = w.scenes.Begin(w.Context(), "deadline", "test")
		w.must(err)
		form := w.over("/scenes/on/"+p.Name()+"/next", url.Values{"step": {"0"}})
		if form.status != http.StatusNoContent || form.header.Get("Mayfly-Go") != "/n/"+p.Name()+"/queues" {
			w.Errorf("a step that the script asks for: %d %q", form.status, form.header)
		}
		_, err = w.manager.Remove(w.Context(), p.Name(), "test")
		w.must(err)
		over("removed namespace", w.post("/scenes/on/"+p.Name()+"/next", "step", "1"))
	})
}

// TestNoPlayInRealNamespaces: the forms of playbacks do nothing in a namespace without a playback, and
// report that its time is real.
func TestNoPlayInRealNamespaces(t *testing.T) {
	withinNamespaces(t, openManager, func(w *world) {
		_, err := w.manager.Create(w.Context(), namespaces.Spec{Name: "shop"}, "test")
		w.must(err)
		p, err := w.scenes.Begin(w.Context(), "deadline", "test")
		w.must(err)
		brokers := map[string]*broker.Broker{"": w.b.Broker}
		for _, at := range []string{"default", "shop"} {
			brokers[at], _, err = w.manager.Broker(at)
			w.must(err)
		}
		for _, b := range brokers {
			_, err := b.Create(w.Context(), engine.Queue, "orders", engine.Config{}, "test")
			w.must(err)
			_, err = b.Send(w.Context(), "orders", []broker.Outgoing{{Content: engine.Content{TTL: time.Hour}, Body: []byte("two soups")}}, "test")
			w.must(err)
		}
		form := url.Values{"csrf": {w.token()}, layout.FieldStep: {"0"}, layout.FieldRate: {"60"}, layout.FieldMoment: {string(demo.Expiry)}, layout.FieldTempo: {layout.TempoAnimated}, "back": {"/n/shop"}}
		for _, name := range []string{"default", "shop", "SHOP"} {
			for _, verb := range []string{"next", "back", "reset", "leave", "clock", "leap"} {
				last, began := map[string]uint64{}, time.Now()
				for at, b := range brokers {
					last[at] = b.Events().Last()
				}
				if a := w.send("/scenes/on/"+name+"/"+verb, form); a.status != http.StatusSeeOther || a.to != "/scenes" {
					w.Errorf("%s of %s: %d %s", verb, name, a.status, a.to)
				}
				w.see("/scenes").wants(200, "No scene is played in the namespace "+strings.ToLower(name)+". Time there is real")
				w.pass(2 * time.Second)
				for at, b := range brokers {
					now, err := b.Now(w.Context())
					w.must(err)
					if took := now.Time().Sub(began); took > 3*time.Second || b.ClockState() != (broker.ClockState{Rate: 1}) || b.Events().Last() != last[at] {
						w.Errorf("%s of %s: in %q %v have passed, the clock is %+v, and the last event is %d, want %d", verb, name, at, took, b.ClockState(), b.Events().Last(), last[at])
					}
				}
				if is := p.State(); is.Done != 0 || is.ClockState.Rate != 0 {
					w.Errorf("%s of %s: the playback is at %+v", verb, name, is)
				}
			}
		}
		if a := w.get("/scenes/on/shop/next"); a.status != http.StatusSeeOther || a.to != "/scenes" {
			w.Errorf("the address of a form: %d %s", a.status, a.to)
		}
	})
}
