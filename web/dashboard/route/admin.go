package route

import (
	"mayfly/views/layout"
	"mayfly/web/auth"
	"mayfly/web/dashboard/activity"
	"mayfly/web/dashboard/admin"
	"mayfly/web/dashboard/entity"
	"mayfly/web/dashboard/operate"
	"mayfly/web/dashboard/pages"
)

// adminRoutes returns the routes that change the entities, definitions or access rules of a
// namespace.
func adminRoutes() []pages.Route {
	return []pages.Route{
		{Kind: pages.Queues, Type: pages.TypePage, PostRole: auth.Admin, Destroys: pages.Never(), Section: layout.Queues, Live: true, Leads: true, Get: entity.Entities},
		{Kind: pages.Queues, Action: "new", Type: pages.TypeForm, Role: auth.Admin, Section: layout.Queues, Form: entity.CreateForm},
		{Kind: pages.Topics, Type: pages.TypePage, PostRole: auth.Admin, Destroys: pages.Never(), Section: layout.Topics, Live: true, Leads: true, Get: entity.Entities},
		{Kind: pages.Topics, Action: "new", Type: pages.TypeForm, Role: auth.Admin, Section: layout.Topics, Form: entity.CreateForm},
		{Kind: pages.CreateStarter, Role: auth.Admin, Destroys: pages.Never()},
		{Kind: pages.DeletedEntity, Action: "restore", Role: auth.Admin, Destroys: pages.Never()},
		{Kind: pages.Definitions, Type: pages.TypeFile},
		{Kind: pages.Definitions, Action: "import", Type: pages.TypeForm, Role: auth.Admin, Destroys: pages.InHandler(), Form: definitionsForm},
		{Kind: pages.Access, Type: pages.TypePage, Section: layout.Access, Live: true, Leads: true, Get: admin.Access},
		{Kind: pages.Access, Action: "new", Type: pages.TypeForm, Role: auth.Admin, Destroys: pages.Never(), Section: layout.Access, Form: admin.AccessForm},
		{Kind: pages.Access, Action: "keys", Type: pages.TypeRedirect, Role: auth.Admin, Destroys: pages.Never(), Section: layout.Access},
		{Kind: pages.Access, Action: "renew", Type: pages.TypeForm, Role: auth.Admin, Destroys: pages.Always(), Section: layout.Access, Form: admin.AccessForm},
		{Kind: pages.Access, Action: "remove", Type: pages.TypeForm, Role: auth.Admin, Destroys: pages.Always(), Section: layout.Access, Form: admin.AccessForm},
		{Kind: pages.Alerts, Type: pages.TypePage, Live: true, Leads: true, Get: activity.Alerts},
		{Kind: pages.Alerts, Action: "new", Type: pages.TypeForm, Role: auth.Admin, Destroys: pages.Never(), Form: activity.AlertForm},
		{Kind: pages.Alerts, Action: "try", Role: auth.Admin, Destroys: pages.Never()},
		{Kind: pages.Alerts, Action: "toasts", Type: pages.TypeFragment},
		{Kind: pages.Alert, Type: pages.TypePage, Live: true, Leads: true, Get: activity.Alert},
		{Kind: pages.Alert, Action: "edit", Type: pages.TypeForm, Role: auth.Admin, Destroys: pages.Never(), Form: activity.AlertForm},
		{Kind: pages.Alert, Action: "try", Role: auth.Admin, Destroys: pages.Never()},
		{Kind: pages.Alert, Action: "remove", Type: pages.TypeForm, Role: auth.Admin, Destroys: pages.Never(), Form: activity.AlertForm},
		{Kind: pages.Alert, Action: "on", Role: auth.Admin, Destroys: pages.Never()},
		{Kind: pages.Alert, Action: "off", Role: auth.Admin, Destroys: pages.Never()},
		{Kind: pages.Alert, Action: "test", Role: auth.Admin, Destroys: pages.Never()},
		{Kind: pages.DamagedMessages, Type: pages.TypePage, Live: true, Leads: true, Get: operate.Damaged},
		{Kind: pages.DamagedMessages, Action: "move-aside", Type: pages.TypeForm, Role: auth.Admin, Destroys: pages.Always(), Form: operate.ConfirmMoveAside},
	}
}
