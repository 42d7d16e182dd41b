package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"mayfly/cmd/mayfly/cli"
	"mayfly/cmd/mayfly/manual"
	"mayfly/engine"
	"mayfly/engine/demo"
	"mayfly/engine/namespaces"
	"mayfly/engine/topology"
	"mayfly/storage"
	"mayfly/web"
	"mayfly/web/amqp"
	"mayfly/web/auth/origin"
	"mayfly/web/auth/sas"
	"mayfly/web/auth/token"
	"mayfly/web/cluster"
	"mayfly/web/docs"
	"mayfly/web/exchange"
	"mayfly/web/loglimit"
	"mayfly/web/presentation"
	"mayfly/web/prometheus"
)

// ShutdownTimeout limits how long a shutdown waits for running requests.
const ShutdownTimeout = 10 * time.Second

// A serverRun is one run of the server. It opens its listeners at the start, and serves once it
// owns the namespace or has found its owner. It can become owner and standby several times.
type serverRun struct {
	config         Config
	definition     topology.Topology
	processID      string // identifies this process to stores
	stdout         io.Writer
	ports          ports
	http           *web.Server
	amqp           *amqp.Server
	cluster        *cluster.Relay   // forwards requests to other servers on the store, and receives theirs
	storeClients   *storage.Clients // the store's clients, shared by all namespaces
	namespaces     *namespaces.Manager
	memory         *engine.Memory // limit that all namespaces share
	scenes         *demo.Player
	docs           *docs.Library
	metrics        servedMetrics
	tokens         *token.Registry         // tokens and links, kept in the server's own namespace
	forms          *origin.Forms           // shared by all dashboards, so that users keep their identity between them
	uploads        *exchange.Uploads       // uploaded files of all namespaces
	presentations  presentation.Registry   // presentations of all namespaces
	authentication authentication          // users of the dashboard
	stop           context.CancelCauseFunc // ends the run if serving fails
	serveErrors    chan error              // receives the errors of serving, then is closed; nil before start
}

