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
	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/view"
)

// jobsFresh is how often jobs are looked at, while somebody sees them.
const jobsFresh = 250 * time.Millisecond

func (p *Pages) jobs(ctx context.Context, at Place) (view.Page, uint64, error) {
	s, err := p.look(ctx, func(broker.Reader) error { return nil })
	if err != nil {
		return nil, 0, err
	}
	m := page.Jobs{Shell: p.shell(ctx, at, s, locale.T(ctx, "jobs.title")), New: p.URL(Place{Namespace: at.Namespace, Kind: Jobs, Do: "new"})}
	if p.o.Jobs != nil {
		for _, is := range p.o.Jobs.List() {
			m.Rows = append(m.Rows, p.jobRow(is, s.now))
		}
	}
	return Refreshing{m, jobsFresh}, s.n, nil
}

// JobEndShown is for how long pages say that a job has ended.
const JobEndShown = 30 * time.Second

// going is what every page says of jobs.
func (p *Pages) going() layout.Jobs {
	if p.o.Jobs == nil {
		return layout.Jobs{}
	}
	g := p.o.Jobs.Going(p.b.Clock().Add(-JobEndShown))
	out := layout.Jobs{Running: g.Jobs, Href: p.URL(Place{Namespace: p.b.Name(), Kind: Jobs})}
	if g.Total > 0 {
		out.Percent = int(min(100*g.Seen/g.Total, 100))
	}
	if g.Ended.ID != 0 {
		out.Ended, out.How = strconv.FormatInt(int64(g.Ended.ID), 10), string(g.Ended.State)
		if g.Jobs == 0 {
			out.Href = p.JobURL(g.Ended.ID)
		}
	}
	return out
}

// JobURL is where a job is looked at.
func (p *Pages) JobURL(id job.ID) string {
	return p.URL(Place{Namespace: p.b.Name(), Kind: Job, ID: uint64(id)})
}

func (p *Pages) jobRow(is job.Job, now engine.Instant) page.JobRow {
	var at []string
	for _, path := range is.Plan.Paths {
		at = append(at, Shown(path))
	}
	if f := is.Plan.Imports; f != nil {
		at = []string{f.File}
	}
	return page.JobRow{
		Key: strconv.FormatInt(int64(is.ID), 10), Href: p.JobURL(is.ID), Kind: string(is.Plan.Kind), To: string(is.Plan.To),
		At: cut(strings.Join(at, ", "), 200), Query: cut(is.Plan.Query, 200), State: string(is.State),
		Total: int(is.Counts.Total), Seen: int(is.Counts.Seen), Done: int(is.Counts.Done), Skipped: int(is.Counts.Skipped), Failed: int(is.Counts.Failed),
		Started: is.Started.Time(), Now: now.Time(),
	}
}

