package inspect

import (
	"fmt"

	"mayfly/engine"
)

// The functions in this file check a record on its own and against the records before it. Each
// returns a one-sentence finding, or "" if the record is valid.

func (i *Inspector) checkEntity(e engine.Entity) string {
	_, _, sub := e.Path.Subscription()
	switch {
	case e.Kind == engine.RestoreMark:
		return "A restore into this store did not finish. Restore the backup again."
	case e.Kind < engine.Queue || e.Kind > engine.Subscription:
		return fmt.Sprintf("%q has the unknown kind %d.", e.Path, e.Kind)
	case e.Path == "" || e.ID == 0:
		return fmt.Sprintf("Entity %d has the invalid name %q.", e.ID, e.Path)
	case sub != (e.Kind == engine.Subscription):
		return fmt.Sprintf("%q is a %s, but has a name of another kind of entity.", e.Path, e.Kind)
	case e.TransferID == 0:
		return fmt.Sprintf("%q has no transfer dead-letter queue.", e.Path)
	case (e.DeadLetterID == 0) != (e.Kind == engine.Topic):
		return fmt.Sprintf("%q is a %s with dead-letter queue %d.", e.Path, e.Kind, e.DeadLetterID)
	case i.entityPaths[e.Path.Fold()]:
		return fmt.Sprintf("%q exists twice.", e.Path)
	}
	if why := checkAccessRules(fmt.Sprintf("%q", e.Path), e.Config.AuthorizationRules); why != "" {
		return why
	}
	switch {
	case !i.hasNewIDs(e):
		return fmt.Sprintf("%q has an ID of another entity: %d, %d or %d.", e.Path, e.ID, e.DeadLetterID, e.TransferID)
	}
	i.entityPaths[e.Path.Fold()] = true
	i.subqueuePaths[e.ID], i.kinds[e.ID] = e.Path, e.Kind
	if e.DeadLetterID != 0 {
		i.subqueuePaths[e.DeadLetterID] = e.Path.DeadLetter()
	}
	i.subqueuePaths[e.TransferID] = e.Path.Transfer()
	return ""
}

// hasNewIDs reports whether the ids of e's subqueues differ from each other and from those of
// all entities that were checked before. It ignores zero, the DeadLetterID of a topic.
func (i *Inspector) hasNewIDs(e engine.Entity) bool {
	own := map[engine.SubqueueID]bool{}
	for _, id := range []engine.SubqueueID{e.ID, e.DeadLetterID, e.TransferID} {
		if id != 0 && (i.subqueuePaths[id] != "" || own[id]) {
			return false
		}
		own[id] = true
	}
	return true
}

func (i *Inspector) checkRule(r engine.Rule) string {
	id := engine.RuleID{Subscription: r.Subscription, Name: engine.Path(r.Name).Fold()}
	switch {
	case i.kinds[r.Subscription] != engine.Subscription:
		return fmt.Sprintf("Rule %q belongs to %d, which is not a subscription.", r.Name, r.Subscription)
	case r.Filter.Kind > engine.SQLFilter:
		return fmt.Sprintf("Rule %q of %q has a filter of the unknown kind %d.", r.Name, i.subqueuePaths[r.Subscription], r.Filter.Kind)
	case i.rules[id]:
		return fmt.Sprintf("Rule %q of %q exists twice.", r.Name, i.subqueuePaths[r.Subscription])
	}
	i.rules[id] = true
	return ""
}

func (i *Inspector) checkMeter(m engine.Meter) string {
	switch {
	case i.subqueuePaths[m.Subqueue] == "":
		return fmt.Sprintf("A counter belongs to %d, which is not a queue or subqueue.", m.Subqueue)
	case i.meters[m.Subqueue]:
		return fmt.Sprintf("The counter of %q exists twice.", i.subqueuePaths[m.Subqueue])
	}
	i.meters[m.Subqueue] = true
	return ""
}

