package enginetest

import (
	"fmt"
	"strings"

	"mayfly/engine"
)

func (x *walk) create() {
	kind := one[byte](x, 'q', 't', 's', 's')
	path, c := x.name(kind), x.config(kind)
	switch {
	case x.chance(2):
		path += "/$DeadLetterQueue"
	case x.chance(2):
		kind = one[byte](x, 'q', 't', 's')
	}
	if kind == 't' {
		c.deliveries, c.keep, c.lock = 10, false, 60_000
	}
	x.logf("create %c %s %+v", kind, path, c)
	k := map[byte]engine.EntityKind{'q': engine.Queue, 't': engine.Topic, 's': engine.Subscription}[kind]
	_, err := x.ns.Create(x.now(), k, engine.Path(path), described(c), "creator")
	x.expect(err, x.w.create(kind, path, c))
}

// administered draws the path of an entity or dead-letter queue for an administrative operation,
// and counts the operation against the states of the messages there.
func (x *walk) administered(operation string) string {
	path := x.any()
	if x.chance(2) {
		path += "/$DeadLetterQueue"
	}
	x.met(operation, path)
	x.met(operation, path+"/$DeadLetterQueue")
	x.logf("%s %s", operation, path)
	return path
}

func (x *walk) update() {
	path := x.administered("update")
	e, _ := x.w.find(path)
	kind := byte('q')
	var c config
	if e != nil {
		kind, c = e.kind, e.cfg
	}
	drawn := x.config(kind)
	switch x.r.IntN(8) {
	case 7:
		c.window = drawn.window
	case 0:
		c = drawn
	case 1:
		c.ttl = drawn.ttl
	case 2:
		c.keep = drawn.keep && kind != 't'
	case 3:
		c.deliveries = drawn.deliveries
	case 4:
		c.idle = drawn.idle
	case 5:
		c.status = drawn.status
	case 6:
		c.lock = drawn.lock
	}
	if c.status == "" {
		c = drawn
	}
	if e != nil && !x.chance(5) {
		c.detects = e.cfg.detects
	}
	x.trace[len(x.trace)-1] += fmt.Sprintf(" to %+v", c)
	_, err := x.ns.Update(x.now(), engine.Path(path), described(c), "updater")
	ended, code := x.w.update(path, c)
	for _, id := range ended {
		x.ended[id] = "disabled"
	}
	x.expect(err, code)
}

func (x *walk) delete() {
	if x.forced == nil && !x.chance(15) {
		return
	}
	path := x.administered("delete entity")
	e, _ := x.w.find(path)
	if !strings.Contains(path, "$") {
		for _, l := range x.w.links {
			if l.in == e || e != nil && l.in.topic == e {
				x.ended[l.id] = "not found"
			}
		}
	}
	x.expect(x.ns.Delete(x.now(), engine.Path(path), "deleter"), x.w.delete(path))
}

func (x *walk) addRule() {
	path, name := x.any(), one(x, "Plus", "plus", "other")
	f := engine.Filter{}
	if x.chance(10) {
		f.Kind = engine.FalseFilter
	}
	x.logf("add rule %s to %s, %v", name, path, f.Kind)
	x.expect(x.ns.AddRule(x.now(), engine.Path(path), engine.Rule{Name: name, Filter: f}, "ruler"), x.w.addRule(path, name, f.Kind == engine.TrueFilter))
}

func (x *walk) removeRule() {
	path, name := x.any(), one(x, "plus", "Other", "OTHER", "plus", "Other", "OTHER", "$default")
	x.logf("remove rule %s from %s", name, path)
	x.expect(x.ns.RemoveRule(x.now(), engine.Path(path), name, "ruler"), x.w.removeRule(path, name))
}

func (x *walk) touch() {
	path := x.administered("touch")
	x.expect(x.ns.Touch(x.now(), engine.Path(path), "operator"), x.w.touch(path))
	x.ns.RecordView(x.now(), engine.Path(path), "look", "operator") // has no effect on the state
}

func (x *walk) pin() {
	path := x.administered("pin")
	x.expect(x.ns.Pin(x.now(), engine.Path(path), "operator"), x.w.pin(path))
}

func (x *walk) unpin() {
	path := x.administered("unpin")
	x.expect(x.ns.Unpin(x.now(), engine.Path(path), "operator"), x.w.unpin(path))
}

func (x *walk) sweepOnce() {
	if x.forced != nil || x.chance(20) {
		for _, m := range x.w.messages {
			x.reached[pair{"sweep", x.state(m)}]++
		}
		x.sweep()
	}
}

func (x *walk) crashOrNot() {
	if x.chance(30) {
		x.crash()
	}
}
