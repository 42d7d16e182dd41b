package job

import (
	"context"
	"errors"
	"slices"

	"mayfly/engine"
)

// work does a job to its end, or as far as ctx lets it.
func (j *Jobs) work(ctx context.Context, l *live, is Job) {
	for more := true; more && ctx.Err() == nil; {
		next, err := j.slice(ctx, l, is)
		if err != nil && ctx.Err() == nil {
			is.State, is.Why = Failed, err.Error()
			break
		}
		if err != nil {
			break
		}
		if is, more = next, next.State == Running; more { // its end is told when it is kept
			j.mu.Lock()
			j.set(l, is)
			j.mu.Unlock()
		}
	}
	j.mu.Lock()
	asked := l.asked
	j.mu.Unlock()
	if is.State == Running && asked {
		is.State = Cancelled
	}
	if is.State != Running { // else the server ends, and what is kept says so
		is.Ended = j.b.Clock()
		if err := j.keep(context.WithoutCancel(ctx), is); err != nil {
			j.log.WarnContext(ctx, "the end of a job is not kept", "job", is.ID, "err", err)
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	l.cancel()
	l.cancel = nil
	j.running--
	if is.State == Running {
		is.State, is.Ended = Interrupted, j.b.Clock()
	}
	j.set(l, is)
	j.schedule() //nolint:contextcheck // jobs outlive who starts them: they end with Close
}

// slice does the next part of a job, and returns the job as it is then.
func (j *Jobs) slice(ctx context.Context, l *live, is Job) (Job, error) {
	todo, err := j.pick(ctx, l, is)
	if err != nil {
		return is, err
	}
	next := is
	next.Counts.Seen += todo.seen
	next.Counts.Skipped += todo.missing
	next.Cursor = todo.next
	if todo.end {
		next.State = Done
		return next, nil
	}
	if len(todo.deeds) == 0 && next.Counts.Seen/persistAt == is.Counts.Seen/persistAt {
		return next, nil // nothing was done: what is lost is looked at again
	}
	base := next
	_, err = j.b.DoEach(context.WithoutCancel(ctx), todo.deeds, is.Actor, func(all []engine.Deeded) []engine.Setting {
		next = base
		undo := next.tally(todo.deeds, all)
		settings := []engine.Setting{record(next)}
		if undo != nil {
			settings = append(settings, engine.Setting{Key: undoKey(is.ID, next.Undoing-1), Value: string(undo)})
		}
		return settings
	})
	return next, err //nolint:wrapcheck // it says what it is about
}

// todo is the next slice of a job.
type todo struct {
	deeds   []engine.Deed
	seen    int64
	missing int64 // of what was seen: is not there any more
	next    Cursor
	end     bool
}

func (j *Jobs) pick(ctx context.Context, l *live, is Job) (out todo, err error) {
	p := is.Plan
	switch {
	case p.Kind == Undo:
		return j.pickUndo(ctx, is)
	case len(p.Messages) > 0:
		from := min(is.Cursor.At, len(p.Messages))
		part := p.Messages[from:min(from+sliceSize, len(p.Messages))]
		for _, t := range part {
			out.deeds = append(out.deeds, p.deed(t))
		}
		out.seen, out.next, out.end = int64(len(part)), Cursor{At: from + len(part)}, len(part) == 0
		return out, nil
	}
	found, err := look(ctx, j.b, p, l.query, is.Places, is.Cursor)
	for _, r := range found.rows {
		out.deeds = append(out.deeds, p.deed(target(r)))
	}
	out.seen, out.next, out.end = found.seen, found.next, found.end
	return out, err
}

// tally counts what became of a slice, and returns what may be taken back of it; nil
// if that is nothing.
func (j *Job) tally(deeds []engine.Deed, all []engine.Deeded) (undo []byte) {
	j.Failures = slices.Clip(j.Failures) // what others have seen stays
	var back reversal
	for i, d := range all {
		switch {
		case d.Err == nil:
			j.Counts.Done++
			back.add(deeds[i], d)
		case errors.Is(d.Err, engine.ErrMessageNotFound), d.Was.Message.Locked():
			j.Counts.Skipped++
		default:
			j.Counts.Failed++
			if len(j.Failures) < MostFailures {
				t := deeds[i].Target
				j.Failures = append(j.Failures, Failure{Key: t.Key, Path: t.Path, Seq: t.Seq, Why: d.Err.Error()})
			}
		}
	}
	if j.Plan.Kind == Undo || j.TooMany || len(back.Items) == 0 {
		return nil
	}
	if j.Undoes+int64(len(back.Items)) > undoMost {
		j.TooMany = true
		return nil
	}
	j.Undoing++
	j.Undoes += int64(len(back.Items))
	return back.encode()
}
