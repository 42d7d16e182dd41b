package show

import (
	"context"
	"time"

	"mayfly/engine"
	"mayfly/views/component"
	"mayfly/views/locale"
)

// sameDay tells whether two instants are of one day, in UTC.
func sameDay(a, b engine.Instant) bool {
	const day = engine.Instant(24 * time.Hour / time.Millisecond)
	return a/day == b/day
}

// dated has those steps of a life tell their date with which another day begins
// than the one before, or than today.
func dated(life []component.Entry, now engine.Instant) []component.Entry {
	day := now
	for i := range life {
		at := engine.At(life[i].At)
		if at == 0 { // the present
			at = now
		}
		life[i].Dated = !life[i].Now && !sameDay(at, day)
		day = at
	}
	return life
}

// ttlClock is a message's time to live.
func ttlClock(r engine.Row, now engine.Instant) component.Clock {
	if r.Expires == 0 {
		return component.Clock{Now: now.Time()}
	}
	return component.Clock{At: r.Expires.Time(), Of: max(r.Expires.Sub(r.Message.EnqueuedAt), time.Millisecond), Now: now.Time()}
}

// dueClock is the time until a scheduled message becomes active.
func dueClock(m engine.Message, now engine.Instant) component.Clock {
	if m.State != engine.Scheduled {
		return component.Clock{}
	}
	return component.Clock{At: m.ScheduledFor.Time(), Of: m.ScheduledFor.Sub(m.EnqueuedAt), Now: now.Time()}
}

// hold is the lock on a message; lockFor is what a lock lasts there.
func hold(r engine.Row, now engine.Instant, lockFor time.Duration) component.Hold {
	until := r.Message.LockedUntil
	return holdOf(r.Lock, until, now, max(lockFor, until.Sub(now)))
}

// holdOf is a lock as pages show it; zero if it has ended.
func holdOf(l engine.Lock, until, now engine.Instant, of time.Duration) component.Hold {
	if until == 0 || until.Passed(now) {
		return component.Hold{}
	}
	return component.Hold{Until: until.Time(), Of: of, Since: l.Since.Time(), Renewals: l.Renewals, RenewedAt: l.RenewedAt.Time()}
}

// fate is what becomes of a message that runs out.
func fate(path engine.Path, keepsDead bool) component.Fate {
	if keepsDead {
		return component.Fate{To: Shown(path.Entity().DeadLetter())}
	}
	return component.Fate{}
}

// outOfTime tells whether a message's time ran out though it is still there: a
// deferred one waits to be asked for (DEF-9), a locked one for its lock
// (TTL-20).
func outOfTime(r engine.Row, now engine.Instant) bool { return r.Expires.Passed(now) }

// ticking is a countdown in a sentence, which stays in its colour.
func ticking(at engine.Instant, of time.Duration, now engine.Instant) component.Text {
	return component.Text{Clock: &component.Clock{At: at.Time(), Of: max(of, time.Second), Now: now.Time(), As: component.Plenty}}
}

// ClockTime is an instant in a sentence, in UTC: with its date unless that is
// today's.
func ClockTime(ctx context.Context, at, now engine.Instant) string {
	if sameDay(at, now) {
		return at.Time().UTC().Format("15:04:05")
	}
	return locale.Moment(ctx, at.Time())
}
