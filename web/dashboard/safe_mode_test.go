package dashboard_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
	"mayfly/engine/namespaces"
)

// A destructiveForm is a form that irreversibly deletes something.
type destructiveForm struct {
	at     func(w *world) string
	agrees []string // fields with values that confirm the deletion
	lacks  []string // names of fields in agrees; without any one of them, nothing is deleted
	grown  []string // fields with too small a number; nil if the form confirms no number
	// instead is the status without confirmation; zero means 422.
	instead int
}

// ruinousForms returns all forms that irreversibly delete something (dashboard §4).
func ruinousForms() map[string]destructiveForm {
	at := func(path string) func(*world) string { return func(*world) string { return path } }
	message := func(do string, class engine.Class) func(*world) string {
		return func(w *world) string { return w.first("orders", class) + "/" + do }
	}
	keys := func(n int) []string { // of the messages of ruin, which have the same keys in every world
		return append(make([]string, 0, 2*n+6), "keys", strconv.Itoa(n))
	}
	return map[string]destructiveForm{
		"delete an entity": {at: at("/n/default/q/orders/delete"), agrees: []string{"count", "33", "confirm", "orders"}, lacks: []string{"count", "confirm"}, grown: []string{"count", "20", "confirm", "orders"}},
		"purge":            {at: at("/n/default/q/orders/purge"), agrees: []string{"state", "active", "count-active", "30", "confirm", "orders"}, lacks: []string{"state", "count-active", "confirm"}, grown: []string{"state", "active", "count-active", "20", "confirm", "orders"}},
		"delete a few":     {at: at("/n/default/q/orders/bulk/delete"), agrees: append(keys(3), "count", "3"), lacks: []string{"count"}, grown: append(keys(3), "count", "2"), instead: 200},
		"delete many":      {at: at("/n/default/q/orders/bulk/delete"), agrees: append(keys(21), "count", "21", "confirm", "orders"), lacks: []string{"confirm"}, grown: append(keys(21), "count", "18", "confirm", "orders")},
		"delete anywhere":  {at: at("/n/default/bulk/delete"), agrees: append(keys(21), "count", "21", "confirm", "default"), lacks: []string{"confirm"}, grown: append(keys(21), "count", "18", "confirm", "default")},
		"cancel many":      {at: at("/n/default/q/orders/bulk/cancel"), agrees: append(keys(3), "count", "3"), lacks: []string{"count"}, grown: append(keys(3), "count", "2"), instead: 200},
		"cancel anywhere":  {at: at("/n/default/bulk/cancel"), agrees: append(keys(3), "count", "3"), lacks: []string{"count"}, grown: append(keys(3), "count", "2"), instead: 200},
		"delete by a job":  {at: at("/n/default/jobs/new"), agrees: []string{"kind", "delete", "path", "orders", "q", "state:active", "count", "30", "confirm", "orders"}, lacks: []string{"count", "confirm"}, grown: []string{"kind", "delete", "path", "orders", "q", "state:active", "count", "20", "confirm", "orders"}},
		"purge by a job":   {at: at("/n/default/jobs/new"), agrees: []string{"kind", "purge", "q", "state:active", "count", "30", "confirm", "default"}, lacks: []string{"count", "confirm"}, grown: []string{"kind", "purge", "q", "state:active", "count", "20", "confirm", "default"}},
		"delete one":       {at: message("delete", engine.ClassActive), agrees: []string{"count", "1"}, lacks: []string{"count"}},
		"cancel one":       {at: message("cancel", engine.ClassScheduled), agrees: []string{"count", "1"}, lacks: []string{"count"}},
	}
}

// ruin creates the queue and the messages that these forms delete.
func ruin(w *world) {
	w.b.CreateQueue("orders", engine.Config{})
	w.fillMany("orders", 30)
	for range 3 {
		w.fill("orders", engine.Content{ScheduledFor: w.b.ClockTime().Add(time.Hour)})
	}
}

// fields returns the fields of a form. The value of "keys" is a number of messages, and is replaced
// with their keys.
func (w *world) fields(pairs []string) (out []string) {
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i] != "keys" {
			out = append(out, pairs[i], pairs[i+1])
			continue
		}
		n, err := strconv.Atoi(pairs[i+1])
		w.must(err)
		for _, r := range w.b.Rows("orders")[:n] {
			out = append(out, "key", strconv.FormatUint(uint64(r.Message.Key), 10))
		}
	}
	return out
}

// left returns how many messages there are, or a negative number if their queue was deleted.
func (w *world) left() int64 {
	synctest.Wait()
	for _, e := range w.all(engine.Queue) {
		if e.Path == "orders" {
			return e.Counts.MessageCount()
		}
	}
	return -1
}

