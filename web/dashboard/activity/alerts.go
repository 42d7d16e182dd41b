package activity

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
	"mayfly/engine/alert"
	"mayfly/engine/broker"
	"mayfly/engine/search"
	"mayfly/engine/shorten"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page/activity"
	"mayfly/views/page/entity"
	"mayfly/views/view"
	"mayfly/web/dashboard/pages"
)

const (
	alertsRefresh        = 500 * time.Millisecond // how often rules are read again while a viewer has the page open
	maxRaisedAlerts      = 30                     // alerts on the page
	maxToasts            = 3
	toastMaxAge          = time.Minute
	maxSuggestedEntities = 500 // names of entities that a form suggests
	queryCondition       = "kind"
	queryEntity          = "entity"
	queryAfter           = "after"
)

// AlertURL returns the address of a rule.
func AlertURL(p *pages.Pages, id alert.ID) string {
	return p.URL(pages.Address{Namespace: p.Broker.Name(), Kind: pages.Alert, ID: uint64(id)})
}

// AlertsURL returns the address of the list of rules.
func AlertsURL(p *pages.Pages) string {
	return p.URL(pages.Address{Namespace: p.Broker.Name(), Kind: pages.Alerts})
}

// Alerts returns the page of all alert rules.
func Alerts(ctx context.Context, p *pages.Pages, at pages.Address) (view.Page, uint64, error) {
	s, err := p.Read(ctx, func(broker.Reader) error { return nil })
	if err != nil {
		return nil, 0, err
	}
	m := activity.Alerts{Shell: p.LiveShell(ctx, at, s, locale.T(ctx, "alerts.title")), New: p.URL(pages.Address{Namespace: at.Namespace, Kind: pages.Alerts, Action: "new"})}
	if p.Options.AlertRules != nil {
		rules, all := p.Options.AlertRules.List(), p.Options.AlertRules.Alerts()
		if about, err := engine.ParsePath(at.Query.Get(queryEntity), p.Broker.Limits()); err == nil {
			m.About, m.All, m.New = pages.DisplayPath(about), AlertsURL(p), EntityAlerts(p, about).New
			rules = p.Options.AlertRules.ForEntity(about)
			all = slices.DeleteFunc(all, func(a alert.Alert) bool {
				return !slices.ContainsFunc(a.Items, func(it alert.Item) bool { return it.Path.Entity().Fold() == about.Entity().Fold() })
			})
		}
		for _, is := range rules {
			m.Rules = append(m.Rules, alertRow(ctx, p, is, s.Now))
		}
		for _, a := range all[:min(len(all), maxRaisedAlerts)] {
			m.Raised = append(m.Raised, raisedAlert(ctx, p, a, s.Now))
		}
	}
	return pages.Refreshing{Page: m, Every: alertsRefresh}, s.Event, nil
}

// EntityAlerts returns the rules about an entity.
func EntityAlerts(p *pages.Pages, path engine.Path) entity.Alerts {
	if p.Options.AlertRules == nil {
		return entity.Alerts{}
	}
	q := url.Values{queryEntity: {string(path)}}
	return entity.Alerts{
		Rules: len(p.Options.AlertRules.ForEntity(path)),
		Href:  p.URL(pages.Address{Namespace: p.Broker.Name(), Kind: pages.Alerts, Query: q}), New: p.URL(pages.Address{Namespace: p.Broker.Name(), Kind: pages.Alerts, Action: "new", Query: q}),
	}
}

func alertRow(ctx context.Context, p *pages.Pages, is alert.Status, now engine.Instant) activity.AlertRuleRow {
	row := activity.AlertRuleRow{
		Key: strconv.FormatInt(int64(is.ID), 10), Href: AlertURL(p, is.ID), Rule: alertDescription(ctx, is.Rule), Off: is.Off, Trouble: is.Trouble,
		Fired: int(is.Fired), Done: int(is.Done), Now: now.Time(),
	}
	if is.Last != 0 {
		row.Last = is.Last.Time()
	}
	return row
}

func alertDescription(ctx context.Context, r alert.Rule) activity.AlertDescription {
	w := activity.AlertDescription{
		Name: r.Name, When: string(r.Condition), In: shorten.To(r.Scope, 100), Query: shorten.To(r.Query, 100), Reason: shorten.To(r.Reason, 100), Within: component.Length(ctx, r.Within),
		Over: int(r.Threshold), Then: string(r.Action), By: component.Length(ctx, r.ExtendBy), Times: r.MaxExtensions, Signed: r.Secret != "",
	}
	if u, err := url.Parse(r.URL); err == nil {
		w.Webhook = u.Host
	}
	return w
}

