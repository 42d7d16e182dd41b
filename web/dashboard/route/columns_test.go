package route_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/search/columns"
	"mayfly/engine/value"
	"mayfly/views/component"
	"mayfly/views/page/entity"
	listpage "mayfly/views/page/list"
	"mayfly/web/dashboard/list"
	"mayfly/web/dashboard/pages"
)

// table returns an entity's tab with selected columns: the headings, then a line for each row.
func (w *world) table(at string) (entity.Entity, string) {
	w.Helper()
	p := w.open(at)
	if r, ok := p.(pages.Refreshing); ok {
		p = r.Page
	}
	m, ok := p.(entity.Entity)
	if !ok {
		w.Fatalf("%s is a %T", at, p)
	}
	var b strings.Builder
	for _, c := range m.Columns.Own {
		fmt.Fprintf(&b, "%s/%s/%v ", c.Name, c.Label, c.Num)
	}
	for _, r := range m.Rows {
		b.WriteByte('\n')
		for _, c := range r.Cells {
			text := c.Text
			if !c.At.IsZero() {
				text = c.At.UTC().Format("15:04:05")
			}
			if c.Num {
				text = "=" + text
			}
			fmt.Fprintf(&b, "[%s]", text)
		}
	}
	return m, b.String()
}

func (w *world) save(v columns.View, shown ...string) {
	w.Helper()
	var err error
	v.Columns, err = columns.ParseAll(shown)
	w.must(err)
	_, err = columns.Put(w.Context(), w.b.Broker, v, "test")
	w.must(err)
}

func (w *world) sendWhole(to engine.Path, c engine.Content, body string) {
	w.Helper()
	_, err := w.b.Send(w.Context(), to, []broker.Outgoing{{Content: c, Body: []byte(body)}}, "test")
	w.must(err)
}

func TestOwnColumns(t *testing.T) {
	isConfined(t, func(w *world) {
		w.create(engine.Queue, "orders", engine.Config{})
		props := value.Properties{{Name: "region", Value: value.OfString("e\u202eu")}, {Name: "n", Value: value.OfLong(1 << 60)}}
		w.sendWhole("orders", engine.Content{Subject: "a", Properties: props}, `{"id":1.50,"who":{"name":"<b>"}}`)
		w.sendWhole("orders", engine.Content{Subject: "b"}, `{"id":-2,"long":"`+strings.Repeat("x", 1000)+`"}`)
		w.sendWhole("orders", engine.Content{Subject: "c"}, `{"id":3}`+strings.Repeat(" ", columns.MaxBody)) // too large to be examined

		own := "/n/default/q/orders?column=seq&column=prop.region&column=prop.n&column=json.id&column=json.who.name"
		m, got := w.table(own)
		if want := "seq//true prop.region/region/false prop.n/n/true json.id/id/true json.who.name/who.name/false " +
			"\n[=1][e⟨U+202E⟩u][=1152921504606846976][=1.50][<b>]\n[=2][][][=-2][]\n[=3][][][][]"; got != want {
			t.Errorf("%s, not %s", got, want)
		}
		if m.Columns.Name != "" || m.Columns.Missing.S != "" || len(m.Columns.Views) != 1 {
			t.Errorf("columns without a name: %+v", m.Columns)
		}
		if _, again := w.table(own); again != got { // values found in bodies are cached
			t.Errorf("the second time %s", again)
		}
		if _, alone := w.table("/n/default/q/orders?column=json.id"); alone != "json.id/id/true \n[=1.50]\n[=-2]\n[]" {
			t.Errorf("one column alone is %s", alone)
		}
		if _, got := w.table("/n/default/q/orders?column=json.long"); len(got) > 700 || !strings.Contains(got, "xxx…") {
			t.Errorf("a long value has %d bytes", len(got))
		}

		// The columns are those of the view that the address names, or of the default view.
		w.save(columns.View{Name: "ids", Lists: []columns.List{columns.Messages}, Default: true}, "json.id")
		w.save(columns.View{Name: "subjects"}, "subject", "entity")
		for at, want := range map[string]string{
			"":                             "json.id",
			"?view=standard":               "",
			"?view=subjects":               "subject",
			"?view=ids&column=size":        "size",
			"?view=nobody":                 "",
			"?column=nothing":              "",
			"?tab=dead-letter":             "",
			"?tab=dead-letter&view=ids":    "",
			"?tab=locked&view=subjects":    "subject",
			"?column=seq&column=seq":       "",
			"?tab=settings&view=subjects":  "",
			"?view=SUBJECTS":               "",
			"?column=prop.%3Cb%3E&tab=bad": "prop.<b>",
		} {
			m, _ := w.table("/n/default/q/orders" + at)
			first := ""
			if len(m.Columns.Own) > 0 {
				first = m.Columns.Own[0].Name
			}
			missing := strings.Contains(at, "nobody") || strings.Contains(at, "nothing") || strings.Contains(at, "letter&view=ids") || strings.Contains(at, "seq&column=seq") || strings.Contains(at, "SUBJECTS")
			if first != want || (m.Columns.Missing.S != "") != missing {
				t.Errorf("%s shows %q, want %q; missing %q", at, first, want, m.Columns.Missing.S)
			}
		}
		m, _ = w.table("/n/default/q/orders?from=2")
		var menu []string
		for _, c := range m.Columns.Views {
			menu = append(menu, fmt.Sprint(c.Label, " ", c.Href, " ", c.Current))
		}
		if want := []string{
			"Standard /n/default/q/orders?from=2&view=standard false", "ids /n/default/q/orders?from=2&view=ids true", "subjects /n/default/q/orders?from=2&view=subjects false",
		}; !slices.Equal(menu, want) {
			t.Errorf("the menu is %q, want %q", menu, want)
		}

		// Pages with the same view share one rendering.
		a, err := w.pages.Topic("/n/default/q/orders?view=ids&junk=1")
		w.must(err)
		b, err := w.pages.Topic("/n/default/q/orders?junk=2&view=ids")
		w.must(err)
		c, err := w.pages.Topic("/n/default/q/orders?view=subjects")
		w.must(err)
		if a != b || a == c {
			t.Errorf("topics %s, %s, %s", a, b, c)
		}

		// A search has columns too, also in its later batches.
		s := w.searched("/n/default/search?q=subject:a&view=subjects")
		if len(s.Columns.Own) != 2 || len(s.Hits) != 1 || s.Hits[0].Cells[0].Text != "a" || s.Hits[0].Cells[1].Href == "" {
			t.Errorf("found %+v", s.Hits)
		}
	})
}

