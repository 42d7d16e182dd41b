package api

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/rescue"
	"mayfly/web/hook"
	"mayfly/web/identity"
)

// NewAlertRule is what POST /alert-rules and PUT /alert-rules/{id} take: what is
// waited for, where, and what is done then. What does not go with that is refused.
type NewAlertRule struct {
	Name     string `json:"name"`               // no other rule has it; up to 60 characters
	Disabled bool   `json:"disabled,omitempty"` // it rests
	When     string `json:"when"`               // running-out, expired, dead-lettered, dead-over, deleting or deleted
	In       string `json:"in,omitempty"`       // an entity, a topic with its subscriptions, or a pattern such as orders*; missing: everywhere
	Query    string `json:"query,omitempty"`    // of running-out and dead-lettered: which messages, in the grammar of search
	Reason   string `json:"reason,omitempty"`   // of dead-lettered: why, or a pattern such as TTL*; missing: whatever the reason
	Within   string `json:"within,omitempty"`   // of running-out and deleting: how long before the end, a duration from 1s to 7d
	Over     int64  `json:"over,omitempty"`     // of dead-over: more dead letters than these
	Then     string `json:"then,omitempty"`     // notify; of running-out also extend or dead-letter; missing: notify
	By       string `json:"by,omitempty"`       // of extend: a duration from 1s to 30d
	Times    int    `json:"times,omitempty"`    // of extend: how often a message is extended at the most, from 1 to 100
	URL      string `json:"url,omitempty"`      // a webhook that is told too: http or https
	Secret   string `json:"secret,omitempty"`   // by which its requests are signed, from 8 to 200 bytes; missing: as it was, if the webhook is at the same host
	DryRun   bool   `json:"dryRun,omitempty"`   // only look what it would do now: the answer is an AlertForecast
}

// AlertRule is a rule for rescue and alerts, and what it has done.
type AlertRule struct {
	ID       int64      `json:"id"`
	Name     string     `json:"name"`
	Disabled bool       `json:"disabled,omitempty"`
	When     string     `json:"when"` // as in NewAlertRule, like what follows
	In       string     `json:"in,omitempty"`
	Query    string     `json:"query,omitempty"`
	Reason   string     `json:"reason,omitempty"`
	Within   string     `json:"within,omitempty"`
	Over     int64      `json:"over,omitempty"`
	Then     string     `json:"then"`
	By       string     `json:"by,omitempty"`
	Times    int        `json:"times,omitempty"`
	URL      string     `json:"url,omitempty"`
	Signed   bool       `json:"signed,omitempty"`  // its webhook's requests are; the secret is told nobody
	Fired    int64      `json:"fired"`             // messages and entities that it has told of
	Done     int64      `json:"done"`              // messages that it has extended or dead-lettered
	Last     *time.Time `json:"last,omitempty"`    // when it fired last
	Missed   int64      `json:"missed,omitempty"`  // events that could not be looked at: they came too fast, or a body could not be read
	Trouble  string     `json:"trouble,omitempty"` // why it could not do what it should; it tries again
}

// AlertRules is the answer of GET /alert-rules.
type AlertRules struct {
	Rules []AlertRule `json:"rules"` // by name
}

// AlertForecast is what a rule would do now.
type AlertForecast struct {
	Known  bool      `json:"known"`            // not of rules that wait for something to happen
	Count  int64     `json:"count"`            // messages or entities
	More   bool      `json:"more,omitempty"`   // there were too many to look at all of them
	Sample []Message `json:"sample,omitempty"` // the first few messages, without their bodies
	Paths  []string  `json:"paths,omitempty"`  // the first few entities
}

// Alerts is the answer of GET /alerts.
type Alerts struct {
	Alerts []Alert `json:"alerts"` // the latest first
}

// Alert is what a rule told: all for which it fired within a second or so.
type Alert struct {
	Number int64       `json:"number"` // ascends
	At     time.Time   `json:"at"`
	Rule   int64       `json:"rule"`
	Name   string      `json:"name"` // of the rule
	When   string      `json:"when"`
	Then   string      `json:"then"`
	Count  int64       `json:"count"`            // messages or entities
	Done   int64       `json:"done,omitempty"`   // messages that were extended or dead-lettered
	Failed int64       `json:"failed,omitempty"` // messages that this was refused for
	Missed int64       `json:"missed,omitempty"` // events that could not be looked at: they came too fast, or a body could not be read
	Test   bool        `json:"test,omitempty"`   // somebody asked for a test
	Items  []AlertItem `json:"items,omitempty"`  // the first hundred
}

// AlertItem is a message or an entity that an alert tells of.
type AlertItem struct {
	Path           string     `json:"path"`
	Key            string     `json:"key,omitempty"` // of a message
	SequenceNumber int64      `json:"sequenceNumber,omitempty"`
	Subject        string     `json:"subject,omitempty"`
	MessageID      string     `json:"messageId,omitempty"`
	ExpiresAt      *time.Time `json:"expiresAt,omitempty"` // of an entity: when it deletes itself
	Reason         string     `json:"reason,omitempty"`    // of a dead letter, or why something was refused
	Count          int64      `json:"count,omitempty"`     // dead letters there, or messages that went with it
}

