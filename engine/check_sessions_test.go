package engine

import (
	"strings"
	"testing"
)

// inSession is a queue with something in every index of its sessions: "a" has a
// receiver with a locked message, one set aside and one to come, "b" only state,
// "c" and "d" can be had, "e" a receiver with credit.
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
	must(ns.Settle(now, Settlement{Token: ns.out.Deliveries[0].Token(), Outcome: Defer}))
	state := "state"
	must(ns.SetStateFor(now, "q", "b", &state, ""))
	must(ns.Attach(now, Link{ID: 3, Path: "waiting", Session: SessionRequest{Want: NextSession}}))
	ns.Match(now)
	must(ns.Check())
	return ns
}

// TestCheckFindsSessions spoils one index of sessions after the other.
func TestCheckFindsSessions(t *testing.T) {
	for name, spoil := range map[string]func(ns *Namespace, h *holder, ss *sessions){
		"sessions where there are none": func(ns *Namespace, _ *holder, _ *sessions) { ns.entities["q"].dead.sessions = newSessions() },
		"no sessions where there are":   func(ns *Namespace, _ *holder, _ *sessions) { ns.entities["waiting"].main.sessions = nil },
		"a message missing":             func(_ *Namespace, _ *holder, ss *sessions) { ss.byID["a"].order.drop(5) },
		"a message of another":          func(_ *Namespace, h *holder, ss *sessions) { ss.byID["b"].order.put(h.order.at(3)) },
		"another in its place": func(_ *Namespace, _ *holder, ss *sessions) {
			ss.byID["a"].order.put(&message{Message: Message{Seq: 5}})
		},
		"a ready bit":            func(_ *Namespace, _ *holder, ss *sessions) { ss.byID["c"].order.setReady(3, false) },
		"one deferred too many":  func(_ *Namespace, _ *holder, ss *sessions) { ss.byID["a"].deferred++ },
		"one scheduled too many": func(_ *Namespace, _ *holder, ss *sessions) { ss.byID["c"].scheduled++ },
		"a locked one missing":   func(_ *Namespace, _ *holder, ss *sessions) { ss.byID["a"].lock.locked.drop(2) },
		"a lock that ends elsewhere": func(_ *Namespace, h *holder, _ *sessions) {
			m := h.order.at(2)
			h.clearAlarm(m)
			m.LockedUntil++
			h.setAlarm(m)
		},
		"a session forgotten":             func(_ *Namespace, _ *holder, ss *sessions) { delete(ss.byID, "c") },
		"a session of nothing":            func(_ *Namespace, _ *holder, ss *sessions) { ss.get("z") },
		"under another id":                func(_ *Namespace, _ *holder, ss *sessions) { ss.byID["b"].id = "x" },
		"states miscounted":               func(_ *Namespace, _ *holder, ss *sessions) { ss.states++ },
		"a state that is not weighed":     func(_ *Namespace, _ *holder, ss *sessions) { ss.byID["b"].state.text += "x" },
		"available and held":              func(_ *Namespace, _ *holder, ss *sessions) { ss.byID["e"].rank = 1 },
		"available and not in line":       func(_ *Namespace, _ *holder, ss *sessions) { ss.free.remove(ss.byID["c"]) },
		"the line by other ranks":         func(_ *Namespace, _ *holder, ss *sessions) { ss.free.first.rank = ss.ranks },
		"a rank never given":              func(_ *Namespace, _ *holder, ss *sessions) { ss.free.last.rank = ss.ranks + 1 },
		"the line miscounted":             func(_ *Namespace, _ *holder, ss *sessions) { ss.free.n++ },
		"the line without its end":        func(_ *Namespace, _ *holder, ss *sessions) { ss.free.last = ss.free.first },
		"the line the other way round":    func(_ *Namespace, _ *holder, ss *sessions) { ss.free.last.prev = nil },
		"held and not in the heap":        func(_ *Namespace, _ *holder, ss *sessions) { ss.taken = ss.taken[:1] },
		"held longer than the heap knows": func(_ *Namespace, _ *holder, ss *sessions) { ss.taken[1].lock.until-- },
		"the heap at another place":       func(_ *Namespace, _ *holder, ss *sessions) { ss.taken[0].lock.place = 1 },
		"not in order":                    func(_ *Namespace, _ *holder, ss *sessions) { c := ss.byName.chunks[0]; c[0], c[1] = c[1], c[0] },
		"not on the roll":                 func(_ *Namespace, _ *holder, ss *sessions) { ss.byName.remove(ss.byID["b"]) },
		"an empty chunk":                  func(_ *Namespace, _ *holder, ss *sessions) { ss.byName.chunks = append(ss.byName.chunks, nil) },
		"a link without its session":      func(ns *Namespace, _ *holder, _ *sessions) { ns.links[1].session = nil },
		"a session without its link":      func(_ *Namespace, _ *holder, ss *sessions) { ss.byID["a"].lock.link = nil },
		"a link that another has":         func(ns *Namespace, _ *holder, ss *sessions) { ss.byID["e"].lock.link = ns.links[1] },
		"a link that waits for nothing":   func(ns *Namespace, _ *holder, _ *sessions) { ns.links[3].holder.sessions.accepting = nil },
		"a link in line twice": func(ns *Namespace, _ *holder, _ *sessions) {
			ss := ns.links[3].holder.sessions
			ss.accepting = append(ss.accepting, ns.links[3])
		},
		"one more who does not wait": func(ns *Namespace, _ *holder, _ *sessions) { ns.links[3].holder.sessions.impatient++ },
		"who waits is not counted":   func(ns *Namespace, _ *holder, _ *sessions) { l := ns.links[3]; l.holder.links.exit(waitingLinks, l) },
		"who waits does not hold":    func(ns *Namespace, _ *holder, _ *sessions) { ns.entities["waiting"].credit-- },
		"to be fed and not in line":  func(_ *Namespace, _ *holder, ss *sessions) { ss.byID["a"].lock.fed = true },
		"in line and not to be fed":  func(_ *Namespace, _ *holder, ss *sessions) { ss.fed.first = ss.byID["b"] },
		"to be fed, miscounted":      func(_ *Namespace, _ *holder, ss *sessions) { ss.fed.n++ },
		"hungry and not to be fed":   func(ns *Namespace, h *holder, ss *sessions) { give(ns, h, ss); ss.byID["e"].lock.fed = false },
		"to be fed and not hungry":   func(ns *Namespace, h *holder, ss *sessions) { give(ns, h, ss); h.hungry, ns.hungry = false, nil },
		"nobody brings them together": func(ns *Namespace, h *holder, ss *sessions) {
			l := &link{Link: Link{ID: 9, Path: "q", Session: SessionRequest{Want: NextSession}}, holder: h}
			ns.join(l)
			h.hungry, ns.hungry = false, nil
		},
		"the lock's end is not due": func(ns *Namespace, h *holder, ss *sessions) {
			ss.taken[0].lock.until = 5
			if ss.taken[0].locked() > 0 {
				ss.taken[0], ss.taken[1] = ss.taken[1], ss.taken[0]
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
				t.Errorf("Check says %v", err)
			}
		})
	}
}

