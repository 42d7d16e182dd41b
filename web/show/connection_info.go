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

// sampleSession is the session that sample programs use where sessions are required.
const sampleSession = "customer-1"

// connectionInfo returns the code samples of a task.
func (p *Pages) connectionInfo(ctx context.Context, t sample.Task) page.ConnectionInfo {
	d := page.ConnectionInfo{String: p.withVisitorHost(ctx, p.o.Connection), RequiresKeys: p.o.RequiresKeys}
	if d.RequiresKeys {
		d.KeysURL = p.AccessURL("")
	}
	if p.o.Connection != "" && (t.Sends || t.Receives) {
		d.Task = t
		d.Task.Connection = d.String
	}
	return d
}

// sampleTask returns what programs can do with an entity, given its status and forwarding; nothing
// if neither sending nor receiving is allowed. Messages to a topic are in a session if one of
// its subscriptions requires that.
func sampleTask(e engine.EntityState, subscriptions ...engine.EntityState) sample.Task {
	t := sample.Task{InSession: e.Config.RequiresSession, Session: sampleSession}
	receives := allowsReceive(e.Config.Status) && e.Config.ForwardTo == ""
	switch e.Kind {
	case engine.Topic:
		t.Topic, t.Sends = string(e.Path), allowsSend(e.Config.Status)
		t.InSession = slices.ContainsFunc(subscriptions, func(s engine.EntityState) bool { return s.Config.RequiresSession })
	case engine.Subscription:
		t.Topic, t.Subscriber, _ = e.Path.Subscription()
		t.Receives = receives
	default:
		t.Queue, t.Sends, t.Receives = string(e.Path), allowsSend(e.Config.Status), receives
	}
	return t
}

// firstTask returns the task of a first program in a namespace: sending to and receiving from
// a queue, or through a topic. In an empty namespace it uses the starter queue.
func firstTask(all []engine.EntityState) sample.Task {
	best, rank := sample.Task{Queue: StarterQueue, Sends: true, Receives: true}, 3
	open := map[string]bool{} // topics that accept messages
	for _, e := range all {
		if e.Kind == engine.Topic && allowsSend(e.Config.Status) {
			open[e.Path.Fold()] = true
		}
	}
	for _, e := range all {
		t, at := sampleTask(e), 0
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

// withVisitorHost returns a connection string with the host name that this visitor uses: from another
// machine the server is not localhost.
func (p *Pages) withVisitorHost(ctx context.Context, s string) string {
	who, _ := ctx.Value(visitorKey{}).(Visitor)
	if who.Host == "" || who.Host == "localhost" {
		return s
	}
	named := !strings.Contains(s, "sb://localhost") // of a namespace selected by the host name
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