func TestColumnsOffered(t *testing.T) {
	isConfined(t, func(w *world) {
		w.create(engine.Queue, "orders", engine.Config{})
		w.sendWhole("orders", engine.Content{Properties: value.Properties{{Name: "region", Value: value.OfString("eu")}, {Name: "bad\x00", Value: value.OfString("x")}}}, `{"a":{"b":1},"c":[1]}`)
		w.create(engine.Queue, "other", engine.Config{})
		w.sendWhole("other", engine.Content{Properties: value.Properties{{Name: "else", Value: value.OfString("x")}}}, `no JSON`)
		offers := func(back string) (values []string) {
			p, _, err := w.pages.Open(w.Context(), "/n/default/views/edit?back="+url.QueryEscape(back))
			w.must(err)
			for _, g := range p.(listpage.ViewForm).More {
				if g.Label == "views.more.fields" {
					continue
				}
				for _, one := range g.Ticks {
					values = append(values, one.Value)
				}
			}
			return values
		}
		for back, want := range map[string][]string{
			"/n/default/q/orders":                 {"prop.region", "json.a.b"},
			"/n/default/q/orders?tab=dead-letter": nil,
			"/n/default/search?q=x":               {"prop.region", "prop.else", "json.a.b"},
			"/n/default/q/nowhere":                nil,
			"https://elsewhere/":                  {"prop.region", "prop.else", "json.a.b"},
		} {
			if got := offers(back); !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
				t.Errorf("at %s got %q, want %q", back, got, want)
			}
		}
		for back, want := range map[string]string{
			"https://elsewhere/": "", "//elsewhere/n/default/q/orders": "", "/n/default/queues": "", "/n/default/q/orders/delete": "", "/n/default/q/orders?tab=locked": "/n/default/q/orders?tab=locked",
		} {
			if p, _, err := w.pages.Open(w.Context(), "/n/default/views/edit?back="+url.QueryEscape(back)); err != nil || p.(listpage.ViewForm).Back != want {
				t.Errorf("from %s the redirect goes to %+v, %v", back, p, err)
			}
		}
	})
}

// TestArranging checks how ParseView reads the form for columns: which ones the form shows again
// after columns were moved or added, and which of them are selected for the view.
func TestArranging(t *testing.T) {
	isConfined(t, func(w *world) {
		read := func(typed string) (string, map[string]component.Text) {
			v, err := url.ParseQuery(typed)
			w.must(err)
			typedIn := pages.FormState{Values: v}
			a := list.ParseView(w.Context(), w.pages, &typedIn)
			return strings.Join(columns.Names(a.Columns), ",") + "|" + strings.Join(columns.Names(a.View.Columns), ","), typedIn.Errors
		}
		for typed, want := range map[string]string{
			"column=seq&column=size&show=seq&show=size":                       "seq,size|seq,size",
			"column=seq&column=size&show=size":                                "seq,size|size",
			"column=seq&column=size&show=seq&show=size&do=up:size":            "size,seq|size,seq",
			"column=seq&column=size&show=seq&do=down:seq":                     "size,seq|seq",
			"column=seq&column=size&show=seq&show=size&do=up:seq":             "seq,size|seq,size",
			"column=seq&column=size&show=seq&show=size&do=down:size":          "seq,size|seq,size",
			"column=seq&show=seq&do=up:nothing":                               "seq|seq",
			"column=seq&show=seq&more=prop.a&more=prop.b&other=json.x":        "seq,prop.a,prop.b,json.x|seq,prop.a,prop.b,json.x",
			"column=seq&show=seq&more=seq&other=seq":                          "seq|seq",
			"column=prop.a&show=prop.a&other=prop.b&do=up:prop.b&more=prop.c": "prop.a,prop.b,prop.c|prop.a,prop.b,prop.c", // it was added after prop.c, and moves up by one
			"column=&show=&other=+":                                           "|",
		} {
			got, wrong := read(typed)
			if strings.Contains(typed, "column=&") {
				if len(wrong) != 1 {
					t.Errorf("%s: %v", typed, wrong)
				}
			} else if got != want || len(wrong) > 0 {
				t.Errorf("%s is %s, want %s, %v", typed, got, want, wrong)
			}
		}
		many := url.Values{}
		for i := range columns.MaxColumns + 1 {
			many.Add("column", fmt.Sprint("prop.p", i))
		}
		if _, wrong := read(many.Encode()); wrong[listpage.FieldColumn].S == "" {
			t.Error("too many columns were accepted")
		}
		if _, wrong := read("other=nothing"); wrong[listpage.FieldTypedColumn].S == "" {
			t.Error("an invalid column was accepted")
		}
	})
}
