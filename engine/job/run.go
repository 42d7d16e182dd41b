package job

import (
	"context"
	"errors"
	"slices"
	"time"

	"mayfly/engine"
)

// runJob runs a job to its end, or until ctx ends.
func (j *Jobs) runJob(ctx context.Context, l *liveJob, is Job) {
	unheard := false // the last slice may have been stored although the store did not answer
	size := sliceSize
	for more := true; more && ctx.Err() == nil; {
		next, err := j.runSlice(ctx, l, is, size)
		if errors.Is(err, engine.ErrMemoryFull) { // the slice was not done; a smaller one may fit sooner
			size = max(1, size/2)
		} else if err == nil {
			size = min(2*size, sliceSize)
		}
		if errors.Is(err, engine.ErrBusy) {
			next, err = j.reload(ctx, is)
			unheard = err != nil
		}
		if err != nil && ctx.Err() == nil {
			is.State, is.Reason = Failed, err.Error()
			break
		}
		if err != nil {
			break
		}
		if is, more = next, next.State == Running; more { // its end is published after it is stored, below
			j.mu.Lock()
			j.publish(l, is)
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
	j.publish(l, is)
	j.schedule() //nolint:contextcheck // a job outlives its starter: it ends with Close
}

// end stores the end of a job. unheard means that the last slice may have been stored although the
// store did not answer: then the stored progress is kept.
func (j *Jobs) end(ctx context.Context, l *liveJob, is Job, unheard bool) Job {
	ctx = context.WithoutCancel(ctx)
	j.mu.Lock()
	asked := l.cancelRequested
	j.mu.Unlock()
	is.Ended = j.b.ClockTime()
	switch {
	case is.State == Running && asked:
		is.State = Cancelled
	case is.State == Running:
		is.State = Interrupted
		return is // the server ends; Open treats a stored job that is running as interrupted
	}
	if unheard {
		kept, err := j.stored(ctx, is.ID)
		if err != nil {
			return is
		}
		kept.State, kept.Ended, kept.Reason = is.State, is.Ended, is.Reason
		is = kept
	}
	if err := j.store(ctx, is); err != nil {
		j.log.WarnContext(ctx, "the end of a job was not stored", "job", is.ID, "err", err)
	}
	return is
}

// reload waits until the store can be read, and returns the job as stored: the last slice may have
// been stored although the store did not answer.
func (j *Jobs) reload(ctx context.Context, is Job) (Job, error) {
	pause := time.NewTimer(retryInterval)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return is, context.Cause(ctx)
		case <-pause.C:
		}
		kept, err := j.stored(ctx, is.ID)
		if errors.Is(err, engine.ErrBusy) {
			pause.Reset(retryInterval)
			continue
		}
		if err != nil {
			return is, err
		}
		kept.State = is.State // the stored state may still be Waiting
		return kept, nil
	}
}

// runSlice does the next part of a job, of at most size messages, and returns the job after it.
func (j *Jobs) runSlice(ctx context.Context, l *liveJob, is Job, size int) (Job, error) {
	switch is.Plan.Kind {
	case Send:
		return j.sendSlice(ctx, is, size)
	case Import:
		return j.importSlice(ctx, l, is)
	}
	todo, err := j.nextSlice(ctx, l, is, size)
	if err != nil {
		return is, err
	}
	next := is
	next.Counts.Seen += todo.seen
	next.Counts.Skipped += todo.missing
	next.Cursor = todo.next
	if todo.last {
		next.State = Done
		return next, nil
	}
	if len(todo.operations) == 0 && next.Counts.Seen/persistAt == is.Counts.Seen/persistAt {
		return next, nil // nothing was changed, so progress that is lost only means that messages are examined again
	}
	base := next
	_, err = j.b.ApplyOperations(context.WithoutCancel(ctx), todo.operations, is.operationActor(), func(all []engine.OperationResult) []engine.Setting {
		next = base
		undo := next.countResults(todo.operations, all, int(j.b.Limits().SettingSize))
		settings := []engine.Setting{jobSetting(next)}
		for i, value := range undo {
			settings = append(settings, engine.Setting{Key: undoKey(is.ID, is.UndoRecords+i), Value: value})
		}
		return settings
	})
	if errors.Is(err, engine.ErrQuota) && !is.TooManyToUndo {
		is.TooManyToUndo = true // there is no room for the undo record: continue without one
		return j.runSlice(ctx, l, is, size)
	}
	return next, err
}

// workSlice is the next slice of a job.
type workSlice struct {
	operations []engine.Operation
	seen       int64
	missing    int64 // messages among those counted in seen that no longer exist or were changed
	next       Cursor
	last       bool
}

func (j *Jobs) nextSlice(ctx context.Context, l *liveJob, is Job, size int) (out workSlice, err error) {
	p := is.Plan
	switch {
	case p.Kind == Undo:
		return j.nextUndoSlice(ctx, is, size)
	case len(p.Messages) > 0:
		from := min(is.Cursor.Index, len(p.Messages))
		part := p.Messages[from:min(from+size, len(p.Messages))]
		for _, t := range part {
			out.operations = append(out.operations, p.operation(t))
		}
		out.seen, out.next, out.last = int64(len(part)), Cursor{Index: from + len(part)}, len(part) == 0
		return out, nil
	}
	found, err := lookAt(ctx, j.b, p, l.query, is.Subqueues, is.Cursor, size)
	for _, r := range found.rows {
		out.operations = append(out.operations, p.operation(targetOf(r)))
	}
	out.seen, out.next, out.last = found.seen, found.next, found.last
	return out, err
}

// countResults counts the results of a slice, and returns its undo records as values of settings of
// up to `most` bytes, or nil if there are none.
func (j *Job) countResults(operations []engine.Operation, all []engine.OperationResult, most int) (undo []string) {
	j.Failures = slices.Clip(j.Failures) // callers may hold the old slice
	bytes := 0
	for _, f := range j.Failures {
		bytes += f.size()
	}
	var back UndoRecord
	for i, d := range all {
		switch {
		case d.Err == nil:
			j.Counts.Done++
			back.Add(operations[i], d)
		case errors.Is(d.Err, engine.ErrMessageNotFound), d.Before.Message.Locked():
			j.Counts.Skipped++
		default:
			j.Counts.Failed++
			t := operations[i].Target
			f := Failure{Key: t.Key, Path: t.Path, Seq: t.Seq, Reason: d.Err.Error()}
			if bytes += f.size(); len(j.Failures) < MaxFailures && bytes <= maxFailureBytes {
				j.Failures = append(j.Failures, f)
			}
		}
	}
	return j.addUndo(back, most)
}

// addUndo counts the undo records of a slice and returns them as values of settings of at most
// `most` bytes, or nil if there are none.
func (j *Job) addUndo(back UndoRecord, most int) (undo []string) {
	if j.Plan.Kind == Undo || j.TooManyToUndo || len(back.Items) == 0 {
		return nil
	}
	if j.UndoMessages+int64(len(back.Items)) > maxUndoMessages {
		j.TooManyToUndo = true
		return nil
	}
	undo = back.encode(most)
	j.UndoRecords += len(undo)
	j.UndoMessages += int64(len(back.Items))
	return undo
}
