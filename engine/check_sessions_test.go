package engine

import (
	"strings"
	"testing"
)

// inSession returns a queue with an entry in every index of its sessions: "a" has a receiver
// with a locked message, a deferred one and a scheduled one; "b" has only state; "c" and "d"
// are available; "e" has a receiver with credit.
func inSession(t *testing.T) *Namespace {
	t.Helper()
	ns := New(Options{Limits: DefaultLimits(), Keys: NewKeys(1), Nonce: func() uint64 { return 7 }})
	now := Instant(1_000_000)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := ns.Create(now, Queue, "q", Config{RequiresSession: true}, "")
	must(err)
	_, err = ns.Create(now, Queue, "waiting", Config{RequiresSession: true}, "")
	must(err)
	for _, id := range []string{"a", "a", "c", "d"} {
		s, err := Submit(Content{SessionID: id}, nil, 0, ns.keys.Next(), ns.limits)
		must(err)
		_, err = ns.Send(now, "q", []Submission{s}, "")
		must(err)
	}
	s, err := Submit(Content{SessionID: "a", ScheduledFor: now + 1}, nil, 0, ns.keys.Next(), ns.limits)
	must(err)
	_, err = ns.Send(now, "q", []Submission{s}, "")
	must(err)
	for i, id := range []string{"a", "e"} {
		must(ns.Attach(now, Link{ID: LinkID(i + 1), Path: "q", Session: SessionRequest{NamedSession, id}}))
		must(ns.Credit(now, LinkID(i+1), 2))
	}
	ns.Match(now)
	must(ns.Settle(now, Settlement{Token: ns.effects.Deliveries[0].Token(), Outcome: Defer}))
	state := "state"
	must(ns.SetSessionStateAt(now, "q", "b", &state, ""))
	must(ns.Attach(now, Link{ID: 3, Path: "waiting", Session: SessionRequest{Want: NextSession}}))
	ns.Match(now)
	must(ns.Check())
	return ns
}

