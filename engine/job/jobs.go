package job

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/search"
)

// ErrNoJob says that there is no job with a number, or none any more.
var ErrNoJob = fmt.Errorf("%w: there is no such job", engine.ErrNotFound)

// Jobs are those of a namespace, in memory as they are and in its settings as they
// were at their latest slice. Its methods are safe for concurrent use.
type Jobs struct {
	b    *broker.Broker
	log  *slog.Logger
	ctx  context.Context //nolint:containedctx // of all jobs: it ends with Close, not with the call that starts one
	stop context.CancelFunc
	wg   sync.WaitGroup

	starting sync.Mutex // one job gets its number at a time
	undoing  sync.Mutex // a job is taken back once

	mu      sync.Mutex
	all     map[ID]*live  // guarded by mu
	line    []ID          // those that wait, guarded by mu
	running int           // guarded by mu
	changed chan struct{} // closed at the next change of any job, guarded by mu
}

// live is a job that is in memory.
type live struct {
	job    Job // guarded by Jobs.mu; what it refers to is not changed
	query  *search.Query
	cancel context.CancelFunc // nil while it does not run
	asked  bool               // to be cancelled
}

// Open finds the jobs of b's namespace. Those that were running are interrupted.
// Close before b.
func Open(ctx context.Context, b *broker.Broker, log *slog.Logger) (*Jobs, error) {
	kept, err := b.Settings(ctx, recordPrefix)
	if err != nil {
		return nil, fmt.Errorf("read the jobs: %w", err)
	}
	j := &Jobs{b: b, log: log, all: map[ID]*live{}, changed: make(chan struct{})}
	for _, s := range kept {
		var is Job
		if err := json.Unmarshal([]byte(s.Value), &is); err != nil || recordKey(is.ID) != s.Key {
			log.WarnContext(ctx, "a job cannot be read", "key", s.Key, "err", err)
			continue
		}
		if !is.State.Over() {
			is.State, is.Ended = Interrupted, b.Clock()
			if err := j.keep(ctx, is); err != nil && !errors.Is(err, engine.ErrBusy) { // it is interrupted all the same
				return nil, err
			}
		}
		j.all[is.ID] = &live{job: is}
	}
	j.ctx, j.stop = context.WithCancel(context.WithoutCancel(ctx))
	return j, nil
}

// Close stops what runs, where it can be resumed, and waits for it.
func (j *Jobs) Close() {
	j.stop()
	j.wg.Wait()
}

// recordPrefix begins the keys of jobs' settings.
const recordPrefix = "job/"

func recordKey(id ID) string { return fmt.Sprintf("%s%012d", recordPrefix, id) }

func record(is Job) engine.Setting {
	raw, err := json.Marshal(is)
	if err != nil {
		panic(err) // texts and numbers
	}
	return engine.Setting{Key: recordKey(is.ID), Value: string(raw)}
}

func (j *Jobs) keep(ctx context.Context, is Job) error {
	s := record(is)
	if _, err := j.b.SetSetting(ctx, s.Key, s.Value, nil); err != nil {
		return fmt.Errorf("keep job %d: %w", is.ID, err)
	}
	return nil
}

// List are the jobs that are remembered, the latest first.
func (j *Jobs) List() []Job {
	j.mu.Lock()
	defer j.mu.Unlock()
	out := make([]Job, 0, len(j.all))
	for _, l := range j.all {
		out = append(out, l.job)
	}
	slices.SortFunc(out, func(a, b Job) int { return cmp.Compare(b.ID, a.ID) })
	return out
}

// Job is one of them. The error is ErrNoJob.
func (j *Jobs) Job(id ID) (Job, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	l := j.all[id]
	if l == nil {
		return Job{}, fmt.Errorf("job %d: %w", id, ErrNoJob)
	}
	return l.job, nil
}

// Wait is Job as soon as it is over, or when ctx ends: then as it is.
func (j *Jobs) Wait(ctx context.Context, id ID) (Job, error) {
	for {
		changed := j.Changed()
		is, err := j.Job(id)
		if err != nil || is.State.Over() {
			return is, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return is, nil
		case <-j.ctx.Done():
			return is, nil
		}
	}
}

// Changed is closed when any job is another than it is now.
func (j *Jobs) Changed() <-chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.changed
}

// set has everybody know a job as it is now. j.mu is held.
func (j *Jobs) set(l *live, is Job) {
	l.job = is
	close(j.changed)
	j.changed = make(chan struct{})
}

// Foresee is what a plan would do. It looks at not many more than most messages.
func (j *Jobs) Foresee(ctx context.Context, p Plan, most int64) (Forecast, error) {
	q, places, total, err := j.prepare(ctx, &p)
	if err != nil {
		return Forecast{}, err
	}
	return foresee(ctx, j.b, p, q, places, total, most)
}

// prepare checks a plan and finds out where it looks.
func (j *Jobs) prepare(ctx context.Context, p *Plan) (q *search.Query, places []Place, total int64, err error) {
	if q, err = p.check(j.b.Clock(), j.b.Limits()); err != nil {
		return nil, nil, 0, err
	}
	if p.To != "" {
		if err := j.b.Read(ctx, func(r broker.Reader) error { _, err := r.Sendable(p.To); return err }); err != nil { //nolint:wrapcheck // likewise
			return nil, nil, 0, err //nolint:wrapcheck // it says what it is about
		}
	}
	if len(p.Messages) > 0 {
		p.Messages = slices.Clone(p.Messages)
		err = j.b.Read(ctx, func(r broker.Reader) error {
			for i, t := range p.Messages {
				if row, err := r.Message(t.Key); err == nil && t.Path == "" {
					p.Messages[i] = target(row)
				}
			}
			return nil
		})
		return q, nil, int64(len(p.Messages)), err //nolint:wrapcheck // it says what it is about
	}
	places, total, err = p.places(ctx, j.b, q)
	return q, places, total, err
}

