package amqp_test

import (
	"strings"
	"testing"
	"time"

	"mayfly/engine/value"
	"mayfly/web/amqp/amqptest"
	"mayfly/web/amqp/wire"
)

// Features of other brokers that are not supported are refused with an error that names them.
func TestUnsupported(t *testing.T) {
	inBubble(t, nil, func(h bubbleWorld) {
		c := h.sender()
		dynamic, makes, anonymous, nowhere := amqptest.ReceiverAttach(1, ""), amqptest.SenderAttach(1, ""), amqptest.SenderAttach(1, ""), amqptest.ReceiverAttach(1, "")
		dynamic.Source = &wire.Source{Dynamic: true}
		makes.Target = &wire.Target{Dynamic: true}
		anonymous.Target = &wire.Target{}
		nowhere.Source = &wire.Source{}
		for _, tc := range []struct {
			a         wire.Attach
			condition wire.Condition
			text      string
		}{
			{dynamic, wire.CondNotImplemented, "Dynamic nodes, such as temporary queues, are not supported."},
			{makes, wire.CondNotImplemented, "Dynamic nodes, such as temporary queues, are not supported."},
			{anonymous, wire.CondNotImplemented, "Anonymous targets, where each message names its destination, are not supported."},
			{nowhere, wire.CondInvalidField, "The source of the link has no address."},
		} {
			why := h.refused(c, 0, tc.a)
			if h.because(why, tc.condition); why != nil && !strings.HasPrefix(why.Description, tc.text) {
				t.Errorf("the error is %s; want %s", why.Description, tc.text)
			}
		}
		later := time.Now().Add(time.Hour).UnixMilli()
		for i, tc := range []struct {
			key     string
			v       value.Value
			refused bool
		}{
			{"x-opt-delivery-time", value.OfLong(later), true},
			{"x-opt-delivery-time", value.OfTimestamp(later), true},
			{"x-opt-delivery-time", value.OfULong(uint64(later)), true},
			{"x-opt-delivery-time", value.OfLong(time.Now().UnixMilli()), false}, // in a forwarded message
			{"x-opt-delivery-delay", value.OfUInt(1), true},
			{"x-opt-delivery-delay", value.OfLong(0), false},
			{"x-opt-delivery-delay", value.Value{}, false},
		} {
			b := wire.AppendAnnotations(nil, wire.SectionMessageAnnotations, value.Properties{prop(tc.key, tc.v)})
			got := c.Send(0, 0, uint32(i), append(b, amqptest.DataMessage(nil)...))
			if !tc.refused {
				h.accepted(got)
				continue
			}
			h.rejected(got, wire.CondNotImplemented)
			if !strings.Contains(show(got), "Delayed delivery, which the message annotation '"+tc.key+"' asks for, is not supported.") {
				t.Error(show(got))
			}
		}
	})
}
