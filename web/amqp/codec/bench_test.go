package codec_test

import (
	"strings"
	"testing"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/value"
	"mayfly/web/amqp/codec"
	"mayfly/web/amqp/wire"
)

// usual returns a message as SDKs send it.
func usual() spoken {
	return spoken{
		Properties:  wire.Properties{MessageID: value.OfString("3d2c4a7e-0f0b-4b63-9d0c-6c1b9a3f6c11"), Subject: wire.Some("order"), ContentType: wire.Some("application/json")},
		Application: pairs("color", value.OfString("red"), "amount", value.OfInt(250), "Diagnostic-Id", value.OfString("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")),
		Kind:        wire.DataBody, Body: []string{strings.Repeat("x", 1000)},
	}
}

func BenchmarkIncoming(b *testing.B) {
	encoded := usual().encode()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := codec.DecodeMessage(encoded); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDelivery(b *testing.B) {
	packed, body := submit(b, must[broker.Outgoing](b)(codec.DecodeMessage(usual().encode())))
	d := stored(packed)
	var e codec.Envelope
	buffer := make([]byte, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if buffer, err = e.EncodeDelivery(buffer[:0], &d); err != nil || e.BodySize() != int64(len(body)) {
			b.Fatal(err)
		}
	}
}

func BenchmarkDeliveryOfMore(b *testing.B) { // with the optional fields that other clients send
	s := sender()
	packed, _ := submit(b, must[broker.Outgoing](b)(codec.DecodeMessage(s.encode())))
	d := stored(packed)
	var e codec.Envelope
	buffer := make([]byte, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		buffer = must[[]byte](b)(e.EncodeDelivery(buffer[:0], &d))
	}
}

func BenchmarkSubmit(b *testing.B) {
	out := must[broker.Outgoing](b)(codec.DecodeMessage(usual().encode()))
	l := engine.DefaultLimits()
	b.ReportAllocs()
	for b.Loop() {
		must[engine.Submission](b)(engine.Submit(out.Content, out.Body, 0, 1, l))
	}
}
