package web_test

import (
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/value"
	"mayfly/web/amqp/codec"
	"mayfly/web/amqp/wire"
	"mayfly/web/rest"
	"mayfly/web/webtest"
)

// A heard message is a message as AMQP clients receive it.
type heard struct {
	wire.Properties
	application, annotations value.Properties
	body                     wire.Body
}

// hear receives the next message of q over AMQP.
func hear(t *testing.T, b *broker.Broker) (h heard) {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	got, err := b.Receive(t.Context(), broker.ReceiveRequest{Path: "q", Mode: engine.ReceiveAndDelete})
	check(err)
	if len(got) != 1 {
		t.Fatalf("got %d messages", len(got))
	}
	body, err := io.ReadAll(got[0].Body)
	check(err)
	var e codec.Envelope
	_, err = e.EncodeDelivery(nil, &got[0].Delivery)
	check(err)
	var m wire.Message
	check(m.Decode(e.AppendMessage(nil, body)))
	check(h.Decode(m.Properties))
	if m.ApplicationProperties != nil {
		h.application, err = wire.ParseMap(m.ApplicationProperties)
		check(err)
	}
	h.annotations, err = wire.ParseMap(m.MessageAnnotations)
	check(err)
	h.body = m.Body
	return h
}

func restOf(t *testing.T, b *broker.Broker) *webtest.Client {
	t.Helper()
	e := echo.New()
	rest.Mount(e, rest.Options{Broker: b, Logger: slog.New(slog.DiscardHandler)})
	return webtest.Serve(t, e)
}

// TestSentOverREST: a message sent over REST looks to AMQP clients as if it had been sent over
// AMQP.
func TestSentOverREST(t *testing.T) {
	b := open(t)
	s := restOf(t, b.Broker)
	s.Want(201, "POST", "/q/messages", "payload \x00\xff",
		"Content-Type", "application/x-thing", "BrokerProperties", `{"MessageId":"m1","CorrelationId":"c","SessionId":"","To":"t","ReplyTo":"r","ReplyToSessionId":"rs","Label":"l","TimeToLive":90.5,"ViaPartitionKey":"v"}`,
		"Text", `"t"`, "Whole", "5", "Big", "18446744073709551615", "Ratio", "2.5", "Ok", "true", "When", `"Sun, 06 Nov 1994 08:49:37 GMT"`, "None", "null",
	)
	got := hear(t, b.Broker)
	want := wire.Properties{
		MessageID: value.OfString("m1"), CorrelationID: value.OfString("c"), GroupID: wire.Some(""), To: wire.Some("t"), ReplyTo: wire.Some("r"),
		ReplyToGroupID: wire.Some("rs"), Subject: wire.Some("l"), ContentType: wire.Some("application/x-thing"),
	}
	if d := cmp.Diff(want, got.Properties); d != "" {
		t.Error(d)
	}
	for name, want := range map[string]value.Value{
		"Text": value.OfString("t"), "Whole": value.OfLong(5), "Big": value.OfULong(1<<64 - 1), "Ratio": value.OfDouble(2.5),
		"Ok": value.OfBool(true), "When": value.OfTimestamp(784111777000), "None": {},
	} {
		if v, ok := got.application.Lookup(name); v != want || !ok {
			t.Errorf("%s is %v of type %v", name, v, v.Kind())
		}
	}
	if v, _ := got.annotations.Lookup("x-opt-via-partition-key"); v != value.OfString("v") {
		t.Errorf("via %v", v)
	}
	if got.body.Kind != wire.DataBody || string(got.body.Content()) != "payload \x00\xff" {
		t.Errorf("the body is %q", got.body.Content())
	}
	// A message without properties still has an id and an empty data body.
	s.Want(201, "POST", "/q/messages", "")
	if got = hear(t, b.Broker); got.MessageID.Kind() != value.String || got.GroupID.IsSet() || got.body.Kind != wire.DataBody || got.body.Size != 0 {
		t.Errorf("got %+v", got)
	}
}

// TestSentOverAMQP: a message sent over AMQP looks to REST clients as if it had been sent over
// REST.
func TestSentOverAMQP(t *testing.T) {
	b := open(t)
	s := restOf(t, b.Broker)
	p := wire.Properties{MessageID: value.OfULong(7), CorrelationID: value.OfUUID([16]byte{1}), GroupID: wire.Some("s"), Subject: wire.Some("l"), To: wire.Some(""), ContentType: wire.Some("text/plain")}
	h := wire.Header{TTL: wire.Some(uint32(90_500))}
	encoded := p.Append(h.Append(nil))
	encoded = wire.AppendAnnotations(encoded, wire.SectionApplicationProperties, value.Properties{
		{Name: "Text", Value: value.OfString("t")}, {Name: "Int", Value: value.OfInt(-5)}, {Name: "Double", Value: value.OfDouble(2)}, {Name: "When", Value: value.OfTimestamp(784111777000)},
		{Name: "Id", Value: value.OfUUID([16]byte{15: 2})}, {Name: "None"},
	})
	encoded = append(append(wire.AppendDataHeader(encoded, 2), "he"...), append(wire.AppendDataHeader(nil, 3), "llo"...)...)
	out, err := codec.DecodeMessage(encoded)
	if err != nil {
		t.Fatal(err)
	}
	b.SendMessages("q", out)
	a := s.Want(200, "DELETE", "/q/messages/head", "")
	got := a.Header
	if a.Body != "hello" || got.Get("Content-Type") != "text/plain" {
		t.Errorf("the body is %q of type %q", a.Body, got.Get("Content-Type"))
	}
	for _, says := range []string{`"MessageId":"7"`, `"CorrelationId":"01000000-0000-0000-0000-000000000000"`, `"SessionId":"s"`, `"Label":"l"`, `"TimeToLive":90.5`} {
		if all := got.Get("BrokerProperties"); !strings.Contains(all, says) {
			t.Errorf("%s is missing in %s", says, all)
		}
	}
	for name, want := range map[string]string{"Text": `"t"`, "Int": "-5", "Double": "2.0", "When": `"Sun, 06 Nov 1994 08:49:37 GMT"`, "Id": `"00000000-0000-0000-0000-000000000002"`, "None": "null"} {
		if v := got.Get(name); v != want {
			t.Errorf("%s is %s", name, v)
		}
	}
}
