package dashboard_test

import (
	"strings"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/engine/topology"
)

// TestDefinitionsFile: the list of queues links to a Config.json of everything (EMU-8).
func TestDefinitionsFile(t *testing.T) {
	within(t, func(w *world) {
		if n := w.see("/n/default/queues").Find(`a[href="/n/default/definitions"]`).Length(); n != 0 {
			t.Error("an empty namespace has a link to its definitions")
		}
		w.b.CreateQueue("orders", engine.Config{RequiresSession: true})
		if n := w.see("/n/default/queues").Find(`a[href="/n/default/definitions"]`).Length(); n != 1 {
			t.Errorf("got %d links", n)
		}
		a := w.get("/n/default/definitions")
		if a.status != 200 || !strings.Contains(a.header.Get("Content-Disposition"), "Config.json") {
			t.Errorf("the response is %d, %q", a.status, a.header.Get("Content-Disposition"))
		}
		limits := w.b.Limits()
		top, err := topology.Read(strings.NewReader(a.text), topology.Options{Limits: &limits})
		w.must(err)
		if len(top.Entities) != 1 || !top.Entities[0].Config.RequiresSession {
			t.Errorf("an import of the export changes %+v", top.Entities)
		}
		w.get("/n/other/definitions").wants(404)
	})
}

const drawnFile = `{"UserConfig":{"Namespaces":[{"Queues":[{"Name":"orders","Properties":{"LockDuration":"PT20S"}},{"Name":"audit"}]}]}}`

// TestDefinitionsAreImported: a Config.json is previewed first, and applied as previewed, once
// (EMU-8).
func TestDefinitionsAreImported(t *testing.T) {
	within(t, func(w *world) {
		const at = "/n/default/definitions/import"
		w.b.CreateQueue("orders", engine.Config{LockDuration: 10 * time.Second})
		if w.see("/n/default/queues").Find(`a[href="`+at+`"]`).Length() != 1 {
			t.Error("no link goes to the page")
		}
		w.see(at).wants(200, "Import definitions")
		a := w.upload(at, "csrf", w.token(), "file/Config.json", drawnFile, "text", "")
		a.wants(200, "It would make 2 changes", "orders", "LockDuration", "PT10S", "PT20S", "audit", "Create")
		if w.b.State("orders").Config.LockDuration != 10*time.Second {
			t.Error("the preview changed something")
		}
		agreed, _ := a.Find("button[name=agreed]").Attr("value")
		text := a.Find("textarea").Text()
		other := strings.Replace(text, "PT20S", "PT30S", 1)
		w.upload(at, "csrf", w.token(), "text", other, "agreed", agreed).wants(409, "has changed", "PT30S")
		w.upload(at, "csrf", w.token(), "text", text, "file/Config.json", other, "agreed", agreed).wants(200, "PT30S") // the changes of the file were not shown
		w.upload(at, "csrf", "guessed", "text", text, "agreed", agreed).wants(403)
		w.post(at, "text", text, "agreed", agreed).wants(403)
		done := w.upload(at, "csrf", w.token(), "text", text, "agreed", agreed)
		if done.status != 303 || w.b.State("orders").Config.LockDuration != 20*time.Second || w.b.State("audit").Path != "audit" {
			t.Errorf("the response is %d, and the queue is %+v", done.status, w.b.State("orders").Config)
		}
		if n := strings.Count(w.see("/n/default/activity").Find("main").Text(), "dashboard"); n < 2 {
			t.Errorf("Activity names the user %d times", n)
		}
		if again := w.upload(at, "csrf", w.token(), "text", text, "agreed", agreed); again.status != 303 {
			t.Errorf("sent twice, the response is %d", again.status)
		}
		w.upload(at, "csrf", w.token(), "text", text).wants(200, "All is as the file says", "2 others are")
	})
}

// TestDefinitionsAreRefused: errors of a file name their path in it, and nothing is changed.
func TestDefinitionsAreRefused(t *testing.T) {
	within(t, func(w *world) {
		const at = "/n/default/definitions/import"
		w.b.CreateQueue("orders", engine.Config{})
		bad := strings.Replace(strings.Replace(drawnFile, "PT20S", "soon", 1), `"audit"`, `"<b>","Properties":{"What":1}`, 1)
		w.upload(at, "csrf", w.token(), "text", bad).wants(422, "things are wrong", "UserConfig.Namespaces[0].Queues[0].Properties.LockDuration", "Queues[1].Name", "One part has no effect", "Queues[1].Properties.What")
		w.upload(at, "csrf", w.token(), "text", "{").wants(422, "One thing is wrong")
		w.upload(at, "csrf", w.token(), "text", `{"UserConfig":{"Namespaces":[{"Queues":[1`+strings.Repeat(",1", 999)+`]}]}}`).wants(422, "1,000 things are wrong", "950 more")
		w.upload(at, "csrf", w.token(), "text", " ", "file/", "").wants(422, "Choose a file")
		w.upload(at, "csrf", w.token(), "file/x", strings.Repeat(" ", 1<<20+1)).wants(422, "more than 1")
		w.upload(at, "csrf", w.token(), "file/x", strings.Repeat(" ", 4<<20)).wants(413)
		w.get("/n/default/definitions/other").wants(404)
		a := w.upload(at, "csrf", w.token(), "text", drawnFile)
		agreed, _ := a.Find("button[name=agreed]").Attr("value")
		w.safe = true
		w.reopen()
		w.upload(at, "csrf", w.token(), "text", drawnFile, "agreed", agreed).wants(403, "Safe mode is on")
		if w.upload(at, "csrf", w.token(), "text", drawnFile).Find("button[name=agreed][disabled]").Length() != 1 {
			t.Error("the button is enabled")
		}
		only := `{"UserConfig":{"Namespaces":[{"Queues":[{"Name":"audit"}]}]}}`
		agreed, _ = w.upload(at, "csrf", w.token(), "text", only).Find("button[name=agreed]").Attr("value")
		if a := w.upload(at, "csrf", w.token(), "text", only, "agreed", agreed); a.status != 303 {
			t.Errorf("definitions that only create an entity returned %d", a.status)
		}
	})
}
