package message

import (
	"context"
	"slices"
	"time"

	"mayfly/engine"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/web/dashboard/pages"
	"mayfly/web/dashboard/recent"
)

// explainTTL explains a message's time to live: which setting applies, when it started, and what
// happens at its end (TTL-4 … TTL-7, TTL-12 … TTL-16). A dead letter has no time to live
// (TTL-33).
func explainTTL(ctx context.Context, p *pages.Pages, m Snapshot, past []recent.EventRecord, now engine.Instant) component.TTLExplanation {
	if m.Path.IsDeadLetter() {
		return component.TTLExplanation{Says: []component.Text{pages.PlainText(locale.T(ctx, "why.dead"))}}
	}
	w := component.TTLExplanation{Terms: []component.TTLTerm{term(ctx, locale.T(ctx, "why.message"), "", max(0, m.Unpacked.TTL))}}
	if m.Entity.Kind == engine.Subscription {
		w.Terms = append(w.Terms,
			term(ctx, locale.T(ctx, "why.topic"), p.EntityURL(engine.Topic, m.Entity.Topic.Path)+"/edit", m.Entity.Topic.Config.Effective().DefaultMessageTimeToLive),
			term(ctx, locale.T(ctx, "why.subscription"), p.EntityURL(engine.Subscription, m.Entity.Path)+"/edit", m.Entity.Config.Effective().DefaultMessageTimeToLive))
	} else {
		name := locale.T(ctx, "why.queue")
		if m.Entity.Kind == engine.Topic {
			name = locale.T(ctx, "why.topic")
		}
		w.Terms = append(w.Terms, term(ctx, name, p.EntityURL(m.Entity.Kind, m.Entity.Path)+"/edit", m.Entity.Config.Effective().DefaultMessageTimeToLive))
	}
	shortest := shortestTerm(w.Terms)
	if m.Message.State == engine.Scheduled {
		if shortest >= 0 {
			w.Terms[shortest].Applies = true
		}
		w.Says = []component.Text{pages.PlainText(locale.T(ctx, "why.scheduled"))}
		return w
	}
	actual := time.Duration(0)
	if m.Expires != 0 {
		actual = m.Expires.Sub(m.Message.EnqueuedAt)
	}
	counts := "why.counts"
	switch {
	case shortest >= 0 && sameTTL(w.Terms[shortest].Duration, actual):
		w.Terms[shortest].Applies, counts = true, "why.shortest"
	case shortest < 0 && actual == 0:
	default: // an operator set it, or a limit was different when the message was stored
		kept := term(ctx, locale.T(ctx, keptTerm(past)), "", actual)
		kept.Applies = true
		w.Terms = append(w.Terms, kept)
	}
	w.Says = ttlSentence(ctx, m, counts, actual, now)
	return w
}

// keptTerm returns the text id of the term for an expiry that no current setting explains.
func keptTerm(past []recent.EventRecord) string {
	if slices.ContainsFunc(past, func(t recent.EventRecord) bool { return t.Kind == engine.EventExtended }) {
		return "why.extended"
	}
	return "why.stored"
}

func ttlSentence(ctx context.Context, m Snapshot, counts string, actual time.Duration, now engine.Instant) []component.Text {
	if actual == 0 && m.Expires == 0 {
		return []component.Text{pages.PlainText(locale.T(ctx, "why.never"))}
	}
	args := locale.Args{"TTL": component.Length(ctx, actual), "At": pages.ClockTime(ctx, m.Message.EnqueuedAt, now)}
	says := []component.Text{pages.PlainText(locale.T(ctx, counts, args) + " ")}
	if m.Message.State == engine.Deferred {
		says = append(says, pages.PlainText(locale.T(ctx, "why.deferred")+" "))
	}
	if m.DeadLettersOnExpiry {
		return append(says, pages.PlainText(locale.T(ctx, "why.fate.dead", locale.Args{"To": pages.DisplayPath(m.Path.DeadLetter()), "Reason": engine.ReasonExpired})))
	}
	return append(says, pages.PlainText(locale.T(ctx, "why.fate.lost")))
}

func term(ctx context.Context, name, href string, of time.Duration) component.TTLTerm {
	return component.TTLTerm{Name: name, Href: href, Duration: of, Show: component.LengthOrNever(ctx, of)}
}

// shortestTerm returns the index of the shortest term, or -1 if all are infinite.
func shortestTerm(terms []component.TTLTerm) int {
	at := -1
	for i, t := range terms {
		if t.Duration != 0 && (at < 0 || t.Duration < terms[at].Duration) {
			at = i
		}
	}
	return at
}

// sameTTL reports whether two durations are equal, allowing for rounding to a millisecond.
func sameTTL(a, b time.Duration) bool {
	return a.Round(time.Millisecond) == b || (a-b).Abs() <= time.Millisecond
}
