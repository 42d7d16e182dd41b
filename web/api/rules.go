package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/filter"
	"mayfly/engine/shorten"
	"mayfly/engine/value"
	"mayfly/web/auth"
)

// A Rule is a rule of a subscription. Kind determines whether it has Filter or Correlation;
// True and False have neither.
type Rule struct {
	Name        string           `json:"name"`                  // unique in the subscription
	Kind        string           `json:"kind,omitempty"`        // True (the default), False, Correlation or Sql
	Filter      *string          `json:"filter,omitempty"`      // the SQL expression; must not be empty if it is given
	Correlation json.RawMessage  `json:"correlation,omitempty"` // the conditions, as in Config.json
	Parameters  value.Properties `json:"parameters,omitempty"`  // of the SQL expression and the action, with @ in their names
	Action      string           `json:"action,omitempty"`      // SQL
	Error       string           `json:"error,omitempty"`       // why the rule cannot be parsed, and matches nothing; only in answers
}

// Rules is the answer of GET /rules.
type Rules struct {
	Rules []Rule `json:"rules"` // of the subscription, by name
}

// RuleTrialRequest is the request of POST /test-rules: a message that is not sent, and optionally a rule to try
// instead of the subscription's own.
type RuleTrialRequest struct {
	Message Outgoing `json:"message"`        // as it would be sent
	Rule    *Rule    `json:"rule,omitempty"` // tried instead of the existing rules; for a subscription only
}

// RuleTrialResult is the answer of POST /test-rules.
type RuleTrialResult struct {
	Subscriptions []SubscriptionTrial `json:"subscriptions"` // all that were tried
}

// A SubscriptionTrial is a subscription's result for a message.
type SubscriptionTrial struct {
	Path        string      `json:"path"`                  // of the subscription
	Copies      int         `json:"copies"`                // number of copies that it gets
	DeadLetters int         `json:"deadLetters,omitempty"` // how many of these are dead letters because a rule failed
	Rules       []RuleTrial `json:"rules"`                 // the results of its rules
}

// A RuleTrial is the result of one rule.
type RuleTrial struct {
	Name    string    `json:"name"`              // of the rule
	Matches bool      `json:"matches"`           // the rule matches the message
	Error   string    `json:"error,omitempty"`   // the rule failed, or cannot be parsed
	Clauses []Clause  `json:"clauses,omitempty"` // the parts of its filter
	Result  *Outgoing `json:"result,omitempty"`  // the message's properties after the rule's action
}

// A Clause is one elementary predicate of a filter.
type Clause struct {
	Text       string         `json:"text"`                 // as in the filter
	Result     string         `json:"result"`               // true, false, unknown or error
	Error      string         `json:"error,omitempty"`      // why it failed
	Properties []PropertyRead `json:"properties,omitempty"` // the properties that it reads
}

// A PropertyRead is a property that a clause has read.
type PropertyRead struct {
	Name    string       `json:"name"`              // of the property
	Value   *value.Value `json:"value,omitempty"`   // its value
	Missing bool         `json:"missing,omitempty"` // the message has no property of this name
}

func presentRule(r engine.Rule, l engine.Limits) Rule {
	out := Rule{Name: r.Name, Kind: r.Filter.Kind.String(), Parameters: r.Filter.Parameters, Action: r.Action}
	switch r.Filter.Kind {
	case engine.SQLFilter:
		out.Filter = &r.Filter.Text
	case engine.CorrelationFilter:
		if out.Correlation = json.RawMessage(r.Filter.Text); !json.Valid(out.Correlation) {
			out.Correlation, out.Filter = nil, &r.Filter.Text
		}
	}
	if err := engine.CheckRule(r, l); err != nil {
		out.Error = err.Error()
	}
	return out
}

var errEmptyFilter = errors.New("it is empty; leave out 'filter' for a rule that matches every message")

