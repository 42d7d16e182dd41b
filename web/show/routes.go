package show

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"sync"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/job"
	"mayfly/engine/search/columns"
	"mayfly/views/layout"
	"mayfly/views/page"
	"mayfly/views/view"
	"mayfly/web/auth"
	"mayfly/web/docs"
)

// The objects of addresses that belong to a namespace.
const (
	Overview         PageKind = "/n/{ns}"
	Expirations      PageKind = "/n/{ns}/expirations"
	Queues           PageKind = "/n/{ns}/queues"
	Topics           PageKind = "/n/{ns}/topics"
	Temporary        PageKind = "/n/{ns}/temporary"
	Deferred         PageKind = "/n/{ns}/deferred"
	Entity           PageKind = "/n/{ns}/{entity}"
	Session          PageKind = "/n/{ns}/{entity}/session" // one session of an entity, by the id in the query
	Message          PageKind = "/n/{ns}/m/{message}"      // wherever it is
	DeletedEntity    PageKind = "/n/{ns}/tombstones/{deleted}"
	CreateStarter    PageKind = "/n/{ns}/starter"
	Activity         PageKind = "/n/{ns}/activity"
	FilterLab        PageKind = "/n/{ns}/lab"
	Connections      PageKind = "/n/{ns}/connections"
	Connection       PageKind = "/n/{ns}/connections/{connection}"
	Access           PageKind = "/n/{ns}/access"
	Metrics          PageKind = "/n/{ns}/metrics"
	Search           PageKind = "/n/{ns}/search"
	Jobs             PageKind = "/n/{ns}/jobs"
	Job              PageKind = "/n/{ns}/jobs/{job}"
	Alerts           PageKind = "/n/{ns}/alerts"
	Alert            PageKind = "/n/{ns}/alerts/{alert}"
	Views            PageKind = "/n/{ns}/views"
	DeadLetterGroups PageKind = "/n/{ns}/dead-letters"
	Undo             PageKind = "/n/{ns}/undo/{undo}"
	SafeModeSwitch   PageKind = "/n/{ns}/safe"
	SelectedMessages          = Overview // bulk actions on messages of any entities
	APIReference     PageKind = "/n/{ns}/api"
	Templates        PageKind = "/n/{ns}/templates"
	Definitions      PageKind = "/n/{ns}/definitions"
	Import           PageKind = "/n/{ns}/import" // into any entity
	GoTo             PageKind = "/n/{ns}" + layout.GoToPath
	DamagedMessages  PageKind = "/n/{ns}/damaged"
	Share            PageKind = "/n/{ns}/share"
)

// The objects of addresses that belong to the server.
const (
	Root         PageKind = "/"
	Namespaces   PageKind = "/namespaces"
	Namespace    PageKind = "/namespaces/{namespace}"
	Scenes       PageKind = "/scenes"
	SceneText    PageKind = "/scenes/text/{scene}"
	SceneRemoval PageKind = "/scenes/remove/{scene}"
	ScenePlay    PageKind = "/scenes/play/{scene}"
	Playback     PageKind = "/scenes/on/{play}"
	PlaybackForm PageKind = "/scenes/on/{play}/{verb}"
	Tokens       PageKind = layout.TokensPath
	Token        PageKind = layout.TokensPath + "/{token}"
	Settings     PageKind = layout.SettingsPath
	Follow       PageKind = "/follow/{presentation}"
	Docs         PageKind = docs.At
	DocsPage     PageKind = docs.At + "/{doc}"
)

// Start starts recording events, for all pages of the dashboard. Call Close when done.
func Start(b *broker.Broker, o Options) *Pages { return Open(b, Routes(), o) }

// Routes returns the table of all routes.
func Routes() *Table { return builtTable() }

var builtTable = sync.OnceValue(func() *Table { return NewTable(routes()) }) //nolint:gochecknoglobals // built once, never changed

// routes returns the routes of the dashboard. A new page needs a row here, and a
// handler in web/ui if it has a POST.
func routes() []Route {
	return slices.Concat(serverRoutes(), namespaceRoutes(), adminRoutes(), entityRoutes(), messageRoutes(), bulkRoutes(SelectedMessages), bulkRoutes(Entity))
}

