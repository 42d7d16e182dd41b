package dashboard_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"mayfly/engine"
	"mayfly/engine/value"
)

// asked returns the fields that a page's form would send unchanged.
func (a answer) asked() url.Values {
	form := url.Values{}
	a.Find("form.asking").Find("input, textarea").Each(func(_ int, in *goquery.Selection) {
		name, _ := in.Attr("name")
		_, checked := in.Attr("checked")
		if kind, _ := in.Attr("type"); kind == "checkbox" && !checked {
			return
		}
		v, _ := in.Attr("value")
		if goquery.NodeName(in) == "textarea" {
			v = strings.ReplaceAll(strings.TrimPrefix(in.Text(), "\n"), "\n", "\r\n")
		}
		form.Add(name, v)
	})
	return form
}

// button returns the label of a form's last button.
func (a answer) button() string {
	return strings.Join(strings.Fields(a.Find("form.asking footer button").Text()), " ")
}

// sampled returns the messages in a page's sample: state, number, and label.
func (a answer) sampled() (out []string) {
	a.Find(".sample li").Each(func(_ int, li *goquery.Selection) {
		li.Find("small").Remove()
		text := strings.Join(strings.Fields(li.Text()), " ")
		is, ok := strings.CutSuffix(text, " customer.id: 4417, total: 129.90")
		if !ok {
			a.t.Errorf("%q has no preview", text)
		}
		out = append(out, is)
	})
	return out
}

// TestPurgeShowsSome: the page before a purge, or before a job, shows the first messages that
// would be removed (OPS-7).
func TestPurgeShowsSome(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{})
		for i := range 7 {
			w.fill("orders", engine.Content{Subject: fmt.Sprint("order ", i), Properties: value.Properties{{Name: "n", Value: value.OfLong(int64(i))}}})
		}
		w.must(w.b.DeadLetterMessage(w.Context(), w.b.RowsOf("orders", engine.ClassActive)[0].Message.Key, "Poison", "", "test"))
		for _, tc := range []struct {
			to   string
			want string
		}{
			{"/n/default/q/orders/purge", "Active #2 order 1|Active #3 order 2|Active #4 order 3|Active #5 order 4|Active #6 order 5"},
			{"/n/default/q/orders/purge?state=dead-letter", "Dead letter #1 order 0"},
			{"/n/default/q/orders/purge?state=active&filter=n+%3E+4", "Active #6 order 5|Active #7 order 6"},
			{"/n/default/q/orders/purge?state=scheduled", ""},
			{"/n/default/jobs/new?kind=delete&path=orders&q=order+prop.n%3A%3E%3D3", "Active #4 order 3|Active #5 order 4|Active #6 order 5|Active #7 order 6"},
		} {
			if got := strings.Join(w.see(tc.to).sampled(), "|"); got != tc.want {
				t.Errorf("%s shows %q, want %q", tc.to, got, tc.want)
			}
		}
		if age := w.see("/n/default/q/orders/purge").Find(".sample li:first-child time[data-ago]"); age.Length() != 1 {
			t.Error("the page does not show the age of the messages")
		}
	})
}

