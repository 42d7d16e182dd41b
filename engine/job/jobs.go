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
	"strconv"
	"sync"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/search"
)

// ErrNoJob means that no job has the given ID.
var ErrNoJob error = engine.Refuse(engine.ErrNotFound, "The job does not exist.")

func noJob(id ID) error { return engine.Refuse(ErrNoJob, "The job %d does not exist.", id) }

// Jobs holds the jobs of a namespace: their present state in memory, and their state after the
// latest slice in its settings. Its methods are safe for concurrent use.
type Jobs struct {
	b    *broker.Broker
	log  *slog.Logger
	ctx  context.Context //nolint:containedctx // of all jobs; ends with Close, not with the call that starts one
	stop context.CancelFunc
	wg   sync.WaitGroup

	starting sync.Mutex // held while a job is added to the queue, removed from it or resumed

	mu      sync.Mutex
	all     map[ID]*liveJob // guarded by mu
	queue   []ID            // waiting jobs; guarded by mu
	running int             // guarded by mu
	changed chan struct{}   // closed at the next change of any job, guarded by mu
}

// liveJob is a job in memory.
type liveJob struct {
	job             Job // guarded by Jobs.mu; its slices and pointers are not modified
	query           *search.Query
	feed            Feed               // of an import that can be resumed; else nil
	cancel          context.CancelFunc // nil while it does not run
	cancelRequested bool               // a user asked to cancel it
}

// Open loads the jobs of b's namespace. Jobs that were running or waiting when the server ended
// become Interrupted. The caller closes the Jobs before b.
func Open(ctx context.Context, b *broker.Broker, log *slog.Logger) (*Jobs, error) {
	kept, err := b.Settings(ctx, recordPrefix)
	if err != nil {
		return nil, fmt.Errorf("read the jobs: %w", err)
	}
	j := &Jobs{b: b, log: log, all: map[ID]*liveJob{}, changed: make(chan struct{})}
	for _, s := range kept {
		var is Job
		if err := json.Unmarshal([]byte(s.Value), &is); err != nil || recordKey(is.ID) != s.Key {
			log.WarnContext(ctx, "a job cannot be read", "key", s.Key, "err", err)
			continue
		}
		if !is.State.Stopped() {
			is.State, is.Ended = Interrupted, b.ClockTime()
			if err := j.store(ctx, is); err != nil && !errors.Is(err, engine.ErrBusy) { // while the store is busy, it is interrupted in memory only
				return nil, err
			}
		}
		j.all[is.ID] = &liveJob{job: is}
	}
	if err := j.dropOrphans(ctx); err != nil {
		return nil, err
	}
	j.ctx, j.stop = context.WithCancel(context.WithoutCancel(ctx))
	return j, nil
}

// Close interrupts running jobs after their present slices and waits until they have stopped.
func (j *Jobs) Close() {
	j.mu.Lock()
	j.stop() // from here on schedule starts no job
	j.mu.Unlock()
	j.wg.Wait()
}

// recordPrefix begins the keys of jobs' settings.
const recordPrefix = "job/"

func recordKey(id ID) string { return fmt.Sprintf("%s%012d", recordPrefix, id) }

func jobSetting(is Job) engine.Setting {
	raw, err := json.Marshal(is)
	if err != nil {
		panic(err) // texts and numbers
	}
	return engine.Setting{Key: recordKey(is.ID), Value: string(raw)}
}

// store stores the records of jobs, all or none.
func (j *Jobs) store(ctx context.Context, all ...Job) error {
	var records []engine.Setting
	for _, is := range all {
		records = append(records, jobSetting(is))
	}
	_, err := j.b.ApplyOperations(ctx, nil, "", func([]engine.OperationResult) []engine.Setting { return records })
	if err != nil {
		return fmt.Errorf("store job %d: %w", all[0].ID, err)
	}
	return nil
}

