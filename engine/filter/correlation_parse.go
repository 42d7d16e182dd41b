package filter

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"mayfly/engine/shorten"
	"mayfly/engine/value"
	"mayfly/engine/value/measure"
)

// A Correlation holds the conditions of a correlation filter, all of which must
// hold (FILT-13). An empty text is no condition, and a filter without
// conditions matches nothing.
type Correlation struct {
	ContentType, CorrelationID, Label, MessageID, ReplyTo, ReplyToSessionID, SessionID, To string

	Properties value.Properties // conditions on application properties; a name occurs once
}

// filterableProperties are the system properties that can have a condition, in the order of
// descriptions.
var filterableProperties = [...]system{
	sysContentType, sysCorrelationID, sysLabel, sysMessageID, sysReplyTo, sysReplyToSessionID, sysSessionID, sysTo,
}

// text returns a pointer to the field of c with the condition on one of filterableProperties.
func (c *Correlation) text(s system) *string {
	switch s {
	case sysContentType:
		return &c.ContentType
	case sysCorrelationID:
		return &c.CorrelationID
	case sysLabel:
		return &c.Label
	case sysMessageID:
		return &c.MessageID
	case sysReplyTo:
		return &c.ReplyTo
	case sysReplyToSessionID:
		return &c.ReplyToSessionID
	case sysSessionID:
		return &c.SessionID
	case sysTo:
		return &c.To
	default:
		panic(fmt.Sprintf("no condition on %v", s))
	}
}

// ParseCorrelation parses the JSON form of a filter, such as {"Label":"x","Properties":{"n":2}}. The
// conditions in Properties are texts, numbers, booleans or any value in the typed form,
// {"type":"uuid","value":"…"}. At least one condition is needed (FILT-16). The errors are texts for
// the author of the filter.
func ParseCorrelation(text string) (*Correlation, error) {
	all, err := object([]byte(text))
	if err != nil {
		return nil, err
	}
	c := &Correlation{}
	seen := map[string]bool{}
	for _, m := range all {
		name, at := c.member(m.name)
		switch {
		case name == "":
			return nil, fmt.Errorf("a correlation filter has no condition on %q", shorten.To(m.name, 40))
		case seen[name]:
			return nil, fmt.Errorf("%s is set twice", name)
		case at != nil:
			if err := json.Unmarshal(m.value, at); err != nil {
				return nil, fmt.Errorf("the condition on %s must be a string", name)
			}
		default:
			if c.Properties, err = conditions(m.value); err != nil {
				return nil, err
			}
		}
		seen[name] = true
	}
	if len(c.conditions()) == 0 {
		return nil, fmt.Errorf("a correlation filter needs at least one condition")
	}
	return c, nil
}

// member returns the canonical name of a member of the JSON, or an empty name if it is unknown, and
// a pointer to its field in c, which is nil for Properties.
func (c *Correlation) member(name string) (full string, at *string) {
	for _, s := range filterableProperties {
		if strings.EqualFold(name, s.String()) {
			return s.String(), c.text(s)
		}
	}
	if strings.EqualFold(name, "Properties") {
		return "Properties", nil
	}
	return "", nil
}

// conditions parses the object in Properties; null counts as absent.
func conditions(b []byte) (value.Properties, error) {
	if string(b) == "null" {
		return nil, nil
	}
	all, err := object(b)
	if err != nil {
		return nil, err
	}
	var p value.Properties
	seen := map[string]bool{}
	for _, m := range all {
		q := value.Property{Name: m.name}
		twice := seen[m.name]
		seen[m.name] = true
		switch {
		case m.name == "":
			return nil, fmt.Errorf("a property needs a name")
		case twice:
			return nil, fmt.Errorf("property %q is set twice", shorten.To(m.name, 40))
		case string(m.value) == "null":
			return nil, fmt.Errorf(`property %q: a condition must be a string, number or boolean, or typed as in {"type":"int","value":"5"}`, shorten.To(m.name, 40))
		}
		if err := q.Value.UnmarshalJSON(m.value); err != nil {
			return nil, fmt.Errorf("property %q: %w", shorten.To(m.name, 40), err)
		}
		p = append(p, q)
	}
	return p, nil
}

// maxConditions bounds the number of values in the JSON of a correlation filter, and maxNesting
// their depth. Valid filters have three levels.
const (
	maxConditions = 16 << 10
	maxNesting    = 8
)

// A member is a name and a value in a JSON object.
type member struct {
	name  string
	value json.RawMessage
}

// object returns the members of a JSON object, including duplicates.
func object(b []byte) ([]member, error) {
	b = bytes.TrimSpace(b)
	if _, err := measure.CountValues(b, measure.Bounds{Values: maxConditions, Depth: maxNesting}); err != nil {
		return nil, err
	}
	if !json.Valid(b) || b[0] != '{' {
		return nil, fmt.Errorf(`a correlation filter must be a JSON object, as in {"Label":"x","Properties":{"color":"red"}}`)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	if _, err := d.Token(); err != nil {
		return nil, fmt.Errorf("read a correlation filter: %w", err)
	}
	var all []member
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("read a correlation filter: %w", err)
		}
		var m member
		m.name, _ = t.(string) // a name precedes each value
		if err := d.Decode(&m.value); err != nil {
			return nil, fmt.Errorf("read a correlation filter: %w", err)
		}
		all = append(all, m)
	}
	return all, nil
}

// Text returns the canonical JSON form of the filter, from which ParseCorrelation returns an equal
// filter.
func (c *Correlation) Text() string {
	var parts []string
	for _, s := range filterableProperties {
		if t := *c.text(s); t != "" {
			parts = append(parts, quote(s.String())+":"+quote(t))
		}
	}
	if len(c.Properties) > 0 {
		sorted := slices.Clone(c.Properties)
		slices.SortStableFunc(sorted, func(a, b value.Property) int { return strings.Compare(a.Name, b.Name) })
		own := make([]string, len(sorted))
		for i, p := range sorted {
			own[i] = quote(p.Name) + ":" + plainJSON(p.Value)
		}
		parts = append(parts, `"Properties":{`+strings.Join(own, ",")+`}`)
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// plainJSON returns v as plain JSON if that parses to v again, else in the typed form.
func plainJSON(v value.Value) string {
	switch v.Kind() {
	case value.String:
		if s, _ := v.Str(); utf8.ValidString(s) {
			return quote(s)
		}
	case value.Bool, value.Long:
		return v.Text()
	case value.Double:
		f, _ := v.Float64()
		if math.IsInf(f, 0) || math.IsNaN(f) {
			break
		}
		s := strconv.FormatFloat(f, 'g', -1, 64)
		if !strings.ContainsAny(s, ".e") {
			s += ".0" // without a point it is a long
		}
		return s
	}
	b, err := v.MarshalJSON()
	if err != nil { // a value can always be written
		panic(fmt.Sprintf("write a %v as JSON: %v", v.Kind(), err))
	}
	return string(b)
}

// quote returns s as a JSON string.
func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil { // a string can always be written
		panic(fmt.Sprintf("write %q as JSON: %v", s, err))
	}
	return string(b)
}
