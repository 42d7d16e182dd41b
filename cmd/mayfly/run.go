package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/definition"
	"mayfly/engine/job"
	"mayfly/storage"
	"mayfly/web"
	"mayfly/web/amqp"
	"mayfly/web/sas"
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
	served  chan error // how serving ended, then closed; nil before it has begun
	waiting web.Standby
	told    bool           // that the present standing by has begun
	shared  bool           // another server may take the namespace over
	lasting bool           // it goes on trying to own the namespace, for as long as it takes
	leaving sync.WaitGroup // pages of brokers that have ended
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

	wire := amqp.New(amqp.Options{Logger: c.Logger, SAS: c.SAS})
	p := &program{
		c: c, want: want, process: rand.Text(), stdout: stdout, ports: at, shared: storage.Shared(c.Store),
		server: web.New(web.Options{Logger: c.Logger, Hosts: c.AllowHosts, HeaderSize: c.Limits.HeaderSize, AMQP: wire.ServeConn, AMQPAt: at.placeOfAMQP(), SAS: c.SAS}), //nolint:contextcheck // requests end with Shutdown, gracefully
		wire:   wire,
	}
	defer p.leaving.Wait()
	defer func() { err = errors.Join(err, p.shut(ctx)) }()
	for {
		b, err := p.own(ctx)
		if ctx.Err() != nil && b == nil {
			return nil
		}
		if err != nil {
			return err
		}
		if fenced, err := p.serve(ctx, b); !fenced {
			return err
		}
		c.Logger.Warn("another server may own the namespace now", "namespace", c.Namespace)
	}
}

// serve serves a broker until ctx ends or the broker does, and closes it. fenced
// tells that the namespace was lost to another server, and that this one may
// stand by.
func (p *program) serve(ctx context.Context, b *broker.Broker) (fenced bool, err error) {
	ready, err := p.furnish(ctx, b)
	var jobs *job.Jobs
	if err == nil {
		jobs, err = job.Open(ctx, b, p.c.Logger)
	}
	if err != nil {
		if p.lost(b) {
			return true, nil
		}
		if ctx.Err() != nil { // it was stopped before it began
			err = nil
		}
		return false, errors.Join(err, p.close(b))
	}
	pages := openDashboard(b, jobs, p.wire, p.c, ready) //nolint:contextcheck // what follows the broker ends with close, after the last request
	pages.doors.Reset = p.resetting(b)
	p.server.Open(pages.doors) //nolint:contextcheck // requests bring their own
	p.wire.Open(b)
	p.start()
	p.waiting, p.told, p.lasting = web.Standby{}, false, p.shared
	p.tell(ready)
	select {
	case err = <-p.served:
	case <-b.Done():
		if p.lost(b) {
			p.standBy(engine.Owner{}, "") //nolint:contextcheck // likewise
			p.leaving.Go(func() { pages.end(context.WithoutCancel(ctx)) })
			return true, nil
		}
		err = errors.New("the broker has ended")
	case <-ctx.Done():
		p.c.Logger.Info("stopping", "why", context.Cause(ctx))
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopPatience)
	defer cancel()
	err = errors.Join(err, pages.leave(stopping), p.shut(ctx))
	pages.close()
	return false, errors.Join(err, p.close(b)) // after the doors: what they let in is made durable
}

// lost tells whether a broker that has ended did so because another server may
// own the namespace. One that has not is closed.
func (p *program) lost(b *broker.Broker) bool {
	return p.shared && errors.Is(b.Close(), engine.ErrFenced)
}

// close closes the broker. To have lost the namespace meanwhile is no failure
// where servers share a store.
func (p *program) close(b *broker.Broker) error {
	if err := b.Close(); err != nil && !p.lost(b) {
		return fmt.Errorf("the broker did not end well: %w", err)
	}
	return nil
}

// furnish makes the namespace what --config says, and finds out what to tell of
// it.
func (p *program) furnish(ctx context.Context, b *broker.Broker) (Ready, error) {
	r := p.ready(stateReady)
	r.Epoch = b.Epoch()
	if err := apply(ctx, b, p.want, p.c.Definition); err != nil {
		return r, err
	}
	if err := furnishAccess(ctx, b, p.c.SASKeys); err != nil {
		return r, err
	}
	var err error
	if r.Curl, err = curl(ctx, b, r); p.c.SAS == sas.Enforce {
		r.Curl = firstCurl(r) // which asks the dashboard
	}
	return r, err
}

// start begins to serve, once.
func (p *program) start() {
	if p.served != nil {
		return
	}
	wires := p.ports.forAMQP()
	p.served = make(chan error, 1+len(wires))
	var all sync.WaitGroup // waited for by shut
	all.Go(func() { p.served <- p.server.Serve(p.ports.dashboard, p.ports.forAdmin()...) })
	for _, l := range wires {
		all.Go(func() { p.served <- p.wire.Serve(l) })
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
	err := p.server.Shutdown(ctx)
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
