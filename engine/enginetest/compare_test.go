package enginetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"mayfly/engine"
)

func lower(s string) string { return strings.ToLower(s) }

func ms(d time.Duration) int64 { return d.Milliseconds() }

func span(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

func (e *entity) deadPath() string { return e.path + "/$DeadLetterQueue" }

func described(c config) engine.Config {
	status := map[string]engine.Status{
		"Active": engine.StatusActive, "Disabled": engine.StatusDisabled,
		"SendDisabled": engine.StatusSendDisabled, "ReceiveDisabled": engine.StatusReceiveDisabled,
	}[c.status]
	return engine.Config{
		LockDuration: span(c.lock), DefaultMessageTimeToLive: span(c.ttl), AutoDeleteOnIdle: span(c.idle), MaxDeliveryCount: int32(c.deliveries),
		DeadLetteringOnMessageExpiration: c.keep, Status: status, UserMetadata: c.metadata,
		RequiresDuplicateDetection: c.detects, DuplicateDetectionHistoryTimeWindow: span(c.window),
	}
}

// difference returns how ns differs from the model. restored means that ns was just loaded from
// a store, so that times of last use are only approximate.
func difference(ns *engine.Namespace, w *model, restored bool) error {
	states := ns.States(0)
	if len(states) != len(w.entities) {
		return fmt.Errorf("there are %d entities, the model has %d", len(states), len(w.entities))
	}
	var totals engine.Counts
	keys := map[uint64]bool{}
	for _, e := range w.entities {
		s, err := ns.State(engine.Path(e.path))
		if err != nil {
			return fmt.Errorf("%s: %w", e.path, err)
		}
		if err := w.differs(e, s, restored); err != nil {
			return fmt.Errorf("%s: %w", e.path, err)
		}
		if err := seenDiffers(ns, w, e); err != nil {
			return fmt.Errorf("%s: %w", e.path, err)
		}
		totals.Active += s.Counts.Active
		totals.Locked += s.Counts.Locked
		totals.Deferred += s.Counts.Deferred
		totals.Scheduled += s.Counts.Scheduled
		totals.DeadLetter += s.Counts.DeadLetter
		totals.DeadLocked += s.Counts.DeadLocked
		for _, dead := range []bool{false, true} {
			if dead && e.kind == 't' {
				continue
			}
			path := e.path
			if dead {
				path = e.deadPath()
			}
			rows, err := ns.Browse(engine.Browse{Path: engine.Path(path), Limit: 1 << 20})
			if err != nil {
				return fmt.Errorf("browse %s: %w", path, err)
			}
			want := w.at(e, dead)
			if len(rows) != len(want) {
				return fmt.Errorf("%s has %s, the model %s", path, numbers(rows), modelNumbers(want))
			}
			for i, r := range rows {
				if err := rowDiffers(r, want[i], path); err != nil {
					return fmt.Errorf("%s #%d (%s): %w", path, want[i].seq, want[i].tag, err)
				}
				if keys[uint64(r.Message.Key)] || want[i].key != 0 && want[i].key != uint64(r.Message.Key) {
					return fmt.Errorf("%s #%d: key is %d, was %d", path, want[i].seq, r.Message.Key, want[i].key)
				}
				want[i].key = uint64(r.Message.Key)
				keys[want[i].key] = true
				one, err := ns.Message(r.Message.Key)
				if err != nil {
					return fmt.Errorf("%s #%d by its key: %w", path, want[i].seq, err)
				}
				if one.Message != r.Message || one.Path != r.Path {
					return fmt.Errorf("%s #%d: found by its key, it is %+v", path, want[i].seq, one)
				}
			}
		}
	}
	if t, n := ns.Totals(); t != totals || n != len(w.entities) {
		return fmt.Errorf("totals are %+v of %d and should be %+v", t, n, totals)
	}
	return nil
}

func numbers(rows []engine.Row) string {
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, " #%d(%s)", r.Message.Seq, r.Content.MessageID())
	}
	return b.String()
}

