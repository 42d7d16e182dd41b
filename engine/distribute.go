package engine

import (
	"errors"
	"slices"

	"mayfly/engine/filter"
	"mayfly/engine/value"
)

// A selection is one copy that a topic makes of a message.
type selection struct {
	sub  *entity
	rule *planned // whose action changes the copy; nil: it is as it was sent
	err  error    // why the copy is a dead letter at once; nil: it is none
}

// choose decides which copies there will be: for each subscription one for all
// its plain rules together, one more for each rule with an action (FILT-4,
// FILT-5), and a dead letter if a rule could not be evaluated, unless the
// subscription does not want to know (FILT-31).
func (e *entity) choose(g *glance, plan *Plan) (out []selection) {
	hits := e.selector.hits(g, plan)
	for i := 0; i < len(hits); {
		sub, first := hits[i].rule.sub, len(out)
		out = append(out, selection{sub: sub}) // the plain one, if there is one
		plain := false
		var failed error
		for ; i < len(hits) && hits[i].rule.sub == sub; i++ {
			switch h := hits[i]; {
			case h.err != nil && failed == nil:
				failed = h.err
			case h.err != nil:
			case h.rule.action != nil:
				out = append(out, selection{sub: sub, rule: h.rule})
			default:
				plain = true
			}
		}
		if !plain {
			out = append(out[:first], out[first+1:]...)
		}
		if failed != nil && !sub.Config.IgnoreFilterExceptions {
			out = append(out, selection{sub: sub, err: failed})
		}
	}
	return out
}

// copies is how many copies of a message e would keep.
func (e *entity) copies(g *glance, plan *Plan) int64 {
	if e.Kind != Topic {
		return 1
	}
	return int64(len(e.choose(g, plan)))
}

// fanOut gives every selecting subscription its own copies (FILT-1, FILT-9). A
// message that nobody selects is accepted and gone (FILT-6).
func (ns *Namespace) fanOut(now Instant, topic *entity, m Message, c *content, actor string, plan *Plan) {
	sent := &message{Message: m, content: c}
	g := &glance{packed: sent.packed(), m: m, nonce: ns.nonce}
	refs := 0
	for _, sel := range topic.choose(g, plan) {
		cp := m
		dead := sel.fault()
		if sel.rule != nil {
			x, err := ns.act(sel.rule, sent, g)
			switch {
			case err == nil:
				cp.Extra = x
			case sel.sub.Config.IgnoreFilterExceptions:
				continue
			default:
				dead = reasonOf(err)
			}
		}
		if refs++; refs > 1 {
			cp.Key = ns.keys.Next()
		}
		ns.deliver(now, sel.sub, cp, c, dead, actor)
	}
	if refs == 0 {
		if c.refs == 0 {
			ns.changes.discard(c) // a staged body may have to go
		}
		ns.event(EventUnmatched, now, sent, topic.main, actor, "")
	}
}

func (s selection) fault() *Extra {
	if s.err == nil {
		return nil
	}
	return reasonOf(s.err)
}

// deliver puts a topic's copy into a subscription, and on into its dead-letter
// queue if it is not one to be received.
func (ns *Namespace) deliver(now Instant, sub *entity, cp Message, c *content, dead *Extra, actor string) {
	cp.Holder, cp.Seq = sub.ID, ns.nextSeq(sub.main)
	cp.ExpiresAt = earlier(cp.ExpiresAt, sub.main.terms.ownExpiry(cp.EnqueuedAt, c.packed.ttl()))
	in := ns.insert(cp, c)
	ns.event(EventSent, now, in, sub.main, actor, "")
	if dead == nil {
		dead = ns.unfit(sub, in)
	}
	if dead != nil {
		ns.deadLetter(now, sub.main, in, dead)
	}
}

// unfit is why a copy goes straight to the dead-letter queue of its
// subscription (§6.2), nil if it does not.
func (ns *Namespace) unfit(sub *entity, m *message) *Extra {
	if sub.sessionful() && !m.hasSession() { // MSG-10
		return withoutSession()
	}
	if m.Extra != nil && m.Extra.Rewritten != "" {
		if c, err := m.packed().Content(); err == nil && c.headerSize() > ns.limits.HeaderSize {
			return outgrown()
		}
	}
	return nil
}

// ruleNameProperty tells a receiver which action changed its copy (FILT-5).
const ruleNameProperty = "RuleName"

// act is what a rule's action makes of a message: its Extra, with the content
// written anew (ACT-1). What is beside the properties stays (SCH-15).
func (ns *Namespace) act(p *planned, m *message, g *glance) (*Extra, error) {
	seen := *g.message()
	seen.Random = ns.nonce()
	after, err := p.action.Apply(seen)
	if err != nil {
		return nil, err //nolint:wrapcheck // its name is the dead-letter reason
	}
	c := rewrite(*g.content, after, p.Name)
	if err := errors.Join(checkIDs(c, ns.limits), checkProperties(c.Properties, ns.limits)); err != nil {
		return nil, &filter.Error{Name: filter.RuleActionException, Text: err.Error()}
	}
	x := m.extra()
	x.Reason, c.Properties = takeText(x.Reason, reasonProperty, c.Properties)
	x.Description, c.Properties = takeText(x.Description, descriptionProperty, c.Properties)
	x.Rewritten = c.Pack()
	x.Properties = nil // they are in it
	return x, nil
}

// takeText takes a text that was shown among the properties, and that an action
// may have changed or removed, back out of them: whatever sets or removes it
// later must not find an old one there (DLQ-8, OPS-1). A value that is no text
// stays, as a property like others.
func takeText(was, name string, in value.Properties) (text string, out value.Properties) {
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

func rewrite(c Content, after filter.Message, rule string) Content {
	c.MessageID, c.CorrelationID, c.SessionID, c.ReplyTo = after.MessageID, after.CorrelationID, after.SessionID, after.ReplyTo
	c.ReplyToSessionID, c.Subject, c.To = after.ReplyToSessionID, after.Label, after.To
	c.EmptySessionID = after.EmptySessionID
	c.ContentType, c.PartitionKey = after.ContentType, after.PartitionKey
	c.Properties = after.Properties.Merge(value.Properties{{Name: ruleNameProperty, Value: value.OfString(rule)}})
	return c
}
