package api

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/job"
	"mayfly/web/identity"
)

// NewJob is what POST /jobs takes: what is to be done, and to which messages.
type NewJob struct {
	Kind     string   `json:"kind"`               // resubmit, copy, move, delete, purge, dead-letter, extend, reschedule, send-now or return-to-active
	Messages []string `json:"messages,omitempty"` // keys of messages that were chosen; else those that are meant by the following
	Paths    []string `json:"paths,omitempty"`    // where they are; missing: anywhere, if there is a query
	State    string   `json:"state,omitempty"`    // active, deferred or scheduled; missing: any
	Query    string   `json:"query,omitempty"`    // what they match: body:"order 17" prop.region:eu age:>5m

	To             string     `json:"to,omitempty"`             // of move and copy
	DropDuplicates bool       `json:"dropDuplicates,omitempty"` // of resubmit, move and copy; else duplicates are refused
	Reason         string     `json:"reason,omitempty"`         // of dead-letter
	Description    string     `json:"description,omitempty"`    // of dead-letter
	By             string     `json:"by,omitempty"`             // of extend: a duration; with a minus before it the time is cut
	Until          *time.Time `json:"until,omitempty"`          // of reschedule

	Count  *int64 `json:"count,omitempty"`  // how many the caller has seen as atMost
	DryRun bool   `json:"dryRun,omitempty"` // only count: the answer is a JobForecast
}

// JobForecast is the answer of POST /jobs that only counts.
type JobForecast struct {
	Total    int64     `json:"total"`            // messages that would be looked at
	Matching int64     `json:"matching"`         // that are meant, locked ones among them
	Locked   int64     `json:"locked,omitempty"` // of these: they would be skipped
	Unseen   int64     `json:"unseen,omitempty"` // were too many to look at: up to so many more are meant
	AtMost   int64     `json:"atMost"`           // what is given as count for the job itself
	States   JobStates `json:"states"`           // of those that are meant
	Sample   []Message `json:"sample,omitempty"` // the first few, without their bodies
}

// JobStates are messages by where they stand.
type JobStates struct {
	Active    int64 `json:"active,omitempty"`
	Locked    int64 `json:"locked,omitempty"`
	Deferred  int64 `json:"deferred,omitempty"`
	Scheduled int64 `json:"scheduled,omitempty"`
	Dead      int64 `json:"dead,omitempty"` // dead letters, locked ones among them
}

// Jobs is the answer of GET /jobs.
type Jobs struct {
	Jobs []Job `json:"jobs"` // the latest first
}

// Job is one thing that is done to many messages, in the background.
type Job struct {
	ID        int64        `json:"id"`                 // by which it is asked for
	Kind      string       `json:"kind"`               // as in NewJob, or undo, send or import
	Of        int64        `json:"of,omitempty"`       // of undo: which job it takes back
	Paths     []string     `json:"paths,omitempty"`    // where it looks
	InState   string       `json:"inState,omitempty"`  // in which state it looks
	Query     string       `json:"query,omitempty"`    // what its messages match
	To        string       `json:"to,omitempty"`       // where they go
	File      string       `json:"file,omitempty"`     // of import: what whoever sent it calls it
	Actor     string       `json:"actor"`              // who started it
	State     string       `json:"state"`              // waiting, running, done, cancelled, failed or interrupted
	Why       string       `json:"why,omitempty"`      // what keeps it from going on
	Started   time.Time    `json:"started"`            // when it was asked for
	Ended     *time.Time   `json:"ended,omitempty"`    // missing: it is not over
	Counts    JobCounts    `json:"counts"`             // how far it has come
	Failures  []JobFailure `json:"failures,omitempty"` // the first hundred messages that were refused
	Resumable bool         `json:"resumable"`          // it can go on
	Undoable  bool         `json:"undoable"`           // it can be taken back
	UndoneBy  int64        `json:"undoneBy,omitempty"` // the job that took it back
}

// JobCounts are messages of a job.
type JobCounts struct {
	Total   int64 `json:"total"`   // to look at
	Seen    int64 `json:"seen"`    // looked at
	Done    int64 `json:"done"`    // done to
	Skipped int64 `json:"skipped"` // were locked, gone or elsewhere when their turn came
	Failed  int64 `json:"failed"`  // refused
}

// JobFailure is a message that was refused.
type JobFailure struct {
	Key            string `json:"key"`            // of the message
	Path           string `json:"path"`           // where it is
	SequenceNumber int64  `json:"sequenceNumber"` // there
	Reason         string `json:"reason"`         // why it was refused
	Line           int64  `json:"line,omitempty"` // of an import: where it stands in the file, from 1; it has no key then
}