// Start begins a job, or has it wait for others. agreed is the number that somebody
// was shown as Forecast.AtMost: if there are more than a tenth more by now the error is
// engine.ErrChanged, and nothing has happened.
func (j *Jobs) Start(ctx context.Context, p Plan, agreed broker.Agreed, actor string) (Job, error) {
	q, places, total, err := j.prepare(ctx, &p)
	if err != nil {
		return Job{}, err
	}
	if agreed.Check(total) != nil { // there may be fewer that are meant
		f, err := foresee(ctx, j.b, p, q, places, total, math.MaxInt64)
		if err == nil {
			err = agreed.Check(f.AtMost())
		}
		if err != nil {
			return Job{}, err
		}
	}
	return j.begin(ctx, Job{Plan: p, Actor: actor, Places: places, Counts: Counts{Total: total}}, q)
}

// begin gives a job its number and puts it in line.
func (j *Jobs) begin(ctx context.Context, is Job, q *search.Query) (Job, error) {
	j.starting.Lock()
	defer j.starting.Unlock()
	is.ID, is.State, is.Started = j.next(), Waiting, j.b.Clock()
	if err := j.keep(ctx, is); err != nil {
		return Job{}, err
	}
	j.mu.Lock()
	l := &live{job: is, query: q}
	j.all[is.ID] = l
	j.set(l, is)
	j.line = append(j.line, is.ID)
	j.schedule() //nolint:contextcheck // jobs outlive who starts them: they end with Close
	is = l.job
	j.mu.Unlock()
	j.forget(ctx)
	return is, nil
}

func (j *Jobs) next() ID {
	j.mu.Lock()
	defer j.mu.Unlock()
	last := ID(0)
	for id := range j.all {
		last = max(last, id)
	}
	return last + 1
}

// schedule lets jobs run that wait, as long as not too many do. j.mu is held.
func (j *Jobs) schedule() {
	for j.running < jobsAtOnce && len(j.line) > 0 && j.ctx.Err() == nil {
		l := j.all[j.line[0]]
		j.line = j.line[1:]
		var ctx context.Context
		ctx, l.cancel = context.WithCancel(j.ctx)
		j.running++
		is := l.job
		is.State = Running
		j.set(l, is)
		j.wg.Go(func() { j.work(ctx, l, is) })
	}
}

// Cancel stops a job within a slice; one that is over stays as it is.
func (j *Jobs) Cancel(ctx context.Context, id ID) (Job, error) {
	j.mu.Lock()
	l := j.all[id]
	if l == nil {
		j.mu.Unlock()
		return Job{}, fmt.Errorf("job %d: %w", id, ErrNoJob)
	}
	if l.job.State == Waiting {
		j.line = slices.DeleteFunc(j.line, func(other ID) bool { return other == id })
		is := l.job
		is.State, is.Ended = Cancelled, j.b.Clock()
		j.set(l, is)
		j.mu.Unlock()
		return is, j.keep(ctx, is)
	}
	if l.cancel != nil {
		l.asked = true
		l.cancel()
	}
	j.mu.Unlock()
	return j.Wait(ctx, id)
}

// Resume has a job go on that was cancelled, interrupted or failed. What was not
// there when it began is still not touched.
func (j *Jobs) Resume(ctx context.Context, id ID) (Job, error) {
	j.starting.Lock()
	defer j.starting.Unlock()
	is, err := j.Job(id)
	if err != nil {
		return is, err
	}
	if !is.Resumable() {
		return is, refuse(engine.ErrNotAllowed, "Job %d is %s; only one that was cancelled, interrupted or failed can be resumed.", id, is.State)
	}
	q, err := search.Parse(is.Plan.Query)
	if err != nil {
		return is, err //nolint:wrapcheck // it says what it is about
	}
	is.State, is.Ended, is.Why = Waiting, 0, ""
	if err := j.keep(ctx, is); err != nil {
		return is, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	l := j.all[id]
	l.query, l.asked, l.cancel = q, false, nil
	j.set(l, is)
	j.line = append(j.line, id)
	j.schedule() //nolint:contextcheck // jobs outlive who starts them: they end with Close
	return l.job, nil
}

// forget lets go of the oldest jobs that are over, and of what is not to be taken back
// any more. j.starting is held.
func (j *Jobs) forget(ctx context.Context) {
	all := j.List()
	for i, is := range all {
		if !is.State.Over() || i < undoKept {
			continue
		}
		if is.Undoing > 0 {
			j.dropUndo(ctx, is)
			is.Undoing, is.Undoes = 0, 0
			if err := j.keep(ctx, is); err != nil {
				j.log.WarnContext(ctx, "a job is not kept", "job", is.ID, "err", err)
			}
		}
		j.mu.Lock()
		if l := j.all[is.ID]; i >= jobsKept {
			delete(j.all, is.ID)
		} else {
			l.job = is
		}
		j.mu.Unlock()
		if i >= jobsKept {
			if err := j.b.DropSetting(ctx, recordKey(is.ID)); err != nil && !errors.Is(err, engine.ErrNotFound) {
				j.log.WarnContext(ctx, "an old job stays", "job", is.ID, "err", err)
			}
		}
	}
}

func (j *Jobs) dropUndo(ctx context.Context, is Job) {
	for i := range is.Undoing {
		if err := j.b.DropSetting(ctx, undoKey(is.ID, i)); err != nil && !errors.Is(err, engine.ErrNotFound) {
			j.log.WarnContext(ctx, "what could be taken back stays", "job", is.ID, "err", err)
		}
	}
}
