package page

import (
	"cmp"
	"context"
	"time"

	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/view"
)

// Jobs is the page of what is done to many messages in the background.
type Jobs struct {
	Shell layout.Shell
	New   string // address of the form for a new one
	Rows  []JobRow
}

// JobRow is one job.
type JobRow struct {
	Key     string
	Href    string
	Kind    string // resubmit, copy, …
	To      string // where messages go; empty: nowhere else
	At      string // where they are; empty: anywhere, or they were chosen
	Query   string // what they match; empty: whatever they are
	State   string // waiting, running, done, cancelled, failed or interrupted
	Total   int
	Seen    int
	Done    int
	Skipped int
	Failed  int
	Started time.Time
	Now     time.Time
}

// name is what the job is called.
func (r JobRow) name(ctx context.Context) string {
	to := locale.Args{"To": component.Visible(r.To)}
	switch {
	case r.Kind == "move" && r.To != "":
		return locale.T(ctx, "jobs.kind.move.to", to)
	case r.Kind == "import":
		return locale.T(ctx, "jobs.kind.import.to", to)
	case r.Kind == "send":
		return locale.T(ctx, "jobs.kind.send.to", to)
	case r.Kind == "copy" && r.To != "":
		return locale.T(ctx, "jobs.kind.copy.to", to)
	default:
		return locale.T(ctx, kindName(r.Kind))
	}
}

// words is the id of a text that is about what a job does: there are others where it
// does not look at messages, but sends them or takes back what was done.
func (r JobRow) words(id string) string {
	own := map[string]string{
		"send jobs.seen": "jobs.seen.send", "send jobs.done": "jobs.done.send", "send jobs.skipped": "jobs.skipped.send",
		"import jobs.seen": "jobs.seen.import", "import jobs.done": "jobs.done.send", "import jobs.skipped": "jobs.skipped.send",
		"undo jobs.seen": "jobs.seen.undo", "undo jobs.done": "jobs.done.undo", "undo jobs.skipped": "jobs.skipped.undo",
	}[r.Kind+" "+id]
	return cmp.Or(own, id)
}

// kindName is the id of what a kind of job is called.
func kindName(kind string) string {
	return map[string]string{
		"resubmit": "jobs.kind.resubmit", "copy": "jobs.kind.copy", "move": "jobs.kind.move", "delete": "jobs.kind.delete", "purge": "jobs.kind.purge",
		"dead-letter": "jobs.kind.dead-letter", "extend": "jobs.kind.extend", "reschedule": "jobs.kind.reschedule", "send-now": "jobs.kind.send-now",
		"return-to-active": "jobs.kind.return-to-active", "undo": "jobs.kind.undo",
	}[kind]
}

// look is how the state of a job is shown.
func (r JobRow) look() (tone component.Tone, icon, name string) {
	switch r.State {
	case "done":
		return component.Plenty, "check", "jobs.state.done"
	case "failed":
		return component.Critical, "warn", "jobs.state.failed"
	case "cancelled":
		return component.Low, "pause", "jobs.state.cancelled"
	case "interrupted":
		return component.Low, "pause", "jobs.state.interrupted"
	case "running":
		return component.Never, "play", "jobs.state.running"
	default:
		return component.Never, "clock", "jobs.state.waiting"
	}
}

// Full is the page.
func (m Jobs) Full() templ.Component { return jobs(m) }

// Watches is none: jobs go on without an event of their own.
func (m Jobs) Watches() []string { return []string{noEntity} }

// Parts is what is live in the page.
func (m Jobs) Parts() []view.Part {
	return append(m.Shell.Parts(),
		list("rows", m.Rows, func(r JobRow) view.Row { return view.Row{Key: r.Key, Content: jobRow(r)} }),
		slot("empty", jobsEmpty(m)),
	)
}