// stored returns a job's stored record.
func (j *Jobs) stored(ctx context.Context, id ID) (is Job, err error) {
	err = j.b.Read(ctx, func(r broker.Reader) error {
		s, ok := r.Setting(recordKey(id))
		if !ok {
			return noJob(id)
		}
		is = Job{}
		return json.Unmarshal([]byte(s.Value), &is)
	})
	return is, err
}

// latest returns a job. If it has stopped, the progress is that of its stored record, since the last
// slice may have been stored although the store did not answer.
func (j *Jobs) latest(ctx context.Context, id ID) (Job, error) {
	is, err := j.Job(id)
	if err != nil || !is.State.Stopped() {
		return is, err
	}
	kept, err := j.stored(ctx, id)
	if err != nil {
		return is, err
	}
	kept.State, kept.Ended, kept.Reason = is.State, is.Ended, is.Reason
	return kept, nil
}

// List returns all jobs that are kept, newest first.
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

// Progress is the progress of all jobs that run or wait. Its zero value means that there are none,
// and that none has just ended.
type Progress struct {
	Jobs        int   // jobs that run or wait
	Seen, Total int64 // messages of these jobs
	LastEnded   Job   // the job that ended last, if it ended recently; its ID is zero if there is none
}

// Progress returns the progress of all jobs that run or wait, and the latest that ended at since or
// later.
func (j *Jobs) Progress(since engine.Instant) (g Progress) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, l := range j.all {
		switch {
		case !l.job.State.Stopped():
			g.Jobs, g.Seen, g.Total = g.Jobs+1, g.Seen+l.job.Counts.Seen, g.Total+l.job.Counts.Total
		case l.job.Ended >= since && (l.job.Ended > g.LastEnded.Ended || l.job.Ended == g.LastEnded.Ended && l.job.ID > g.LastEnded.ID):
			g.LastEnded = l.job
		}
	}
	return g
}

// Job returns the job with this ID. The error is ErrNoJob.
func (j *Jobs) Job(id ID) (Job, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	l := j.all[id]
	if l == nil {
		return Job{}, noJob(id)
	}
	return l.job, nil
}

