package enginetest

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

func itoa(n int) string { return strconv.Itoa(n) }

type submission struct {
	tag      string
	ttl, due int64
	size     int64
}

// bytes is what an entity, subscriptions and dead letters included, holds of
// what senders wrote; what settlements added is not known here.
func (w *model) bytes(e *entity) (n int64) {
	for _, m := range w.messages {
		if root(m.in) == root(e) {
			n += m.size
		}
	}
	return n
}

// copies is how many a message sent to e makes.
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

// opaque tells that e depends on a rule that is not built.
func (w *model) opaque(e *entity) bool {
	for _, s := range w.subscriptions(e) {
		if slices.Contains(slices.Collect(maps.Values(s.rules)), false) {
			return true
		}
	}
	return false
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
	case w.opaque(e):
		return nil, "not implemented"
	case len(batch) == 0:
		return nil, "argument"
	}
	more := int64(0)
	for _, s := range batch {
		if s.size > int64(w.limits.messageSize) {
			return nil, "too large"
		}
		n := w.copies(e)
		if s.due > w.now {
			n = max(n, 1)
		}
		more += s.size * n
	}
	if more > 0 && w.bytes(e)+more > w.limits.entitySize {
		return nil, "quota"
	}
	var seqs []int64
	for _, s := range batch {
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

// owned is the message of a live lock.
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
	m.until = plus(w.now, m.in.cfg.lock)
	return m.until, ""
}

// fetch is DEF-6, DEF-7 and DEF-9; the caller says what tokens were given.
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
	e, dead, err := w.place(path)
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
	e, dead, err := w.place(path)
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

// --- §21a ---

// free is a message that nobody holds, after a look at it.
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

func (w *model) move(m *message, to string, keep bool) (int64, string) {
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
	case w.opaque(target):
		return 0, "not implemented"
	}
	more := m.size * w.copies(target)
	if !keep && root(target) == root(m.in) {
		more -= m.size
	}
	if more > 0 && w.bytes(target)+more > w.limits.entitySize {
		return 0, "quota"
	}
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
	if !m.deferred { // OPS-3: a deferred one that is past its time can be saved
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
	m.until = plus(w.now, m.in.cfg.lock)
	return m.until, ""
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

// A modelPurge is OPS-7: what is there when it begins goes, a slice at a time.
type modelPurge struct {
	path             string
	kinds            []string
	bound, before    int64
	from             int64
	removed, skipped int64
	done             bool
}

func (w *model) beginPurge(path string, kinds []string) (modelPurge, string) {
	e, dead, err := w.place(path)
	if err != "" {
		return modelPurge{}, err
	}
	w.catchUp(e, dead)
	return modelPurge{path: path, kinds: kinds, bound: e.next, before: w.now}, ""
}

// purgeSlice looks at up to limit messages more.
func (w *model) purgeSlice(p *modelPurge, limit int) string {
	e, dead, err := w.place(p.path)
	if err != "" {
		return err
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
			p.skipped++
		case m.until != 0 || wanted():
			seq := m.seq
			if w.look(m); w.here(m) && m.dead == dead && m.seq == seq && wanted() {
				p.removed++
				w.remove(m)
				w.use(e)
			}
		}
	}
	return ""
}

// purge is one done at once.
func (w *model) purge(path string, kinds []string) (removed, skipped int64, err string) {
	p, err := w.beginPurge(path, kinds)
	if err == "" {
		err = w.purgeSlice(&p, 1<<30)
	}
	return p.removed, p.skipped, err
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

// --- entities ---

func (w *model) create(kind byte, path string, c config) string {
	topicName, _, isSub := strings.Cut(path, "/Subscriptions/")
	switch e, dead := w.find(path); {
	case dead:
		return "not allowed"
	case isSub != (kind == 's'):
		return "argument"
	case e != nil:
		return "exists"
	}
	top := 0
	for _, e := range w.entities {
		if e.topic == nil {
			top++
		}
	}
	e := &entity{kind: kind, path: path, cfg: c, next: 1, created: w.now, updated: w.now, used: w.now}
	if kind == 's' {
		topic, _ := w.find(topicName)
		switch {
		case topic == nil:
			return "not found"
		case topic.kind != 't':
			return "not allowed"
		case len(w.subscriptions(topic)) >= w.limits.subscriptions:
			return "quota"
		}
		e.topic, e.rules = topic, map[string]bool{"$default": true}
		e.path = topic.path + strings.TrimPrefix(path, topicName)
	} else if top >= w.limits.entities {
		return "quota"
	}
	w.entities = append(w.entities, e)
	w.use(e)
	return ""
}

// admin finds an entity to administer.
func (w *model) admin(path string) (*entity, string) {
	e, dead := w.find(path)
	switch {
	case dead:
		return nil, "not allowed"
	case e == nil:
		return nil, "not found"
	}
	return e, ""
}

// update returns the links it ended.
func (w *model) update(path string, c config) (ended []uint64, err string) {
	e, err := w.admin(path)
	if err != "" {
		return nil, err
	}
	if c.idle != e.cfg.idle {
		e.pinned = 0
	}
	e.cfg, e.updated = c, w.now
	w.use(e)
	if e.kind != 't' && !c.receives() {
		for _, l := range slices.Clone(w.links) {
			if l.in == e {
				ended = append(ended, l.id)
				w.links = slices.DeleteFunc(w.links, func(o *link) bool { return o == l })
			}
		}
	}
	return ended, ""
}

func (w *model) delete(path string) string {
	e, err := w.admin(path)
	if err != "" {
		return err
	}
	w.drop(e)
	if e.topic != nil {
		w.use(e.topic)
	}
	return ""
}

func (w *model) ruled(path string) (*entity, string) {
	e, err := w.admin(path)
	switch {
	case err != "":
		return nil, err
	case e.kind != 's':
		return nil, "not allowed"
	case e.cfg.status == "Disabled" || e.topic.cfg.status == "Disabled": // STAT-9
		return nil, "disabled"
	}
	return e, ""
}

func (w *model) addRule(path, name string, selects bool) string {
	e, err := w.ruled(path)
	if err != "" {
		return err
	}
	if _, ok := e.rules[strings.ToLower(name)]; ok {
		return "exists"
	}
	e.rules[strings.ToLower(name)] = selects
	w.use(e)
	return ""
}

func (w *model) removeRule(path, name string) string {
	e, err := w.ruled(path)
	if err != "" {
		return err
	}
	if _, ok := e.rules[strings.ToLower(name)]; !ok {
		return "not found"
	}
	delete(e.rules, strings.ToLower(name))
	w.use(e)
	return ""
}

func (w *model) touch(path string) string {
	e, err := w.admin(path)
	if err == "" {
		w.use(e)
	}
	return err
}

func (w *model) pin(path string) string {
	e, err := w.admin(path)
	if err != "" {
		return err
	}
	if e.cfg.idle == 0 {
		return "not allowed"
	}
	e.pinned, e.cfg.idle, e.updated = e.cfg.idle, 0, w.now
	w.use(e)
	return ""
}

func (w *model) unpin(path string) string {
	e, err := w.admin(path)
	if err != "" {
		return err
	}
	if e.pinned == 0 {
		return "not allowed"
	}
	e.cfg.idle, e.pinned, e.updated = e.pinned, 0, w.now
	w.use(e)
	return ""
}
