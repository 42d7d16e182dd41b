package codec_test

import (
	"encoding/hex"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/value"
	"mayfly/web/amqp/codec"
)

// FuzzIncoming checks that any bytes are either refused or decoded to a message that is encoded
// again without a change.
func FuzzIncoming(f *testing.F) {
	f.Add(plain.encode())
	f.Add(sender().encode())
	f.Add(usual().encode())
	f.Add(variant(func(s *spoken) { s.Application = everyType() }).encode())
	f.Add(annotated("x-opt-scheduled-enqueue-time", value.OfTimestamp(-1), "x-opt-partition-key", value.Value{}).encode())
	for _, text := range []string{
		"00537045005375a00161",                     // an empty header
		"005370c0050540404040000053774000",         // cut off
		"0053714000537240005374400053754000537840", // nulls
		"0053714000537240005373400053744000537540" + "00537840",
		"00537645005376" + "c0020140",
	} {
		f.Add(must[[]byte](f)(hex.DecodeString(text)))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, many := range []func([]byte) ([]broker.Outgoing, error){codec.DecodeBatch, codec.DecodeScheduled} {
			if out, err := many(b); (err == nil) != (len(out) > 0) {
				t.Fatalf("%d messages, %v", len(out), err)
			}
		}
		out, err := codec.DecodeMessage(b)
		if err != nil {
			if codec.IsInternal(err) {
				t.Fatalf("the sender gets no AMQP error: %v", err)
			}
			return
		}
		if len(out.Content.Wire) > 3*len(b)+100 {
			t.Fatalf("%d bytes become %d", len(b), len(out.Content.Wire))
		}
		s, err := engine.Submit(out.Content, out.Body, 0, 1, engine.DefaultLimits())
		if err != nil {
			return
		}
		d := stored(s.Content)
		var e codec.Envelope
		must[[]byte](t)(e.EncodeDelivery(nil, &d))
		first := hear(t, e.AppendMessage(nil, s.Body))
		if d := cmp.Diff(first, through(t, first, nil)); d != "" {
			t.Fatal("encoded again:", d)
		}
		row := engine.Row{Message: d.Message, Content: d.Content, Path: d.Path}
		must[[]byte](t)(e.EncodePeeked(nil, &row))
		hear(t, e.AppendMessage(nil, s.Body))
	})
}

// FuzzExtras checks that corrupt stored data is an error and not a panic.
func FuzzExtras(f *testing.F) {
	s := sender()
	f.Add([]byte(must[engine.Submission](f)(submission(s)).Content), []byte("onethree"))
	f.Fuzz(func(t *testing.T, packed, body []byte) {
		d := stored(engine.Packed(packed))
		var e codec.Envelope
		if _, err := e.EncodeDelivery(nil, &d); err != nil {
			return
		}
		if c, err := d.Content.Content(); err == nil && c.BodySize == int64(len(body)) && e.Size() != int64(len(e.AppendMessage(nil, body))) {
			t.Fatalf("the size is not %d", e.Size())
		}
	})
}

func submission(s spoken) (engine.Submission, error) {
	out, err := codec.DecodeMessage(s.encode())
	if err != nil {
		return engine.Submission{}, err
	}
	return engine.Submit(out.Content, out.Body, 0, 1, engine.DefaultLimits())
}