// TestGuards: an irreversible deletion is refused without confirmation, if there are over a tenth
// more messages than were confirmed, and in Safe mode of the server or the browser. Otherwise it is
// done.
func TestGuards(t *testing.T) {
	for name, form := range ruinousForms() {
		refuses := func(what string, set func(w *world), status int, pairs []string) {
			t.Run(name+"/"+what, func(t *testing.T) {
				within(t, func(w *world) {
					ruin(w)
					set(w)
					before := w.left()
					a := w.post(form.at(w), w.fields(pairs)...)
					if a.status != status {
						t.Errorf("answered with %d, want %d: %s", a.status, status, strings.Join(strings.Fields(a.Find("main").Text()), " "))
					}
					if w.left() != before {
						t.Errorf("%d messages are left of %d", w.left(), before)
					}
				})
			})
		}
		as := func(*world) {}
		for _, lack := range form.lacks {
			status := form.instead
			if status == 0 {
				status = 422
			}
			var pairs []string
			for i := 0; i+1 < len(form.agrees); i += 2 {
				if form.agrees[i] != lack {
					pairs = append(pairs, form.agrees[i:i+2]...)
				}
			}
			refuses("without "+lack, as, status, pairs)
		}
		if form.grown != nil {
			refuses("grown", as, 409, form.grown)
		}
		refuses("Safe mode here", func(w *world) { w.done("/n/default/safe", "safe", "on") }, 403, form.agrees)
		refuses("Safe mode of the server", func(w *world) { w.safe = true; w.reopen() }, 403, form.agrees)
		t.Run(name+"/done", func(t *testing.T) {
			within(t, func(w *world) {
				ruin(w)
				from, before := w.b.Events().Last(), w.left()
				w.done("/n/default/safe", "safe", "on")
				w.done("/n/default/safe", "safe", "off")
				if a := w.post(form.at(w), w.fields(form.agrees)...); a.status != 303 || w.left() == before {
					t.Errorf("answered with %d, and %d messages are left of %d: %s", a.status, w.left(), before, a.Find("main").Text())
				}
				by := w.b.Events().Recent(int(w.b.Events().Last() - from))
				if !slices.ContainsFunc(by, func(e engine.Event) bool { return e.Audit && e.Actor == "dashboard" }) {
					t.Error("no event names the user who did it")
				}
			})
		})
	}
}

// TestSafeModeSpares: in Safe mode, forms that shorten the lives of messages, or delete rules, keys
// and session states, are refused too; operations that can be undone are done.
func TestSafeModeSpares(t *testing.T) {
	for name, tc := range map[string]struct {
		at      func(w *world) string
		pairs   []string
		refused bool
	}{
		"cut one":         {func(w *world) string { return w.first("orders", engine.ClassActive) + "/extend" }, []string{"by", "-10s"}, true},
		"extend one":      {func(w *world) string { return w.first("orders", engine.ClassActive) + "/extend" }, []string{"by", "10s"}, false},
		"cut many":        {func(*world) string { return "/n/default/q/orders/bulk/extend" }, []string{"keys", "2", "by", "−10s"}, true},
		"extend many":     {func(*world) string { return "/n/default/q/orders/bulk/extend" }, []string{"keys", "2", "by", "10s"}, false},
		"dead-letter":     {func(w *world) string { return w.first("orders", engine.ClassActive) + "/dead-letter" }, nil, false},
		"a rule":          {func(*world) string { return "/n/default/t/prices/s/eu/rules/remove" }, []string{"rule", "$Default"}, true},
		"all keys":        {func(*world) string { return "/n/default/access/renew" }, []string{"rule", "RootManageSharedAccessKey", "key", "primary"}, true},
		"an access rule":  {func(*world) string { return "/n/default/access/remove" }, []string{"rule", "ci"}, true},
		"a session":       {func(*world) string { return "/n/default/q/chats/session/clear?id=anna" }, nil, true},
		"its state":       {func(*world) string { return "/n/default/q/chats/session/state?id=anna" }, []string{"state", "x"}, true},
		"they run out":    {func(*world) string { return "/n/default/q/orders/edit?agreed=99" }, []string{"DefaultMessageTimeToLive", "1s"}, true},
		"a longer life":   {func(*world) string { return "/n/default/q/orders/edit" }, []string{"DefaultMessageTimeToLive", "10d"}, false},
		"counting":        {func(*world) string { return "/n/default/q/orders/purge" }, []string{"state", "active", "count-active", "30", "look", "match"}, false},
		"asking":          {func(*world) string { return "/n/default/q/orders/bulk/delete" }, []string{"keys", "2"}, false},
		"moving by a job": {func(*world) string { return "/n/default/jobs/new" }, []string{"kind", "dead-letter", "path", "orders", "count", "99"}, false},
		"pin":             {func(*world) string { return "/n/default/q/orders/touch" }, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			within(t, func(w *world) {
				ruin(w)
				w.b.CreateEntity(engine.Topic, "prices", engine.Config{})
				w.b.CreateEntity(engine.Subscription, "prices/Subscriptions/eu", engine.Config{})
				w.pass(2 * time.Second)
				w.done("/n/default/safe", "safe", "on")
				a := w.post(tc.at(w), w.fields(tc.pairs)...)
				if refused := a.status == 403 && strings.Contains(a.text, "Safe mode is on"); refused != tc.refused {
					t.Errorf("%d: %s", a.status, strings.Join(strings.Fields(a.Find("main").Text()), " "))
				}
			})
		})
	}
}