// Wait waits until a job has stopped or ctx or j ends, and returns the job in its present state.
func (j *Jobs) Wait(ctx context.Context, id ID) (Job, error) {
	for {
		changed := j.Changed()
		is, err := j.Job(id)
		if err != nil || is.State.Stopped() {
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

// Changed returns a channel that is closed at the next change of any job.
func (j *Jobs) Changed() <-chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.changed
}

// publish publishes a job's new state. j.mu is held.
func (j *Jobs) publish(l *liveJob, is Job) {
	l.job = is
	close(j.changed)
	j.changed = make(chan struct{})
}

// Preview returns what a plan would do. It examines little more than `most` messages.
func (j *Jobs) Preview(ctx context.Context, p Plan, most int64) (Preview, error) {
	q, subqueues, total, err := j.prepare(ctx, &p)
	if err != nil {
		return Preview{}, err
	}
	return preview(ctx, j.b, p, q, subqueues, total, most)
}

// prepare checks a plan and determines its subqueues; total is the number of messages to examine.
// It removes repetitions from p.Messages, and adds the paths and sequence numbers of messages that
// have only a key.
func (j *Jobs) prepare(ctx context.Context, p *Plan) (q *search.Query, subqueues []Subqueue, total int64, err error) {
	if q, err = p.check(j.b.ClockTime(), j.b.Limits()); err != nil {
		return nil, nil, 0, err
	}
	if p.To != "" {
		if err := j.b.Read(ctx, func(r broker.Reader) error { _, err := r.MaxMessageSize(p.To); return err }); err != nil {
			return nil, nil, 0, err
		}
	}
	if len(p.Messages) > 0 {
		p.Messages = p.Messages.distinct()
		err = j.b.Read(ctx, func(r broker.Reader) error {
			for i, t := range p.Messages {
				if row, err := r.Message(t.Key); err == nil && t.Path == "" {
					p.Messages[i] = targetOf(row)
				}
			}
			return nil
		})
		return q, nil, int64(len(p.Messages)), err
	}
	subqueues, total, err = p.subqueues(ctx, j.b, q)
	return q, subqueues, total, err
}

// Start begins a job, or lets it wait for others. `agreed` is the value of Preview.AtMost that the
// user has confirmed: if that value is now more than a tenth higher, the error is engine.ErrChanged
// and no job is started. If a job with the plan's IdempotencyKey was started already, Start returns
// that job.
func (j *Jobs) Start(ctx context.Context, p Plan, agreed broker.ConfirmedCount, actor string) (Job, error) {
	p = p.identified()
	if is, ok := j.findStarted(p); ok {
		return is, nil
	}
	q, subqueues, total, err := j.prepare(ctx, &p)
	if err != nil {
		return Job{}, err
	}
	if agreed.Check(total) != nil { // fewer messages may match
		f, err := preview(ctx, j.b, p, q, subqueues, total, math.MaxInt64)
		if err == nil {
			err = agreed.Check(f.AtMost())
		}
		if err != nil {
			return Job{}, err
		}
	}
	j.starting.Lock()
	defer j.starting.Unlock()
	return j.enqueue(ctx, Job{Plan: p, Actor: actor, Subqueues: subqueues, Counts: Counts{Total: total}}, q, nil)
}

// findStarted returns the job that was started with a plan's IdempotencyKey.
func (j *Jobs) findStarted(p Plan) (Job, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, l := range j.all {
		if p.IdempotencyKey != "" && l.job.Plan.IdempotencyKey == p.IdempotencyKey {
			return l.job, true
		}
	}
	return Job{}, false
}

// enqueue assigns a job's ID and adds it to the queue, unless its plan was started in the meantime.
// The caller holds j.starting.
func (j *Jobs) enqueue(ctx context.Context, is Job, q *search.Query, feed Feed) (Job, error) {
	if is, ok := j.findStarted(is.Plan); ok {
		return is, nil
	}
	ctx = context.WithoutCancel(ctx) // a caller that goes away must not leave half a job
	is.ID, is.State, is.Started = j.nextID(), Waiting, j.b.ClockTime()
	if room := j.b.Limits().SettingSize - maxRecordGrowth; int64(len(jobSetting(is).Value)) > room {
		return Job{}, engine.Refuse(engine.ErrTooLarge, "The definition of a job must not be longer than %d bytes. Give fewer messages or paths, or a shorter query.", room)
	}
	all := []Job{is}
	if of := is.Plan.UndoOf; of != 0 {
		undone, err := j.latest(ctx, of)
		if err != nil {
			return Job{}, err
		}
		undone.UndoneBy = is.ID
		all = append(all, undone)
	}
	what := auditAction(engine.StartedJob, is.ID)
	if is.Plan.UndoOf != 0 {
		what.To = strconv.FormatInt(int64(is.Plan.UndoOf), 10)
	}
	if err := j.storeAudited(ctx, is.ID, what, is.Actor, all...); err != nil {
		return Job{}, err
	}
	j.mu.Lock()
	l := &liveJob{job: is, query: q, feed: feed}
	j.all[is.ID] = l
	for _, is := range all {
		j.publish(j.all[is.ID], is)
	}
	j.queue = append(j.queue, is.ID)
	j.schedule() //nolint:contextcheck // a job outlives its starter: it ends with Close
	is = l.job
	j.mu.Unlock()
	j.prune(ctx)
	return is, nil
}

func (j *Jobs) nextID() ID {
	j.mu.Lock()
	defer j.mu.Unlock()
	last := ID(0)
	for id := range j.all {
		last = max(last, id)
	}
	return last + 1
}

// schedule starts waiting jobs while fewer than maxRunning run. The caller holds j.mu.
func (j *Jobs) schedule() {
	for j.running < maxRunning && len(j.queue) > 0 && j.ctx.Err() == nil {
		l := j.all[j.queue[0]]
		j.queue = j.queue[1:]
		var ctx context.Context
		ctx, l.cancel = context.WithCancel(j.ctx)
		j.running++
		is := l.job
		is.State = Running
		j.publish(l, is)
		j.wg.Go(func() { j.runJob(ctx, l, is) })
	}
}

// auditAction returns the audit record of an action on a job.
func auditAction(did engine.SettingActionKind, id ID) engine.SettingAction {
	return engine.SettingAction{Kind: did, Name: strconv.FormatInt(int64(id), 10)}
}

// storeAudited is store, but also audits the action and its actor.
func (j *Jobs) storeAudited(ctx context.Context, id ID, what engine.SettingAction, actor string, all ...Job) error {
	_, err := j.b.UpdateSettings(ctx, recordKey(id), actor, func([]engine.Setting) (c broker.SettingsUpdate, _ error) {
		c.Action = what
		for _, is := range all {
			c.Set = append(c.Set, jobSetting(is))
		}
		return c, nil
	})
	if err != nil {
		return fmt.Errorf("store job %d: %w", id, err)
	}
	return nil
}

// Cancel stops a job after its present slice. It does not change a job that has stopped.
func (j *Jobs) Cancel(ctx context.Context, id ID, actor string) (Job, error) {
	is, over, err := j.cancel(ctx, id, actor)
	if err != nil || over {
		return is, err
	}
	return j.Wait(ctx, id)
}

// cancel is Cancel, but does not wait until a running job has stopped. If the job was waiting, over
// is true and `is` is the cancelled job.
func (j *Jobs) cancel(ctx context.Context, id ID, actor string) (is Job, over bool, err error) {
	j.starting.Lock()
	defer j.starting.Unlock()
	j.mu.Lock()
	l := j.all[id]
	if l == nil {
		j.mu.Unlock()
		return Job{}, false, noJob(id)
	}
	if l.job.State == Waiting {
		j.queue = slices.DeleteFunc(j.queue, func(other ID) bool { return other == id })
		is := l.job
		is.State, is.Ended = Cancelled, j.b.ClockTime()
		j.publish(l, is)
		j.mu.Unlock()
		return is, true, j.storeAudited(ctx, id, auditAction(engine.CancelledJob, id), actor, is)
	}
	running := l.cancel != nil
	if running {
		l.cancelRequested = true
		l.cancel()
	}
	j.mu.Unlock()
	if running {
		if err := j.storeAudited(ctx, id, auditAction(engine.CancelledJob, id), actor); err != nil { // the job stops nevertheless
			j.log.WarnContext(ctx, "the user who cancelled a job was not recorded", "job", id, "err", err)
		}
	}
	return Job{}, false, nil
}

// Resume continues a job that was cancelled, interrupted or failed. Messages that arrived
// after it began are still not touched. The user who resumed it is the actor from here on.
func (j *Jobs) Resume(ctx context.Context, id ID, actor string) (Job, error) {
	j.starting.Lock()
	defer j.starting.Unlock()
	is, err := j.latest(ctx, id)
	if err != nil {
		return is, err
	}
	if !is.Resumable() {
		return is, engine.Refuse(engine.ErrNotAllowed, "Job %d is %s. Only cancelled, interrupted and failed jobs can be resumed.", id, is.State)
	}
	if is.Plan.Kind == Import && !j.hasFeed(id) {
		return is, engine.Refuse(engine.ErrNotAllowed, "The file of job %d is no longer stored. Its first %d lines are imported. Import the rest as a new file.", id, is.FeedPosition.Line)
	}
	q, err := search.Parse(is.Plan.Query)
	if err != nil {
		return is, err
	}
	is.State, is.Ended, is.Reason, is.Resumer = Waiting, 0, "", actor
	if err := j.storeAudited(ctx, id, auditAction(engine.ResumedJob, id), actor, is); err != nil {
		return is, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	l := j.all[id]
	l.query, l.cancelRequested, l.cancel = q, false, nil
	j.publish(l, is)
	j.queue = append(j.queue, id)
	j.schedule() //nolint:contextcheck // a job outlives its starter: it ends with Close
	return l.job, nil
}

// hasFeed reports whether an import has its feed.
func (j *Jobs) hasFeed(id ID) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.all[id] != nil && j.all[id].feed != nil
}