// raisedAlert returns an alert as pages show it.
func raisedAlert(ctx context.Context, p *pages.Pages, a alert.Alert, now engine.Instant) activity.RaisedAlert {
	t := activity.RaisedAlert{Key: strconv.FormatUint(a.ID, 10), At: a.At.Time(), Now: now.Time(), Rule: a.Name, Test: a.Test && a.Count == 0}
	if _, err := p.Options.AlertRules.Rule(a.Rule); err == nil {
		t.Href = AlertURL(p, a.Rule)
	}
	if t.Test {
		t.Tone, t.Icon, t.Text = component.Plenty, "info", locale.T(ctx, "alerts.happened.test")
		return t
	}
	look := alertStyle(a)
	t.Tone, t.Icon = look.Tone, look.Icon
	var first alert.Item
	what := ""
	if len(a.Items) > 0 {
		first = a.Items[0]
		what = pages.DisplayPath(first.Path)
		if first.Key != 0 {
			what, t.Where = cmp.Or(first.Subject, first.MessageID, "#"+strconv.FormatInt(int64(first.Seq), 10)), pages.DisplayPath(first.Path)
		}
		t.TargetURL = alertTarget(p, a, first)
	}
	t.Text = locale.N(ctx, look.textID, int(a.Count), locale.Args{"What": component.ShowInvisible(what)})
	if a.Count != 1 {
		return t
	}
	switch {
	case a.Condition == alert.ExpiringSoon && a.Done == 0 && first.Key != 0:
		t.Extend = p.MessageURL(first.Key) + "/extend"
	case a.Condition == alert.DeletingSoon && first.Path != "":
		t.Pin = p.EntityURL(engine.Queue, first.Path) + "/pin"
	}
	return t
}

// alertTarget returns the address that an alert links to.
func alertTarget(p *pages.Pages, a alert.Alert, first alert.Item) string {
	switch {
	case a.Condition == alert.Deleted:
		return p.Home() + "/temporary"
	case a.Condition == alert.DeletingSoon && a.Count > 1:
		return p.Home() + "/temporary"
	case first.Key != 0 && a.Count == 1:
		return p.MessageURL(first.Key)
	case a.Condition == alert.ExpiringSoon:
		return p.Home() + "/expirations"
	default:
		return p.EntityURL(guessKind(first.Path), first.Path)
	}
}

// guessKind guesses an entity's kind from its path: a topic holds no messages that an alert could
// be about.
func guessKind(path engine.Path) engine.EntityKind {
	if _, _, ok := path.Subscription(); ok {
		return engine.Subscription
	}
	return engine.Queue
}

func alertStyle(a alert.Alert) eventStyle {
	switch a.Condition {
	case alert.ExpiringSoon:
		switch {
		case a.Action == alert.Extend && a.Done == a.Count:
			return eventStyle{"clock", component.Plenty, "alerts.happened.extended"}
		case a.Action == alert.DeadLetter && a.Done == a.Count:
			return eventStyle{"dead", component.Dead, "alerts.happened.rescued"}
		}
		return eventStyle{"clock", component.Critical, "alerts.happened.running"}
	case alert.Expired:
		return eventStyle{"lost", component.Lost, "alerts.happened.expired"}
	case alert.DeadLettered:
		return eventStyle{"dead", component.Dead, "alerts.happened.dead"}
	case alert.DeadLettersAbove:
		return eventStyle{"dead", component.Dead, "alerts.happened.over"}
	case alert.DeletingSoon:
		return eventStyle{"hourglass", component.Critical, "alerts.happened.deleting"}
	default:
		return eventStyle{"tomb", component.Lost, "alerts.happened.deleted"}
	}
}

