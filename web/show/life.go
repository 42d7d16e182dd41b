package show

import (
	"context"
	"slices"
	"time"

	"mayfly/engine"
	"mayfly/views/component"
	"mayfly/views/locale"
)

// life is a message's story: what happened, where it stands, what is to come.
func (p *Pages) life(ctx context.Context, m messageSight, past []trace, now engine.Instant) []component.Entry {
	out := p.before(ctx, m, past)
	out = append(out, p.entries(ctx, past)...)
	out = append(out, component.Entry{Icon: "clock", Tone: component.Plenty, Title: p.present(ctx, m, now), Now: true})
	return dated(append(out, p.future(ctx, m, now)...), now)
}

// before is what the message itself tells of the time before its known past
// begins.
func (p *Pages) before(ctx context.Context, m messageSight, past []trace) (out []component.Entry) {
	known := func(kinds ...engine.EventKind) bool {
		for _, t := range past {
			if slices.Contains(kinds, t.kind) {
				return true
			}
		}
		return false
	}
	stored := trace{at: m.Message.EnqueuedAt, kind: engine.EventSent, seq: m.Message.EnqueuedSeq, path: m.Path.Entity(), until: m.Message.ScheduledFor}
	if m.Message.State == engine.Scheduled {
		stored.kind = engine.EventScheduled
	}
	if !known(engine.EventSent, engine.EventScheduled, engine.EventActivated, engine.EventMoved, engine.EventForwarded) {
		out = append(out, p.entry(ctx, stored))
	}
	x := m.Message.Extra
	if x == nil {
		return out
	}
	if x.DeferredAt != 0 && !known(engine.EventDeferred) {
		out = append(out, p.entry(ctx, trace{at: x.DeferredAt, kind: engine.EventDeferred, actor: x.By}))
	}
	if x.DeadAt != 0 && !known(engine.EventDeadLettered) {
		out = append(out, p.entry(ctx, trace{at: x.DeadAt, kind: engine.EventDeadLettered, actor: x.By, reason: x.Reason, to: m.Path}))
	}
	return out
}

func (p *Pages) entries(ctx context.Context, past []trace) (out []component.Entry) {
	for _, t := range past {
		out = append(out, p.entry(ctx, t))
	}
	return out
}

// entry is one step of a message's life.
func (p *Pages) entry(ctx context.Context, t trace) component.Entry {
	if t.kind == engine.EventGap {
		return component.Entry{Icon: "warn", Tone: component.Low, Title: locale.N(ctx, "life.gap", int(t.count)), At: t.at.Time()}
	}
	how := lookOf(t)
	e := component.Entry{Icon: how.icon, Tone: how.tone, Title: locale.T(ctx, lifeTitle(t), traceArgs(ctx, t)), At: t.at.Time()}
	detail := func(s string) {
		if len(e.Detail) > 0 {
			s = " · " + s
		}
		e.Detail = append(e.Detail, say(s))
	}
	args := traceArgs(ctx, t)
	if t.kind == engine.EventDeadLettered {
		detail(locale.T(ctx, "life.reason", args))
	}
	switch t.kind {
	case engine.EventSent, engine.EventScheduled, engine.EventActivated, engine.EventMoved, engine.EventForwarded:
		detail(locale.T(ctx, "life.number", args))
	case engine.EventUnmatched:
		detail(locale.T(ctx, "life.unmatched.at", locale.Args{"Topic": Shown(t.path)}))
	case engine.EventLockLost, engine.EventAbandoned, engine.EventDeferred:
		if t.tries > 0 {
			detail(locale.N(ctx, "life.tries", int(t.tries)))
		}
	}
	if t.actor != "" {
		if len(e.Detail) > 0 {
			e.Detail = append(e.Detail, say(" · "))
		}
		e.Detail = append(e.Detail, p.byWhom(ctx, t.actor)...)
	}
	return e
}

// byWhom says who did something; a client that is connected is a link.
func (p *Pages) byWhom(ctx context.Context, actor string) []component.Text {
	who, href, _ := p.client(ctx, actor)
	return tell(ctx, "life.by", component.Text{S: who, Href: href}, nil)
}

func lifeTitle(t trace) string {
	if t.kind == engine.EventDeadLettered && t.reason == engine.ReasonExpired {
		return "life.ranout"
	}
	if t.reason == engine.TakenBack {
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

// present says where a message stands.
func (p *Pages) present(ctx context.Context, m messageSight, now engine.Instant) string {
	args := locale.Args{"Entity": Shown(m.Path)}
	switch locked := m.Message.LockedUntil != 0 && !m.Message.LockedUntil.Passed(now); {
	case locked && m.Lock.By != "":
		args["By"], _ = p.holder(ctx, m.Lock.By)
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

// future is what time alone will do to a message.
func (p *Pages) future(ctx context.Context, m messageSight, now engine.Instant) (out []component.Entry) {
	msg := m.Message
	locked := msg.LockedUntil != 0 && !msg.LockedUntil.Passed(now)
	if locked {
		out = append(out, component.Entry{
			Icon: "locked", Tone: component.Lock, Title: locale.T(ctx, "future.unlock"), At: msg.LockedUntil.Time(),
			Detail: []component.Text{ticking(msg.LockedUntil, m.in.Config.LockFor(), now)},
		})
	}
	if msg.State == engine.Scheduled {
		out = append(out, component.Entry{
			Icon: "scheduled", Tone: component.Plenty, Title: locale.T(ctx, "future.activate"), At: msg.ScheduledFor.Time(),
			Detail: []component.Text{ticking(msg.ScheduledFor, msg.ScheduledFor.Sub(msg.EnqueuedAt), now)},
		})
	}
	if m.Expires == 0 {
		return out
	}
	end := component.Entry{Icon: "lost", Tone: component.Lost, Title: locale.T(ctx, "future.lost"), At: m.Expires.Time()}
	if m.KeepsDead {
		end.Icon, end.Tone, end.Title = "expired", component.Dead, locale.T(ctx, "future.dead", locale.Args{"To": Shown(m.Path.DeadLetter())})
	}
	switch {
	case msg.State == engine.Deferred: // DEF-9
		end.Detail = []component.Text{say(locale.T(ctx, "future.asked"))}
	case locked: // TTL-20
		end.Detail = []component.Text{say(locale.T(ctx, "future.lockfirst"))}
	default:
		end.Detail = []component.Text{ticking(m.Expires, max(m.Expires.Sub(msg.EnqueuedAt), time.Second), now)}
	}
	return append(out, end)
}
