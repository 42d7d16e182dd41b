package show

import (
	"context"
	"slices"

	"mayfly/engine"
	"mayfly/views/locale"
	"mayfly/views/page"
)

const (
	// kinShown is how many kin a page lists, and kinSteps at how many instants
	// of a life it looks for them.
	kinShown = 20
	kinSteps = 10
	// kinRead is how many events of one instant are read.
	kinRead = 1000
)

// resubmittedCopy is the reason of the event with which a copy begins (OPS-2).
const resubmittedCopy = "resubmitted copy"

// kin are the messages that share with k what their sender wrote: what k was
// copied from, its copies, and the others that a topic made of the same one. They
// come of one instant of k's life, at which the history or memory finds them; of
// what neither remembers there is none. The second result says that there are
// more than are shown.
func (p *Pages) kin(ctx context.Context, k, content engine.Key, past []trace) (out []page.Kin, more bool) {
	known := map[engine.Key]bool{k: true}
	steps := 0
	for _, own := range past {
		if other, before, ok := engine.Edited(own.reason); ok && !known[other.Key] && len(out) < kinShown {
			known[other.Key] = true
			how := page.Copy
			if before {
				how = page.Original
			}
			out = append(out, page.Kin{How: how, Name: "#" + locale.Number(ctx, int(other.Seq)), In: Shown(other.Path), Href: p.MessageURL(other.Key), At: own.at.Time()})
			continue
		}
		if !branches(own.kind) || content == 0 {
			continue
		}
		if steps++; steps > kinSteps {
			return out, true
		}
		for _, t := range p.sharing(ctx, content, own.at) {
			how := kinship(own, t)
			if how == "" || known[t.key] {
				continue
			}
			if known[t.key] = true; len(out) == kinShown {
				return out, true
			}
			at := t.path
			if t.to != "" && t.kind != engine.EventCopied {
				at = t.to
			}
			out = append(out, page.Kin{How: how, Name: "#" + locale.Number(ctx, int(t.seq)), In: Shown(at), Href: p.MessageURL(t.key), At: t.at.Time()})
		}
	}
	return out, more
}

// branches tells whether other messages with the same content can begin with what
// happened to one.
func branches(k engine.EventKind) bool {
	switch k {
	case engine.EventSent, engine.EventActivated, engine.EventCopied, engine.EventMoved, engine.EventForwarded:
		return true
	default:
		return false
	}
}

// kinship is what the message of t is to that of own, of which something happened
// at the same instant; empty: t does not tell of its beginning.
func kinship(own, t trace) page.Kinship {
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

// sharing is what happened at an instant to messages that have a content, each
// event once, in order.
func (p *Pages) sharing(ctx context.Context, content engine.Key, at engine.Instant) []trace {
	out := p.recent.sharing(content, at)
	if p.b.HasHistory() {
		events, err := p.b.Past(ctx, engine.PastQuery{From: at, Until: at + 1, Limit: kinRead, Kinds: []engine.EventKind{
			engine.EventSent, engine.EventActivated, engine.EventCopied, engine.EventMoved, engine.EventForwarded,
		}})
		if err != nil {
			p.recent.log.WarnContext(ctx, "the kin of a message cannot be read", "err", err)
		}
		for _, e := range events {
			if e.Message.Content != content {
				continue
			}
			t := traceOf(e.Event)
			if t.epoch = p.recent.former(e.Epoch); !slices.ContainsFunc(out, t.same) {
				out = append(out, t)
			}
		}
	}
	slices.SortStableFunc(out, trace.compare)
	return out
}