func presentJob(is job.Job) Job {
	out := Job{
		ID: int64(is.ID), Kind: string(is.Plan.Kind), Of: int64(is.Plan.Of), InState: is.Plan.State, Query: is.Plan.Query, To: string(is.Plan.To),
		Actor: is.Actor, State: string(is.State), Why: is.Why, Started: is.Started.Time(), Ended: moment(is.Ended), Counts: JobCounts(is.Counts),
		Resumable: is.Resumable(), Undoable: is.Undoable(), UndoneBy: int64(is.UndoneBy),
	}
	if is.Plan.Imports != nil {
		out.File = is.Plan.Imports.File
	}
	for _, p := range is.Plan.Paths {
		out.Paths = append(out.Paths, string(p))
	}
	for _, f := range is.Failures {
		out.Failures = append(out.Failures, JobFailure{strconv.FormatUint(uint64(f.Key), 10), string(f.Path), int64(f.Seq), f.Why, f.Line})
	}
	return out
}

func jobRoutes() []route {
	gone := []string{"JobNotFound", "NotSupported"}
	return []route{
		{
			method: "POST", path: "/jobs", id: "startJob", needs: identity.Operator, ruin: mayRuin, group: groupJobs, summary: "Do one thing to many messages, in the background, or count them",
			sends: `{"kind":"resubmit","paths":["orders/$DeadLetterQueue"],"query":"age:<1d","dryRun":true}`,
			about: "Messages that come later are not touched, locked ones are skipped. Two jobs run at once, others wait. The job itself takes as count what dryRun answered as atMost.",
			takes: NewJob{}, gives: either{Job{}, JobForecast{}},
			fails: []string{"MessagingEntityNotFound", "InvalidOperation", "Changed", "QuotaExceeded", "NotSupported", "MessagingEntityDisabled"}, serve: (*door).startJob,
		},
		{method: "GET", path: "/jobs", id: "listJobs", group: groupJobs, summary: "The latest hundred jobs", gives: Jobs{}, fails: []string{"NotSupported"}, serve: (*door).jobList},
		{
			method: "GET", path: "/jobs/{id}", id: "getJob", group: groupJobs, summary: "One job, as far as it has come, or when it is over",
			at: "7", part: "The number of a job.", ask: "wait=5s",
			query: []parameter{word("wait", "How long to wait for its end: a duration of at most 5m; no time if absent.").like("30s")},
			gives: Job{}, fails: gone, serve: (*door).job,
		},
		{
			method: "DELETE", path: "/jobs/{id}", id: "cancelJob", needs: identity.Operator, group: groupJobs, summary: "Stop a job: what it has done stays done",
			at: "7", part: "The number of a job.",
			gives: Job{}, fails: gone, serve: (*door).cancelJob,
		},
		{
			method: "POST", path: "/jobs/{id}/resume", id: "resumeJob", needs: identity.Operator, ruin: mayRuin, group: groupJobs, summary: "Have a job go on that was cancelled, interrupted or failed",
			at: "7", part: "The number of a job.",
			gives: Job{}, fails: append(gone, "InvalidOperation"), serve: (*door).resumeJob,
		},
		{
			method: "POST", path: "/jobs/{id}/undo", id: "undoJob", needs: identity.Operator, group: groupJobs, summary: "Start a job that takes back what another did, where nobody has touched it since",
			at: "7", part: "The number of a job.",
			about: "Moves, copies, dead letters, extensions and reschedulings of up to 10,000 messages can be taken back, of the latest twenty jobs.",
			gives: Job{}, fails: append(gone, "InvalidOperation", "QuotaExceeded"), serve: (*door).undoJob,
		},
	}
}

func noJobs() error {
	return &engine.Refusal{Kind: engine.ErrNotImplemented, Text: "This server has no jobs."}
}

func (d *door) startJob(c echo.Context) error {
	if d.jobs == nil {
		return noJobs()
	}
	var in NewJob
	if err := d.read(c, &in); err != nil {
		return err
	}
	plan, err := in.plan(d.broker.Limits())
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	if in.DryRun {
		f, err := d.jobs.Foresee(ctx, plan, foreseenMost)
		if err != nil {
			return err
		}
		out := JobForecast{Total: f.Total, Matching: f.Matching, Locked: f.Locked, Unseen: f.Unseen, AtMost: f.AtMost(), States: JobStates(f.States)}
		for _, row := range f.Sample {
			m, err := presentRow(row)
			if err != nil {
				return err
			}
			m.BodyOmitted = true
			out.Sample = append(out.Sample, m)
		}
		return reply(c, http.StatusOK, out)
	}
	if plan.Ruins() {
		if err := d.spare(); err != nil {
			return err
		}
	}
	agreed := broker.Unasked
	if in.Count != nil {
		agreed = broker.Agreed(*in.Count)
	}
	is, err := d.jobs.Start(ctx, plan, agreed, client(c.Request()))
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, presentJob(is))
}

