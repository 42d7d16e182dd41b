package show

import (
	"context"
	"slices"

	"mayfly/engine"
	"mayfly/views/locale"
	"mayfly/views/page"
)

const (
	// maxRelated is how many related messages a page lists, and maxRelatedSteps at how many instants of
	// a life it looks for them.
	maxRelated      = 20
	maxRelatedSteps = 10
	// maxRelatedEvents is how many events of one instant are read.
	maxRelatedEvents = 1000
)

// resubmittedCopy is the reason of the event that creates a copy (OPS-2).
const resubmittedCopy = "resubmitted copy"

// relatedMessages returns the messages that share k's content: what k was copied from, its copies, and the
// other copies that a topic made of the same message. They are found in the history or in
// memory through events at the same instant as an event of k; what neither recorded is
// missing. more reports that there are more than are shown.
func (p *Pages) relatedMessages(ctx context.Context, k, content engine.Key, past []eventRecord) (out []page.RelatedMessage, more bool) {
	known := map[engine.Key]bool{k: true}
	steps := 0
	for _, own := range past {
		if other, before, ok := engine.ParseEditReason(own.reason); ok && !known[other.Key] && len(out) < maxRelated {
			known[other.Key] = true
			how := page.Copy
			if before {
				how = page.Original
			}
			out = append(out, page.RelatedMessage{How: how, Name: "#" + locale.Number(ctx, int(other.Seq)), In: DisplayPath(other.Path), Href: p.MessageURL(other.Key), At: own.at.Time()})
			continue
		}
		if !createsCopies(own.kind) || content == 0 {
			continue
		}
		if steps++; steps > maxRelatedSteps {
			return out, true
		}
		for _, t := range p.eventsWithContent(ctx, content, own.at) {
			how := relation(own, t)
			if how == "" || known[t.key] {
				continue
			}
			if known[t.key] = true; len(out) == maxRelated {
				return out, true
			}
			at := t.path
			if t.to != "" && t.kind != engine.EventCopied {
				at = t.to
			}
			out = append(out, page.RelatedMessage{How: how, Name: "#" + locale.Number(ctx, int(t.seq)), In: DisplayPath(at), Href: p.MessageURL(t.key), At: t.at.Time()})
		}
	}
	return out, more
}

// createsCopies reports whether an event of this kind can create other messages with the same
// content.
func createsCopies(k engine.EventKind) bool {
	switch k {
	case engine.EventSent, engine.EventActivated, engine.EventCopied, engine.EventMoved, engine.EventForwarded:
		return true
	default:
		return false
	}
}

// relation returns how t's message is related to that of own, if both events happened at the
// same instant, or "" if t does not show how its message began.
func relation(own, t eventRecord) page.Relation {
	switch {
	case t.kind == engine.EventCopied && own.kind == engine.EventSent:
		return page.Original
	case t.kind == engine.EventSent && own.kind == engine.EventCopied:
		return page.Copy
	case (t.kind == engine.EventForwarded || t.kind == engine.EventMoved) && own.kind == engine.EventSent:
		return page.Original
	case t.kind == engine.EventSent && (own.kind == engine.EventForwarded || own.kind == engine.EventMoved || own.kind == engine.EventActivated):
		return page.Copy
	case t.kind == engine.EventSent && own.kind == engine.EventSent && own.reason != resubmittedCopy && t.reason != resubmittedCopy:
		return page.Sibling
	default:
		return ""
	}
}

// eventsWithContent returns the events at an instant of all messages with a content, without duplicates,
// in order.
func (p *Pages) eventsWithContent(ctx context.Context, content engine.Key, at engine.Instant) []eventRecord {
	out := p.events.eventsWithContent(content, at)
	if p.b.HasHistory() {
		events, err := p.b.History(ctx, engine.HistoryQuery{From: at, Until: at + 1, Limit: maxRelatedEvents, Kinds: []engine.EventKind{
			engine.EventSent, engine.EventActivated, engine.EventCopied, engine.EventMoved, engine.EventForwarded,
		}})
		if err != nil {
			p.events.log.WarnContext(ctx, "related messages cannot be read", "err", err)
		}
		for _, e := range events {
			if e.Message.Content != content {
				continue
			}
			t := recordOf(e.Event)
			if t.epoch = p.events.formerEpoch(e.Epoch); !slices.ContainsFunc(out, t.same) {
				out = append(out, t)
			}
		}
	}
	slices.SortStableFunc(out, eventRecord.compare)
	return out
}
