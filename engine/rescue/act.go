package rescue

import (
	"context"
	"errors"
	"fmt"

	"mayfly/engine"
	"mayfly/engine/broker"
)

var errFull = &engine.Refusal{Kind: engine.ErrQuota, Text: fmt.Sprintf("Rules remember %d messages, which is the most they can; this rule waits until some of these have run out.", marksMost)}

// full tells whether nothing more is remembered.
func (w *watcher) full() bool {
	n := 0
	for _, l := range w.r.ledgers {
		n += len(l.marks)
	}
	return n >= marksMost
}

// act does what a rule wants with messages that it fired for, or that it may not do
// it to any more, and has it told.
func (w *watcher) act(ctx context.Context, u *working, rows []engine.Row, now engine.Instant) error {
	l, full := w.r.ledger(u.ID), w.full()
	a := Alert{Count: int64(len(rows))}
	if u.Then == Notify {
		more := make([]entry, 0, len(rows))
		for _, row := range rows {
			more = append(more, u.entry(row, Mark{}, now, 0))
			a.Items = append(a.Items, itemOf(row))
		}
		if !full {
			if err := w.keep(ctx, l, more); err != nil {
				return err
			}
		}
		a.Items = a.Items[:min(len(a.Items), itemsMost)]
		w.noted(u, a)
		return nil
	}
	if full && u.Then == Extend {
		return errFull
	}
	var deeds []engine.Deed
	var of []engine.Row // deeds are done to
	var spent []entry
	for _, row := range rows {
		was := l.marks[row.Message.Key]
		if u.Judge(row, was, now) == Spent {
			spent = append(spent, u.entry(row, was, now, 0))
			it := itemOf(row)
			it.Reason = fmt.Sprintf("It was extended %d times, as often as the rule may.", was.Times)
			a.Items, a.Failed = append(a.Items, it), a.Failed+1
			continue
		}
		of = append(of, row)
		d := engine.Deed{Target: engine.Target{Key: row.Message.Key, Path: row.Path, Seq: row.Message.Seq}, Kind: engine.DeedExtend, By: u.By}
		if u.Then == DeadLetter {
			d.Kind, d.Reason, d.Description = engine.DeedDeadLetter, "RescuedByRule", "The rule "+u.Name+" dead-lettered it before its time ran out."
		}
		deeds = append(deeds, d)
	}
	var next *ledger
	var more []entry
	done, err := w.r.b.DoEach(ctx, deeds, u.actor(), func(done []engine.Deeded) (keep []engine.Setting) {
		more = spent
		for i, d := range done {
			if e, ok := u.outcome(of[i], l.marks[of[i].Message.Key], d.Err, now); ok {
				more = append(more, e)
			}
		}
		if full {
			more = nil
		}
		next, keep = l.with(more)
		return keep
	})
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	next.remember(more)
	w.r.ledgers[u.ID] = next
	for i, d := range done {
		it := itemOf(of[i])
		switch {
		case d.Err == nil:
			a.Done++
		case errors.Is(d.Err, engine.ErrMessageNotFound):
			a.Count--
			continue
		default:
			a.Failed++
			it.Reason = d.Err.Error()
		}
		a.Items = append(a.Items, it)
	}
	a.Items = a.Items[:min(len(a.Items), itemsMost)]
	if a.Count > 0 {
		w.noted(u, a)
	}
	return nil
}

// outcome is what is remembered of a message after a deed; not ok: nothing.
func (u *working) outcome(row engine.Row, was Mark, err error, now engine.Instant) (e entry, ok bool) {
	switch {
	case errors.Is(err, engine.ErrMessageNotFound):
		return e, false
	case err == nil && u.Then == DeadLetter: // nothing runs out where it is
		return e, false
	case err == nil:
		return u.entry(row, Mark{Times: was.Times + 1}, now, 1), true
	default:
		return u.entry(row, was, now, 0), true
	}
}

// entry is what is remembered of a message that a rule fired for; more times By is
// what it has got.
func (u *working) entry(row engine.Row, m Mark, now engine.Instant, more int) entry {
	m.Expires = row.Expires
	end := max(now, row.Expires)
	if more > 0 {
		end = end.Add(u.By)
	}
	return entry{row.Message.Key, m, end.Add(needed)}
}

// keep remembers entries.
func (w *watcher) keep(ctx context.Context, l *ledger, more []entry) error {
	next, keep := l.with(more)
	var changes []broker.Change
	for _, s := range keep {
		changes = append(changes, broker.Change{Setting: s})
	}
	if err := w.r.b.Change(ctx, changes, ""); err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	next.remember(more)
	w.r.ledgers[l.rule] = next
	return nil
}

func (w *watcher) noted(u *working, a Alert) {
	w.r.mu.Lock()
	defer w.r.mu.Unlock()
	w.r.note(u.live, a)
}

// tidy forgets what is not needed any more, a little at a time.
func (w *watcher) tidy(ctx context.Context, now engine.Instant) {
	if now.Sub(w.tidied) < tidyEvery {
		return
	}
	w.tidied = now
	for id, l := range w.r.ledgers {
		n := min(l.stale(now), tidyChunks)
		if n == 0 {
			continue
		}
		stay, err := w.staying(ctx, l, n, now)
		if err != nil {
			return // in a while again
		}
		next, keep, drop := l.without(n, stay)
		var changes []broker.Change
		for _, s := range keep {
			changes = append(changes, broker.Change{Setting: s})
		}
		for _, key := range drop {
			changes = append(changes, broker.Change{Setting: engine.Setting{Key: key}, Drop: true})
		}
		if err := w.r.b.Change(ctx, changes, ""); err != nil {
			if errors.Is(err, engine.ErrNotFound) { // the rule was removed meanwhile
				delete(w.r.ledgers, id)
			}
			return
		}
		l.forget(n, stay)
		w.r.ledgers[id] = next
	}
}

// staying is what has to go on being remembered of the first n chunks: of messages
// that are still there.
func (w *watcher) staying(ctx context.Context, l *ledger, n int, now engine.Instant) (stay []entry, err error) {
	for _, c := range l.chunks[:n] {
		var keys []engine.Key
		for _, e := range c.entries {
			if l.marks[e.key] == e.mark {
				keys = append(keys, e.key)
			}
		}
		rows, err := w.rows(ctx, keys)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			if m := l.marks[row.Message.Key]; !row.Path.IsDeadLetter() && (m.Times > 0 || m.Expires == row.Expires) {
				stay = append(stay, entry{row.Message.Key, m, max(row.Expires, now).Add(needed)})
			}
		}
	}
	return stay, nil
}
