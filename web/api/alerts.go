package api

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/alert"
	"mayfly/engine/shorten"
	"mayfly/web/auth"
	"mayfly/web/webhook"
)

// NewAlertRule is the request of POST /alert-rules and PUT /alert-rules/{id}: the condition,
// its scope, and the action. Fields that do not fit the condition or action are refused.
type NewAlertRule struct {
	Name          string `json:"name"`                    // unique; up to 60 characters
	Disabled      bool   `json:"disabled,omitempty"`      // the rule is paused
	When          string `json:"when"`                    // expiring, expired, dead-lettered, dead-letter-count, auto-deleting or auto-deleted
	In            string `json:"in,omitempty"`            // an entity (a topic includes its subscriptions) or a pattern such as orders*; missing means everywhere
	Query         string `json:"query,omitempty"`         // for expiring and dead-lettered: which messages, in the grammar of search
	Reason        string `json:"reason,omitempty"`        // for dead-lettered: the dead-letter reason, or a pattern such as TTL*; missing means any reason
	Within        string `json:"within,omitempty"`        // for expiring and auto-deleting: how long before the end, a duration from 1s to 7d
	Threshold     int64  `json:"threshold,omitempty"`     // for dead-letter-count: fires above this number of dead letters
	Then          string `json:"then,omitempty"`          // notify; for expiring also extend or dead-letter; missing means notify
	ExtendBy      string `json:"extendBy,omitempty"`      // for extend: a duration from 1s to 30d
	MaxExtensions int    `json:"maxExtensions,omitempty"` // for extend: how often a message is extended at most, from 1 to 100
	URL           string `json:"url,omitempty"`           // a webhook to notify: http or https
	Secret        string `json:"secret,omitempty"`        // signs the webhook's requests, from 8 to 200 bytes; missing keeps the former secret if the webhook is at the same host
	DryRun        bool   `json:"dryRun,omitempty"`        // only preview what the rule would do now: the answer is an AlertPreview
}

// AlertRule is an alert rule and its statistics.
type AlertRule struct {
	ID            int64      `json:"id"`
	Name          string     `json:"name"`
	Disabled      bool       `json:"disabled,omitempty"`
	When          string     `json:"when"` // as in NewAlertRule, like the following fields
	In            string     `json:"in,omitempty"`
	Query         string     `json:"query,omitempty"`
	Reason        string     `json:"reason,omitempty"`
	Within        string     `json:"within,omitempty"`
	Threshold     int64      `json:"threshold,omitempty"`
	Then          string     `json:"then"`
	ExtendBy      string     `json:"extendBy,omitempty"`
	MaxExtensions int        `json:"maxExtensions,omitempty"`
	URL           string     `json:"url,omitempty"`
	Signed        bool       `json:"signed,omitempty"`      // the webhook's requests are signed; the secret is never returned
	Fired         int64      `json:"fired"`                 // messages and entities that it has fired for
	Done          int64      `json:"done"`                  // messages that it has extended or dead-lettered
	LastFiredAt   *time.Time `json:"lastFiredAt,omitempty"` // when it last fired
	Missed        int64      `json:"missed,omitempty"`      // events that could not be checked: they came too fast, or a body could not be read
	Error         string     `json:"error,omitempty"`       // why its action fails; it is retried
}

// AlertRules is the answer of GET /alert-rules.
type AlertRules struct {
	Rules []AlertRule `json:"rules"` // by name
}

// AlertPreview previews what a rule would do now.
type AlertPreview struct {
	Countable bool      `json:"countable"`         // false for rules whose condition is an event
	Count     int64     `json:"count"`             // messages or entities
	AtLeast   bool      `json:"atLeast,omitempty"` // there were too many to check all of them
	Sample    []Message `json:"sample,omitempty"`  // the first few messages, without their bodies
	Paths     []string  `json:"paths,omitempty"`   // the first few entities
}

// Alerts is the answer of GET /alerts.
type Alerts struct {
	Alerts []Alert `json:"alerts"` // the latest first
}

