package operate

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
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/page/operate"
	"mayfly/views/view"
	"mayfly/web/dashboard/list"
	"mayfly/web/dashboard/pages"
	"mayfly/web/dashboard/send"
)

// jobsRefresh is how often jobs are read again while a viewer has a page with them open.
const jobsRefresh = 250 * time.Millisecond

// Jobs returns the page of all jobs.
func Jobs(ctx context.Context, p *pages.Pages, at pages.Address) (view.Page, uint64, error) {
	s, err := p.Read(ctx, func(broker.Reader) error { return nil })
	if err != nil {
		return nil, 0, err
	}
	m := operate.Jobs{Shell: p.LiveShell(ctx, at, s, locale.T(ctx, "jobs.title")), New: p.URL(pages.Address{Namespace: at.Namespace, Kind: pages.Jobs, Action: "new"})}
	if p.Options.Jobs != nil {
		for _, is := range p.Options.Jobs.List() {
			m.Rows = append(m.Rows, jobRow(p, is, s.Now))
		}
	}
	return pages.Refreshing{Page: m, Every: jobsRefresh}, s.Event, nil
}

func jobRow(p *pages.Pages, is job.Job, now engine.Instant) operate.JobRow {
	var at []string
	for _, path := range is.Plan.Paths {
		at = append(at, pages.DisplayPath(path))
	}
	if f := is.Plan.ImportSpec; f != nil {
		at = []string{f.File}
	}
	return operate.JobRow{
		Key: strconv.FormatInt(int64(is.ID), 10), Href: p.JobURL(is.ID), Kind: string(is.Plan.Kind), To: string(is.Plan.To),
		At: shorten.To(strings.Join(at, ", "), 200), Query: shorten.To(is.Plan.Query, 200), State: string(is.State),
		Total: int(is.Counts.Total), Seen: int(is.Counts.Seen), Done: int(is.Counts.Done), Skipped: int(is.Counts.Skipped), Failed: int(is.Counts.Failed),
		Started: is.Started.Time(), Now: now.Time(),
	}
}

// Job returns the page of a job.
func Job(ctx context.Context, p *pages.Pages, at pages.Address) (view.Page, uint64, error) {
	s, err := p.Read(ctx, func(broker.Reader) error { return nil })
	if err != nil {
		return nil, 0, err
	}
	if p.Options.Jobs == nil {
		return nil, 0, pages.ErrPageNotFound
	}
	is, err := p.Options.Jobs.Job(job.ID(at.ID))
	if err != nil {
		return nil, 0, err
	}
	m := operate.Job{All: p.URL(pages.Address{Namespace: at.Namespace, Kind: pages.Jobs}), Row: jobRow(p, is, s.Now), Actor: pages.ActorName(ctx, is.Actor), Why: is.Reason}
	m.Shell = p.LiveShell(ctx, at, s, locale.T(ctx, "jobs.title"))
	if is.Ended != 0 {
		m.Ended = is.Ended.Time()
	}
	do := func(what string) string {
		return p.URL(pages.Address{Namespace: at.Namespace, Kind: pages.Job, ID: at.ID, Action: what})
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
		m.Failures = append(m.Failures, operate.JobFailure{Line: int(f.Line), Key: pages.KeyText(f.Key), Href: p.MessageURL(f.Key), Seq: int64(f.Seq), At: pages.DisplayPath(f.Path), Why: f.Reason})
	}
	return pages.Refreshing{Page: m, Every: jobsRefresh}, s.Event, nil
}

// jobKinds returns the kinds that the form for a new job offers.
func jobKinds() (all []string) {
	for _, k := range job.Kinds() {
		all = append(all, string(k))
	}
	return all
}

