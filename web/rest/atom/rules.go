package atom

import (
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/filter"
	"mayfly/engine/shorten"
	"mayfly/engine/value"
)

// putRule creates or replaces a rule. Its name is the one in the address.
func (d *Handler) putRule(c echo.Context, w Request, body *node) error {
	desc, err := body.described()
	if err != nil {
		return err
	}
	if desc.name != "RuleDescription" {
		return engine.Refuse(engine.ErrArgument, "A '%s' cannot be put at this address.", shorten.Quote(desc.name))
	}
	r, err := readRule(desc)
	if err != nil {
		return err
	}
	r.Name = w.Rule
	request, code := c.Request(), http.StatusCreated
	if w.Action == Update {
		code = http.StatusOK
		err = d.o.Broker.ReplaceRule(request.Context(), w.Path(), r, client(request))
	} else {
		err = d.o.Broker.AddRule(request.Context(), w.Path(), r, client(request))
	}
	if err != nil {
		return err
	}
	p, now, err := d.rule(request.Context(), w)
	if err != nil {
		return err
	}
	a := d.answer(c)
	return a.entry(code, a.rule(p, now))
}

// firstRules returns the rules of a new subscription: the one in its description, or one
// that selects every message (FILT-2).
func firstRules(kind engine.EntityKind, desc *node) ([]engine.Rule, error) {
	if kind != engine.Subscription {
		return nil, nil
	}
	n := desc.child("DefaultRuleDescription")
	if n == nil {
		return []engine.Rule{{Name: engine.DefaultRule}}, nil
	}
	r, err := readRule(n)
	if err != nil {
		return nil, err
	}
	if r.Name = strings.TrimSpace(n.value("Name")); r.Name == "" {
		r.Name = engine.DefaultRule
	}
	return []engine.Rule{r}, nil
}

// ruleOf returns the rule of a subscription with this name, in any case. It returns an error if
// there is none, or if s is no subscription.
func ruleOf(l engine.Limits, s engine.EntityState, name string) (engine.Rule, error) {
	i := slices.IndexFunc(s.Rules, func(r engine.Rule) bool { return strings.EqualFold(r.Name, name) })
	if s.Kind != engine.Subscription || i < 0 {
		return engine.Rule{}, engine.NoRule(l, s.Path, name)
	}
	return s.Rules[i], nil
}

// readRule parses filter and action. Without a filter the rule selects every message.
func readRule(desc *node) (r engine.Rule, err error) {
	if err := desc.unique(); err != nil {
		return r, err
	}
	if n := desc.child("Filter"); n != nil {
		if r.Filter, err = readFilter(n); err != nil {
			return r, err
		}
	}
	n := desc.child("Action")
	if n == nil {
		return r, nil
	}
	if err := n.unique(); err != nil {
		return r, err
	}
	_, kind := n.typed()
	switch {
	case kind == "SqlRuleAction" || kind == "" && n.child("SqlExpression") != nil:
		r.Action = n.value("SqlExpression")
	case kind == "EmptyRuleAction" || kind == "":
		return r, nil
	default:
		return r, engine.Refuse(engine.ErrArgument, "The action of a rule must be an EmptyRuleAction or a SqlRuleAction, not '%s'.", shorten.Quote(kind))
	}
	own, err := readProperties(n.child("Parameters"))
	if err != nil {
		return r, err
	}
	r.Filter.Parameters, err = mergeParameters(r.Filter.Parameters, own)
	return r, err
}

// mergeParameters merges the parameters of filter and action, because a rule has one set of
// parameters. It returns an error if they have different values for a parameter.
func mergeParameters(of, and value.Properties) (value.Properties, error) {
	for _, p := range and {
		switch v, ok := of.LookupFold(p.Name); {
		case !ok:
			of = append(of, p)
		case v != p.Value:
			return nil, engine.Refuse(engine.ErrArgument, "The parameter '%s' has one value in the filter and another in the action.", shorten.Quote(p.Name))
		}
	}
	return of, nil
}

func readFilter(n *node) (f engine.Filter, err error) {
	if err := n.unique(); err != nil {
		return f, err
	}
	_, kind := n.typed()
	if kind == "" && n.child("SqlExpression") != nil {
		kind = "SqlFilter"
	}
	switch kind {
	case "TrueFilter", "":
		return engine.Filter{Kind: engine.TrueFilter}, nil
	case "FalseFilter":
		return engine.Filter{Kind: engine.FalseFilter}, nil
	case "SqlFilter":
		f = engine.Filter{Kind: engine.SQLFilter, Text: n.value("SqlExpression")}
		f.Parameters, err = readProperties(n.child("Parameters"))
		return f, err
	case "CorrelationFilter":
		c := filter.Correlation{
			CorrelationID: n.value("CorrelationId"), MessageID: n.value("MessageId"), To: n.value("To"), ReplyTo: n.value("ReplyTo"), Label: n.value("Label"),
			SessionID: n.value("SessionId"), ReplyToSessionID: n.value("ReplyToSessionId"), ContentType: n.value("ContentType"),
		}
		c.Properties, err = readProperties(n.child("Properties"))
		return engine.Filter{Kind: engine.CorrelationFilter, Text: c.Text()}, err
	default:
		return f, engine.Refuse(engine.ErrArgument, "The filter of a rule must be a TrueFilter, FalseFilter, SqlFilter or CorrelationFilter, not '%s'.", shorten.Quote(kind))
	}
}

// readProperties parses a list of keys and values. It returns an error for a key that is empty or
// not unique.
func readProperties(n *node) (value.Properties, error) {
	var out value.Properties
	for _, kv := range n.all("KeyValueOfstringanyType") {
		if err := kv.unique(); err != nil {
			return nil, err
		}
		key, val := kv.value("Key"), kv.child("Value")
		if _, twice := out.Lookup(key); twice || key == "" || val == nil {
			return nil, engine.Refuse(engine.ErrArgument, "The property '%s' needs a unique name and a value.", shorten.Quote(key))
		}
		v, err := readValue(val)
		if err != nil {
			return nil, engine.Refuse(engine.ErrArgument, "The property '%s': %v.", shorten.Quote(key), err)
		}
		out = append(out, value.Property{Name: key, Value: v})
	}
	return out, nil
}
