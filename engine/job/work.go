package job

import (
	"context"
	"errors"
	"slices"
	"time"

	"mayfly/engine"
)

// work does a job to its end, or as far as ctx lets it.
func (j *Jobs) work(ctx context.Context, l *live, is Job) {
	unheard := false // of what the last slice did
	for more := true; more && ctx.Err() == nil; {
		next, err := j.slice(ctx, l, is)
		if errors.Is(err, engine.ErrBusy) {
			next, err = j.asKept(ctx, is)
			unheard = err != nil
		}
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
	is = j.end(ctx, l, is, unheard)
	j.mu.Lock()
	defer j.mu.Unlock()
	l.cancel()
	l.cancel = nil
	if l.feed != nil && is.State == Done {
		l.feed.Close()
		l.feed = nil
	}
	j.running--
	j.set(l, is)
	j.schedule() //nolint:contextcheck // jobs outlive who starts them: they end with Close
}

// end has a job remembered as it ended. Where nobody has heard what the last slice
// did, how far it came is not told anew.
func (j *Jobs) end(ctx context.Context, l *live, is Job, unheard bool) Job {
	ctx = context.WithoutCancel(ctx)
	j.mu.Lock()
	asked := l.asked
	j.mu.Unlock()
	is.Ended = j.b.Clock()
	switch {
	case is.State == Running && asked:
		is.State = Cancelled
	case is.State == Running:
		is.State = Interrupted
		return is // the server ends, and what is kept says so
	}
	if unheard {
		kept, err := j.kept(ctx, is.ID)
		if err != nil {
			return is
		}
		kept.State, kept.Ended, kept.Why = is.State, is.Ended, is.Why
		is = kept
	}
	if err := j.keep(ctx, is); err != nil {
		j.log.WarnContext(ctx, "the end of a job is not kept", "job", is.ID, "err", err)
	}
	return is
}

// asKept waits for a store that is away, or cannot be written to, and is the job as
// it has it: what the last slice did may be known to nobody else.
func (j *Jobs) asKept(ctx context.Context, is Job) (Job, error) {
	pause := time.NewTimer(busyPause)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return is, context.Cause(ctx)
		case <-pause.C:
		}
		kept, err := j.kept(ctx, is.ID)
		if errors.Is(err, engine.ErrBusy) {
			pause.Reset(busyPause)
			continue
		}
		if err != nil {
			return is, err
		}
		kept.State = is.State // it may still say that it waits
		return kept, nil
	}
}

// slice does the next part of a job, and returns the job as it is then.
func (j *Jobs) slice(ctx context.Context, l *live, is Job) (Job, error) {
	switch is.Plan.Kind {
	case Send:
		return j.sendSlice(ctx, is)
	case Import:
		return j.importSlice(ctx, l, is)
	}
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
	_, err = j.b.DoEach(context.WithoutCancel(ctx), todo.deeds, is.hand(), func(all []engine.Deeded) []engine.Setting {
		next = base
		undo := next.tally(todo.deeds, all, int(j.b.Limits().SettingSize))
		settings := []engine.Setting{record(next)}
		for i, value := range undo {
			settings = append(settings, engine.Setting{Key: undoKey(is.ID, is.Undoing+i), Value: value})
		}
		return settings
	})
	if errors.Is(err, engine.ErrQuota) && !is.TooMany {
		is.TooMany = true // there is no room for what could be taken back: what was asked for comes first
		return j.slice(ctx, l, is)
	}
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

// tally counts what became of a slice, and returns what may be taken back of it, as
// values of settings of at most so many bytes; nil if that is nothing.
func (j *Job) tally(deeds []engine.Deed, all []engine.Deeded, most int) (undo []string) {
	j.Failures = slices.Clip(j.Failures) // what others have seen stays
	bytes := 0
	for _, f := range j.Failures {
		bytes += f.size()
	}
	var back Reversal
	for i, d := range all {
		switch {
		case d.Err == nil:
			j.Counts.Done++
			back.Add(deeds[i], d)
		case errors.Is(d.Err, engine.ErrMessageNotFound), d.Was.Message.Locked():
			j.Counts.Skipped++
		default:
			j.Counts.Failed++
			t := deeds[i].Target
			f := Failure{Key: t.Key, Path: t.Path, Seq: t.Seq, Why: d.Err.Error()}
			if bytes += f.size(); len(j.Failures) < MostFailures && bytes <= mostFailureBytes {
				j.Failures = append(j.Failures, f)
			}
		}
	}
	return j.reverse(back, most)
}

// reverse is what may be taken back of a slice, as values of settings of at most so
// many bytes; nil if that is nothing.
func (j *Job) reverse(back Reversal, most int) (undo []string) {
	if j.Plan.Kind == Undo || j.TooMany || len(back.Items) == 0 {
		return nil
	}
	if j.Undoes+int64(len(back.Items)) > undoMost {
		j.TooMany = true
		return nil
	}
	undo = back.encode(most)
	j.Undoing += len(undo)
	j.Undoes += int64(len(back.Items))
	return undo
}
