package operate

import (
	"cmp"
	"context"
	"time"

	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/page/list"
	"mayfly/views/view"
)

// Jobs is the page of background jobs on many messages.
type Jobs struct {
	Shell layout.Shell
	New   string // address of the form for a new job
	Rows  []JobRow
}

// JobRow is a job in the list.
type JobRow struct {
	Key     string
	Href    string
	Kind    string // resubmit, copy, …
	To      string // target of the messages; empty means none
	At      string // entities with the messages; empty means anywhere, or selected messages
	Query   string // their filter; empty means none
	State   string // waiting, running, done, cancelled, failed or interrupted
	Total   int
	Seen    int
	Done    int
	Skipped int
	Failed  int
	Started time.Time
	Now     time.Time
}

// name returns the name of the job.
func (r JobRow) name(ctx context.Context) string {
	to := locale.Args{"To": component.ShowInvisible(r.To)}
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

// words returns the text id that replaces `id` for the job's kind, or `id` if none does. Only jobs
// that send messages or undo others have such texts.
func (r JobRow) words(id string) string {
	return cmp.Or(jobWords[r.Kind+" "+id], id)
}

// jobWords are the texts of certain kinds of jobs, by kind and general text id.
var jobWords = map[string]string{
	"send jobs.seen": "jobs.seen.send", "send jobs.done": "jobs.done.send", "send jobs.skipped": "jobs.skipped.send",
	"import jobs.seen": "jobs.seen.import", "import jobs.done": "jobs.done.send", "import jobs.skipped": "jobs.skipped.send",
	"undo jobs.seen": "jobs.seen.undo", "undo jobs.done": "jobs.done.undo", "undo jobs.skipped": "jobs.skipped.undo",
}

// kindName returns the text id of a kind of job.
func kindName(kind string) string {
	return kindNames[kind]
}

// kindNames are the text ids of the kinds of jobs.
var kindNames = map[string]string{
	"resubmit": "jobs.kind.resubmit", "copy": "jobs.kind.copy", "move": "jobs.kind.move", "delete": "jobs.kind.delete", "purge": "jobs.kind.purge",
	"dead-letter": "jobs.kind.dead-letter", "extend": "jobs.kind.extend", "reschedule": "jobs.kind.reschedule", "send-now": "jobs.kind.send-now",
	"return-to-active": "jobs.kind.return-to-active", "undo": "jobs.kind.undo",
}

// look returns the tone, the icon and the text id of the job's state.
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

// Full returns the whole page.
func (m Jobs) Full() templ.Component { return jobs(m) }

// Watches returns a placeholder that matches no entity, because a job's progress causes no
// events.
func (m Jobs) Watches() []string { return []string{page.NoEntity} }

// Parts returns the live parts of the page.
func (m Jobs) Parts() []view.Part {
	return append(m.Shell.Parts(),
		page.List("rows", m.Rows, func(r JobRow) view.Row { return view.Row{Key: r.Key, Content: jobRow(r)} }),
		page.Slot("empty", jobsEmpty(m)),
	)
}

// Job is the page of a job.
type Job struct {
	Shell    layout.Shell
	All      string // address of all jobs
	Row      JobRow
	Actor    string
	Why      string    // error of a failed job
	Ended    time.Time // zero if it has not ended
	Failures []JobFailure

	Cancel, Resume, Undo string // addresses; empty if not possible
	UndoneBy             string // address of the job that undid this one; empty means none
	Of                   string // address of the job that this one undoes; empty means none
}

// JobFailure is a message that was refused.
type JobFailure struct {
	Key  string
	Href string
	Seq  int64
	Line int // of a file; zero means an existing message, described by the other fields
	At   string
	Why  string
}

// Full returns the whole page.
func (m Job) Full() templ.Component { return oneJob(m) }

// Watches returns no real entity: a job advances without events of its own.
func (m Job) Watches() []string { return []string{page.NoEntity} }

// Parts returns the live parts of the page.
func (m Job) Parts() []view.Part {
	return append(m.Shell.Parts(),
		page.Slot("deeds", jobActions(m)),
		page.Slot("notices", jobNotices(m)),
		page.Slot("progress", jobProgress(m.Row)),
		page.Slot("facts", jobFacts(m)),
		page.Slot("failures", jobFailures(m)),
	)
}

// JobFields returns the fields of the form for a new job, without the typed confirmation.
func JobFields() []string {
	return []string{page.FieldJobKind, page.FieldJobPath, page.FieldQuery, page.FieldTo, page.FieldBy, page.FieldUntil}
}

// JobForm is the form of a job, with the number of messages it would process.
type JobForm struct {
	Shell     layout.Shell
	To        string // address it posts to, also for counting
	FormToken string // value of page.FieldFormToken
	Cancel    string
	Kinds     []string
	Values    map[string]string
	Errors    map[string]component.Text
	Refused   component.Notice
	Count     JobCount
}

// JobCount is how many messages a job would process.
type JobCount struct {
	Known      bool
	Matching   int
	Locked     int               // of these: locked, which would be skipped
	Unexamined int               // not examined: up to this many more would be processed
	First      []list.MessageRow // a few of the messages
	Now        time.Time
	States     []StateLine // of the messages, as far as they were examined
	Export     string      // address of a file with them; empty means none
	Confirm    string      // text to type as confirmation; empty means none
}

func (c JobCount) atMost() int { return c.Matching - c.Locked + c.Unexamined }

// destructive reports whether the job deletes messages.
func (m JobForm) destructive() bool {
	return m.Values[page.FieldJobKind] == "delete" || m.Values[page.FieldJobKind] == "purge"
}

func (m JobForm) field(ctx context.Context, name, label, tip string) component.Field {
	return component.Field{
		Name: name, Label: locale.T(ctx, label), Value: m.Values[name], Error: m.Errors[name], Tip: []component.Text{{S: locale.T(ctx, tip)}},
	}
}

// do returns the button's label: verb and number.
func (m JobForm) do(ctx context.Context) string {
	return locale.N(ctx, jobButtons[m.Values[page.FieldJobKind]], m.Count.atMost())
}

// jobButtons are the text ids of the buttons that start a job, by kind.
var jobButtons = map[string]string{
	"resubmit": "jobs.do.resubmit", "copy": "jobs.do.copy", "move": "jobs.do.move", "delete": "jobs.do.delete", "purge": "jobs.do.purge",
	"dead-letter": "jobs.do.dead-letter", "send-now": "jobs.do.send-now", "return-to-active": "jobs.do.return-to-active",
	"extend": "jobs.do.extend", "reschedule": "jobs.do.reschedule",
}

// Full returns the whole page.
func (m JobForm) Full() templ.Component { return jobForm(m) }

// Watches returns nil, because the page is not live.
func (m JobForm) Watches() []string { return nil }

// Parts returns the shell's parts: the form is not live.
func (m JobForm) Parts() []view.Part { return m.Shell.Parts() }

// short returns f with `example` as its placeholder. The field is narrow if the example has fewer
// than 8 characters.
func (JobForm) short(f component.Field, example string) component.Field {
	f.Short, f.Placeholder = len(example) < 8, example
	return f
}
