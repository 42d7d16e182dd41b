package topology

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"mayfly/engine"
	"mayfly/engine/filter"
	"mayfly/engine/shorten"
	"mayfly/engine/value"
)

func (r *reader) rules(at string, n *node) []engine.Rule {
	var rules []engine.Rule
	first := map[string]string{}
	r.items(at, n, func(at string, n *node) {
		if !r.is(at, n, object) {
			return
		}
		m := r.members(at, n, memberNames{"Name*", "Properties*"})
		rule := engine.Rule{Name: r.text(at+".Name", m["Name"])}
		before := r.problems.count()
		rule.Filter, rule.Action = r.ruleProperties(at+".Properties", m["Properties"])
		if r.problems.count() == before {
			r.expressions(at+".Properties", rule)
		}
		if m["Name"] == nil || m["Name"].kind != text {
			return
		}
		if err := engine.CheckRuleName(rule.Name, r.limits); err != nil {
			r.problems.add(at+".Name", "%v", err)
			return
		}
		key := strings.ToLower(rule.Name)
		if other, ok := first[key]; ok {
			r.problems.add(at+".Name", "'%s' is already the name of %s. Names are not case-sensitive.", rule.Name, other)
			return
		}
		first[key] = at
		rules = append(rules, rule)
	})
	return rules
}

func (r *reader) ruleProperties(at string, n *node) (f engine.Filter, action string) {
	if n == nil {
		return f, ""
	}
	m := r.members(at, n, memberNames{"FilterType*", "CorrelationFilter", "SqlFilter", "Action"})
	if m["Action"] != nil {
		action = r.sql(at+".Action", m["Action"])
	}
	kind := m["FilterType"]
	if !r.is(at+".FilterType", kind, text) {
		return f, action
	}
	var uses string
	named := strings.ToLower(kind.text)
	if named == "sql" && m["SqlFilter"] == nil && m["CorrelationFilter"] != nil { // this occurs in real files
		r.topology.Warnings.add(at+".FilterType", "This is %s, but there is only a CorrelationFilter, which is used.", kind.text)
		named = "correlation"
	}
	switch named {
	case "correlation":
		uses = "CorrelationFilter"
		f = engine.Filter{Kind: engine.CorrelationFilter, Text: r.correlation(at+"."+uses, m[uses])}
	case "sql":
		uses = "SqlFilter"
		f = sqlFilter(r.sql(at+"."+uses, m[uses]))
	case "true":
		f.Kind = engine.TrueFilter
	case "false":
		f.Kind = engine.FalseFilter
	default:
		r.problems.add(at+".FilterType", `This must be "Correlation" or "Sql", not %q.`, shorten.Quote(kind.text))
		return f, action
	}
	for _, other := range []string{"CorrelationFilter", "SqlFilter"} {
		switch {
		case other == uses && m[other] == nil:
			r.problems.add(at+"."+other, "This is missing: the FilterType is %s.", kind.text)
		case other != uses && m[other] != nil:
			r.topology.Warnings.add(at+"."+other, "The FilterType is %s, so this is ignored.", kind.text)
		}
	}
	return f, action
}

// expressions checks the filter and the action of a rule (FILT-28, ACT-4).
func (r *reader) expressions(at string, rule engine.Rule) {
	filter := ".CorrelationFilter"
	if rule.Filter.Kind == engine.SQLFilter {
		filter = ".SqlFilter.SqlExpression"
	}
	for _, part := range []struct {
		at   string
		rule engine.Rule
	}{
		{filter, engine.Rule{Name: engine.DefaultRule, Filter: rule.Filter}},
		{".Action.SqlExpression", engine.Rule{Name: engine.DefaultRule, Action: rule.Action}},
	} {
		err := engine.CheckRule(part.rule, r.limits)
		if wrong, ok := errors.AsType[*engine.RuleError](err); ok {
			err = wrong.Err
		}
		if err != nil {
			r.problems.add(at+part.at, "%v", err)
		}
	}
}

// sqlFilter returns the filter for a SQL expression: the true or the false filter for 1=1 and 1=0
// (§14.2).
func sqlFilter(expression string) engine.Filter {
	switch strings.Join(strings.Fields(expression), "") {
	case "1=1":
		return engine.Filter{Kind: engine.TrueFilter}
	case "1=0":
		return engine.Filter{Kind: engine.FalseFilter}
	default:
		return engine.Filter{Kind: engine.SQLFilter, Text: expression}
	}
}