func modelNumbers(ms []*message) string {
	var b strings.Builder
	for _, m := range ms {
		fmt.Fprintf(&b, " #%d(%s)", m.seq, m.tag)
	}
	return b.String()
}

func (w *model) differs(e *entity, s engine.EntityState, restored bool) error {
	var c engine.Counts
	size, extra := int64(0), int64(0)
	for _, m := range w.messages {
		if m.in != e {
			continue
		}
		size += m.size
		if m.reason != "" || m.text != "" || len(m.props) > 0 {
			extra += int64(len(m.reason) + len(m.text) + 100*len(m.props))
		}
		switch k := kindOf(m); {
		case m.dead:
			c.DeadLetter++
			if k == "locked" {
				c.DeadLocked++
			}
		case k == "locked":
			c.Locked++
		case k == "deferred":
			c.Deferred++
		case k == "scheduled":
			c.Scheduled++
		default:
			c.Active++
		}
	}
	receivers := 0
	for _, l := range w.links {
		if l.in == e {
			receivers++
		}
	}
	kind := map[byte]engine.EntityKind{'q': engine.Queue, 't': engine.Topic, 's': engine.Subscription}[e.kind]
	rules := map[string]bool{}
	for _, r := range s.Rules {
		rules[lower(r.Name)] = r.Filter.Kind == engine.TrueFilter
	}
	held := w.held(e)
	deletes := int64(0)
	if e.cfg.idle != 0 && !held {
		deletes = plus(int64(s.LastUsed), e.cfg.idle)
	}
	for _, f := range []struct {
		what       string
		have, want any
	}{
		{"path", string(s.Path), e.path},
		{"kind", s.Kind, kind},
		{"description", fmt.Sprintf("%+v", s.Config), fmt.Sprintf("%+v", described(e.cfg))},
		{"created", int64(s.CreatedAt), e.created},
		{"updated", int64(s.UpdatedAt), e.updated},
		{"pinned", ms(s.UnpinnedIdle), e.pinned},
		{"next number", int64(s.NextSeq), e.next},
		{"counts", s.Counts, c},
		{"subscriptions", s.Subscriptions, len(w.subscriptions(e))},
		{"receivers", s.Receivers, receivers},
		{"held", s.KeptAlive, held},
		{"duplicates", s.Duplicates, e.dropped},
		{"deletes itself", int64(s.DeletesAt), deletes},
	} {
		if f.have != f.want {
			return fmt.Errorf("%s is %v, the model says %v", f.what, f.have, f.want)
		}
	}
	if !maps.Equal(rules, e.rules) {
		return fmt.Errorf("rules are %v, the model says %v", rules, e.rules)
	}
	if s.Bytes < size || s.Bytes > size+extra {
		return fmt.Errorf("size is %d bytes, the model says %d to %d", s.Bytes, size, size+extra)
	}
	used := int64(s.LastUsed)
	switch {
	case restored: // IDLE-17: a little later than it was
		if used < e.used || used > e.used+10_000 || used > w.now {
			return fmt.Errorf("last used is %d after a restart, and was %d at %d", used, e.used, w.now)
		}
	case held: // the time of last use does not matter now
		if used > w.now {
			return fmt.Errorf("last used is %d at %d", used, w.now)
		}
	case used != e.used:
		return fmt.Errorf("last used is %d, the model says %d", used, e.used)
	}
	return nil
}

