package engine

import (
	"strings"
	"testing"
)

// selecting returns a queue with messages 1 to 5 and receivers with selectors: two with "eu",
// which have locked 1 and 2 and have one match left, and one with "none" and credit, which has
// examined all messages.
func selecting(t *testing.T) *Namespace {
	t.Helper()
	ns := New(Options{Limits: DefaultLimits(), Keys: NewKeys(1), Nonce: func() uint64 { return 7 }})
	now := Instant(1_000_000)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := ns.Create(now, Queue, "q", Config{}, "")
	must(err)
	for _, id := range []string{"eu", "eu", "us", "eu", "us"} {
		s, err := Submit(Content{MessageID: id}, nil, 0, ns.keys.Next(), ns.limits)
		must(err)
		_, err = ns.Send(now, "q", []Submission{s}, "")
		must(err)
	}
	of := func(id string) *MessageSelector {
		return &MessageSelector{Text: id, Matches: func(c *Candidate) bool { return c.Content.MessageID == id }}
	}
	for i, id := range []string{"eu", "eu", "none"} {
		must(ns.Attach(now, Link{ID: LinkID(i + 1), Path: "q", Selector: of(id)}))
		must(ns.Credit(now, LinkID(i+1), 1))
		ns.Match(now)
	}
	must(ns.Check())
	return ns
}

// TestCheckFindsSelectors corrupts the indexes of selectors one after the other: Check reports
// each.
func TestCheckFindsSelectors(t *testing.T) {
	for name, spoil := range map[string]func(ns *Namespace, h *subqueue, eu, none *selectorIndex){
		"a link without its index":          func(ns *Namespace, _ *subqueue, _, _ *selectorIndex) { ns.links[1].index = nil },
		"a link with another's index":       func(ns *Namespace, _ *subqueue, _, none *selectorIndex) { ns.links[1].index = none },
		"an index too many":                 func(_ *Namespace, h *subqueue, eu, _ *selectorIndex) { h.selectors["other"] = eu },
		"an index of a copy":                func(_ *Namespace, h *subqueue, eu, _ *selectorIndex) { other := *eu; h.selectors["eu"] = &other },
		"links miscounted":                  func(_ *Namespace, _ *subqueue, eu, _ *selectorIndex) { eu.links++ },
		"waiting links miscounted":          func(_ *Namespace, h *subqueue, _, _ *selectorIndex) { h.selecting++ },
		"the line miscounted":               func(_ *Namespace, _ *subqueue, _, none *selectorIndex) { none.lines[waitingLinks].n++ },
		"in the line of another":            func(_ *Namespace, _ *subqueue, eu, none *selectorIndex) { eu.lines, none.lines = none.lines, eu.lines },
		"a match that is forgotten":         func(_ *Namespace, _ *subqueue, eu, _ *selectorIndex) { eu.next = 6; eu.matched.drop(4) },
		"a match that is not ready":         func(_ *Namespace, h *subqueue, eu, _ *selectorIndex) { eu.matched.put(h.order.at(1)) },
		"a match that it does not select":   func(_ *Namespace, h *subqueue, _, none *selectorIndex) { match(none, h.order.at(4)) },
		"a change that is not ready":        func(_ *Namespace, h *subqueue, eu, _ *selectorIndex) { eu.changed.put(h.order.at(2)) },
		"a change beyond what was examined": func(_ *Namespace, h *subqueue, eu, _ *selectorIndex) { eu.next = 4; eu.changed.put(h.order.at(5)) },
		"a message twice": func(_ *Namespace, h *subqueue, eu, _ *selectorIndex) {
			match(eu, h.order.at(4))
			eu.changed.put(h.order.at(4))
		},
	} {
		t.Run(name, func(t *testing.T) {
			ns := selecting(t)
			h := ns.entities["q"].main
			spoil(ns, h, h.selectors["eu"], h.selectors["none"])
			if err := ns.Check(); err == nil {
				t.Error("Check found nothing")
			} else if strings.Contains(err.Error(), "%!") {
				t.Errorf("Check returned %v", err)
			}
		})
	}
}

// match adds m to the messages that s selects.
func match(s *selectorIndex, m *message) {
	s.next = 6
	s.matched.put(m)
	s.matched.setReady(m.Seq, true)
}
