package admin

import (
	"context"
	"slices"

	"mayfly/engine"
	"mayfly/views/page/admin"
	"mayfly/views/sample"
	"mayfly/web/dashboard/pages"
)

// sampleSession is the session that sample programs use where sessions are required.
const sampleSession = "customer-1"

// ConnectionInfo returns the code samples of a task.
func ConnectionInfo(ctx context.Context, p *pages.Pages, t sample.Task) admin.ConnectionInfo {
	d := admin.ConnectionInfo{String: p.WithVisitorHost(ctx, p.Options.Connection), RequiresKeys: p.Options.RequiresKeys}
	if d.RequiresKeys {
		d.KeysURL = p.AccessURL("")
	}
	if p.Options.Connection != "" && (t.Sends || t.Receives) {
		d.Task = t
		d.Task.Connection = d.String
	}
	return d
}

// SampleTask returns what sample programs can do with an entity, given its status and forwarding.
// If the entity allows neither sending nor receiving, the task does neither. Messages to a topic
// are in a session if one of its subscriptions requires that.
func SampleTask(e engine.EntityState, subscriptions ...engine.EntityState) sample.Task {
	t := sample.Task{InSession: e.Config.RequiresSession, Session: sampleSession}
	receives := pages.AllowsReceive(e.Config.Status) && e.Config.ForwardTo == ""
	switch e.Kind {
	case engine.Topic:
		t.Topic, t.Sends = string(e.Path), pages.AllowsSend(e.Config.Status)
		t.InSession = slices.ContainsFunc(subscriptions, func(s engine.EntityState) bool { return s.Config.RequiresSession })
	case engine.Subscription:
		t.Topic, t.Subscriber, _ = e.Path.Subscription()
		t.Receives = receives
	default:
		t.Queue, t.Sends, t.Receives = string(e.Path), pages.AllowsSend(e.Config.Status), receives
	}
	return t
}

// FirstTask returns the task of a first program in a namespace: sending to and receiving from
// a queue, or through a topic. In an empty namespace it uses the starter queue.
func FirstTask(all []engine.EntityState) sample.Task {
	best, rank := sample.Task{Queue: pages.StarterQueue, Sends: true, Receives: true}, 3
	open := map[string]bool{} // topics that accept messages
	for _, e := range all {
		if e.Kind == engine.Topic && pages.AllowsSend(e.Config.Status) {
			open[e.Path.Fold()] = true
		}
	}
	for _, e := range all {
		t, at := SampleTask(e), 0
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