func serverRoutes() []Route {
	return []Route{
		{Kind: Root, Type: TypeRedirect},
		{Kind: Root, Action: "n", Type: TypeRedirect},
		{Kind: Settings, Type: TypePage, Role: auth.Viewer, Destroys: never()},
		{Kind: Follow, Type: TypeRedirect},
		{Kind: Docs, Type: TypePage},
		{Kind: Docs, Action: "api", Type: TypeRedirect},
		{Kind: DocsPage, Type: TypePage},

		{Kind: Namespaces, Type: TypePage, PostRole: auth.Admin, Destroys: never()},
		{Kind: Namespace, Action: "remove", Type: TypeForm, Role: auth.Admin, Destroys: always()},
		{Kind: Namespace, Action: "limits", Type: TypeForm, Role: auth.Admin, Destroys: never()},

		{Kind: Scenes, Type: TypePage, Leads: true},
		{Kind: Scenes, Action: "new", Type: TypeForm, Role: auth.Admin, Destroys: never()},
		{Kind: SceneText, Type: TypeFile},
		{Kind: SceneRemoval, Type: TypeForm, Role: auth.Admin, Destroys: never()},
		{Kind: ScenePlay, Role: auth.Admin, Destroys: never()},
		{Kind: Playback, Action: "next", Role: auth.Operator, Destroys: never()},
		{Kind: Playback, Action: "back", Role: auth.Operator, Destroys: never()},
		{Kind: Playback, Action: "reset", Role: auth.Operator, Destroys: never()},
		{Kind: Playback, Action: "clock", Role: auth.Operator, Destroys: never()},
		{Kind: Playback, Action: "leap", Role: auth.Operator, Destroys: never()},
		{Kind: Playback, Action: "leave", Role: auth.Admin, Destroys: never()},
		{Kind: PlaybackForm, Type: TypeRedirect},

		{Kind: Tokens, Type: TypePage},
		{Kind: Tokens, Action: "new", Type: TypePage, Role: auth.Viewer, Destroys: never()},
		{Kind: Tokens, Action: "link", Type: TypePage, Role: auth.Operator, Destroys: never()},
		{Kind: Token, Action: "revoke", Type: TypeForm, Role: auth.Viewer, Destroys: never()},
	}
}

// namespaceRoutes returns the routes of pages that show a namespace or work on its messages, and of
// settings that each user has there.
func namespaceRoutes() []Route {
	return []Route{
		{Kind: Overview, Type: TypePage, Section: layout.Overview, Live: true, Leads: true, Get: (*Pages).overview},
		{Kind: Overview, Action: "language", Role: auth.Viewer, Destroys: never()},
		{Kind: SafeModeSwitch, Role: auth.Viewer, Destroys: never()},
		{Kind: Undo, Role: auth.Operator, Destroys: never()},
		{Kind: GoTo, Type: TypePage, Get: (*Pages).goTo},
		{Kind: Expirations, Type: TypePage, Section: layout.Expirations, Live: true, Leads: true, Get: (*Pages).expirations},
		{Kind: Temporary, Type: TypePage, Section: layout.Temporary, Live: true, Leads: true, Get: (*Pages).temporary},
		{Kind: Metrics, Type: TypePage, Section: layout.Overview, Live: true, Leads: true, Get: (*Pages).metrics},
		{Kind: Deferred, Type: TypePage, Section: layout.Deferred, List: columns.DeferredList, Live: true, Leads: true, Get: (*Pages).deferred},
		{Kind: DeadLetterGroups, Type: TypePage, Live: true, Leads: true, Get: (*Pages).deadLetterGroups},
		{Kind: Search, Type: TypePage, Section: layout.Search, List: columns.SearchedMessages, Leads: true, Get: (*Pages).search},
		{Kind: APIReference, Type: TypePage, Section: layout.Overview, Leads: true, Get: (*Pages).reference},
		{Kind: Activity, Type: TypePage, Section: layout.Activity, Live: true, Leads: true, Get: (*Pages).activity},
		{Kind: Activity, Action: "export", Type: TypeFile, Section: layout.Activity},
		{Kind: FilterLab, Type: TypePage, Role: auth.Viewer, Destroys: never(), Section: layout.Topics, Live: true, Leads: true, Get: (*Pages).lab},
		{Kind: FilterLab, Action: "new", Type: TypeRedirect, Role: auth.Admin, Section: layout.Topics},
		{Kind: Connections, Type: TypePage, Section: layout.Connections, Live: true, Leads: true, Get: (*Pages).connections},
		{Kind: Connection, Type: TypePage, Section: layout.Connections, Live: true, Leads: true, Get: (*Pages).connection},
		{Kind: Connection, Action: "disconnect", Type: TypeForm, Role: auth.Operator, Destroys: never(), Section: layout.Connections, Form: (*Pages).confirmDisconnect},
		{Kind: Views, Type: TypePage, Live: true, Leads: true, Get: (*Pages).views},
		{Kind: Views, Action: "edit", Type: TypeForm, Role: auth.Operator, Destroys: never(), Form: (*Pages).viewForm},
		{Kind: Views, Action: "delete", Type: TypeForm, Role: auth.Operator, Destroys: never(), Form: (*Pages).viewForm},
		{Kind: Templates, Type: TypePage, Live: true, Leads: true, Get: (*Pages).templates},
		{Kind: Templates, Action: "rename", Role: auth.Operator, Destroys: never(), Form: (*Pages).templatesForm},
		{Kind: Templates, Action: "remove", Type: TypeForm, Role: auth.Operator, Destroys: never(), Form: (*Pages).templatesForm},
		{Kind: Jobs, Type: TypePage, Live: true, Leads: true, Get: (*Pages).jobs},
		{Kind: Jobs, Action: "new", Type: TypeForm, Role: auth.Operator, Destroys: depends(startsDestructiveJob), Form: (*Pages).jobForm},
		{Kind: Job, Type: TypePage, Live: true, Leads: true, Get: (*Pages).job},
		{Kind: Job, Action: "cancel", Role: auth.Operator, Destroys: never()},
		{Kind: Job, Action: "resume", Role: auth.Operator, Destroys: depends(resumesDestructiveJob)},
		{Kind: Job, Action: "undo", Role: auth.Operator, Destroys: never()},
		{Kind: Import, Type: TypePage, Role: auth.Operator, Destroys: never(), Form: (*Pages).Import},
		{Kind: Import, Action: "start", Role: auth.Operator, Destroys: never()},
		{Kind: Share, Type: TypePage, Role: auth.Operator, Destroys: never()},
		{Kind: Share, Action: "stop", Role: auth.Operator, Destroys: never()},
	}
}

