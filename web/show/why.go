package show

import (
	"context"
	"slices"
	"time"

	"mayfly/engine"
	"mayfly/views/component"
	"mayfly/views/locale"
)

// why explains how a message came by its time to live: which of the times that
// bear on it counts, when the clock started, and what comes after (TTL-4 …
// TTL-7, TTL-12 … TTL-16). A dead letter has none (TTL-33).
func (p *Pages) why(ctx context.Context, m messageSight, past []trace, now engine.Instant) component.Why {
	if m.Path.IsDeadLetter() {
		return component.Why{Says: []component.Text{say(locale.T(ctx, "why.dead"))}}
	}
	w := component.Why{Terms: []component.Term{term(ctx, locale.T(ctx, "why.message"), "", max(0, m.content.TTL))}}
	if m.in.Kind == engine.Subscription {
		w.Terms = append(w.Terms,
			term(ctx, locale.T(ctx, "why.topic"), p.EntityURL(engine.Topic, m.in.topic.Path)+"/edit", m.in.topic.Config.InForce().DefaultMessageTimeToLive),
			term(ctx, locale.T(ctx, "why.subscription"), p.EntityURL(engine.Subscription, m.in.Path)+"/edit", m.in.Config.InForce().DefaultMessageTimeToLive))
	} else {
		name := locale.T(ctx, "why.queue")
		if m.in.Kind == engine.Topic {
			name = locale.T(ctx, "why.topic")
		}
		w.Terms = append(w.Terms, term(ctx, name, p.EntityURL(m.in.Kind, m.in.Path)+"/edit", m.in.Config.InForce().DefaultMessageTimeToLive))
	}
	shortest := shortestTerm(w.Terms)
	if m.Message.State == engine.Scheduled {
		if shortest >= 0 {
			w.Terms[shortest].Wins = true
		}
		w.Says = []component.Text{say(locale.T(ctx, "why.scheduled"))}
		return w
	}
	actual := time.Duration(0)
	if m.Expires != 0 {
		actual = m.Expires.Sub(m.Message.EnqueuedAt)
	}
	counts := "why.counts"
	switch {
	case shortest >= 0 && sameTTL(w.Terms[shortest].Of, actual):
		w.Terms[shortest].Wins, counts = true, "why.shortest"
	case shortest < 0 && actual == 0:
	default: // an operator set it, or a ceiling was another one when it was stored
		kept := term(ctx, locale.T(ctx, whyKept(past)), "", actual)
		kept.Wins = true
		w.Terms = append(w.Terms, kept)
	}
	w.Says = p.whySays(ctx, m, counts, actual, now)
	return w
}

// whyKept names the term that explains an expiry which follows from nothing
// that is set now.
func whyKept(past []trace) string {
	if slices.ContainsFunc(past, func(t trace) bool { return t.kind == engine.EventExtended }) {
		return "why.extended"
	}
	return "why.stored"
}

func (p *Pages) whySays(ctx context.Context, m messageSight, counts string, actual time.Duration, now engine.Instant) []component.Text {
	if actual == 0 && m.Expires == 0 {
		return []component.Text{say(locale.T(ctx, "why.never"))}
	}
	args := locale.Args{"TTL": component.Length(ctx, actual), "At": ClockTime(ctx, m.Message.EnqueuedAt, now)}
	says := []component.Text{say(locale.T(ctx, counts, args) + " ")}
	if m.Message.State == engine.Deferred {
		says = append(says, say(locale.T(ctx, "why.deferred")+" "))
	}
	if m.KeepsDead {
		return append(says, say(locale.T(ctx, "why.fate.dead", locale.Args{"To": Shown(m.Path.DeadLetter()), "Reason": engine.ReasonExpired})))
	}
	return append(says, say(locale.T(ctx, "why.fate.lost")))
}

func term(ctx context.Context, name, href string, of time.Duration) component.Term {
	return component.Term{Name: name, Href: href, Of: of, Show: component.LengthOrNever(ctx, of)}
}

// shortestTerm is the place of the term that counts; -1 if all are never.
func shortestTerm(terms []component.Term) int {
	at := -1
	for i, t := range terms {
		if t.Of != 0 && (at < 0 || t.Of < terms[at].Of) {
			at = i
		}
	}
	return at
}

// sameTTL allows for what was rounded to a millisecond.
func sameTTL(a, b time.Duration) bool {
	return a.Round(time.Millisecond) == b || (a-b).Abs() <= time.Millisecond
}
