package enginetest

import (
	"fmt"
	"slices"
	"strings"

	"mayfly/engine"
	"mayfly/engine/value"
)

func (x *walk) declare() {
	if len(x.w.transactions) >= 3 {
		return
	}
	x.logf("declare")
	id, err := x.ns.BeginTransaction(x.now(), "teller")
	if err != nil {
		x.failf("declare: %v", err)
	}
	x.w.declare(int64(id))
}

// anyTransaction returns the id of a transaction that is or was open.
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
	x.near(id)
	err := x.ns.SendInTx(x.now(), engine.TxID(id), engine.Path(to), subs)
	if err != nil && strings.HasPrefix(err.Error(), "Can't send") {
		x.fate("too many sent")
	}
	o := operation{path: to, batch: want}
	if errIs(err, engine.ErrQuota) && x.w.clone().give(id, o) != "quota" { // bytes that settlements added count too
		x.w.limits.entitySize = 0
		defer func() { x.w.limits.entitySize = x.limits.EntitySize }()
	}
	if x.expect(err, x.w.give(id, o)) {
		x.given = append(x.given, subs...)
	}
}

// settleAllIn adds settlements of all locked messages to one transaction, as many as it
// accepts.
func (x *walk) settleAllIn() {
	id := x.anyTransaction()
	for _, m := range slices.Clone(x.w.messages) {
		if m.until > x.w.now {
			o := one(x, engine.Complete, engine.Abandon, engine.Defer, engine.DeadLetter, engine.Release)
			x.settleIn(id, m, engine.Settlement{Token: token(m.token), Outcome: o, Client: "settler"})
			x.compare()
		}
	}
}

// settleIn adds a settlement to a transaction.
func (x *walk) settleIn(id int64, m *message, s engine.Settlement) {
	if x.chance(20) {
		s.Path = engine.Path(m.path())
	}
	o := operation{path: string(s.Path), token: m.token, outcome: s.Outcome.String(), props: map[string]string{}}
	if x.chance(20) {
		o.props["a"] = "x"
		s.Modify = value.Properties{{Name: "a", Value: value.OfString("x")}}
	}
	x.logf("%v %s #%d in %d", s.Outcome, m.path(), m.seq, id)
	x.near(id)
	err := x.ns.SettleInTx(x.now(), engine.TxID(id), s)
	if x.expect(err, x.w.give(id, o)) && x.chance(5) {
		x.logf("again")
		x.fate("settled twice")
		x.expect(x.ns.SettleInTx(x.now(), engine.TxID(id), s), x.w.give(id, o))
	}
	if errIs(err, engine.ErrQuota) {
		x.fate("too many settled")
	}
}

// everyFate lists the outcomes and errors that must occur in at least one transaction.
func everyFate() []string {
	return []string{"too many sent", "too many settled", "settled twice", "committed", "failed", "rolled back", "timed out", "forgotten", "at the last moment"}
}

func (x *walk) fate(what string) { x.reached[pair{"transaction", what}]++ }

// near records in the coverage if a transaction is used in the last millisecond before it times
// out.
func (x *walk) near(id int64) {
	for _, t := range x.w.transactions {
		if t.id == id && t.ends == x.w.now+1 {
			x.fate("at the last moment")
		}
	}
}

// discharge ends a transaction, usually by a commit. After a failed commit the state must be
// unchanged, which compare checks, except for times of last use, which may be as before or now.
func (x *walk) discharge() {
	id, how := x.anyTransaction(), engine.Commit
	if x.chance(20) {
		how = engine.Rollback
	}
	x.logf("discharge %d, how %d", id, how)
	x.near(id)
	switch t := slices.IndexFunc(x.w.transactions, func(t transaction) bool { return t.id == id }); {
	case t < 0 || x.w.now < x.w.transactions[t].ends:
	case len(x.w.transactions[t].operations) == 0:
		x.fate("forgotten")
	default:
		x.fate("timed out")
	}
	seqs, err := x.ns.Discharge(x.now(), engine.TxID(id), how)
	if errIs(err, engine.ErrQuota) {
		x.w.limits.entitySize = 0
		defer func() { x.w.limits.entitySize = x.limits.EntitySize }()
	}
	have, code := x.w.discharge(id, how == engine.Commit)
	if x.expect(err, code) {
		x.sameNumbers(seqs, have)
		x.fate([]string{"committed", "rolled back"}[how])
		return
	}
	if code != "transaction" {
		if !errIs(err, engine.ErrRolledBack) {
			x.failf("%v does not say that the transaction is over", err)
		}
		x.fate("failed")
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

// seenDiffers compares the ids that an entity remembers with the model's, for its own ids and
// those of another entity.
func seenDiffers(ns *engine.Namespace, w *model, e *entity) error {
	for _, o := range []*entity{e, w.entities[int(w.now)%len(w.entities)]} {
		for tag, at := range o.seen {
			if w.now > at+100_000 { // no window is that long
				continue
			}
			have, err := ns.IsDuplicate(engine.Instant(w.now), engine.Path(e.path), tag)
			if want := w.saw(e, tag); err != nil || have != want {
				return fmt.Errorf("%s is seen: %v (%w), the model says %v", tag, have, err, want)
			}
		}
	}
	return nil
}