// give has there be a message for the receiver of "e".
func give(ns *Namespace, h *holder, ss *sessions) {
	s, err := Submit(Content{SessionID: "e"}, nil, 0, ns.keys.Next(), ns.limits)
	if err == nil {
		_, err = ns.Send(1_000_000, "q", []Submission{s}, "")
	}
	if err != nil || !ss.byID["e"].lock.fed || !h.hungry {
		panic(err)
	}
}

// A lock that begins and ends within a turn leaves nothing behind (SES-7).
func TestFedUntilTheLockEnds(t *testing.T) {
	ns := inSession(t)
	ss := ns.entities["q"].main.sessions
	give(ns, ns.entities["q"].main, ss)
	was := ss.fed.n
	for id := range LinkID(50) {
		if err := ns.Attach(1_000_000, Link{ID: 100 + id, Path: "q", Session: SessionRequest{NamedSession, "c"}}); err != nil {
			t.Fatal(err)
		}
		if err := ns.Credit(1_000_000, 100+id, 1); err != nil {
			t.Fatal(err)
		}
		if ss.fed.n != was+1 || ss.fed.last != ss.byID["c"] {
			t.Fatalf("%d sessions are to be fed", ss.fed.n)
		}
		ns.Detach(1_000_000, 100+id, ByClient)
		if err := ns.Check(); ss.fed.n != was || err != nil {
			t.Fatalf("%d sessions are to be fed, %v", ss.fed.n, err)
		}
	}
}
