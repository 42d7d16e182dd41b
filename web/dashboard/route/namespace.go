package route

import (
	"mayfly/engine/search/columns"
	"mayfly/views/layout"
	"mayfly/web/auth"
	"mayfly/web/dashboard/activity"
	"mayfly/web/dashboard/admin"
	"mayfly/web/dashboard/lab"
	"mayfly/web/dashboard/list"
	"mayfly/web/dashboard/operate"
	"mayfly/web/dashboard/overview"
	"mayfly/web/dashboard/pages"
	"mayfly/web/dashboard/search"
	"mayfly/web/dashboard/send"
)

// namespaceRoutes returns the routes of pages that show a namespace or work on its messages, and
// of each user's settings in it.
func namespaceRoutes() []pages.Route {
	return []pages.Route{
		{Kind: pages.Overview, Type: pages.TypePage, Section: layout.Overview, Live: true, Leads: true, Get: overview.Overview},
		{Kind: pages.Overview, Action: "language", Role: auth.Viewer, Destroys: pages.Never()},
		{Kind: pages.SafeModeSwitch, Role: auth.Viewer, Destroys: pages.Never()},
		{Kind: pages.Undo, Role: auth.Operator, Destroys: pages.Never()},
		{Kind: pages.GoTo, Type: pages.TypePage, Get: search.GoTo},
		{Kind: pages.Expirations, Type: pages.TypePage, Section: layout.Expirations, Live: true, Leads: true, Get: overview.Expirations},
		{Kind: pages.Temporary, Type: pages.TypePage, Section: layout.Temporary, Live: true, Leads: true, Get: overview.Temporary},
		{Kind: pages.Metrics, Type: pages.TypePage, Section: layout.Overview, Live: true, Leads: true, Get: activity.Metrics},
		{Kind: pages.Deferred, Type: pages.TypePage, Section: layout.Deferred, List: columns.DeferredList, Live: true, Leads: true, Get: list.Deferred},
		{Kind: pages.DeadLetterGroups, Type: pages.TypePage, Live: true, Leads: true, Get: search.DeadLetterGroups},
		{Kind: pages.Search, Type: pages.TypePage, Section: layout.Search, List: columns.SearchedMessages, Leads: true, Get: search.Search},
		{Kind: pages.APIReference, Type: pages.TypePage, Section: layout.Overview, Leads: true, Get: admin.Reference},
		{Kind: pages.Activity, Type: pages.TypePage, Section: layout.Activity, Live: true, Leads: true, Get: activity.Activity},
		{Kind: pages.Activity, Action: "export", Type: pages.TypeFile, Section: layout.Activity},
		{Kind: pages.FilterLab, Type: pages.TypePage, Role: auth.Viewer, Destroys: pages.Never(), Section: layout.Topics, Live: true, Leads: true, Get: lab.Lab},
		{Kind: pages.FilterLab, Action: "new", Type: pages.TypeRedirect, Role: auth.Admin, Section: layout.Topics},
		{Kind: pages.Connections, Type: pages.TypePage, Section: layout.Connections, Live: true, Leads: true, Get: admin.Connections},
		{Kind: pages.Connection, Type: pages.TypePage, Section: layout.Connections, Live: true, Leads: true, Get: admin.Connection},
		{Kind: pages.Connection, Action: "disconnect", Type: pages.TypeForm, Role: auth.Operator, Destroys: pages.Never(), Section: layout.Connections, Form: admin.ConfirmDisconnect},
		{Kind: pages.Views, Type: pages.TypePage, Live: true, Leads: true, Get: list.Views},
		{Kind: pages.Views, Action: "edit", Type: pages.TypeForm, Role: auth.Operator, Destroys: pages.Never(), Form: list.ViewForm},
		{Kind: pages.Views, Action: "delete", Type: pages.TypeForm, Role: auth.Operator, Destroys: pages.Never(), Form: list.ViewForm},
		{Kind: pages.Templates, Type: pages.TypePage, Live: true, Leads: true, Get: send.Templates},
		{Kind: pages.Templates, Action: "rename", Role: auth.Operator, Destroys: pages.Never(), Form: send.TemplatesForm},
		{Kind: pages.Templates, Action: "remove", Type: pages.TypeForm, Role: auth.Operator, Destroys: pages.Never(), Form: send.TemplatesForm},
		{Kind: pages.Jobs, Type: pages.TypePage, Live: true, Leads: true, Get: operate.Jobs},
		{Kind: pages.Jobs, Action: "new", Type: pages.TypeForm, Role: auth.Operator, Destroys: pages.Depends(startsDestructiveJob), Form: operate.JobForm},
		{Kind: pages.Job, Type: pages.TypePage, Live: true, Leads: true, Get: operate.Job},
		{Kind: pages.Job, Action: "cancel", Role: auth.Operator, Destroys: pages.Never()},
		{Kind: pages.Job, Action: "resume", Role: auth.Operator, Destroys: pages.Depends(resumesDestructiveJob)},
		{Kind: pages.Job, Action: "undo", Role: auth.Operator, Destroys: pages.Never()},
		{Kind: pages.Import, Type: pages.TypePage, Role: auth.Operator, Destroys: pages.Never(), Form: send.Import},
		{Kind: pages.Import, Action: "start", Role: auth.Operator, Destroys: pages.Never()},
		{Kind: pages.Share, Type: pages.TypePage, Role: auth.Operator, Destroys: pages.Never()},
		{Kind: pages.Share, Action: "stop", Role: auth.Operator, Destroys: pages.Never()},
	}
}
