package enginetest

import (
	"maps"
	"slices"
	"strings"
)

// This file and model_*_test.go implement the rules of a broker a second time: from the text of
// the specification, with plain lists that are searched from end to end, and without package
// engine. Times are in milliseconds, zero meaning never. Errors are single words.
//
// The model applies the effects of time to a message when a step touches it, just as the engine
// promises: a receive touches the expired locks and due schedules of its subqueue and then the
// oldest messages until one is available; a step about one message touches that message; a
// sweep touches all.

// A model is the model of a namespace.
type model struct {
	now      int64
	entities []*entity
	messages []*message
	links    []*link
	limits   limits

	transactions []transaction
}

type limits struct {
	entities, subscriptions, receivers, messageSize, peek, batchDelete, reason, transactionMessages int
	entitySize, transactionTime                                                                     int64
}

type entity struct {
	kind    byte // 'q'ueue, 't'opic, 's'ubscription
	path    string
	topic   *entity
	cfg     config
	next    int64
	created int64
	updated int64
	used    int64
	pinned  int64
	rules   map[string]bool  // by folded name; true means a true filter, false a false one
	seen    map[string]int64 // the time at which each message id was accepted
	dropped uint64           // number of dropped duplicates
}

type config struct {
	lock, ttl, idle int64
	deliveries      int
	keep            bool // expired messages are dead-lettered
	status          string
	metadata        string
	detects         bool // duplicate detection
	window          int64
}

func (c config) sends() bool    { return c.status == "Active" || c.status == "ReceiveDisabled" }
func (c config) receives() bool { return c.status == "Active" || c.status == "SendDisabled" }

type message struct {
	in   *entity
	dead bool

	tag        string // the submission that it is from
	size       int64
	ttl        int64 // as requested; negative means expired on arrival
	key        uint64
	seq, first int64
	at         int64
	own        int64 // its stored expiry
	due        int64 // scheduled for
	until      int64 // locked until, whether or not that has passed
	token      string
	by         string // client that holds the lock, or held the last one
	since      int64  // start of that lock; zero if the engine does not know it
	renewed    int    // renewals of that lock
	renewedAt  int64
	deferred   bool
	count      int
	reason     string
	text       string
	diedAt     int64
	props      map[string]string
}

type link struct {
	id           uint64
	in           *entity
	dead, remove bool
	client       string
	credit       int
	once, noWait bool
	served       bool
}

// clone returns a deep copy.
func (w *model) clone() *model {
	c := &model{now: w.now, limits: w.limits}
	for _, t := range w.transactions {
		t.operations = slices.Clone(t.operations)
		c.transactions = append(c.transactions, t)
	}
	to := map[*entity]*entity{nil: nil}
	for _, e := range w.entities { // a topic precedes its subscriptions
		n := *e
		n.topic, n.rules, n.seen = to[e.topic], maps.Clone(e.rules), maps.Clone(e.seen)
		to[e] = &n
		c.entities = append(c.entities, &n)
	}
	for _, m := range w.messages {
		n := *m
		n.in, n.props = to[m.in], maps.Clone(m.props)
		c.messages = append(c.messages, &n)
	}
	for _, l := range w.links {
		n := *l
		n.in = to[l.in]
		c.links = append(c.links, &n)
	}
	return c
}

const dlq = "/$deadletterqueue"

// find returns the entity of a path, and whether it is the path of its dead-letter subqueue.
func (w *model) find(path string) (e *entity, dead bool) {
	path = strings.ToLower(path)
	path, dead = strings.CutSuffix(path, dlq)
	for _, e := range w.entities {
		if strings.ToLower(e.path) == path {
			return e, dead
		}
	}
	return nil, dead
}

// subqueue finds a subqueue that can contain messages: a topic has no dead-letter subqueue.
func (w *model) subqueue(path string) (*entity, bool, string) {
	e, dead := w.find(path)
	if e == nil || dead && e.kind == 't' {
		return nil, false, "not found"
	}
	return e, dead, ""
}

func (w *model) subscriptions(topic *entity) (subs []*entity) {
	for _, e := range w.entities {
		if e.topic == topic && topic != nil {
			subs = append(subs, e)
		}
	}
	return subs
}

// at returns the messages of a subqueue by sequence number.
func (w *model) at(e *entity, dead bool) (ms []*message) {
	for _, m := range w.messages {
		if m.in == e && m.dead == dead {
			ms = append(ms, m)
		}
	}
	slices.SortFunc(ms, func(a, b *message) int { return int(a.seq - b.seq) })
	return ms
}

func (w *model) numbered(e *entity, dead bool, seq int64) *message {
	for _, m := range w.at(e, dead) {
		if m.seq == seq {
			return m
		}
	}
	return nil
}