// TestCheckFindsSessions corrupts the indexes of sessions one after the other: Check reports each.
func TestCheckFindsSessions(t *testing.T) {
	for name, spoil := range map[string]func(ns *Namespace, h *subqueue, ss *sessions){
		"sessions where there are none": func(ns *Namespace, _ *subqueue, _ *sessions) {
			ns.entities["q"].dead.sessions = newSessions(ns.entities["q"].dead)
		},
		"no sessions where there are": func(ns *Namespace, _ *subqueue, _ *sessions) { ns.entities["waiting"].main.sessions = nil },
		"a message missing":           func(_ *Namespace, _ *subqueue, ss *sessions) { ss.byID["a"].order.drop(5) },
		"a message of another":        func(_ *Namespace, h *subqueue, ss *sessions) { ss.byID["b"].order.put(h.order.at(3)) },
		"another in its place": func(_ *Namespace, _ *subqueue, ss *sessions) {
			ss.byID["a"].order.put(&message{Message: Message{Seq: 5}})
		},
		"a ready bit":            func(_ *Namespace, _ *subqueue, ss *sessions) { ss.byID["c"].order.setReady(3, false) },
		"one deferred too many":  func(_ *Namespace, _ *subqueue, ss *sessions) { ss.byID["a"].deferred++ },
		"one scheduled too many": func(_ *Namespace, _ *subqueue, ss *sessions) { ss.byID["c"].scheduled++ },
		"a locked one missing":   func(_ *Namespace, _ *subqueue, ss *sessions) { ss.byID["a"].lock.locked.drop(2) },
		"a lock that ends elsewhere": func(_ *Namespace, h *subqueue, _ *sessions) {
			m := h.order.at(2)
			h.clearAlarm(m)
			m.LockedUntil++
			h.setAlarm(m)
		},
		"a session forgotten":             func(_ *Namespace, _ *subqueue, ss *sessions) { delete(ss.byID, "c") },
		"a session of nothing":            func(_ *Namespace, _ *subqueue, ss *sessions) { ss.get("z") },
		"under another id":                func(_ *Namespace, _ *subqueue, ss *sessions) { ss.byID["b"].id = "x" },
		"states miscounted":               func(_ *Namespace, _ *subqueue, ss *sessions) { ss.states++ },
		"a state that is not weighed":     func(_ *Namespace, _ *subqueue, ss *sessions) { ss.byID["b"].state.text += "x" },
		"available and held":              func(_ *Namespace, _ *subqueue, ss *sessions) { ss.byID["e"].rank = 1 },
		"available and not in line":       func(_ *Namespace, _ *subqueue, ss *sessions) { ss.available.remove(ss.byID["c"]) },
		"the line by other ranks":         func(_ *Namespace, _ *subqueue, ss *sessions) { ss.available.first.rank = ss.ranks },
		"a rank never given":              func(_ *Namespace, _ *subqueue, ss *sessions) { ss.available.last.rank = ss.ranks + 1 },
		"the line miscounted":             func(_ *Namespace, _ *subqueue, ss *sessions) { ss.available.n++ },
		"the line without its end":        func(_ *Namespace, _ *subqueue, ss *sessions) { ss.available.last = ss.available.first },
		"the line the other way round":    func(_ *Namespace, _ *subqueue, ss *sessions) { ss.available.last.prev = nil },
		"held and not in the heap":        func(_ *Namespace, _ *subqueue, ss *sessions) { ss.locked = ss.locked[:1] },
		"held longer than the heap knows": func(_ *Namespace, _ *subqueue, ss *sessions) { ss.locked[1].lock.until-- },
		"the heap at another place":       func(_ *Namespace, _ *subqueue, ss *sessions) { ss.locked[0].lock.heapIndex = 1 },
		"not in order":                    func(_ *Namespace, _ *subqueue, ss *sessions) { c := ss.sorted.chunks[0]; c[0], c[1] = c[1], c[0] },
		"not on the roll":                 func(_ *Namespace, _ *subqueue, ss *sessions) { ss.sorted.remove(ss.byID["b"]) },
		"an empty chunk":                  func(_ *Namespace, _ *subqueue, ss *sessions) { ss.sorted.chunks = append(ss.sorted.chunks, nil) },
		"a link without its session":      func(ns *Namespace, _ *subqueue, _ *sessions) { ns.links[1].session = nil },
		"a session without its link":      func(_ *Namespace, _ *subqueue, ss *sessions) { ss.byID["a"].lock.link = nil },
		"a link that another has":         func(ns *Namespace, _ *subqueue, ss *sessions) { ss.byID["e"].lock.link = ns.links[1] },
		"a link that waits for nothing":   func(ns *Namespace, _ *subqueue, _ *sessions) { ns.links[3].subqueue.sessions.accepting = nil },
		"a link in line twice": func(ns *Namespace, _ *subqueue, _ *sessions) {
			ss := ns.links[3].subqueue.sessions
			ss.accepting = append(ss.accepting, ns.links[3])
		},
		"one more who does not wait": func(ns *Namespace, _ *subqueue, _ *sessions) { ns.links[3].subqueue.sessions.noWait++ },
		"who waits is not counted": func(ns *Namespace, _ *subqueue, _ *sessions) {
			l := ns.links[3]
			l.subqueue.links.remove(waitingLinks, l)
		},
		"who waits does not hold":     func(ns *Namespace, _ *subqueue, _ *sessions) { ns.entities["waiting"].credit-- },
		"to serve and not in line":    func(_ *Namespace, _ *subqueue, ss *sessions) { ss.byID["a"].lock.toServe = true },
		"in line and not to serve":    func(_ *Namespace, _ *subqueue, ss *sessions) { ss.toServe.first = ss.byID["b"] },
		"to serve, miscounted":        func(_ *Namespace, _ *subqueue, ss *sessions) { ss.toServe.n++ },
		"needs a match, not to serve": func(ns *Namespace, h *subqueue, ss *sessions) { give(ns, h, ss); ss.byID["e"].lock.toServe = false },
		"to serve, needs no match": func(ns *Namespace, h *subqueue, ss *sessions) {
			give(ns, h, ss)
			h.needsMatch, ns.needMatch = false, nil
		},
		"nobody brings them together": func(ns *Namespace, h *subqueue, ss *sessions) {
			l := &link{Link: Link{ID: 9, Path: "q", Session: SessionRequest{Want: NextSession}}, subqueue: h}
			ns.addLink(l)
			h.needsMatch, ns.needMatch = false, nil
		},
		"the lock's end is not due": func(ns *Namespace, h *subqueue, ss *sessions) {
			ss.locked[0].lock.until = 5
			if ss.locked[0].locked() > 0 {
				ss.locked[0], ss.locked[1] = ss.locked[1], ss.locked[0]
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			ns := inSession(t)
			h := ns.entities["q"].main
			spoil(ns, h, h.sessions)
			if err := ns.Check(); err == nil {
				t.Error("Check found nothing")
			} else if strings.Contains(err.Error(), "%!") {
				t.Errorf("Check returned %v", err)
			}
		})
	}
}

// give adds a message for the receiver of "e".
func give(ns *Namespace, h *subqueue, ss *sessions) {
	s, err := Submit(Content{SessionID: "e"}, nil, 0, ns.keys.Next(), ns.limits)
	if err == nil {
		_, err = ns.Send(1_000_000, "q", []Submission{s}, "")
	}
	if err != nil || !ss.byID["e"].lock.toServe || !h.needsMatch {
		panic(err)
	}
}

// After a session's lock begins and ends within a turn, the session is no longer in the list of
// sessions to serve (SES-7).
func TestToServeUntilTheLockEnds(t *testing.T) {
	ns := inSession(t)
	ss := ns.entities["q"].main.sessions
	give(ns, ns.entities["q"].main, ss)
	was := ss.toServe.n
	for id := range LinkID(50) {
		if err := ns.Attach(1_000_000, Link{ID: 100 + id, Path: "q", Session: SessionRequest{NamedSession, "c"}}); err != nil {
			t.Fatal(err)
		}
		if err := ns.Credit(1_000_000, 100+id, 1); err != nil {
			t.Fatal(err)
		}
		if ss.toServe.n != was+1 || ss.toServe.last != ss.byID["c"] {
			t.Fatalf("%d sessions are to be served", ss.toServe.n)
		}
		ns.Detach(1_000_000, 100+id, DetachedByClient)
		if err := ns.Check(); ss.toServe.n != was || err != nil {
			t.Fatalf("%d sessions are to be served, %v", ss.toServe.n, err)
		}
	}
}