// rule converts r to the engine's form. The engine checks whether it can be parsed.
func (r Rule) rule() (engine.Rule, error) {
	out := engine.Rule{Name: r.Name, Action: r.Action, Filter: engine.Filter{Parameters: r.Parameters}}
	switch k := strings.ToLower(r.Kind); {
	case r.Error != "":
		return out, engine.Refuse(engine.ErrArgument, "A request must not have the 'error' of a rule.")
	case r.Filter != nil && *r.Filter == "":
		return out, &engine.RuleError{Rule: r.Name, Part: engine.PartFilter, Err: errEmptyFilter}
	case k == "" && r.Filter != nil || k == "sql":
		out.Filter.Kind = engine.SQLFilter
		if r.Filter != nil {
			out.Filter.Text = *r.Filter
		}
	case k == "" && r.Correlation != nil || k == "correlation":
		out.Filter.Kind, out.Filter.Text = engine.CorrelationFilter, string(r.Correlation)
		if c, err := filter.ParseCorrelation(out.Filter.Text); err == nil {
			out.Filter.Text = c.Text()
		}
	case k == "" || k == "true":
	case k == "false":
		out.Filter.Kind = engine.FalseFilter
	default:
		return out, engine.Refuse(engine.ErrArgument, "The kind of a rule must be True, False, Correlation or Sql, not '%s'.", shorten.Quote(r.Kind))
	}
	if r.Filter != nil && out.Filter.Kind != engine.SQLFilter || r.Correlation != nil && out.Filter.Kind != engine.CorrelationFilter {
		return out, engine.Refuse(engine.ErrArgument, "The filter of the rule '%s' does not fit its kind, %s.", shorten.Quote(r.Name), out.Filter.Kind)
	}
	return out, nil
}

func ruleRoutes() []route {
	absent := []string{"MessagingEntityNotFound", "InvalidOperation"}
	return []route{
		{
			method: "GET", path: "/rules/{path}", id: "listRules", group: groupRules, summary: "List the rules of a subscription",
			exampleParam: "prices/Subscriptions/eu",
			response:     Rules{}, problems: absent, handle: (*handler).rules,
		},
		{
			method: "POST", path: "/rules/{path}", id: "createRule", role: auth.Admin, group: groupRules, summary: "Add a rule",
			exampleParam: "prices/Subscriptions/eu", exampleBody: `{"name":"cheap","kind":"Sql","filter":"price < 10 AND region = 'eu'"}`,
			description: "A rule without filter and correlation matches every message. An empty filter is an error.",
			request:     Rule{}, status: http.StatusCreated, response: Rules{}, problems: append([]string{"MessagingEntityAlreadyExists", "QuotaExceeded"}, absent...), handle: (*handler).addRule,
		},
		{
			method: "PUT", path: "/rules/{path}", id: "replaceRule", role: auth.Admin, group: groupRules, summary: "Replace the filter and action of a rule",
			exampleParam: "prices/Subscriptions/eu", exampleBody: `{"name":"$Default","kind":"Sql","filter":"price < 10"}`,
			request: Rule{}, response: Rules{}, problems: absent, handle: (*handler).replaceRule,
		},
		{
			method: "DELETE", path: "/rules/{path}", id: "deleteRule", role: auth.Admin, destruction: destroys, group: groupRules, summary: "Delete a rule",
			exampleParam: "prices/Subscriptions/eu", exampleQuery: "name=$Default",
			query: []parameter{requiredParameter(textParameter("name", "The name of the rule.").withExample("$Default")).routeRole()}, problems: absent, handle: (*handler).removeRule,
		},
		{
			method: "POST", path: "/test-rules/{path}", id: "testRules", role: auth.Viewer, group: groupRules, summary: "Test rules with a message, without sending it",
			exampleParam: "prices", exampleBody: `{"message":{"subject":"new","properties":{"price":5,"region":"eu"}}}`,
			description: "The path is a topic's, for all its subscriptions, or a subscription's. The test does not count as use of the entity.",
			request:     RuleTrialRequest{}, response: RuleTrialResult{}, problems: absent, handle: (*handler).tryRules,
		},
	}
}

func (d *handler) rules(c echo.Context) error {
	p, err := d.path(c)
	if err != nil {
		return err
	}
	return d.answerRules(c, http.StatusOK, p)
}

func (d *handler) answerRules(c echo.Context, status int, p engine.Path) error {
	s, err := d.state(c.Request().Context(), p)
	if err != nil {
		return err
	}
	if s.Kind != engine.Subscription {
		return engine.Refuse(engine.ErrNotAllowed, "%s", "'"+string(s.Path)+"' is a "+s.Kind.String()+". Only subscriptions have rules.")
	}
	out := Rules{Rules: []Rule{}}
	for _, r := range s.Rules {
		out.Rules = append(out.Rules, presentRule(r, d.broker.Limits()))
	}
	return reply(c, status, out)
}

// addRule adds a rule, and answers with all rules of the subscription.
func (d *handler) addRule(c echo.Context) error {
	p, r, err := d.readRule(c)
	if err != nil {
		return err
	}
	if err := d.broker.AddRule(c.Request().Context(), p, r, client(c.Request())); err != nil {
		return err
	}
	return d.answerRules(c, http.StatusCreated, p)
}

func (d *handler) replaceRule(c echo.Context) error {
	p, r, err := d.readRule(c)
	if err != nil {
		return err
	}
	if err := d.broker.ReplaceRule(c.Request().Context(), p, r, client(c.Request())); err != nil {
		return err
	}
	return d.answerRules(c, http.StatusOK, p)
}

