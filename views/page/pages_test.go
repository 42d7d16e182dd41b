package page_test

import (
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/a-h/templ"
	"github.com/google/go-cmp/cmp"

	"mayfly/views/component"
	"mayfly/views/page"
	"mayfly/views/page/entity"
	"mayfly/views/page/list"
	"mayfly/views/page/message"
	"mayfly/views/page/send"
	"mayfly/views/view"
)

// The tests read the rendered pages of all areas, and are therefore outside of any of them.

// read parses the output of c.
func read(t *testing.T, c templ.Component) *goquery.Document {
	t.Helper()
	r, w := io.Pipe()
	go func() { w.CloseWithError(c.Render(t.Context(), w)) }()
	doc, err := goquery.NewDocumentFromReader(r)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// readSlot parses the content of one slot of a page.
func readSlot(t *testing.T, m view.Page, name string) *goquery.Document {
	t.Helper()
	for _, p := range m.Parts() {
		if p.Name == name {
			return read(t, p.Slot)
		}
	}
	t.Fatalf("the page has no slot %s", name)
	return nil
}

// attr returns an attribute of the first element of s; "none" if there is no element or the
// element lacks the attribute.
func attr(s *goquery.Selection, name string) string { return s.AttrOr(name, "none") }

func TestSortedAddresses(t *testing.T) {
	m := entity.Entities{Kind: page.Queue, Query: "a&b"}
	m.Shell.Home = "/base/n/shop"
	for name, tc := range map[string]struct {
		sort entity.Column
		down bool
		by   entity.Column
		want string
	}{
		"counts start from the largest":  {by: entity.ByDead, want: "/base/n/shop/queues?dir=down&q=a%26b&sort=dead"},
		"times start from the soonest":   {by: entity.ByExpiry, want: "/base/n/shop/queues?dir=up&q=a%26b&sort=expiry"},
		"the same again turns round":     {sort: entity.ByDead, down: true, by: entity.ByDead, want: "/base/n/shop/queues?dir=up&q=a%26b&sort=dead"},
		"by name is what was not chosen": {by: entity.ByName, want: "/base/n/shop/queues?dir=down&q=a%26b&sort=name"},
	} {
		t.Run(name, func(t *testing.T) {
			m := m
			m.Sort, m.Down = tc.sort, tc.down
			if got := attr(read(t, m.Full()).Find(`thead a[href$="sort=`+string(tc.by)+`"]`), "href"); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func TestATabThatAKindLacksIsItsFirst(t *testing.T) {
	for name, tc := range map[string]struct {
		kind page.EntityKind
		tab  page.Tab
		want page.Tab
	}{
		"a topic has no messages":           {page.Topic, page.TabMessages, page.TabSubscriptions},
		"a queue has no rules":              {page.Queue, page.TabRules, page.TabMessages},
		"a subscription schedules nothing":  {page.Subscription, page.TabScheduled, page.TabMessages},
		"nothing chosen":                    {page.Queue, "", page.TabMessages},
		"what there is stays":               {page.Subscription, page.TabRules, page.TabRules},
		"dead letters of a topic lie below": {page.Topic, page.TabDeadLetters, page.TabSubscriptions},
	} {
		t.Run(name, func(t *testing.T) {
			doc := read(t, entity.Entity{Kind: tc.kind, Tab: tc.tab}.Full())
			if got := attr(doc.Find(".tabs [aria-current]"), "href"); got != "?tab="+string(tc.want) {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func TestEveryColumnHasItsCell(t *testing.T) {
	entities := []entity.Row{{Key: "1"}}
	messages := []list.MessageRow{{Key: "1"}}
	pages := map[string]view.Page{
		"queues":        entity.Entities{Kind: page.Queue, Rows: entities},
		"topics":        entity.Entities{Kind: page.Topic, Rows: entities},
		"subscriptions": entity.Entity{Kind: page.Topic, Subscriptions: entities},
		"a session":     entity.Session{Rows: messages},
	}
	for _, tab := range []page.Tab{page.TabMessages, page.TabScheduled, page.TabDeferred, page.TabLocked, page.TabDeadLetters, page.TabTransfers} {
		pages[string(tab)] = entity.Entity{Kind: page.Queue, Tab: tab, Rows: messages}
	}
	for name, m := range pages {
		table := read(t, m.Full()).Find("table.rows")
		if got, want := table.Find("tbody td").Length(), table.Find("thead th").Length(); got != want || want < 5 {
			t.Errorf("%s: %d cells below %d headings", name, got, want)
		}
	}
}

func TestBodyViews(t *testing.T) {
	json := []byte(`{"a":1}`)
	for name, tc := range map[string]struct {
		body message.Body
		view message.BodyView
		want message.BodyView
	}{
		"JSON is a tree":                     {message.Body{Content: json, Size: 7}, "", message.TreeView},
		"text is raw":                        {message.Body{Content: []byte("hi"), Size: 2}, "", message.RawView},
		"text has no tree":                   {message.Body{Content: []byte("hi"), Size: 2}, message.TreeView, message.RawView},
		"the beginning of one is no tree":    {message.Body{Content: json, Size: 8}, "", message.RawView},
		"what is asked for":                  {message.Body{Content: json, Size: 7}, message.HexView, message.HexView},
		"headers are there without any body": {message.Body{}, message.HeadersView, message.HeadersView},
		"nonsense":                           {message.Body{Content: json, Size: 7}, "nonsense", message.TreeView},
	} {
		t.Run(name, func(t *testing.T) {
			doc := read(t, message.Message{Body: tc.body, View: tc.view}.Drawer())
			if got := attr(doc.Find(".seg [aria-current]"), "href"); got != "?view="+string(tc.want)+"#body" {
				t.Errorf("got %s, want %s", got, tc.want)
			}
			for view, shown := range map[message.BodyView]string{message.TreeView: ".tree", message.RawView: "pre.raw", message.HexView: "pre.hex", message.HeadersView: "dl.wide"} {
				if there := doc.Find(shown).Length() > 0; there != (view == tc.want) {
					t.Errorf("%s is shown: %v", view, there)
				}
			}
		})
	}
}

func TestBodiesAreCut(t *testing.T) {
	type shown struct {
		Raw, Hex       int
		RawAll, HexAll bool
	}
	for name, tc := range map[string]struct {
		content int
		size    int64
		want    shown
	}{
		"nothing":                {0, 0, shown{0, 0, true, true}},
		"4 KB":                   {4096, 4096, shown{4096, 256, true, true}},
		"a byte more":            {4097, 4097, shown{4097, 256, true, false}},
		"1 MB":                   {1 << 20, 1 << 20, shown{1 << 20, 256, true, false}},
		"more than is looked at": {1 << 20, 1<<20 + 1, shown{4096, 256, false, false}},
	} {
		t.Run(name, func(t *testing.T) {
			m := entity.Session{HasState: true, State: message.Body{Content: []byte(strings.Repeat("x", tc.content)), Size: tc.size}}
			look := func(v message.BodyView) (text string, all bool) {
				m.View = v
				pre := read(t, m.Drawer()).Find("pre." + string(v))
				return pre.Text(), pre.Next().Length() == 0
			}
			raw, rawAll := look(message.RawView)
			hex, hexAll := look(message.HexView)
			if d := cmp.Diff(tc.want, shown{len(raw), strings.Count(hex, "\n"), rawAll, hexAll}); d != "" {
				t.Error(d)
			}
		})
	}
}

// fields returns the values of a row's fields whose names end with parts, in the table
// whose rows begin with prefix.
func fields(doc *goquery.Document, prefix string, row int, parts ...string) (values []string) {
	for _, part := range parts {
		field := doc.Find(`[name="` + prefix + strconv.Itoa(row) + part + `"]`)
		if field.Is("select") {
			field = field.Find("option[selected]")
		}
		values = append(values, attr(field, "value"))
	}
	return values
}

func TestFormOffersEmptyRows(t *testing.T) {
	rows := []send.Property{{Name: "a"}, {Kind: "int"}, {Value: "b"}}
	doc := read(t, send.Send{Properties: rows, Kinds: []string{"string", "int"}}.Full())
	if got := attr(doc.Find(`[name="`+send.SendPropertyRows+`"]`), "value"); got != "6" || doc.Find(".entry tbody tr").Length() != 6 {
		t.Errorf("%s rows: %d", got, doc.Find(".entry tbody tr").Length())
	}
	for i, want := range [][]string{{"a", "string", ""}, {"", "int", ""}, {"", "string", "b"}, {"", "string", ""}, {"", "string", ""}, {"", "string", ""}} {
		if d := cmp.Diff(want, fields(doc, send.SendPropertyPrefix, i, send.SendPropertyName, send.SendPropertyKind, send.SendPropertyValue)); d != "" {
			t.Errorf("row %d: %s", i, d)
		}
	}
}

func TestAStateIsFilledIn(t *testing.T) {
	const mostInForm = 64 << 10 // bytes
	body := func(s string) message.Body { return message.Body{Content: []byte(s), Size: int64(len(s))} }
	typed := entity.StateForm{Text: "0", As: entity.StateHex, Error: component.ServerText("no")}
	for name, tc := range map[string]struct {
		m    entity.Session
		want entity.StateForm
	}{
		"text":                   {entity.Session{State: body("{\n\t\"订\": 1}")}, entity.StateForm{Text: "{\n\t\"订\": 1}", As: entity.StateText}},
		"no text":                {entity.Session{State: body("\x00\xffab")}, entity.StateForm{Text: "00 ff 61 62", As: entity.StateHex}},
		"lines of sixteen bytes": {entity.Session{State: body("\x00" + strings.Repeat("a", 16))}, entity.StateForm{Text: "00" + strings.Repeat(" 61", 15) + "\n61", As: entity.StateHex}},
		"a form would change it": {entity.Session{State: body("a\r\nb")}, entity.StateForm{Text: "61 0d 0a 62", As: entity.StateHex}},
		"none":                   {entity.Session{}, entity.StateForm{As: entity.StateText}},
		"more than is shown":     {entity.Session{State: message.Body{Content: []byte("a"), Size: 2}}, entity.StateForm{As: entity.StateText}},
		"as large as a form has": {entity.Session{State: body(strings.Repeat("a", mostInForm))}, entity.StateForm{Text: strings.Repeat("a", mostInForm), As: entity.StateText}},
		"too large for a form":   {entity.Session{State: body(strings.Repeat("a", mostInForm+1))}, entity.StateForm{As: entity.StateText}},
		"what was typed":         {entity.Session{State: body("a"), Typed: typed}, typed},
	} {
		t.Run(name, func(t *testing.T) {
			doc := read(t, tc.m.Full())
			got := entity.StateForm{Text: doc.Find("#f-state").Text(), As: attr(doc.Find(`[name="`+entity.StateAs+`"][checked]`), "value")}
			if wrong := doc.Find("#f-state-e span").Text(); wrong != "" {
				got.Error = component.ServerText(wrong)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}