// Alert is a notice of a rule, for all messages and entities for which it fired within about a
// second.
type Alert struct {
	Number int64       `json:"number"` // ascending
	At     time.Time   `json:"at"`
	Rule   int64       `json:"rule"`
	Name   string      `json:"name"` // of the rule
	When   string      `json:"when"`
	Then   string      `json:"then"`
	Count  int64       `json:"count"`            // messages or entities
	Done   int64       `json:"done,omitempty"`   // messages that were extended or dead-lettered
	Failed int64       `json:"failed,omitempty"` // messages for which that failed
	Missed int64       `json:"missed,omitempty"` // events that could not be checked: they came too fast, or a body could not be read
	Test   bool        `json:"test,omitempty"`   // sent by request, as a test
	Items  []AlertItem `json:"items,omitempty"`  // the first hundred
}

// AlertItem is a message or an entity of an alert.
type AlertItem struct {
	Path           string     `json:"path"`
	Key            string     `json:"key,omitempty"` // of a message
	SequenceNumber int64      `json:"sequenceNumber,omitempty"`
	Subject        string     `json:"subject,omitempty"`
	MessageID      string     `json:"messageId,omitempty"`
	ExpiresAt      *time.Time `json:"expiresAt,omitempty"` // for an entity: when it deletes itself
	Reason         string     `json:"reason,omitempty"`    // why a message was dead-lettered, or why the action failed
	Count          int64      `json:"count,omitempty"`     // number of dead letters in the entity, or of messages that were deleted with it
}

// Deliveries is the answer of GET /alert-rules/{id}/deliveries.
type Deliveries struct {
	Deliveries []Delivery `json:"deliveries"` // the latest first
}

// Delivery is an event for a webhook and the state of its delivery.
type Delivery struct {
	ID       string    `json:"id"` // of the event
	At       time.Time `json:"at"`
	Count    int64     `json:"count"` // messages or entities in it
	Test     bool      `json:"test,omitempty"`
	State    string    `json:"state"` // sending, delivered or failed
	Attempts int       `json:"attempts"`
	Status   int       `json:"status,omitempty"` // of the last answer
	Error    string    `json:"error,omitempty"`  // of the last attempt
}

func alertRoutes() []route {
	const example = `{"name":"late orders","when":"expiring","in":"orders","within":"1m","then":"extend","extendBy":"10m","maxExtensions":3`
	const part = "The number of a rule."
	gone := []string{"AlertRuleNotFound", "NotSupported"}
	bad := []string{"MessagingEntityAlreadyExists", "QuotaExceeded", "NotSupported"}
	return []route{
		{
			method: "POST", path: "/alert-rules", id: "createAlertRule", role: auth.Admin, group: groupAlerts, summary: "Add an alert rule",
			exampleBody: example + `}`, description: "A rule notifies, extends a message's time to live, or dead-letters it. It fires once for each message and expiry time. There are at most 50 rules.",
			request: NewAlertRule{}, response: oneOf{AlertRule{}, AlertPreview{}}, problems: bad, handle: (*handler).addAlertRule,
		},
		{method: "GET", path: "/alert-rules", id: "listAlertRules", group: groupAlerts, summary: "List alert rules", response: AlertRules{}, problems: []string{"NotSupported"}, handle: (*handler).alertRules},
		{
			method: "GET", path: "/alert-rules/{id}", id: "getAlertRule", group: groupAlerts, summary: "Get an alert rule and its statistics",
			exampleParam: "1", nameMeaning: part, response: AlertRule{}, problems: gone, handle: (*handler).alertRule,
		},
		{
			method: "PUT", path: "/alert-rules/{id}", id: "replaceAlertRule", role: auth.Admin, group: groupAlerts, summary: "Replace an alert rule",
			exampleParam: "1", nameMeaning: part, exampleBody: example + `,"disabled":true}`, description: "Its statistics stay. Its secret stays if the request has none and the webhook is at the same host.",
			request: NewAlertRule{}, response: oneOf{AlertRule{}, AlertPreview{}}, problems: append(gone, bad[:2]...), handle: (*handler).replaceAlertRule,
		},
		{
			method: "DELETE", path: "/alert-rules/{id}", id: "deleteAlertRule", role: auth.Admin, group: groupAlerts, summary: "Delete a rule",
			exampleParam: "1", nameMeaning: part, problems: gone, handle: (*handler).removeAlertRule,
		},
		{
			method: "POST", path: "/alert-rules/{id}/test", id: "testAlertRule", role: auth.Admin, group: groupAlerts, summary: "Send a test alert of a rule",
			exampleParam: "1", nameMeaning: part, problems: gone, handle: (*handler).testAlertRule,
		},
		{
			method: "GET", path: "/alert-rules/{id}/deliveries", id: "listDeliveries", group: groupAlerts, summary: "List the latest deliveries to a rule's webhook",
			exampleParam: "1", nameMeaning: part, response: Deliveries{}, problems: gone, handle: (*handler).deliveries,
		},
		{
			method: "GET", path: "/alerts", id: "listAlerts", group: groupAlerts, summary: "List the latest hundred alerts since the server was started",
			response: Alerts{}, problems: []string{"NotSupported"}, handle: (*handler).alertList,
		},
	}
}

