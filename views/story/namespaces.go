package story

import (
	"time"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/page/admin"
)

func namespaceShell(title string) layout.Shell {
	s := shell(title, "", "")
	s.Back, s.Live = "/namespaces", layout.Live{}
	s.AllNamespaces = "/namespaces"
	s.Namespaces = []layout.NamespaceLink{{Name: "default", Href: "/n/default"}, {Name: "demo", Href: "/n/demo"}, {Name: "shop", Href: home, Here: true}, {Name: "till", Href: "/n/till", Unserved: true}}
	return s
}

func connectionOf(host string) string {
	return "Endpoint=sb://" + host + ";SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=SAS_KEY_VALUE;UseDevelopmentEmulator=true;"
}

func namespaceRows() []admin.NamespaceRow {
	return []admin.NamespaceRow{
		{Name: "default", Href: "/n/default", Own: true, Connection: connectionOf("localhost"), State: "serving", Tier: "Standard", Kept: "/data/mayfly.db", Served: true, Counts: admin.NamespaceCounts{Entities: 4, Messages: 1204, Dead: 12, Clients: 3}, Now: now},
		{Name: "demo", Href: "/n/demo", Connection: connectionOf("demo.localhost"), State: "serving", Tier: "Standard", Served: true, Temporary: true, Until: now.Add(time.Hour), Remove: "/namespaces/demo/remove", Now: now},
		{Name: "ledger", Href: "/n/ledger", State: "standby", Owner: "http://b.example:8080", Kept: "MongoDB at db.example, database mayfly", Remove: "/namespaces/ledger/remove", Limits: "/namespaces/ledger/limits", Now: now},
		{Name: "shop", Href: home, Connection: connectionOf("shop.localhost"), State: "serving", Tier: "Premium", Kept: "/data/mayfly.db.namespaces/shop/store.db", Served: true, Counts: admin.NamespaceCounts{Entities: 12, Messages: 40, Dead: 1, Clients: 1}, Remove: "/namespaces/shop/remove", Limits: "/namespaces/shop/limits", Now: now},
		{Name: "till", Href: "/n/till", Connection: connectionOf("till.localhost"), State: "failing", Why: "The store /data/mayfly.db.namespaces/till/store.db is in use by process 4711.", Kept: "/data/mayfly.db.namespaces/till/store.db", Remove: "/namespaces/till/remove", Now: now},
	}
}

func namespaces() admin.Namespaces {
	return admin.Namespaces{Shell: namespaceShell("Namespaces"), Rows: namespaceRows(), Max: 50, New: admin.NamespaceForm{To: "/namespaces", Profiles: []string{"standard", "premium"}}}
}

func namespacesRefused() admin.Namespaces {
	m := namespaces()
	m.Trouble = "MongoDB at db.example does not answer."
	m.New.Name, m.New.NameError, m.New.Stay = "a.b", component.ServerText("'a.b' cannot be the name of a namespace. Use letters, digits and hyphens, with a letter or digit at both ends."), "1h"
	return m
}

func namespaceRemoval() admin.ConfirmRemoveNamespace {
	return admin.ConfirmRemoveNamespace{
		Shell: namespaceShell("Remove the namespace shop?"), Row: namespaceRows()[3], To: "/namespaces/shop/remove", All: "/namespaces",
		Aside: "/data/mayfly.db.removed", Typed: "till", TypeError: component.ServerText("That is not its name."),
	}
}

func namespaceLimits() admin.NamespaceLimits {
	return admin.NamespaceLimits{
		Shell: namespaceShell("Limits of shop"), Row: namespaceRows()[3], All: "/namespaces", Profile: "premium", Profiles: []string{"standard", "premium"},
		Refused: component.Notice{Tone: component.Lost, Title: "The limits of a namespace in memory cannot be changed."},
	}
}