// plan is what was asked for, as far as it can be read.
func (in NewJob) plan(l engine.Limits) (p job.Plan, err error) {
	p = job.Plan{Kind: job.Kind(in.Kind), State: in.State, Query: in.Query, DropDuplicates: in.DropDuplicates, Reason: in.Reason, Description: in.Description}
	if in.Count != nil && *in.Count < 0 {
		return p, outOfRange("The value for 'count' must not be negative.")
	}
	if len(in.Messages) > job.MostMessages {
		return p, outOfRange("There are %d messages; at most %d are chosen one by one.", len(in.Messages), job.MostMessages)
	}
	for _, text := range in.Messages {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil || n == 0 {
			return p, argument("'%s' is not the key of a message.", cut(text))
		}
		p.Messages = append(p.Messages, engine.Target{Key: engine.Key(n)})
	}
	if len(in.Paths) > job.MostPlaces {
		return p, outOfRange("There are %d paths; at most %d can be given.", len(in.Paths), job.MostPlaces)
	}
	for _, text := range in.Paths {
		path, err := engine.ParsePath(text, l)
		if err != nil {
			return p, fmt.Errorf("'%s': %w", cut(text), err)
		}
		p.Paths = append(p.Paths, path)
	}
	if in.To != "" {
		if p.To, err = engine.ParsePath(in.To, l); err != nil {
			return p, fmt.Errorf("'%s': %w", cut(in.To), err)
		}
	}
	if in.By != "" {
		text, cuts := strings.CutPrefix(in.By, "-")
		by, never, err := engine.ParseDuration(text)
		if err != nil || never {
			return p, argument("%s", engine.WrongDuration("by", in.By))
		}
		if p.By = by; cuts {
			p.By = -by
		}
	}
	if in.Until != nil {
		p.Until = engine.At(*in.Until)
	}
	return p, nil
}

func (d *door) jobList(c echo.Context) error {
	if d.jobs == nil {
		return noJobs()
	}
	out := Jobs{Jobs: []Job{}}
	for _, is := range d.jobs.List() {
		out.Jobs = append(out.Jobs, presentJob(is))
	}
	return reply(c, http.StatusOK, out)
}

// onJob does something to the job that the address names, and answers with the job.
func (d *door) onJob(c echo.Context, do func(ctx context.Context, id job.ID) (job.Job, error)) error {
	if d.jobs == nil {
		return noJobs()
	}
	n, err := strconv.ParseInt(c.Param("id"), 10, 64)
	if err != nil {
		return &engine.Refusal{Kind: job.ErrNoJob, Text: "There is no job '" + cut(c.Param("id")) + "'."}
	}
	is, err := do(c.Request().Context(), job.ID(n))
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, presentJob(is))
}

func (d *door) job(c echo.Context) error {
	wait, err := parseWait(query(c).Get("wait"))
	if err != nil {
		return err
	}
	return d.onJob(c, func(ctx context.Context, id job.ID) (job.Job, error) {
		if wait == 0 {
			return d.jobs.Job(id)
		}
		ctx, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		return d.jobs.Wait(ctx, id)
	})
}

func (d *door) cancelJob(c echo.Context) error {
	return d.onJob(c, func(ctx context.Context, id job.ID) (job.Job, error) {
		return d.jobs.Cancel(ctx, id, client(c.Request()))
	})
}

func (d *door) resumeJob(c echo.Context) error {
	return d.onJob(c, func(ctx context.Context, id job.ID) (job.Job, error) {
		is, err := d.jobs.Job(id)
		if err == nil && is.Plan.Ruins() {
			err = d.spare()
		}
		if err != nil {
			return is, err
		}
		return d.jobs.Resume(ctx, id, client(c.Request()))
	})
}

func (d *door) undoJob(c echo.Context) error {
	actor := client(c.Request())
	return d.onJob(c, func(ctx context.Context, id job.ID) (job.Job, error) { return d.jobs.Undo(ctx, id, actor) })
}
