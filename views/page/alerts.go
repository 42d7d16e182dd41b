package page

import (
	"context"
	"slices"
	"time"

	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/view"
)

// Alerts is the page of rules that tell, or do something, before it is too late,
// and of what they told.
type Alerts struct {
	Shell layout.Shell
	New   string // address of the form for a new one
	About string // the entity that these are about, as shown; empty: all are here
	All   string // where all are, if these are about one
	Rules []AlertRow
	Told  []Told
}

// AlertRow is one rule.
type AlertRow struct {
	Key     string
	Href    string
	Rule    AlertWords
	Off     bool
	Trouble string // why it could not do what it should; empty: it could
	Fired   int
	Done    int
	Last    time.Time // zero: it has not fired yet
	Now     time.Time
}

// AlertWords are what a rule says, as people read it.
type AlertWords struct {
	Name    string
	When    string // running-out, expired, dead-lettered, dead-over, deleting or deleted
	In      string // empty: everywhere
	Query   string
	Reason  string
	Within  string
	Over    int
	Then    string // notify, extend or dead-letter
	By      string
	Times   int
	Webhook string // its host; empty: none
	Signed  bool
}

// whenIDs are the ids of what rules wait for, in a form and in a sentence.
func whenIDs(when string) (name, says string) {
	switch when {
	case "running-out":
		return "alerts.when.running", "alerts.says.running"
	case "expired":
		return "alerts.when.expired", "alerts.says.expired"
	case "dead-lettered":
		return "alerts.when.dead", "alerts.says.dead"
	case "dead-over":
		return "alerts.when.over", "alerts.says.over"
	case "deleting":
		return "alerts.when.deleting", "alerts.says.deleting"
	default:
		return "alerts.when.deleted", "alerts.says.deleted"
	}
}

// waits is what a rule waits for, as a sentence.
func (w AlertWords) waits(ctx context.Context) string {
	_, says := whenIDs(w.When)
	in := component.Visible(w.In)
	if in == "" {
		in = locale.T(ctx, "alerts.anywhere")
	}
	return locale.T(ctx, says, locale.Args{"In": in, "Within": w.Within, "Over": locale.Number(ctx, w.Over)})
}

// does is what a rule does then, beside telling; empty: nothing.
func (w AlertWords) does(ctx context.Context) string {
	switch w.Then {
	case "extend":
		return locale.N(ctx, "alerts.does.extend", w.Times, locale.Args{"By": w.By})
	case "dead-letter":
		return locale.T(ctx, "alerts.does.dead")
	default:
		return ""
	}
}

// Told is an alert.
type Told struct {
	Key    string
	At     time.Time
	Now    time.Time
	Rule   string
	Href   string // of the rule; empty: it is gone
	Says   string
	Tone   component.Tone
	Icon   string
	Where  string // of the first
	Goes   string // address of the first message or entity; empty: it is gone
	Test   bool
	Extend string // address that gives the one message more time; empty: none
	Pin    string // address that keeps the one entity; empty: none
}

// Full is the page.
func (m Alerts) Full() templ.Component { return alerts(m) }

// Watches is none: what rules do has its own ways to be known.
func (m Alerts) Watches() []string { return []string{noEntity} }

// Parts is what is live in the page.
func (m Alerts) Parts() []view.Part {
	return append(m.Shell.Parts(),
		list("rows", m.Rules, func(r AlertRow) view.Row { return view.Row{Key: r.Key, Content: alertRow(r)} }),
		slot("empty", alertsEmpty(m)),
		list("told", m.Told, func(t Told) view.Row { return view.Row{Key: t.Key, Content: toldRow(t)} }),
		slot("told-empty", toldEmpty(m)),
	)
}

// look is how the state of a rule is shown.
func (r AlertRow) look() (tone component.Tone, icon, name string) {
	switch {
	case r.Off:
		return component.Low, "pause", "alerts.state.off"
	case r.Trouble != "":
		return component.Critical, "warn", "alerts.state.trouble"
	default:
		return component.Plenty, "check", "alerts.state.on"
	}
}

// AlertRule is the page of one rule.
type AlertRule struct {
	Shell      layout.Shell
	All        string // address of all rules
	Row        AlertRow
	Missed     int
	Deliveries []AlertDelivery
	Told       []Told // its own

	Edit, Test, Switch, Remove string // addresses
}

