package api

import (
	"strings"
	"testing"
	"time"

	"mayfly/engine/broker"
	"mayfly/engine/demo"
	"mayfly/web/webtest"
)

const lunch = `title: Lunch
summary: What nobody fetches gets cold.
entities:
  - queue: kitchen
    properties: {DeadLetteringOnMessageExpiration: true}
steps:
  - caption: Two soups.
    page: /q/kitchen
    actions: [{send: {to: kitchen, as: order, body: two soups, timeToLive: 1m}}]
    expect: [{text: They wait., entity: kitchen, active: 1}]
  - caption: Nobody comes.
    actions: [{wait: expiry}]
    expect: [{text: They still wait., entity: kitchen, active: 1}]
  - caption: Somebody comes.
    actions: [{receive: {from: kitchen, as: order}}]
`

// TestScenesAreAdded: a scene is stored, replaced and deleted; errors have their lines and
// change nothing; built-in scenes stay.
func TestScenesAreAdded(t *testing.T) {
	w := start(t, broker.Options{})
	var s Scene
	w.want(200, "PUT", "/scenes/lunch?check=true", lunch, &s)
	w.want(404, "GET", "/scenes/lunch", "", nil)
	w.want(200, "PUT", "/scenes/lunch", lunch, &s)
	if s.ID != "lunch" || s.From != "added" || s.Steps != 3 || len(s.Captions) != 3 || s.Captions[1] != "Nobody comes." || s.Text != lunch {
		t.Errorf("got %+v", s)
	}
	w.want(200, "PUT", "/scenes/lunch", strings.Replace(lunch, "Lunch", "Dinner", 1), nil)
	for name, tc := range map[string]struct {
		id, text string
		status   int
		code     string
		line     int
	}{
		"wrong":                 {"lunch", strings.Replace(lunch, "wait: expiry", "wait: soon", 1), 400, "Argument", 12},
		"no YAML":               {"lunch", "title: [", 400, "Argument", 1},
		"nothing":               {"lunch", "", 400, "Argument", 0},
		"too large":             {"lunch", lunch + strings.Repeat("#", demo.MaxBytes), 413, "MessageSizeExceeded", 0},
		"of the program's id":   {"deadline", lunch, 409, "SceneAlreadyExists", 0},
		"of an id that is none": {"Lunch%20two", lunch, 400, "Argument", 0},
	} {
		for _, ask := range []string{"", "?check=true"} {
			var p Problem
			w.want(tc.status, "PUT", "/scenes/"+tc.id+ask, tc.text, &p)
			if p.Code != tc.code || tc.line > 0 && (len(p.Faults) == 0 || p.Faults[0].Line != tc.line) {
				t.Errorf("%s: %+v", name, p)
			}
		}
	}
	w.want(200, "GET", "/scenes/lunch", "", &s)
	if s.Title != "Dinner" {
		t.Errorf("got %+v", s)
	}
	if got, text := w.ask("PUT", "/scenes/lunch", lunch, "Content-Type", "text/yaml; charset=utf-8"); got.StatusCode != 200 {
		t.Errorf("as YAML: %s", text)
	}
	if got, _ := w.ask("PUT", "/scenes/lunch", lunch, "Content-Type", "application/json"); got.StatusCode != 415 {
		t.Errorf("as JSON: %d", got.StatusCode)
	}
	w.want(204, "DELETE", "/scenes/lunch", "", nil)
	w.want(404, "DELETE", "/scenes/lunch", "", nil)
	w.want(400, "DELETE", "/scenes/deadline", "", nil)
	var all Scenes
	w.want(200, "GET", "/scenes", "", &all)
	for _, e := range all.Scenes {
		if e.From != "program" || e.Steps == 0 || e.Title == "" {
			t.Errorf("got %+v", e)
		}
	}
}

