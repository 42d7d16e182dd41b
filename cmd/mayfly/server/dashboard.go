package server

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"mayfly/cmd/mayfly/cli"
	"mayfly/engine/alert"
	"mayfly/engine/broker"
	"mayfly/engine/job"
	"mayfly/static"
	"mayfly/web"
	"mayfly/web/api"
	"mayfly/web/auth"
	"mayfly/web/auth/sas"
	"mayfly/web/connections"
	"mayfly/web/dashboard"
	"mayfly/web/dashboard/activity"
	"mayfly/web/dashboard/pages"
	"mayfly/web/dashboard/route"
	"mayfly/web/live"
	"mayfly/web/webhook"
)

// A namespaceDashboard is the live pages of one namespace, with the services behind them.
type namespaceDashboard struct {
	pages *pages.Pages
	namespaceServices
	hub      *live.Hub
	services web.Services // everything that is served for the namespace

	detachTokens func() // removes the namespace from the server's tokens
	background   sync.WaitGroup
	stop         context.CancelFunc // ends the background goroutines
}

// namespaceServices is a broker and the services of its namespace.
type namespaceServices struct {
	broker      *broker.Broker
	jobs        *job.Jobs
	alertRules  *alert.Rules
	webhooks    *webhook.Sender
	connections connections.Source
}

// openDashboard opens the pages of the broker in o. The caller ends them with Shutdown, then
// Close, which also ends the namespace's other services.
func openDashboard(sp *servedNamespace, o namespaceServices, r Ready) *namespaceDashboard {
	b, jobs, wire, c := o.broker, o.jobs, o.connections, sp.server.config
	build := cli.Version() + " " + strings.TrimPrefix(static.URL("live.js"), static.Prefix)
	d := &namespaceDashboard{namespaceServices: o, pages: route.Start(b, pages.Options{Base: c.BasePath, Build: build, StoredIn: cli.StoreLocation(sp.storeURL), API: r.API, Document: api.Document, REST: r.Admin, Connection: r.ConnectionString, AdminConnection: r.AdminConnectionString, RequiresKeys: c.SAS == sas.Enforce, Curl: curlCreatingQueue(r), HistoryFor: max(0, c.HistoryRetention), Clients: wire, Jobs: jobs, AlertRules: o.alertRules, Webhooks: o.webhooks, Uploads: sp.server.uploads, Namespaces: sp.server.namespacesForPages(), Scenes: sp.server.scenes, Docs: sp.server.docs, Logger: c.clientLogger})}
	handler := dashboard.New(dashboard.Options{Base: c.BasePath, Broker: b, Namespaces: sp.server.namespaces, Scenes: sp.server.scenes, Forms: sp.server.forms, Presentations: &sp.server.presentations, Links: presenterLinks{sp.server.tokens}, Tokens: sp.server.tokens, PublicURLs: remoteURLs(sp.server.ports.dashboard.Addr()), Uploads: sp.server.uploads, Clients: wire, Jobs: jobs, AlertRules: o.alertRules, Pages: d.pages, Safe: c.SafeMode, Logger: c.clientLogger})
	d.hub = live.Open(live.Options{
		Base:    c.BasePath,
		Open:    d.pages.Open,
		PageURL: d.pages.Topic,
		Follow:  b.Events().Next,
		Greeting: func() live.Greeting {
			return live.Greeting{Build: build, Epoch: b.Epoch(), N: b.Events().Last(), Now: b.ClockTime().Time(), Clock: clockPace(b), Alert: latestAlert(o.alertRules)}
		},
		Allowed:          handler.Allowed,
		SafeMode:         handler.SafeMode,
		Presentations:    &sp.server.presentations,
		Followable:       d.pages.Followable,
		HomeURL:          "/n/" + url.PathEscape(b.Name()),
		SceneVisible:     sp.server.mayViewScene,
		PresentingDenied: func(r *http.Request) bool { return !auth.FromContext(r.Context()).Role.Includes(auth.Operator) },
		Logger:           c.clientLogger,

		MaxSockets: c.LiveSockets, MaxPerAddress: c.LiveSocketsPerAddress, MaxPagesPerSocket: c.LivePages,
	})
	ctx, stop := context.WithCancel(context.Background())
	d.stop = stop
	d.background.Go(func() { notifyAlerts(ctx, o.alertRules, d.hub) })
	d.background.Go(func() { notifyJobs(ctx, jobs, d.hub) })
	d.services = web.Services{Broker: b, Namespaces: sp.server.namespaces, Scenes: sp.server.scenes, ConnectionStrings: sp.server.connectionStrings, Tokens: sp.server.tokens, Clients: wire, Jobs: jobs, AlertRules: o.alertRules, Webhooks: o.webhooks, Pages: handler.Mount, PageRole: route.Routes().RequiredRole, PageError: handler.Error, Live: d.hub.Handler(), Safe: c.SafeMode, Stats: activity.Stats(d.pages)}
	return d
}

// clockPace returns the speed of the broker's clock for pages.
func clockPace(b *broker.Broker) live.ClockState {
	p := b.ClockState()
	return live.ClockState{Manual: p != broker.ClockState{Rate: 1}, Rate: p.Rate, Until: p.Until.Time()}
}

// latestAlert returns the number of the latest alert, or zero if there is none.
func latestAlert(rules *alert.Rules) uint64 {
	if all := rules.Alerts(); len(all) > 0 {
		return all[0].ID
	}
	return 0
}

// notifyAlerts notifies open pages of new alerts, until ctx ends.
func notifyAlerts(ctx context.Context, rules *alert.Rules, hub *live.Hub) {
	for told := latestAlert(rules); ; {
		changed := rules.Changed()
		if n := latestAlert(rules); n != told {
			told = n
			hub.Alert(n)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// notifyJobs updates open pages with the progress of jobs, at most twice a second, until ctx ends.
// While no job changes, it only waits.
func notifyJobs(ctx context.Context, all *job.Jobs, hub *live.Hub) {
	const pace = 500 * time.Millisecond
	ended := time.NewTimer(pages.EndedJobShown + pace) // when pages stop showing that a job has ended
	defer ended.Stop()
	for changed := all.Changed(); ; {
		select {
		case <-changed:
			ended.Reset(pages.EndedJobShown + pace)
		case <-ended.C:
		case <-ctx.Done():
			return
		}
		changed = all.Changed() // before pages read the state, so that no later change is missed
		hub.RenderAll()
		select {
		case <-time.After(pace):
		case <-ctx.Done():
			return
		}
	}
}

// Shutdown notifies open pages that the server stops, and waits until their sockets are closed or
// ctx ends, which is an error.
func (d *namespaceDashboard) Shutdown(ctx context.Context) error {
	if err := d.hub.Close(ctx); err != nil {
		return fmt.Errorf("live pages were cut off: %w", err)
	}
	return nil
}

// Close closes the pages and the services of the namespace.
func (d *namespaceDashboard) Close() {
	d.detachTokens()
	d.jobs.Close()
	d.alertRules.Close()
	d.stop()
	d.background.Wait()
	d.webhooks.Close()
	d.pages.Close()
}
