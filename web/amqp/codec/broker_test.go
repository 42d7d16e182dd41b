package codec_test

import (
	"io"
	"testing"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/brokertest"
	"mayfly/web/amqp/codec"
)

// A world is a broker that receives and delivers AMQP messages.
type world struct {
	*testing.T
	*brokertest.Broker
}

func start(t *testing.T) world {
	t.Helper()
	return world{t, brokertest.Open(t, broker.Options{})}
}

func (w world) send(to engine.Path, s spoken) engine.Seq {
	w.Helper()
	out := must[broker.Outgoing](w)(codec.DecodeMessage(s.encode()))
	return must[[]engine.Seq](w)(w.Send(w.Context(), to, []broker.Outgoing{out}, ""))[0]
}

// receive takes the next message, which must exist, and decodes it.
func (w world) receive(from engine.Path, mode engine.Mode) (engine.Delivery, spoken) {
	w.Helper()
	return w.got(w.ReceiveMessages(broker.ReceiveRequest{Path: from, Mode: mode}))
}

func (w world) fetch(from engine.Path, seq engine.Seq, mode engine.Mode) (engine.Delivery, spoken) {
	w.Helper()
	return w.got(must[[]broker.Received](w)(w.ReceiveDeferred(w.Context(), from, []engine.Seq{seq}, mode, "")))
}

func (w world) got(all []broker.Received) (engine.Delivery, spoken) {
	w.Helper()
	if len(all) != 1 {
		w.Fatalf("there are %d messages", len(all))
	}
	defer all[0].Body.Close()
	var e codec.Envelope
	must[[]byte](w)(e.EncodeDelivery(nil, &all[0].Delivery))
	return all[0].Delivery, hear(w, e.AppendMessage(nil, must[[]byte](w)(io.ReadAll(all[0].Body))))
}

// peek peeks the first message and decodes it.
func (w world) peek(at engine.Path) (engine.Row, spoken) {
	w.Helper()
	rows := must[[]engine.Row](w)(w.Peek(w.Context(), at, 1, 1, ""))
	if len(rows) != 1 {
		w.Fatalf("there are %d messages", len(rows))
	}
	c := must[engine.Content](w)(rows[0].Content.Content())
	body := must[io.ReadSeekCloser](w)(w.Body(w.Context(), rows[0].Message.Content, c.BodySize))
	defer body.Close()
	var e codec.Envelope
	must[[]byte](w)(e.EncodePeeked(nil, &rows[0]))
	return rows[0], hear(w, e.AppendMessage(nil, must[[]byte](w)(io.ReadAll(body))))
}

func (w world) settle(d engine.Delivery, s engine.Settlement) {
	w.Helper()
	s.Token = d.Token()
	w.SettleMessage(s)
}
