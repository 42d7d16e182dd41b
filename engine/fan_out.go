package engine

import (
	"errors"
	"slices"

	"mayfly/engine/filter"
	"mayfly/engine/value"
)

// A topicCopy is one copy that a topic makes of a message.
type topicCopy struct {
	sub  *entity
	rule *compiledRule // the rule whose action changes the copy; nil if it is as sent
	err  error         // why the copy is dead-lettered at once; nil if it is not
}

// selectCopies decides which copies a topic makes: for each subscription one for all its plain
// rules together, one more for each rule with an action (FILT-4, FILT-5), and a dead letter
// if a rule could not be evaluated, unless the subscription ignores filter exceptions
// (FILT-31).
func (e *entity) selectCopies(g *filterView, plan *Plan) (out []topicCopy) {
	hits := e.ruleIndex.match(g, plan)
	for i := 0; i < len(hits); {
		sub, first := hits[i].rule.sub, len(out)
		out = append(out, topicCopy{sub: sub}) // the plain copy, removed below if no plain rule selects
		plain := false
		var failed error
		for ; i < len(hits) && hits[i].rule.sub == sub; i++ {
			switch h := hits[i]; {
			case h.err != nil && failed == nil:
				failed = h.err
			case h.err != nil:
			case h.rule.action != nil:
				out = append(out, topicCopy{sub: sub, rule: h.rule})
			default:
				plain = true
			}
		}
		if !plain {
			out = append(out[:first], out[first+1:]...)
		}
		if failed != nil && !sub.Config.IgnoreFilterExceptions {
			out = append(out, topicCopy{sub: sub, err: failed})
		}
	}
	return out
}

// countCopies returns how many copies of a message e would keep.
func (e *entity) countCopies(g *filterView, plan *Plan) int64 {
	if e.Kind != Topic {
		return 1
	}
	return int64(len(e.selectCopies(g, plan)))
}

// fanOut gives every selecting subscription its own copies (FILT-1, FILT-9). A message that
// no subscription selects is accepted and dropped (FILT-6).
func (ns *Namespace) fanOut(now Instant, topic *entity, m Message, c *content, actor string, plan *Plan) {
	sent := &message{Message: m, content: c}
	g := &filterView{packed: sent.packed(), m: m, size: sent.size(), nonce: ns.nonce}
	refs := 0
	for _, sel := range topic.selectCopies(g, plan) {
		cp := m
		dead := sel.deadLetterReason()
		if sel.rule != nil {
			x, err := ns.applyAction(sel.rule, sent, g)
			switch {
			case err == nil:
				if cp.Extra = x; x.Rewritten.ttl() != sent.packed().ttl() {
					cp.ExpiresAt = 0 // the action changed its time to live, which the subscription then bounds
				}
			case sel.sub.Config.IgnoreFilterExceptions:
				continue
			default:
				dead = ruleFailure(err)
			}
		}
		if refs++; refs > 1 {
			cp.Key = ns.keys.Next()
		}
		ns.insertCopy(now, sel.sub, cp, c, dead, actor)
	}
	if refs == 0 {
		if c.refs == 0 {
			ns.changes.discard(c) // a staged body may have to be deleted
		}
		ns.event(EventUnmatched, now, sent, topic.main, actor, "")
	}
}

func (s topicCopy) deadLetterReason() *Extra {
	if s.err == nil {
		return nil
	}
	return ruleFailure(s.err)
}

// insertCopy inserts a topic's copy into a subscription, and dead-letters it if `dead` gives a reason
// or copyDeadLetterReason returns one.
func (ns *Namespace) insertCopy(now Instant, sub *entity, cp Message, c *content, dead *Extra, actor string) {
	cp.Subqueue, cp.Seq = sub.ID, ns.nextSeq(sub.main)
	ttl := (&message{Message: cp, content: c}).packed().ttl() // a rule's action may have changed it
	cp.ExpiresAt = earlier(cp.ExpiresAt, sub.main.terms.ownExpiry(cp.EnqueuedAt, ttl))
	in := ns.insert(cp, c)
	ns.event(EventSent, now, in, sub.main, actor, "")
	if dead == nil {
		dead = ns.copyDeadLetterReason(sub, in)
	}
	if dead != nil {
		ns.deadLetter(now, sub.main, in, dead)
	}
}

// copyDeadLetterReason returns the reason for dead-lettering a copy as soon as it is in its
// subscription (§6.2), or nil if there is none.
func (ns *Namespace) copyDeadLetterReason(sub *entity, m *message) *Extra {
	if sub.requiresSession() && !m.hasSession() { // MSG-10
		return sessionIDMissing()
	}
	if m.Extra != nil && m.Extra.Rewritten != "" {
		if c, err := m.packed().Content(); err == nil && c.headerSize() > ns.limits.HeaderSize {
			return headerSizeExceeded()
		}
	}
	return nil
}

// ruleNameProperty is the property that names the rule whose action changed the copy
// (FILT-5).
const ruleNameProperty = "RuleName"

// applyAction applies a rule's action to a message and returns the copy's Extra, with the rewritten
// content (ACT-1). The rest of the message's Extra stays (SCH-15).
func (ns *Namespace) applyAction(p *compiledRule, m *message, g *filterView) (*Extra, error) {
	seen := *g.message()
	seen.Random = ns.nonce()
	after, err := p.action.Apply(seen)
	if err != nil {
		return nil, err
	}
	c := rewriteContent(*g.content, after, p.Name)
	if err := errors.Join(checkIDs(c, ns.limits), checkProperties(c.Properties, ns.limits)); err != nil {
		return nil, &filter.Error{Name: filter.RuleActionException, Text: err.Error()}
	}
	x := m.copyExtra()
	x.Reason, c.Properties = takeTextProperty(x.Reason, reasonProperty, c.Properties)
	x.Description, c.Properties = takeTextProperty(x.Description, descriptionProperty, c.Properties)
	x.Rewritten = c.Pack()
	x.Properties = nil // they are part of Rewritten
	return x, nil
}

// takeTextProperty removes a dead-letter property from in and returns its text, which an action may
// have changed; was is the text before the action. If the property stayed, receivers would still
// see it after the text itself was changed or cleared (DLQ-8, OPS-1). A value that is not a string
// stays, like any other property.
func takeTextProperty(was, name string, in value.Properties) (text string, out value.Properties) {
	if was == "" {
		return "", in
	}
	i := slices.IndexFunc(in, func(p value.Property) bool { return p.Name == name })
	if i < 0 {
		return "", in
	}
	if text, _ = in[i].Value.Str(); text == "" {
		return "", in
	}
	return text, slices.Delete(slices.Clone(in), i, i+1)
}

func rewriteContent(c Content, after filter.Message, rule string) Content {
	c.MessageID, c.CorrelationID, c.SessionID, c.ReplyTo = after.MessageID, after.CorrelationID, after.SessionID, after.ReplyTo
	c.ReplyToSessionID, c.Subject, c.To = after.ReplyToSessionID, after.Label, after.To
	c.EmptySessionID = after.EmptySessionID
	c.ContentType, c.PartitionKey, c.ViaPartitionKey, c.TTL = after.ContentType, after.PartitionKey, after.ViaPartitionKey, after.TimeToLive
	c.Properties = after.Properties.Merge(value.Properties{{Name: ruleNameProperty, Value: value.OfString(rule)}})
	return c
}
