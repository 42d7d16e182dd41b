package route_test

import (
	"testing"

	"mayfly/engine"
	adminpage "mayfly/views/page/admin"
	"mayfly/web/dashboard/admin"
	"mayfly/web/dashboard/pages"
)

// TestAccessPage checks the links of the access rules page, and the connection strings of keys.
func TestAccessPage(t *testing.T) {
	const at = "Endpoint=sb://localhost:5;SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=KEY;UseDevelopmentEmulator=true;"
	inside(t, &world{more: func(o *pages.Options) { o.Connection, o.AdminConnection, o.RequiresKeys = at, at, true }}, func(w *world) {
		own := []engine.AccessRule{{Name: "a;b", Rights: engine.SendRight, PrimaryKey: "k"}, {Name: "own", Rights: engine.ManageRight, PrimaryKey: "k1="}}
		_, err := w.b.Create(w.Context(), engine.Queue, "q", engine.Config{AuthorizationRules: own}, "me")
		w.must(err)
		_, err = w.b.SetAccessRule(w.Context(), "", engine.AccessRule{Name: "all", Rights: engine.ManageRight, PrimaryKey: "k2="}, "me")
		w.must(err)
		m := w.open("/n/default/access").(pages.Refreshing).Page.(adminpage.Access)
		if r := m.Rules[0]; len(r.Rights) != 3 || r.Show != "/n/default/access/keys?rule=all" || r.Remove != "/n/default/access/remove?rule=all" || !m.Enforced {
			t.Errorf("the rule is %+v", r)
		}
		if len(m.Owners) != 1 || m.Owners[0].Href != "/n/default/access?entity=q" || len(m.Owners[0].Rules) != 2 {
			t.Errorf("with rules of their own: %+v", m.Owners)
		}
		for query, want := range map[string][2]string{
			"?rule=ALL":            {"Endpoint=sb://localhost:5;SharedAccessKeyName=all;SharedAccessKey=k2=;UseDevelopmentEmulator=true;", "Endpoint=sb://localhost:5;SharedAccessKeyName=all;SharedAccessKey=k2=;UseDevelopmentEmulator=true;"},
			"?entity=q&rule=own":   {"Endpoint=sb://localhost:5;SharedAccessKeyName=own;SharedAccessKey=k1=;UseDevelopmentEmulator=true;EntityPath=q;", ""},
			"?entity=q&rule=a%3Bb": {"", ""}, // the string cannot hold the rule's name
		} {
			place, err := w.pages.Parse("/n/default/access/keys" + query)
			w.must(err)
			got, err := admin.AccessKeys(w.Context(), w.pages, place)
			w.must(err)
			k := got.(adminpage.AccessKeys).Keys[0]
			if k.Connection != want[0] || k.Admin != want[1] || k.Value == "" {
				t.Errorf("%s: %+v", query, k)
			}
		}
	})
}
