package job

import (
	"context"
	"errors"
	"slices"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// Imports is what a job imports, for people and so that it is known again: the
// messages themselves come from a Feed.
type Imports struct {
	File  string `json:"file"`  // what whoever sent it calls it; may be empty
	Word  string `json:"word"`  // by which the feed knows it
	Remap string `json:"remap"` // what becomes of times and ids, in the feed's words
}

// A Spot is a place in a feed, between two messages.
type Spot struct {
	Offset int64 `json:"offset,omitempty"` // bytes before it
	Line   int64 `json:"line,omitempty"`   // lines before it
}

// A Parcel is a message of a feed, or why there is none.
type Parcel struct {
	Line    int64 // where it begins, from 1
	Next    Spot  // behind it
	Message broker.Outgoing
	Over    bool   // nothing is left of its time: it is passed over
	Why     string // it cannot be read: a sentence
}

// A Feed has the messages that a job imports. Its methods are called by one job at a
// time, and may come again for a spot that was read.
type Feed interface {
	// Next are the first messages behind a spot, in order, as many as are sent
	// together; none at the end. They are good until done is called. A message whose
	// body is a reader comes alone.
	Next(ctx context.Context, from Spot) (all []Parcel, done func(), err error)
	// Close says that nothing will be read any more.
	Close()
}

// RefusedAlone tells whether an error is of one message: others may fare better.
func RefusedAlone(err error) bool {
	for _, kind := range []error{engine.ErrArgument, engine.ErrOutOfRange, engine.ErrNotAllowed, engine.ErrTooLarge, engine.ErrDuplicate} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// Import begins a job that sends the messages of a feed, total of them; of p, To and
// Imports are read, and Once. What it sent can be taken back from a queue, as far as
// nobody has touched it. The feed is the job's once that has begun: it is closed when all
// is done, and a job that was cancelled or has failed goes on with it, until the server
// ends. A plan that was begun already does not need another.
func (j *Jobs) Import(ctx context.Context, p Plan, total int64, feed Feed, actor string) (Job, error) {
	p = Plan{Kind: Import, To: p.To, Imports: p.Imports, Once: p.Once}.known()
	if is, ok := j.begun(p); ok {
		return is, nil
	}
	if err := j.b.Read(ctx, func(r broker.Reader) error { _, err := r.Sendable(p.To); return err }); err != nil { //nolint:wrapcheck // it says what it is about
		return Job{}, err //nolint:wrapcheck // likewise
	}
	j.starting.Lock()
	defer j.starting.Unlock()
	return j.begin(ctx, Job{Plan: p, Actor: actor, Counts: Counts{Total: total}}, nil, feed)
}

// Imported is the job that a plan of an import is by now; not ok if there is none.
func (j *Jobs) Imported(p Plan) (Job, bool) {
	return j.begun(Plan{Kind: Import, To: p.To, Imports: p.Imports, Once: p.Once}.known())
}

// importSlice sends the next messages of a feed.
func (j *Jobs) importSlice(ctx context.Context, l *live, is Job) (Job, error) {
	if l.feed == nil {
		return is, refuse(engine.ErrNotAllowed, "Job %d does not know any more what it imports.", is.ID)
	}
	all, done, err := l.feed.Next(ctx, is.Spot)
	if err != nil {
		return is, err //nolint:wrapcheck // a feed says what it is about
	}
	defer func() { done() }()
	if len(all) == 0 {
		is.State = Done
		return is, nil
	}
	next, err := j.importAll(ctx, is, all)
	quota := errors.Is(err, engine.ErrQuota)
	switch {
	case len(all) > 1 && (quota || err != nil && RefusedAlone(err)):
		return j.importEach(ctx, is, all)
	case quota && !is.TooMany: // perhaps there is no room for what could be taken back: what was asked for comes first
		done()
		again, free, failed := l.feed.Next(ctx, is.Spot)
		if failed != nil {
			done = func() {}
			return is, failed //nolint:wrapcheck // a feed says what it is about
		}
		done = free
		blind := is
		blind.TooMany = true
		if next, failed := j.importAll(ctx, blind, again); failed == nil {
			return next, nil
		}
	}
	return next, err
}

// importEach is importAll one by one: others fare better than the one that is refused.
// What was done is not told as an error: the next slice begins with what is wrong.
func (j *Jobs) importEach(ctx context.Context, is Job, all []Parcel) (Job, error) {
	for i, one := range all {
		next, err := j.importAll(ctx, is, []Parcel{one})
		if errors.Is(err, engine.ErrQuota) && !is.TooMany { // see importSlice
			blind := is
			blind.TooMany = true
			if blind, failed := j.importAll(ctx, blind, []Parcel{one}); failed == nil {
				next, err = blind, nil
			}
		}
		if err != nil && (i == 0 || errors.Is(err, engine.ErrBusy)) { // how far it came after that, the store knows
			return is, err
		}
		if is = next; err != nil || ctx.Err() != nil {
			return is, nil //nolint:nilerr // the next slice begins with it
		}
	}
	return is, nil
}

// importAll sends messages together, and counts those that are none. A message that is
// refused alone is counted.
func (j *Jobs) importAll(ctx context.Context, is Job, all []Parcel) (Job, error) {
	ctx = context.WithoutCancel(ctx)
	var out []broker.Outgoing
	for _, one := range all {
		if !one.Over && one.Why == "" {
			out = append(out, one.Message)
		}
	}
	next := is
	next.passOver(all)
	if len(out) == 0 {
		return next, j.keep(ctx, next)
	}
	base := next
	err := j.b.SendKeeping(ctx, is.Plan.To, out, is.hand(), func(seqs []engine.Seq, rows []engine.Row) []engine.Setting {
		next = base
		undo := next.tallySent(seqs, rows, int(j.b.Limits().SettingSize))
		settings := []engine.Setting{record(next)}
		for i, value := range undo {
			settings = append(settings, engine.Setting{Key: undoKey(is.ID, is.Undoing+i), Value: value})
		}
		return settings
	})
	if err != nil && len(all) == 1 && RefusedAlone(err) {
		next = base
		next.Counts.Seen++
		next.fail(Failure{Path: is.Plan.To, Line: all[0].Line, Why: err.Error()})
		return next, j.keep(ctx, next)
	}
	if err != nil {
		return is, err //nolint:wrapcheck // it says what it is about
	}
	return next, nil
}

// passOver counts what is no message, and goes behind all of it.
func (j *Job) passOver(all []Parcel) {
	for _, one := range all {
		j.Spot = one.Next
		switch {
		case one.Why != "":
			j.Counts.Seen++
			j.fail(Failure{Path: j.Plan.To, Line: one.Line, Why: one.Why})
		case one.Over:
			j.Counts.Seen++
			j.Counts.Skipped++
		}
	}
}

// fail counts a message that was refused, and remembers it among the first.
func (j *Job) fail(f Failure) {
	j.Counts.Failed++
	bytes := f.size()
	for _, f := range j.Failures {
		bytes += f.size()
	}
	if len(j.Failures) < MostFailures && bytes <= mostFailureBytes {
		j.Failures = append(slices.Clip(j.Failures), f) // what others have seen stays
	}
}