// Alert returns the page of an alert rule.
func Alert(ctx context.Context, p *pages.Pages, at pages.Address) (view.Page, uint64, error) {
	s, err := p.Read(ctx, func(broker.Reader) error { return nil })
	if err != nil {
		return nil, 0, err
	}
	is, err := readAlert(p, at)
	if err != nil {
		return nil, 0, err
	}
	m := activity.AlertRule{
		Shell: p.LiveShell(ctx, at, s, is.Name), All: AlertsURL(p), Row: alertRow(ctx, p, is, s.Now), Missed: int(is.Missed),
		Edit: alertActionURL(p, at, "edit"), Test: alertActionURL(p, at, "test"), Switch: alertActionURL(p, at, "off"), Remove: alertActionURL(p, at, "remove"),
	}
	if is.Off {
		m.Switch = alertActionURL(p, at, "on")
	}
	if p.Options.Webhooks != nil {
		for _, d := range p.Options.Webhooks.Deliveries(is.ID) {
			m.Deliveries = append(m.Deliveries, activity.AlertDelivery{
				Key: d.ID, At: d.At, Now: s.Now.Time(), State: string(d.State), Count: int(d.Count), Attempts: d.Attempts, Error: shorten.To(d.Error, 200), Test: d.Test,
			})
		}
	}
	for _, a := range p.Options.AlertRules.Alerts() {
		if a.Rule != is.ID {
			continue
		}
		t := raisedAlert(ctx, p, a, s.Now)
		t.Rule, t.Href = "", ""
		if m.Raised = append(m.Raised, t); len(m.Raised) == maxRaisedAlerts {
			break
		}
	}
	return pages.Refreshing{Page: m, Every: alertsRefresh}, s.Event, nil
}

func readAlert(p *pages.Pages, at pages.Address) (alert.Status, error) {
	if p.Options.AlertRules == nil {
		return alert.Status{}, pages.ErrPageNotFound
	}
	return p.Options.AlertRules.Rule(alert.ID(at.ID))
}

func alertActionURL(p *pages.Pages, at pages.Address, do string) string {
	return p.URL(pages.Address{Namespace: at.Namespace, Kind: pages.Alert, ID: at.ID, Action: do})
}

