package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/storage"
	"mayfly/web"
)

// How long a store that cannot be opened is left alone, at first and at most.
const (
	tryAgainAfter  = 250 * time.Millisecond
	tryAgainAtMost = 4 * time.Second
)

// own opens the broker, however long another server owns the namespace: until
// then both ports say that this one stands by. Once they do, or did, or the
// namespace was this server's, it goes on trying whatever is wrong, and says
// so; before that it gives up when c.Wait is over.
func (p *program) own(ctx context.Context) (*broker.Broker, error) {
	began, pause := time.Now(), tryAgainAfter
	for {
		b, err := p.try(ctx)
		switch {
		case err == nil:
			return b, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case p.lasting, errors.Is(err, engine.ErrUnreachable) && time.Since(began) < p.c.Wait:
			p.standBy(engine.Owner{}, sentence(err)) //nolint:contextcheck // requests bring their own
		default:
			return nil, err
		}
		p.c.Logger.Warn("the store cannot be opened; trying again", "err", err)
		again := time.NewTimer(pause)
		pause = min(2*pause, tryAgainAtMost)
		select {
		case <-again.C:
		case err := <-p.served:
			return nil, err
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// sentence gives an error the looks of one.
func sentence(err error) string {
	r, n := utf8.DecodeRuneInString(err.Error())
	return strings.ToUpper(string(r)) + err.Error()[n:] + "."
}

// try opens the broker once, which takes as long as another server owns the
// namespace.
func (p *program) try(ctx context.Context) (*broker.Broker, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type opened struct {
		b   *broker.Broker
		err error
	}
	owners, ended := make(chan engine.Owner), make(chan opened, 1)
	go func() { // ends with ctx at the latest, and is waited for below
		b, err := broker.Open(ctx, p.opener(func(o engine.Owner) {
			select {
			case owners <- o:
			case <-ctx.Done():
			}
		}), broker.Options{
			Name: p.c.Namespace, Limits: p.c.Limits, Logger: p.c.Logger,
			HistoryFor: p.c.HistoryFor, HistoryBytes: p.c.HistoryBytes,
		})
		ended <- opened{b, err}
	}()
	for {
		select {
		case o := <-owners:
			p.lasting = true
			p.standBy(o, "") //nolint:contextcheck // requests bring their own
		case r := <-ended:
			return r.b, r.err
		case err := <-p.served:
			cancel()
			if r := <-ended; r.err == nil {
				err = errors.Join(err, p.close(r.b))
			}
			return nil, err
		}
	}
}

// opener opens the store. Only the first time may take as long as another server
// owns the namespace: a broker that has lost it is to end, and to say so.
func (p *program) opener(standby func(engine.Owner)) func(context.Context) (engine.Store, error) {
	o := storage.Options{
		Logger: p.c.Logger, Namespace: p.c.Namespace, Lease: p.c.Lease, Process: p.process, Standby: standby,
		HistoryFor: max(0, p.c.HistoryFor),
		Owner:      p.advertised(),
	}
	return func(ctx context.Context) (engine.Store, error) {
		s, err := p.c.open(ctx, p.c.Store, o)
		o.Standby = nil
		return s, err
	}
}

// advertised is what others are told while the namespace is this server's.
func (p *program) advertised() engine.Owner {
	host, err := os.Hostname()
	if err != nil {
		host = "" // others are told the addresses
	}
	o := engine.Owner{
		Dashboard: cmp.Or(p.c.Advertise, addressAbroad(p.ports.dashboard.Addr())), Admin: addressAbroad(p.ports.admin.Addr()), Host: host,
	}
	if at := cmp.Or(p.ports.amqp, p.ports.amqps); at != nil {
		o.AMQP = strings.TrimPrefix(addressAbroad(at.Addr()), "http://")
	}
	return o
}

// standBy has all ports say that another server owns the namespace, or why
// nobody can, and tells it where the server is watched when that is news.
func (p *program) standBy(owner engine.Owner, why string) {
	w := &p.waiting
	if w.Since.IsZero() {
		*w = web.Standby{Namespace: p.c.Namespace, Since: time.Now(), Within: 2 * p.c.Lease, Kept: keptIn(p.c.Store)}
	}
	w.Owner, w.Why = owner, why
	p.server.StandBy(*w)
	p.wire.StandBy(w.ReasonAMQP())
	p.start()
	if owner == (engine.Owner{}) {
		return
	}
	p.c.Logger.Info("standing by", "owner", owner.Dashboard, "host", owner.Host, "epoch", owner.Epoch)
	if !p.told {
		p.told = true
		r := p.ready(stateStandby)
		r.Owner, r.Epoch = cmp.Or(owner.Dashboard, owner.Host, "an unknown address"), owner.Epoch
		p.tell(r)
	}
}
