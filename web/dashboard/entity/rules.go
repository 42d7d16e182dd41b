package entity

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/filter"
	"mayfly/engine/shorten"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/page/entity"
	labpage "mayfly/views/page/lab"
	"mayfly/views/view"
	"mayfly/web/dashboard/lab"
	"mayfly/web/dashboard/pages"
)

const (
	// rulesOnPage is how many rules of a subscription a page shows.
	rulesOnPage = 100
	// maxSampleMessages is how many messages are suggested to try a rule on, and samplesPerSubscription how many
	// are read from one subscription, of maxSampledSubscriptions subscriptions at most.
	maxSampleMessages       = 6
	samplesPerSubscription  = 4
	maxSampledSubscriptions = 8
)

// rule returns a rule of a subscription for display.
func rule(p *pages.Pages, sub engine.Path, r engine.Rule, now engine.Instant) labpage.Rule {
	out := labpage.Rule{
		Name: r.Name, Kind: lab.RuleKind(r.Filter.Kind), Filter: r.Filter.Text, Action: r.Action,
		Always: r.Filter.Kind == engine.TrueFilter, Created: r.CreatedAt.Time(), Now: now.Time(),
		Edit: p.RuleURL(sub, "rules/edit", r.Name), Remove: p.RuleURL(sub, "rules/remove", r.Name),
	}
	if r.Filter.Kind == engine.CorrelationFilter {
		if c, err := filter.ParseCorrelation(r.Filter.Text); err == nil {
			out.Conditions = lab.Conditions(c)
			for i := range out.Conditions {
				out.Conditions[i].Value = shorten.To(out.Conditions[i].Value, lab.MaxReadingBytes)
			}
		}
	} else {
		out.Parameters = pages.PropertyRows(r.Filter.Parameters)
	}
	return out
}

// ruleWithError is rule, but adds the engine's error if the engine would refuse the rule now.
func ruleWithError(p *pages.Pages, sub engine.Path, r engine.Rule, now engine.Instant) labpage.Rule {
	out, limits := rule(p, sub, r, now), p.Broker.Limits()
	err := engine.CheckRule(r, limits)
	if err == nil {
		return out
	}
	out.Wrong = pages.ToSentence(err.Error())
	_, err = engine.TryRule(r, filter.Message{}, limits)
	out.Inert = err != nil
	return out
}

// rulesTab adds one page of a subscription's rules.
func rulesTab(ctx context.Context, p *pages.Pages, at pages.Address, m *entity.Entity, e Snapshot, now engine.Instant) {
	from := (pageNumber(at, len(e.Rules), rulesOnPage) - 1) * rulesOnPage
	shown := e.Rules[from:min(len(e.Rules), from+rulesOnPage)]
	for _, r := range shown {
		m.Rules = append(m.Rules, ruleWithError(p, e.Path, r, now))
	}
	if len(shown) < len(e.Rules) {
		m.Pages = pager(ctx, p, at, from, len(shown), len(e.Rules), rulesOnPage)
	}
	m.Lede = rulesLede(ctx, m.Topic, e.Rules)
}

// rulesLede summarises what the rules of a subscription do together (FILT-2, FILT-4, FILT-5).
func rulesLede(ctx context.Context, topic string, rules []engine.Rule) []component.Text {
	actions := 0
	for _, r := range rules {
		if r.Action != "" {
			actions++
		}
	}
	switch {
	case len(rules) == 0:
		return nil
	case len(rules) == 1 && actions == 0 && rules[0].Filter.Kind == engine.TrueFilter:
		return []component.Text{pages.StrongText(locale.T(ctx, "rules.lede.everything", locale.Args{"Topic": topic}))}
	}
	lede := []component.Text{pages.StrongText(locale.N(ctx, "rules.lede", len(rules)))}
	switch {
	case actions > 0 && len(rules) == 1: // there are no further copies to mention
		lede = append(lede, pages.PlainText(" "+locale.T(ctx, "rules.lede.action")))
	case actions > 0:
		lede = append(lede, pages.PlainText(" "+locale.N(ctx, "rules.lede.actions", actions)))
	}
	return lede
}

// Rule returns a rule of a subscription as stored, or engine.ErrNotFound.
func Rule(ctx context.Context, p *pages.Pages, sub engine.Path, name string) (engine.Rule, error) {
	var e engine.EntityState
	err := p.Broker.Read(ctx, func(r broker.Reader) (err error) {
		e, err = r.State(sub)
		return err
	})
	if err != nil {
		return engine.Rule{}, err
	}
	return ruleOf(ctx, e, name)
}

func ruleOf(ctx context.Context, e engine.EntityState, name string) (engine.Rule, error) {
	i := slices.IndexFunc(e.Rules, func(r engine.Rule) bool { return strings.EqualFold(r.Name, name) })
	if i < 0 {
		text := locale.T(ctx, "ui.rule.none", locale.Args{"Rule": shorten.To(name, 64), "Name": pages.DisplayPath(e.Path)})
		return engine.Rule{}, &pages.LocalizedError{Err: engine.ErrNotFound, Text: text}
	}
	return e.Rules[i], nil
}

