package route

import (
	"mayfly/web/auth"
	"mayfly/web/dashboard/message"
	"mayfly/web/dashboard/operate"
	"mayfly/web/dashboard/pages"
	"mayfly/web/dashboard/send"
)

func messageRoutes() []pages.Route {
	return []pages.Route{
		{Kind: pages.Message, Type: pages.TypePage, Live: true, Leads: true, Get: message.Message},
		{Kind: pages.Message, Action: "body", Type: pages.TypeFile},
		{Kind: pages.Message, Action: "complete", Role: auth.Operator, Destroys: pages.Always()},
		{Kind: pages.Message, Action: "abandon", Role: auth.Operator, Destroys: pages.Never()},
		{Kind: pages.Message, Action: "defer", Role: auth.Operator, Destroys: pages.Never()},
		{Kind: pages.Message, Action: "dead-letter", Type: pages.TypeForm, Role: auth.Operator, Destroys: pages.Never(), Form: message.ConfirmMessage},
		{Kind: pages.Message, Action: "delete", Type: pages.TypeForm, Role: auth.Operator, Destroys: pages.Always(), Form: message.ConfirmMessage},
		{Kind: pages.Message, Action: "cancel", Type: pages.TypeForm, Role: auth.Operator, Destroys: pages.Always(), Form: message.ConfirmMessage},
		{Kind: pages.Message, Action: "edit", Type: pages.TypeForm, Role: auth.Operator, Destroys: pages.Never(), Form: send.EditMessageForm},
		{Kind: pages.Message, Action: "resubmit", Type: pages.TypeForm, Role: auth.Operator, Destroys: pages.Never(), Form: message.ConfirmMessage},
		{Kind: pages.Message, Action: "resubmit-copy", Role: auth.Operator, Destroys: pages.Never()},
		{Kind: pages.Message, Action: "send-now", Role: auth.Operator, Destroys: pages.Never()},
		{Kind: pages.Message, Action: "reschedule", Type: pages.TypeForm, Role: auth.Operator, Destroys: pages.Never(), Form: message.ConfirmMessage},
		{Kind: pages.Message, Action: "extend", Type: pages.TypeForm, Role: auth.Operator, Destroys: pages.Depends(shortensTTL), Form: message.ConfirmMessage},
		{Kind: pages.Message, Action: "return", Role: auth.Operator, Destroys: pages.Never()},
		{Kind: pages.Message, Action: "fetch", Role: auth.Operator, Destroys: pages.Never()},
		{Kind: pages.Message, Action: "break-lock", Role: auth.Operator, Destroys: pages.Never()},
		{Kind: pages.Message, Action: "renew", Role: auth.Operator, Destroys: pages.Never()},
	}
}

// bulkRoutes returns the routes of actions on selected messages, of one entity or of any.
func bulkRoutes(of pages.PageKind) []pages.Route {
	return []pages.Route{
		{Kind: of, Action: "bulk/delete", Role: auth.Operator, Destroys: pages.Depends(deletesSelected), Form: operate.ConfirmBulk},
		{Kind: of, Action: "bulk/cancel", Role: auth.Operator, Destroys: pages.Depends(deletesSelected), Form: operate.ConfirmBulk},
		{Kind: of, Action: "bulk/dead-letter", Role: auth.Operator, Destroys: pages.Never(), Form: operate.ConfirmBulk},
		{Kind: of, Action: "bulk/resubmit", Role: auth.Operator, Destroys: pages.Never(), Form: operate.ConfirmBulk},
		{Kind: of, Action: "bulk/copy", Role: auth.Operator, Destroys: pages.Never(), Form: operate.ConfirmBulk},
		{Kind: of, Action: "bulk/move", Role: auth.Operator, Destroys: pages.Never(), Form: operate.ConfirmBulk},
		{Kind: of, Action: "bulk/extend", Role: auth.Operator, Destroys: pages.Depends(shortensTTL), Form: operate.ConfirmBulk},
		{Kind: of, Action: "bulk/reschedule", Role: auth.Operator, Destroys: pages.Never(), Form: operate.ConfirmBulk},
		{Kind: of, Action: "bulk/send-now", Role: auth.Operator, Destroys: pages.Never(), Form: operate.ConfirmBulk},
		{Kind: of, Action: "bulk/return", Role: auth.Operator, Destroys: pages.Never(), Form: operate.ConfirmBulk},
		{Kind: of, Action: "bulk/break-lock", Role: auth.Operator, Destroys: pages.Never(), Form: operate.ConfirmBulk},
		{Kind: of, Action: "bulk/export", Role: auth.Viewer, Destroys: pages.Never(), Form: operate.ConfirmBulk},
	}
}
