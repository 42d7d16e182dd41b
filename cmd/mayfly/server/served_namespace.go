package server

import (
	"context"
	"time"

	"mayfly/cmd/mayfly/cli"
	"mayfly/engine"
	"mayfly/engine/alert"
	"mayfly/engine/broker"
	"mayfly/engine/job"
	"mayfly/engine/namespaces"
	"mayfly/storage"
	"mayfly/web"
	"mayfly/web/amqp"
	"mayfly/web/auth/sas"
	"mayfly/web/cluster"
	"mayfly/web/connections"
	"mayfly/web/dashboard/activity"
	"mayfly/web/dashboard/pages"
	"mayfly/web/prometheus"
	"mayfly/web/webhook"
)

// A servedNamespace is one namespace of the server: its store, and its handlers for HTTP and AMQP.
type servedNamespace struct {
	server    *serverRun
	spec      namespaces.Spec
	isOwn     bool // the server's own namespace
	storeURL  string
	storeName string // name of the namespace in a store with several
	web       *web.Namespace
	amqp      *amqp.Namespace
	announced bool // for the server's own namespace: whether the current standby has been announced

	forwarder *cluster.Forwarder // to the owner while this server is a standby; nil if requests are not forwarded
}

// connectToOwner sets the forwarder to the owner of the namespace, if the owner accepts forwarded
// requests. Requests under way to a former owner are cancelled.
func (sp *servedNamespace) connectToOwner(owner engine.Owner) {
	place, ok := cluster.ParseEndpoint(owner.Peer)
	if sp.forwarder != nil && (!ok || place.String() != sp.forwarder.Endpoint().String()) {
		sp.forwarder.Close()
		sp.forwarder = nil
	}
	if ok && sp.forwarder == nil && sp.server.ports.peer != nil {
		sp.forwarder = sp.server.cluster.Forwarder(sp.spec.Name, place)
	}
}

// ownNamespace returns the server's own namespace.
func (p *serverRun) ownNamespace() *servedNamespace {
	return &servedNamespace{
		server: p, spec: namespaces.Spec{Name: p.config.Namespace}, isOwn: true, storeURL: p.config.Store, storeName: p.config.Namespace,
		web: p.http.Namespace, amqp: p.amqp.Namespace,
	}
}

// addNamespace registers another namespace with the ports.
func (p *serverRun) addNamespace(s namespaces.Spec) *servedNamespace {
	sp := &servedNamespace{server: p, spec: s, web: p.http.AddNamespace(s.Name), amqp: p.amqp.Add(s.Name)}
	sp.storeURL, sp.storeName = storage.StoreURL(p.config.Store, s)
	return sp
}

// keeper returns the Keeper that opens the namespace's store and reopens it after losing it.
func (sp *servedNamespace) keeper() *namespaces.Keeper {
	c := sp.server.config
	limits, err := sp.limits()
	open, log := sp.storeOpener, c.Logger
	if !sp.isOwn {
		log = log.With("namespace", sp.spec.Name)
	}
	if err != nil {
		open = func(func(engine.Owner), int) func(context.Context) (engine.Store, error) {
			return func(context.Context) (engine.Store, error) { return nil, err }
		}
	}
	return &namespaces.Keeper{
		Open: open, Protocols: sp, Shared: storage.Shared(sp.storeURL), OpenTimeout: c.StoreWait, Logger: c.Logger,
		Broker: broker.Options{
			Name: sp.spec.Name, Limits: limits, Logger: log, ManualClock: sp.spec.ManualClock, Memory: sp.server.memory,
			HistoryFor: c.HistoryRetention, HistoryBytes: c.HistoryBytes,
		},
	}
}

// limits returns the limits of the namespace's profile, or the server's.
func (sp *servedNamespace) limits() (*engine.Limits, error) {
	limits := *sp.server.config.Limits
	if sp.spec.Profile != "" {
		var err error
		if limits, err = engine.Profile(sp.spec.Profile); err != nil {
			return nil, err
		}
	}
	limits.Namespace = sp.spec.Name
	return &limits, nil
}

