package main

import (
	"context"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/fleet"
	"mayfly/engine/job"
	"mayfly/engine/rescue"
	"mayfly/storage"
	"mayfly/web"
	"mayfly/web/amqp"
	"mayfly/web/hook"
	"mayfly/web/metrics"
	"mayfly/web/peers"
	"mayfly/web/relay"
	"mayfly/web/sas"
	"mayfly/web/show"
)

// A space is what the program is to one namespace: its store, and the doors that
// its keeper tells.
type space struct {
	p     *program
	spec  fleet.Spec
	main  bool // it is the server's own
	store string
	named string // what a store that has several calls it
	web   *web.Space
	wire  *amqp.Space
	told  bool // of the server's own: that the present standing by has begun

	line *relay.Line // to the owner, while it stands by; nil: nothing is passed on
}

// reach has the line lead to the owner of the namespace, if that takes what is passed
// on; what is under way to another one ends.
func (sp *space) reach(owner engine.Owner) {
	place, ok := relay.ParsePlace(owner.Peer)
	if sp.line != nil && (!ok || place.String() != sp.line.To().String()) {
		sp.line.Close()
		sp.line = nil
	}
	if ok && sp.line == nil && sp.p.ports.peer != nil {
		sp.line = sp.p.relay.Line(sp.spec.Name, place)
	}
}

// own is the server's own namespace.
func (p *program) own() *space {
	return &space{
		p: p, spec: fleet.Spec{Name: p.c.Namespace}, main: true, store: p.c.Store, named: p.c.Namespace,
		web: p.server.Space, wire: p.wire.Space,
	}
}

// beside is another one, which the ports know from now on.
func (p *program) beside(s fleet.Spec) *space {
	sp := &space{p: p, spec: s, web: p.server.Add(s.Name), wire: p.wire.Add(s.Name)}
	sp.store, sp.named = storage.Beside(p.c.Store, s)
	return sp
}

// keeper owns the namespace for as long as the program runs.
func (sp *space) keeper() *fleet.Keeper {
	c := sp.p.c
	limits, err := sp.limits()
	open, log := sp.opener, c.Logger
	if !sp.main {
		log = log.With("namespace", sp.spec.Name)
	}
	if err != nil {
		open = func(func(engine.Owner), int) func(context.Context) (engine.Store, error) {
			return func(context.Context) (engine.Store, error) { return nil, err }
		}
	}
	return &fleet.Keeper{
		Open: open, Doors: sp, Shared: storage.Shared(sp.store), Wait: c.Wait, Logger: c.Logger,
		Broker: broker.Options{
			Name: sp.spec.Name, Limits: limits, Logger: log, Machine: sp.spec.Machine,
			HistoryFor: c.HistoryFor, HistoryBytes: c.HistoryBytes,
		},
	}
}

// limits are the server's, or those of the namespace's own profile.
func (sp *space) limits() (*engine.Limits, error) {
	limits := *sp.p.c.Limits
	if sp.spec.Profile != "" {
		var err error
		if limits, err = engine.Profile(sp.spec.Profile); err != nil {
			return nil, err //nolint:wrapcheck // it says what it is about
		}
	}
	limits.Namespace = sp.spec.Name
	return &limits, nil
}

// opener opens the store. Only the first time may take as long as another server
// owns the namespace: a broker that has lost it is to end, and to say so.
func (sp *space) opener(standby func(engine.Owner), lost int) func(context.Context) (engine.Store, error) {
	c := sp.p.c
	o := storage.Options{
		Logger: c.Logger, Clients: sp.p.clients, Namespace: sp.named, Lease: c.Lease, Lost: lost, Process: sp.p.process, Standby: standby,
		HistoryFor: max(0, c.HistoryFor),
		Owner:      sp.p.advertised(),
		Claim:      func(free time.Duration, gone string) bool { return sp.p.fleet.Claim(sp.spec.Name, free, gone) },
	}
	return func(ctx context.Context) (engine.Store, error) {
		s, err := c.open(ctx, sp.store, o)
		o.Standby = nil
		o.Lost++ // if it is asked for another one, it had no luck with this
		return s, err
	}
}

// Serve has all ports answer from b, when the namespace is what it is to be.
func (sp *space) Serve(ctx context.Context, b *broker.Broker) (fleet.Served, error) {
	p := sp.p
	ready, err := sp.furnish(ctx, b)
	if err != nil {
		return nil, err
	}
	leave, err := sp.keep(ctx, b)
	if err != nil {
		return nil, err
	}
	jobs, err := job.Open(ctx, b, p.c.Logger)
	if err != nil {
		leave()
		return nil, err //nolint:wrapcheck // it says what it is about
	}
	near := p.ports.loopback() && p.c.BasePath == "" // a base path is for a proxy, by which others come
	hooks := hook.New(hook.Options{Source: ready.Dashboard + "/n/" + b.Name(), Private: p.c.PrivateWebhooks || near, Logger: p.c.Logger})
	rules, err := rescue.Open(ctx, b, rescue.Options{Offer: hooks.Offer, Admit: hooks.Admit, Logger: p.c.Logger})
	if err != nil {
		hooks.Close()
		jobs.Close()
		leave()
		return nil, err //nolint:wrapcheck // it says what it is about
	}
	hooks.Ask(rules.Rule)
	pages := openDashboard(sp, beside{b, jobs, rules, hooks, sp.wire}, ready) //nolint:contextcheck // what follows the broker ends with Close, after the last request
	pages.leave = leave
	if sp.main {
		pages.doors.Reset = p.resetting(b)
	}
	p.measured.put(sp.spec.Name, &metrics.Served{
		Broker: b, Figures: pages.pages.Figures(), Peers: sp.wire, Store: func() (int64, bool) { return storeBytes(sp.store) },
	})
	sp.web.Open(pages.doors) //nolint:contextcheck // requests bring their own
	sp.wire.Open(b)
	sp.reach(engine.Owner{})
	if sp.main {
		p.start() //nolint:contextcheck // connections have lives of their own
		sp.told = false
		p.tell(ready)
	}
	return pages, nil
}