// sql reads the object around a filter's or an action's expression.
func (r *reader) sql(at string, n *node) string {
	m := r.members(at, n, memberNames{"SqlExpression*"})
	at += ".SqlExpression"
	s := m["SqlExpression"]
	if !r.is(at, s, text) {
		return ""
	}
	switch n := int64(utf8.RuneCountInString(s.text)); {
	case strings.TrimSpace(s.text) == "":
		r.problems.add(at, "This must not be empty.")
	case n > r.limits.FilterLength:
		r.problems.add(at, "This has %d characters; the maximum is %d.", n, r.limits.FilterLength)
	}
	return s.text
}

// systemConditions are the system properties that a correlation filter can compare
// (FILT-13), in the order in which they are written.
var systemConditions = []string{
	"ContentType", "CorrelationId", "Label", "MessageId", "ReplyTo", "ReplyToSessionId", "SessionId", "To",
}

// correlation returns a filter's conditions in the canonical JSON form of filter.Correlation, so
// that equal filters have equal texts. An empty text is no condition, as with ForwardTo.
func (r *reader) correlation(at string, n *node) string {
	if n == nil {
		return ""
	}
	before := r.problems.count()
	names := append(memberNames{"Properties"}, systemConditions...)
	m := r.members(at, n, names)
	var parts []string
	for _, name := range systemConditions {
		if v := r.text(memberPath(at, name), m[name]); v != "" {
			parts = append(parts, quote(name)+":"+quote(v))
		}
	}
	if own := r.conditions(at+".Properties", m["Properties"]); own != "" {
		parts = append(parts, `"Properties":{`+own+`}`)
	}
	if len(parts) == 0 && r.problems.count() == before {
		r.problems.add(at, "A correlation filter needs at least one condition.") // FILT-16
	}
	written := "{" + strings.Join(parts, ",") + "}"
	if c, err := filter.ParseCorrelation(written); err == nil { // otherwise expressions reports it
		written = c.Text()
	}
	return written
}

// conditions reads the conditions on application properties: texts, numbers, booleans, or typed
// values such as {"type":"uuid","value":"…"}, which the emulator does not support (FILT-13,
// FILT-15).
func (r *reader) conditions(at string, n *node) string {
	if !r.is(at, n, object) {
		return ""
	}
	seen := map[string]bool{}
	var sorted []member
	for _, m := range n.members {
		at := memberPath(at, m.name)
		switch {
		case m.name == "":
			r.problems.add(at, "A property must have a name.")
		case seen[m.name]:
			r.problems.add(at, "This is set twice.")
		case m.value.kind == null, m.value.kind == list:
			r.problems.add(at, "A condition must be a string, number or boolean, not %s.", m.value.kind)
		case m.value.kind == object:
			if err := new(value.Value).UnmarshalJSON([]byte(m.value.json())); err != nil {
				r.problems.add(at, "This is not a condition: %v.", err)
				break
			}
			sorted = append(sorted, m)
		default:
			sorted = append(sorted, m)
		}
		seen[m.name] = true
	}
	slices.SortFunc(sorted, func(a, b member) int { return strings.Compare(a.name, b.name) })
	parts := make([]string, len(sorted))
	for i, m := range sorted {
		parts[i] = quote(m.name) + ":" + m.value.json()
	}
	return strings.Join(parts, ",")
}

// json returns n as JSON.
func (n *node) json() string {
	switch n.kind {
	case null:
		return "null"
	case text:
		return quote(n.text)
	case list:
		items := make([]string, len(n.items))
		for i, item := range n.items {
			items[i] = item.json()
		}
		return "[" + strings.Join(items, ",") + "]"
	case object:
		members := make([]string, len(n.members))
		for i, m := range n.members {
			members[i] = quote(m.name) + ":" + m.value.json()
		}
		return "{" + strings.Join(members, ",") + "}"
	default:
		return n.text
	}
}

// quote returns s as a JSON string.
func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil { // a string can always be written
		panic(fmt.Sprintf("write %q as JSON: %v", s, err))
	}
	return string(b)
}