// storeOpener returns a function that opens the store. Its first call waits while another server
// owns the namespace, and calls standby with each owner. Further calls fail instead, because a
// broker that has lost the namespace must end and report that. `lost` is the number of earlier
// opens in a row that lost the namespace.
func (sp *servedNamespace) storeOpener(standby func(engine.Owner), lost int) func(context.Context) (engine.Store, error) {
	c := sp.server.config
	o := storage.Options{
		Logger: c.Logger, Clients: sp.server.storeClients, Namespace: sp.storeName, Lease: c.Lease, LostOpens: lost, Process: sp.server.processID, Standby: standby,
		HistoryRetention: max(0, c.HistoryRetention),
		Owner:            sp.server.advertised(),
		Claim: func(free time.Duration, gone string) bool {
			return sp.server.namespaces.Claim(sp.spec.Name, free, gone)
		},
	}
	return func(ctx context.Context) (engine.Store, error) {
		s, err := c.OpenStore(ctx, sp.storeURL, o)
		o.Standby = nil
		o.LostOpens++ // a further call means that the store was lost
		return s, err
	}
}

// Serve opens the services of the namespace and serves b at all ports.
func (sp *servedNamespace) Serve(ctx context.Context, b *broker.Broker) (namespaces.ServeHandle, error) {
	p := sp.server
	ready, err := sp.prepare(ctx, b)
	if err != nil {
		return nil, err
	}
	leave, err := sp.serveTokens(ctx, b)
	if err != nil {
		return nil, err
	}
	jobs, err := job.Open(ctx, b, p.config.Logger)
	if err != nil {
		leave()
		return nil, err
	}
	near := p.ports.loopback() && p.config.BasePath == "" // a base path means a proxy, which serves other machines
	hooks := webhook.New(webhook.Options{Source: ready.Dashboard + "/n/" + b.Name(), AllowPrivate: p.config.PrivateWebhooks || near, Logger: p.config.clientLogger})
	rules, err := alert.Open(ctx, b, alert.Options{Send: hooks.Offer, AllowURL: hooks.CheckAddress, Logger: p.config.Logger})
	if err != nil {
		hooks.Close()
		jobs.Close()
		leave()
		return nil, err
	}
	hooks.SetLookup(rules.Rule)
	pages := openDashboard(sp, namespaceServices{b, jobs, rules, hooks, sp.amqp}, ready) //nolint:contextcheck // its goroutines end with Close, after the last request
	pages.detachTokens = leave
	if sp.isOwn {
		pages.services.Reset = p.resetHandler(b)
	}
	p.metrics.put(sp.spec.Name, &prometheus.Served{
		Broker: b, Stats: activity.Stats(pages.pages), Clients: sp.amqp, Store: func() (int64, bool) { return cli.StoreBytes(sp.storeURL) },
	})
	sp.web.Open(pages.services) //nolint:contextcheck // requests bring their own
	sp.amqp.Open(b)
	sp.connectToOwner(engine.Owner{})
	if sp.isOwn {
		p.start() //nolint:contextcheck // connections have lives of their own
		sp.announced = false
		p.announce(ready)
	}
	return pages, nil
}

// serveTokens keeps the server's tokens in its own namespace until leave is called. For other
// namespaces it does nothing.
func (sp *servedNamespace) serveTokens(ctx context.Context, b *broker.Broker) (leave func(), err error) {
	if !sp.isOwn {
		return func() {}, nil
	}
	return sp.server.tokens.Serve(ctx, b)
}

// prepare applies --config, if the namespace is the server's own, and returns its Ready.
func (sp *servedNamespace) prepare(ctx context.Context, b *broker.Broker) (Ready, error) {
	p := sp.server
	r := sp.readyInfo(StateReady)
	r.Epoch = b.Epoch()
	var keys []engine.AccessRule
	if sp.isOwn {
		keys = p.config.SASKeys
		if err := applyDefinition(ctx, b, p.definition, p.config.ConfigFile); err != nil {
			return r, err
		}
	}
	if sp.isOwn {
		if err := p.scenes.LoadSaved(ctx, b); err != nil {
			return r, err
		}
	}
	if err := ensureAccessRules(ctx, b, keys); err != nil {
		return r, err
	}
	var err error
	if r.Curl, err = curlCommand(ctx, b, r); p.config.SAS == sas.Enforce {
		r.Curl = curlCreatingQueue(r) // through the dashboard's API
	}
	return r, err
}