// TestPurgeByFilter: with a filter the number of matches is shown before messages are removed,
// without scripts too (OPS-7).
func TestPurgeByFilter(t *testing.T) {
	const to = "/n/default/q/orders/purge"
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{})
		price := func(v value.Value) engine.Content {
			return engine.Content{Subject: "x", Properties: value.Properties{{Name: "price", Value: v}}}
		}
		w.fill("orders", price(value.OfLong(50)), price(value.OfLong(50)), price(value.OfString("dear")), engine.Content{})
		for range 30 {
			w.fill("orders", price(value.OfLong(10)))
		}
		w.done("/n/default/q/orders/receive")
		w.must(w.b.DeadLetterMessage(w.Context(), w.b.RowsOf("orders", engine.ClassActive)[0].Message.Key, "Poison", "", "test"))
		for range 3 {
			w.fill("orders", price(value.OfLong(20)))
		}
		before := w.b.State("orders").Counts
		unchanged := func(what string) {
			t.Helper()
			if c := w.b.State("orders").Counts; c != before {
				t.Fatalf("%s: got %+v", what, c)
			}
		}

		ask := w.see(to)
		ask.wants(200, "Purge 35 messages", "Count first, then purge", "At most 1,024 characters")
		form := ask.asked()
		form.Set("filter", "-price <= -20 AND\n\nsys.Label ==")
		bad := w.send(to, form)
		bad.wants(422, "Expected a value at character")
		if v := bad.Find("#f-filter"); v.AttrOr("aria-invalid", "") != "true" || v.Text() != "-price <= -20 AND\n\nsys.Label ==" || bad.Find(".fault mark").Text() == "" {
			t.Errorf("the field is %s", v.Parent().Text())
		}
		form.Set("filter", strings.Repeat(" ", 1025)+"1")
		w.send(to, form).wants(422, "1026 characters; the maximum is 1024")
		unchanged("a bad filter")

		form.Set("filter", "-price <= -20\r\nAND sys.Label = 'x'")
		ask = w.send(to, form)
		ask.wants(200, "match the filter", "cannot be judged by the filter, stay")
		if s := ask.button(); s != "Purge 3 matching messages" || ask.Find("#f-confirm").Length() > 0 {
			t.Errorf("the button is %q", s)
		}
		unchanged("counted")
		form = ask.asked()
		for name, change := range map[string]func(url.Values){
			"another filter":   func(v url.Values) { v.Set("filter", "price = 10") },
			"no filter":        func(v url.Values) { v.Set("filter", "  ") },
			"another state":    func(v url.Values) { v.Add("state", "dead-letter") },
			"only a look":      func(v url.Values) { v.Set("look", "match") },
			"no number":        func(v url.Values) { v.Del("matching") },
			"nobody counted":   func(v url.Values) { v.Del("counted"); v.Del("counted-of") },
			"a number of none": func(v url.Values) { v.Set("matching", "-1") },
		} {
			changed := url.Values{}
			for k, v := range form {
				changed[k] = append([]string(nil), v...)
			}
			change(changed)
			if a := w.send(to, changed); a.status != http.StatusOK || a.Find("form.asking").Length() == 0 {
				t.Errorf("%s: %d", name, a.status)
			}
			unchanged(name)
		}
		w.fill("orders", price(value.OfLong(20)))
		before.Active++
		w.send(to, form).wants(409, "You agreed to 3 messages, but now there are 4. Nothing was changed.")
		unchanged("one more matches")

		// The number that confirms the purge of two subqueues is the sum of their messages. The
		// selection is in the address.
		ask = w.see(to + "?state=active&state=dead-letter&filter=" + url.QueryEscape("price >= 20 OR DeadLetterReason = 'Poison'"))
		if s := ask.button(); s != "Purge 5 matching messages" {
			t.Errorf("the button is %q", s)
		}
		form = ask.asked()
		w.fill("orders", price(value.OfLong(20)))
		before.Active++
		w.send(to, form).wants(409, "now there are 6")
		unchanged("one more matches in two places")
		form.Set("filter", "-price <= -20 OR DeadLetterReason = 'Poison'")
		form = w.send(to, form).asked()
		a := w.send(to, form)
		if a.status != http.StatusSeeOther {
			t.Fatalf("%d: %s", a.status, a.Find("main").Text())
		}
		w.see(a.to).wants(200)
		if c := w.b.State("orders").Counts; c != (engine.Counts{Active: 32, Locked: 1}) {
			t.Errorf("left %+v", c)
		}

		// A large purge requires the name.
		form = w.see(to + "?filter=price+%3D+10").asked()
		w.send(to, form).wants(422, "Type orders to confirm")
		form.Set("confirm", "orders")
		if a := w.send(to, form); a.status != http.StatusSeeOther {
			t.Errorf("%d", a.status)
		}
		if c := w.b.State("orders").Counts; c != (engine.Counts{Active: 2, Locked: 1}) {
			t.Errorf("left %+v", c)
		}
		says, _ := w.done(to, "state", "active", "count", "2", "filter", "-price > 0", "counted", "-price > 0", "counted-of", "active", "matching", "0")
		if !strings.Contains(says, "Purged 0 messages from orders") || !strings.Contains(says, "could not be evaluated for one") {
			t.Errorf("the notice is %q", says)
		}
		w.see("/n/default/activity").wants(200, "messages purged where price = 10")
	})
}

