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
	"mayfly/engine/shorten"
	"mayfly/web/auth"
)

// NewJob is the request of POST /jobs: the operation and its messages.
type NewJob struct {
	Kind         string   `json:"kind"`                   // resubmit, copy, move, delete, purge, dead-letter, extend, reschedule, send-now or return-to-active
	Messages     []string `json:"messages,omitempty"`     // keys of selected messages; otherwise the following members select them
	Paths        []string `json:"paths,omitempty"`        // where to look; missing means anywhere, if there is a query
	MessageState string   `json:"messageState,omitempty"` // active, deferred or scheduled; missing means any
	Query        string   `json:"query,omitempty"`        // the query to match: body:"order 17" prop.region:eu age:>5m

	To                   string     `json:"to,omitempty"`                   // for move and copy
	DropDuplicates       bool       `json:"dropDuplicates,omitempty"`       // for resubmit, move and copy; else duplicates are refused
	Reason               string     `json:"reason,omitempty"`               // for dead-letter
	Description          string     `json:"description,omitempty"`          // for dead-letter
	By                   string     `json:"by,omitempty"`                   // for extend: a duration; a negative one shortens the time
	ScheduledEnqueueTime *time.Time `json:"scheduledEnqueueTime,omitempty"` // for reschedule

	ExpectedCount *int64 `json:"expectedCount,omitempty"` // of the preview; the job is refused if more than 10 % more match by now
	DryRun        bool   `json:"dryRun,omitempty"`        // only count: the answer is a JobPreview
}

// JobPreview is the answer of POST /jobs that only counts.
type JobPreview struct {
	Total         int64     `json:"total"`                // messages that would be examined
	Matching      int64     `json:"matching"`             // messages that match, including locked ones
	Locked        int64     `json:"locked,omitempty"`     // how many of these are locked and would be skipped
	Unexamined    int64     `json:"unexamined,omitempty"` // messages that were not examined because there are too many; they may match too
	ExpectedCount int64     `json:"expectedCount"`        // what to give as expectedCount to the job itself
	States        JobStates `json:"states"`               // of the matching messages
	Sample        []Message `json:"sample,omitempty"`     // the first few, without their bodies
}

// JobStates are numbers of messages by state.
type JobStates struct {
	Active     int64 `json:"active,omitempty"`
	Locked     int64 `json:"locked,omitempty"`
	Deferred   int64 `json:"deferred,omitempty"`
	Scheduled  int64 `json:"scheduled,omitempty"`
	DeadLetter int64 `json:"deadLetter,omitempty"` // dead letters, including locked ones
}

// Jobs is the answer of GET /jobs.
type Jobs struct {
	Jobs []Job `json:"jobs"` // the latest first
}

// Job is an operation on many messages that runs in the background.
type Job struct {
	ID           int64        `json:"id"`                     // identifies it in requests
	Kind         string       `json:"kind"`                   // as in NewJob, or undo, send or import
	Undoes       int64        `json:"undoes,omitempty"`       // for undo: the job that it undoes
	Paths        []string     `json:"paths,omitempty"`        // where it looks
	MessageState string       `json:"messageState,omitempty"` // the state of the messages that it looks for
	Query        string       `json:"query,omitempty"`        // the query that its messages match
	To           string       `json:"to,omitempty"`           // the destination
	File         string       `json:"file,omitempty"`         // for import: the file's name, as the client sent it
	Actor        string       `json:"actor"`                  // the user or client that started it
	State        string       `json:"state"`                  // waiting, running, done, cancelled, failed or interrupted
	Reason       string       `json:"reason,omitempty"`       // why it does not continue
	StartedAt    time.Time    `json:"startedAt"`              // when it was requested
	EndedAt      *time.Time   `json:"endedAt,omitempty"`      // missing if it has not ended
	Counts       JobCounts    `json:"counts"`                 // its progress
	Failures     []JobFailure `json:"failures,omitempty"`     // the first hundred messages that were refused
	Resumable    bool         `json:"resumable"`              // it can be resumed
	Undoable     bool         `json:"undoable"`               // it can be undone
	UndoneBy     int64        `json:"undoneBy,omitempty"`     // the job that undid it
}

// JobCounts are the progress of a job in messages.
type JobCounts struct {
	Total    int64 `json:"total"`    // to examine
	Examined int64 `json:"examined"` // examined
	Done     int64 `json:"done"`     // changed
	Skipped  int64 `json:"skipped"`  // locked, gone or moved when the job reached them
	Failed   int64 `json:"failed"`   // refused
}

// JobFailure is a message that was refused.
type JobFailure struct {
	Key            string `json:"key"`            // of the message
	Path           string `json:"path"`           // where it is
	SequenceNumber int64  `json:"sequenceNumber"` // in that path
	Reason         string `json:"reason"`         // why it was refused
	Line           int64  `json:"line,omitempty"` // for import: the line in the file, from 1; the message has no key then
}