func errNoAlertRules() error {
	return engine.Refuse(engine.ErrNotImplemented, "This server has no alert rules.")
}

func presentAlertRule(s alert.Status) AlertRule {
	length := func(d time.Duration) string {
		if d == 0 {
			return ""
		}
		return engine.FormatDuration(d)
	}
	return AlertRule{
		ID: int64(s.ID), Name: s.Name, Disabled: s.Off, When: string(s.Condition), In: s.Scope, Query: s.Query, Reason: s.Reason, Within: length(s.Within), Threshold: s.Threshold,
		Then: string(s.Action), ExtendBy: length(s.ExtendBy), MaxExtensions: s.MaxExtensions, URL: s.URL, Signed: s.Secret != "",
		Fired: s.Fired, Done: s.Done, LastFiredAt: timeOf(s.Last), Missed: s.Missed, Error: s.Trouble,
	}
}

// parse converts the request to an alert rule.
func (in NewAlertRule) parse() (r alert.Rule, err error) {
	r = alert.Rule{
		Name: in.Name, Off: in.Disabled, Condition: alert.Condition(in.When), Scope: in.In, Query: in.Query, Reason: in.Reason, Threshold: in.Threshold,
		Action: alert.Action(in.Then), MaxExtensions: in.MaxExtensions, URL: in.URL, Secret: in.Secret,
	}
	for _, f := range []struct {
		name, text string
		to         *time.Duration
	}{{"within", in.Within, &r.Within}, {"extendBy", in.ExtendBy, &r.ExtendBy}} {
		if f.text == "" {
			continue
		}
		d, never, err := engine.ParseDuration(f.text)
		if err != nil || never {
			return r, &alert.FieldError{Field: f.name, Err: engine.Refuse(engine.ErrArgument, "%s", engine.DurationErrorText(f.name, f.text))}
		}
		*f.to = d
	}
	return r, r.CheckFields()
}

