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
	"mayfly/engine/value"
	"mayfly/web/identity"
)

// A Rule is one of a subscription's. Which of Filter and Correlation is there
// follows from Kind; both are missing for True and False.
type Rule struct {
	Name        string           `json:"name"`                  // nobody else's in the subscription
	Kind        string           `json:"kind,omitempty"`        // True (the default), False, Correlation or Sql
	Filter      *string          `json:"filter,omitempty"`      // the SQL expression; if it is given it must not be empty
	Correlation json.RawMessage  `json:"correlation,omitempty"` // the conditions, as Config.json has them
	Parameters  value.Properties `json:"parameters,omitempty"`  // of the SQL expression and the action, named with the @
	Action      string           `json:"action,omitempty"`      // SQL
	Error       string           `json:"error,omitempty"`       // why it cannot be read, and selects nothing; not to be given
}

// Rules is the answer of GET /rules.
type Rules struct {
	Rules []Rule `json:"rules"` // of the subscription, by name
}

// Try is what POST /try takes: a message that is not sent, and a rule that no
// subscription has, instead of those they have.
type Try struct {
	Message Outgoing `json:"message"`        // as it would be sent
	Rule    *Rule    `json:"rule,omitempty"` // tried instead of those that are there; of a subscription alone
}

// Tried is the answer of POST /try.
type Tried struct {
	Subscriptions []Taking `json:"subscriptions"` // each that was tried
}

// A Taking is what a subscription makes of a message.
type Taking struct {
	Path   string  `json:"path"`           // of the subscription
	Copies int     `json:"copies"`         // that it gets
	Dead   int     `json:"dead,omitempty"` // of these, dead letters because a rule could not be evaluated
	Rules  []Trial `json:"rules"`          // each of its rules
}

// A Trial is what one rule says.
type Trial struct {
	Name    string    `json:"name"`              // of the rule
	Selects bool      `json:"selects"`           // it takes the message
	Error   string    `json:"error,omitempty"`   // it could not be evaluated, or cannot be read
	Clauses []Clause  `json:"clauses,omitempty"` // the parts of its filter
	After   *Outgoing `json:"after,omitempty"`   // what its action makes of the message's properties
}

// A Clause is one elementary predicate of a filter.
type Clause struct {
	Text   string    `json:"text"`            // as the filter has it
	Result string    `json:"result"`          // true, false, unknown or error
	Error  string    `json:"error,omitempty"` // why it cannot be evaluated
	Reads  []Reading `json:"reads,omitempty"` // what of the message it looks at
}