// keep has the ring keep its keys in the server's own namespace, and returns what ends
// that.
func (sp *space) keep(ctx context.Context, b *broker.Broker) (leave func(), err error) {
	if !sp.main {
		return func() {}, nil
	}
	return sp.p.keys.Serve(ctx, b) //nolint:wrapcheck // it says what it is about
}

// furnish makes the namespace what --config says, if it is the server's own, and
// finds out what to tell of it.
func (sp *space) furnish(ctx context.Context, b *broker.Broker) (Ready, error) {
	p := sp.p
	r := sp.ready(stateReady)
	r.Epoch = b.Epoch()
	var keys []engine.AccessRule
	if sp.main {
		keys = p.c.SASKeys
		if err := apply(ctx, b, p.want, p.c.Definition); err != nil {
			return r, err
		}
	}
	if sp.main {
		if err := p.scenes.Recall(ctx, b); err != nil {
			return r, err //nolint:wrapcheck // it says what it is about
		}
	}
	if err := furnishAccess(ctx, b, keys); err != nil {
		return r, err
	}
	var err error
	if r.Curl, err = curl(ctx, b, r); p.c.SAS == sas.Enforce {
		r.Curl = firstCurl(r) // which asks the dashboard
	}
	return r, err
}

// StandBy has all ports say that another server owns the namespace, or why
// nobody can, and tells it where the server is watched when that is news.
func (sp *space) StandBy(w fleet.Waiting) {
	p := sp.p
	s := web.Standby{Namespace: sp.spec.Name, Owner: w.Owner, Why: w.Why, Since: w.Since, Within: 2 * p.c.Lease, Kept: keptIn(sp.store), Fleet: p.fleet, Safe: p.c.Safe}
	p.measured.drop(sp.spec.Name)
	sp.reach(w.Owner)
	s.Line = sp.line
	sp.web.StandBy(s)
	sp.wire.StandBy(s.ReasonAMQP(), sp.line)
	if !sp.main {
		return
	}
	p.start()
	if w.Owner == (engine.Owner{}) || sp.told {
		return
	}
	sp.told = true
	r := sp.ready(stateStandby)
	r.Owner, r.Epoch = nameOf(w.Owner), w.Owner.Epoch
	p.tell(r)
}

// fleet is the namespaces that the program serves.
func (p *program) newFleet(c fleet.Catalogue) *fleet.Fleet {
	main := p.own().keeper()
	main.Shut = p.shut
	again := time.Duration(0)
	if storage.Shared(p.c.Store) {
		again = catalogueEvery
	}
	roll, _ := c.(fleet.Roll) // of stores that are shared
	board, _ := c.(fleet.Board)
	return fleet.New(fleet.Options{
		Main: main, Catalogue: c, Board: board, Again: again, Roll: roll, Name: p.process, Busy: p.busy, Most: p.c.Namespaces, Logger: p.c.Logger,
		Keep:  func(s fleet.Spec) *fleet.Keeper { return p.beside(s).keeper() },
		Known: func() { p.server.Known(); p.wire.Known() },
		Forget: func(s fleet.Spec, why string) {
			p.measured.drop(s.Name)
			p.server.Remove(s.Name)
			p.wire.Remove(s.Name, why)
		},
	})
}

// busy tells whether clients are connected to a namespace.
func (p *program) busy(name string) bool {
	sp := p.wire.Find(name)
	return sp != nil && sp.Busy()
}

// catalogueEvery is how often it is looked which namespaces other servers have
// made or removed.
const catalogueEvery = 2 * time.Second

// spaces is what pages tell of the namespaces.
func (p *program) spaces() show.Spaces {
	at := func(s fleet.Spec) string {
		if s.Name == p.c.Namespace {
			return p.c.Store
		}
		url, _ := storage.Beside(p.c.Store, s)
		return url
	}
	return show.Spaces{
		Fleet: p.fleet, Connections: p.connections, Kept: func(s fleet.Spec) string { return keptIn(at(s)) },
		Aside: func(s fleet.Spec) string {
			if storage.Kind(at(s)) != "sqlite" {
				return ""
			}
			return keptIn(p.c.Store) + ".removed"
		},
		Clients: func(name string) peers.Source {
			if sp := p.wire.Find(name); sp != nil {
				return sp
			}
			return nil
		},
	}
}
