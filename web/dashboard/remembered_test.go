package dashboard_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/demo"
	"mayfly/engine/namespaces"
	"mayfly/engine/namespaces/namespacestest"
	"mayfly/storage/memory"
	"mayfly/web/auth"
)

func openManager(t *testing.T) *namespaces.Manager {
	return namespacestest.Open(t, func() engine.Store { return new(memory.Store) })
}

// A remembered form changes something, which Activity shows with the actor.
type remembered struct {
	before func(w *world) // prepares the world; nil if ruin suffices
	at     func(w *world) string
	fields []string
}

// rememberedForms returns the requests of forms, by the ends of their routes.
func rememberedForms() map[string]remembered {
	at := func(path string) func(*world) string { return func(*world) string { return path } }
	const ns, orders = "/n/default", "/n/default/q/orders"
	rule := []string{"name", "late", "when", "expiring", "in", "orders", "within", "1m", "then", "notify"}
	first := func(do string, of engine.Class) func(*world) string {
		return func(w *world) string { return w.first("orders", of) + "/" + do }
	}
	firstDead := func(do string) func(*world) string {
		return func(w *world) string { return w.first("orders/$DeadLetterQueue", engine.ClassAll) + "/" + do }
	}
	done := func(path string, fields ...string) func(*world) {
		return func(w *world) { w.done(path, fields...) }
	}
	dead := func(w *world) { w.done(w.first("orders", engine.ClassActive)+"/dead-letter", "reason", "odd") }
	other := func(w *world) { w.b.CreateQueue("other", engine.Config{}) }
	shop := func(w *world) {
		_, err := w.manager.Create(w.Context(), namespaces.Spec{Name: "shop"}, "test")
		w.must(err)
	}
	known := func(w *world) { w.caller = auth.OpenCaller() }
	idle := func(w *world) { w.b.CreateQueue("idle", engine.Config{AutoDeleteOnIdle: time.Hour}) }
	chats := func(w *world) {
		w.b.CreateQueue("chats", engine.Config{RequiresSession: true})
		w.fill("chats", engine.Content{SessionID: "anna"})
		w.done("/n/default/q/chats/session/receive?id=anna")
	}
	keys := []string{"keys", "2"}
	play := func(do string) func(w *world) string {
		return func(w *world) string {
			p, err := w.scenes.Begin(w.Context(), "deadline", "test")
			w.must(err)
			w.must(p.NextStep(w.Context(), 0, demo.Instant, "test"))
			w.must(p.NextStep(w.Context(), 1, demo.Instant, "test"))
			return "/scenes/on/" + p.Name() + "/" + do
		}
	}
	return map[string]remembered{
		"/namespaces":              {nil, at("/namespaces"), []string{"name", "shop"}},
		"/namespaces/:name/remove": {shop, at("/namespaces/shop/remove"), []string{"confirm", "shop"}},
		"/namespaces/:name/limits": {shop, at("/namespaces/shop/limits"), []string{"profile", "premium"}},
		"/tokens/new":              {known, at("/tokens/new"), []string{"name", "ci", "role", "viewer", "for", "0s"}},
		"/tokens/link":             {known, at("/tokens/link"), []string{"name", "demo", "namespace", "default", "for", "8h0m0s"}},
		"/tokens/:id/revoke": {func(w *world) {
			known(w)
			w.post("/tokens/new", "name", "ci", "role", "viewer", "for", "0s").wants(200)
		}, func(w *world) string { return "/tokens/" + w.keyed()[0].ID + "/revoke" }, nil},
		"/scenes/play/:scene":    {nil, at("/scenes/play/deadline"), nil},
		"/scenes/on/:play/next":  {nil, play("next"), []string{"step", "2"}},
		"/scenes/on/:play/back":  {nil, play("back"), []string{"step", "2"}},
		"/scenes/on/:play/reset": {nil, play("reset"), nil},
		"/scenes/on/:play/leave": {nil, play("leave"), nil},
		"/scenes/on/:play/clock": {nil, play("clock"), []string{"rate", "10"}},
		"/scenes/on/:play/leap":  {nil, play("leap"), []string{"moment", "expiry"}},
		"/queues":                {nil, at(ns + "/queues"), []string{"name", "new"}},
		"/topics":                {nil, at(ns + "/topics"), []string{"name", "new"}},
		"/t/:topic/new":          {prices, at(ns + "/t/prices/new"), []string{"name", "new"}},
		"/starter":               {nil, at(ns + "/starter"), nil},
		"/access/new":            {nil, at(ns + "/access/new"), []string{"name", "ci", "rights", "Send"}},
		"/access/renew":          {func(w *world) { w.must(w.b.EnsureRootAccessRule(w.Context())) }, at(ns + "/access/renew?rule=RootManageSharedAccessKey&key=primary"), nil},
		"/access/remove":         {done(ns+"/access/new", "name", "ci", "rights", "Send"), at(ns + "/access/remove?rule=ci"), nil},
		"/views/edit":            {nil, at(ns + "/views/edit"), []string{"do", "add", "name", "mine", "column", "seq", "show", "seq"}},
		"/views/delete":          {done(ns+"/views/edit", "do", "add", "name", "mine", "column", "seq", "show", "seq"), at(ns + "/views/delete?view=mine"), nil},
		"/send":                  {nil, at(orders + "/send"), []string{"body", "{{n}}", "template-name", "mine", "save", "1"}}, // saves a template
		"/templates/rename":      {done(orders+"/send", "body", "{{n}}", "template-name", "mine", "save", "1"), at(ns + "/templates/rename"), []string{"template", "mine", "template-name", "yours"}},
		"/templates/remove":      {done(orders+"/send", "body", "{{n}}", "template-name", "mine", "save", "1"), at(ns + "/templates/remove"), []string{"template", "mine", "count", "1"}},
		"/alerts/new":            {nil, at(ns + "/alerts/new"), rule},
		"/alerts/:id/edit":       {done(ns+"/alerts/new", rule...), at(ns + "/alerts/1/edit"), append([]string{"maxExtensions", "2"}, rule...)},
		"/alerts/:id/off":        {done(ns+"/alerts/new", rule...), at(ns + "/alerts/1/off"), nil},
		"/alerts/:id/on":         {func(w *world) { w.done(ns+"/alerts/new", rule...); w.done(ns + "/alerts/1/off") }, at(ns + "/alerts/1/on"), nil},
		"/alerts/:id/remove":     {done(ns+"/alerts/new", rule...), at(ns + "/alerts/1/remove"), nil},
		"/q/:queue/edit":         {nil, at(orders + "/edit"), []string{"MaxDeliveryCount", "5"}},
		"/q/:queue/delete":       {nil, at(orders + "/delete"), []string{"count", "33", "confirm", "orders"}},
		"/q/:queue/status":       {nil, at(orders + "/status?agreed=1"), []string{"to", "Disabled"}},
		"/q/:queue/purge":        {nil, at(orders + "/purge"), []string{"state", "active", "count-active", "30", "confirm", "orders"}},
		"/q/:queue/resubmit":     {dead, at(orders + "/resubmit"), []string{"count", "1"}},
		"/touch":                 {idle, at(ns + "/q/idle/touch"), nil},
		"/pin":                   {idle, at(ns + "/q/idle/pin"), nil},
		"/unpin":                 {func(w *world) { idle(w); w.done(ns + "/q/idle/pin") }, at(ns + "/q/idle/unpin"), nil},
		"/rules/remove":          {prices, at(ns + "/t/prices/s/eu/rules/remove?rule=%24Default"), nil},
		"/rules/add":             {func(w *world) { prices(w); w.done(ns + "/t/prices/s/eu/rules/remove?rule=%24Default") }, at(ns + "/t/prices/s/eu/rules/add"), nil},
		"/rules/new":             {prices, at(ns + "/t/prices/s/eu/rules/new"), []string{"rule-name", "all", "rule-kind", "true"}},
		"/session/break":         {chats, at(ns + "/q/chats/session/break?id=anna"), nil},
		"/m/:key/delete":         {nil, first("delete", engine.ClassActive), []string{"count", "1"}},
		"/m/:key/cancel":         {nil, first("cancel", engine.ClassScheduled), []string{"count", "1"}},
		"/m/:key/dead-letter":    {nil, first("dead-letter", engine.ClassActive), []string{"reason", "odd"}},
		"/m/:key/extend":         {nil, first("extend", engine.ClassActive), []string{"by", "10m"}},
		"/m/:key/reschedule":     {nil, first("reschedule", engine.ClassScheduled), []string{"schedule", "in", "in", "2h"}},
		"/m/:key/send-now":       {nil, first("send-now", engine.ClassScheduled), nil},
		"/m/:key/resubmit":       {dead, firstDead("resubmit"), nil},
		"/m/:key/resubmit-copy":  {dead, firstDead("resubmit-copy"), nil},
		"/bulk/delete":           {nil, at(orders + "/bulk/delete"), append([]string{"count", "2"}, keys...)},
		"/bulk/dead-letter":      {nil, at(orders + "/bulk/dead-letter"), append([]string{"count", "2"}, keys...)},
		"/bulk/extend":           {nil, at(orders + "/bulk/extend"), append([]string{"by", "10m"}, keys...)},
		"/bulk/move":             {other, at(orders + "/bulk/move"), append([]string{"count", "2", "to", "other"}, keys...)},
		"/jobs/new":              {nil, at(ns + "/jobs/new"), []string{"kind", "dead-letter", "path", "orders", "count", "33"}},
	}
}

