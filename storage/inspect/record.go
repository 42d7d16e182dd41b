package inspect

import (
	"fmt"

	"mayfly/engine"
)

// This file says what can be wrong with a record: in itself, and beside those
// before it. What is wrong is a sentence.

func (i *Inspector) entity(e engine.Entity) string {
	_, _, sub := e.Path.Subscription()
	switch {
	case e.Kind == engine.Unfinished:
		return "A backup was not restored to its end here: restore it once more."
	case e.Kind < engine.Queue || e.Kind > engine.Subscription:
		return fmt.Sprintf("%q is of kind %d, and there is none.", e.Path, e.Kind)
	case e.Path == "" || e.ID == 0:
		return fmt.Sprintf("Entity %d is called %q.", e.ID, e.Path)
	case sub != (e.Kind == engine.Subscription):
		return fmt.Sprintf("%q is called so, and is a %s.", e.Path, e.Kind)
	case (e.DeadLetterID == 0) != (e.Kind == engine.Topic):
		return fmt.Sprintf("%q is a %s with dead-letter queue %d.", e.Path, e.Kind, e.DeadLetterID)
	case i.names[e.Path.Fold()]:
		return fmt.Sprintf("%q is there twice.", e.Path)
	}
	if why := wrongAccess(fmt.Sprintf("%q", e.Path), e.Config.AuthorizationRules); why != "" {
		return why
	}
	switch {
	case !i.fresh(e):
		return fmt.Sprintf("%q has an identity that another one has: %d, %d or %d.", e.Path, e.ID, e.DeadLetterID, e.TransferID)
	}
	i.names[e.Path.Fold()] = true
	i.paths[e.ID], i.kinds[e.ID] = e.Path, e.Kind
	if e.DeadLetterID != 0 {
		i.paths[e.DeadLetterID] = e.Path.DeadLetter()
	}
	if e.TransferID != 0 {
		i.paths[e.TransferID] = e.Path.Transfer()
	}
	return ""
}

// fresh tells whether no two places have the same identity, of which older
// versions gave none to that of transfers.
func (i *Inspector) fresh(e engine.Entity) bool {
	own := map[engine.HolderID]bool{}
	for _, id := range []engine.HolderID{e.ID, e.DeadLetterID, e.TransferID} {
		if id != 0 && (i.paths[id] != "" || own[id]) {
			return false
		}
		own[id] = true
	}
	return true
}

func (i *Inspector) rule(r engine.Rule) string {
	id := engine.RuleID{Subscription: r.Subscription, Name: engine.Path(r.Name).Fold()}
	switch {
	case i.kinds[r.Subscription] != engine.Subscription:
		return fmt.Sprintf("Rule %q is of %d, which is no subscription.", r.Name, r.Subscription)
	case r.Filter.Kind > engine.SQLFilter:
		return fmt.Sprintf("Rule %q of %q has a filter of kind %d, and there is none.", r.Name, i.paths[r.Subscription], r.Filter.Kind)
	case i.rules[id]:
		return fmt.Sprintf("Rule %q of %q is there twice.", r.Name, i.paths[r.Subscription])
	}
	i.rules[id] = true
	return ""
}

func (i *Inspector) meter(m engine.Meter) string {
	switch {
	case i.paths[m.Holder] == "":
		return fmt.Sprintf("A meter is of %d, which is no place.", m.Holder)
	case i.meters[m.Holder]:
		return fmt.Sprintf("The meter of %q is there twice.", i.paths[m.Holder])
	}
	i.meters[m.Holder] = true
	return ""
}

func (i *Inspector) session(s engine.Session) string {
	id := engine.SessionID{Holder: s.Holder, ID: s.ID}
	switch kind := i.kinds[s.Holder]; {
	case kind != engine.Queue && kind != engine.Subscription:
		return fmt.Sprintf("The state of session %q is of %d, which is no queue or subscription.", s.ID, s.Holder)
	case i.states[id]:
		return fmt.Sprintf("The state of session %q of %q is there twice.", s.ID, i.paths[s.Holder])
	}
	i.states[id] = true
	return ""
}

// saw checks that numbers rise: what is forgotten is what has numbers up to some
// one, and what comes later has higher ones.
func (i *Inspector) saw(s engine.Seen) string {
	last, more := i.seen[s.Holder]
	switch kind := i.kinds[s.Holder]; {
	case kind != engine.Queue && kind != engine.Topic:
		return fmt.Sprintf("MessageIds are remembered for %d, which is no queue or topic.", s.Holder)
	case s.N == 0 || more && s.N <= last:
		return fmt.Sprintf("What %q remembers of MessageIds has number %d after number %d.", i.paths[s.Holder], s.N, last)
	}
	i.seen[s.Holder] = s.N
	return ""
}

func (i *Inspector) setting(s engine.Setting) string {
	switch {
	case s.Key == "":
		return "A setting has no key."
	case i.keys[s.Key]:
		return fmt.Sprintf("The setting %q is there twice.", s.Key)
	}
	i.keys[s.Key] = true
	return ""
}

func (i *Inspector) content(c engine.StoredContent) string {
	if _, twice := i.bodies[c.Key]; twice {
		return fmt.Sprintf("Content %d is there twice.", c.Key)
	}
	read, err := c.Content.Content()
	if err != nil {
		return fmt.Sprintf("Content %d cannot be read: %v.", c.Key, err)
	}
	if read.BodySize < 0 {
		return fmt.Sprintf("Content %d has a body of %d bytes.", c.Key, read.BodySize)
	}
	i.bodies[c.Key] = read.BodySize
	return ""
}

func (i *Inspector) message(m engine.Message) string {
	at := number{m.Holder, m.Seq}
	_, known := i.bodies[m.Content]
	switch {
	case i.paths[m.Holder] == "":
		return fmt.Sprintf("Message %d is at %d, which is no place.", m.Key, m.Holder)
	case i.there[m.Key]:
		return fmt.Sprintf("Message %d is there twice.", m.Key)
	case m.Key == 0 || m.Seq < 1:
		return fmt.Sprintf("Message %d of %q has number %d.", m.Key, i.paths[m.Holder], m.Seq)
	case i.numbers[at]:
		return fmt.Sprintf("Number %d of %q is there twice.", m.Seq, i.paths[m.Holder])
	case m.State > engine.Scheduled:
		return fmt.Sprintf("Message #%d of %q is in state %d, and there is none.", m.Seq, i.paths[m.Holder], m.State)
	case !known:
		return fmt.Sprintf("What message #%d of %q says is not there: content %d.", m.Seq, i.paths[m.Holder], m.Content)
	}
	i.there[m.Key], i.numbers[at], i.wanted[m.Content] = true, true, true
	return ""
}

// wrongAccess tells no key. A rule without one is sound: it opens nothing.
func wrongAccess(of string, rules []engine.AccessRule) string {
	for i, r := range rules {
		_, twice := engine.FindAccessRule(rules[:i], r.Name)
		switch {
		case r.Name == "":
			return of + " has an access rule without a name."
		case twice:
			return fmt.Sprintf("%s has the access rule %q twice.", of, r.Name)
		case r.Rights == 0 || r.Rights&^(engine.ListenRight|engine.SendRight|engine.ManageRight) != 0:
			return fmt.Sprintf("%s has the access rule %q with rights %d, and there are none such.", of, r.Name, r.Rights)
		}
	}
	return ""
}
