package show

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/rescue"
	"mayfly/engine/search"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/view"
)

const (
	alertsFresh  = 500 * time.Millisecond // how often rules are looked at, while somebody sees them
	toldMost     = 30                     // alerts on the page
	toastsMost   = 3
	toastsFor    = time.Minute
	offeredMost  = 500 // names of entities that a form offers
	offerWhen    = "kind"
	offerEntity  = "entity"
	toastsBehind = "after"
)

// AlertURL is where a rule is looked at.
func (p *Pages) AlertURL(id rescue.ID) string {
	return p.URL(Place{Namespace: p.b.Name(), Kind: Alert, ID: uint64(id)}) //nolint:gosec // from 1
}

// AlertsURL is where all rules are looked at.
func (p *Pages) AlertsURL() string { return p.URL(Place{Namespace: p.b.Name(), Kind: Alerts}) }

func (p *Pages) alerts(ctx context.Context, at Place) (view.Page, uint64, error) {
	s, err := p.look(ctx, func(broker.Reader) error { return nil })
	if err != nil {
		return nil, 0, err
	}
	m := page.Alerts{Shell: p.shell(ctx, at, s, locale.T(ctx, "alerts.title")), New: p.URL(Place{Namespace: at.Namespace, Kind: Alerts, Do: "new"})}
	if p.o.Rules != nil {
		rules, all := p.o.Rules.List(), p.o.Rules.Alerts()
		if about, err := engine.ParsePath(at.Query.Get(offerEntity), p.b.Limits()); err == nil {
			m.About, m.All, m.New = Shown(about), p.AlertsURL(), p.watch(about).New
			rules = p.o.Rules.About(about)
			all = slices.DeleteFunc(all, func(a rescue.Alert) bool {
				return !slices.ContainsFunc(a.Items, func(it rescue.Item) bool { return it.Path.Entity().Fold() == about.Entity().Fold() })
			})
		}
		for _, is := range rules {
			m.Rules = append(m.Rules, p.alertRow(ctx, is, s.now))
		}
		for _, a := range all[:min(len(all), toldMost)] {
			m.Told = append(m.Told, p.told(ctx, a, s.now))
		}
	}
	return Refreshing{m, alertsFresh}, s.n, nil
}

// watch are the rules that are about an entity.
func (p *Pages) watch(path engine.Path) page.EntityWatch {
	if p.o.Rules == nil {
		return page.EntityWatch{}
	}
	q := url.Values{offerEntity: {string(path)}}
	return page.EntityWatch{
		Rules: len(p.o.Rules.About(path)),
		Href:  p.URL(Place{Namespace: p.b.Name(), Kind: Alerts, Query: q}), New: p.URL(Place{Namespace: p.b.Name(), Kind: Alerts, Do: "new", Query: q}),
	}
}

func (p *Pages) alertRow(ctx context.Context, is rescue.Status, now engine.Instant) page.AlertRow {
	row := page.AlertRow{
		Key: strconv.FormatInt(int64(is.ID), 10), Href: p.AlertURL(is.ID), Rule: alertWords(ctx, is.Rule), Off: is.Off, Trouble: is.Trouble,
		Fired: int(is.Fired), Done: int(is.Done), Now: now.Time(),
	}
	if is.Last != 0 {
		row.Last = is.Last.Time()
	}
	return row
}

func alertWords(ctx context.Context, r rescue.Rule) page.AlertWords {
	w := page.AlertWords{
		Name: r.Name, When: string(r.When), In: cut(r.In, 100), Query: cut(r.Query, 100), Reason: cut(r.Reason, 100), Within: component.Length(ctx, r.Within),
		Over: int(r.Over), Then: string(r.Then), By: component.Length(ctx, r.By), Times: r.Times, Signed: r.Secret != "",
	}
	if u, err := url.Parse(r.URL); err == nil {
		w.Webhook = u.Host
	}
	return w
}

