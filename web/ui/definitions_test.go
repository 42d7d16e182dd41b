package ui_test

import (
	"strings"
	"testing"

	"mayfly/engine"
	"mayfly/engine/definition"
)

// The list of queues leads to a Config.json of all there is (EMU-8).
func TestDefinitionsFile(t *testing.T) {
	within(t, func(w *world) {
		if n := w.see("/n/default/queues").Find(`a[href="/n/default/definitions"]`).Length(); n != 0 {
			t.Error("there is nothing to write")
		}
		w.create(engine.Queue, "orders", engine.Config{RequiresSession: true})
		if n := w.see("/n/default/queues").Find(`a[href="/n/default/definitions"]`).Length(); n != 1 {
			t.Errorf("there are %d links", n)
		}
		a := w.get("/n/default/definitions")
		if a.status != 200 || !strings.Contains(a.header.Get("Content-Disposition"), "Config.json") {
			t.Errorf("answered with %d, %q", a.status, a.header.Get("Content-Disposition"))
		}
		limits := w.b.Limits()
		top, err := definition.Read(strings.NewReader(a.text), definition.Options{Limits: &limits})
		w.must(err)
		if len(top.Entities) != 1 || !top.Entities[0].Config.RequiresSession {
			t.Errorf("it asks for %+v", top.Entities)
		}
		w.get("/n/other/definitions").wants(404)
	})
}