// setAlertRule reads a rule from the request. With dryRun it answers with a preview, and otherwise
// saves the rule by calling `set`.
func (d *handler) setAlertRule(c echo.Context, set func(ctx context.Context, r alert.Rule, actor string) (alert.Status, error)) error {
	if d.alerts == nil {
		return errNoAlertRules()
	}
	var in NewAlertRule
	if err := d.read(c, &in); err != nil {
		return err
	}
	r, err := in.parse()
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	if in.DryRun {
		f, err := d.alerts.Preview(ctx, r)
		if err != nil {
			return err
		}
		out := AlertPreview{Countable: f.Known, Count: f.Count, AtLeast: f.Incomplete}
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

func (d *handler) addAlertRule(c echo.Context) error {
	return d.setAlertRule(c, d.alerts.Add)
}

// ruleID returns the number in the address, or zero, which no rule has, if it is not a number.
func ruleID(c echo.Context) alert.ID {
	n, err := strconv.ParseInt(c.Param("id"), 10, 64)
	if err != nil {
		return 0
	}
	return alert.ID(n)
}

func (d *handler) replaceAlertRule(c echo.Context) error {
	return d.setAlertRule(c, func(ctx context.Context, r alert.Rule, actor string) (alert.Status, error) {
		return d.alerts.Replace(ctx, ruleID(c), r, actor)
	})
}

func (d *handler) alertRules(c echo.Context) error {
	if d.alerts == nil {
		return errNoAlertRules()
	}
	out := AlertRules{Rules: []AlertRule{}}
	for _, s := range d.alerts.List() {
		out.Rules = append(out.Rules, presentAlertRule(s))
	}
	return reply(c, http.StatusOK, out)
}

// namedAlertRule returns the rule whose number is in the address. The error is alert.ErrNoRule, or
// engine.ErrNotImplemented if the server has no alert rules.
func (d *handler) namedAlertRule(c echo.Context) (alert.Status, error) {
	if d.alerts == nil {
		return alert.Status{}, errNoAlertRules()
	}
	s, err := d.alerts.Rule(ruleID(c))
	if err != nil {
		return s, engine.Refuse(alert.ErrNoRule, "%s", "The alert rule '"+shorten.Quote(c.Param("id"))+"' does not exist.")
	}
	return s, nil
}

func (d *handler) alertRule(c echo.Context) error {
	s, err := d.namedAlertRule(c)
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, presentAlertRule(s))
}

func (d *handler) removeAlertRule(c echo.Context) error {
	s, err := d.namedAlertRule(c)
	if err == nil {
		err = d.alerts.Remove(c.Request().Context(), s.ID, client(c.Request()))
	}
	if err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

func (d *handler) testAlertRule(c echo.Context) error {
	s, err := d.namedAlertRule(c)
	if err == nil {
		err = d.alerts.Test(c.Request().Context(), s.ID)
	}
	if err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

func (d *handler) deliveries(c echo.Context) error {
	s, err := d.namedAlertRule(c)
	if err != nil {
		return err
	}
	out := Deliveries{Deliveries: []Delivery{}}
	if d.webhooks != nil {
		for _, e := range d.webhooks.Deliveries(s.ID) {
			out.Deliveries = append(out.Deliveries, presentDelivery(e))
		}
	}
	return reply(c, http.StatusOK, out)
}

func presentDelivery(e webhook.Delivery) Delivery {
	return Delivery{ID: e.ID, At: e.At, Count: e.Count, Test: e.Test, State: string(e.State), Attempts: e.Attempts, Status: e.Status, Error: e.Error}
}

func (d *handler) alertList(c echo.Context) error {
	if d.alerts == nil {
		return errNoAlertRules()
	}
	out := Alerts{Alerts: []Alert{}}
	for _, a := range d.alerts.Alerts() {
		shown := Alert{
			Number: int64(a.ID), At: a.At.Time(), Rule: int64(a.Rule), Name: a.Name, When: string(a.Condition), Then: string(a.Action),
			Count: a.Count, Done: a.Done, Failed: a.Failed, Missed: a.Missed, Test: a.Test,
		}
		for _, it := range a.Items {
			item := AlertItem{
				Path: string(it.Path), SequenceNumber: int64(it.Seq), Subject: it.Subject, MessageID: it.MessageID,
				ExpiresAt: timeOf(it.Expires), Reason: it.Reason, Count: it.Count,
			}
			if it.Key != 0 {
				item.Key = strconv.FormatUint(uint64(it.Key), 10)
			}
			shown.Items = append(shown.Items, item)
		}
		out.Alerts = append(out.Alerts, shown)
	}
	return reply(c, http.StatusOK, out)
}
