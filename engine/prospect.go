package engine

// A Prospect is a place whose messages an update of a description would put under
// other terms: that of the entity and, of a topic, those of its subscriptions.
type Prospect struct {
	Path        Path
	Is, Becomes Terms
}

// Same tells whether the messages would run out when they do now.
func (p Prospect) Same() bool {
	return p.Is.TTL == p.Becomes.TTL && p.Is.Forwards == p.Becomes.Forwards
}

// Ends tells what the terms that come would do to a message at once that those in
// force do not: it would have run out by now. Of one under a lock, that shows when
// the lock ends (TTL-20); a deferred one runs out when it is asked for (DEF-9).
func (p Prospect) Ends(m Message, now Instant) bool {
	return m.State == Active && over(p.Becomes.ExpiresAt(m), now) && !over(p.Is.ExpiresAt(m), now)
}

func over(at, now Instant) bool { return at != 0 && at.Passed(now) }

// Prospects are what Update would do to those terms by which messages run out
// (TTL-16). The errors are Update's; nothing changes.
func (ns *Namespace) Prospects(p Path, c Config) ([]Prospect, error) {
	e, c, err := ns.admitUpdate(p, c)
	if err != nil {
		return nil, err
	}
	if e.topic != nil {
		return []Prospect{{e.Path, e.main.terms, ns.terms(c, &e.topic.Config)}}, nil
	}
	all := []Prospect{{e.Path, e.main.terms, ns.terms(c, nil)}}
	for _, s := range e.subs {
		all = append(all, Prospect{s.Path, s.main.terms, ns.terms(s.Config, &c)})
	}
	return all, nil
}
