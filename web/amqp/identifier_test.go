package amqp_test

import (
	"strings"
	"testing"

	"mayfly/engine"
	"mayfly/engine/value"
	"mayfly/web/amqp/amqptest"
	"mayfly/web/amqp/wire"
	"mayfly/web/connections"
)

// TestIdentifiers checks that the server finds the identifier of a sender or receiver in the attach
// of each SDK (§18.1).
func TestIdentifiers(t *testing.T) {
	properties := func(name, to string) value.Properties {
		return value.Properties{{Name: name, Value: value.OfString(to)}}
	}
	receiver := func(target string, p value.Properties) wire.Attach {
		a := amqptest.ReceiverAttach(1, "q")
		a.Name, a.Properties = "link-7", p
		if target != "" {
			a.Target = &wire.Target{Address: wire.Some(target)}
		}
		return a
	}
	sender := func(source string, p value.Properties) wire.Attach {
		a := amqptest.SenderAttach(1, "q")
		a.Name, a.Properties = "link-7", p
		if source != "" {
			a.Source = &wire.Source{Address: wire.Some(source)}
		}
		return a
	}
	for name, tc := range map[string]struct {
		attach wire.Attach
		want   string
	}{
		"JavaScript, receiver":       {receiver("picker", properties("com.microsoft:receiver-name", "picker")), "picker"},
		"JavaScript and .NET sender": {sender("till", nil), "till"},
		"Java, sender":               {sender("elsewhere", properties("com.microsoft:client-identifier", "till")), "till"},
		"Python, receiver":           {receiver("receiver-link-link-7", properties("com.microsoft:receiver-name", "picker")), "picker"},
		"Python, sender":             {sender("sender-link-link-7", nil), ""},
		"as the link":                {sender("link-7", nil), "link-7"},
		"Go":                         {sender("", nil), ""},
		"a receiver's target":        {receiver("replies", nil), ""},
		"not to be shown":            {receiver("", properties("com.microsoft:receiver-name", "a\x00b\n\u202e")), "ab"},
		"long":                       {receiver("", properties("com.microsoft:receiver-name", strings.Repeat("x", 200))), strings.Repeat("x", 128)},
		"a number": {
			receiver("", value.Properties{{Name: "com.microsoft:receiver-name", Value: value.OfInt(7)}}), "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.b.CreateQueue("q", engine.Config{})
				w.client().Attach(0, tc.attach)
				if got := w.only(connections.Query{Links: 9}).Links; len(got) != 1 || got[0].Identifier != tc.want {
					t.Errorf("got links %+v", got)
				}
			})
		})
	}
}
