package atom

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/filter"
	"mayfly/engine/value"
	"mayfly/web/rest/fault"
)

// putRule creates or replaces a rule; its name is that of the address.
func (d *Door) putRule(c echo.Context, w Wish, body *node) error {
	desc, err := body.described()
	if err != nil {
		return err
	}
	if desc.name != "RuleDescription" {
		return argument("A '%s' cannot be put at this address.", fault.Cut(desc.name))
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

// firstRules are those a subscription starts with: the one in its description,
// or one that takes everything (FILT-2).
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

// ruleOf finds one of a subscription's rules.
func ruleOf(s engine.EntityState, name string) (engine.Rule, error) {
	i := slices.IndexFunc(s.Rules, func(r engine.Rule) bool { return strings.EqualFold(r.Name, name) })
	if s.Kind != engine.Subscription || i < 0 {
		return engine.Rule{}, &engine.Refusal{Kind: engine.ErrNotFound, SubCode: 40400, Text: fmt.Sprintf("The subscription '%s' has no rule '%s'.", s.Path, fault.Cut(name))}
	}
	return s.Rules[i], nil
}

// readRule reads filter and action; without a filter every message is taken.
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
		return r, argument("The action of a rule is an EmptyRuleAction or a SqlRuleAction, not '%s'.", fault.Cut(kind))
	}
	own, err := readProperties(n.child("Parameters"))
	if err != nil {
		return r, err
	}
	r.Filter.Parameters, err = together(r.Filter.Parameters, own)
	return r, err
}

// together are the parameters of filter and action: a rule has one set of them.
func together(of, and value.Properties) (value.Properties, error) {
	for _, p := range and {
		switch v, ok := of.LookupFold(p.Name); {
		case !ok:
			of = append(of, p)
		case v != p.Value:
			return nil, argument("The parameter '%s' has one value in the filter and another in the action.", fault.Cut(p.Name))
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
		return f, argument("The filter of a rule is a TrueFilter, FalseFilter, SqlFilter or CorrelationFilter, not '%s'.", fault.Cut(kind))
	}
}

// readProperties reads a list of keys and values.
func readProperties(n *node) (value.Properties, error) {
	var out value.Properties
	for _, kv := range n.all("KeyValueOfstringanyType") {
		if err := kv.unique(); err != nil {
			return nil, err
		}
		key, val := kv.value("Key"), kv.child("Value")
		if _, twice := out.Lookup(key); twice || key == "" || val == nil {
			return nil, argument("The property '%s' needs a name, which no other has, and a value.", fault.Cut(key))
		}
		v, err := readValue(val)
		if err != nil {
			return nil, argument("The property '%s': %v.", fault.Cut(key), err)
		}
		out = append(out, value.Property{Name: key, Value: v})
	}
	return out, nil
}