// told is an alert as people read it.
func (p *Pages) told(ctx context.Context, a rescue.Alert, now engine.Instant) page.Told {
	t := page.Told{Key: strconv.FormatUint(a.N, 10), At: a.At.Time(), Now: now.Time(), Rule: a.Name, Test: a.Test && a.Count == 0}
	if _, err := p.o.Rules.Rule(a.Rule); err == nil {
		t.Href = p.AlertURL(a.Rule)
	}
	if t.Test {
		t.Tone, t.Icon, t.Says = component.Plenty, "info", locale.T(ctx, "alerts.happened.test")
		return t
	}
	look := happened(a)
	t.Tone, t.Icon = look.tone, look.icon
	var first rescue.Item
	what := ""
	if len(a.Items) > 0 {
		first = a.Items[0]
		what = Shown(first.Path)
		if first.Key != 0 {
			what, t.Where = cmp.Or(first.Subject, first.MessageID, "#"+strconv.FormatInt(int64(first.Seq), 10)), Shown(first.Path)
		}
		t.Goes = p.goes(a, first)
	}
	t.Says = locale.N(ctx, look.says, int(a.Count), locale.Args{"What": component.Visible(what)})
	if a.Count != 1 {
		return t
	}
	switch {
	case a.When == rescue.RunningOut && a.Done == 0 && first.Key != 0:
		t.Extend = p.MessageURL(first.Key) + "/extend"
	case a.When == rescue.Deleting && first.Path != "":
		t.Pin = p.EntityURL(engine.Queue, first.Path) + "/pin"
	}
	return t
}

// goes is where an alert leads.
func (p *Pages) goes(a rescue.Alert, first rescue.Item) string {
	switch {
	case a.When == rescue.Deleted:
		return p.Home() + "/temporary"
	case a.When == rescue.Deleting && a.Count > 1:
		return p.Home() + "/temporary"
	case first.Key != 0 && a.Count == 1:
		return p.MessageURL(first.Key)
	case a.When == rescue.RunningOut:
		return p.Home() + "/expirations"
	default:
		return p.EntityURL(p.kindAt(first.Path), first.Path)
	}
}

// kindAt is what an entity is, as far as its name tells: a topic has no messages
// that an alert could be about.
func (p *Pages) kindAt(path engine.Path) engine.EntityKind {
	if _, _, ok := path.Subscription(); ok {
		return engine.Subscription
	}
	return engine.Queue
}

func happened(a rescue.Alert) eventLook {
	switch a.When {
	case rescue.RunningOut:
		switch {
		case a.Then == rescue.Extend && a.Done == a.Count:
			return eventLook{"clock", component.Plenty, "alerts.happened.extended"}
		case a.Then == rescue.DeadLetter && a.Done == a.Count:
			return eventLook{"dead", component.Dead, "alerts.happened.rescued"}
		}
		return eventLook{"clock", component.Critical, "alerts.happened.running"}
	case rescue.Expired:
		return eventLook{"lost", component.Lost, "alerts.happened.expired"}
	case rescue.DeadLettered:
		return eventLook{"dead", component.Dead, "alerts.happened.dead"}
	case rescue.DeadOver:
		return eventLook{"dead", component.Dead, "alerts.happened.over"}
	case rescue.Deleting:
		return eventLook{"hourglass", component.Critical, "alerts.happened.deleting"}
	default:
		return eventLook{"tomb", component.Lost, "alerts.happened.deleted"}
	}
}

func (p *Pages) alert(ctx context.Context, at Place) (view.Page, uint64, error) {
	s, err := p.look(ctx, func(broker.Reader) error { return nil })
	if err != nil {
		return nil, 0, err
	}
	is, err := p.alertAt(at)
	if err != nil {
		return nil, 0, err
	}
	m := page.AlertRule{
		Shell: p.shell(ctx, at, s, is.Name), All: p.AlertsURL(), Row: p.alertRow(ctx, is, s.now), Missed: int(is.Missed),
		Edit: p.alertDeed(at, "edit"), Test: p.alertDeed(at, "test"), Switch: p.alertDeed(at, "off"), Remove: p.alertDeed(at, "remove"),
	}
	if is.Off {
		m.Switch = p.alertDeed(at, "on")
	}
	if p.o.Hooks != nil {
		for _, d := range p.o.Hooks.Deliveries(is.ID) {
			m.Deliveries = append(m.Deliveries, page.AlertDelivery{
				Key: d.ID, At: d.At, Now: s.now.Time(), State: string(d.State), Count: int(d.Count), Attempts: d.Attempts, Error: cut(d.Error, 200), Test: d.Test,
			})
		}
	}
	for _, a := range p.o.Rules.Alerts() {
		if a.Rule != is.ID {
			continue
		}
		t := p.told(ctx, a, s.now)
		t.Rule, t.Href = "", ""
		if m.Told = append(m.Told, t); len(m.Told) == toldMost {
			break
		}
	}
	return Refreshing{m, alertsFresh}, s.n, nil
}