// TestPlays: a playback goes forward, back and to its beginning, once for each request; its clock
// can be changed, and its namespace is like any other.
func TestPlays(t *testing.T) {
	w := start(t, broker.Options{})
	w.want(200, "PUT", "/scenes/lunch", lunch, nil)
	w.want(404, "POST", "/playbacks", `{"scene":"none"}`, nil)
	var p Playback
	w.want(201, "POST", "/playbacks", `{"scene":"lunch"}`, &p)
	began := p.Clock
	if p.Step != 0 || p.Steps != 3 || p.Caption != "What nobody fetches gets cold." || p.Rate != 0 || p.Address != "/api/v1/n/"+p.Name || p.Finished {
		t.Errorf("at first got %+v", p)
	}
	at := "/playbacks/" + p.Name
	w.want(400, "POST", at+"/next", "", nil)
	w.want(409, "POST", at+"/next?step=1", "", nil)
	w.want(200, "POST", at+"/next?step=0", "", &p)
	if p.Step != 1 || p.Caption != "Two soups." || len(p.Expectations) != 1 || !p.Expectations[0].OK || p.Dashboard != "/n/"+p.Name+"/q/kitchen" {
		t.Errorf("after a step got %+v", p)
	}
	w.want(409, "POST", at+"/next?step=0", "", nil)

	var advanced AdvanceResult
	w.want(200, "POST", at+"/advance", `{"next":"auto-delete"}`, &advanced)
	if !advanced.To.IsZero() || !advanced.Playback.Clock.Equal(began) {
		t.Errorf("advanced to no event: %+v", advanced)
	}
	w.want(400, "POST", at+"/advance", `{"next":"tomorrow"}`, nil)
	w.want(200, "POST", at+"/advance", `{"next":"expiry"}`, &advanced)
	if !advanced.To.Equal(began.Add(time.Minute)) || !advanced.Playback.Clock.Equal(advanced.To) {
		t.Errorf("advanced to the expiry: %+v", advanced)
	}
	for _, body := range []string{`{}`, `{"rate":2}`, `{"rate":-1}`} {
		w.want(400, "PUT", at+"/clock", body, nil)
	}
	w.want(200, "PUT", at+"/clock", `{"rate":60}`, &p)
	if p.Rate != 60 {
		t.Errorf("after the clock was changed: %+v", p)
	}
	w.want(200, "PUT", at+"/clock", `{"rate":0}`, &p)

	p = Playback{}
	w.want(200, "POST", at+"/back?step=1", "", &p)
	if p.Step != 0 || len(p.Expectations) != 0 {
		t.Errorf("after a step back: %+v", p)
	}
	w.want(409, "POST", at+"/back?step=1", "", nil)
	w.want(200, "POST", at+"/next?step=0", "", nil)
	w.want(200, "POST", at+"/next?step=1&animate=true", "", nil)
	webtest.Eventually(t, "the animated step has ended", func() bool {
		p = Playback{}
		w.want(200, "GET", at, "", &p)
		return !p.Playing
	})
	if p.Step != 2 || len(p.Expectations) != 1 || p.Expectations[0].OK || p.Expectations[0].Actual == "" {
		t.Errorf("a failed expectation is shown as %+v", p)
	}
	w.want(200, "POST", at+"/next?step=2", "", &p)
	if !strings.Contains(p.Error, "Step 3: 'kitchen' has only 0 of 1 messages") || !p.Finished {
		t.Errorf("after an error: %+v", p)
	}
	w.want(400, "POST", at+"/next?step=3", "", nil)
	p = Playback{}
	w.want(200, "POST", at+"/reset", "", &p)
	if p.Step != 0 || p.Error != "" || p.Finished {
		t.Errorf("from the beginning: %+v", p)
	}
	var all Playbacks
	w.want(200, "GET", "/playbacks", "", &all)
	if len(all.Playbacks) != 1 || all.Playbacks[0].Name != p.Name {
		t.Errorf("got %+v", all)
	}
	w.want(204, "DELETE", at, "", nil)
	w.want(404, "GET", at, "", nil)
	w.want(404, "GET", "/namespaces/"+p.Name, "", nil)
}

// TestPlayWithoutNamespace: a playback whose namespace is removed has ended, like one that was
// ended by a request.
func TestPlayWithoutNamespace(t *testing.T) {
	w := start(t, broker.Options{})
	var p Playback
	w.want(201, "POST", "/playbacks", `{"scene":"deadline"}`, &p)
	w.want(200, "DELETE", "/namespaces/"+p.Name+"?confirm="+p.Name, "", nil)
	var all Playbacks
	w.want(200, "GET", "/playbacks", "", &all)
	if len(all.Playbacks) != 0 {
		t.Errorf("the playback is listed: %+v", all)
	}
	at := "/playbacks/" + p.Name
	for _, r := range [][3]string{
		{"GET", "", ""}, {"POST", "/next?step=0", ""}, {"POST", "/back?step=0", ""}, {"POST", "/reset", ""}, {"DELETE", "", ""},
		{"PUT", "/clock", `{"rate":60}`}, {"POST", "/advance", `{"next":"expiry"}`},
	} {
		var no Problem
		w.want(404, r[0], at+r[1], r[2], &no)
		if no.Code != "PlaybackNotFound" {
			t.Errorf("%s %s: %+v", r[0], r[1], no)
		}
	}
}

