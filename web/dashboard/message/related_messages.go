package message

import (
	"context"
	"slices"

	"mayfly/engine"
	"mayfly/views/locale"
	"mayfly/views/page/message"
	"mayfly/web/dashboard/pages"
	"mayfly/web/dashboard/recent"
)

const (
	// maxRelated is how many related messages a page lists, and maxRelatedSteps how many instants
	// of a message's life are searched for them.
	maxRelated      = 20
	maxRelatedSteps = 10
	// maxRelatedEvents is how many events of one instant are read.
	maxRelatedEvents = 1000
)

// resubmittedCopy is the reason of the event that creates a copy (OPS-2).
const resubmittedCopy = "resubmitted copy"

// relatedMessages returns the messages with the same content as the message `k`: the message that
// it was copied from, copies of it, and the other copies that a topic made of the same message. It
// finds them by events in the history and in memory at the same instant as an event of `k`, so it
// misses messages without such an event. `more` reports whether there are more than it returns.
func relatedMessages(ctx context.Context, p *pages.Pages, k, content engine.Key, past []recent.EventRecord) (out []message.RelatedMessage, more bool) {
	known := map[engine.Key]bool{k: true}
	steps := 0
	for _, own := range past {
		if other, before, ok := engine.ParseEditReason(own.Reason); ok && !known[other.Key] && len(out) < maxRelated {
			known[other.Key] = true
			how := message.Copy
			if before {
				how = message.Original
			}
			out = append(out, message.RelatedMessage{How: how, Name: "#" + locale.Number(ctx, int(other.Seq)), In: pages.DisplayPath(other.Path), Href: p.MessageURL(other.Key), At: own.At.Time()})
			continue
		}
		if !createsCopies(own.Kind) || content == 0 {
			continue
		}
		if steps++; steps > maxRelatedSteps {
			return out, true
		}
		for _, t := range eventsWithContent(ctx, p, content, own.At) {
			how := relation(own, t)
			if how == "" || known[t.Key] {
				continue
			}
			if known[t.Key] = true; len(out) == maxRelated {
				return out, true
			}
			at := t.Path
			if t.To != "" && t.Kind != engine.EventCopied {
				at = t.To
			}
			out = append(out, message.RelatedMessage{How: how, Name: "#" + locale.Number(ctx, int(t.Seq)), In: pages.DisplayPath(at), Href: p.MessageURL(t.Key), At: t.At.Time()})
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

// relation returns how the message of the event `t` is related to that of the event `own`, which
// happened at the same instant. It returns "" if `t` does not show how its message was created.
func relation(own, t recent.EventRecord) message.Relation {
	switch {
	case t.Kind == engine.EventCopied && own.Kind == engine.EventSent:
		return message.Original
	case t.Kind == engine.EventSent && own.Kind == engine.EventCopied:
		return message.Copy
	case (t.Kind == engine.EventForwarded || t.Kind == engine.EventMoved) && own.Kind == engine.EventSent:
		return message.Original
	case t.Kind == engine.EventSent && (own.Kind == engine.EventForwarded || own.Kind == engine.EventMoved || own.Kind == engine.EventActivated):
		return message.Copy
	case t.Kind == engine.EventSent && own.Kind == engine.EventSent && own.Reason != resubmittedCopy && t.Reason != resubmittedCopy:
		return message.Sibling
	default:
		return ""
	}
}

// eventsWithContent returns the events at an instant of all messages with a content, without duplicates,
// in order.
func eventsWithContent(ctx context.Context, p *pages.Pages, content engine.Key, at engine.Instant) []recent.EventRecord {
	out := p.Events.EventsWithContent(content, at)
	if p.Broker.HasHistory() {
		events, err := p.Broker.History(ctx, engine.HistoryQuery{From: at, Until: at + 1, Limit: maxRelatedEvents, Kinds: []engine.EventKind{
			engine.EventSent, engine.EventActivated, engine.EventCopied, engine.EventMoved, engine.EventForwarded,
		}})
		if err != nil {
			p.Events.Log.WarnContext(ctx, "related messages cannot be read", "err", err)
		}
		for _, e := range events {
			if e.Message.Content != content {
				continue
			}
			t := recent.RecordOf(e.Event)
			if t.Epoch = p.Events.FormerEpoch(e.Epoch); !slices.ContainsFunc(out, t.Same) {
				out = append(out, t)
			}
		}
	}
	slices.SortStableFunc(out, recent.EventRecord.Compare)
	return out
}