func (p *Pages) alertAt(at Place) (rescue.Status, error) {
	if p.o.Rules == nil {
		return rescue.Status{}, ErrNoPage
	}
	return p.o.Rules.Rule(rescue.ID(at.ID)) //nolint:gosec,wrapcheck // it is no more than can be; it says what it is about
}

func (p *Pages) alertDeed(at Place, do string) string {
	return p.URL(Place{Namespace: at.Namespace, Kind: Alert, ID: at.ID, Do: do})
}

// ReadAlert reads the form of a rule. What is wrong with it goes into t.
func ReadAlert(ctx context.Context, t *Typed) rescue.Rule {
	if t.Errors == nil {
		t.Errors = map[string]component.Text{}
	}
	v := t.Values
	length := func(name string) time.Duration {
		text := strings.TrimSpace(v.Get(name))
		if text == "" {
			return 0
		}
		d, never, err := engine.ParseDuration(Spaceless(text))
		if err != nil || never {
			t.Errors[name] = component.Text{S: locale.T(ctx, "ui.duration")}
		}
		return d
	}
	number := func(name string) int64 {
		text := strings.TrimSpace(v.Get(name))
		if text == "" {
			return 0
		}
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			t.Errors[name] = component.Text{S: locale.T(ctx, "alerts.number")}
		}
		return n
	}
	r := rescue.Rule{
		Name: v.Get(page.AlertName), When: rescue.When(v.Get(page.AlertWhen)), In: v.Get(page.AlertIn), Query: v.Get(page.AlertQuery), Reason: v.Get(page.AlertReason),
		Then: rescue.Then(v.Get(page.AlertThen)), URL: v.Get(page.AlertURL), Secret: v.Get(page.AlertSecret),
	}
	switch r.When { // what is not asked for is not read
	case rescue.RunningOut:
		if r.Within = length(page.AlertWithin); r.Then == rescue.Extend {
			r.By, r.Times = length(page.AlertBy), int(number(page.AlertTimes))
		}
	case rescue.Deleting:
		r.Within = length(page.AlertWithin)
	case rescue.DeadOver:
		r.Over = number(page.AlertOver)
	case rescue.Expired, rescue.DeadLettered, rescue.Deleted:
	}
	return r
}

// AlertWrong puts what is wrong with a rule beside its field. It is false for what is
// no error about a field.
func AlertWrong(t *Typed, err error) bool {
	e, ok := errors.AsType[*rescue.FieldError](err)
	if !ok {
		return false
	}
	text := e.Error()
	if q, ok := errors.AsType[*search.Error](err); ok {
		text = q.Error()
	}
	if t.Errors[e.Field].S == "" {
		t.Errors[e.Field] = component.Said(asSentence(text))
	}
	return true
}