func (p *Pages) job(ctx context.Context, at Place) (view.Page, uint64, error) {
	s, err := p.look(ctx, func(broker.Reader) error { return nil })
	if err != nil {
		return nil, 0, err
	}
	if p.o.Jobs == nil {
		return nil, 0, ErrNoPage
	}
	is, err := p.o.Jobs.Job(job.ID(at.ID))
	if err != nil {
		return nil, 0, err //nolint:wrapcheck // it says what it is about
	}
	m := page.Job{All: p.URL(Place{Namespace: at.Namespace, Kind: Jobs}), Row: p.jobRow(is, s.now), Actor: hand(ctx, is.Actor), Why: is.Why}
	m.Shell = p.shell(ctx, at, s, locale.T(ctx, "jobs.title"))
	if is.Ended != 0 {
		m.Ended = is.Ended.Time()
	}
	do := func(what string) string {
		return p.URL(Place{Namespace: at.Namespace, Kind: Job, ID: at.ID, Do: what})
	}
	if !is.State.Over() {
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
	if is.Plan.Of != 0 {
		m.Of = p.JobURL(is.Plan.Of)
	}
	for _, f := range is.Failures {
		m.Failures = append(m.Failures, page.JobFailure{Line: int(f.Line), Key: keyText(f.Key), Href: p.MessageURL(f.Key), Seq: int64(f.Seq), At: Shown(f.Path), Why: f.Why})
	}
	return Refreshing{m, jobsFresh}, s.n, nil
}

// jobKinds are those that the form for a new job has.
func jobKinds() (all []string) {
	for _, k := range job.Kinds() {
		all = append(all, string(k))
	}
	return all
}

// ReadPlan reads the form of a job at an instant. What is wrong with it goes into t.
func ReadPlan(ctx context.Context, t *Typed, now engine.Instant, l engine.Limits) job.Plan {
	if t.Errors == nil {
		t.Errors = map[string]component.Text{}
	}
	v := t.Values
	p := job.Plan{Kind: job.Kind(v.Get(page.AskKind)), Query: strings.TrimSpace(v.Get(page.AskQuery))}
	for text := range strings.SplitSeq(v.Get(page.AskAt), ",") {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		path, err := engine.ParsePath(text, l)
		if err != nil {
			t.Errors[page.AskAt] = component.Said(asSentence(err.Error()))
			continue
		}
		p.Paths = append(p.Paths, path)
	}
	if text := strings.TrimSpace(v.Get(page.AskTo)); text != "" && (p.Kind == job.Move || p.Kind == job.Copy) {
		to, err := engine.ParsePath(text, l)
		if err != nil {
			t.Errors[page.AskTo] = component.Said(asSentence(err.Error()))
		}
		p.To = to
	}
	switch text := strings.TrimSpace(v.Get(page.AskBy)); {
	case p.Kind == job.Extend:
		by, minus := strings.CutPrefix(strings.Replace(strings.TrimPrefix(Spaceless(text), "+"), "−", "-", 1), "-")
		d, never, err := engine.ParseDuration(by)
		if err != nil || never || d == 0 {
			t.Errors[page.AskBy] = component.Text{S: locale.T(ctx, "ui.duration")}
		}
		if p.By = d; minus {
			p.By = -d
		}
	case p.Kind == job.Reschedule:
		at, wrong := ReadMoment(v.Get(page.AskUntil), now)
		if wrong != "" {
			t.Errors[page.AskUntil] = component.Text{S: locale.T(ctx, wrong)}
		}
		p.Until = at
	}
	if _, err := search.Parse(p.Query); err != nil {
		t.Errors[page.AskQuery] = component.Said(asSentence(err.Error()))
	}
	if !slices.Contains(jobKinds(), string(p.Kind)) {
		p.Kind = job.Resubmit
	}
	return p
}

// JobConfirm is what is typed before a job does away with many messages: the name of
// their entity, or the namespace's where they may be of several.
func (p *Pages) JobConfirm(plan job.Plan, n int64) string {
	switch {
	case !plan.Kind.Destructive() || n <= TypeNameOver:
		return ""
	case len(plan.Paths) == 1:
		return plan.Paths[0].Entity().Name()
	default:
		return p.b.Name()
	}
}

// askJob asks what is to be done to which messages, and counts them.
func (p *Pages) askJob(ctx context.Context, at Place, t Typed) (view.Page, error) {
	if p.o.Jobs == nil {
		return nil, ErrNoPage
	}
	sent := t.Values != nil
	if !sent {
		t.Values = url.Values{}
		for _, name := range page.AskedOfJob() {
			t.Values.Set(name, at.Query.Get(name))
		}
	}
	plan := ReadPlan(ctx, &t, p.b.Clock(), p.b.Limits())
	at.Query = url.Values{}
	m := page.NewJob{
		Shell: p.still(ctx, at, locale.T(ctx, "jobs.new")), To: p.URL(at), Once: rand.Text(), Cancel: p.URL(Place{Namespace: at.Namespace, Kind: Jobs}), Kinds: jobKinds(),
		Values: t.first(), Errors: t.Errors, Refused: t.Refused,
	}
	m.Values[page.AskKind] = string(plan.Kind)
	if len(plan.Paths) == 0 && plan.Query == "" || len(t.Errors) > 0 && t.Errors[page.AskConfirm].S == "" {
		return m, nil
	}
	f, err := p.o.Jobs.Foresee(ctx, plan, countedMost)
	if refused, ok := errors.AsType[*engine.Refusal](err); ok {
		if !m.Refused.Shown() {
			m.Refused = component.Notice{Tone: component.Critical, Said: refused.Text}
		}
		return m, nil
	}
	if err != nil {
		return nil, err //nolint:wrapcheck // it says what it is about
	}
	m.Count = page.JobCount{
		Known: true, Meant: int(f.Matching), Locked: int(f.Locked), Unseen: int(f.Unseen), Confirm: p.JobConfirm(plan, f.AtMost()), States: jobStates(f.States),
	}
	for _, r := range f.Sample[:min(len(f.Sample), sampled)] {
		m.Count.First = append(m.Count.First, p.messageRow(ctx, r, p.b.Clock(), 0))
	}
	m.Count.Now = p.b.Clock().Time()
	if len(plan.Paths) < 2 {
		x := Export{Query: plan.Query}
		for _, path := range plan.Paths {
			x.Path = string(path)
		}
		m.Count.Export = p.ExportURL(x)
	}
	return m, nil
}

// jobStates are the states that there are messages in.
func jobStates(s job.States) (out []page.StateLine) {
	for _, line := range []page.StateLine{
		{State: page.Active, N: int(s.Active)}, {State: page.Locked, N: int(s.Locked)}, {State: page.Parking, N: int(s.Deferred)},
		{State: page.Scheduled, N: int(s.Scheduled)}, {State: page.DeadLetter, N: int(s.Dead)},
	} {
		if line.N > 0 {
			out = append(out, line)
		}
	}
	return out
}