// ParseAlert reads the form of a rule. Errors go into t.
func ParseAlert(ctx context.Context, t *pages.FormState) alert.Rule {
	if t.Errors == nil {
		t.Errors = map[string]component.Text{}
	}
	v := t.Values
	length := func(name string) time.Duration {
		text := strings.TrimSpace(v.Get(name))
		if text == "" {
			return 0
		}
		d, never, err := engine.ParseDuration(pages.RemoveSpaces(text))
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
	r := alert.Rule{
		Name: v.Get(activity.AlertName), Condition: alert.Condition(v.Get(activity.AlertWhen)), Scope: v.Get(activity.AlertIn), Query: v.Get(activity.AlertQuery), Reason: v.Get(activity.AlertReason),
		Action: alert.Action(v.Get(activity.AlertThen)), URL: v.Get(activity.AlertURL), Secret: v.Get(activity.AlertSecret),
	}
	switch r.Condition { // only the fields of this condition are read
	case alert.ExpiringSoon:
		if r.Within = length(activity.AlertWithin); r.Action == alert.Extend {
			r.ExtendBy, r.MaxExtensions = length(activity.AlertExtendBy), int(number(activity.AlertMaxExtensions))
		}
	case alert.DeletingSoon:
		r.Within = length(activity.AlertWithin)
	case alert.DeadLettersAbove:
		r.Threshold = number(activity.AlertThreshold)
	case alert.Expired, alert.DeadLettered, alert.Deleted:
	}
	return r
}

// SetAlertError puts an error of a rule beside its field. It returns false if err is not about a
// field.
func SetAlertError(t *pages.FormState, err error) bool {
	e, ok := errors.AsType[*alert.FieldError](err)
	if !ok {
		return false
	}
	text := e.Error()
	if q, ok := errors.AsType[*search.Error](err); ok {
		text = q.Error()
	}
	if t.Errors[e.Field].S == "" {
		t.Errors[e.Field] = component.ServerText(pages.ToSentence(text))
	}
	return true
}

// AlertForm shows the form of a rule and what the rule would do now, or asks to confirm its
// removal.
func AlertForm(ctx context.Context, p *pages.Pages, at pages.Address, t pages.FormState) (view.Page, error) {
	if p.Options.AlertRules == nil {
		return nil, pages.ErrPageNotFound
	}
	m := activity.AlertForm{
		New: at.Kind == pages.Alerts, Cancel: cmp.Or(t.Cancel, AlertsURL(p)), To: p.URL(pages.Address{Namespace: at.Namespace, Kind: pages.Alerts, Action: "new"}),
		Try: p.URL(pages.Address{Namespace: at.Namespace, Kind: pages.Alerts, Action: "try"}), Refused: t.Refused,
	}
	was := alert.Status{Rule: alert.Rule{
		Condition: alert.Condition(cmp.Or(at.Query.Get(queryCondition), string(alert.ExpiringSoon))), Scope: at.Query.Get(queryEntity), Within: time.Minute, Action: alert.Notify, ExtendBy: 10 * time.Minute, MaxExtensions: 3,
	}}
	if !slices.Contains(alert.Conditions(), was.Condition) {
		was.Condition = alert.ExpiringSoon
	}
	if at.Kind == pages.Alert {
		var err error
		if was, err = readAlert(p, at); err != nil {
			return nil, err
		}
		if at.Action == "remove" {
			return activity.ConfirmRemoveAlert{Shell: p.StaticShell(ctx, at, was.Name), Rule: alertDescription(ctx, was.Rule), To: p.URL(at), Cancel: AlertURL(p, was.ID)}, nil
		}
		m.Cancel, m.To, m.Try, m.Secret = AlertURL(p, was.ID), alertActionURL(p, at, "edit"), alertActionURL(p, at, "try"), was.Secret != ""
	}
	sent := t.Values != nil
	if !sent {
		t.Values = alertValues(was.Rule)
	}
	rule := ParseAlert(ctx, &t)
	if len(t.Errors) == 0 {
		f, err := p.Options.AlertRules.Preview(ctx, rule)
		switch refused, ok := errors.AsType[*engine.Refusal](err); {
		case err == nil:
			m.Preview = activity.AlertPreview{Asked: true, Known: f.Known, Count: int(f.Count), More: f.Incomplete, Sample: pages.MessageNames(f.Sample)}
			for _, path := range f.Paths {
				m.Preview.Sample = append(m.Preview.Sample, pages.DisplayPath(path))
			}
		case SetAlertError(&t, err):
		case ok:
			m.Refused = component.Notice{Tone: component.Critical, ServerText: refused.Text}
		default:
			return nil, err
		}
	}
	at.Query = url.Values{}
	m.Values, m.Errors = t.FirstValues(), t.Errors
	m.Shell = p.StaticShell(ctx, at, locale.T(ctx, "alerts.title"))
	for _, w := range alert.Conditions() {
		m.Conditions = append(m.Conditions, string(w))
	}
	for _, then := range alert.Actions() {
		m.Actions = append(m.Actions, string(then))
	}
	err := p.Broker.Read(ctx, func(r broker.Reader) error {
		m.Entities = nil
		for _, kind := range []engine.EntityKind{engine.Queue, engine.Topic} {
			all, err := r.EntityPage(kind, "", 0, maxSuggestedEntities/2)
			if err != nil {
				return err
			}
			for _, e := range all {
				m.Entities = append(m.Entities, string(e.Path))
			}
		}
		return nil
	})
	return m, err
}

// alertValues returns the form values of a rule.
func alertValues(r alert.Rule) url.Values {
	v := url.Values{}
	for name, text := range map[string]string{
		activity.AlertName: r.Name, activity.AlertWhen: string(r.Condition), activity.AlertIn: r.Scope, activity.AlertQuery: r.Query, activity.AlertReason: r.Reason, activity.AlertURL: r.URL,
		activity.AlertThen: string(r.Action), activity.AlertThreshold: strconv.FormatInt(r.Threshold, 10),
		activity.AlertWithin: pages.InputDuration(cmp.Or(r.Within, time.Minute)), activity.AlertExtendBy: pages.InputDuration(cmp.Or(r.ExtendBy, 10*time.Minute)), activity.AlertMaxExtensions: strconv.Itoa(cmp.Or(r.MaxExtensions, 3)),
	} {
		v.Set(name, text)
	}
	return v
}

// Toasts returns the alerts of the last minute as notifications over a page. It leaves out alerts
// up to the number in the address's `after` parameter, and only counts those beyond the first
// maxToasts.
func Toasts(ctx context.Context, p *pages.Pages, at pages.Address) activity.AlertToasts {
	who, _ := ctx.Value(pages.VisitorKey{}).(pages.Visitor)
	m := activity.AlertToasts{CSRF: who.CSRF, All: AlertsURL(p), Back: AlertsURL(p)}
	if p.Options.AlertRules == nil {
		return m
	}
	after, _ := strconv.ParseUint(at.Query.Get(queryAfter), 10, 64) //nolint:errcheck // anything else means all of them
	now := p.Broker.ClockTime()
	for _, a := range p.Options.AlertRules.Alerts() {
		if a.ID <= after || now.Sub(a.At) > toastMaxAge {
			break
		}
		if len(m.Raised) == maxToasts {
			m.More++
			continue
		}
		m.Raised = append(m.Raised, raisedAlert(ctx, p, a, now))
	}
	return m
}