// adminRoutes returns the routes that change the entities, definitions or access rules of a
// namespace.
func adminRoutes() []Route {
	return []Route{
		{Kind: Queues, Type: TypePage, PostRole: auth.Admin, Destroys: never(), Section: layout.Queues, Live: true, Leads: true, Get: (*Pages).entities},
		{Kind: Queues, Action: "new", Type: TypeForm, Role: auth.Admin, Section: layout.Queues, Form: (*Pages).createForm},
		{Kind: Topics, Type: TypePage, PostRole: auth.Admin, Destroys: never(), Section: layout.Topics, Live: true, Leads: true, Get: (*Pages).entities},
		{Kind: Topics, Action: "new", Type: TypeForm, Role: auth.Admin, Section: layout.Topics, Form: (*Pages).createForm},
		{Kind: CreateStarter, Role: auth.Admin, Destroys: never()},
		{Kind: DeletedEntity, Action: "restore", Role: auth.Admin, Destroys: never()},
		{Kind: Definitions, Type: TypeFile},
		{Kind: Definitions, Action: "import", Type: TypeForm, Role: auth.Admin, Destroys: inHandler(), Form: (*Pages).definitionsForm},
		{Kind: Access, Type: TypePage, Section: layout.Access, Live: true, Leads: true, Get: (*Pages).access},
		{Kind: Access, Action: "new", Type: TypeForm, Role: auth.Admin, Destroys: never(), Section: layout.Access, Form: (*Pages).accessForm},
		{Kind: Access, Action: "keys", Type: TypeRedirect, Role: auth.Admin, Destroys: never(), Section: layout.Access},
		{Kind: Access, Action: "renew", Type: TypeForm, Role: auth.Admin, Destroys: always(), Section: layout.Access, Form: (*Pages).accessForm},
		{Kind: Access, Action: "remove", Type: TypeForm, Role: auth.Admin, Destroys: always(), Section: layout.Access, Form: (*Pages).accessForm},
		{Kind: Alerts, Type: TypePage, Live: true, Leads: true, Get: (*Pages).alerts},
		{Kind: Alerts, Action: "new", Type: TypeForm, Role: auth.Admin, Destroys: never(), Form: (*Pages).alertForm},
		{Kind: Alerts, Action: "try", Role: auth.Admin, Destroys: never()},
		{Kind: Alerts, Action: "toasts", Type: TypeFragment},
		{Kind: Alert, Type: TypePage, Live: true, Leads: true, Get: (*Pages).alert},
		{Kind: Alert, Action: "edit", Type: TypeForm, Role: auth.Admin, Destroys: never(), Form: (*Pages).alertForm},
		{Kind: Alert, Action: "try", Role: auth.Admin, Destroys: never()},
		{Kind: Alert, Action: "remove", Type: TypeForm, Role: auth.Admin, Destroys: never(), Form: (*Pages).alertForm},
		{Kind: Alert, Action: "on", Role: auth.Admin, Destroys: never()},
		{Kind: Alert, Action: "off", Role: auth.Admin, Destroys: never()},
		{Kind: Alert, Action: "test", Role: auth.Admin, Destroys: never()},
		{Kind: DamagedMessages, Type: TypePage, Live: true, Leads: true, Get: (*Pages).damaged},
		{Kind: DamagedMessages, Action: "move-aside", Type: TypeForm, Role: auth.Admin, Destroys: always(), Form: (*Pages).confirmMoveAside},
	}
}

