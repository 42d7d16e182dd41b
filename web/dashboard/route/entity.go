package route

import (
	"mayfly/engine"
	"mayfly/engine/search/columns"
	"mayfly/web/auth"
	"mayfly/web/dashboard/entity"
	"mayfly/web/dashboard/operate"
	"mayfly/web/dashboard/pages"
	"mayfly/web/dashboard/send"
)

func entityRoutes() []pages.Route {
	topics := []engine.EntityKind{engine.Topic}
	withSessions := []engine.EntityKind{engine.Queue, engine.Subscription}
	return []pages.Route{
		{Kind: pages.Entity, Type: pages.TypePage, List: columns.Messages, Live: true, Leads: true, Get: entity.Entity},
		{Kind: pages.Entity, Action: "new", Entities: topics, Type: pages.TypeForm, Role: auth.Admin, Destroys: pages.Never(), Form: entity.CreateForm},
		{Kind: pages.Entity, Action: "edit", Type: pages.TypeForm, Role: auth.Admin, Destroys: pages.InHandler(), Form: entity.EditForm},
		{Kind: pages.Entity, Action: "delete", Type: pages.TypeForm, Role: auth.Admin, Destroys: pages.Always(), Form: entity.ConfirmDelete},
		{Kind: pages.Entity, Action: "status", Type: pages.TypeForm, Role: auth.Admin, Destroys: pages.Never(), Form: entity.ConfirmStatus},
		{Kind: pages.Entity, Action: "pin", Role: auth.Admin, Destroys: pages.Never()},
		{Kind: pages.Entity, Action: "unpin", Role: auth.Admin, Destroys: pages.Never()},
		{Kind: pages.Entity, Action: "touch", Role: auth.Operator, Destroys: pages.Never()},
		{Kind: pages.Entity, Action: "send", Type: pages.TypeForm, Role: auth.Operator, Destroys: pages.Never(), Form: send.Form},
		{Kind: pages.Entity, Action: "import", Type: pages.TypeForm, Role: auth.Operator, Destroys: pages.Never(), Form: send.Import},
		{Kind: pages.Entity, Action: "import/start", Role: auth.Operator, Destroys: pages.Never()},
		{Kind: pages.Entity, Action: "receive", Role: auth.Operator, Destroys: pages.Never()},
		{Kind: pages.Entity, Action: "purge", Type: pages.TypeForm, Role: auth.Operator, Destroys: pages.Depends(purgesNow), Form: operate.ConfirmPurge},
		{Kind: pages.Entity, Action: "resubmit", Type: pages.TypeForm, Role: auth.Operator, Destroys: pages.Never(), Form: operate.ConfirmResubmit},
		{Kind: pages.Entity, Action: "rules/add", Role: auth.Admin, Destroys: pages.Never()},
		{Kind: pages.Entity, Action: "rules/remove", Role: auth.Admin, Destroys: pages.Always()},
		{Kind: pages.Entity, Action: "rules/new", Type: pages.TypeForm, Role: auth.Admin, Destroys: pages.Never(), Form: entity.RuleForm},
		{Kind: pages.Entity, Action: "rules/edit", Type: pages.TypeForm, Role: auth.Admin, Destroys: pages.Never(), Form: entity.RuleForm},
		{Kind: pages.Entity, Action: "rules/try", Type: pages.TypeForm, Role: auth.Viewer, Destroys: pages.Never(), Form: entity.RuleForm},
		{Kind: pages.Session, Entities: withSessions, Type: pages.TypePage, Live: true, Leads: true, Get: entity.Session},
		{Kind: pages.Session, Entities: withSessions, Action: "receive", Role: auth.Operator, Destroys: pages.Never()},
		{Kind: pages.Session, Entities: withSessions, Action: "release", Role: auth.Operator, Destroys: pages.Never()},
		{Kind: pages.Session, Entities: withSessions, Action: "break", Role: auth.Operator, Destroys: pages.Never()},
		{Kind: pages.Session, Entities: withSessions, Action: "state", Role: auth.Operator, Destroys: pages.Always()},
		{Kind: pages.Session, Entities: withSessions, Action: "clear", Role: auth.Operator, Destroys: pages.Always()},
	}
}
