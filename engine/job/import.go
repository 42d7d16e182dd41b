package job

import (
	"context"
	"errors"
	"slices"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// ImportSpec identifies and describes what a job imports. The messages themselves come from a
// Feed.
type ImportSpec struct {
	File   string `json:"file"`  // the file's name, as the client gave it; may be empty
	FeedID string `json:"word"`  // identifies the feed's content
	Remap  string `json:"remap"` // how times and ids change, in the form that the feed defines
}

// A FeedPosition is a position in a feed, between two messages.
type FeedPosition struct {
	Offset int64 `json:"offset,omitempty"` // bytes before it
	Line   int64 `json:"line,omitempty"`   // lines before it
}

// A FeedMessage is a message of a feed, or the reason why it cannot be read.
type FeedMessage struct {
	Line    int64        // its first line, from 1
	Next    FeedPosition // the position after it
	Message broker.Outgoing
	Expired bool   // the message has expired and is skipped
	Reason  string // why it cannot be read, as a sentence
}

// A Feed reads the messages that a job imports. Its methods are called by one job at a time,
// possibly again for a position that was read before.
type Feed interface {
	// Next returns the messages after a position that are to be sent together, in order; at the
	// end of the feed, there are none. They are valid until `done` is called. A message whose body
	// is a reader is returned alone.
	Next(ctx context.Context, from FeedPosition) (all []FeedMessage, done func(), err error)
	// Close releases the feed. No other method is called after it.
	Close()
}

// IsMessageError reports whether an error concerns a single message, so that others may be accepted.
func IsMessageError(err error) bool {
	for _, kind := range []error{engine.ErrArgument, engine.ErrOutOfRange, engine.ErrNotAllowed, engine.ErrTooLarge, engine.ErrDuplicate} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// Import begins a job that sends the messages of a feed; total is their number. It uses To,
// ImportSpec and IdempotencyKey of p. The job can be undone for messages that it sent to a queue
// and that are unchanged. Once Import has succeeded, the job owns the feed and closes it when all
// is done; a job that was cancelled or has failed keeps it to be resumed, until the server ends. If
// the plan has started a job already, Import returns that job and does not use the feed.
func (j *Jobs) Import(ctx context.Context, p Plan, total int64, feed Feed, actor string) (Job, error) {
	p = Plan{Kind: Import, To: p.To, ImportSpec: p.ImportSpec, IdempotencyKey: p.IdempotencyKey}.identified()
	if is, ok := j.findStarted(p); ok {
		return is, nil
	}
	if err := j.b.Read(ctx, func(r broker.Reader) error { _, err := r.MaxMessageSize(p.To); return err }); err != nil {
		return Job{}, err
	}
	j.starting.Lock()
	defer j.starting.Unlock()
	return j.enqueue(ctx, Job{Plan: p, Actor: actor, Counts: Counts{Total: total}}, nil, feed)
}

// FindImport returns the job that a plan of an import has started; ok is false if there is none.
func (j *Jobs) FindImport(p Plan) (Job, bool) {
	return j.findStarted(Plan{Kind: Import, To: p.To, ImportSpec: p.ImportSpec, IdempotencyKey: p.IdempotencyKey}.identified())
}

// importSlice sends the next messages of a feed.
func (j *Jobs) importSlice(ctx context.Context, l *liveJob, is Job) (Job, error) {
	if l.feed == nil {
		return is, engine.Refuse(engine.ErrNotAllowed, "The file of job %d is no longer stored, so the job cannot continue.", is.ID)
	}
	all, done, err := l.feed.Next(ctx, is.FeedPosition)
	if err != nil {
		return is, err
	}
	defer func() { done() }()
	if len(all) == 0 {
		is.State = Done
		return is, nil
	}
	next, err := j.importAll(ctx, is, all)
	quota := errors.Is(err, engine.ErrQuota)
	switch {
	case len(all) > 1 && (quota || errors.Is(err, engine.ErrMemoryFull) || err != nil && IsMessageError(err)):
		return j.importEach(ctx, is, all)
	case quota && !is.TooManyToUndo: // perhaps there is no room for the undo record: import without one
		done()
		again, free, failed := l.feed.Next(ctx, is.FeedPosition)
		if failed != nil {
			done = func() {}
			return is, failed
		}
		done = free
		blind := is
		blind.TooManyToUndo = true
		if next, failed := j.importAll(ctx, blind, again); failed == nil {
			return next, nil
		}
	}
	return next, err
}

// importEach calls importAll for one message at a time, so that a refused message does not stop
// others. If it fails after some progress, it returns no error, because the next slice begins with
// the message that failed.
func (j *Jobs) importEach(ctx context.Context, is Job, all []FeedMessage) (Job, error) {
	for i, one := range all {
		next, err := j.importAll(ctx, is, []FeedMessage{one})
		if errors.Is(err, engine.ErrQuota) && !is.TooManyToUndo { // see importSlice
			blind := is
			blind.TooManyToUndo = true
			if blind, failed := j.importAll(ctx, blind, []FeedMessage{one}); failed == nil {
				next, err = blind, nil
			}
		}
		if err != nil && (i == 0 || errors.Is(err, engine.ErrBusy)) { // after ErrBusy, the job is reloaded from the store
			return is, err
		}
		if is = next; err != nil || ctx.Err() != nil {
			return is, nil //nolint:nilerr // the next slice begins with the failed message
		}
	}
	return is, nil
}

// importAll sends messages together, and counts skipped and unreadable ones. If it is called for
// one message and that is refused, it counts the message as failed.
func (j *Jobs) importAll(ctx context.Context, is Job, all []FeedMessage) (Job, error) {
	ctx = context.WithoutCancel(ctx)
	var out []broker.Outgoing
	for _, one := range all {
		if !one.Expired && one.Reason == "" {
			out = append(out, one.Message)
		}
	}
	next := is
	next.countSkipped(all)
	if len(out) == 0 {
		return next, j.store(ctx, next)
	}
	base := next
	err := j.b.SendWithSettings(ctx, is.Plan.To, out, is.operationActor(), func(seqs []engine.Seq, rows []engine.Row) []engine.Setting {
		next = base
		undo := next.countSent(seqs, rows, int(j.b.Limits().SettingSize))
		settings := []engine.Setting{jobSetting(next)}
		for i, value := range undo {
			settings = append(settings, engine.Setting{Key: undoKey(is.ID, is.UndoRecords+i), Value: value})
		}
		return settings
	})
	if err != nil && len(all) == 1 && IsMessageError(err) {
		next = base
		next.Counts.Seen++
		next.fail(Failure{Path: is.Plan.To, Line: all[0].Line, Reason: err.Error()})
		return next, j.store(ctx, next)
	}
	if err != nil {
		return is, err
	}
	return next, nil
}

// countSkipped counts expired and unreadable messages, and moves the job's position after all of
// them.
func (j *Job) countSkipped(all []FeedMessage) {
	for _, one := range all {
		j.FeedPosition = one.Next
		switch {
		case one.Reason != "":
			j.Counts.Seen++
			j.fail(Failure{Path: j.Plan.To, Line: one.Line, Reason: one.Reason})
		case one.Expired:
			j.Counts.Seen++
			j.Counts.Skipped++
		}
	}
}

// fail counts a refused message, and records it if it is among the first.
func (j *Job) fail(f Failure) {
	j.Counts.Failed++
	bytes := f.size()
	for _, f := range j.Failures {
		bytes += f.size()
	}
	if len(j.Failures) < MaxFailures && bytes <= maxFailureBytes {
		j.Failures = append(slices.Clip(j.Failures), f) // callers may hold the old slice
	}
}
