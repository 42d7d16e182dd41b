package enginetest

import (
	"cmp"
	"maps"
	"slices"
)

// sessionModel models sessions as simply as possible: one queue that requires them, without
// any index. Times are milliseconds.
type sessionModel struct {
	now               int64
	lock              int64
	most              int // messages of a session that may be locked at once
	deliveries        int
	keep              bool // expired messages become dead letters
	next              int64
	messages          []*sessionMessage
	held              map[string]*holding
	states            map[string]string
	links             []*sessionLink  // in the order of arrival
	dead              []string        // tags with reasons
	endedByThemselves map[uint64]bool // whether a link that ended did so by itself; false if it was detached before its receiver could know
}

// sessionMessage is a message of a session.
type sessionMessage struct {
	tag, session string
	seq          int64
	at, own, due int64 // enqueued; expires and scheduled for, zero meaning never
	locked, set  bool  // locked; deferred
	count        int
	token        string // of its lock
	lock         tenure
}

// tenure is the holder of a lock, its start and its renewals. It is empty after a restart.
type tenure struct {
	by               string
	since, renewedAt int64
	renewed          int
}

type holding struct {
	until int64
	link  uint64 // zero if the link no longer exists
	lock  tenure
}

type sessionLink struct {
	id      uint64
	session string // empty while it waits for a session
	credit  int
	noWait  bool
}

func (w *sessionModel) clone() *sessionModel {
	c := *w
	c.messages, c.links = nil, nil
	for _, m := range w.messages {
		c.messages = append(c.messages, new(*m))
	}
	for _, l := range w.links {
		c.links = append(c.links, new(*l))
	}
	c.held = map[string]*holding{}
	for id, h := range w.held {
		c.held[id] = new(*h)
	}
	c.states, c.dead, c.endedByThemselves = maps.Clone(w.states), slices.Clone(w.dead), maps.Clone(w.endedByThemselves)
	return &c
}

func (w *sessionModel) of(session string) (all []*sessionMessage) {
	for _, m := range w.messages {
		if m.session == session {
			all = append(all, m)
		}
	}
	slices.SortFunc(all, func(a, b *sessionMessage) int { return cmp.Compare(a.seq, b.seq) })
	return all
}

func (m *sessionMessage) ready() bool { return m.due == 0 && !m.locked && !m.set }

// lockCapacity returns how many more messages of a session may be locked.
func (w *sessionModel) lockCapacity(session string) int {
	n := w.most
	for _, m := range w.of(session) {
		if m.locked {
			n--
		}
	}
	return n
}

// first returns the message that the holder of a session gets next.
func (w *sessionModel) first(session string) *sessionMessage {
	for _, m := range w.of(session) {
		if m.ready() {
			return m
		}
	}
	return nil
}

func (w *sessionModel) available(session string) bool {
	return w.held[session] == nil && w.first(session) != nil
}

func (w *sessionModel) anyAvailable() bool {
	return slices.ContainsFunc(w.messages, func(m *sessionMessage) bool { return w.available(m.session) })
}

func (w *sessionModel) link(id uint64) *sessionLink {
	for _, l := range w.links {
		if l.id == id {
			return l
		}
	}
	return nil
}

func (w *sessionModel) unlink(id uint64) {
	w.links = slices.DeleteFunc(w.links, func(l *sessionLink) bool { return l.id == id })
}

func (w *sessionModel) remove(m *sessionMessage) {
	w.messages = slices.DeleteFunc(w.messages, func(o *sessionMessage) bool { return o == m })
}

// advance applies all effects of time until to, one instant after another.
func (w *sessionModel) advance(to int64) {
	for {
		w.moment()
		soonest := to
		for _, m := range w.messages {
			for _, at := range []int64{m.due, m.own} {
				if at > w.now && (m.due == 0 || at == m.due) {
					soonest = min(soonest, at)
				}
			}
		}
		for _, h := range w.held {
			soonest = min(soonest, h.until)
		}
		if w.now == to {
			return
		}
		w.now = soonest
	}
}