func (w *model) here(m *message) bool { return slices.Contains(w.messages, m) }

func (w *model) remove(m *message) {
	w.messages = slices.DeleteFunc(w.messages, func(o *message) bool { return o == m })
}

// use restarts an entity's idle timer; use of a subscription is also use of its topic (IDLE-3).
func (w *model) use(e *entity) {
	for ; e != nil; e = e.topic {
		e.used = max(e.used, w.now)
	}
}

// --- time to live ---

const lastInstant = 253402300799999 // the end of the year 9999

func plus(at, d int64) int64 {
	if d > lastInstant-at {
		return lastInstant
	}
	return at + d
}

// shorter returns the shorter of two durations, where zero means infinite (TTL-7).
func shorter(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// ceiling returns the effective default time to live of an entity's messages.
func ceiling(e *entity) int64 {
	if e.topic != nil {
		return shorter(e.cfg.ttl, e.topic.cfg.ttl)
	}
	return e.cfg.ttl
}

// carried returns the stored expiry of a message with its own TTL (TTL-5, TTL-8, TTL-13).
func carried(e *entity, at, ttl int64) int64 {
	switch {
	case ttl < 0:
		return at
	case ttl == 0:
		return 0
	}
	return plus(at, shorter(ttl, ceiling(e)))
}

// expires returns when a message stops being deliverable (TTL-11, TTL-14, TTL-16).
func expires(m *message) int64 {
	if m.dead || m.due != 0 { // TTL-33, TTL-35
		return 0
	}
	if m.own != 0 {
		return m.own
	}
	if c := ceiling(m.in); c != 0 {
		return plus(m.at, c)
	}
	return 0
}

func expiredAt(m *message, now int64) bool { return expires(m) != 0 && now >= expires(m) }

// --- what time does to a message ---

// look applies the effects of time to m.
func (w *model) look(m *message) {
	if m.due != 0 {
		if w.now >= m.due {
			w.activate(m)
		}
		return
	}
	if m.until != 0 {
		if w.now < m.until { // TTL-20
			return
		}
		over := m.until
		w.unlock(m, true)
		// The limit is checked at the moment of the failure (DC-4). Expiry at the same moment
		// takes precedence (TTL-26).
		if !m.dead && m.count >= m.in.cfg.deliveries && !(!m.deferred && expiredAt(m, over) && m.in.cfg.keep) {
			w.wornOut(m)
			return
		}
	}
	w.decide(m)
}

func (w *model) unlock(m *message, failed bool) {
	m.until = 0
	if failed && !m.dead { // DC-6
		m.count++
	}
}

// decide applies the effects of time on an unlocked message (DEC-3).
func (w *model) decide(m *message) {
	expired := !m.deferred && expiredAt(m, w.now) // DEC-4
	switch {
	case m.dead:
	case expired && m.in.cfg.keep:
		w.die(m, "TTLExpiredException", "The message expired and was dead lettered.")
	case m.count >= m.in.cfg.deliveries:
		w.wornOut(m)
	case expired:
		w.remove(m)
	}
}

func (w *model) wornOut(m *message) {
	w.die(m, "MaxDeliveryCountExceeded", "Message could not be consumed after "+itoa(m.in.cfg.deliveries)+" delivery attempts.")
}

func (w *model) die(m *message, reason, text string) {
	m.dead, m.deferred, m.until = true, false, 0
	m.reason, m.text, m.diedAt = reason, text, w.now
}

// activate models SCH-5 and TTL-12, and at a topic the distribution (SCH-10).
func (w *model) activate(m *message) {
	e := m.in
	seq := e.next
	e.next++
	m.at, m.due = min(w.now, m.due), 0
	m.seq, m.first = seq, seq
	if e.kind == 't' {
		w.remove(m)
		w.distribute(e, *m)
	} else {
		m.own = carried(e, m.at, m.ttl)
	}
	w.use(e)
}

func (w *model) distribute(topic *entity, m message) {
	for _, s := range w.subscriptions(topic) {
		if !slices.Contains(slices.Collect(maps.Values(s.rules)), true) {
			continue
		}
		c := m
		c.in, c.seq, c.key = s, s.next, 0
		c.props = maps.Clone(m.props)
		s.next++
		c.own = carried(s, m.at, m.ttl)
		w.messages = append(w.messages, &c)
	}
}

// over returns when time has its next effect on m (activation, end of the lock or expiry), or zero
// for never.
func over(m *message) int64 {
	switch {
	case m.due != 0:
		return m.due
	case m.until != 0:
		return m.until
	case m.deferred:
		return 0
	}
	return expires(m)
}

// lookAll calls look for the messages in ms on which time has an effect now, the longest
// overdue first. It reports whether there were any.
func (w *model) lookAll(ms []*message) (some bool) {
	ms = slices.DeleteFunc(slices.Clone(ms), func(m *message) bool { return over(m) == 0 || w.now < over(m) })
	slices.SortFunc(ms, func(a, b *message) int {
		if d := over(a) - over(b); d != 0 {
			return int(d)
		}
		return int(a.seq - b.seq)
	})
	for _, m := range ms {
		w.look(m)
	}
	return len(ms) > 0
}

// sweep does everything that is due, and then deletes idle entities.
func (w *model) sweep() {
	for w.lookAll(w.messages) {
	}
	w.overdue()
	for _, e := range slices.Clone(w.entities) {
		if slices.Contains(w.entities, e) && e.cfg.idle != 0 && !w.held(e) && w.now >= e.used+e.cfg.idle {
			w.drop(e)
		}
	}
}

// held reports whether waiting receivers or scheduled messages keep an entity from being idle
// (IDLE-8, IDLE-9).
func (w *model) held(e *entity) bool {
	for _, l := range w.links {
		if l.credit > 0 && (l.in == e || l.in.topic == e) {
			return true
		}
	}
	return slices.ContainsFunc(w.messages, func(m *message) bool { return m.in == e && m.due != 0 })
}

// drop deletes an entity and everything in it (IDLE-10, IDLE-11, PROP-14).
func (w *model) drop(e *entity) {
	for _, s := range w.subscriptions(e) {
		w.drop(s)
	}
	w.messages = slices.DeleteFunc(w.messages, func(m *message) bool { return m.in == e })
	w.links = slices.DeleteFunc(w.links, func(l *link) bool { return l.in == e })
	w.entities = slices.DeleteFunc(w.entities, func(o *entity) bool { return o == e })
}

// --- receiving ---

// head returns the message that a receiver gets next, if any.
func (w *model) head(e *entity, dead bool) *message {
	w.catchUp(e, dead)
	for _, m := range w.at(e, dead) {
		if m.due != 0 || m.until != 0 || m.deferred {
			continue
		}
		if w.look(m); w.here(m) && m.dead == dead {
			return m
		}
	}
	return nil
}

// catchUp calls look for the locked and scheduled messages of a subqueue.
func (w *model) catchUp(e *entity, dead bool) {
	if e.topic != nil {
		w.lookAll(w.at(e.topic, false))
	}
	var waiting []*message
	for _, m := range w.at(e, dead) {
		if m.due != 0 || m.until != 0 {
			waiting = append(waiting, m)
		}
	}
	w.lookAll(waiting)
}

func (w *model) take(m *message, remove bool, token, by string) {
	if remove {
		w.remove(m)
		return
	}
	m.until, m.token, m.by = plus(w.now, m.in.cfg.lock), token, by
	m.since, m.renewed, m.renewedAt = w.now, 0, 0
}

// forgetLocks clears what a restart loses about locks: holder, start and renewals. Expiry times and
// tokens stay.
func (w *model) forgetLocks() {
	for _, m := range w.messages {
		m.by, m.since, m.renewed, m.renewedAt = "", 0, 0, 0
	}
}

// receivable returns an entity whose messages can be received, or the refusal (§1.4).
func (w *model) receivable(path string) (*entity, bool, string) {
	e, dead, err := w.subqueue(path)
	switch {
	case err != "":
		return nil, false, err
	case e.kind == 't':
		return nil, false, "not allowed"
	case !e.cfg.receives():
		return nil, false, "disabled"
	}
	return e, dead, ""
}

func (w *model) attach(path string, l link) string {
	e, dead, err := w.receivable(path)
	if err != "" {
		return err
	}
	l.in, l.dead = e, dead
	w.links = append(w.links, &l)
	w.use(e)
	return ""
}

func root(e *entity) *entity {
	if e.topic != nil {
		return e.topic
	}
	return e
}

func (w *model) link(id uint64) *link {
	for _, l := range w.links {
		if l.id == id {
			return l
		}
	}
	return nil
}

func (w *model) credit(id uint64, n int) string {
	l := w.link(id)
	if l == nil {
		return "not found"
	}
	waiting := 0
	for _, o := range w.links {
		if o.credit > 0 && root(o.in) == root(l.in) {
			waiting++
		}
	}
	if l.credit == 0 && n > 0 && waiting >= w.limits.receivers {
		return "busy"
	}
	l.credit += n
	w.use(l.in)
	return ""
}

func (w *model) detach(id uint64) {
	l := w.link(id)
	if l == nil {
		return
	}
	w.links = slices.DeleteFunc(w.links, func(o *link) bool { return o == l })
	if l.credit > 0 {
		w.use(l.in)
	}
}