// TestPurgePicksWhatIsAskedFor: a purge preselects active messages, if there are any, or dead
// letters if it is opened from their tab (OPS-7).
func TestPurgePicksWhatIsAskedFor(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{})
		w.fill("orders", engine.Content{}, engine.Content{}, engine.Content{})
		for _, r := range w.b.RowsOf("orders", engine.ClassActive)[1:] {
			w.must(w.b.DeadLetterMessage(w.Context(), r.Message.Key, "Poison", "", "test"))
		}
		for tab, want := range map[string]string{"": "active", "?tab=messages": "active", "?tab=dead-letter": "dead-letter"} {
			to, ok := w.see("/n/default/q/orders" + tab).Find(`main a[href*="/purge"]`).Attr("href")
			picked := w.see(to).Find("form.asking input[name=state][checked]").Map(func(_ int, in *goquery.Selection) string { return in.AttrOr("value", "") })
			if got := strings.Join(picked, " "); !ok || got != want {
				t.Errorf("%q links to %s, where %q is selected", tab, to, got)
			}
		}
	})
}

// TestPurgeOpensWithWhatIsThere: a purge opens with a state that has messages; if none has, it
// is disabled. Enter, which presses the first button, only counts (OPS-7).
func TestPurgeOpensWithWhatIsThere(t *testing.T) {
	const to = "/n/default/q/orders/purge"
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{LockDuration: 5 * time.Minute})
		picked := func(a answer) (out []string) {
			a.Find("[name=state][checked]").Each(func(_ int, in *goquery.Selection) { out = append(out, in.AttrOr("value", "")) })
			return out
		}
		w.see(to).wants(200, "There is nothing to purge: orders has no messages.", "Purge 0 messages")
		none := w.see(to)
		if _, off := none.Find("form.asking [type=submit]").Attr("disabled"); !off || none.Find("#f-filter").Length() > 0 {
			t.Error("without messages, the purge button is enabled, or the page has a filter")
		}
		w.fill("orders", engine.Content{})
		w.done("/n/default/q/orders/receive")
		w.see(to).wants(200, "The one message here is locked, and a purge leaves locked messages alone.")
		w.pass(6 * time.Minute)
		w.must(w.b.DeadLetterMessage(w.Context(), w.b.RowsOf("orders", engine.ClassActive)[0].Message.Key, "Poison", "", "test"))
		for asked, want := range map[string]string{"": "dead-letter", "?state=active": "", "?state=dead-letter": "dead-letter"} {
			ask := w.see(to + asked)
			if got := strings.Join(picked(ask), " "); got != want {
				t.Errorf("%q opens with %q selected, want %q", asked, got, want)
			}
			if _, off := ask.Find("form.asking footer button").Attr("disabled"); off {
				t.Errorf("%q: the purge button is disabled", asked)
			}
		}
		ask := w.see(to)
		if first := ask.Find("form.asking [type=submit]").First(); first.AttrOr("name", "") != "look" {
			t.Errorf("Enter presses the button %q", first.Text())
		}
		form := ask.asked()
		form.Set("look", "match")
		w.send(to, form).wants(200, "Purge 1 message")
		if n := w.b.State("orders").Counts.DeadLetter; n != 1 {
			t.Errorf("%d dead letters are left", n)
		}
	})
}
