package message

import (
	"context"
	"slices"
	"time"

	"mayfly/engine"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/web/dashboard/activity"
	"mayfly/web/dashboard/admin"
	"mayfly/web/dashboard/pages"
	"mayfly/web/dashboard/recent"
)

// timeline returns a message's timeline: its past, its present state and its future.
func timeline(ctx context.Context, p *pages.Pages, m Snapshot, past []recent.EventRecord, now engine.Instant) []component.TimelineStep {
	out := stepsBefore(ctx, p, m, past)
	out = append(out, timelineEntries(ctx, p, past)...)
	out = append(out, component.TimelineStep{Icon: "clock", Tone: component.Plenty, Title: currentState(ctx, p, m, now), Now: true})
	return pages.MarkDates(append(out, future(ctx, m, now)...), now)
}

// stepsBefore returns the steps that the message itself proves but that no event in `past`
// records.
func stepsBefore(ctx context.Context, p *pages.Pages, m Snapshot, past []recent.EventRecord) (out []component.TimelineStep) {
	known := func(kinds ...engine.EventKind) bool {
		for _, t := range past {
			if slices.Contains(kinds, t.Kind) {
				return true
			}
		}
		return false
	}
	stored := recent.EventRecord{At: m.Message.EnqueuedAt, Kind: engine.EventSent, Seq: m.Message.EnqueuedSeq, Path: m.Path.Entity(), Until: m.Message.ScheduledFor}
	if m.Message.State == engine.Scheduled {
		stored.Kind = engine.EventScheduled
	}
	if !known(engine.EventSent, engine.EventScheduled, engine.EventActivated, engine.EventMoved, engine.EventForwarded) {
		out = append(out, timelineEntry(ctx, p, stored))
	}
	x := m.Message.Extra
	if x == nil {
		return out
	}
	if x.DeferredAt != 0 && !known(engine.EventDeferred) {
		out = append(out, timelineEntry(ctx, p, recent.EventRecord{At: x.DeferredAt, Kind: engine.EventDeferred, Actor: x.By}))
	}
	if x.DeadAt != 0 && !known(engine.EventDeadLettered) {
		out = append(out, timelineEntry(ctx, p, recent.EventRecord{At: x.DeadAt, Kind: engine.EventDeadLettered, Actor: x.By, Reason: x.Reason, To: m.Path}))
	}
	return out
}

func timelineEntries(ctx context.Context, p *pages.Pages, past []recent.EventRecord) (out []component.TimelineStep) {
	for _, t := range past {
		out = append(out, timelineEntry(ctx, p, t))
	}
	return out
}

// timelineEntry returns an event as a step of a message's timeline.
func timelineEntry(ctx context.Context, p *pages.Pages, t recent.EventRecord) component.TimelineStep {
	if t.Kind == engine.EventGap {
		return component.TimelineStep{Icon: "warn", Tone: component.Low, Title: locale.N(ctx, "life.gap", int(t.Count)), At: t.At.Time()}
	}
	how := activity.StyleOf(t)
	e := component.TimelineStep{Icon: how.Icon, Tone: how.Tone, Title: locale.T(ctx, eventTitle(t), activity.EventArgs(ctx, t)), At: t.At.Time()}
	detail := func(s string) {
		if len(e.Detail) > 0 {
			s = " · " + s
		}
		e.Detail = append(e.Detail, pages.PlainText(s))
	}
	args := activity.EventArgs(ctx, t)
	if t.Kind == engine.EventDeadLettered {
		detail(locale.T(ctx, "life.reason", args))
	}
	switch t.Kind {
	case engine.EventSent, engine.EventScheduled, engine.EventActivated, engine.EventMoved, engine.EventForwarded:
		detail(locale.T(ctx, "life.number", args))
	case engine.EventUnmatched:
		detail(locale.T(ctx, "life.unmatched.at", locale.Args{"Topic": pages.DisplayPath(t.Path)}))
	case engine.EventLockLost, engine.EventAbandoned, engine.EventDeferred:
		if t.Deliveries > 0 {
			detail(locale.N(ctx, "life.tries", int(t.Deliveries)))
		}
	}
	if t.Actor != "" {
		if len(e.Detail) > 0 {
			e.Detail = append(e.Detail, pages.PlainText(" · "))
		}
		e.Detail = append(e.Detail, actorText(ctx, p, t.Actor)...)
	}
	return e
}

// actorText names an actor, with a link if it is a connected client.
func actorText(ctx context.Context, p *pages.Pages, actor string) []component.Text {
	who, href, _ := admin.ClientOf(ctx, p, actor)
	return pages.SentenceAround(ctx, "life.by", component.Text{S: who, Href: href}, nil)
}

func eventTitle(t recent.EventRecord) string {
	if t.Kind == engine.EventDeadLettered && t.Reason == engine.ReasonExpired {
		return "life.ranout"
	}
	if t.Reason == engine.ReasonReplaceUndone {
		if t.Kind == engine.EventDeleted {
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
	}[t.Kind]
}

// currentState describes the current state of a message.
func currentState(ctx context.Context, p *pages.Pages, m Snapshot, now engine.Instant) string {
	args := locale.Args{"Entity": pages.DisplayPath(m.Path)}
	switch locked := m.Message.LockedUntil != 0 && !m.Message.LockedUntil.Passed(now); {
	case locked && m.Lock.By != "":
		args["By"], _ = admin.LockHolder(ctx, p, m.Lock.By)
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

// future returns the steps that will follow without any operation: unlocking, activation and
// expiry.
func future(ctx context.Context, m Snapshot, now engine.Instant) (out []component.TimelineStep) {
	msg := m.Message
	locked := msg.LockedUntil != 0 && !msg.LockedUntil.Passed(now)
	if locked {
		out = append(out, component.TimelineStep{
			Icon: "locked", Tone: component.Lock, Title: locale.T(ctx, "future.unlock"), At: msg.LockedUntil.Time(),
			Detail: []component.Text{pages.Countdown(msg.LockedUntil, m.Entity.Config.LockTime(), now)},
		})
	}
	if msg.State == engine.Scheduled {
		out = append(out, component.TimelineStep{
			Icon: "scheduled", Tone: component.Plenty, Title: locale.T(ctx, "future.activate"), At: msg.ScheduledFor.Time(),
			Detail: []component.Text{pages.Countdown(msg.ScheduledFor, msg.ScheduledFor.Sub(msg.EnqueuedAt), now)},
		})
	}
	if m.Expires == 0 {
		return out
	}
	end := component.TimelineStep{Icon: "lost", Tone: component.Lost, Title: locale.T(ctx, "future.lost"), At: m.Expires.Time()}
	if m.DeadLettersOnExpiry {
		end.Icon, end.Tone, end.Title = "expired", component.Dead, locale.T(ctx, "future.dead", locale.Args{"To": pages.DisplayPath(m.Path.DeadLetter())})
	}
	switch {
	case msg.State == engine.Deferred: // DEF-9
		end.Detail = []component.Text{pages.PlainText(locale.T(ctx, "future.asked"))}
	case locked: // TTL-20
		end.Detail = []component.Text{pages.PlainText(locale.T(ctx, "future.lockfirst"))}
	default:
		end.Detail = []component.Text{pages.Countdown(m.Expires, max(m.Expires.Sub(msg.EnqueuedAt), time.Second), now)}
	}
	return append(out, end)
}
