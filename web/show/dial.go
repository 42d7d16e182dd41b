package show

import (
	"context"
	"net/netip"
	"slices"
	"strings"

	"mayfly/engine"
	"mayfly/views/page"
	"mayfly/views/sample"
)

// sampleSession is the session that programs send to, where messages have to be
// in one.
const sampleSession = "customer-1"

// dial is how a program does a task.
func (p *Pages) dial(ctx context.Context, t sample.Task) page.Dial {
	d := page.Dial{String: p.dialled(ctx, p.o.Connection), Keyed: p.o.Keyed}
	if d.Keyed {
		d.Keys = p.AccessURL("")
	}
	if p.o.Connection != "" && (t.Sends || t.Receives) {
		d.Task = t
		d.Task.Connection = d.String
	}
	return d
}

// task is what programs can do with an entity: what its status and the way it
// forwards allow. It does nothing where they allow nothing. Messages to a topic are
// in a session if one of its subscriptions needs that.
func task(e engine.EntityState, subscriptions ...engine.EntityState) sample.Task {
	t := sample.Task{InSession: e.Config.RequiresSession, Session: sampleSession}
	receives := takesReceivers(e.Config.Status) && e.Config.ForwardTo == ""
	switch e.Kind {
	case engine.Topic:
		t.Topic, t.Sends = string(e.Path), takesSenders(e.Config.Status)
		t.InSession = slices.ContainsFunc(subscriptions, func(s engine.EntityState) bool { return s.Config.RequiresSession })
	case engine.Subscription:
		t.Topic, t.Subscriber, _ = e.Path.Subscription()
		t.Receives = receives
	default:
		t.Queue, t.Sends, t.Receives = string(e.Path), takesSenders(e.Config.Status), receives
	}
	return t
}

// beginning is what a first program does with what a namespace has: it sends to a
// queue and receives, or by way of a topic. With nothing there it is written for
// the queue that a first start can be given.
func beginning(all []engine.EntityState) sample.Task {
	best, rank := sample.Task{Queue: StarterQueue, Sends: true, Receives: true}, 3
	open := map[string]bool{} // topics that take messages
	for _, e := range all {
		if e.Kind == engine.Topic && takesSenders(e.Config.Status) {
			open[e.Path.Fold()] = true
		}
	}
	for _, e := range all {
		t, at := task(e), 0
		switch {
		case e.Kind == engine.Subscription:
			t.Sends, at = open[engine.Path(t.Topic).Fold()], 2
		case t.InSession:
			at = 1
		}
		if t.Sends && t.Receives && at < rank {
			best, rank = t, at
		}
	}
	return best
}

// dialled is a connection string for somebody who reaches the server as this
// visitor does: on another machine the name of this one is not localhost.
func (p *Pages) dialled(ctx context.Context, s string) string {
	who, _ := ctx.Value(visitorKey{}).(Visitor)
	if who.Host == "" || who.Host == "localhost" {
		return s
	}
	named := !strings.Contains(s, "sb://localhost") // of a namespace that the host's name tells
	if ip, err := netip.ParseAddr(who.Host); err == nil && (ip.IsLoopback() || named) {
		return s
	}
	host := who.Host
	switch {
	case strings.HasSuffix(host, ".localhost"):
		return s
	case strings.Contains(host, ":"):
		host = "[" + host + "]"
	}
	if named {
		return strings.Replace(s, ".localhost", "."+host, 1)
	}
	return strings.Replace(s, "sb://localhost", "sb://"+host, 1)
}
