package activity

import (
	"context"
	"slices"
	"time"

	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/view"
)

// Alerts is the page of alert rules and of the alerts they raised.
type Alerts struct {
	Shell  layout.Shell
	New    string // address of the form for a new rule
	About  string // the entity whose rules and alerts are listed, as shown; empty means all entities
	All    string // address of all rules, if About is set
	Rules  []AlertRuleRow
	Raised []RaisedAlert
}

// AlertRuleRow is a rule in the list.
type AlertRuleRow struct {
	Key     string
	Href    string
	Rule    AlertDescription
	Off     bool
	Trouble string // why it failed last; empty if it did not
	Fired   int
	Done    int
	Last    time.Time // zero if never fired
	Now     time.Time
}

// AlertDescription is a rule for display.
type AlertDescription struct {
	Name    string
	When    string // expiring, expired, dead-lettered, dead-letter-count, auto-deleting or auto-deleted
	In      string // empty means everywhere
	Query   string
	Reason  string
	Within  string
	Over    int
	Then    string // notify, extend or dead-letter
	By      string
	Times   int
	Webhook string // its host; empty means none
	Signed  bool
}

// whenIDs returns the text ids of a condition, for a form and for a sentence.
func whenIDs(when string) (name, says string) {
	switch when {
	case "expiring":
		return "alerts.when.running", "alerts.says.running"
	case "expired":
		return "alerts.when.expired", "alerts.says.expired"
	case "dead-lettered":
		return "alerts.when.dead", "alerts.says.dead"
	case "dead-letter-count":
		return "alerts.when.over", "alerts.says.over"
	case "auto-deleting":
		return "alerts.when.deleting", "alerts.says.deleting"
	default:
		return "alerts.when.deleted", "alerts.says.deleted"
	}
}

// conditionText returns the rule's condition as a sentence.
func (w AlertDescription) conditionText(ctx context.Context) string {
	_, says := whenIDs(w.When)
	in := component.ShowInvisible(w.In)
	if in == "" {
		in = locale.T(ctx, "alerts.anywhere")
	}
	return locale.T(ctx, says, locale.Args{"In": in, "Within": w.Within, "Over": locale.Number(ctx, w.Over)})
}

// actionText returns the rule's action as a sentence, or "" if it only notifies.
func (w AlertDescription) actionText(ctx context.Context) string {
	switch w.Then {
	case "extend":
		return locale.N(ctx, "alerts.does.extend", w.Times, locale.Args{"By": w.By})
	case "dead-letter":
		return locale.T(ctx, "alerts.does.dead")
	default:
		return ""
	}
}

// RaisedAlert is an alert in the list.
type RaisedAlert struct {
	Key       string
	At        time.Time
	Now       time.Time
	Rule      string
	Href      string // of the rule; empty if it was removed
	Text      string
	Tone      component.Tone
	Icon      string
	Where     string // entity of the first item
	TargetURL string // address of the first message or entity; empty if it is gone
	Test      bool
	Extend    string // address that extends the only message; empty means none
	Pin       string // address that pins the only entity; empty means none
}

// Full returns the whole page.
func (m Alerts) Full() templ.Component { return alerts(m) }

// Watches returns no real entity: the page is refreshed, not driven by events.
func (m Alerts) Watches() []string { return []string{page.NoEntity} }

// Parts returns the live parts of the page.
func (m Alerts) Parts() []view.Part {
	return append(m.Shell.Parts(),
		page.List("rows", m.Rules, func(r AlertRuleRow) view.Row { return view.Row{Key: r.Key, Content: alertRow(r)} }),
		page.Slot("empty", alertsEmpty(m)),
		page.List("told", m.Raised, func(t RaisedAlert) view.Row { return view.Row{Key: t.Key, Content: raisedAlertRow(t)} }),
		page.Slot("told-empty", raisedAlertsEmpty(m)),
	)
}

// look returns the tone, the icon and the text id of the rule's state.
func (r AlertRuleRow) look() (tone component.Tone, icon, name string) {
	switch {
	case r.Off:
		return component.Low, "pause", "alerts.state.off"
	case r.Trouble != "":
		return component.Critical, "warn", "alerts.state.trouble"
	default:
		return component.Plenty, "check", "alerts.state.on"
	}
}

// AlertRule is the page of a rule.
type AlertRule struct {
	Shell      layout.Shell
	All        string // address of all rules
	Row        AlertRuleRow
	Missed     int
	Deliveries []AlertDelivery
	Raised     []RaisedAlert // of this rule

	Edit, Test, Switch, Remove string // addresses
}

// AlertDelivery is a delivery of an event to a webhook.
type AlertDelivery struct {
	Key      string
	At       time.Time
	Now      time.Time
	State    string // sending, delivered or failed
	Count    int
	Attempts int
	Error    string
	Test     bool
}

func (d AlertDelivery) look() (tone component.Tone, icon, name string) {
	switch d.State {
	case "delivered":
		return component.Plenty, "check", "alerts.delivery.delivered"
	case "failed":
		return component.Critical, "warn", "alerts.delivery.failed"
	default:
		return component.Never, "clock", "alerts.delivery.sending"
	}
}

// Full returns the whole page.
func (m AlertRule) Full() templ.Component { return alertRule(m) }

// Watches returns no real entity, as for Alerts.
func (m AlertRule) Watches() []string { return []string{page.NoEntity} }

