package alert

import (
	"context"
	"errors"
	"fmt"

	"mayfly/engine"
	"mayfly/engine/broker"
)

var errFull = engine.Refuse(engine.ErrQuota, "Alert rules already track %d messages, the maximum. This rule waits until some of these messages have expired.", maxFireRecords)

// full reports whether the rules together have maxFireRecords records.
func (w *expiryWatcher) full() bool {
	n := 0
	for _, l := range w.r.fireRecords {
		n += len(l.marks)
	}
	return n >= maxFireRecords
}

// runAction applies a rule's action to messages for which it fired, except those that it has
// extended as often as allowed, and queues an alert about all of them.
func (w *expiryWatcher) runAction(ctx context.Context, u *activeRule, rows []engine.Row, now engine.Instant) error {
	l, full := w.r.recordsOf(u.ID), w.full()
	a := Alert{Count: int64(len(rows))}
	if u.Action == Notify {
		more := make([]recordEntry, 0, len(rows))
		for _, row := range rows {
			more = append(more, u.entry(row, FireRecord{}, now, 0))
			a.Items = append(a.Items, itemOf(row))
		}
		if !full {
			if err := w.keep(ctx, l, more); err != nil {
				return err
			}
		}
		a.Items = a.Items[:min(len(a.Items), maxItems)]
		w.noted(u, a)
		return nil
	}
	if full && u.Action == Extend {
		return errFull
	}
	var operations []engine.Operation
	var of []engine.Row // the messages of operations
	var spent []recordEntry
	for _, row := range rows {
		was := l.marks[row.Message.Key]
		if u.Decide(row, was, now) == LimitReached {
			spent = append(spent, u.entry(row, was, now, 0))
			it := itemOf(row)
			it.Reason = fmt.Sprintf("The message was extended %d times, the maximum of this rule.", was.Extensions)
			a.Items, a.Failed = append(a.Items, it), a.Failed+1
			continue
		}
		of = append(of, row)
		d := engine.Operation{Target: engine.Target{Key: row.Message.Key, Path: row.Path, Seq: row.Message.Seq}, Kind: engine.OperationExtend, ExtendBy: u.ExtendBy}
		if u.Action == DeadLetter {
			d.Kind, d.Reason, d.Description = engine.OperationDeadLetter, "RescuedByRule", "The rule "+u.Name+" dead-lettered it before its time ran out."
		}
		operations = append(operations, d)
	}
	var next *fireRecords
	var more []recordEntry
	done, err := w.r.b.ApplyOperations(ctx, operations, u.auditActor(), func(done []engine.OperationResult) (keep []engine.Setting) {
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
		return err
	}
	next.add(more)
	w.r.fireRecords[u.ID] = next
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
	a.Items = a.Items[:min(len(a.Items), maxItems)]
	if a.Count > 0 {
		w.noted(u, a)
	}
	return nil
}

// outcome returns the record to keep of a message after an operation; ok is false if none is needed.
func (u *activeRule) outcome(row engine.Row, was FireRecord, err error, now engine.Instant) (e recordEntry, ok bool) {
	switch {
	case errors.Is(err, engine.ErrMessageNotFound):
		return e, false
	case err == nil && u.Action == DeadLetter: // dead letters do not expire
		return e, false
	case err == nil:
		return u.entry(row, FireRecord{Extensions: was.Extensions + 1}, now, 1), true
	default:
		return u.entry(row, was, now, 0), true
	}
}

// entry returns the record to keep of a message for which a rule fired. `more` is above zero if the
// rule has just extended the message.
func (u *activeRule) entry(row engine.Row, m FireRecord, now engine.Instant, more int) recordEntry {
	m.Expires = row.Expires
	end := max(now, row.Expires)
	if more > 0 {
		end = end.Add(u.ExtendBy)
	}
	return recordEntry{row.Message.Key, m, end.Add(recordRetention)}
}

// keep adds entries to a rule's records and stores them.
func (w *expiryWatcher) keep(ctx context.Context, l *fireRecords, more []recordEntry) error {
	next, keep := l.with(more)
	var changes []broker.SettingChange
	for _, s := range keep {
		changes = append(changes, broker.SettingChange{Setting: s})
	}
	if err := w.r.b.ApplySettings(ctx, changes, ""); err != nil {
		return err
	}
	next.add(more)
	w.r.fireRecords[l.rule] = next
	return nil
}

func (w *expiryWatcher) noted(u *activeRule, a Alert) {
	w.r.mu.Lock()
	defer w.r.mu.Unlock()
	w.r.queueAlert(u.live, a)
}

// prune deletes records that are no longer needed, a few chunks at a time.
func (w *expiryWatcher) prune(ctx context.Context, now engine.Instant) {
	if now.Sub(w.tidied) < tidyEvery {
		return
	}
	w.tidied = now
	for id, l := range w.r.fireRecords {
		n := min(l.stale(now), tidyChunks)
		if n == 0 {
			continue
		}
		stay, err := w.stillNeeded(ctx, l, n, now)
		if err != nil {
			return // tried again later
		}
		next, keep, drop := l.without(n, stay)
		var changes []broker.SettingChange
		for _, s := range keep {
			changes = append(changes, broker.SettingChange{Setting: s})
		}
		for _, key := range drop {
			changes = append(changes, broker.SettingChange{Setting: engine.Setting{Key: key}, Drop: true})
		}
		if err := w.r.b.ApplySettings(ctx, changes, ""); err != nil {
			if errors.Is(err, engine.ErrNotFound) { // the rule has been removed in the meantime
				delete(w.r.fireRecords, id)
			}
			return
		}
		l.removeChunks(n, stay)
		w.r.fireRecords[id] = next
	}
}

// stillNeeded returns those entries of the first n chunks whose messages still exist.
func (w *expiryWatcher) stillNeeded(ctx context.Context, l *fireRecords, n int, now engine.Instant) (stay []recordEntry, err error) {
	for _, c := range l.chunks[:n] {
		var keys []engine.Key
		for _, e := range c.entries {
			if l.marks[e.key] == e.record {
				keys = append(keys, e.key)
			}
		}
		rows, err := w.rows(ctx, keys)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			if m := l.marks[row.Message.Key]; !row.Path.IsDeadLetter() && (m.Extensions > 0 || m.Expires == row.Expires) {
				stay = append(stay, recordEntry{row.Message.Key, m, max(row.Expires, now).Add(recordRetention)})
			}
		}
	}
	return stay, nil
}
