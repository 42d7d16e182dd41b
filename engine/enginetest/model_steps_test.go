package enginetest

import (
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"
)

func itoa(n int) string { return strconv.Itoa(n) }

type submission struct {
	tag      string
	ttl, due int64
	size     int64
}

// bytes returns the total size, as sent, of the messages in an entity, its subscriptions and
// dead-letter subqueues. Properties added by settlements are not counted.
func (w *model) bytes(e *entity) (n int64) {
	for _, m := range w.messages {
		if root(m.in) == root(e) {
			n += m.size
		}
	}
	return n
}

// copies returns how many messages a message sent to e becomes.
func (w *model) copies(e *entity) (n int64) {
	if e.kind != 't' {
		return 1
	}
	for _, s := range w.subscriptions(e) {
		if slices.Contains(slices.Collect(maps.Values(s.rules)), true) {
			n++
		}
	}
	return n
}

func (w *model) send(path string, batch []submission) ([]int64, string) {
	e, dead := w.find(path)
	switch {
	case e == nil:
		return nil, "not found"
	case dead || e.kind == 's': // DLQ-4
		return nil, "not allowed"
	case !e.cfg.sends(): // STAT-2
		return nil, "disabled"
	case len(batch) == 0:
		return nil, "argument"
	}
	more := int64(0)
	double := w.doubles(e, batch)
	for i, s := range batch {
		if s.size > int64(w.limits.messageSize) {
			return nil, "too large"
		}
		n := w.copies(e)
		if s.due > w.now {
			n = max(n, 1)
		}
		if !double[i] {
			more += s.size * n
		}
	}
	if more > 0 && w.bytes(e)+more > w.limits.entitySize {
		return nil, "quota"
	}
	var seqs []int64
	for i, s := range batch {
		if double[i] {
			seqs = append(seqs, w.dropDouble(e, s.due > w.now))
			continue
		}
		w.see(e, s.tag)
		m := message{in: e, tag: s.tag, size: s.size, ttl: s.ttl, seq: e.next, first: e.next, at: w.now}
		e.next++
		seqs = append(seqs, m.seq)
		switch {
		case s.due > w.now: // SCH-2
			m.due = s.due
			w.messages = append(w.messages, &m)
		case e.kind == 't':
			w.distribute(e, m)
		default:
			m.own = carried(e, w.now, s.ttl)
			w.messages = append(w.messages, &m)
		}
	}
	w.use(e)
	return seqs, ""
}

// owned returns the message under a lock that has not expired.
func (w *model) owned(token, path string) (*message, string) {
	for _, m := range w.messages {
		if m.token != token || m.until == 0 || w.now >= m.until {
			continue
		}
		if e, dead := w.find(path); path != "" && (e != m.in || dead != m.dead) {
			break
		}
		return m, ""
	}
	return nil, "lock lost"
}

func (w *model) settle(token, path, outcome, reason, text string, props map[string]string) string {
	m, err := w.owned(token, path)
	switch {
	case err != "":
		return err
	case !m.in.cfg.receives(): // STAT-7
		return "disabled"
	case outcome == "dead-letter" && m.dead: // DLQ-5
		return "not allowed"
	case utf8.RuneCountInString(reason) > w.limits.reason || utf8.RuneCountInString(text) > w.limits.reason:
		return "out of range"
	}
	w.use(m.in)
	if outcome == "abandon" || outcome == "defer" || outcome == "dead-letter" { // SETL-2
		m.modify(props)
	}
	switch outcome {
	case "complete":
		w.remove(m)
	case "abandon":
		w.unlock(m, true)
		w.decide(m)
	case "defer":
		w.unlock(m, true)
		m.deferred = true
		w.decide(m)
	case "dead-letter":
		w.die(m, reason, text)
	case "release":
		w.unlock(m, false)
		w.decide(m)
	}
	return ""
}

func (m *message) modify(props map[string]string) {
	if m.props == nil {
		m.props = map[string]string{}
	}
	maps.Copy(m.props, props)
}

func (w *model) renew(token, path string) (int64, string) {
	m, err := w.owned(token, path)
	if err != "" {
		return 0, err
	}
	if !m.in.cfg.receives() {
		return 0, "disabled"
	}
	w.use(m.in)
	return w.renewLock(m), ""
}

func (w *model) renewLock(m *message) int64 {
	m.until, m.renewedAt = plus(w.now, m.in.cfg.lock), w.now
	m.renewed++
	return m.until
}

// fetch models DEF-6, DEF-7 and DEF-9; the caller sets the tokens.
func (w *model) fetch(path string, seqs []int64) ([]*message, string) {
	e, dead, err := w.receivable(path)
	if err != "" {
		return nil, err
	}
	w.use(e)
	var found []*message
	ok := true
	for _, s := range seqs {
		m := w.numbered(e, dead, s)
		if m != nil {
			w.look(m)
			if w.here(m) && m.dead == dead && m.deferred && m.until == 0 && expiredAt(m, w.now) {
				m.deferred = false
				w.decide(m)
			}
		}
		if m == nil || !w.here(m) || m.dead != dead || m.seq != s || !m.deferred || m.until != 0 || slices.Contains(found, m) {
			ok = false
			continue
		}
		found = append(found, m)
	}
	if !ok {
		return nil, "no message"
	}
	return found, ""
}

func (w *model) peek(path string, from int64, count int) ([]*message, string) {
	e, dead, err := w.subqueue(path)
	switch {
	case err != "":
		return nil, err
	case !e.cfg.receives():
		return nil, "disabled"
	case count <= 0:
		return nil, "out of range"
	}
	w.use(e)
	ms := slices.DeleteFunc(w.at(e, dead), func(m *message) bool { return m.seq < from })
	return ms[:min(len(ms), count, w.limits.peek)], ""
}

func (w *model) cancel(path string, seqs []int64) string {
	e, dead, err := w.subqueue(path)
	if err != "" {
		return err
	}
	var found []*message
	for _, s := range seqs {
		m := w.numbered(e, dead, s)
		if m == nil || m.due == 0 || w.now >= m.due {
			return "no message"
		}
		found = append(found, m)
	}
	for _, m := range found {
		w.remove(m)
		w.use(e)
	}
	return ""
}