// Deliveries is the answer of GET /alert-rules/{id}/deliveries.
type Deliveries struct {
	Deliveries []Delivery `json:"deliveries"` // the latest first
}

// Delivery is an event on its way to a webhook, or what became of it.
type Delivery struct {
	ID       string    `json:"id"` // of the event
	At       time.Time `json:"at"`
	Count    int64     `json:"count"` // messages or entities that it tells of
	Test     bool      `json:"test,omitempty"`
	State    string    `json:"state"` // sending, delivered or failed
	Attempts int       `json:"attempts"`
	Status   int       `json:"status,omitempty"` // of the last answer
	Error    string    `json:"error,omitempty"`  // of the last attempt
}

func alertRoutes() []route {
	const example = `{"name":"late orders","when":"running-out","in":"orders","within":"1m","then":"extend","by":"10m","times":3`
	const part = "The number of a rule."
	gone := []string{"AlertRuleNotFound", "NotSupported"}
	bad := []string{"MessagingEntityAlreadyExists", "QuotaExceeded", "NotSupported"}
	return []route{
		{
			method: "POST", path: "/alert-rules", id: "addAlertRule", needs: identity.Admin, group: groupAlerts, summary: "Add a rule that tells, or gives messages more time, before it is too late",
			sends: example + `}`, about: "A rule fires once for a message and the time at which it runs out. There are at most 50 rules.",
			takes: NewAlertRule{}, gives: either{AlertRule{}, AlertForecast{}}, fails: bad, serve: (*door).addAlertRule,
		},
		{method: "GET", path: "/alert-rules", id: "listAlertRules", group: groupAlerts, summary: "All rules for rescue and alerts", gives: AlertRules{}, fails: []string{"NotSupported"}, serve: (*door).alertRules},
		{
			method: "GET", path: "/alert-rules/{id}", id: "getAlertRule", group: groupAlerts, summary: "One rule, and what it has done",
			at: "1", part: part, gives: AlertRule{}, fails: gone, serve: (*door).alertRule,
		},
		{
			method: "PUT", path: "/alert-rules/{id}", id: "replaceAlertRule", needs: identity.Admin, group: groupAlerts, summary: "Give a rule other words",
			at: "1", part: part, sends: example + `,"disabled":true}`, about: "What it has done so far stays its own, and so does its secret if none is given and the webhook is at the same host.",
			takes: NewAlertRule{}, gives: either{AlertRule{}, AlertForecast{}}, fails: append(gone, bad[:2]...), serve: (*door).replaceAlertRule,
		},
		{
			method: "DELETE", path: "/alert-rules/{id}", id: "removeAlertRule", needs: identity.Admin, group: groupAlerts, summary: "Remove a rule",
			at: "1", part: part, fails: gone, serve: (*door).removeAlertRule,
		},
		{
			method: "POST", path: "/alert-rules/{id}/test", id: "testAlertRule", needs: identity.Admin, group: groupAlerts, summary: "Have an alert of a rule arrive, without any reason",
			at: "1", part: part, fails: gone, serve: (*door).testAlertRule,
		},
		{
			method: "GET", path: "/alert-rules/{id}/deliveries", id: "listDeliveries", group: groupAlerts, summary: "The latest events for a rule's webhook",
			at: "1", part: part, gives: Deliveries{}, fails: gone, serve: (*door).deliveries,
		},
		{
			method: "GET", path: "/alerts", id: "listAlerts", group: groupAlerts, summary: "The latest hundred alerts since the server was started",
			gives: Alerts{}, fails: []string{"NotSupported"}, serve: (*door).alertList,
		},
	}
}

func noRules() error {
	return &engine.Refusal{Kind: engine.ErrNotImplemented, Text: "This server has no rules for rescue and alerts."}
}

func presentAlertRule(s rescue.Status) AlertRule {
	length := func(d time.Duration) string {
		if d == 0 {
			return ""
		}
		return engine.FormatDuration(d)
	}
	return AlertRule{
		ID: int64(s.ID), Name: s.Name, Disabled: s.Off, When: string(s.When), In: s.In, Query: s.Query, Reason: s.Reason, Within: length(s.Within), Over: s.Over,
		Then: string(s.Then), By: length(s.By), Times: s.Times, URL: s.URL, Signed: s.Secret != "",
		Fired: s.Fired, Done: s.Done, Last: moment(s.Last), Missed: s.Missed, Trouble: s.Trouble,
	}
}

// rule is what was asked for.
func (in NewAlertRule) rule() (r rescue.Rule, err error) {
	r = rescue.Rule{
		Name: in.Name, Off: in.Disabled, When: rescue.When(in.When), In: in.In, Query: in.Query, Reason: in.Reason, Over: in.Over,
		Then: rescue.Then(in.Then), Times: in.Times, URL: in.URL, Secret: in.Secret,
	}
	for _, f := range []struct {
		name, text string
		to         *time.Duration
	}{{"within", in.Within, &r.Within}, {"by", in.By, &r.By}} {
		if f.text == "" {
			continue
		}
		d, never, err := engine.ParseDuration(f.text)
		if err != nil || never {
			return r, &rescue.FieldError{Field: f.name, Err: argument("%s", engine.WrongDuration(f.name, f.text))}
		}
		*f.to = d
	}
	return r, r.Fits() //nolint:wrapcheck // it says which field
}