// Run serves until ctx ends, and then returns nil. If startup fails, nothing is started, and the
// error is one sentence. Each time the server is ready it prints one block to stdout and calls
// c.Ready; when it becomes a standby, it prints a line and calls c.Ready.
func Run(ctx context.Context, c Config, stdout io.Writer) (err error) {
	if err := c.complete(); err != nil {
		return &cli.UsageError{Err: err}
	}
	want, err := c.readDefinition()
	if err != nil {
		return err
	}
	c.Namespace = cmp.Or(c.Namespace, want.Namespace, "default")
	c.Limits.Namespace = c.Namespace
	at, err := openPorts(ctx, c)
	if err != nil {
		return err
	}
	defer at.close() // if Run returns before the ports are served
	budget := c.connectionBudget()
	defer budget.Close()
	at = at.withBudget(budget)

	scenes, err := c.sceneLibrary()
	if err != nil {
		return err
	}
	shared := storage.Shared(c.Store)
	limited := loglimit.New(c.Logger.Handler())
	defer limited.Close() //nolint:contextcheck // it writes the lines held back after ctx has ended
	c.clientLogger = slog.New(limited)
	unnamed := &sas.UnknownHosts{Refuse: c.StrictHosts, IsServer: at.audienceHosts(c), Logger: c.clientLogger}
	wire := amqp.New(amqp.Options{Logger: c.clientLogger, SAS: c.SAS, Names: at.audienceHosts(c), Connections: budget, NamespacesIncomplete: shared, Unnamed: unnamed, TLSFault: at.tlsFault})
	wire.AddOwnName(c.Namespace)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	clients := new(storage.Clients)
	catalogue, leave, err := storage.OpenCatalogue(c.Store, storage.Options{Logger: c.Logger, Clients: clients})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, leave()) }()
	p := &serverRun{config: c, definition: want, processID: rand.Text(), storeClients: clients, stdout: stdout, ports: at, stop: stop, memory: c.newMemory(), forms: origin.NewForms(), uploads: exchange.NewUploads(), amqp: wire}
	p.forms.Base = c.BasePath
	board, _ := catalogue.(namespaces.NoteStore) // nil unless the store is shared
	if err := p.openAuthentication(board); err != nil {
		return err
	}
	defer p.tokens.Close()
	p.http = web.New(web.Options{ //nolint:contextcheck // requests end with Shutdown, gracefully
		Logger: c.clientLogger, TLSFault: at.tlsFault, Hosts: c.AllowHosts, Origins: c.AllowOrigins, Base: c.BasePath, HeaderSize: c.Limits.HeaderSize, AMQP: wire.ServeConn, AMQPAddress: at.describeAMQP(c.Namespace), SAS: c.SAS, IsServerName: at.audienceHosts(c), NamespacesIncomplete: shared, UnknownHosts: unnamed,
		Auth: p.authentication.sources, AuthRoutes: p.authentication.gates, SceneVisible: p.mayViewScene, AwaitNamespace: func(ctx context.Context, name string) { p.scenes.AwaitRebuilt(ctx, name) }, TrustedProxies: c.trustedProxies,
		Metrics: prometheus.Handler(prometheus.Options{
			Namespaces: func() []prometheus.Namespace { return p.metrics.list(p.namespaces, p.advertised().Dashboard) }, Entities: c.MetricsEntities, Version: cli.Version(), Started: time.Now(), Connections: budget.Counts, Memory: p.memory,
		}),
	})
	p.cluster = cluster.New(cluster.Options{
		Name: p.processID, HTTP: p.http.ForwardedHandler(), AMQP: wire.ServeForwarded, HeaderSize: p.http.HeaderSize(), Logger: c.clientLogger, //nolint:contextcheck // requests end with Close
	})
	defer p.uploads.Close()
	defer func() { err = errors.Join(err, p.shutdown(ctx)) }()
	meeting := p.shareSecret(ctx, catalogue)
	defer meeting.Wait()
	defer stop(nil)
	p.namespaces = p.newNamespaces(catalogue) //nolint:contextcheck // requests bring their own
	p.scenes = demo.NewPlayer(demo.Options{Namespaces: p.namespaces, Library: scenes, Logger: c.Logger})
	defer p.scenes.Close()
	p.docs = manual.Open(c.BasePath)
	var beside sync.WaitGroup
	beside.Go(func() { p.authentication.watchSessions(ctx) })
	beside.Go(func() { p.tokens.Follow(ctx) })
	defer func() { stop(nil); beside.Wait() }()
	return p.namespaces.Run(ctx)
}

// start starts serving. Further calls do nothing.
func (p *serverRun) start() {
	if p.serveErrors != nil {
		return
	}
	wires := p.ports.amqpPorts()
	p.serveErrors = make(chan error, 2+len(wires))
	var all sync.WaitGroup // waited for by the goroutine that closes serveErrors
	serve := func(do func() error) {
		all.Go(func() {
			err := do()
			p.serveErrors <- err
			p.stop(err)
		})
	}
	serve(func() error { return p.http.Serve(p.ports.dashboard, p.ports.adminListeners()...) })
	for _, l := range wires {
		serve(func() error { return p.amqp.Serve(l.Listener, l.Namespace) })
	}
	if l := p.ports.peer; l != nil {
		serve(func() error { return p.cluster.Serve(l) })
	}
	go func() { all.Wait(); close(p.serveErrors) }()
}

// shutdown stops serving, if it has begun, and waits up to ShutdownTimeout for running requests. It
// returns the errors of serving.
func (p *serverRun) shutdown(ctx context.Context) error {
	if p.serveErrors == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ShutdownTimeout)
	defer cancel()
	p.amqp.Close(ctx)
	err := errors.Join(p.http.Shutdown(ctx), p.cluster.Close(ctx))
	for end := range p.serveErrors {
		err = errors.Join(err, end)
	}
	return err
}

// announce prints r and passes it to Config.Ready.
func (p *serverRun) announce(r Ready) {
	if err := r.print(p.stdout, p.config.ReadyJSON); err != nil {
		p.config.Logger.Warn("the server's addresses could not be written", "err", err)
	}
	if p.config.Ready != nil {
		p.config.Ready(r)
	}
}
