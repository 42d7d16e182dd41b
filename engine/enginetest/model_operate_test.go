package enginetest

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// This file models §21a, an operator's operations, and deletion in bulk (§15).

// free applies the effects of time to m, and returns an error if m no longer exists or is locked.
func (w *model) free(m *message) string {
	if !w.here(m) {
		return "no message"
	}
	w.look(m)
	switch {
	case !w.here(m):
		return "no message"
	case m.until != 0:
		return "not allowed"
	}
	return ""
}

func (w *model) move(m *message, to string, keep, drop bool) (int64, string) {
	if err := w.free(m); err != "" {
		return 0, err
	}
	target, dead := m.in, false
	if to != "" {
		if target, dead = w.find(to); target == nil {
			return 0, "not found"
		}
	}
	switch {
	case to == "" && !m.dead, dead, m.due != 0, target == m.in && !m.dead:
		return 0, "not allowed"
	case !target.cfg.sends():
		return 0, "disabled"
	}
	if w.saw(target, m.tag) {
		if !drop {
			return 0, "not allowed"
		}
		w.dropDouble(target, false)
		w.use(m.in)
		w.use(target)
		if !keep {
			w.remove(m)
		}
		return 0, ""
	}
	more := m.size * w.copies(target)
	if !keep && root(target) == root(m.in) {
		more -= m.size
	}
	if more > 0 && w.bytes(target)+more > w.limits.entitySize {
		return 0, "quota"
	}
	w.see(target, m.tag)
	from := m.in
	c := *m
	c.props = maps.Clone(m.props)
	c.in, c.dead, c.deferred, c.count = target, false, false, 0
	c.reason, c.text, c.diedAt = "", "", 0
	c.at, c.seq, c.first = w.now, target.next, target.next
	target.next++
	seq := c.seq
	switch {
	case target.kind == 't':
		if !keep {
			w.remove(m)
		}
		w.distribute(target, c)
	case keep:
		c.key = 0
		c.own = carried(target, w.now, c.ttl)
		w.messages = append(w.messages, &c)
	default:
		c.own = carried(target, w.now, c.ttl)
		*m = c
	}
	w.use(from)
	w.use(target)
	return seq, ""
}

func (w *model) extend(m *message, to int64) string {
	if !w.here(m) {
		return "no message"
	}
	if !m.deferred { // OPS-3: an expired message can be saved if it is deferred
		w.look(m)
	}
	switch {
	case !w.here(m):
		return "no message"
	case m.dead, m.due != 0:
		return "not allowed"
	case to < w.now:
		return "out of range"
	}
	m.own = to
	w.use(m.in)
	return ""
}

func (w *model) giveBack(m *message) string {
	if err := w.free(m); err != "" {
		return err
	}
	if !m.deferred {
		return "not allowed"
	}
	m.deferred = false
	w.use(m.in)
	w.decide(m)
	return ""
}

func (w *model) deadLetterOne(m *message, reason, text string) string {
	if err := w.free(m); err != "" {
		return err
	}
	switch {
	case utf8.RuneCountInString(reason) > w.limits.reason || utf8.RuneCountInString(text) > w.limits.reason:
		return "out of range"
	case m.dead || m.due != 0:
		return "not allowed"
	}
	w.use(m.in)
	w.die(m, reason, text)
	return ""
}

func (w *model) deleteOne(m *message) string {
	if err := w.free(m); err != "" {
		return err
	}
	w.use(m.in)
	w.remove(m)
	return ""
}

func (w *model) heldNow(m *message) string {
	switch {
	case !w.here(m):
		return "no message"
	case m.until == 0 || w.now >= m.until:
		return "not allowed"
	}
	return ""
}

func (w *model) breakLock(m *message) string {
	if err := w.heldNow(m); err != "" {
		return err
	}
	w.use(m.in)
	w.unlock(m, true)
	w.decide(m)
	return ""
}

func (w *model) renewFor(m *message) (int64, string) {
	if err := w.heldNow(m); err != "" {
		return 0, err
	}
	w.use(m.in)
	return w.renewLock(m), ""
}

func (w *model) stillScheduled(m *message) string {
	if !w.here(m) || m.due == 0 || w.now >= m.due {
		return "no message"
	}
	return ""
}

func (w *model) sendNow(m *message) string {
	if err := w.stillScheduled(m); err != "" {
		return err
	}
	w.activate(m)
	return ""
}