// Job is the page of one job.
type Job struct {
	Shell    layout.Shell
	All      string // address of all jobs
	Row      JobRow
	Actor    string
	Why      string    // of a failed one
	Ended    time.Time // zero: it has not
	Failures []JobFailure

	Cancel, Resume, Undo string // addresses; empty: it cannot be done
	UndoneBy             string // address of the job that took this one back; empty: none did
	Of                   string // address of the job that this one takes back; empty: it does not
}

// JobFailure is a message that was refused.
type JobFailure struct {
	Key  string
	Href string
	Seq  int64
	Line int // of a file; zero: it is a message that was there, and the others are its
	At   string
	Why  string
}

// Full is the page.
func (m Job) Full() templ.Component { return oneJob(m) }

// Watches is none: a job goes on without an event of its own.
func (m Job) Watches() []string { return []string{noEntity} }

// Parts is what is live in the page.
func (m Job) Parts() []view.Part {
	return append(m.Shell.Parts(),
		slot("deeds", jobDeeds(m)),
		slot("notices", jobNotices(m)),
		slot("progress", jobProgress(m.Row)),
		slot("facts", jobFacts(m)),
		slot("failures", jobFailures(m)),
	)
}

// The fields of the form for a new job.
const (
	Once     = "once" // of this form and of that for messages: a word that no other copy of it has
	AskKind  = "kind"
	AskAt    = "path"
	AskQuery = "q"
	AskUntil = "until" // of reschedule: an instant in UTC; of extend there is AskBy
)

// AskedOfJob are all of them, but for what is typed to confirm.
func AskedOfJob() []string { return []string{AskKind, AskAt, AskQuery, AskTo, AskBy, AskUntil} }

// NewJob asks what is to be done to which messages, and says how many these are
// before it is done.
type NewJob struct {
	Shell   layout.Shell
	To      string // the address it posts to, and asks again at
	Once    string // see the field of that name
	Cancel  string
	Kinds   []string
	Values  map[string]string
	Errors  map[string]component.Text
	Refused component.Notice
	Count   JobCount
}

// JobCount is how many messages a job would do something to.
type JobCount struct {
	Known   bool
	Meant   int
	Locked  int          // of these: they would be skipped
	Unseen  int          // too many to look at: up to so many more are meant
	First   []MessageRow // a few of them
	Now     time.Time
	States  []StateLine // of those that are meant, as far as they were looked at
	Export  string      // the address of a file with them; empty: none is offered
	Confirm string      // what is to be typed; empty: nothing
}

func (c JobCount) atMost() int { return c.Meant - c.Locked + c.Unseen }

// destructive tells whether messages would be gone.
func (m NewJob) destructive() bool {
	return m.Values[AskKind] == "delete" || m.Values[AskKind] == "purge"
}

func (m NewJob) field(ctx context.Context, name, label, tip string) component.Field {
	return component.Field{
		Name: name, Label: locale.T(ctx, label), Value: m.Values[name], Error: m.Errors[name], Tip: []component.Text{{S: locale.T(ctx, tip)}},
	}
}

// do is the button's words: the verb and the number.
func (m NewJob) do(ctx context.Context) string {
	id := map[string]string{
		"resubmit": "jobs.do.resubmit", "copy": "jobs.do.copy", "move": "jobs.do.move", "delete": "jobs.do.delete", "purge": "jobs.do.purge",
		"dead-letter": "jobs.do.dead-letter", "send-now": "jobs.do.send-now", "return-to-active": "jobs.do.return-to-active",
		"extend": "jobs.do.extend", "reschedule": "jobs.do.reschedule",
	}[m.Values[AskKind]]
	return locale.N(ctx, id, m.Count.atMost())
}

// Full is the page.
func (m NewJob) Full() templ.Component { return newJob(m) }

// Watches is none: a form stays as it is.
func (m NewJob) Watches() []string { return nil }

// Parts is what stands around the form.
func (m NewJob) Parts() []view.Part { return m.Shell.Parts() }

// short is a field for little, with an example of it.
func (NewJob) short(f component.Field, example string) component.Field {
	f.Short, f.Placeholder = len(example) < 8, example
	return f
}