// setAlertRule reads a rule, and makes it by set or foresees what it would do.
func (d *door) setAlertRule(c echo.Context, set func(ctx context.Context, r rescue.Rule, actor string) (rescue.Status, error)) error {
	if d.rescue == nil {
		return noRules()
	}
	var in NewAlertRule
	if err := d.read(c, &in); err != nil {
		return err
	}
	r, err := in.rule()
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	if in.DryRun {
		f, err := d.rescue.Foresee(ctx, r)
		if err != nil {
			return err
		}
		out := AlertForecast{Known: f.Known, Count: f.Count, More: f.More}
		for _, row := range f.Sample {
			m, err := presentRow(row)
			if err != nil {
				return err
			}
			m.BodyOmitted = true
			out.Sample = append(out.Sample, m)
		}
		for _, p := range f.Paths {
			out.Paths = append(out.Paths, string(p))
		}
		return reply(c, http.StatusOK, out)
	}
	s, err := set(ctx, r, client(c.Request()))
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, presentAlertRule(s))
}

func (d *door) addAlertRule(c echo.Context) error {
	return d.setAlertRule(c, d.rescue.Add)
}

// ruleID is the number in the address; zero, which no rule has, if that is none.
func ruleID(c echo.Context) rescue.ID {
	n, err := strconv.ParseInt(c.Param("id"), 10, 64)
	if err != nil {
		return 0
	}
	return rescue.ID(n)
}

func (d *door) replaceAlertRule(c echo.Context) error {
	return d.setAlertRule(c, func(ctx context.Context, r rescue.Rule, actor string) (rescue.Status, error) {
		return d.rescue.Replace(ctx, ruleID(c), r, actor)
	})
}

func (d *door) alertRules(c echo.Context) error {
	if d.rescue == nil {
		return noRules()
	}
	out := AlertRules{Rules: []AlertRule{}}
	for _, s := range d.rescue.List() {
		out.Rules = append(out.Rules, presentAlertRule(s))
	}
	return reply(c, http.StatusOK, out)
}

// named is the rule that the address names.
func (d *door) named(c echo.Context) (rescue.Status, error) {
	if d.rescue == nil {
		return rescue.Status{}, noRules()
	}
	s, err := d.rescue.Rule(ruleID(c))
	if err != nil {
		return s, &engine.Refusal{Kind: rescue.ErrNoRule, Text: "There is no rule '" + cut(c.Param("id")) + "' for rescue and alerts."}
	}
	return s, nil
}

func (d *door) alertRule(c echo.Context) error {
	s, err := d.named(c)
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, presentAlertRule(s))
}

func (d *door) removeAlertRule(c echo.Context) error {
	s, err := d.named(c)
	if err == nil {
		err = d.rescue.Remove(c.Request().Context(), s.ID, client(c.Request()))
	}
	if err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

func (d *door) testAlertRule(c echo.Context) error {
	s, err := d.named(c)
	if err == nil {
		err = d.rescue.Test(s.ID)
	}
	if err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

func (d *door) deliveries(c echo.Context) error {
	s, err := d.named(c)
	if err != nil {
		return err
	}
	out := Deliveries{Deliveries: []Delivery{}}
	if d.hooks != nil {
		for _, e := range d.hooks.Deliveries(s.ID) {
			out.Deliveries = append(out.Deliveries, presentDelivery(e))
		}
	}
	return reply(c, http.StatusOK, out)
}

func presentDelivery(e hook.Delivery) Delivery {
	return Delivery{ID: e.ID, At: e.At, Count: e.Count, Test: e.Test, State: string(e.State), Attempts: e.Attempts, Status: e.Status, Error: e.Error}
}

func (d *door) alertList(c echo.Context) error {
	if d.rescue == nil {
		return noRules()
	}
	out := Alerts{Alerts: []Alert{}}
	for _, a := range d.rescue.Alerts() {
		told := Alert{
			Number: int64(a.N), At: a.At.Time(), Rule: int64(a.Rule), Name: a.Name, When: string(a.When), Then: string(a.Then), //nolint:gosec // milliseconds since 1970
			Count: a.Count, Done: a.Done, Failed: a.Failed, Missed: a.Missed, Test: a.Test,
		}
		for _, it := range a.Items {
			item := AlertItem{
				Path: string(it.Path), SequenceNumber: int64(it.Seq), Subject: it.Subject, MessageID: it.MessageID,
				ExpiresAt: moment(it.Expires), Reason: it.Reason, Count: it.Count,
			}
			if it.Key != 0 {
				item.Key = strconv.FormatUint(uint64(it.Key), 10)
			}
			told.Items = append(told.Items, item)
		}
		out.Alerts = append(out.Alerts, told)
	}
	return reply(c, http.StatusOK, out)
}
