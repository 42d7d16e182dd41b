package show

import (
	"context"
	"crypto/rand"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/job"
	"mayfly/engine/search"
	"mayfly/engine/shorten"
	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/view"
)

// jobsRefresh is how often jobs are read again while a viewer has a page with them open.
const jobsRefresh = 250 * time.Millisecond

func (p *Pages) jobs(ctx context.Context, at Address) (view.Page, uint64, error) {
	s, err := p.read(ctx, func(broker.Reader) error { return nil })
	if err != nil {
		return nil, 0, err
	}
	m := page.Jobs{Shell: p.liveShell(ctx, at, s, locale.T(ctx, "jobs.title")), New: p.URL(Address{Namespace: at.Namespace, Kind: Jobs, Action: "new"})}
	if p.o.Jobs != nil {
		for _, is := range p.o.Jobs.List() {
			m.Rows = append(m.Rows, p.jobRow(is, s.now))
		}
	}
	return Refreshing{m, jobsRefresh}, s.event, nil
}

// EndedJobShown is how long pages show that a job has ended.
const EndedJobShown = 30 * time.Second

// jobsStatus returns the state of jobs that every page shows.
func (p *Pages) jobsStatus() layout.Jobs {
	if p.o.Jobs == nil {
		return layout.Jobs{}
	}
	g := p.o.Jobs.Progress(p.b.ClockTime().Add(-EndedJobShown))
	out := layout.Jobs{Running: g.Jobs, Href: p.URL(Address{Namespace: p.b.Name(), Kind: Jobs})}
	if g.Total > 0 {
		out.Percent = int(min(100*g.Seen/g.Total, 100))
	}
	if g.LastEnded.ID != 0 {
		out.Ended, out.EndState = strconv.FormatInt(int64(g.LastEnded.ID), 10), string(g.LastEnded.State)
		if g.Jobs == 0 {
			out.Href = p.JobURL(g.LastEnded.ID)
		}
	}
	return out
}

// JobURL returns the address of a job.
func (p *Pages) JobURL(id job.ID) string {
	return p.URL(Address{Namespace: p.b.Name(), Kind: Job, ID: uint64(id)})
}

func (p *Pages) jobRow(is job.Job, now engine.Instant) page.JobRow {
	var at []string
	for _, path := range is.Plan.Paths {
		at = append(at, DisplayPath(path))
	}
	if f := is.Plan.ImportSpec; f != nil {
		at = []string{f.File}
	}
	return page.JobRow{
		Key: strconv.FormatInt(int64(is.ID), 10), Href: p.JobURL(is.ID), Kind: string(is.Plan.Kind), To: string(is.Plan.To),
		At: shorten.To(strings.Join(at, ", "), 200), Query: shorten.To(is.Plan.Query, 200), State: string(is.State),
		Total: int(is.Counts.Total), Seen: int(is.Counts.Seen), Done: int(is.Counts.Done), Skipped: int(is.Counts.Skipped), Failed: int(is.Counts.Failed),
		Started: is.Started.Time(), Now: now.Time(),
	}
}

func (p *Pages) job(ctx context.Context, at Address) (view.Page, uint64, error) {
	s, err := p.read(ctx, func(broker.Reader) error { return nil })
	if err != nil {
		return nil, 0, err
	}
	if p.o.Jobs == nil {
		return nil, 0, ErrPageNotFound
	}
	is, err := p.o.Jobs.Job(job.ID(at.ID))
	if err != nil {
		return nil, 0, err
	}
	m := page.Job{All: p.URL(Address{Namespace: at.Namespace, Kind: Jobs}), Row: p.jobRow(is, s.now), Actor: actorName(ctx, is.Actor), Why: is.Reason}
	m.Shell = p.liveShell(ctx, at, s, locale.T(ctx, "jobs.title"))
	if is.Ended != 0 {
		m.Ended = is.Ended.Time()
	}
	do := func(what string) string {
		return p.URL(Address{Namespace: at.Namespace, Kind: Job, ID: at.ID, Action: what})
	}
	if !is.State.Stopped() {
		m.Cancel = do("cancel")
	}
	if is.Resumable() {
		m.Resume = do("resume")
	}
	if is.Undoable() {
		m.Undo = do("undo")
	}
	if is.UndoneBy != 0 {
		m.UndoneBy = p.JobURL(is.UndoneBy)
	}
	if is.Plan.UndoOf != 0 {
		m.Of = p.JobURL(is.Plan.UndoOf)
	}
	for _, f := range is.Failures {
		m.Failures = append(m.Failures, page.JobFailure{Line: int(f.Line), Key: keyText(f.Key), Href: p.MessageURL(f.Key), Seq: int64(f.Seq), At: DisplayPath(f.Path), Why: f.Reason})
	}
	return Refreshing{m, jobsRefresh}, s.event, nil
}

// jobKinds returns the kinds that the form for a new job offers.
func jobKinds() (all []string) {
	for _, k := range job.Kinds() {
		all = append(all, string(k))
	}
	return all
}

