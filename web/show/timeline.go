package show

import (
	"context"
	"slices"
	"time"

	"mayfly/engine"
	"mayfly/views/component"
	"mayfly/views/locale"
)

// timeline returns a message's timeline: its past, its present state and its future.
func (p *Pages) timeline(ctx context.Context, m messageSnapshot, past []eventRecord, now engine.Instant) []component.TimelineStep {
	out := p.stepsBefore(ctx, m, past)
	out = append(out, p.timelineEntries(ctx, past)...)
	out = append(out, component.TimelineStep{Icon: "clock", Tone: component.Plenty, Title: p.currentState(ctx, m, now), Now: true})
	return markDates(append(out, p.future(ctx, m, now)...), now)
}

// stepsBefore returns the steps that the message itself records from before its known events.
func (p *Pages) stepsBefore(ctx context.Context, m messageSnapshot, past []eventRecord) (out []component.TimelineStep) {
	known := func(kinds ...engine.EventKind) bool {
		for _, t := range past {
			if slices.Contains(kinds, t.kind) {
				return true
			}
		}
		return false
	}
	stored := eventRecord{at: m.Message.EnqueuedAt, kind: engine.EventSent, seq: m.Message.EnqueuedSeq, path: m.Path.Entity(), until: m.Message.ScheduledFor}
	if m.Message.State == engine.Scheduled {
		stored.kind = engine.EventScheduled
	}
	if !known(engine.EventSent, engine.EventScheduled, engine.EventActivated, engine.EventMoved, engine.EventForwarded) {
		out = append(out, p.timelineEntry(ctx, stored))
	}
	x := m.Message.Extra
	if x == nil {
		return out
	}
	if x.DeferredAt != 0 && !known(engine.EventDeferred) {
		out = append(out, p.timelineEntry(ctx, eventRecord{at: x.DeferredAt, kind: engine.EventDeferred, actor: x.By}))
	}
	if x.DeadAt != 0 && !known(engine.EventDeadLettered) {
		out = append(out, p.timelineEntry(ctx, eventRecord{at: x.DeadAt, kind: engine.EventDeadLettered, actor: x.By, reason: x.Reason, to: m.Path}))
	}
	return out
}

func (p *Pages) timelineEntries(ctx context.Context, past []eventRecord) (out []component.TimelineStep) {
	for _, t := range past {
		out = append(out, p.timelineEntry(ctx, t))
	}
	return out
}

// timelineEntry returns an event as a step of a message's life.
func (p *Pages) timelineEntry(ctx context.Context, t eventRecord) component.TimelineStep {
	if t.kind == engine.EventGap {
		return component.TimelineStep{Icon: "warn", Tone: component.Low, Title: locale.N(ctx, "life.gap", int(t.count)), At: t.at.Time()}
	}
	how := styleOf(t)
	e := component.TimelineStep{Icon: how.icon, Tone: how.tone, Title: locale.T(ctx, eventTitle(t), eventArgs(ctx, t)), At: t.at.Time()}
	detail := func(s string) {
		if len(e.Detail) > 0 {
			s = " · " + s
		}
		e.Detail = append(e.Detail, plainText(s))
	}
	args := eventArgs(ctx, t)
	if t.kind == engine.EventDeadLettered {
		detail(locale.T(ctx, "life.reason", args))
	}
	switch t.kind {
	case engine.EventSent, engine.EventScheduled, engine.EventActivated, engine.EventMoved, engine.EventForwarded:
		detail(locale.T(ctx, "life.number", args))
	case engine.EventUnmatched:
		detail(locale.T(ctx, "life.unmatched.at", locale.Args{"Topic": DisplayPath(t.path)}))
	case engine.EventLockLost, engine.EventAbandoned, engine.EventDeferred:
		if t.deliveries > 0 {
			detail(locale.N(ctx, "life.tries", int(t.deliveries)))
		}
	}
	if t.actor != "" {
		if len(e.Detail) > 0 {
			e.Detail = append(e.Detail, plainText(" · "))
		}
		e.Detail = append(e.Detail, p.actorText(ctx, t.actor)...)
	}
	return e
}

// actorText names an actor, with a link if it is a connected client.
func (p *Pages) actorText(ctx context.Context, actor string) []component.Text {
	who, href, _ := p.clientOf(ctx, actor)
	return sentenceAround(ctx, "life.by", component.Text{S: who, Href: href}, nil)
}