// askAlert asks for a rule, and says what it would do now, or asks whether it is to
// be removed.
func (p *Pages) askAlert(ctx context.Context, at Place, t Typed) (view.Page, error) {
	if p.o.Rules == nil {
		return nil, ErrNoPage
	}
	m := page.AlertForm{
		New: at.Kind == Alerts, Cancel: cmp.Or(t.Cancel, p.AlertsURL()), To: p.URL(Place{Namespace: at.Namespace, Kind: Alerts, Do: "new"}),
		Try: p.URL(Place{Namespace: at.Namespace, Kind: Alerts, Do: "try"}), Refused: t.Refused,
	}
	was := rescue.Status{Rule: rescue.Rule{
		When: rescue.When(cmp.Or(at.Query.Get(offerWhen), string(rescue.RunningOut))), In: at.Query.Get(offerEntity), Within: time.Minute, Then: rescue.Notify, By: 10 * time.Minute, Times: 3,
	}}
	if !slices.Contains(rescue.Whens(), was.When) {
		was.When = rescue.RunningOut
	}
	if at.Kind == Alert {
		var err error
		if was, err = p.alertAt(at); err != nil {
			return nil, err
		}
		if at.Do == "remove" {
			return page.RemoveAlert{Shell: p.still(ctx, at, was.Name), Rule: alertWords(ctx, was.Rule), To: p.URL(at), Cancel: p.AlertURL(was.ID)}, nil
		}
		m.Cancel, m.To, m.Try, m.Secret = p.AlertURL(was.ID), p.alertDeed(at, "edit"), p.alertDeed(at, "try"), was.Secret != ""
	}
	sent := t.Values != nil
	if !sent {
		t.Values = alertValues(was.Rule)
	}
	rule := ReadAlert(ctx, &t)
	if len(t.Errors) == 0 {
		f, err := p.o.Rules.Foresee(ctx, rule)
		switch refused, ok := errors.AsType[*engine.Refusal](err); {
		case err == nil:
			m.Foreseen = page.AlertForesight{Asked: true, Known: f.Known, Count: int(f.Count), More: f.More, Sample: names(f.Sample)}
			for _, path := range f.Paths {
				m.Foreseen.Sample = append(m.Foreseen.Sample, Shown(path))
			}
		case AlertWrong(&t, err):
		case ok:
			m.Refused = component.Notice{Tone: component.Critical, Said: refused.Text}
		default:
			return nil, err //nolint:wrapcheck // it says what it is about
		}
	}
	at.Query = url.Values{}
	m.Values, m.Errors = t.first(), t.Errors
	m.Shell = p.still(ctx, at, locale.T(ctx, "alerts.title"))
	for _, w := range rescue.Whens() {
		m.Whens = append(m.Whens, string(w))
	}
	for _, then := range rescue.Thens() {
		m.Thens = append(m.Thens, string(then))
	}
	err := p.b.Read(ctx, func(r broker.Reader) error {
		m.Entities = nil
		for _, kind := range []engine.EntityKind{engine.Queue, engine.Topic} {
			all, err := r.Page(kind, "", 0, offeredMost/2)
			if err != nil {
				return err //nolint:wrapcheck // there is none
			}
			for _, e := range all {
				m.Entities = append(m.Entities, string(e.Path))
			}
		}
		return nil
	})
	return m, err //nolint:wrapcheck // it says what it is about
}

// alertValues is a rule as a form has it.
func alertValues(r rescue.Rule) url.Values {
	v := url.Values{}
	for name, text := range map[string]string{
		page.AlertName: r.Name, page.AlertWhen: string(r.When), page.AlertIn: r.In, page.AlertQuery: r.Query, page.AlertReason: r.Reason, page.AlertURL: r.URL,
		page.AlertThen: string(r.Then), page.AlertOver: strconv.FormatInt(r.Over, 10),
		page.AlertWithin: typedLength(cmp.Or(r.Within, time.Minute)), page.AlertBy: typedLength(cmp.Or(r.By, 10*time.Minute)), page.AlertTimes: strconv.Itoa(cmp.Or(r.Times, 3)),
	} {
		v.Set(name, text)
	}
	return v
}

// Toasts are the latest alerts as notes over a page, without those up to the number
// that at asks behind.
func (p *Pages) Toasts(ctx context.Context, at Place) page.AlertToasts {
	who, _ := ctx.Value(visitorKey{}).(Visitor)
	m := page.AlertToasts{CSRF: who.CSRF, All: p.AlertsURL(), Back: p.AlertsURL()}
	if p.o.Rules == nil {
		return m
	}
	after, _ := strconv.ParseUint(at.Query.Get(toastsBehind), 10, 64) //nolint:errcheck // what is no number is behind nothing
	now := p.b.Clock()
	for _, a := range p.o.Rules.Alerts() {
		if a.N <= after || now.Sub(a.At) > toastsFor {
			break
		}
		if len(m.Told) == toastsMost {
			m.More++
			continue
		}
		m.Told = append(m.Told, p.told(ctx, a, now))
	}
	return m
}