func entityRoutes() []Route {
	topics := []engine.EntityKind{engine.Topic}
	withSessions := []engine.EntityKind{engine.Queue, engine.Subscription}
	return []Route{
		{Kind: Entity, Type: TypePage, List: columns.Messages, Live: true, Leads: true, Get: (*Pages).entity},
		{Kind: Entity, Action: "new", Entities: topics, Type: TypeForm, Role: auth.Admin, Destroys: never(), Form: (*Pages).createForm},
		{Kind: Entity, Action: "edit", Type: TypeForm, Role: auth.Admin, Destroys: inHandler(), Form: (*Pages).editForm},
		{Kind: Entity, Action: "delete", Type: TypeForm, Role: auth.Admin, Destroys: always(), Form: (*Pages).confirmDelete},
		{Kind: Entity, Action: "status", Type: TypeForm, Role: auth.Admin, Destroys: never(), Form: (*Pages).confirmStatus},
		{Kind: Entity, Action: "pin", Role: auth.Admin, Destroys: never()},
		{Kind: Entity, Action: "unpin", Role: auth.Admin, Destroys: never()},
		{Kind: Entity, Action: "touch", Role: auth.Operator, Destroys: never()},
		{Kind: Entity, Action: "send", Type: TypeForm, Role: auth.Operator, Destroys: never(), Form: (*Pages).sendForm},
		{Kind: Entity, Action: "import", Type: TypeForm, Role: auth.Operator, Destroys: never(), Form: (*Pages).Import},
		{Kind: Entity, Action: "import/start", Role: auth.Operator, Destroys: never()},
		{Kind: Entity, Action: "receive", Role: auth.Operator, Destroys: never()},
		{Kind: Entity, Action: "purge", Type: TypeForm, Role: auth.Operator, Destroys: depends(purgesNow), Form: (*Pages).confirmPurge},
		{Kind: Entity, Action: "resubmit", Type: TypeForm, Role: auth.Operator, Destroys: never(), Form: (*Pages).confirmResubmit},
		{Kind: Entity, Action: "rules/add", Role: auth.Admin, Destroys: never()},
		{Kind: Entity, Action: "rules/remove", Role: auth.Admin, Destroys: always()},
		{Kind: Entity, Action: "rules/new", Type: TypeForm, Role: auth.Admin, Destroys: never(), Form: (*Pages).ruleForm},
		{Kind: Entity, Action: "rules/edit", Type: TypeForm, Role: auth.Admin, Destroys: never(), Form: (*Pages).ruleForm},
		{Kind: Entity, Action: "rules/try", Type: TypeForm, Role: auth.Viewer, Destroys: never(), Form: (*Pages).ruleForm},
		{Kind: Session, Entities: withSessions, Type: TypePage, Live: true, Leads: true, Get: (*Pages).session},
		{Kind: Session, Entities: withSessions, Action: "receive", Role: auth.Operator, Destroys: never()},
		{Kind: Session, Entities: withSessions, Action: "release", Role: auth.Operator, Destroys: never()},
		{Kind: Session, Entities: withSessions, Action: "break", Role: auth.Operator, Destroys: never()},
		{Kind: Session, Entities: withSessions, Action: "state", Role: auth.Operator, Destroys: always()},
		{Kind: Session, Entities: withSessions, Action: "clear", Role: auth.Operator, Destroys: always()},
	}
}

