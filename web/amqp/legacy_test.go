package amqp_test

import (
	"bytes"
	"testing"
	"testing/synctest"

	"mayfly/engine/value"
	"mayfly/web/amqp/amqptest"
	"mayfly/web/amqp/wire"
)

// Delivery tags of up to 256 bytes are accepted, as by Service Bus, and longer ones close the
// connection. The standard allows 32 bytes, but the old SDK for Java
// (com.microsoft.azure:azure-servicebus) sends 36.
func TestLongTags(t *testing.T) {
	inBubble(t, nil, func(h bubbleWorld) {
		c := h.sender()
		for id, n := range []int{32, 36, 256} {
			d := amqptest.MessageTransfer(0, uint32(id), amqptest.DataMessage(nil))
			d.DeliveryTag = bytes.Repeat([]byte("t"), n)
			c.WriteFrames(0, d)
			h.accepted(c.WaitForOutcome(uint32(id)))
		}
		d := amqptest.MessageTransfer(0, 9, amqptest.DataMessage(nil))
		d.DeliveryTag = make([]byte, 257)
		c.WriteFrames(0, d)
		h.because(c.WaitForClose(), wire.CondInvalidField)
	})
}

// The link for a reply is looked up in the session of the request first, and then in the
// connection's other sessions: the old SDK for Java has one link in each of two.
func TestAnswerInAnotherSession(t *testing.T) {
	for name, tc := range map[string]struct {
		own  string // target of the reply link in the session of the request; empty without one
		to   string // reply-to
		want uint16 // channel
	}{
		"only there":                 {"", "there", 1},
		"only there, without a name": {"", "", 1},
		"only there, another name":   {"", "nowhere", 1},
		"in both":                    {"there", "there", 0},
		"the other is meant":         {"here", "there", 1},
		"neither is meant":           {"here", "nowhere", 0},
		"no name":                    {"here", "", 0},
	} {
		t.Run("LINK-1 "+name, func(t *testing.T) {
			inBubble(t, nil, func(h bubbleWorld) {
				c := h.connect()
				answers := func(target string) wire.Attach {
					a := amqptest.ReceiverAttach(1, "q/$management")
					a.Target.Address = wire.Some(target)
					return a
				}
				c.Begin(0)
				c.AttachSender(0, 0, "q/$management")
				if tc.own != "" {
					c.Attach(0, answers(tc.own))
					c.GrantCredit(0, 1, 0, 10)
				}
				c.Begin(1)
				c.Attach(1, answers("there"))
				c.GrantCredit(1, 1, 0, 10)
				props := wire.Properties{MessageID: value.OfString("m")}
				if tc.to != "" {
					props.ReplyTo = wire.Some(tc.to)
				}
				b := wire.AppendAnnotations(props.Append(nil), wire.SectionApplicationProperties, value.Properties{prop("operation", value.OfString("com.microsoft:peek-message"))})
				c.WriteFrames(0, amqptest.MessageTransfer(0, 0, wire.AppendSection(b, wire.SectionValue, wire.AppendMap(nil, nil))))
				synctest.Wait()
				for _, f := range c.Pending() {
					if _, ok := f.Body.(*wire.Transfer); ok {
						if f.Channel != tc.want {
							t.Errorf("the reply is on channel %d", f.Channel)
						}
						return
					}
				}
				t.Error("the request got no reply")
			})
		})
	}
}
