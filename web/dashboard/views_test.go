package dashboard_test

import (
	"strings"
	"testing"

	"mayfly/engine"
	"mayfly/engine/search/columns"
)

func TestViews(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{})
		const form, back = "/n/default/views/edit", "/n/default/q/orders"
		names := func() (names string) {
			all, err := columns.Views(w.Context(), w.b.Broker)
			w.must(err)
			for _, v := range all {
				names += v.Name + ":" + strings.Join(columns.Names(v.Columns), ",") + " "
			}
			return names
		}
		for name, tc := range map[string]struct {
			typed  []string
			status int
			says   string
		}{
			"nothing ticked":    {[]string{"do", "add", "name", "x", "column", "seq"}, 422, "Tick at least one column."},
			"no name":           {[]string{"do", "add", "column", "seq", "show", "seq"}, 422, "A view needs a name to be saved."},
			"no column":         {[]string{"do", "add", "name", "x", "other", "colour"}, 422, "The column &#39;colour&#39; does not exist"},
			"the lists' name":   {[]string{"do", "add", "name", "standard", "column", "seq", "show", "seq"}, 422, "A view cannot be named"},
			"a name too long":   {[]string{"do", "add", "name", strings.Repeat("x", 65), "column", "seq", "show", "seq"}, 422, "longer than 64 characters"},
			"no such list":      {[]string{"do", "add", "name", "x", "column", "seq", "show", "seq", "list", "all"}, 422, "does not exist. Choose from"},
			"replaced, not one": {[]string{"do", "save", "was", "nobody", "name", "x", "column", "seq", "show", "seq"}, 404, "does not exist"},
			"only arranged":     {[]string{"do", "up:size", "column", "seq", "column", "size", "show", "size"}, 200, `value="up:size"`},
			"<b>":               {[]string{"do", "add", "name", "<b>/", "column", "seq", "show", "seq"}, 422, `value="&lt;b&gt;/"`},
			"shown nowhere":     {[]string{"do", "apply", "column", "seq", "show", "seq"}, 404, ""},
		} {
			if a := w.post(form, tc.typed...); a.status != tc.status || !strings.Contains(a.text, tc.says) {
				t.Errorf("%s: %d, without an error about %s", name, a.status, tc.says)
			}
		}
		if got := names(); got != "" {
			t.Errorf("the form was refused, but got %s", got)
		}
		if a := w.post(form, "do", "apply", "back", back, "column", "seq", "column", "prop.x y", "show", "seq", "show", "prop.x y"); a.status != 303 || a.to != back+"?column=seq&column=prop.x+y" {
			t.Errorf("shown without a name: %d %s", a.status, a.to)
		}
		if a := w.post(form, "do", "add", "back", back, "name", "mine", "column", "seq", "show", "seq"); a.status != 303 || a.to != back+"?view=mine" {
			t.Errorf("saved: %d %s", a.status, a.to)
		}
		if a := w.post(form, "do", "add", "back", back, "name", "mine", "column", "size", "show", "size"); a.status != 409 || !strings.Contains(a.text, "already") {
			t.Errorf("added twice: %d", a.status)
		}
		if a := w.post(form, "do", "add", "back", back, "name", "other", "list", "search", "column", "size", "show", "size"); a.to != "/n/default/views" {
			t.Errorf("a view that is not for the list redirects to %s", a.to)
		}
		if a := w.post(form, "do", "save", "was", "mine", "seen", "1", "name", "mine", "column", "size", "show", "size"); a.status != 409 || !strings.Contains(a.text, "has changed since it was loaded") {
			t.Errorf("changed meanwhile: %d", a.status)
		}
		if got := names(); got != "mine:seq other:size " {
			t.Errorf("got %s", got)
		}
		if a := w.get("/n/default/views/delete?view=nobody"); a.status != 404 {
			t.Errorf("the confirmation for a missing view: %d", a.status)
		}
		if a := w.post("/n/default/views/delete?view=mine"); a.to != "/n/default/views" || names() != "other:size " {
			t.Errorf("deleted: %s", names())
		}
		if a := w.post("/n/default/views/delete?view=mine"); a.status != 404 {
			t.Errorf("deleted twice: %d", a.status)
		}
		if !w.audited(engine.EventSettingsChanged) {
			t.Error("no event names the user")
		}
	})
}