// ParsePlan reads the form of a job. now is the instant it is read at. Errors go into t.
func ParsePlan(ctx context.Context, t *FormState, now engine.Instant, l engine.Limits) job.Plan {
	if t.Errors == nil {
		t.Errors = map[string]component.Text{}
	}
	v := t.Values
	p := job.Plan{Kind: job.Kind(v.Get(page.FieldJobKind)), Query: strings.TrimSpace(v.Get(page.FieldQuery))}
	for text := range strings.SplitSeq(v.Get(page.FieldJobPath), ",") {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		path, err := engine.ParsePath(text, l)
		if err != nil {
			t.Errors[page.FieldJobPath] = component.ServerText(toSentence(err.Error()))
			continue
		}
		p.Paths = append(p.Paths, path)
	}
	if text := strings.TrimSpace(v.Get(page.FieldTo)); text != "" && (p.Kind == job.Move || p.Kind == job.Copy) {
		to, err := engine.ParsePath(text, l)
		if err != nil {
			t.Errors[page.FieldTo] = component.ServerText(toSentence(err.Error()))
		}
		p.To = to
	}
	switch text := strings.TrimSpace(v.Get(page.FieldBy)); {
	case p.Kind == job.Extend:
		by, minus := strings.CutPrefix(strings.Replace(strings.TrimPrefix(RemoveSpaces(text), "+"), "−", "-", 1), "-")
		d, never, err := engine.ParseDuration(by)
		if err != nil || never || d == 0 {
			t.Errors[page.FieldBy] = component.Text{S: locale.T(ctx, "ui.duration")}
		}
		if p.ExtendBy = d; minus {
			p.ExtendBy = -d
		}
	case p.Kind == job.Reschedule:
		at, wrong := ParseTime(v.Get(page.FieldUntil), now)
		if wrong != "" {
			t.Errors[page.FieldUntil] = component.Text{S: locale.T(ctx, wrong)}
		}
		p.RescheduleTo = at
	}
	if _, err := search.Parse(p.Query); err != nil {
		t.Errors[page.FieldQuery] = component.ServerText(toSentence(err.Error()))
	}
	if !slices.Contains(jobKinds(), string(p.Kind)) {
		p.Kind = job.Resubmit
	}
	return p
}

// JobConfirmName returns the name to type before a job removes many messages: that of their
// entity, or of the namespace if they may be in several entities.
func (p *Pages) JobConfirmName(plan job.Plan, n int64) string {
	switch {
	case !plan.Kind.Destructive() || n <= ConfirmNameAbove:
		return ""
	case len(plan.Paths) == 1:
		return plan.Paths[0].Entity().Name()
	default:
		return p.b.Name()
	}
}

// jobForm returns the form of a job, and counts the messages it would process.
func (p *Pages) jobForm(ctx context.Context, at Address, t FormState) (view.Page, error) {
	if p.o.Jobs == nil {
		return nil, ErrPageNotFound
	}
	sent := t.Values != nil
	if !sent {
		t.Values = url.Values{}
		for _, name := range page.JobFields() {
			t.Values.Set(name, at.Query.Get(name))
		}
	}
	plan := ParsePlan(ctx, &t, p.b.ClockTime(), p.b.Limits())
	at.Query = url.Values{}
	m := page.JobForm{
		Shell: p.staticShell(ctx, at, locale.T(ctx, "jobs.new")), To: p.URL(at), FormToken: rand.Text(), Cancel: p.URL(Address{Namespace: at.Namespace, Kind: Jobs}), Kinds: jobKinds(),
		Values: t.firstValues(), Errors: t.Errors, Refused: t.Refused,
	}
	m.Values[page.FieldJobKind] = string(plan.Kind)
	if len(plan.Paths) == 0 && plan.Query == "" || len(t.Errors) > 0 && t.Errors[page.FieldConfirm].S == "" {
		return m, nil
	}
	f, err := p.o.Jobs.Preview(ctx, plan, maxExamined)
	if refused, ok := errors.AsType[*engine.Refusal](err); ok {
		if !m.Refused.Visible() {
			m.Refused = component.Notice{Tone: component.Critical, ServerText: refused.Text}
		}
		return m, nil
	}
	if err != nil {
		return nil, err
	}
	m.Count = page.JobCount{
		Known: true, Matching: int(f.Matching), Locked: int(f.Locked), Unexamined: int(f.Unexamined), Confirm: p.JobConfirmName(plan, f.AtMost()), States: jobStates(f.States),
	}
	for _, r := range f.Sample[:min(len(f.Sample), maxSampleNames)] {
		m.Count.First = append(m.Count.First, p.messageRow(ctx, r, p.b.ClockTime(), 0))
	}
	m.Count.Now = p.b.ClockTime().Time()
	if len(plan.Paths) < 2 {
		x := Export{Query: plan.Query}
		for _, path := range plan.Paths {
			x.Path = string(path)
		}
		m.Count.Export = p.ExportURL(x)
	}
	return m, nil
}

// jobStates returns the states that have messages.
func jobStates(s job.States) (out []page.StateLine) {
	for _, line := range []page.StateLine{
		{State: page.StateActive, N: int(s.Active)}, {State: page.StateLocked, N: int(s.Locked)}, {State: page.StateDeferred, N: int(s.Deferred)},
		{State: page.StateScheduled, N: int(s.Scheduled)}, {State: page.StateDeadLetter, N: int(s.Dead)},
	} {
		if line.N > 0 {
			out = append(out, line)
		}
	}
	return out
}