// RuleForm returns the form for a new rule, or for changes to an existing one, with the result
// of a trial.
func RuleForm(ctx context.Context, p *pages.Pages, at pages.Address, t pages.FormState) (view.Page, error) {
	if at.EntityType != engine.Subscription {
		return nil, pages.ErrPageNotFound
	}
	var (
		e       Snapshot
		samples []lab.TrialMessage
	)
	s, err := p.Read(ctx, func(r broker.Reader) (err error) {
		if e, err = ReadEntity(r, at.Path); err == nil {
			samples, err = readSamples(r, e.EntityState, e.Topic.Path)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	var is engine.Rule
	name := at.Query.Get("rule")
	if name != "" || at.Action == "rules/edit" {
		if is, err = ruleOf(ctx, e.EntityState, name); err != nil {
			return nil, err
		}
	}
	m := labpage.RuleForm{
		Shell: p.StaticShell(ctx, at, locale.T(ctx, "rule.new", locale.Args{"Name": e.Path.Name()})),
		New:   is.Name == "",
		In:    page.EntityRef{Kind: page.Subscription, Name: e.Path.Name(), Href: p.EntityURL(e.Kind, e.Path)},
		Topic: page.EntityRef{Kind: page.Topic, Name: e.Topic.Path.Name(), Href: p.EntityURL(engine.Topic, e.Topic.Path)},
		To:    p.RuleURL(e.Path, "rules/new", ""), Try: p.RuleURL(e.Path, "rules/try", ""), Refused: t.Refused,
		Rule: lab.RuleFields(ctx, p, t, is),
	}
	if !m.New {
		m.Shell.Title = locale.T(ctx, "rule.edit", locale.Args{"Name": is.Name})
		m.To, m.Try = p.RuleURL(e.Path, "rules/edit", is.Name), p.RuleURL(e.Path, "rules/try", is.Name)
		m.Rule.Name = is.Name
	}
	if !e.Config.IgnoreFilterExceptions {
		m.Dead = pages.DisplayPath(e.Path.DeadLetter())
	}
	for _, one := range sampleMessages(p, samples, e.Topic.Path) {
		m.Recent = append(m.Recent, one.Sample(s.Now))
	}
	if err := prefillRuleForm(ctx, p, at, &t, is); err != nil {
		return nil, err
	}
	m.Message = lab.MessageFields(t)
	if t.Trial != nil {
		m.Tried = lab.TryRule(t.Trial.Rule, lab.MessageAsSent(t.Trial.Message, e.Topic, s.Now), p.Broker.Limits())
	}
	return m, nil
}

// prefillRuleForm fills an empty form with the message that its address names, and tries the rule on
// it if there is one.
func prefillRuleForm(ctx context.Context, p *pages.Pages, at pages.Address, t *pages.FormState, is engine.Rule) error {
	k, ok := pages.ParseNumber(at.Query.Get(labpage.LabFrom))
	if !ok || t.Values != nil {
		return nil
	}
	s, ok, err := lab.FindTrialMessage(ctx, p, engine.Key(k))
	if err != nil || !ok {
		return err
	}
	t.Values = url.Values{}
	s.FillForm(t.Values)
	if is.Name != "" && engine.CheckRule(is, p.Broker.Limits()) == nil {
		t.Trial = &pages.RuleTrial{Rule: is, Message: s.Content}
	}
	return nil
}

// FillFrom puts a message into the fields of a form. It returns false if FindTrialMessage does not
// find the message.
func FillFrom(ctx context.Context, p *pages.Pages, typed url.Values, k engine.Key) (known bool, err error) {
	s, known, err := lab.FindTrialMessage(ctx, p, k)
	if known {
		s.FillForm(typed)
	}
	return known, err
}

// readSamples returns the latest messages of a subscription and of some others of its topic
// that no action has changed.
func readSamples(r broker.Reader, e engine.EntityState, topic engine.Path) (out []lab.TrialMessage, err error) {
	subs := slices.DeleteFunc(r.Subscriptions(topic), func(s engine.EntityState) bool {
		return s.ID == e.ID || s.Counts.MessageCount() == 0
	})
	sent := map[engine.Key]bool{}
	for _, s := range append([]engine.EntityState{e}, subs[:min(len(subs), maxSampledSubscriptions)]...) {
		rows, err := r.Browse(engine.Browse{Path: s.Path, From: max(1, s.NextSeq-samplesPerSubscription), Limit: samplesPerSubscription})
		if err == nil && len(rows) == 0 {
			rows, err = r.Browse(engine.Browse{Path: s.Path, From: 1, Limit: samplesPerSubscription})
		}
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			x := row.Message.Extra
			if one, ok := lab.TrialMessageOf(row); ok && !sent[row.Message.Content] && (x == nil || x.Rewritten == "") {
				sent[row.Message.Content] = true
				out = append(out, one)
			}
		}
	}
	return out, nil
}

// sampleMessages returns the latest messages sent to a topic: those found in its subscriptions, and
// those that no subscription took.
func sampleMessages(p *pages.Pages, seen []lab.TrialMessage, topic engine.Path) []lab.TrialMessage {
	unmatched, _ := p.Events.ListUnmatched()
	for _, one := range unmatched {
		if one.Topic.Fold() != topic.Fold() {
			continue
		}
		if s, ok := lab.UnmatchedTrial(one); ok {
			seen = append(seen, s)
		}
	}
	slices.SortStableFunc(seen, func(a, b lab.TrialMessage) int { return int(b.At - a.At) })
	return seen[:min(len(seen), maxSampleMessages)]
}
