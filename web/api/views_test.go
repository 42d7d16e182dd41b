package api

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"mayfly/engine/broker"
)

func TestViews(t *testing.T) {
	w := start(t, broker.Options{})
	var all Views
	if w.want(200, "GET", "/views", "", &all); len(all.Views) != 0 {
		t.Errorf("got %+v", all)
	}
	var v View
	w.want(200, "PUT", "/views/late%20orders", `{"columns":["seq","prop.a region","json.\"x\".id"],"lists":["messages"],"default":true}`, &v)
	if v.Name != "late orders" || !slices.Equal(v.Columns, []string{"seq", "prop.a region", "json.x.id"}) || !slices.Equal(v.Lists, []string{"messages"}) || !v.Default || v.UpdatedAt.IsZero() {
		t.Errorf("saved %+v", v)
	}
	w.want(200, "PUT", "/views/Dead", `{"columns":["reason"],"default":true}`, nil)
	w.want(200, "GET", "/views/late%20orders", "", &v)
	if v.Default {
		t.Error("two views are the default of a list")
	}
	v = View{}
	w.want(200, "PUT", "/views/Dead", `{"name":"dead ends","columns":["reason","error"]}`, &v)
	if v.Name != "dead ends" || v.Default || v.Lists != nil {
		t.Errorf("renamed %+v", v)
	}
	w.want(404, "GET", "/views/Dead", "", nil)
	names := func() (names []string) {
		var all Views
		w.want(200, "GET", "/views", "", &all)
		for _, v := range all.Views {
			names = append(names, v.Name)
		}
		return names
	}
	want := []string{"dead ends", "late orders"}
	for name, tc := range map[string]struct {
		method, at, body string
		status           int
		code             string
	}{
		"absent":           {"GET", "/views/nobody", "", 404, "ViewNotFound"},
		"absent, deleted":  {"DELETE", "/views/nobody", "", 404, "ViewNotFound"},
		"absent, renamed":  {"PUT", "/views/nobody", `{"name":"x","columns":["seq"]}`, 404, "ViewNotFound"},
		"taken":            {"PUT", "/views/dead%20ends", `{"name":"late orders","columns":["seq"]}`, 409, "ViewAlreadyExists"},
		"no columns":       {"PUT", "/views/x", `{"columns":[]}`, 400, "Argument"},
		"no such column":   {"PUT", "/views/x", `{"columns":["colour"]}`, 400, "Argument"},
		"a column twice":   {"PUT", "/views/x", `{"columns":["seq","seq"]}`, 400, "Argument"},
		"a bad path":       {"PUT", "/views/x", `{"columns":["json.a["]}`, 400, "Argument"},
		"no such list":     {"PUT", "/views/x", `{"columns":["seq"],"lists":["all"]}`, 400, "Argument"},
		"standard":         {"PUT", "/views/standard", `{"columns":["seq"]}`, 400, "Argument"},
		"a slash":          {"PUT", "/views/a%2Fb", `{"columns":["seq"]}`, 400, "Argument"},
		"too many columns": {"PUT", "/views/x", `{"columns":["seq"` + strings.Repeat(`,"prop.x"`, 30) + `]}`, 400, "Argument"},
		"unknown member":   {"PUT", "/views/x", `{"columns":["seq"],"width":3}`, 400, "Argument"},
	} {
		var p Problem
		got, text := w.ask(tc.method, tc.at, tc.body)
		if err := json.Unmarshal([]byte(text), &p); err != nil || got.StatusCode != tc.status || p.Code != tc.code {
			t.Errorf("%s: %d %s", name, got.StatusCode, text)
		}
	}
	if got := names(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	w.want(204, "DELETE", "/views/dead%20ends", "", nil)
	if got := names(); !slices.Equal(got, want[1:]) {
		t.Errorf("got %q", got)
	}
}