// AlertDelivery is what became of an event for a webhook.
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

// Full is the page.
func (m AlertRule) Full() templ.Component { return alertRule(m) }

// Watches is none, as of Alerts.
func (m AlertRule) Watches() []string { return []string{noEntity} }

// Parts is what is live in the page.
func (m AlertRule) Parts() []view.Part {
	return append(m.Shell.Parts(),
		slot("deeds", alertDeeds(m)),
		slot("notices", alertNotices(m)),
		slot("facts", alertFacts(m)),
		slot("deliveries", alertDeliveries(m)),
		slot("told", alertTold(m)),
	)
}

// The fields of the form for a rule.
const (
	AlertName   = "name"
	AlertWhen   = "when"
	AlertIn     = "in"
	AlertQuery  = "query"
	AlertReason = "reason"
	AlertWithin = "within"
	AlertOver   = "over"
	AlertThen   = "then"
	AlertBy     = "by"
	AlertTimes  = "times"
	AlertURL    = "url"
	AlertSecret = "secret"
)

// AlertForm asks for a rule, and says what it would do now.
type AlertForm struct {
	Shell    layout.Shell
	New      bool
	To       string // the address it posts to
	Try      string // that only looks what it would do
	Cancel   string
	Whens    []string
	Thens    []string
	Entities []string // that there are
	Values   map[string]string
	Errors   map[string]component.Text
	Refused  component.Notice
	Secret   bool // there is one, which is kept if no other is given
	Foreseen AlertForesight
}

// AlertForesight is what a rule would do now.
type AlertForesight struct {
	Asked  bool // the fields can be read
	Known  bool // not of rules that wait for something to happen
	Count  int
	More   bool
	Sample []string
}

func (m AlertForm) title(ctx context.Context) string {
	if m.New {
		return locale.T(ctx, "alerts.new")
	}
	return locale.T(ctx, "alerts.edit", locale.Args{"Name": component.Visible(m.Values[AlertName])})
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
	case AlertWithin, AlertBy:
		f.Short = true
	case AlertOver, AlertTimes:
		f.Kind, f.Short = component.Numeric, true
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
	f := component.Field{Name: name, Label: locale.T(ctx, label), Value: m.Values[name], Error: m.Errors[name], Kind: component.Select, Text: true}
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

func thenNames() map[string]string {
	return map[string]string{"notify": "alerts.then.notify", "extend": "alerts.then.extend", "dead-letter": "alerts.then.dead"}
}

// verdict is what the rule would do now, as a sentence.
func (m AlertForm) verdict(ctx context.Context) string {
	f := m.Foreseen
	switch {
	case !f.Asked:
		return locale.T(ctx, "alerts.foresee.unread")
	case !f.Known:
		return locale.T(ctx, "alerts.foresee.waits")
	case slices.Contains([]string{"dead-over", "deleting"}, m.Values[AlertWhen]):
		return locale.N(ctx, "alerts.foresee.entities", f.Count)
	case f.More:
		return locale.N(ctx, "alerts.foresee.more", f.Count)
	default:
		return locale.N(ctx, "alerts.foresee.messages", f.Count)
	}
}

// Full is the page.
func (m AlertForm) Full() templ.Component { return alertForm(m) }

// Watches is none: a form stays as it is.
func (m AlertForm) Watches() []string { return nil }

// Parts is what stands around the form.
func (m AlertForm) Parts() []view.Part { return m.Shell.Parts() }

// RemoveAlert asks before a rule is removed.
type RemoveAlert struct {
	Shell  layout.Shell
	Rule   AlertWords
	To     string
	Cancel string
}

// Full is the page.
func (m RemoveAlert) Full() templ.Component { return removeAlert(m) }

// Asks is the form of the page.
func (m RemoveAlert) Asks() templ.Component { return removeAlertForm(m) }

// Watches is none: a question stays as it is.
func (m RemoveAlert) Watches() []string { return nil }

// Parts is what stands around the question.
func (m RemoveAlert) Parts() []view.Part { return m.Shell.Parts() }

// AlertToasts is what open pages show of the latest alerts; the script fetches it.
type AlertToasts struct {
	CSRF string
	All  string // address of all rules
	Back string // where what is done leads to
	Told []Told
	More int // alerts beside those
}

// Full is the fragment.
func (m AlertToasts) Full() templ.Component { return alertToasts(m) }