func presentStates(s job.States) JobStates {
	return JobStates{Active: s.Active, Locked: s.Locked, Deferred: s.Deferred, Scheduled: s.Scheduled, DeadLetter: s.Dead}
}

func presentJob(is job.Job) Job {
	out := Job{
		ID: int64(is.ID), Kind: string(is.Plan.Kind), Undoes: int64(is.Plan.UndoOf), MessageState: is.Plan.State, Query: is.Plan.Query, To: string(is.Plan.To),
		Actor: is.Actor, State: string(is.State), Reason: is.Reason, StartedAt: is.Started.Time(), EndedAt: timeOf(is.Ended), Counts: JobCounts{Total: is.Counts.Total, Examined: is.Counts.Seen, Done: is.Counts.Done, Skipped: is.Counts.Skipped, Failed: is.Counts.Failed},
		Resumable: is.Resumable(), Undoable: is.Undoable(), UndoneBy: int64(is.UndoneBy),
	}
	if is.Plan.ImportSpec != nil {
		out.File = is.Plan.ImportSpec.File
	}
	for _, p := range is.Plan.Paths {
		out.Paths = append(out.Paths, string(p))
	}
	for _, f := range is.Failures {
		out.Failures = append(out.Failures, JobFailure{strconv.FormatUint(uint64(f.Key), 10), string(f.Path), int64(f.Seq), f.Reason, f.Line})
	}
	return out
}

func jobRoutes() []route {
	gone := []string{"JobNotFound", "NotSupported"}
	return []route{
		{
			method: "POST", path: "/jobs", id: "startJob", role: auth.Operator, destruction: mayDestroy, group: groupJobs, summary: "Start a job for many messages, or count them",
			exampleBody: `{"kind":"resubmit","paths":["orders/$DeadLetterQueue"],"query":"age:<1d","dryRun":true}`,
			description: "A job leaves out messages that arrive later and skips locked ones. Two jobs run at once; others wait. Give the expectedCount of a dryRun to the job.",
			request:     NewJob{}, response: oneOf{Job{}, JobPreview{}},
			problems: []string{"MessagingEntityNotFound", "InvalidOperation", "Changed", "QuotaExceeded", "NotSupported", "MessagingEntityDisabled"}, handle: (*handler).startJob,
		},
		{method: "GET", path: "/jobs", id: "listJobs", group: groupJobs, summary: "List the latest hundred jobs", response: Jobs{}, problems: []string{"NotSupported"}, handle: (*handler).jobList},
		{
			method: "GET", path: "/jobs/{id}", id: "getJob", group: groupJobs, summary: "Get a job, or wait for its end",
			exampleParam: "7", nameMeaning: "The number of a job.", exampleQuery: "wait=5s",
			query:    []parameter{textParameter("wait", "How long to wait for the end of the job: a duration up to 5m. If absent, no wait.").withExample("30s")},
			response: Job{}, problems: gone, handle: (*handler).job,
		},
		{
			method: "DELETE", path: "/jobs/{id}", id: "cancelJob", role: auth.Operator, group: groupJobs, summary: "Cancel a job. The changes that it has made are kept",
			exampleParam: "7", nameMeaning: "The number of a job.",
			response: Job{}, problems: gone, handle: (*handler).cancelJob,
		},
		{
			method: "POST", path: "/jobs/{id}/resume", id: "resumeJob", role: auth.Operator, destruction: mayDestroy, group: groupJobs, summary: "Resume a job that was cancelled, interrupted or failed",
			exampleParam: "7", nameMeaning: "The number of a job.",
			response: Job{}, problems: append(gone, "InvalidOperation"), handle: (*handler).resumeJob,
		},
		{
			method: "POST", path: "/jobs/{id}/undo", id: "undoJob", role: auth.Operator, group: groupJobs, summary: "Undo a job, except for messages that have changed since",
			exampleParam: "7", nameMeaning: "The number of a job.",
			description: "The latest twenty jobs can be undone if they moved, copied, dead-lettered, extended or rescheduled up to 10,000 messages.",
			response:    Job{}, problems: append(gone, "InvalidOperation", "QuotaExceeded"), handle: (*handler).undoJob,
		},
	}
}

func errNoJobs() error {
	return engine.Refuse(engine.ErrNotImplemented, "This server has no jobs.")
}

func (d *handler) startJob(c echo.Context) error {
	if d.jobs == nil {
		return errNoJobs()
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
		f, err := d.jobs.Preview(ctx, plan, maxPurgePreview)
		if err != nil {
			return err
		}
		out := JobPreview{Total: f.Total, Matching: f.Matching, Locked: f.Locked, Unexamined: f.Unexamined, ExpectedCount: f.AtMost(), States: presentStates(f.States)}
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
	if plan.Destructive() {
		if err := d.refuseInSafeMode(); err != nil {
			return err
		}
	}
	agreed := broker.Unconfirmed
	if in.ExpectedCount != nil {
		agreed = broker.ConfirmedCount(*in.ExpectedCount)
	}
	is, err := d.jobs.Start(ctx, plan, agreed, client(c.Request()))
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, presentJob(is))
}

