package route

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"sync"

	"mayfly/engine/broker"
	"mayfly/engine/job"
	"mayfly/views/page"
	"mayfly/views/view"
	"mayfly/web/dashboard/admin"
	"mayfly/web/dashboard/pages"
)

// Start starts recording events, for all pages of the dashboard. Call Close when done.
func Start(b *broker.Broker, o pages.Options) *pages.Pages { return pages.Open(b, Routes(), o) }

// Routes returns the table of all routes.
func Routes() *pages.Table { return builtTable() }

var builtTable = sync.OnceValue(func() *pages.Table { return pages.NewTable(routes()) }) //nolint:gochecknoglobals // built once, never changed

// routes returns the routes of the dashboard. A new page needs a row here, and a
// handler in web/dashboard if it has a POST.
func routes() []pages.Route {
	return slices.Concat(serverRoutes(), namespaceRoutes(), adminRoutes(), entityRoutes(), messageRoutes(), bulkRoutes(pages.SelectedMessages), bulkRoutes(pages.Entity))
}

// definitionsForm returns the form for a Config.json.
func definitionsForm(ctx context.Context, p *pages.Pages, at pages.Address, _ pages.FormState) (view.Page, error) {
	return admin.Definitions(ctx, p, at, admin.ConfigUpload{})
}

// shortensTTL reports whether a form subtracts time from messages, which may make them expire.
func shortensTTL(_ *pages.Pages, _ pages.Address, typed url.Values) bool {
	return strings.ContainsAny(typed.Get(page.FieldBy), "-−")
}

// purgesNow reports whether a form removes messages, rather than count them.
func purgesNow(_ *pages.Pages, _ pages.Address, typed url.Values) bool {
	return !typed.Has(page.FieldCountOnly)
}

// deletesSelected reports whether a form deletes the selected messages, rather than ask for
// confirmation or for a job.
func deletesSelected(_ *pages.Pages, _ pages.Address, typed url.Values) bool {
	return typed.Has(page.FieldCount) && !typed.Has(page.FieldAll)
}

func startsDestructiveJob(p *pages.Pages, at pages.Address, typed url.Values) bool {
	return job.Kind(typed.Get(page.FieldJobKind)).Destructive() || shortensTTL(p, at, typed)
}

func resumesDestructiveJob(p *pages.Pages, at pages.Address, _ url.Values) bool {
	if p.Options.Jobs == nil {
		return false
	}
	is, err := p.Options.Jobs.Job(job.ID(at.ID))
	return err == nil && is.Plan.Destructive()
}