// A Reading is a property that a clause looked at.
type Reading struct {
	Name    string       `json:"name"`              // of the property
	Value   *value.Value `json:"value,omitempty"`   // what it is
	Missing bool         `json:"missing,omitempty"` // the message has none of this name
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

var errEmptyFilter = errors.New("it is empty; leave 'filter' out for a rule that takes every message")

// rule is what was given as the engine has it; whether it can be read the engine
// says.
func (r Rule) rule() (engine.Rule, error) {
	out := engine.Rule{Name: r.Name, Action: r.Action, Filter: engine.Filter{Parameters: r.Parameters}}
	switch k := strings.ToLower(r.Kind); {
	case r.Error != "":
		return out, argument("The error of a rule is told, not given.")
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
		return out, argument("The kind of a rule is True, False, Correlation or Sql, not '%s'.", cut(r.Kind))
	}
	if r.Filter != nil && out.Filter.Kind != engine.SQLFilter || r.Correlation != nil && out.Filter.Kind != engine.CorrelationFilter {
		return out, argument("The rule '%s' has a filter that its kind, %s, has nothing to do with.", cut(r.Name), out.Filter.Kind)
	}
	return out, nil
}

func ruleRoutes() []route {
	absent := []string{"MessagingEntityNotFound", "InvalidOperation"}
	return []route{
		{
			method: "GET", path: "/rules/{path}", id: "listRules", group: groupRules, summary: "The rules of a subscription",
			at:    "prices/Subscriptions/eu",
			gives: Rules{}, fails: absent, serve: (*door).rules,
		},
		{
			method: "POST", path: "/rules/{path}", id: "addRule", needs: identity.Admin, group: groupRules, summary: "One more rule",
			at: "prices/Subscriptions/eu", sends: `{"name":"cheap","kind":"Sql","filter":"price < 10 AND region = 'eu'"}`,
			about: "A rule without filter and correlation takes every message. An empty filter is an error.",
			takes: Rule{}, status: http.StatusCreated, gives: Rules{}, fails: append([]string{"MessagingEntityAlreadyExists", "QuotaExceeded"}, absent...), serve: (*door).addRule,
		},
		{
			method: "PUT", path: "/rules/{path}", id: "replaceRule", needs: identity.Admin, group: groupRules, summary: "Give a rule another filter and action",
			at: "prices/Subscriptions/eu", sends: `{"name":"$Default","kind":"Sql","filter":"price < 10"}`,
			takes: Rule{}, gives: Rules{}, fails: absent, serve: (*door).replaceRule,
		},
		{
			method: "DELETE", path: "/rules/{path}", id: "removeRule", needs: identity.Admin, ruin: ruins, group: groupRules, summary: "Remove a rule",
			at: "prices/Subscriptions/eu", ask: "name=$Default",
			query: []parameter{needed(word("name", "Which one.").like("$Default"))}, fails: absent, serve: (*door).removeRule,
		},
		{
			method: "POST", path: "/try/{path}", id: "tryRules", needs: identity.Viewer, group: groupRules, summary: "What rules make of a message that is not sent",
			at: "prices", sends: `{"message":{"subject":"new","properties":{"price":5,"region":"eu"}}}`,
			about: "The path is a topic's, for all its subscriptions, or a subscription's. Nothing is sent, and nothing counts as used.",
			takes: Try{}, gives: Tried{}, fails: absent, serve: (*door).try,
		},
	}
}

func (d *door) rules(c echo.Context) error {
	p, err := d.path(c)
	if err != nil {
		return err
	}
	return d.answerRules(c, http.StatusOK, p)
}

func (d *door) answerRules(c echo.Context, status int, p engine.Path) error {
	s, err := d.state(c.Request().Context(), p)
	if err != nil {
		return err
	}
	if s.Kind != engine.Subscription {
		return &engine.Refusal{Kind: engine.ErrNotAllowed, SubCode: 40301, Text: "'" + string(s.Path) + "' is a " + s.Kind.String() + " and has no rules."}
	}
	out := Rules{Rules: []Rule{}}
	for _, r := range s.Rules {
		out.Rules = append(out.Rules, presentRule(r, d.broker.Limits()))
	}
	return reply(c, status, out)
}

// addRule and replaceRule answer with all rules there are then.
func (d *door) addRule(c echo.Context) error {
	p, r, err := d.givenRule(c)
	if err != nil {
		return err
	}
	if err := d.broker.AddRule(c.Request().Context(), p, r, client(c.Request())); err != nil {
		return err
	}
	return d.answerRules(c, http.StatusCreated, p)
}

func (d *door) replaceRule(c echo.Context) error {
	p, r, err := d.givenRule(c)
	if err != nil {
		return err
	}
	if err := d.broker.ReplaceRule(c.Request().Context(), p, r, client(c.Request())); err != nil {
		return err
	}
	return d.answerRules(c, http.StatusOK, p)
}

func (d *door) givenRule(c echo.Context) (engine.Path, engine.Rule, error) {
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

func (d *door) removeRule(c echo.Context) error {
	p, err := d.path(c)
	if err != nil {
		return err
	}
	if err := d.broker.RemoveRule(c.Request().Context(), p, query(c).Get("name"), client(c.Request())); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// try says what the rules of a subscription, or of all subscriptions of a topic,
// make of a message. Nothing is sent, and nothing counts as used.
func (d *door) try(c echo.Context) error {
	p, err := d.path(c)
	if err != nil {
		return err
	}
	in, err := given[Try](c.Request(), smallBody)
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
	out := Tried{Subscriptions: []Taking{}}
	for _, s := range subs {
		rules := s.Rules
		if own != nil {
			rules = []engine.Rule{*own}
		}
		out.Subscriptions = append(out.Subscriptions, taking(s, rules, engine.FilterMessage(m.Content), d.broker.Limits()))
	}
	return reply(c, http.StatusOK, out)
}

// subscriptions are a topic's, or the one at p.
func (d *door) subscriptions(c echo.Context, p engine.Path) (subs []engine.EntityState, err error) {
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
			return &engine.Refusal{Kind: engine.ErrNotAllowed, Text: "'" + string(s.Path) + "' is a " + s.Kind.String() + " and has no rules."}
		}
		return nil
	})
	return subs, err
}

func taking(s engine.EntityState, rules []engine.Rule, m filter.Message, l engine.Limits) Taking {
	out := Taking{Path: string(s.Path), Rules: []Trial{}}
	var trials []engine.Trial
	for _, r := range rules {
		t, err := engine.TryRule(r, m, l)
		if err != nil { // it selects nothing
			out.Rules = append(out.Rules, Trial{Name: r.Name, Error: err.Error()})
			continue
		}
		trials = append(trials, t)
		out.Rules = append(out.Rules, presentTrial(t))
	}
	out.Copies, out.Dead = engine.Copies(trials, s.Config)
	return out
}

func presentTrial(t engine.Trial) Trial {
	out := Trial{Name: t.Rule.Name, Selects: t.Selects}
	if t.Err != nil {
		out.Error = t.Err.Error()
	}
	for _, c := range t.Clauses {
		clause := Clause{Text: c.Text, Result: c.Result.String(), Error: c.Error}
		for _, r := range c.Reads {
			reading := Reading{Name: r.Name, Missing: r.Missing}
			if !r.Missing {
				reading.Value = &r.Value
			}
			clause.Reads = append(clause.Reads, reading)
		}
		out.Clauses = append(out.Clauses, clause)
	}
	if a := t.After; a != nil {
		out.After = &Outgoing{
			MessageID: a.MessageID, PartitionKey: a.PartitionKey, CorrelationID: a.CorrelationID, Subject: a.Label,
			To: a.To, ReplyTo: a.ReplyTo, ReplyToSessionID: a.ReplyToSessionID, ContentType: a.ContentType, Properties: a.Properties,
		}
		if a.SessionID != "" || a.EmptySessionID {
			out.After.SessionID = &a.SessionID
		}
	}
	return out
}