// ParsePlan reads the form of a job. A time to which the job reschedules messages must be after
// `now`. Errors go into t.
func ParsePlan(ctx context.Context, t *pages.FormState, now engine.Instant, l engine.Limits) job.Plan {
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
			t.Errors[page.FieldJobPath] = component.ServerText(pages.ToSentence(err.Error()))
			continue
		}
		p.Paths = append(p.Paths, path)
	}
	if text := strings.TrimSpace(v.Get(page.FieldTo)); text != "" && (p.Kind == job.Move || p.Kind == job.Copy) {
		to, err := engine.ParsePath(text, l)
		if err != nil {
			t.Errors[page.FieldTo] = component.ServerText(pages.ToSentence(err.Error()))
		}
		p.To = to
	}
	switch text := strings.TrimSpace(v.Get(page.FieldBy)); {
	case p.Kind == job.Extend:
		by, minus := strings.CutPrefix(strings.Replace(strings.TrimPrefix(pages.RemoveSpaces(text), "+"), "−", "-", 1), "-")
		d, never, err := engine.ParseDuration(by)
		if err != nil || never || d == 0 {
			t.Errors[page.FieldBy] = component.Text{S: locale.T(ctx, "ui.duration")}
		}
		if p.ExtendBy = d; minus {
			p.ExtendBy = -d
		}
	case p.Kind == job.Reschedule:
		at, wrong := send.ParseTime(v.Get(page.FieldUntil), now)
		if wrong != "" {
			t.Errors[page.FieldUntil] = component.Text{S: locale.T(ctx, wrong)}
		}
		p.RescheduleTo = at
	}
	if _, err := search.Parse(p.Query); err != nil {
		t.Errors[page.FieldQuery] = component.ServerText(pages.ToSentence(err.Error()))
	}
	if !slices.Contains(jobKinds(), string(p.Kind)) {
		p.Kind = job.Resubmit
	}
	return p
}

// JobConfirmName returns the name to type before a job removes many messages: that of their
// entity, or of the namespace if they may be in several entities.
func JobConfirmName(p *pages.Pages, plan job.Plan, n int64) string {
	switch {
	case !plan.Kind.Destructive() || n <= ConfirmNameAbove:
		return ""
	case len(plan.Paths) == 1:
		return plan.Paths[0].Entity().Name()
	default:
		return p.Broker.Name()
	}
}

// JobForm returns the form of a job, and counts the messages it would process.
func JobForm(ctx context.Context, p *pages.Pages, at pages.Address, t pages.FormState) (view.Page, error) {
	if p.Options.Jobs == nil {
		return nil, pages.ErrPageNotFound
	}
	sent := t.Values != nil
	if !sent {
		t.Values = url.Values{}
		for _, name := range operate.JobFields() {
			t.Values.Set(name, at.Query.Get(name))
		}
	}
	plan := ParsePlan(ctx, &t, p.Broker.ClockTime(), p.Broker.Limits())
	at.Query = url.Values{}
	m := operate.JobForm{
		Shell: p.StaticShell(ctx, at, locale.T(ctx, "jobs.new")), To: p.URL(at), FormToken: rand.Text(), Cancel: p.URL(pages.Address{Namespace: at.Namespace, Kind: pages.Jobs}), Kinds: jobKinds(),
		Values: t.FirstValues(), Errors: t.Errors, Refused: t.Refused,
	}
	m.Values[page.FieldJobKind] = string(plan.Kind)
	if len(plan.Paths) == 0 && plan.Query == "" || len(t.Errors) > 0 && t.Errors[page.FieldConfirm].S == "" {
		return m, nil
	}
	f, err := p.Options.Jobs.Preview(ctx, plan, maxExamined)
	if refused, ok := errors.AsType[*engine.Refusal](err); ok {
		if !m.Refused.Visible() {
			m.Refused = component.Notice{Tone: component.Critical, ServerText: refused.Text}
		}
		return m, nil
	}
	if err != nil {
		return nil, err
	}
	m.Count = operate.JobCount{
		Known: true, Matching: int(f.Matching), Locked: int(f.Locked), Unexamined: int(f.Unexamined), Confirm: JobConfirmName(p, plan, f.AtMost()), States: jobStates(f.States),
	}
	for _, r := range f.Sample[:min(len(f.Sample), pages.MaxSampleNames)] {
		m.Count.First = append(m.Count.First, list.MessageRow(ctx, p, r, p.Broker.ClockTime(), 0))
	}
	m.Count.Now = p.Broker.ClockTime().Time()
	if len(plan.Paths) < 2 {
		x := pages.Export{Query: plan.Query}
		for _, path := range plan.Paths {
			x.Path = string(path)
		}
		m.Count.Export = p.ExportURL(x)
	}
	return m, nil
}

// jobStates returns the states that have messages.
func jobStates(s job.States) (out []operate.StateLine) {
	for _, line := range []operate.StateLine{
		{State: page.StateActive, N: int(s.Active)}, {State: page.StateLocked, N: int(s.Locked)}, {State: page.StateDeferred, N: int(s.Deferred)},
		{State: page.StateScheduled, N: int(s.Scheduled)}, {State: page.StateDeadLetter, N: int(s.Dead)},
	} {
		if line.N > 0 {
			out = append(out, line)
		}
	}
	return out
}
