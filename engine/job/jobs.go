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

// ErrNoJob says that there is no job with a number, or none any more.
var ErrNoJob error = &engine.Refusal{Kind: engine.ErrNotFound, Text: "There is no such job."}

func noJob(id ID) error { return refuse(ErrNoJob, "There is no job %d.", id) }

// Jobs are those of a namespace, in memory as they are and in its settings as they
// were at their latest slice. Its methods are safe for concurrent use.
type Jobs struct {
	b    *broker.Broker
	log  *slog.Logger
	ctx  context.Context //nolint:containedctx // of all jobs: it ends with Close, not with the call that starts one
	stop context.CancelFunc
	wg   sync.WaitGroup

	starting sync.Mutex // one job at a time is put in line, or taken out of it

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
	feed   Feed               // of an import that may go on; nil otherwise
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
	if err := j.tidy(ctx); err != nil {
		return nil, err
	}
	j.ctx, j.stop = context.WithCancel(context.WithoutCancel(ctx))
	return j, nil
}

// Close stops what runs, where it can be resumed, and waits for it.
func (j *Jobs) Close() {
	j.mu.Lock()
	j.stop() // from here on schedule starts nothing
	j.mu.Unlock()
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

// keep has jobs remembered as they are, all or none.
func (j *Jobs) keep(ctx context.Context, all ...Job) error {
	var records []engine.Setting
	for _, is := range all {
		records = append(records, record(is))
	}
	_, err := j.b.DoEach(ctx, nil, "", func([]engine.Deeded) []engine.Setting { return records })
	if err != nil {
		return fmt.Errorf("keep job %d: %w", all[0].ID, err)
	}
	return nil
}

// kept is a job as the store has it.
func (j *Jobs) kept(ctx context.Context, id ID) (is Job, err error) {
	err = j.b.Read(ctx, func(r broker.Reader) error {
		s, ok := r.Setting(recordKey(id))
		if !ok {
			return noJob(id)
		}
		is = Job{}
		return json.Unmarshal([]byte(s.Value), &is)
	})
	return is, err //nolint:wrapcheck // it says what it is about
}

// latest is a job as it is, and if it is over as far as the store knows it to have
// come: its last slice may be known to nobody else.
func (j *Jobs) latest(ctx context.Context, id ID) (Job, error) {
	is, err := j.Job(id)
	if err != nil || !is.State.Over() {
		return is, err
	}
	kept, err := j.kept(ctx, id)
	if err != nil {
		return is, err
	}
	kept.State, kept.Ended, kept.Why = is.State, is.Ended, is.Why
	return kept, nil
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

// Going is how far all jobs have come that are not over. Its zero value says that there
// are none, and that none has just ended.
type Going struct {
	Jobs        int   // that run or wait
	Seen, Total int64 // of their messages
	Ended       Job   // the latest that ended not long ago; its ID is zero if none did
}

// Going looks at what is not over, and at what ended at since or later.
func (j *Jobs) Going(since engine.Instant) (g Going) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, l := range j.all {
		switch {
		case !l.job.State.Over():
			g.Jobs, g.Seen, g.Total = g.Jobs+1, g.Seen+l.job.Counts.Seen, g.Total+l.job.Counts.Total
		case l.job.Ended >= since && (l.job.Ended > g.Ended.Ended || l.job.Ended == g.Ended.Ended && l.job.ID > g.Ended.ID):
			g.Ended = l.job
		}
	}
	return g
}

// Job is one of them. The error is ErrNoJob.
func (j *Jobs) Job(id ID) (Job, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	l := j.all[id]
	if l == nil {
		return Job{}, noJob(id)
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
		p.Messages = p.Messages.distinct()
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
// engine.ErrChanged, and nothing has happened. A plan that was begun already, by its
// word, is the job that it is.
func (j *Jobs) Start(ctx context.Context, p Plan, agreed broker.Agreed, actor string) (Job, error) {
	p = p.known()
	if is, ok := j.begun(p); ok {
		return is, nil
	}
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
	j.starting.Lock()
	defer j.starting.Unlock()
	return j.begin(ctx, Job{Plan: p, Actor: actor, Places: places, Counts: Counts{Total: total}}, q, nil)
}

// begun is the job that a plan is by now.
func (j *Jobs) begun(p Plan) (Job, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, l := range j.all {
		if p.Once != "" && l.job.Plan.Once == p.Once {
			return l.job, true
		}
	}
	return Job{}, false
}

// begin gives a job its number and puts it in line, unless it was begun meanwhile.
// j.starting is held.
func (j *Jobs) begin(ctx context.Context, is Job, q *search.Query, feed Feed) (Job, error) {
	if is, ok := j.begun(is.Plan); ok {
		return is, nil
	}
	ctx = context.WithoutCancel(ctx) // who leaves now does not leave half a job
	is.ID, is.State, is.Started = j.next(), Waiting, j.b.Clock()
	if room := j.b.Limits().SettingSize - mostGrowth; int64(len(record(is).Value)) > room {
		return Job{}, refuse(engine.ErrTooLarge, "What a job is to do has at most %d bytes; give it fewer messages or paths, or a shorter query.", room)
	}
	all := []Job{is}
	if of := is.Plan.Of; of != 0 {
		undone, err := j.latest(ctx, of)
		if err != nil {
			return Job{}, err
		}
		undone.UndoneBy = is.ID
		all = append(all, undone)
	}
	what := told(engine.StartedJob, is.ID)
	if is.Plan.Of != 0 {
		what.To = strconv.FormatInt(int64(is.Plan.Of), 10)
	}
	if err := j.tell(ctx, is.ID, what, is.Actor, all...); err != nil {
		return Job{}, err
	}
	j.mu.Lock()
	l := &live{job: is, query: q, feed: feed}
	j.all[is.ID] = l
	for _, is := range all {
		j.set(j.all[is.ID], is)
	}
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

// told is what was done to a job, as its event says it.
func told(did engine.SettingDid, id ID) engine.SettingDeed {
	return engine.SettingDeed{Did: did, Name: strconv.FormatInt(int64(id), 10)}
}

// tell is keep that remembers what was done to a job, and by whom.
func (j *Jobs) tell(ctx context.Context, id ID, what engine.SettingDeed, actor string, all ...Job) error {
	_, err := j.b.ChangeSettings(ctx, recordKey(id), actor, func([]engine.Setting) (c broker.SettingsChange, _ error) {
		c.What = what
		for _, is := range all {
			c.Set = append(c.Set, record(is))
		}
		return c, nil
	})
	if err != nil {
		return fmt.Errorf("keep job %d: %w", id, err)
	}
	return nil
}

// Cancel stops a job within a slice; one that is over stays as it is.
func (j *Jobs) Cancel(ctx context.Context, id ID, actor string) (Job, error) {
	is, over, err := j.cancel(ctx, id, actor)
	if err != nil || over {
		return is, err
	}
	return j.Wait(ctx, id)
}

// cancel is Cancel, but for the wait for a job that is to end with its slice.
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
		j.line = slices.DeleteFunc(j.line, func(other ID) bool { return other == id })
		is := l.job
		is.State, is.Ended = Cancelled, j.b.Clock()
		j.set(l, is)
		j.mu.Unlock()
		return is, true, j.tell(ctx, id, told(engine.CancelledJob, id), actor, is)
	}
	running := l.cancel != nil
	if running {
		l.asked = true
		l.cancel()
	}
	j.mu.Unlock()
	if running {
		if err := j.tell(ctx, id, told(engine.CancelledJob, id), actor); err != nil { // it stops all the same
			j.log.WarnContext(ctx, "who cancelled a job is not remembered", "job", id, "err", err)
		}
	}
	return Job{}, false, nil
}

// Resume has a job go on that was cancelled, interrupted or failed. What was not
// there when it began is still not touched. What it does from here on is done in the
// name of who resumed it.
func (j *Jobs) Resume(ctx context.Context, id ID, actor string) (Job, error) {
	j.starting.Lock()
	defer j.starting.Unlock()
	is, err := j.latest(ctx, id)
	if err != nil {
		return is, err
	}
	if !is.Resumable() {
		return is, refuse(engine.ErrNotAllowed, "Job %d is %s; only one that was cancelled, interrupted or failed can be resumed.", id, is.State)
	}
	if is.Plan.Kind == Import && !j.fed(id) {
		return is, refuse(engine.ErrNotAllowed, "The file that job %d imports is not kept any more. The first %d lines of it are done.", id, is.Spot.Line)
	}
	q, err := search.Parse(is.Plan.Query)
	if err != nil {
		return is, err //nolint:wrapcheck // it says what it is about
	}
	is.State, is.Ended, is.Why, is.Resumer = Waiting, 0, "", actor
	if err := j.tell(ctx, id, told(engine.ResumedJob, id), actor, is); err != nil {
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

// fed tells whether an import has what it reads.
func (j *Jobs) fed(id ID) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.all[id] != nil && j.all[id].feed != nil
}
