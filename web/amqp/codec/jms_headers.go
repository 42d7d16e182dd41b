package codec

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"mayfly/engine"
	"mayfly/engine/value"
)

// JMSHeaders are the headers that a JMS selector names. They are not application properties: the
// JMS mapping of AMQP defines from which parts of a message they are read.
type JMSHeaders []jmsHeader

type jmsHeader struct {
	name string
	read jmsHeaderFunc
}

// jmsHeaderFunc returns the value of a header, or null if the message does not have it.
type jmsHeaderFunc func(m *engine.Message, c *engine.Content, x *extras) value.Value

// jmsHeaderFuncs read the headers, by name. As for JMS clients, the default priority is 4, and
// a message that does not set durable is not persistent.
var jmsHeaderFuncs = map[string]jmsHeaderFunc{
	"JMSMessageID":     func(_ *engine.Message, c *engine.Content, _ *extras) value.Value { return text(c.MessageID) },
	"JMSCorrelationID": func(_ *engine.Message, c *engine.Content, _ *extras) value.Value { return text(c.CorrelationID) },
	"JMSType":          func(_ *engine.Message, c *engine.Content, _ *extras) value.Value { return text(c.Subject) },
	"JMSDestination":   func(_ *engine.Message, c *engine.Content, _ *extras) value.Value { return text(c.To) },
	"JMSReplyTo":       func(_ *engine.Message, c *engine.Content, _ *extras) value.Value { return text(c.ReplyTo) },
	"JMSXGroupID": func(_ *engine.Message, c *engine.Content, _ *extras) value.Value {
		if c.HasSessionID() {
			return value.OfString(c.SessionID)
		}
		return value.Value{}
	},
	"JMSXGroupSeq": func(_ *engine.Message, _ *engine.Content, x *extras) value.Value {
		if n, ok := x.properties.GroupSequence.Get(); ok {
			return value.OfLong(int64(n))
		}
		return value.Value{}
	},
	"JMSXUserID": func(_ *engine.Message, _ *engine.Content, x *extras) value.Value {
		return text(string(x.properties.UserID))
	},
	"JMSXDeliveryCount": func(m *engine.Message, _ *engine.Content, _ *extras) value.Value {
		return value.OfLong(int64(m.DeliveryCount) + 1)
	},
	"JMSPriority": func(_ *engine.Message, _ *engine.Content, x *extras) value.Value {
		return value.OfLong(int64(x.header.Priority.Or(4)))
	},
	"JMSDeliveryMode": func(_ *engine.Message, _ *engine.Content, x *extras) value.Value {
		if x.header.Durable.Or(false) {
			return value.OfString("PERSISTENT")
		}
		return value.OfString("NON_PERSISTENT")
	},
	"JMSTimestamp": func(m *engine.Message, _ *engine.Content, x *extras) value.Value {
		return value.OfLong(x.properties.CreationTime.Or(int64(m.EnqueuedAt)))
	},
	"JMSExpiration": func(m *engine.Message, _ *engine.Content, x *extras) value.Value {
		return value.OfLong(cmp.Or(int64(m.ExpiresAt), x.properties.AbsoluteExpiryTime.Or(0)))
	},
}

func text(s string) value.Value {
	if s == "" {
		return value.Value{}
	}
	return value.OfString(s)
}

// ParseJMSHeaders returns the headers of these names, in any case. Names that begin with JMS_
// are vendor properties, which any message may have, and are skipped. Any other unknown
// name is an error.
func ParseJMSHeaders(names []string) (all JMSHeaders, err error) {
	of := jmsHeaderFuncs
	known := slices.Sorted(maps.Keys(of))
	for _, n := range names {
		i := slices.IndexFunc(known, func(k string) bool { return strings.EqualFold(k, n) })
		switch {
		case i >= 0:
			all = append(all, jmsHeader{known[i], of[known[i]]})
		case !strings.HasPrefix(strings.ToLower(n), "jms_"):
			return nil, fmt.Errorf("unknown name %q: the names that begin with JMS are %s", n, strings.Join(known, ", "))
		}
	}
	return all, nil
}

// Details are the parts of a message that only AMQP has. They are decoded once, for all selectors
// that are evaluated against the message.
type Details struct {
	extras
	valid bool
}

// DetailsOf decodes the details of a message. If they are corrupt, the message has no headers.
func DetailsOf(c *engine.Content) *Details {
	d := &Details{}
	d.valid = d.unpack(c.Wire) == nil
	return d
}

// Values returns the headers that a message with these details has, as properties.
func (h JMSHeaders) Values(m *engine.Message, c *engine.Content, d *Details) value.Properties {
	if !d.valid {
		return nil
	}
	out := make(value.Properties, 0, len(h))
	for _, n := range h {
		if v := n.read(m, c, &d.extras); v.Kind() != value.Null {
			out = append(out, value.Property{Name: n.name, Value: v})
		}
	}
	return out
}