// Parts returns the live parts of the page.
func (m AlertRule) Parts() []view.Part {
	return append(m.Shell.Parts(),
		page.Slot("deeds", alertActions(m)),
		page.Slot("notices", alertNotices(m)),
		page.Slot("facts", alertFacts(m)),
		page.Slot("deliveries", alertDeliveries(m)),
		page.Slot("told", alertRaised(m)),
	)
}

// The fields of the form for a rule.
const (
	AlertName          = "name"
	AlertWhen          = "when"
	AlertIn            = "in"
	AlertQuery         = "query"
	AlertReason        = "reason"
	AlertWithin        = "within"
	AlertThreshold     = "threshold"
	AlertThen          = "then"
	AlertExtendBy      = "extendBy"
	AlertMaxExtensions = "maxExtensions"
	AlertURL           = "url"
	AlertSecret        = "secret"
)

// AlertForm is the form of a rule, with a preview of what the rule would do now.
type AlertForm struct {
	Shell      layout.Shell
	New        bool
	To         string // the address it posts to
	Try        string // address that only shows what the rule would do
	Cancel     string
	Conditions []string
	Actions    []string
	Entities   []string // to choose from
	Values     map[string]string
	Errors     map[string]component.Text
	Refused    component.Notice
	Secret     bool // a secret is stored, and kept if no other is typed
	Preview    AlertPreview
}

// AlertPreview is what a rule would do now.
type AlertPreview struct {
	Asked  bool // false if the fields cannot be read, and nothing was previewed
	Known  bool // false for rules that wait for an event
	Count  int
	More   bool
	Sample []string
}

func (m AlertForm) title(ctx context.Context) string {
	if m.New {
		return locale.T(ctx, "alerts.new")
	}
	return locale.T(ctx, "alerts.edit", locale.Args{"Name": component.ShowInvisible(m.Values[AlertName])})
}

func (m AlertForm) field(ctx context.Context, name, label, tip string) component.Field {
	f := component.Field{Name: name, Label: locale.T(ctx, label), Value: m.Values[name], Error: m.Errors[name], Focus: m.Errors[name].S != ""}
	if tip != "" {
		f.Tip = []component.Text{{S: locale.T(ctx, tip)}}
	}
	switch name {
	case AlertName:
		f.Text, f.Required, f.Placeholder = true, true, "late orders"
		f.Focus = f.Focus || m.New && len(m.Errors) == 0
	case AlertIn:
		f.List, f.Placeholder = m.Entities, "orders*"
	case AlertWithin, AlertExtendBy:
		f.Short = true
	case AlertThreshold, AlertMaxExtensions:
		f.Kind, f.Short = component.NumberField, true
	case AlertURL:
		f.Placeholder = "https://"
	case AlertSecret:
		f.Value = ""
		if m.Secret {
			f.Placeholder = locale.T(ctx, "alerts.secret.kept")
		}
	}
	return f
}

func (m AlertForm) choice(ctx context.Context, name, label string, values []string, ids map[string]string) component.Field {
	f := component.Field{Name: name, Label: locale.T(ctx, label), Value: m.Values[name], Error: m.Errors[name], Kind: component.SelectField, Text: true}
	for _, v := range values {
		f.Options = append(f.Options, component.Option{Value: v, Label: locale.T(ctx, ids[v])})
	}
	return f
}

func whenNames(whens []string) map[string]string {
	out := map[string]string{}
	for _, w := range whens {
		out[w], _ = whenIDs(w)
	}
	return out
}

var thenNames = map[string]string{
	"notify": "alerts.then.notify", "extend": "alerts.then.extend", "dead-letter": "alerts.then.dead",
}

// verdict returns what the rule would do now as a sentence.
func (m AlertForm) verdict(ctx context.Context) string {
	f := m.Preview
	switch {
	case !f.Asked:
		return locale.T(ctx, "alerts.foresee.unread")
	case !f.Known:
		return locale.T(ctx, "alerts.foresee.waits")
	case slices.Contains([]string{"dead-letter-count", "auto-deleting"}, m.Values[AlertWhen]):
		return locale.N(ctx, "alerts.foresee.entities", f.Count)
	case f.More:
		return locale.N(ctx, "alerts.foresee.more", f.Count)
	default:
		return locale.N(ctx, "alerts.foresee.messages", f.Count)
	}
}

// Full returns the whole page.
func (m AlertForm) Full() templ.Component { return alertForm(m) }

// Watches returns nil, because the page is not live.
func (m AlertForm) Watches() []string { return nil }

// Parts returns the shell's parts: the form is not live.
func (m AlertForm) Parts() []view.Part { return m.Shell.Parts() }

// ConfirmRemoveAlert asks to confirm the removal of a rule.
type ConfirmRemoveAlert struct {
	Shell  layout.Shell
	Rule   AlertDescription
	To     string
	Cancel string
}

// Full returns the whole page.
func (m ConfirmRemoveAlert) Full() templ.Component { return confirmRemoveAlert(m) }

// Dialog returns the form of the page.
func (m ConfirmRemoveAlert) Dialog() templ.Component { return confirmRemoveAlertForm(m) }

// Watches returns nil, because the page is not live.
func (m ConfirmRemoveAlert) Watches() []string { return nil }

// Parts returns the shell's parts: the confirmation form is not live.
func (m ConfirmRemoveAlert) Parts() []view.Part { return m.Shell.Parts() }

// AlertToasts is the fragment with the latest alerts for open pages, fetched by the script.
type AlertToasts struct {
	CSRF   string
	All    string // address of all rules
	Back   string // address to return to after an action
	Raised []RaisedAlert
	More   int // further alerts
}

// Full returns the fragment.
func (m AlertToasts) Full() templ.Component { return alertToasts(m) }