func rowDiffers(r engine.Row, m *message, path string) error {
	state := engine.Active
	if m.deferred {
		state = engine.Deferred
	}
	if m.due != 0 {
		state = engine.Scheduled
	}
	var x engine.Extra
	if r.Message.Extra != nil {
		x = *r.Message.Extra
	}
	if !x.DeadLettered {
		x.DeadAt = 0
	}
	var props map[string]string
	for _, p := range x.Properties {
		if props == nil {
			props = map[string]string{}
		}
		props[p.Name] = p.Value.Text()
	}
	deliveries := int32(m.in.cfg.deliveries)
	if m.dead {
		deliveries = 0
	}
	for _, f := range [...]struct {
		what       string
		have, want any
	}{
		{"number", int64(r.Message.Seq), m.seq},
		{"message id", r.Content.MessageID(), m.tag},
		{"first number", int64(r.Message.EnqueuedSeq), m.first},
		{"enqueued", int64(r.Message.EnqueuedAt), m.at},
		{"own expiry", int64(r.Message.ExpiresAt), m.own},
		{"expiry", int64(r.Expires), expires(m)},
		{"scheduled for", int64(r.Message.ScheduledFor), m.due},
		{"locked until", int64(r.Message.LockedUntil), m.until},
		{"failed deliveries", int(r.Message.DeliveryCount), m.count},
		{"state", r.Message.State, state},
		{"reason", x.Reason, m.reason},
		{"description", x.Description, m.text},
		{"died", int64(x.DeadAt), m.diedAt},
		{"path", lower(string(r.Path)), lower(path)},
		{"fate", r.DeadLettersOnExpiry, m.in.cfg.keep && !m.dead},
		{"deliveries allowed", r.MaxDeliveries, deliveries},
	} {
		if f.have != f.want {
			return fmt.Errorf("%s is %v, the model says %v", f.what, f.have, f.want)
		}
	}
	if !maps.Equal(props, m.props) {
		return fmt.Errorf("properties are %v, the model says %v", props, m.props)
	}
	want := engine.Lock{}
	if m.until != 0 {
		want = engine.Lock{By: m.by, Since: engine.Instant(m.since), RenewedAt: engine.Instant(m.renewedAt), Renewals: m.renewed}
	}
	if r.Lock != want {
		return fmt.Errorf("lock is %+v, the model says %+v", r.Lock, want)
	}
	if m.until != 0 && r.Message.Token().String() != m.token {
		return fmt.Errorf("token is %v, the model says %v", r.Message.Token(), m.token)
	}
	return nil
}

// horizonDiffers returns how the upcoming expiries of ns differ from the model's. Both must have
// been swept.
func horizonDiffers(ns *engine.Namespace, w *model, edges []int64) error {
	var soon []*message
	for _, m := range w.messages {
		if kindOf(m) == "active" && expires(m) != 0 {
			soon = append(soon, m)
		}
	}
	slices.SortFunc(soon, func(a, b *message) int {
		switch {
		case expires(a) != expires(b):
			return int(expires(a) - expires(b))
		case a.in.path != b.in.path:
			return strings.Compare(a.in.path, b.in.path)
		}
		return int(a.seq - b.seq)
	})
	for _, n := range []int{1, 3, len(soon) + 1} {
		rows := ns.Expiring(n)
		if len(rows) != min(n, len(soon)) {
			return fmt.Errorf("%d of %d expire next: %s, the model has %s", n, len(soon), numbers(rows), modelNumbers(soon))
		}
		for i, r := range rows {
			if int64(r.Message.Seq) != soon[i].seq || lower(string(r.Path)) != lower(soon[i].in.path) {
				return fmt.Errorf("next to expire are %s, the model has %s", numbers(rows), modelNumbers(soon))
			}
		}
	}
	slices.Sort(edges)
	at := make([]engine.Instant, len(edges))
	want := make([]engine.HorizonSpan, len(edges)+1)
	for i, e := range edges {
		at[i] = engine.Instant(e)
	}
	for _, m := range soon {
		i := 0
		for i < len(edges) && expires(m) >= edges[i] {
			i++
		}
		if m.in.cfg.keep {
			want[i].DeadLettered++
		} else {
			want[i].Lost++
		}
	}
	if have := ns.Horizon("", at); !slices.Equal(have, want) {
		return fmt.Errorf("the horizon at %v is %v, the model has %v", edges, have, want)
	}
	return nil
}
