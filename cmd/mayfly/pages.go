package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"mayfly/engine/broker"
	"mayfly/engine/job"
	"mayfly/static"
	"mayfly/web"
	"mayfly/web/live"
	"mayfly/web/metrics"
	"mayfly/web/peers"
	"mayfly/web/sas"
	"mayfly/web/show"
	"mayfly/web/ui"
)

// A dashboard is the pages of a broker, kept up to date.
type dashboard struct {
	pages *show.Pages
	jobs  *job.Jobs
	hub   *live.Hub
	doors web.Doors // what is served, over all
	log   *slog.Logger
}

// openDashboard starts to follow the broker. End it with leave, then close, which
// ends the jobs too.
func openDashboard(b *broker.Broker, jobs *job.Jobs, wire peers.Source, c Config, r Ready) *dashboard {
	build := version() + " " + strings.TrimPrefix(static.URL("live.js"), static.Prefix)
	d := &dashboard{log: c.Logger, jobs: jobs, pages: show.Start(b, show.Options{Build: build, Data: keptIn(c.Store), API: r.Dashboard + "/api/v1", REST: r.Admin, Connection: r.ConnectionString, AdminConnection: r.AdminConnectionString, Keyed: c.SAS == sas.Enforce, Curl: firstCurl(r), HistoryFor: max(0, c.HistoryFor), Peers: wire, Jobs: jobs, Logger: c.Logger})}
	d.hub = live.Open(live.Options{
		Open:   d.pages.Open,
		Topic:  d.pages.Topic,
		Follow: b.Events().After,
		Hello: func() live.Hello {
			return live.Hello{Build: build, Epoch: b.Epoch(), N: b.Events().Last(), Now: b.Clock().Time()}
		},
		Logger: c.Logger,
	})
	door := ui.New(ui.Options{Broker: b, Peers: wire, Jobs: jobs, Pages: d.pages, Logger: c.Logger})
	d.doors = web.Doors{Broker: b, Peers: wire, Jobs: jobs, UI: door.Mount, UIError: door.Error, Live: d.hub.Handler(), Figures: d.pages.Figures()}
	d.doors.Metrics = metrics.Handler(metrics.Options{
		Broker: b, Figures: d.pages.Figures(), Peers: wire, Entities: c.MetricsEntities, Version: version(), Started: time.Now(),
		Store: func() (int64, bool) { return storeBytes(c.Store) },
	})
	return d
}

// leave tells open pages that the server goes away.
func (d *dashboard) leave(ctx context.Context) error {
	if err := d.hub.Close(ctx); err != nil {
		return fmt.Errorf("live pages were cut off: %w", err)
	}
	return nil
}

// end leaves and closes, for a broker that has ended before its server.
func (d *dashboard) end(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, stopPatience)
	defer cancel()
	if err := d.leave(ctx); err != nil {
		d.log.Warn("open pages were not told that the broker has ended", "err", err)
	}
	d.close()
}

// close ends what follows the broker.
func (d *dashboard) close() {
	d.jobs.Close()
	d.pages.Close()
}