// StandBy answers requests for the namespace with its owner, or with the reason why no server
// serves it; if the owner accepts forwarded requests, it forwards them. Once in each standby, it
// announces the owner of the server's own namespace.
func (sp *servedNamespace) StandBy(w namespaces.NotServed) {
	p := sp.server
	s := web.Standby{Namespace: sp.spec.Name, Owner: w.Owner, Cause: w.Reason, Since: w.Since, TakeoverAfter: 2 * p.config.Lease, StoredIn: cli.StoreLocation(sp.storeURL), Namespaces: p.namespaces, Safe: p.config.SafeMode}
	p.metrics.remove(sp.spec.Name)
	sp.connectToOwner(w.Owner)
	s.Forwarder = sp.forwarder
	sp.web.StandBy(s)
	sp.amqp.StandBy(s.ReasonAMQP(), sp.forwarder)
	if !sp.isOwn {
		return
	}
	p.start()
	if w.Owner == (engine.Owner{}) || sp.announced {
		return
	}
	sp.announced = true
	r := sp.readyInfo(StateStandby)
	r.Owner, r.Epoch = ownerAddress(w.Owner), w.Owner.Epoch
	p.announce(r)
}

// newNamespaces returns the namespaces that the program serves.
func (p *serverRun) newNamespaces(c namespaces.Catalogue) *namespaces.Manager {
	main := p.ownNamespace().keeper()
	main.OnShutdown = p.shutdown
	again := time.Duration(0)
	if storage.Shared(p.config.Store) {
		again = cataloguePollInterval
	}
	roll, _ := c.(namespaces.Membership) // nil unless the store is shared
	board, _ := c.(namespaces.NoteStore)
	return namespaces.New(namespaces.Options{
		Main: main, Catalogue: c, Notes: board, RefreshInterval: again, Membership: roll, Name: p.processID, Busy: p.hasClients, Max: p.config.MaxNamespaces, Logger: p.config.Logger,
		NewKeeper: func(s namespaces.Spec) *namespaces.Keeper { return p.addNamespace(s).keeper() },
		OnLoaded:  func() { p.http.NamespacesComplete(); p.amqp.NamespacesComplete() },
		Drop: func(s namespaces.Spec, why string) {
			p.metrics.remove(s.Name)
			p.http.RemoveNamespace(s.Name)
			p.amqp.Remove(s.Name, why)
		},
	})
}

// hasClients reports whether clients are connected to a namespace.
func (p *serverRun) hasClients(name string) bool {
	sp := p.amqp.Find(name)
	return sp != nil && sp.HasConnections()
}

// cataloguePollInterval is the interval of checks for namespaces that other servers created or
// deleted.
const cataloguePollInterval = 2 * time.Second

// namespacesForPages returns the namespace data that pages show.
func (p *serverRun) namespacesForPages() pages.NamespaceInfo {
	at := func(s namespaces.Spec) string {
		if s.Name == p.config.Namespace {
			return p.config.Store
		}
		url, _ := storage.StoreURL(p.config.Store, s)
		return url
	}
	return pages.NamespaceInfo{
		Namespaces: p.namespaces, Connections: p.connectionStrings, StoredIn: func(s namespaces.Spec) string { return cli.StoreLocation(at(s)) },
		MovedTo: func(s namespaces.Spec) string {
			if storage.Kind(at(s)) != "sqlite" {
				return ""
			}
			return cli.StoreLocation(p.config.Store) + ".removed"
		},
		Clients: func(name string) connections.Source {
			if sp := p.amqp.Find(name); sp != nil {
				return sp
			}
			return nil
		},
	}
}