// plan converts the request to a job's plan. It does not check all of it.
func (in NewJob) plan(l engine.Limits) (p job.Plan, err error) {
	p = job.Plan{Kind: job.Kind(in.Kind), State: in.MessageState, Query: in.Query, DropDuplicates: in.DropDuplicates, Reason: in.Reason, Description: in.Description}
	if in.ExpectedCount != nil && *in.ExpectedCount < 0 {
		return p, engine.Refuse(engine.ErrOutOfRange, "The value for 'expectedCount' must not be negative.")
	}
	if len(in.Messages) > job.MaxMessages {
		return p, engine.Refuse(engine.ErrOutOfRange, "%d messages are selected; the maximum is %d. Select them by a query instead.", len(in.Messages), job.MaxMessages)
	}
	for _, text := range in.Messages {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil || n == 0 {
			return p, engine.Refuse(engine.ErrArgument, "'%s' is not the key of a message.", shorten.Quote(text))
		}
		p.Messages = append(p.Messages, engine.Target{Key: engine.Key(n)})
	}
	if len(in.Paths) > job.MaxSubqueues {
		return p, engine.Refuse(engine.ErrOutOfRange, "%d paths are given; the maximum is %d.", len(in.Paths), job.MaxSubqueues)
	}
	for _, text := range in.Paths {
		path, err := engine.ParsePath(text, l)
		if err != nil {
			return p, fmt.Errorf("'%s': %w", shorten.Quote(text), err)
		}
		p.Paths = append(p.Paths, path)
	}
	if in.To != "" {
		if p.To, err = engine.ParsePath(in.To, l); err != nil {
			return p, fmt.Errorf("'%s': %w", shorten.Quote(in.To), err)
		}
	}
	if in.By != "" {
		text, cuts := strings.CutPrefix(in.By, "-")
		by, never, err := engine.ParseDuration(text)
		if err != nil || never {
			return p, engine.Refuse(engine.ErrArgument, "%s", engine.DurationErrorText("by", in.By))
		}
		if p.ExtendBy = by; cuts {
			p.ExtendBy = -by
		}
	}
	if in.ScheduledEnqueueTime != nil {
		p.RescheduleTo = engine.At(*in.ScheduledEnqueueTime)
	}
	return p, nil
}

func (d *handler) jobList(c echo.Context) error {
	if d.jobs == nil {
		return errNoJobs()
	}
	out := Jobs{Jobs: []Job{}}
	for _, is := range d.jobs.List() {
		out.Jobs = append(out.Jobs, presentJob(is))
	}
	return reply(c, http.StatusOK, out)
}

// withJob runs an operation on the job in the address, and answers with the job.
func (d *handler) withJob(c echo.Context, do func(ctx context.Context, id job.ID) (job.Job, error)) error {
	if d.jobs == nil {
		return errNoJobs()
	}
	n, err := strconv.ParseInt(c.Param("id"), 10, 64)
	if err != nil {
		return engine.Refuse(job.ErrNoJob, "%s", "The job '"+shorten.Quote(c.Param("id"))+"' does not exist.")
	}
	is, err := do(c.Request().Context(), job.ID(n))
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, presentJob(is))
}

func (d *handler) job(c echo.Context) error {
	wait, err := parseWait(query(c).Get("wait"))
	if err != nil {
		return err
	}
	return d.withJob(c, func(ctx context.Context, id job.ID) (job.Job, error) {
		if wait == 0 {
			return d.jobs.Job(id)
		}
		ctx, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		return d.jobs.Wait(ctx, id)
	})
}

func (d *handler) cancelJob(c echo.Context) error {
	return d.withJob(c, func(ctx context.Context, id job.ID) (job.Job, error) {
		return d.jobs.Cancel(ctx, id, client(c.Request()))
	})
}

func (d *handler) resumeJob(c echo.Context) error {
	return d.withJob(c, func(ctx context.Context, id job.ID) (job.Job, error) {
		is, err := d.jobs.Job(id)
		if err == nil && is.Plan.Destructive() {
			err = d.refuseInSafeMode()
		}
		if err != nil {
			return is, err
		}
		return d.jobs.Resume(ctx, id, client(c.Request()))
	})
}

func (d *handler) undoJob(c echo.Context) error {
	actor := client(c.Request())
	return d.withJob(c, func(ctx context.Context, id job.ID) (job.Job, error) { return d.jobs.Undo(ctx, id, actor) })
}