// TestNoPlayInRealNamespaces: no other namespace has a manual clock, nor anything else of a
// playback.
func TestNoPlayInRealNamespaces(t *testing.T) {
	w := start(t, broker.Options{})
	w.want(201, "POST", "/namespaces", `{"name":"shop"}`, nil)
	for _, name := range []string{"default", "shop", "none"} {
		at := "/playbacks/" + name
		for _, r := range [][3]string{
			{"GET", "", ""}, {"POST", "/next?step=0", ""}, {"POST", "/back?step=0", ""}, {"POST", "/reset", ""}, {"DELETE", "", ""},
			{"PUT", "/clock", `{"rate":60}`}, {"POST", "/advance", `{"next":"expiry"}`},
		} {
			var p Problem
			w.want(404, r[0], at+r[1], r[2], &p)
			if p.Code != "PlaybackNotFound" || strings.Contains(p.Detail, "real") != (name != "none") {
				t.Errorf("%s %s of %s: %+v", r[0], r[1], name, p)
			}
		}
	}
	w.want(200, "GET", "/namespaces/shop", "", nil)
}

// TestScenesInLanguages: texts of scenes are in their original language, or in another on
// request; the answer names the language.
func TestScenesInLanguages(t *testing.T) {
	w := start(t, broker.Options{})
	const czech = `languages:
  cs:
    title: Oběd
    summary: Co si nikdo nevyzvedne, vystydne.
    steps:
      - {caption: Dvě polévky., expect: [Čekají.]}
      - {caption: Nikdo nejde., expect: [Stále čekají.]}
      - {caption: Někdo přijde.}
`
	var p Problem
	w.want(400, "PUT", "/scenes/lunch", lunch+strings.Replace(czech, "[Čekají.]", "[]", 1), &p)
	if len(p.Faults) != 1 || p.Faults[0].Line != 21 || p.Faults[0].At != "cs, step 1" {
		t.Errorf("a scene that lacks a text: %+v", p)
	}
	w.want(200, "PUT", "/scenes/lunch", lunch+czech, nil)
	var s Scene
	for ask, want := range map[string]string{
		"": "en Lunch Nobody comes.", "?lang=cs": "cs Oběd Nikdo nejde.", "?lang=pt-BR": "en Lunch Nobody comes.", "?lang=": "en Lunch Nobody comes.",
	} {
		var all Scenes
		w.want(200, "GET", "/scenes/lunch"+ask, "", &s)
		w.want(200, "GET", "/scenes"+ask, "", &all)
		if got := s.Language + " " + s.Title + " " + s.Captions[1]; got != want || !strings.HasPrefix(want, all.Scenes[len(all.Scenes)-1].Language+" "+all.Scenes[len(all.Scenes)-1].Title) {
			t.Errorf("with %q got %q, want %q", ask, got, want)
		}
		if len(s.Languages) != 1 || s.Text != lunch+czech {
			t.Errorf("with %q got %+v", ask, s)
		}
	}
	if got, text := w.ask("GET", "/scenes/lunch", "", "Accept-Language", "cs"); got.StatusCode != 200 || !strings.Contains(text, "Nobody comes.") {
		t.Errorf("to a browser in Czech: %s", text)
	}

	var q Playback
	w.want(201, "POST", "/playbacks?lang=cs", `{"scene":"lunch"}`, &q)
	at := "/playbacks/" + q.Name
	wantResults := func(method, path, body, title, caption string, results ...string) {
		t.Helper()
		q = Playback{}
		w.want(200, method, at+path, body, &q)
		if q.Title != title || q.Caption != caption || len(q.Expectations) != len(results) || len(results) > 0 && q.Expectations[0].Text != results[0] {
			t.Errorf("%s %s: %+v", method, path, q)
		}
	}
	if q.Title != "Oběd" || q.Caption != "Co si nikdo nevyzvedne, vystydne." || q.Language != "cs" {
		t.Errorf("at first got %+v", q)
	}
	wantResults("POST", "/next?step=0&lang=cs", "", "Oběd", "Dvě polévky.", "Čekají.")
	wantResults("GET", "", "", "Lunch", "Two soups.", "They wait.")
	wantResults("POST", "/next?step=1", "", "Lunch", "Nobody comes.", "They still wait.")
	wantResults("POST", "/back?step=2&lang=cs", "", "Oběd", "Dvě polévky.", "Čekají.")
	wantResults("PUT", "/clock?lang=cs", `{"rate":10}`, "Oběd", "Dvě polévky.", "Čekají.")
	wantResults("POST", "/reset?lang=cs", "", "Oběd", "Co si nikdo nevyzvedne, vystydne.")
	var all Playbacks
	w.want(200, "GET", "/playbacks?lang=cs", "", &all)
	if len(all.Playbacks) != 1 || all.Playbacks[0].Title != "Oběd" {
		t.Errorf("got %+v", all)
	}
	var advanced AdvanceResult
	w.want(200, "POST", at+"/advance?lang=cs", `{"next":"expiry"}`, &advanced)
	if advanced.Playback.Title != "Oběd" {
		t.Errorf("after an advance: %+v", advanced)
	}
}
