package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"mayfly/engine/broker"
	"mayfly/engine/job"
	"mayfly/engine/rescue"
	"mayfly/static"
	"mayfly/web"
	"mayfly/web/api"
	"mayfly/web/hook"
	"mayfly/web/identity"
	"mayfly/web/live"
	"mayfly/web/peers"
	"mayfly/web/sas"
	"mayfly/web/show"
	"mayfly/web/ui"
)

// A dashboard is the pages of a broker, kept up to date.
type dashboard struct {
	pages *show.Pages
	beside
	hub   *live.Hub
	doors web.Doors // what is served, over all

	leave   func() // has keys be kept here no longer
	telling sync.WaitGroup
	stop    context.CancelFunc // of telling
}

// beside is a broker and what works beside it.
type beside struct {
	broker *broker.Broker
	jobs   *job.Jobs
	rules  *rescue.Rules
	hooks  *hook.Sender
	wire   peers.Source
}

// openDashboard starts to follow the broker. End it with Leave, then Close, which
// ends what works beside the broker too.
func openDashboard(sp *space, o beside, r Ready) *dashboard {
	b, jobs, wire, c := o.broker, o.jobs, o.wire, sp.p.c
	build := version() + " " + strings.TrimPrefix(static.URL("live.js"), static.Prefix)
	d := &dashboard{beside: o, pages: show.Start(b, show.Options{Base: c.BasePath, Build: build, Data: keptIn(sp.store), API: r.API, Document: api.Document, REST: r.Admin, Connection: r.ConnectionString, AdminConnection: r.AdminConnectionString, Keyed: c.SAS == sas.Enforce, Curl: firstCurl(r), HistoryFor: max(0, c.HistoryFor), Peers: wire, Jobs: jobs, Rules: o.rules, Hooks: o.hooks, Shelf: sp.p.shelf, Spaces: sp.p.spaces(), Scenes: sp.p.scenes, Logger: c.Logger})}
	door := ui.New(ui.Options{Base: c.BasePath, Broker: b, Fleet: sp.p.fleet, Scenes: sp.p.scenes, Forms: sp.p.forms, Hall: &sp.p.hall, Links: audience{sp.p.keys}, Keys: sp.p.keys, Abroad: abroad(sp.p.ports.dashboard.Addr()), Shelf: sp.p.shelf, Peers: wire, Jobs: jobs, Rules: o.rules, Pages: d.pages, Safe: c.Safe, Logger: c.Logger})
	d.hub = live.Open(live.Options{
		Base:   c.BasePath,
		Open:   d.pages.Open,
		Topic:  d.pages.Topic,
		Follow: b.Events().Next,
		Hello: func() live.Hello {
			return live.Hello{Build: build, Epoch: b.Epoch(), N: b.Events().Last(), Now: b.Clock().Time(), Pace: paceOf(b), Alert: latest(o.rules)}
		},
		May:    door.May,
		Safety: door.Safety,
		Hall:   &sp.p.hall,
		Shown:  d.pages.Shown,
		Home:   "/n/" + url.PathEscape(b.Name()),
		Stage:  sp.p.staged,
		Mute:   func(r *http.Request) bool { return !identity.Of(r.Context()).Role.May(identity.Operator) },
		Logger: c.Logger,

		MaxSockets: c.LiveSockets, MaxPerAddress: c.LiveSocketsPerAddress, MaxSubscriptions: c.LivePages,
	})
	ctx, stop := context.WithCancel(context.Background())
	d.stop = stop
	d.telling.Go(func() { tell(ctx, o.rules, d.hub) })
	d.telling.Go(func() { progress(ctx, jobs, d.hub) })
	d.doors = web.Doors{Broker: b, Fleet: sp.p.fleet, Scenes: sp.p.scenes, Connections: sp.p.connections, Keys: sp.p.keys, Peers: wire, Jobs: jobs, Rules: o.rules, Hooks: o.hooks, UI: door.Mount, UINeeds: ui.Needs, UIError: door.Error, Live: d.hub.Handler(), Safe: c.Safe, Figures: d.pages.Figures()}
	return d
}

// paceOf is how the broker's clock runs, as pages are told.
func paceOf(b *broker.Broker) live.Pace {
	p := b.Pace()
	return live.Pace{Turned: p != broker.Pace{Rate: 1}, Rate: p.Rate, Until: p.Until.Time()}
}

// latest is the number of the latest alert; zero: there is none.
func latest(rules *rescue.Rules) uint64 {
	if all := rules.Alerts(); len(all) > 0 {
		return all[0].N
	}
	return 0
}

// tell has open pages know when there are alerts, until ctx ends.
func tell(ctx context.Context, rules *rescue.Rules, hub *live.Hub) {
	for told := latest(rules); ; {
		changed := rules.Changed()
		if n := latest(rules); n != told {
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

// progress has open pages say how far jobs have come, twice a second at most, until ctx
// ends. While there are none it only waits.
func progress(ctx context.Context, all *job.Jobs, hub *live.Hub) {
	const pace = 500 * time.Millisecond
	ended := time.NewTimer(show.JobEndShown + pace) // when pages are to say no longer that a job has ended
	defer ended.Stop()
	for changed := all.Changed(); ; {
		select {
		case <-changed:
			ended.Reset(show.JobEndShown + pace)
		case <-ended.C:
		case <-ctx.Done():
			return
		}
		changed = all.Changed() // before pages look
		hub.Again()
		select {
		case <-time.After(pace):
		case <-ctx.Done():
			return
		}
	}
}

// Leave tells open pages that the server goes away.
func (d *dashboard) Leave(ctx context.Context) error {
	if err := d.hub.Close(ctx); err != nil {
		return fmt.Errorf("live pages were cut off: %w", err)
	}
	return nil
}

// Close ends what follows the broker.
func (d *dashboard) Close() {
	d.leave()
	d.jobs.Close()
	d.rules.Close()
	d.stop()
	d.telling.Wait()
	d.hooks.Close()
	d.pages.Close()
}
