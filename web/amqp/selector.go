package amqp

import (
	"fmt"
	"unicode/utf8"

	"mayfly/engine"
	"mayfly/engine/filter"
	"mayfly/engine/value"
	"mayfly/web/amqp/codec"
	"mayfly/web/amqp/wire"
)

// The filters of a receiver's source that select messages: the selector of JMS and AMQP
// clients, and the filters that Service Bus' own libraries use for rules. A filter is
// identified by its descriptor, or by its name if its value is not described.

const (
	selectorName    = "apache.org:selector-filter:string"
	selectorCode    = 0x468C00000004
	jmsSelector     = "jms-selector"
	sqlFilterName   = "com.microsoft:sql-filter"
	sqlFilterList   = "com.microsoft:sql-filter:list"
	trueFilterName  = "com.microsoft:true-filter:list"
	falseFilterName = "com.microsoft:false-filter:list"
)

type selectorKind uint8

const (
	notSelector selectorKind = iota
	jmsKind
	sqlKind
	trueKind
	falseKind
)

// selectorOf returns the kind of a filter, notSelector for an unknown one, and its value without
// the descriptor.
func selectorOf(f value.Property) (kind selectorKind, of value.Value) {
	name, code := f.Name, uint64(0)
	of = f.Value
	if raw, ok := of.Bytes(); ok && of.Kind() == value.Raw {
		descriptor, described, err := wire.ParseDescribed(raw)
		if err != nil {
			return notSelector, of
		}
		of = described
		name, _ = descriptor.Str()
		code, _ = descriptor.Uint64()
	}
	switch {
	case code == selectorCode, name == selectorName, name == jmsSelector:
		return jmsKind, of
	case code == sqlFilterCode, name == sqlFilterName, name == sqlFilterList:
		return sqlKind, of
	case code == trueFilterCode, name == trueFilterName:
		return trueKind, of
	case code == falseFilterCode, name == falseFilterName:
		return falseKind, of
	}
	return notSelector, of
}

// parseSelectorFilters returns the selector among the source's filters, or nil if the link receives
// all messages, and those of the filters that are supported. An invalid filter is an error: a
// client that has set one must not get all messages. So is a second selector, because the length of
// the one bounds the cost of each message; true filters do not count.
func parseSelectorFilters(filters value.Properties, l engine.Limits) (selector *engine.MessageSelector, served value.Properties, why *wire.Error) {
	for _, f := range filters {
		kind, of := selectorOf(f)
		if kind == notSelector {
			continue
		}
		one, err := parseSelector(kind, of, l)
		switch {
		case err != nil:
			return nil, nil, &wire.Error{Condition: wire.CondInvalidField, Description: fmt.Sprintf("The filter %q is not valid: %v", quoted(f.Name), err)}
		case one != nil && selector != nil:
			return nil, nil, &wire.Error{Condition: wire.CondNotImplemented, Description: fmt.Sprintf("The filter %q is the link's second selector. Combine the two with AND.", quoted(f.Name))}
		case one != nil:
			selector = one
		}
		served = append(served, f)
	}
	return selector, served, nil
}

// quoted returns the part of a filter's name that an error quotes.
func quoted(s string) string { return printable(s, maxNameLength) }

// selectorCost returns how many bytes of memory a link's selector takes, including its index of
// messages in the engine. It is 0 for nil.
func selectorCost(s *engine.MessageSelector) int {
	if s == nil {
		return 0
	}
	return selectorBase + selectorFactor*len(s.Text)
}

func parseSelector(kind selectorKind, of value.Value, l engine.Limits) (*engine.MessageSelector, error) {
	switch kind {
	case trueKind:
		return nil, nil
	case falseKind:
		return &engine.MessageSelector{Text: "false", Matches: func(*engine.Candidate) bool { return false }}, nil
	}
	if raw, ok := of.Bytes(); ok && of.Kind() == value.Raw { // an expression and its syntax version
		if all, err := wire.ParseList(raw); err == nil && len(all) > 0 {
			of = all[0]
		}
	}
	text, ok := of.Str()
	if !ok {
		return nil, fmt.Errorf("it must be a string, not %s", of.Kind())
	}
	if n := int64(utf8.RuneCountInString(text)); n > l.FilterLength {
		return nil, fmt.Errorf("it has %d characters; the maximum is %d", n, l.FilterLength)
	}
	text = string([]byte(text)) // a copy, because the frame must not stay in memory
	if kind == sqlKind {
		sql, err := filter.ParseSQLSelector(text)
		if err != nil {
			return nil, err
		}
		return newSelector("sql "+text, sql, nil), nil
	}
	sql, names, err := filter.ParseSelector(text)
	if err != nil {
		return nil, err
	}
	headers, err := codec.ParseJMSHeaders(names)
	if err != nil {
		return nil, err
	}
	return newSelector("jms "+text, sql, headers), nil
}

// newSelector returns a selector of the messages for which `sql` is true. It does not select a
// message for which evaluation fails. A header hides a property of the message that has the same
// name.
func newSelector(text string, sql *filter.SQL, headers codec.JMSHeaders) *engine.MessageSelector {
	return &engine.MessageSelector{Text: text, Matches: func(x *engine.Candidate) bool {
		m := x.Filter()
		if len(headers) > 0 {
			details, ok := x.Decoded.(*codec.Details)
			if !ok {
				details = codec.DetailsOf(&x.Content)
				x.Decoded = details
			}
			with := *m
			with.Properties = append(headers.Values(&x.Message, &x.Content, details), m.Properties...)
			m = &with
		}
		yes, err := sql.Matches(m)
		return yes && err == nil
	}}
}
