package enginetest

import (
	"fmt"
	"slices"
	"strings"

	"mayfly/engine"
)

func (t tenure) lock() engine.Lock {
	return engine.Lock{By: t.by, Since: engine.Instant(t.since), RenewedAt: engine.Instant(t.renewedAt), Renewals: t.renewed}
}

// compare requires that the engine and the model have the same state.
func (x *sessionWalk) compare() {
	rows, err := x.ns.Browse(engine.Browse{Path: "q", Limit: 1 << 20})
	if err != nil || len(rows) != len(x.w.messages) {
		x.failf("%d messages, the model has %d: %v", len(rows), len(x.w.messages), err)
	}
	var have, want []string
	for _, r := range rows {
		m := r.Message
		have = append(have, fmt.Sprint(m.Seq, r.Content.MessageID(), m.State, m.Locked(), m.DeliveryCount, r.Message.LockedUntil, r.Lock))
	}
	all := slices.Clone(x.w.messages)
	slices.SortFunc(all, func(a, b *sessionMessage) int { return int(a.seq - b.seq) })
	for _, m := range all {
		state, until, lock := engine.Active, int64(0), tenure{}
		if m.due != 0 {
			state = engine.Scheduled
		} else if m.set {
			state = engine.Deferred
		}
		if m.locked {
			until, lock = x.w.held[m.session].until, m.lock
		}
		want = append(want, fmt.Sprint(engine.Seq(m.seq), m.tag, state, m.locked, uint32(m.count), engine.Instant(until), lock.lock()))
	}
	if !slices.Equal(have, want) {
		x.failf("there is\n%s\nand the model has\n%s", strings.Join(have, "\n"), strings.Join(want, "\n"))
	}
	dead, err := x.ns.Browse(engine.Browse{Path: "q/$DeadLetterQueue", Limit: 1 << 20})
	have, want = nil, slices.Sorted(slices.Values(x.w.dead))
	for _, r := range dead {
		have = append(have, r.Content.MessageID()+" "+r.Message.Extra.Reason)
	}
	slices.Sort(have)
	if err != nil || !slices.Equal(have, want) {
		x.failf("dead are %v, the model has %v: %v", have, want, err)
	}
	for _, id := range []string{"a", "b", "c", "d"} {
		x.compareSession(id)
	}
}

func (x *sessionWalk) compareSession(id string) {
	r, known, err := x.ns.SessionRow("q", id)
	text, set := x.w.states[id]
	want := engine.SessionRow{ID: id, StateSet: set, StateSize: len(text), ChangedAt: r.ChangedAt}
	for i, m := range x.w.of(id) {
		if i == 0 {
			want.OldestAt = engine.Instant(m.at)
		}
		switch {
		case m.locked:
			want.Locked++
		case m.set:
			want.Deferred++
		case m.due != 0:
			want.Scheduled++
		default:
			want.Active++
		}
	}
	if m := x.w.first(id); m != nil {
		want.NextSeq = engine.Seq(m.seq)
	}
	if h := x.w.held[id]; h != nil {
		want.LockedUntil, want.Attached, want.Lock = engine.Instant(h.until), h.link != 0, h.lock.lock()
	}
	if want == (engine.SessionRow{ID: id}) && known || want != (engine.SessionRow{ID: id}) && r != want || err != nil {
		x.failf("session %s is %+v, known %v, the model has %+v: %v", id, r, known, want, err)
	}
}