// TestEveryFormIsRemembered: every change by a form of the dashboard is recorded by an event
// with its actor, which Activity shows: that of another namespace in the server's own.
func TestEveryFormIsRemembered(t *testing.T) {
	silent := strings.Fields(`
		/safe /language /settings /access/keys /lab /alerts/try /alerts/:id/try /alerts/:id/test /rules/try /bulk/export /import
		/receive /complete /abandon /defer /fetch /renew /session/receive /session/release
	`) // they change nothing that is stored, or do the same as a messaging client
	elsewhere := strings.Fields(`
		/import/start /definitions/import /undo/:word /tombstones/:id/restore /connections/:id/disconnect /damaged/move-aside /jobs/:id/cancel /jobs/:id/resume /jobs/:id/undo
		/m/:key/edit /rules/edit /break-lock /return /bulk/reschedule /bulk/copy /session/clear /session/state /bulk/resubmit /bulk/return /bulk/send-now /bulk/cancel
		/scenes/new /scenes/remove/:scene
	`) // they have tests of their own
	forms := rememberedForms()
	withinNamespaces(t, openManager, func(w *world) {
		e := echo.New()
		w.newDoor().Mount(e.Group(""))
		for _, r := range e.Routes() {
			ends := func(do string) bool { return strings.HasSuffix(r.Path, do) }
			known := slices.ContainsFunc(silent, ends) || slices.ContainsFunc(elsewhere, ends)
			for do := range forms {
				known = known || ends(strings.NewReplacer("/q/:queue", "").Replace(do))
			}
			if r.Method == "POST" && !known {
				t.Errorf("%s: add the form to rememberedForms, or to a list of exceptions", r.Path)
			}
		}
	})
	for name, form := range forms {
		t.Run(strings.ReplaceAll(name, "/", " "), func(t *testing.T) {
			withinNamespaces(t, openManager, func(w *world) {
				ruin(w)
				if form.before != nil {
					form.before(w)
				}
				own, _, err := w.manager.Broker("default")
				w.must(err)
				var last []uint64
				for _, b := range []*broker.Broker{w.b.Broker, own} {
					last = append(last, b.Events().Last())
				}
				if a := w.post(form.at(w), w.fields(form.fields)...); a.status != 303 && a.status != 200 { // a refused form has another status
					w.Fatalf("%d %s", a.status, strings.Join(strings.Fields(a.Find("main").Text()), " "))
				}
				synctest.Wait()
				all := []*broker.Broker{w.b.Broker, own}
				for _, p := range w.scenes.List() { // all of their events are new, except those of "test"
					b, _, err := w.manager.Broker(p.Name())
					w.must(err)
					all, last = append(all, b), append(last, 0)
				}
				for i, b := range all {
					if slices.ContainsFunc(b.Events().Recent(int(b.Events().Last()-last[i])), func(e engine.Event) bool { return e.Audit && e.Actor == "dashboard" && e.N > last[i] }) {
						return
					}
				}
				w.Error("no event names the user who did it")
			})
		})
	}
}