func (w *model) reschedule(m *message, to int64) (int64, string) {
	if err := w.stillScheduled(m); err != "" {
		return 0, err
	}
	if to <= w.now {
		return 0, "out of range"
	}
	m.due, m.at, m.seq, m.first = to, w.now, m.in.next, m.in.next
	m.in.next++
	w.use(m.in)
	return m.seq, ""
}

func kindOf(m *message) string {
	switch {
	case m.due != 0:
		return "scheduled"
	case m.until != 0:
		return "locked"
	case m.deferred:
		return "deferred"
	}
	return "active"
}

// A modelPurge models OPS-7: it removes messages that existed when it began, a limited number at a
// time.
type modelPurge struct {
	path             string
	of               *entity // a later entity of that name is not purged
	kinds            []string
	bound, before    int64
	from             int64
	only             modelSieve
	removed, skipped int64
	failed, spared   int64
	done             bool
}

// A modelSieve is a filter, with a function that returns its result for a message: "true",
// "fails", or anything else for no match.
type modelSieve struct {
	text string // empty means that every message matches
	is   func(m *message) string
}

func modelSieves() []modelSieve {
	truth := func(holds bool) string {
		if holds {
			return "true"
		}
		return "false"
	}
	return []modelSieve{
		{"a = 'x'", func(m *message) string { return truth(m.props["a"] == "x") }},
		{"NOT a = 'x'", func(m *message) string { return truth(m.props["a"] == "y") }}, // unknown if there is no a
		{"a OR sys.SequenceNumber > 2", func(m *message) string { // a text is not a condition
			if m.props["a"] != "" {
				return "fails"
			}
			return truth(m.seq > 2)
		}},
		{"sys.SequenceNumber % 2 = 0", func(m *message) string { return truth(m.seq%2 == 0) }},
		{"sys.EnqueuedSequenceNumber < 3 OR b = 'y'", func(m *message) string { return truth(m.first < 3 || m.props["b"] == "y") }},
		{"DeadLetterReason LIKE 'b%' OR b IS NULL", func(m *message) string {
			return truth(strings.HasPrefix(m.reason, "b") || m.props["b"] == "")
		}},
	}
}

// picks reports whether the purge's filter selects m. If not, it counts m as failed to evaluate or,
// unless m is locked, as not matched.
func (p *modelPurge) picks(m *message) bool {
	is := "true"
	if p.only.text != "" {
		is = p.only.is(m)
	}
	switch {
	case is == "fails":
		p.failed++
	case is != "true" && m.until == 0:
		p.spared++
	}
	return is == "true"
}

func (w *model) beginPurge(path string, kinds []string) (modelPurge, string) {
	e, dead, err := w.subqueue(path)
	if err != "" {
		return modelPurge{}, err
	}
	w.catchUp(e, dead)
	return modelPurge{path: path, of: e, kinds: kinds, bound: e.next, before: w.now}, ""
}

// purgeSlice examines up to limit further messages.
func (w *model) purgeSlice(p *modelPurge, limit int) string {
	e, dead, err := w.subqueue(p.path)
	if err != "" {
		return err
	}
	if e != p.of {
		return "not found"
	}
	p.done = true
	for _, m := range w.at(e, dead) {
		if m.seq < p.from || m.seq >= p.bound {
			continue
		}
		if limit--; limit < 0 {
			p.done = false
			break
		}
		p.from = m.seq + 1
		wanted := func() bool { return slices.Contains(p.kinds, kindOf(m)) }
		switch {
		case m.dead && m.diedAt > p.before:
		case m.until > w.now:
			if p.picks(m) {
				p.skipped++
			}
		case m.until != 0 || wanted():
			seq := m.seq
			if w.look(m); w.here(m) && m.dead == dead && m.seq == seq && wanted() && p.picks(m) {
				p.removed++
				w.remove(m)
				w.use(e)
			}
		}
	}
	return ""
}

// purge does a whole purge at once.
func (w *model) purge(path string, kinds []string, only modelSieve) (modelPurge, string) {
	p, err := w.beginPurge(path, kinds)
	if p.only = only; err == "" {
		err = w.purgeSlice(&p, 1<<30)
	}
	return p, err
}

func (w *model) batchDelete(path string, count int, before int64) (n int, err string) {
	e, dead, err := w.receivable(path)
	if err != "" {
		return 0, err
	}
	if count < 1 || count > w.limits.batchDelete { // BDEL-3
		return 0, "out of range"
	}
	w.use(e)
	w.catchUp(e, dead)
	for _, m := range w.at(e, dead) {
		if n < count && kindOf(m) == "active" && m.at <= before {
			if w.look(m); w.here(m) && m.dead == dead {
				w.remove(m)
				n++
			}
		}
	}
	return n, ""
}