func (d *handler) readRule(c echo.Context) (engine.Path, engine.Rule, error) {
	p, err := d.path(c)
	if err != nil {
		return "", engine.Rule{}, err
	}
	raw, err := readBody(c.Request(), smallBody)
	if err != nil {
		return "", engine.Rule{}, err
	}
	var in Rule
	if err := decode(raw, &in); err != nil {
		return "", engine.Rule{}, err
	}
	r, err := in.rule()
	return p, r, err
}

func (d *handler) removeRule(c echo.Context) error {
	p, err := d.path(c)
	if err != nil {
		return err
	}
	if err := d.broker.RemoveRule(c.Request().Context(), p, query(c).Get("name"), client(c.Request())); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// tryRules returns the results of the rules of a subscription, or of all subscriptions of a topic,
// for a message. The test does not count as use of the entity.
func (d *handler) tryRules(c echo.Context) error {
	p, err := d.path(c)
	if err != nil {
		return err
	}
	in, err := readJSON[RuleTrialRequest](c.Request(), smallBody)
	if err != nil {
		return err
	}
	m, err := in.Message.Compose()
	if err != nil {
		return err
	}
	var own *engine.Rule
	if in.Rule != nil {
		r, err := in.Rule.rule()
		if err == nil {
			err = engine.CheckRule(r, d.broker.Limits())
		}
		if err != nil {
			return err
		}
		own = &r
	}
	subs, err := d.subscriptions(c, p)
	if err != nil {
		return err
	}
	out := RuleTrialResult{Subscriptions: []SubscriptionTrial{}}
	for _, s := range subs {
		rules := s.Rules
		if own != nil {
			rules = []engine.Rule{*own}
		}
		out.Subscriptions = append(out.Subscriptions, trySubscription(s, rules, engine.NewFilterMessage(m.Content), d.broker.Limits()))
	}
	return reply(c, http.StatusOK, out)
}

// subscriptions returns the subscriptions of a topic, or the subscription at p.
func (d *handler) subscriptions(c echo.Context, p engine.Path) (subs []engine.EntityState, err error) {
	err = d.broker.Read(c.Request().Context(), func(r broker.Reader) error {
		s, err := r.State(p)
		switch {
		case err != nil:
			return err
		case s.Kind == engine.Topic:
			subs = r.Subscriptions(p)
		case s.Kind == engine.Subscription:
			subs = []engine.EntityState{s}
		default:
			return engine.Refuse(engine.ErrNotAllowed, "%s", "'"+string(s.Path)+"' is a "+s.Kind.String()+". Only subscriptions have rules.")
		}
		return nil
	})
	return subs, err
}

func trySubscription(s engine.EntityState, rules []engine.Rule, m filter.Message, l engine.Limits) SubscriptionTrial {
	out := SubscriptionTrial{Path: string(s.Path), Rules: []RuleTrial{}}
	var trials []engine.RuleTrial
	for _, r := range rules {
		t, err := engine.TryRule(r, m, l)
		if err != nil { // the rule matches nothing
			out.Rules = append(out.Rules, RuleTrial{Name: r.Name, Error: err.Error()})
			continue
		}
		trials = append(trials, t)
		out.Rules = append(out.Rules, presentTrial(t))
	}
	out.Copies, out.DeadLetters = engine.CountCopies(trials, s.Config)
	return out
}

func presentTrial(t engine.RuleTrial) RuleTrial {
	out := RuleTrial{Name: t.Rule.Name, Matches: t.Selects}
	if t.Err != nil {
		out.Error = t.Err.Error()
	}
	for _, c := range t.Clauses {
		clause := Clause{Text: c.Text, Result: c.Result.String(), Error: c.Error}
		for _, r := range c.Reads {
			reading := PropertyRead{Name: r.Name, Missing: r.Missing}
			if !r.Missing {
				reading.Value = &r.Value
			}
			clause.Properties = append(clause.Properties, reading)
		}
		out.Clauses = append(out.Clauses, clause)
	}
	if a := t.After; a != nil {
		out.Result = &Outgoing{
			MessageID: a.MessageID, PartitionKey: a.PartitionKey, ViaPartitionKey: a.ViaPartitionKey, CorrelationID: a.CorrelationID, Subject: a.Label,
			To: a.To, ReplyTo: a.ReplyTo, ReplyToSessionID: a.ReplyToSessionID, ContentType: a.ContentType, Properties: a.Properties,
		}
		if a.SessionID != "" || a.EmptySessionID {
			out.Result.SessionID = &a.SessionID
		}
		if a.TimeToLive > 0 {
			out.Result.TimeToLive = engine.FormatDuration(a.TimeToLive)
		}
	}
	return out
}
