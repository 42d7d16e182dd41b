package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"sync"
	"time"

	"mayfly/engine/definition"
	"mayfly/engine/fleet"
	"mayfly/engine/scene"
	"mayfly/storage"
	"mayfly/web"
	"mayfly/web/access"
	"mayfly/web/amqp"
	"mayfly/web/intake"
	"mayfly/web/keys"
	"mayfly/web/metrics"
	"mayfly/web/relay"
	"mayfly/web/talk"
)

// stopPatience bounds how long running requests are waited for at the end.
const stopPatience = 10 * time.Second

// A program is one run of the server. It listens from the start, and serves as
// soon as there is something to say: that another server owns the namespace, or
// the namespace itself, each as often as that changes.
type program struct {
	c       Config
	want    definition.Topology
	process string // tells stores this process from all others
	stdout  io.Writer
	ports   ports
	server  *web.Server
	wire    *amqp.Server
	relay   *relay.Relay     // to other servers on the store, and from them
	clients *storage.Clients // by which all namespaces reach it
	fleet   *fleet.Fleet
	scenes  *scene.Stages
	// measured is what /metrics tells of the namespaces that are served.
	measured measured
	keys     *keys.Ring              // of the server: kept in its own namespace
	forms    *access.Forms           // of all dashboards: who goes from one to another stays who he is
	shelf    *intake.Shelf           // files that browsers have sent, of all namespaces
	hall     talk.Hall               // who shows pages to whom, of all namespaces
	people   people                  // who may use the dashboard
	stop     context.CancelCauseFunc // ends the run, where serving has
	served   chan error              // how serving ended, then closed; nil before it has begun
}

// run serves until ctx ends, and returns nil then. If anything keeps it from
// starting, that is the error, a sentence, and nothing was started. Each time
// all is served it prints one block to stdout and calls c.Ready; likewise, with
// a line, when it begins to stand by.
func run(ctx context.Context, c Config, stdout io.Writer) (err error) {
	if err := c.complete(); err != nil {
		return &misuse{err}
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
	defer at.close() // for the ways out before they are served

	scenes, err := c.library()
	if err != nil {
		return err
	}
	shared := storage.Shared(c.Store)
	wire := amqp.New(amqp.Options{Logger: c.Logger, SAS: c.SAS, Unsure: shared})
	wire.Own(c.Namespace)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	clients := new(storage.Clients)
	catalogue, leave, err := storage.OpenCatalogue(c.Store, storage.Options{Logger: c.Logger, Clients: clients})
	if err != nil {
		return err //nolint:wrapcheck // a sentence
	}
	defer func() { err = errors.Join(err, leave()) }()
	p := &program{c: c, want: want, process: rand.Text(), clients: clients, stdout: stdout, ports: at, stop: stop, forms: access.NewForms(), shelf: intake.NewShelf(), wire: wire}
	p.forms.Base = c.BasePath
	board, _ := catalogue.(fleet.Board) // of stores that are shared
	if err := p.openPeople(board); err != nil {
		return err
	}
	defer p.keys.Close()
	p.server = web.New(web.Options{ //nolint:contextcheck // requests end with Shutdown, gracefully
		Logger: c.Logger, Hosts: c.AllowHosts, Base: c.BasePath, HeaderSize: c.Limits.HeaderSize, AMQP: wire.ServeConn, AMQPAt: at.placeOfAMQP(c.Namespace), SAS: c.SAS, Unsure: shared,
		Who: p.people.sources, Gates: p.people.gates, Stage: p.staged,
		Metrics: metrics.Handler(metrics.Options{
			Namespaces: func() []metrics.Namespace { return p.measured.of(p.fleet, p.advertised().Dashboard) }, Entities: c.MetricsEntities, Version: version(), Started: time.Now(),
		}),
	})
	p.relay = relay.New(relay.Options{
		Name: p.process, HTTP: p.server.PassedOn(), AMQP: wire.ServePassedOn, HeaderSize: p.server.HeaderSize(), Logger: c.Logger, //nolint:contextcheck // likewise
	})
	defer p.shelf.Close()
	defer func() { err = errors.Join(err, p.shut(ctx)) }()
	meeting := p.meet(ctx, catalogue)
	defer meeting.Wait()
	defer stop(nil)
	p.fleet = p.newFleet(catalogue) //nolint:contextcheck // requests bring their own
	p.scenes = scene.Start(scene.Options{Fleet: p.fleet, Library: scenes, Logger: c.Logger})
	defer p.scenes.Close()
	var beside sync.WaitGroup
	beside.Go(func() { p.people.watch(ctx) })
	beside.Go(func() { p.keys.Follow(ctx) })
	defer func() { stop(nil); beside.Wait() }()
	return p.fleet.Run(ctx)
}

// start begins to serve, once.
func (p *program) start() {
	if p.served != nil {
		return
	}
	wires := p.ports.forAMQP()
	p.served = make(chan error, 2+len(wires))
	var all sync.WaitGroup // waited for by shut
	serve := func(do func() error) {
		all.Go(func() {
			err := do()
			p.served <- err
			p.stop(err)
		})
	}
	serve(func() error { return p.server.Serve(p.ports.dashboard, p.ports.forAdmin()...) })
	for _, l := range wires {
		serve(func() error { return p.wire.Serve(l.Listener, l.Namespace) })
	}
	if l := p.ports.peer; l != nil {
		serve(func() error { return p.relay.Serve(l) })
	}
	go func() { all.Wait(); close(p.served) }()
}

// shut ends serving, if it has begun.
func (p *program) shut(ctx context.Context) error {
	if p.served == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopPatience)
	defer cancel()
	p.wire.Close(ctx)
	err := errors.Join(p.server.Shutdown(ctx), p.relay.Close(ctx))
	for end := range p.served {
		err = errors.Join(err, end)
	}
	return err
}

// tell prints r, and gives it to whoever waits for it.
func (p *program) tell(r Ready) {
	if err := r.print(p.stdout, p.c.ReadyJSON); err != nil {
		p.c.Logger.Warn("nobody reads where the server is", "err", err)
	}
	if p.c.Ready != nil {
		p.c.Ready(r)
	}
}
