package amqp

import (
	"context"
	"errors"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/filter"
	"mayfly/engine/value"
	"mayfly/web/amqp/wire"
)

// Descriptors of what rules are made of on the wire (§4.2), which come in two
// magnitudes.
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

func addRule(ctx context.Context, c *call) (done, error) {
	r := engine.Rule{}
	var err error
	if r.Name, _, err = c.in.text("rule-name"); err != nil {
		return done{}, err
	}
	of, err := c.in.fields("rule-description")
	if err != nil {
		return done{}, err
	}
	about := arguments{of}
	sql, err := about.fields("sql-filter")
	if err != nil {
		return done{}, err
	}
	correlation, err := about.fields("correlation-filter")
	if err != nil {
		return done{}, err
	}
	switch {
	case sql != nil:
		r.Filter.Kind = engine.SQLFilter
		if r.Filter.Text, _, err = (arguments{sql}).text("expression"); err != nil {
			return done{}, err
		}
	case correlation != nil:
		r.Filter.Kind = engine.CorrelationFilter
		if r.Filter.Text, err = correlationText(arguments{correlation}); err != nil {
			return done{}, err
		}
	}
	action, err := about.fields("sql-rule-action")
	if err != nil {
		return done{}, err
	}
	if r.Action, _, err = (arguments{action}).text("expression"); err != nil {
		return done{}, err
	}
	return done{}, c.b.AddRule(ctx, c.path, r, c.client)
}

// conditionsOf are the conditions of a correlation filter in the order of its
// wire type, with the names they have in a request.
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
		if *at.text, _, err = in.text(at.name); err != nil {
			return "", err
		}
	}
	if f.Properties, err = in.fields("properties"); err != nil {
		return "", err
	}
	return f.Text(), nil
}

func removeRule(ctx context.Context, c *call) (done, error) {
	name, _, err := c.in.text("rule-name")
	if err != nil {
		return done{}, err
	}
	return done{}, c.b.RemoveRule(ctx, c.path, name, c.client)
}

func enumerateRules(ctx context.Context, c *call) (done, error) {
	skip, err := c.in.number("skip", 0)
	if err != nil {
		return done{}, err
	}
	top, err := c.in.number("top", 100)
	if err != nil {
		return done{}, err
	}
	if skip < 0 || top < 0 {
		return done{}, &engine.Refusal{Kind: engine.ErrOutOfRange, Text: "The numbers of rules to skip and to list must not be negative."}
	}
	var rules []engine.Rule
	err = c.b.Read(ctx, func(r broker.Reader) error {
		state, err := r.State(c.path)
		rules = state.Rules
		return err
	})
	if err != nil {
		return done{}, err
	}
	rules = rules[min(int(skip), len(rules)):]
	rules = rules[:min(int(top), 100, len(rules))]
	if len(rules) == 0 {
		return done{empty: true}, nil
	}
	size := 0
	for _, r := range rules {
		size += len(r.Name) + len(r.Filter.Text) + len(r.Action)
	}
	if err := c.makeRoom(ctx, int64(size)); err != nil {
		return done{}, err
	}
	out := make([]value.Value, 0, len(rules))
	for _, r := range rules {
		described, err := describe(r)
		if err != nil {
			return done{}, err
		}
		out = append(out, value.OfRaw(wire.AppendMap(nil, value.Properties{{Name: "rule-description", Value: described}})))
	}
	return result("rules", value.OfRaw(wire.AppendList(nil, out...))), nil
}

// describe is a rule as clients read it.
func describe(r engine.Rule) (value.Value, error) {
	action := described(emptyActionCode)
	if r.Action != "" {
		action = described(sqlActionCode, value.OfString(r.Action), value.OfInt(compatibilityLevel))
	}
	selects, err := describeFilter(r.Filter)
	if err != nil {
		return value.Value{}, err
	}
	return described(ruleDescriptionCode, selects, action, value.OfString(r.Name), timestamp(r.CreatedAt)), nil
}

func describeFilter(f engine.Filter) (value.Value, error) {
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

// described is a described list.
func described(code uint64, fields ...value.Value) value.Value {
	return value.OfRaw(wire.AppendDescribed(nil, value.OfULong(code), value.OfRaw(wire.AppendList(nil, fields...))))
}
