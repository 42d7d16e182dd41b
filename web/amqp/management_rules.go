package amqp

import (
	"context"
	"errors"
	"strings"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/filter"
	"mayfly/engine/value"
	"mayfly/web/amqp/wire"
)

// Descriptors of the parts of rules on the wire (§4.2). As in the service, the first three have one
// digit more than the others.
const (
	ruleDescriptionCode = 0x13700000004
	emptyActionCode     = 0x13700000005
	sqlActionCode       = 0x13700000006
	sqlFilterCode       = 0x1370000006
	trueFilterCode      = 0x1370000007
	falseFilterCode     = 0x1370000008
	correlationCode     = 0x1370000009

	compatibilityLevel = 20
)

func addRule(ctx context.Context, c *call) (callResult, error) {
	r := engine.Rule{}
	var err error
	if r.Name, _, err = c.arguments.text("rule-name"); err != nil {
		return callResult{}, err
	}
	of, err := c.arguments.mapValue("rule-description")
	if err != nil {
		return callResult{}, err
	}
	about := arguments{of}
	sql, err := about.mapValue("sql-filter")
	if err != nil {
		return callResult{}, err
	}
	correlation, err := about.mapValue("correlation-filter")
	if err != nil {
		return callResult{}, err
	}
	switch {
	case sql != nil:
		r.Filter.Kind = engine.SQLFilter
		if r.Filter.Text, _, err = (arguments{sql}).text("expression"); err != nil {
			return callResult{}, err
		}
	case correlation != nil:
		r.Filter.Kind = engine.CorrelationFilter
		if r.Filter.Text, err = correlationText(arguments{correlation}); err != nil {
			return callResult{}, err
		}
	}
	action, err := about.mapValue("sql-rule-action")
	if err != nil {
		return callResult{}, err
	}
	if r.Action, _, err = (arguments{action}).text("expression"); err != nil {
		return callResult{}, err
	}
	return callResult{}, c.b.AddRule(ctx, c.path, r, c.client)
}

// conditionsOf returns the conditions of a correlation filter in the order of its wire
// type, with their names in a request.
func conditionsOf(f *filter.Correlation) []struct {
	name string
	text *string
} {
	return []struct {
		name string
		text *string
	}{
		{"correlation-id", &f.CorrelationID}, {"message-id", &f.MessageID}, {"to", &f.To}, {"reply-to", &f.ReplyTo}, {"label", &f.Label},
		{"session-id", &f.SessionID}, {"reply-to-session-id", &f.ReplyToSessionID}, {"content-type", &f.ContentType},
	}
}

func correlationText(in arguments) (text string, err error) {
	var f filter.Correlation
	for _, at := range conditionsOf(&f) {
		read := in.text
		if strings.HasSuffix(at.name, "-id") {
			read = in.id
		}
		if *at.text, _, err = read(at.name); err != nil {
			return "", err
		}
	}
	if f.Properties, err = in.mapValue("properties"); err != nil {
		return "", err
	}
	return f.Text(), nil
}

func removeRule(ctx context.Context, c *call) (callResult, error) {
	name, _, err := c.arguments.text("rule-name")
	if err != nil {
		return callResult{}, err
	}
	return callResult{}, c.b.RemoveRule(ctx, c.path, name, c.client)
}

func enumerateRules(ctx context.Context, c *call) (callResult, error) {
	skip, err := c.arguments.integer32("skip", 0)
	if err != nil {
		return callResult{}, err
	}
	top, err := c.arguments.integer32("top", 100)
	if err != nil {
		return callResult{}, err
	}
	if skip < 0 || top < 0 {
		return callResult{}, engine.Refuse(engine.ErrOutOfRange, "The numbers of rules to skip and to return must not be negative.")
	}
	var rules []engine.Rule
	err = c.b.Read(ctx, func(r broker.Reader) error {
		state, err := r.State(c.path)
		rules = state.Rules
		return err
	})
	if err != nil {
		return callResult{}, err
	}
	rules = rules[min(int(skip), len(rules)):]
	rules = rules[:min(int(top), 100, len(rules))]
	if len(rules) == 0 {
		return callResult{noContent: true}, nil
	}
	size := 0
	for _, r := range rules {
		size += len(r.Name) + len(r.Filter.Text) + len(r.Action)
	}
	if err := c.reserveReplyBytes(ctx, int64(size)); err != nil {
		return callResult{}, err
	}
	out := make([]value.Value, 0, len(rules))
	for _, r := range rules {
		described, err := encodeRule(r)
		if err != nil {
			return callResult{}, err
		}
		out = append(out, value.OfRaw(wire.AppendMap(nil, value.Properties{{Name: "rule-description", Value: described}})))
	}
	return resultMap("rules", value.OfRaw(wire.AppendList(nil, out...))), nil
}

// encodeRule returns a rule in the form that clients read.
func encodeRule(r engine.Rule) (value.Value, error) {
	action := described(emptyActionCode)
	if r.Action != "" {
		action = described(sqlActionCode, value.OfString(r.Action), value.OfInt(compatibilityLevel))
	}
	selects, err := encodeFilter(r.Filter)
	if err != nil {
		return value.Value{}, err
	}
	return described(ruleDescriptionCode, selects, action, value.OfString(r.Name), timestamp(r.CreatedAt)), nil
}

func encodeFilter(f engine.Filter) (value.Value, error) {
	switch f.Kind {
	case engine.TrueFilter:
		return described(trueFilterCode), nil
	case engine.FalseFilter:
		return described(falseFilterCode), nil
	case engine.SQLFilter:
		return described(sqlFilterCode, value.OfString(f.Text), value.OfInt(compatibilityLevel)), nil
	case engine.CorrelationFilter:
		c, err := filter.ParseCorrelation(f.Text)
		if err != nil {
			return value.Value{}, errors.Join(errors.New("a correlation filter in the store cannot be read"), err)
		}
		var fields []value.Value
		for _, at := range conditionsOf(c) {
			v := value.Value{}
			if *at.text != "" {
				v = value.OfString(*at.text)
			}
			fields = append(fields, v)
		}
		fields = append(fields, value.OfRaw(wire.AppendMap(nil, c.Properties)))
		return described(correlationCode, fields...), nil
	default:
		return value.Value{}, errors.New("a filter of an unknown kind is in the store")
	}
}

// described returns a described list.
func described(code uint64, fields ...value.Value) value.Value {
	return value.OfRaw(wire.AppendDescribed(nil, value.OfULong(code), value.OfRaw(wire.AppendList(nil, fields...))))
}