// TestSafeModeShows: in Safe mode the header shows it, and refused operations are shown with
// the reason.
func TestSafeModeShows(t *testing.T) {
	within(t, func(w *world) {
		ruin(w)
		plain := w.see("/n/default/q/orders")
		if plain.Find(".shield").Length() != 0 || plain.Find("[formaction$='/safe'][value=on]").Length() != 1 || plain.Find("[aria-disabled]").Length() != 0 {
			t.Error("the page shows Safe mode")
		}
		w.done("/n/default/safe", "safe", "on", "back", "/n/default/q/orders")
		page := w.see("/n/default/q/orders")
		if page.Find(".shield").Text() == "" || page.Find("[href$='/delete'], a[href$='/purge'], [formaction$='/bulk/delete']").Length() != 0 {
			t.Error("a refused action is enabled")
		}
		if n := page.Find("[aria-disabled=true][title*='Safe mode is on']").Length(); n != 3 {
			t.Errorf("%d elements show why they are disabled", n)
		}
		ask := w.see("/n/default/q/orders/purge")
		ask.wants(200, "Safe mode is on", "the shield at the top")
		if _, off := ask.Find("footer .final").Attr("disabled"); !off {
			t.Error("the last button is enabled")
		}
		if _, off := w.see("/n/default/jobs/new?kind=delete&path=orders").Find("footer .final").Attr("disabled"); !off {
			t.Error("the last button of the job is enabled")
		}
		w.safe = true
		w.reopen()
		w.see("/n/default/q/orders/purge").wants(200, "--safe-mode")
		if w.see("/n/default").Find("[formaction$='/safe']").Length() != 0 {
			t.Error("the page has a switch for the server's Safe mode")
		}
		w.post("/n/default/safe", "safe", "off").wants(403, "Safe mode is on")
	})
}

// TestNamespaceIsGuarded: another namespace is not removed without its name, nor in Safe mode,
// whether the server or the browser has it on; creating one is allowed.
func TestNamespaceIsGuarded(t *testing.T) {
	const at = "/namespaces/shop/remove"
	for name, tc := range map[string]struct {
		set    func(w *world)
		fields []string
		status int
	}{
		"without the name":        {nil, nil, 422},
		"with another's":          {nil, []string{"confirm", "till"}, 422},
		"Safe mode here":          {func(w *world) { w.done("/n/default/safe", "safe", "on") }, []string{"confirm", "shop"}, 403},
		"Safe mode of the server": {func(w *world) { w.safe = true; w.reopen() }, []string{"confirm", "shop"}, 403},
		"agreed to":               {nil, []string{"confirm", " Shop "}, 303},
	} {
		t.Run(name, func(t *testing.T) {
			withinNamespaces(t, openManager, func(w *world) {
				_, err := w.manager.Create(w.Context(), namespaces.Spec{Name: "shop"}, "test")
				w.must(err)
				if tc.set != nil {
					tc.set(w)
				}
				page := w.see(at)
				_, off := page.Find("footer .final").Attr("disabled")
				if off != (tc.status == 403) {
					w.Errorf("the last button is disabled: %v", off)
				}
				if a := w.post(at, tc.fields...); a.status != tc.status {
					w.Errorf("%d %s", a.status, a.Find("main").Text())
				}
				if _, there := w.manager.Find("shop"); there == (tc.status == 303) {
					w.Errorf("the namespace exists: %v", there)
				}
				if a := w.post("/namespaces", "name", "till"); a.status != 303 {
					w.Errorf("no namespace can be created: %d", a.status)
				}
			})
		})
	}
}

// TestLimitsOfANamespace: the limits of a namespace are changed on a page; namespaces with
// fixed limits show why.
func TestLimitsOfANamespace(t *testing.T) {
	withinNamespaces(t, openManager, func(w *world) {
		for _, s := range []namespaces.Spec{{Name: "shop", Profile: "premium"}, {Name: "demo", Temporary: true}} {
			_, err := w.manager.Create(w.Context(), s, "test")
			w.must(err)
		}
		if w.see("/namespaces").Find(`a[href="/namespaces/shop/limits"]`).Text() != "Premium" {
			w.Error("no link leads to the page")
		}
		if is, _ := w.see("/namespaces/shop/limits").Find("option[selected]").Attr("value"); is != "premium" {
			w.Errorf("the page shows %q", is)
		}
		w.post("/namespaces/shop/limits", "profile", "gold").wants(422, "The profile 'gold' does not exist")
		if says, at := w.done("/namespaces/shop/limits", "profile", "emulator"); at != "/namespaces" || !strings.Contains(says, "shop has other limits") {
			w.Errorf("%s shows %q", at, says)
		}
		if n, _ := w.manager.Find("shop"); n.Profile != "emulator" || n.Broker.Limits().Tier != "Emulator" {
			w.Errorf("got %+v", n)
		}
		for _, at := range []string{"/namespaces/default/limits", "/namespaces/demo/limits", "/namespaces/none/limits"} {
			w.get(at).wants(404)
		}
		w.post("/namespaces/demo/limits", "profile", "premium").wants(404)
		w.post("/namespaces/none/limits", "profile", "premium").wants(404)
	})
}
