package pages

import (
	"context"
	"time"

	"mayfly/engine"
	"mayfly/views/component"
	"mayfly/views/locale"
)

// SameDay reports whether two instants are on the same day, in UTC.
func SameDay(a, b engine.Instant) bool {
	const day = engine.Instant(24 * time.Hour / time.Millisecond)
	return a/day == b/day
}

// MarkDates sets Dated on each step of a timeline whose day differs from that of the previous
// step or, for the first step, from today.
func MarkDates(life []component.TimelineStep, now engine.Instant) []component.TimelineStep {
	day := now
	for i := range life {
		at := engine.At(life[i].At)
		if at == 0 { // the step for the present has no time
			at = now
		}
		life[i].Dated = !life[i].Now && !SameDay(at, day)
		day = at
	}
	return life
}

// TTLClock returns the clock of a message's time to live.
func TTLClock(r engine.Row, now engine.Instant) component.Clock {
	if r.Expires == 0 {
		return component.Clock{Now: now.Time()}
	}
	return component.Clock{At: r.Expires.Time(), Of: max(r.Expires.Sub(r.Message.EnqueuedAt), time.Millisecond), Now: now.Time()}
}

// DueClock returns the clock until a scheduled message becomes active.
func DueClock(m engine.Message, now engine.Instant) component.Clock {
	if m.State != engine.Scheduled {
		return component.Clock{}
	}
	return component.Clock{At: m.ScheduledFor.Time(), Of: m.ScheduledFor.Sub(m.EnqueuedAt), Now: now.Time()}
}

// MessageLock returns the lock on a message. lockFor is the lock duration of its entity.
func MessageLock(r engine.Row, now engine.Instant, lockFor time.Duration) component.LockInfo {
	until := r.Message.LockedUntil
	return LockState(r.Lock, until, now, max(lockFor, until.Sub(now)))
}

// LockState returns a lock as pages show it, or zero if it has ended.
func LockState(l engine.Lock, until, now engine.Instant, of time.Duration) component.LockInfo {
	if until == 0 || until.Passed(now) {
		return component.LockInfo{}
	}
	return component.LockInfo{Until: until.Time(), Of: of, Since: l.Since.Time(), Renewals: l.Renewals, RenewedAt: l.RenewedAt.Time()}
}

// Fate returns what happens to a message when it expires.
func Fate(path engine.Path, keepsDead bool) component.ExpiryOutcome { //nolint:revive // a setting of the entity
	if keepsDead {
		return component.ExpiryOutcome{To: DisplayPath(path.Entity().DeadLetter())}
	}
	return component.ExpiryOutcome{}
}

// HasExpired reports whether a message has expired but still exists: a deferred message stays
// until a receiver asks for it (DEF-9), a locked one until its lock ends (TTL-20).
func HasExpired(r engine.Row, now engine.Instant) bool { return r.Expires.Passed(now) }

// Countdown returns a countdown for a sentence. Its colour does not change as time passes.
func Countdown(at engine.Instant, of time.Duration, now engine.Instant) component.Text {
	return component.Text{Clock: &component.Clock{At: at.Time(), Of: max(of, time.Second), Now: now.Time(), As: component.Plenty}}
}

// ClockTime returns an instant for a sentence, in UTC, with its date unless that is today.
func ClockTime(ctx context.Context, at, now engine.Instant) string {
	if SameDay(at, now) {
		return at.Time().UTC().Format("15:04:05")
	}
	return locale.DateTime(ctx, at.Time())
}