func (i *Inspector) checkSession(s engine.SessionRecord) string {
	id := engine.SessionID{Subqueue: s.Subqueue, ID: s.ID}
	switch kind := i.kinds[s.Subqueue]; {
	case kind != engine.Queue && kind != engine.Subscription:
		return fmt.Sprintf("The state of session %q belongs to %d, which is not a queue or subscription.", s.ID, s.Subqueue)
	case i.sessions[id]:
		return fmt.Sprintf("The state of session %q of %q exists twice.", s.ID, i.subqueuePaths[s.Subqueue])
	}
	i.sessions[id] = true
	return ""
}

// checkSeen checks that numbers rise: MessageIds are dropped up to a number, and new ones have
// higher numbers.
func (i *Inspector) checkSeen(s engine.SeenIDs) string {
	last, more := i.seen[s.Subqueue]
	switch kind := i.kinds[s.Subqueue]; {
	case kind != engine.Queue && kind != engine.Topic:
		return fmt.Sprintf("Recent MessageIds belong to %d, which is not a queue or topic.", s.Subqueue)
	case s.N == 0 || more && s.N <= last:
		return fmt.Sprintf("The recent MessageIds of %q have number %d after number %d.", i.subqueuePaths[s.Subqueue], s.N, last)
	}
	i.seen[s.Subqueue] = s.N
	return ""
}

func (i *Inspector) checkSetting(s engine.Setting) string {
	switch {
	case s.Key == "":
		return "A setting has no key."
	case i.settings[s.Key]:
		return fmt.Sprintf("The setting %q exists twice.", s.Key)
	}
	i.settings[s.Key] = true
	return ""
}

func (i *Inspector) checkContent(c engine.StoredContent) string {
	if _, twice := i.bodies[c.Key]; twice {
		return fmt.Sprintf("Content %d exists twice.", c.Key)
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

func (i *Inspector) checkMessage(m engine.Message) string {
	at := number{m.Subqueue, m.Seq}
	_, known := i.bodies[m.Content]
	switch {
	case i.subqueuePaths[m.Subqueue] == "":
		return fmt.Sprintf("Message %d is in %d, which is not a queue or subqueue.", m.Key, m.Subqueue)
	case i.messages[m.Key]:
		return fmt.Sprintf("Message %d exists twice.", m.Key)
	case m.Key == 0 || m.Seq < 1:
		return fmt.Sprintf("Message %d of %q has the invalid number %d.", m.Key, i.subqueuePaths[m.Subqueue], m.Seq)
	case i.numbers[at]:
		return fmt.Sprintf("Number %d of %q exists twice.", m.Seq, i.subqueuePaths[m.Subqueue])
	case m.State > engine.Scheduled:
		return fmt.Sprintf("Message #%d of %q has the unknown state %d.", m.Seq, i.subqueuePaths[m.Subqueue], m.State)
	case !known:
		return fmt.Sprintf("The content of message #%d of %q is missing: content %d.", m.Seq, i.subqueuePaths[m.Subqueue], m.Content)
	}
	i.messages[m.Key], i.numbers[at], i.referencedContents[m.Content] = true, true, true
	return ""
}

// checkAccessRules checks access rules. Its findings contain no key. A rule without a key is
// sound: it grants no access.
func checkAccessRules(of string, rules []engine.AccessRule) string {
	for i, r := range rules {
		_, twice := engine.FindAccessRule(rules[:i], r.Name)
		switch {
		case r.Name == "":
			return of + " has an access rule without a name."
		case twice:
			return fmt.Sprintf("%s has the access rule %q twice.", of, r.Name)
		case r.Rights == 0 || r.Rights&^(engine.ListenRight|engine.SendRight|engine.ManageRight) != 0:
			return fmt.Sprintf("%s has the access rule %q with the unknown rights %d.", of, r.Name, r.Rights)
		}
	}
	return ""
}
