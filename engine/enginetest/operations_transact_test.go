package enginetest

import (
	"fmt"

	"mayfly/engine"
	"mayfly/engine/value"
)

func (x *walk) declare() {
	if len(x.w.transactions) >= 3 {
		return
	}
	x.logf("declare")
	id, err := x.ns.Declare(x.now(), "teller")
	if err != nil {
		x.failf("declare: %v", err)
	}
	x.w.transactions = append(x.w.transactions, transaction{id: int64(id)})
}

// anyTransaction is one that is open, or was.
func (x *walk) anyTransaction() int64 {
	if len(x.w.transactions) == 0 || x.chance(3) {
		return 1
	}
	return one(x, x.w.transactions...).id
}

func (x *walk) sendIn() {
	id, to := x.anyTransaction(), x.any()
	subs, want := x.submissions(one(x, 1, 1, 2))
	x.logf("send in %d to %s %+v", id, to, want)
	err := x.ns.SendIn(x.now(), engine.TxID(id), engine.Path(to), subs)
	o := operation{path: to, batch: want}
	if errIs(err, engine.ErrQuota) && x.w.clone().give(id, o) != "quota" { // what settlements added counts too
		x.w.limits.entitySize = 0
		defer func() { x.w.limits.entitySize = x.limits.EntitySize }()
	}
	if x.expect(err, x.w.give(id, o)) {
		x.given = append(x.given, subs...)
	}
}

// settleIn gives a settlement to a transaction.
func (x *walk) settleIn(m *message, s engine.Settlement) {
	id := x.anyTransaction()
	if x.chance(20) {
		s.Path = engine.Path(m.path())
	}
	o := operation{path: string(s.Path), token: m.token, outcome: s.Outcome.String(), props: map[string]string{}}
	if x.chance(20) {
		o.props["a"] = "x"
		s.Modify = value.Properties{{Name: "a", Value: value.OfString("x")}}
	}
	x.logf("%v %s #%d in %d", s.Outcome, m.path(), m.seq, id)
	x.expect(x.ns.SettleIn(x.now(), engine.TxID(id), s), x.w.give(id, o))
}

// discharge ends a transaction, mostly by a commit. After one that fails the
// state is the same: compare sees to that, but for when what was used, which may
// be as before or as now.
func (x *walk) discharge() {
	id, how := x.anyTransaction(), engine.Commit
	if x.chance(20) {
		how = engine.Rollback
	}
	x.logf("discharge %d, how %d", id, how)
	seqs, err := x.ns.Discharge(x.now(), engine.TxID(id), how)
	if errIs(err, engine.ErrQuota) {
		x.w.limits.entitySize = 0
		defer func() { x.w.limits.entitySize = x.limits.EntitySize }()
	}
	have, code := x.w.discharge(id, how == engine.Commit)
	if x.expect(err, code) {
		x.sameNumbers(seqs, have)
		return
	}
	for _, e := range x.w.entities {
		s, err := x.ns.State(engine.Path(e.path))
		if err != nil {
			x.failf("%s: %v", e.path, err)
		}
		if int64(s.LastUsed) == x.w.now {
			e.used = x.w.now
		}
	}
}

// seenDiffers compares what an entity has seen, of that and of what some other
// has.
func seenDiffers(ns *engine.Namespace, w *model, e *entity) error {
	for _, o := range []*entity{e, w.entities[int(w.now)%len(w.entities)]} {
		for tag, at := range o.seen {
			if w.now > at+100_000 { // no window is as long
				continue
			}
			have, err := ns.Seen(engine.Instant(w.now), engine.Path(e.path), tag)
			if want := w.saw(e, tag); err != nil || have != want {
				return fmt.Errorf("%s is seen: %v (%w), the model says %v", tag, have, err, want)
			}
		}
	}
	return nil
}