func eventTitle(t eventRecord) string {
	if t.kind == engine.EventDeadLettered && t.reason == engine.ReasonExpired {
		return "life.ranout"
	}
	if t.reason == engine.ReasonReplaceUndone {
		if t.kind == engine.EventDeleted {
			return "life.withdrawn"
		}
		return "life.putback"
	}
	return map[engine.EventKind]string{
		engine.EventSent: "life.sent", engine.EventScheduled: "life.scheduled", engine.EventActivated: "life.activated",
		engine.EventCancelled: "life.cancelled", engine.EventLocked: "life.locked", engine.EventRenewed: "life.renewed",
		engine.EventLockLost: "life.locklost", engine.EventAbandoned: "life.abandoned", engine.EventReleased: "life.released",
		engine.EventDeferred: "life.deferred", engine.EventReturned: "life.returned", engine.EventCompleted: "life.completed",
		engine.EventReceived: "life.received", engine.EventDeadLettered: "life.dead", engine.EventExpired: "life.expired",
		engine.EventDeleted: "life.deleted", engine.EventMoved: "life.moved", engine.EventExtended: "life.extended",
		engine.EventCopied: "life.copied", engine.EventForwarded: "life.forwarded", engine.EventDuplicate: "life.duplicate",
		engine.EventUnmatched: "life.unmatched", engine.EventTransferFailed: "life.transfer.failed",
	}[t.kind]
}

// currentState describes the current state of a message.
func (p *Pages) currentState(ctx context.Context, m messageSnapshot, now engine.Instant) string {
	args := locale.Args{"Entity": DisplayPath(m.Path)}
	switch locked := m.Message.LockedUntil != 0 && !m.Message.LockedUntil.Passed(now); {
	case locked && m.Lock.By != "":
		args["By"], _ = p.lockHolder(ctx, m.Lock.By)
		return locale.T(ctx, "now.locked.by", args)
	case locked:
		return locale.T(ctx, "now.locked", args)
	case m.Path.IsDeadLetter():
		return locale.T(ctx, "now.dead", args)
	case m.Message.State == engine.Scheduled:
		return locale.T(ctx, "now.scheduled", args)
	case m.Message.State == engine.Deferred:
		return locale.T(ctx, "now.deferred", args)
	default:
		return locale.T(ctx, "now.active", args)
	}
}

// future returns what time alone will do to a message.
func (p *Pages) future(ctx context.Context, m messageSnapshot, now engine.Instant) (out []component.TimelineStep) {
	msg := m.Message
	locked := msg.LockedUntil != 0 && !msg.LockedUntil.Passed(now)
	if locked {
		out = append(out, component.TimelineStep{
			Icon: "locked", Tone: component.Lock, Title: locale.T(ctx, "future.unlock"), At: msg.LockedUntil.Time(),
			Detail: []component.Text{countdown(msg.LockedUntil, m.entity.Config.LockTime(), now)},
		})
	}
	if msg.State == engine.Scheduled {
		out = append(out, component.TimelineStep{
			Icon: "scheduled", Tone: component.Plenty, Title: locale.T(ctx, "future.activate"), At: msg.ScheduledFor.Time(),
			Detail: []component.Text{countdown(msg.ScheduledFor, msg.ScheduledFor.Sub(msg.EnqueuedAt), now)},
		})
	}
	if m.Expires == 0 {
		return out
	}
	end := component.TimelineStep{Icon: "lost", Tone: component.Lost, Title: locale.T(ctx, "future.lost"), At: m.Expires.Time()}
	if m.DeadLettersOnExpiry {
		end.Icon, end.Tone, end.Title = "expired", component.Dead, locale.T(ctx, "future.dead", locale.Args{"To": DisplayPath(m.Path.DeadLetter())})
	}
	switch {
	case msg.State == engine.Deferred: // DEF-9
		end.Detail = []component.Text{plainText(locale.T(ctx, "future.asked"))}
	case locked: // TTL-20
		end.Detail = []component.Text{plainText(locale.T(ctx, "future.lockfirst"))}
	default:
		end.Detail = []component.Text{countdown(m.Expires, max(m.Expires.Sub(msg.EnqueuedAt), time.Second), now)}
	}
	return append(out, end)
}
