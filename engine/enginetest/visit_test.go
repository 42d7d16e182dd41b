package enginetest

import (
	"slices"
	"strings"

	"mayfly/engine"
)

// visit brings one message into a random state and runs a random operation on it, because
// random steps alone seldom reach some states.
func (x *walk) visit() {
	state := one(x, everyState()...)
	operation := one(x, everyOperation()...)
	m := x.prepare(state)
	if m == nil || !x.w.here(m) {
		return
	}
	if x.chance(10) {
		x.change(m.in, func(c *config) { c.status = one(x, "Disabled", "ReceiveDisabled", "SendDisabled") })
	}
	x.forced = m
	defer func() { x.forced = nil }()
	switch operation {
	case "receive", "receive and delete", "deliver":
		x.met(operation, m.path())
		mode := engine.PeekLock
		if operation == "receive and delete" {
			mode = engine.ReceiveAndDelete
		}
		x.receiveOnce(m.path(), mode)
		x.compare()
		x.settle()
	case "fetch", "fetch and delete":
		mode := engine.PeekLock
		if operation == "fetch and delete" {
			mode = engine.ReceiveAndDelete
		}
		x.fetchAs(operation, mode)
	case "delete entity":
		x.delete()
	case "sweep":
		x.sweepOnce()
	default:
		operations()[operation](x)
	}
	if x.forced = nil; x.chance(15) {
		x.compare()
		x.rollback(x.chance(50))
	}
}

// prepare creates a message in this state. It may fail, for instance because of a rollback in
// between.
func (x *walk) prepare(state string) *message {
	const path = "visited"
	c := config{lock: 5000, deliveries: 5, keep: x.chance(50), status: "Active"}
	e, _ := x.w.find(path)
	switch {
	case e == nil:
		x.logf("create %s", path)
		if _, err := x.ns.Create(x.now(), engine.Queue, path, described(c), "creator"); !x.expect(err, x.w.create('q', path, c)) {
			return nil
		}
	default:
		x.change(e, func(now *config) { *now = c })
	}
	x.clear(path)
	e, _ = x.w.find(path)
	due := int64(0)
	if strings.HasPrefix(state, "scheduled") {
		due = x.w.now + 10
	}
	x.sendOne(path, due)
	if len(x.w.at(e, false)) == 0 { // the quota is exceeded
		return nil
	}
	all := x.w.at(e, false)
	m := all[len(all)-1]
	x.compare()
	x.bring(m, state)
	return m
}

// change changes an entity's description, which may end its links.
func (x *walk) change(e *entity, to func(*config)) {
	c := e.cfg
	to(&c)
	x.logf("update %s to %+v", e.path, c)
	_, err := x.ns.Update(x.now(), engine.Path(e.path), described(c), "updater")
	ended, code := x.w.update(e.path, c)
	for _, id := range ended {
		x.ended[id] = "disabled"
	}
	x.expect(err, code)
	x.compare()
}

// clear removes everything at path that could precede a new message.
func (x *walk) clear(path string) {
	e, _ := x.w.find(path)
	for _, l := range slices.Clone(x.w.links) {
		if l.in == e {
			x.ns.Detach(x.now(), engine.LinkID(l.id), engine.DetachedByClient)
			x.w.detach(l.id)
		}
	}
	for _, p := range []string{path, path + "/$DeadLetterQueue"} {
		x.logf("purge %s", p)
		pg, err := x.ns.BeginPurge(x.now(), engine.Path(p), []engine.Class{engine.ClassActive, engine.ClassDeferred, engine.ClassScheduled})
		for err == nil && !pg.Done {
			err = x.ns.PurgeSlice(x.now(), &pg, 10, "operator")
		}
		_, code := x.w.purge(p, []string{"active", "deferred", "scheduled"}, modelSieve{})
		x.expect(err, code)
	}
}

func (x *walk) sendOne(path string, due int64) {
	x.tags++
	tag := "v" + itoa(x.tags)
	s, err := engine.Submit(engine.Content{MessageID: tag, ScheduledFor: engine.Instant(due)}, nil, 0, x.keys.Next(), x.limits)
	if err != nil {
		x.failf("submit: %v", err)
	}
	if x.w.bytes(root(x.entity(path)))+s.Size()+200 > x.limits.EntitySize {
		return
	}
	x.logf("send %s to %s, due %d", tag, path, due)
	_, err = x.ns.Send(x.now(), engine.Path(path), []engine.Submission{s}, "sender")
	_, code := x.w.send(path, []submission{{tag: tag, due: due, size: s.Size()}})
	x.expect(err, code)
}

func (x *walk) entity(path string) *entity {
	e, _ := x.w.find(path)
	return e
}

func (x *walk) bring(m *message, state string) {
	defer func() { x.forced = nil }()
	has := func(word string) bool { return strings.Contains(state, word) }
	x.forced = m
	if has("dead") {
		x.deadLetterOne()
		x.compare()
	}
	if has("deferred") || has("lock") {
		if !x.lock(m) {
			return
		}
	}
	if has("deferred") {
		x.outcome(engine.Defer)
		x.compare()
		if has("lock") && x.w.here(m) {
			x.fetchAs("fetch", engine.PeekLock)
			x.compare()
		}
	}
	at := int64(0)
	switch {
	case has("due"):
		at = m.due
	case has("run out"):
		at = m.until
	case has("expired"):
		at = x.w.now + 1
	}
	if has("expired") {
		x.logf("extend to %d", at-begin)
		x.expect(x.ns.Extend(x.now(), engine.Key(m.key), engine.Instant(at), "operator"), x.w.extend(m, at))
	}
	if at > x.w.now {
		x.w.now = at
		x.logf("at that time")
	}
	x.compare()
}

// lock receives m. It returns false if another message was received, or if the turn was undone.
func (x *walk) lock(m *message) bool {
	x.receiveOnce(m.path(), engine.PeekLock)
	x.forced = nil
	x.settle()
	// After a rollback the model has other message objects.
	for _, o := range x.w.messages {
		if o.key == m.key && o != m {
			return false
		}
	}
	x.forced = m
	return x.w.here(m) && m.until > x.w.now
}

func (x *walk) receiveOnce(path string, mode engine.Mode) {
	x.links++
	x.logf("receive from %s as link %d, mode %d", path, x.links, mode)
	if x.attachBoth(path, engine.Link{ID: engine.LinkID(x.links), Path: engine.Path(path), Mode: mode, Client: "visitor", SingleMessage: true, NoWait: true}) {
		x.creditBoth(x.links, 1)
	}
}