func messageRoutes() []Route {
	return []Route{
		{Kind: Message, Type: TypePage, Live: true, Leads: true, Get: (*Pages).message},
		{Kind: Message, Action: "body", Type: TypeFile},
		{Kind: Message, Action: "complete", Role: auth.Operator, Destroys: always()},
		{Kind: Message, Action: "abandon", Role: auth.Operator, Destroys: never()},
		{Kind: Message, Action: "defer", Role: auth.Operator, Destroys: never()},
		{Kind: Message, Action: "dead-letter", Type: TypeForm, Role: auth.Operator, Destroys: never(), Form: (*Pages).confirmMessage},
		{Kind: Message, Action: "delete", Type: TypeForm, Role: auth.Operator, Destroys: always(), Form: (*Pages).confirmMessage},
		{Kind: Message, Action: "cancel", Type: TypeForm, Role: auth.Operator, Destroys: always(), Form: (*Pages).confirmMessage},
		{Kind: Message, Action: "edit", Type: TypeForm, Role: auth.Operator, Destroys: never(), Form: (*Pages).editMessageForm},
		{Kind: Message, Action: "resubmit", Type: TypeForm, Role: auth.Operator, Destroys: never(), Form: (*Pages).confirmMessage},
		{Kind: Message, Action: "resubmit-copy", Role: auth.Operator, Destroys: never()},
		{Kind: Message, Action: "send-now", Role: auth.Operator, Destroys: never()},
		{Kind: Message, Action: "reschedule", Type: TypeForm, Role: auth.Operator, Destroys: never(), Form: (*Pages).confirmMessage},
		{Kind: Message, Action: "extend", Type: TypeForm, Role: auth.Operator, Destroys: depends(shortensTTL), Form: (*Pages).confirmMessage},
		{Kind: Message, Action: "return", Role: auth.Operator, Destroys: never()},
		{Kind: Message, Action: "fetch", Role: auth.Operator, Destroys: never()},
		{Kind: Message, Action: "break-lock", Role: auth.Operator, Destroys: never()},
		{Kind: Message, Action: "renew", Role: auth.Operator, Destroys: never()},
	}
}

// bulkRoutes returns the actions on selected messages of an entity, or of any.
func bulkRoutes(of PageKind) []Route {
	return []Route{
		{Kind: of, Action: "bulk/delete", Role: auth.Operator, Destroys: depends(deletesSelected), Form: (*Pages).confirmBulk},
		{Kind: of, Action: "bulk/cancel", Role: auth.Operator, Destroys: depends(deletesSelected), Form: (*Pages).confirmBulk},
		{Kind: of, Action: "bulk/dead-letter", Role: auth.Operator, Destroys: never(), Form: (*Pages).confirmBulk},
		{Kind: of, Action: "bulk/resubmit", Role: auth.Operator, Destroys: never(), Form: (*Pages).confirmBulk},
		{Kind: of, Action: "bulk/copy", Role: auth.Operator, Destroys: never(), Form: (*Pages).confirmBulk},
		{Kind: of, Action: "bulk/move", Role: auth.Operator, Destroys: never(), Form: (*Pages).confirmBulk},
		{Kind: of, Action: "bulk/extend", Role: auth.Operator, Destroys: depends(shortensTTL), Form: (*Pages).confirmBulk},
		{Kind: of, Action: "bulk/reschedule", Role: auth.Operator, Destroys: never(), Form: (*Pages).confirmBulk},
		{Kind: of, Action: "bulk/send-now", Role: auth.Operator, Destroys: never(), Form: (*Pages).confirmBulk},
		{Kind: of, Action: "bulk/return", Role: auth.Operator, Destroys: never(), Form: (*Pages).confirmBulk},
		{Kind: of, Action: "bulk/break-lock", Role: auth.Operator, Destroys: never(), Form: (*Pages).confirmBulk},
		{Kind: of, Action: "bulk/export", Role: auth.Viewer, Destroys: never(), Form: (*Pages).confirmBulk},
	}
}

// definitionsForm returns the form for a Config.json.
func (p *Pages) definitionsForm(ctx context.Context, at Address, _ FormState) (view.Page, error) {
	return p.Definitions(ctx, at, ConfigUpload{})
}

// shortensTTL reports whether time is taken from messages, which may make them expire.
func shortensTTL(_ *Pages, _ Address, typed url.Values) bool {
	return strings.ContainsAny(typed.Get(page.FieldBy), "-−")
}

// purgesNow reports whether a form removes messages, rather than count them.
func purgesNow(_ *Pages, _ Address, typed url.Values) bool { return !typed.Has(page.FieldCountOnly) }

// deletesSelected reports whether a form deletes the selected messages, rather than ask for
// confirmation or for a job.
func deletesSelected(_ *Pages, _ Address, typed url.Values) bool {
	return typed.Has(page.FieldCount) && !typed.Has(page.FieldAll)
}

func startsDestructiveJob(p *Pages, at Address, typed url.Values) bool {
	return job.Kind(typed.Get(page.FieldJobKind)).Destructive() || shortensTTL(p, at, typed)
}

func resumesDestructiveJob(p *Pages, at Address, _ url.Values) bool {
	if p.o.Jobs == nil {
		return false
	}
	is, err := p.o.Jobs.Job(job.ID(at.ID))
	return err == nil && is.Plan.Destructive()
}
