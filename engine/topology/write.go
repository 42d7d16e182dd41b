package topology

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mayfly/engine"
)

// Write writes entities as a Config.json, for [Read] and the emulator: all queues, topics and
// subscriptions with their rules, by path. It leaves out properties with the limits' default
// values, and those that a file cannot express, such as authorization rules. A pinned entity
// is written with the idle time that Unpin would restore (OPS-9). The rules of a subscription
// are left out if it has only the default rule (FILT-2).
//
// Read with the same limits returns the same entities, unless the file is too long. The emulator
// accepts values within its own ranges (§17.2).
func Write(namespace string, have []engine.EntityState, l engine.Limits) ([]byte, error) {
	have = slices.Clone(have)
	slices.SortFunc(have, func(a, b engine.EntityState) int { return cmp.Compare(a.Path.Fold(), b.Path.Fold()) })
	written := writtenNamespace{Name: namespace}
	topics := map[string]int{}
	for _, e := range have {
		switch e.Kind {
		case engine.Queue:
			written.Queues = append(written.Queues, writtenEntity{Name: string(e.Path), Properties: changedProperties(e, l)})
		case engine.Topic:
			topics[e.Path.Fold()] = len(written.Topics)
			written.Topics = append(written.Topics, writtenTopic{writtenEntity{Name: string(e.Path), Properties: changedProperties(e, l)}, nil})
		}
	}
	for _, e := range have {
		topic, name, ok := e.Path.Subscription()
		if !ok {
			continue
		}
		at, ok := topics[engine.Path(topic).Fold()]
		if !ok {
			return nil, fmt.Errorf("write the definition of %q: its topic is missing", e.Path)
		}
		s := writtenSubscription{writtenEntity{Name: name, Properties: changedProperties(e, l)}, nil}
		if !onlyDefault(e.Rules) {
			rules := []writtenRule{} // an empty list is written too
			for _, r := range e.Rules {
				rules = append(rules, writtenRule{r.Name, writtenRuleProperties(r)})
			}
			s.Rules = &rules
		}
		written.Topics[at].Subscriptions = append(written.Topics[at].Subscriptions, s)
	}
	var file writtenFile
	file.UserConfig.Namespaces = []writtenNamespace{written}
	file.UserConfig.Logging.Type = "File"
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(file); err != nil {
		return nil, fmt.Errorf("write the definition: %w", err)
	}
	return out.Bytes(), nil
}

type writtenFile struct {
	UserConfig struct {
		Namespaces []writtenNamespace
		Logging    struct{ Type string }
	}
}

type writtenNamespace struct {
	Name   string          `json:",omitempty"`
	Queues []writtenEntity `json:",omitempty"`
	Topics []writtenTopic  `json:",omitempty"`
}

type writtenEntity struct {
	Name       string
	Properties members `json:",omitempty"`
}

type writtenTopic struct {
	writtenEntity
	Subscriptions []writtenSubscription `json:",omitempty"`
}

type writtenSubscription struct {
	writtenEntity
	Rules *[]writtenRule `json:",omitempty"`
}

type writtenRule struct {
	Name       string
	Properties writtenFilter
}

type writtenFilter struct {
	FilterType        string
	SQLFilter         *writtenSQL     `json:"SqlFilter,omitempty"`
	CorrelationFilter json.RawMessage `json:",omitempty"`
	Action            *writtenSQL     `json:",omitempty"`
}

type writtenSQL struct {
	SQLExpression string `json:"SqlExpression"`
}

// members are the names and JSON values of an object's members, in order.
type members [][2]string

// MarshalJSON returns the object as JSON.
func (m members) MarshalJSON() ([]byte, error) {
	parts := make([]string, len(m))
	for i, one := range m {
		parts[i] = quote(one[0]) + ":" + one[1]
	}
	return []byte("{" + strings.Join(parts, ",") + "}"), nil
}

// changedProperties returns the properties that differ from the limits' defaults.
func changedProperties(e engine.EntityState, l engine.Limits) (out members) {
	c := e.Config
	if e.UnpinnedIdle != 0 {
		c.AutoDeleteOnIdle = e.UnpinnedIdle
	}
	for _, p := range engine.Properties(e.Kind) {
		text := p.Text(c)
		if text == p.DefaultIn(l) {
			continue
		}
		written := text
		if p.Type != engine.NumberProperty && p.Type != engine.SwitchProperty {
			written = unescapedHTML(text)
		}
		out = append(out, [2]string{p.Name, written})
	}
	return out
}

// unescapedHTML is quote, but does not escape the characters <, > and &.
func unescapedHTML(s string) string {
	var out strings.Builder
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err) // a string can always be written
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// onlyDefault reports whether rules are those of a new subscription.
func onlyDefault(rules []engine.Rule) bool {
	return len(rules) == 1 && rules[0].Name == engine.DefaultRule && rules[0].Filter.Kind == engine.TrueFilter && rules[0].Action == ""
}

// writtenRuleProperties returns a rule's filter and action in the emulator's form, which has only SQL
// and correlation filters.
func writtenRuleProperties(r engine.Rule) (f writtenFilter) {
	f.FilterType = "Sql"
	switch r.Filter.Kind {
	case engine.CorrelationFilter:
		f.FilterType, f.CorrelationFilter = "Correlation", json.RawMessage(r.Filter.Text)
	case engine.SQLFilter:
		f.SQLFilter = &writtenSQL{r.Filter.Text}
	case engine.TrueFilter:
		f.SQLFilter = &writtenSQL{"1=1"}
	case engine.FalseFilter:
		f.SQLFilter = &writtenSQL{"1=0"}
	default:
		panic("unknown kind of filter " + strconv.Itoa(int(r.Filter.Kind)))
	}
	if r.Action != "" {
		f.Action = &writtenSQL{r.Action}
	}
	return f
}
