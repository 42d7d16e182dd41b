package dashboard_test

import (
	"net/http"
	"strings"
	"testing"

	"mayfly/engine"
)

// TestAccess: access rules of the namespace and of a queue are managed without scripts. Keys are
// only on the page that was requested for them, and in no event.
func TestAccess(t *testing.T) {
	within(t, func(w *world) {
		w.must(w.b.EnsureRootAccessRule(w.Context()))
		w.b.CreateQueue("a/b", engine.Config{AuthorizationRules: []engine.AccessRule{{Name: "old", Rights: engine.SendRight, PrimaryKey: "hush1", SecondaryKey: ""}}})
		const all, own = "/n/default/access", "/n/default/access?entity=a%2Fb"
		rules := func() []engine.AccessRule {
			rules, err := w.b.AccessRules(w.Context())
			w.must(err)
			return rules
		}
		if says, at := w.done(all+"/new", "name", " ci ", "rights", "Send", "rights", "Listen"); at != all || !strings.Contains(says, "Made the rule ci") {
			t.Errorf("redirected to %s, with the notice %s", at, says)
		}
		ci := rules()[0]
		if ci.Name != "ci" || ci.Rights.String() != "Listen,Send" || len(ci.PrimaryKey) != 44 || ci.PrimaryKey == ci.SecondaryKey {
			t.Fatalf("created %v", ci)
		}
		keys := w.post(all + "/keys?rule=CI")
		keys.wants(http.StatusOK, ci.PrimaryKey, ci.SecondaryKey)
		if keys.header.Get("Cache-Control") != "no-store" || keys.Find("body").AttrOr("data-live", "") != "" || keys.Find("meta[http-equiv=refresh]").Length() > 0 {
			t.Error("the page with keys may be cached, or reloads itself")
		}
		if w.done(all + "/renew?rule=ci&key=primary"); rules()[0].PrimaryKey == ci.PrimaryKey || rules()[0].SecondaryKey != ci.SecondaryKey {
			t.Error("not only the primary key has changed")
		}
		if w.done(all + "/renew?rule=ci&key=secondary"); rules()[0].SecondaryKey == ci.SecondaryKey {
			t.Error("the secondary key has not changed")
		}
		secret := func() (keys []string) {
			for _, r := range append(rules(), w.b.State("a/b").Config.AuthorizationRules...) {
				keys = append(keys, r.PrimaryKey)
			}
			return keys
		}
		for _, page := range []string{
			all, own, all + "/new", all + "/renew?rule=ci&key=primary", all + "/remove?rule=ci", own[:len(all)] + "/remove?entity=a%2Fb&rule=old", "/n/default/activity?scope=all", "/n/default/q/a%2Fb?tab=settings",
		} {
			got := w.see(page)
			for _, key := range secret() {
				if strings.Contains(got.text, key) {
					t.Errorf("%s contains a key", page)
				}
			}
		}
		if a := w.get(all + "/keys?rule=ci"); a.status != http.StatusSeeOther || a.to != all {
			t.Errorf("the address of keys returned %d %s", a.status, a.to)
		}

		w.post(all+"/keys?entity=a%2Fb&rule=old").wants(http.StatusOK, "hush1", "There is no such key.")
		if _, at := w.done(all+"/new?entity=a%2Fb", "name", "shop", "rights", "Manage"); at != own {
			t.Errorf("redirected to %s", at)
		}
		w.done(all + "/renew?entity=a%2Fb&rule=old&key=primary")
		w.done(all + "/remove?entity=a%2Fb&rule=shop")
		if is := w.b.State("a/b").Config.AuthorizationRules; len(is) != 1 || is[0].PrimaryKey == "hush1" {
			t.Errorf("the queue has %v", is)
		}
		// The queue's own form keeps its access rules.
		before := w.b.State("a/b").Config.AuthorizationRules[0]
		w.done("/n/default/q/a%2Fb/status?agreed=1", "to", "Disabled")
		w.done("/n/default/q/a%2Fb/edit", "MaxDeliveryCount", "3", "Status", "Disabled", "LockDuration", "1m", "MaxSizeInMegabytes", "1024")
		if is := w.b.State("a/b").Config; is.MaxDeliveryCount != 3 || is.Status != engine.StatusDisabled || len(is.AuthorizationRules) != 1 || is.AuthorizationRules[0] != before {
			t.Errorf("after its forms were sent, the queue is %+v", is)
		}

		w.done(all + "/remove?rule=ci")
		if left := rules(); len(left) != 1 || left[0].Name != engine.RootAccessRule {
			t.Errorf("the remaining rules are %v", left)
		}
	})
}

func TestAccessRefused(t *testing.T) {
	within(t, func(w *world) {
		w.must(w.b.EnsureRootAccessRule(w.Context()))
		w.b.CreateEntity(engine.Topic, "t", engine.Config{})
		w.b.CreateEntity(engine.Subscription, "t/Subscriptions/s", engine.Config{})
		const all = "/n/default/access"
		for name, tc := range map[string]struct {
			to     string
			fields []string
			status int
			says   string
		}{
			"no name":             {"/new", []string{"rights", "Send"}, 422, "A rule needs a name."},
			"no rights":           {"/new", []string{"name", "kept"}, 422, "at least one right"},
			"an unknown right":    {"/new", []string{"name", "kept", "rights", "Write"}, 422, "does not exist. Choose from"},
			"a name too long":     {"/new", []string{"name", strings.Repeat("n", 257), "rights", "Send"}, 422, "1 to 256 printable characters"},
			"one that is there":   {"/new", []string{"name", "rootmanagesharedaccesskey", "rights", "Send"}, 409, "already exists"},
			"no root":             {"/remove?rule=" + engine.RootAccessRule, nil, 409, "cannot be deleted"},
			"keys of nobody":      {"/keys?rule=x", nil, 404, ""},
			"a new key of nobody": {"/renew?rule=x&key=primary", nil, 404, ""},
			"neither key":         {"/renew?rule=" + engine.RootAccessRule, nil, 404, ""},
			"of a subscription":   {"/new?entity=t%2FSubscriptions%2Fs", []string{"name", "x", "rights", "Send"}, 404, ""},
			"of nothing":          {"/new?entity=x", []string{"name", "x", "rights", "Send"}, 404, ""},
		} {
			a := w.post(all+tc.to, tc.fields...)
			if a.status != tc.status || !strings.Contains(a.Find("main").Text(), tc.says) {
				t.Errorf("%s: %d: %s", name, a.status, a.Find("main").Text())
			}
			if v, _ := a.Find("[name=name]").Attr("value"); len(tc.fields) > 2 && tc.fields[1] == "kept" && v != "kept" {
				t.Errorf("%s: typed text is lost: %q", name, v)
			}
		}
		if r, err := w.b.AccessRules(w.Context()); err != nil || len(r) != 1 {
			t.Errorf("got rules %v, %v", r, err)
		}
		for _, page := range []string{"?entity=x", "?entity=t%2FSubscriptions%2Fs", "/remove?rule=" + engine.RootAccessRule, "/renew?rule=" + engine.RootAccessRule, "/renew?rule=x&key=primary", "/remove?rule=x"} {
			if a := w.get(all + page); a.status != http.StatusNotFound {
				t.Errorf("GET %s: %d", page, a.status)
			}
		}
		form := w.send(all+"/keys?rule="+engine.RootAccessRule, nil)
		if form.status != http.StatusForbidden || strings.Contains(form.text, "data-secret") {
			t.Errorf("a form without its token returned %d", form.status)
		}
	})
}