func (w *sessionModel) moment() {
	due := slices.Clone(w.messages)
	slices.SortFunc(due, func(a, b *sessionMessage) int { return cmp.Compare(a.seq, b.seq) })
	for _, m := range due {
		if m.due == w.now && m.due != 0 {
			m.due, m.at = 0, w.now
			w.next++
			m.seq = w.next
			if m.own != 0 {
				m.own += w.now // until now m.own was a duration
			}
		}
	}
	for id, h := range w.held {
		if h.until <= w.now {
			w.expireSessionLock(id)
		}
	}
	for _, m := range due {
		w.judge(m)
	}
}

func (w *sessionModel) expireSessionLock(session string) {
	h := w.held[session]
	for _, m := range w.of(session) {
		if m.locked {
			w.unlock(m, 1)
		}
	}
	delete(w.held, session)
	if h.link != 0 {
		w.unlink(h.link)
		w.endedByThemselves[h.link] = true
	}
}

func (w *sessionModel) unlock(m *sessionMessage, failures int) {
	m.locked, m.token = false, ""
	m.count += failures
	w.judge(m)
}

// judge applies the effects of time on a message at the current instant.
func (w *sessionModel) judge(m *sessionMessage) {
	if m.due != 0 || m.locked {
		return
	}
	over := m.own != 0 && m.own <= w.now && !m.set
	switch {
	case over && w.keep:
		w.kill(m, "TTLExpiredException")
	case m.count >= w.deliveries:
		w.kill(m, "MaxDeliveryCountExceeded")
	case over:
		w.remove(m)
	}
}

func (w *sessionModel) kill(m *sessionMessage, why string) {
	if slices.Contains(w.messages, m) {
		w.remove(m)
		w.dead = append(w.dead, m.tag+" "+why)
	}
}

func (w *sessionModel) accept(l *sessionLink, session string) {
	l.session = session
	w.held[session] = &holding{until: w.now + w.lock, link: l.id, lock: tenure{by: "c", since: w.now}}
}

func (w *sessionModel) lockNow(m *sessionMessage) {
	m.locked, m.lock = true, tenure{by: "c", since: w.now}
}

// renew renews the session's lock, and with it the locks of its messages.
func (w *sessionModel) renew(session string) {
	h := w.held[session]
	h.until = w.now + w.lock
	locks := []*tenure{&h.lock}
	for _, m := range w.of(session) {
		if m.locked {
			locks = append(locks, &m.lock)
		}
	}
	for _, l := range locks {
		l.renewed++
		l.renewedAt = w.now
	}
}

// close ends a link, and its session's lock if the session was given back.
func (w *sessionModel) close(id uint64, given bool) {
	l := w.link(id)
	if l == nil {
		return
	}
	w.unlink(id)
	if l.session == "" {
		return
	}
	if !given {
		w.held[l.session].link = 0
		return
	}
	for _, m := range w.of(l.session) {
		if m.locked {
			w.unlock(m, 0)
		}
	}
	delete(w.held, l.session)
}

// settle settles a delivery with the named outcome, or returns the refusal.
func (w *sessionModel) settle(token, outcome string) string {
	for _, m := range w.messages {
		if !m.locked || m.token != token {
			continue
		}
		switch outcome {
		case "complete":
			w.remove(m)
		case "abandon":
			w.unlock(m, 1)
		case "defer":
			m.set = true
			w.unlock(m, 1)
		case "release":
			w.unlock(m, 0)
		case "dead-letter":
			w.kill(m, "")
		}
		return ""
	}
	return "session lost"
}

// fetch models DEF-7 and DEF-14: it returns all the messages or none. It drops expired messages
// (DEF-9).
func (w *sessionModel) fetch(session string, seqs []int64) (got []*sessionMessage, refusal string) {
	missing := false
	for _, seq := range seqs {
		var found *sessionMessage
		for _, m := range w.messages {
			if m.seq == seq && m.set && !m.locked {
				found = m
			}
		}
		if found != nil && found.own != 0 && found.own <= w.now {
			found.set = false
			w.judge(found)
			found = nil
		}
		if found == nil || found.session != session || slices.Contains(got, found) {
			missing = true
			continue
		}
		got = append(got, found)
	}
	switch {
	case missing:
		return nil, "no message"
	case len(got) > w.lockCapacity(session):
		return nil, "quota"
	}
	for _, m := range got {
		w.lockNow(m)
	}
	return got, ""
}
