package amqp

import (
	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/value"
	"mayfly/web/amqp/wire"
)

// readMessages is what a client has sent in one delivery: a message, or a batch.
func readMessages(format uint32, b []byte) ([]broker.Outgoing, error) {
	var m wire.Message
	if err := m.Decode(b); err != nil {
		return nil, err
	}
	var p wire.Properties
	if err := p.Decode(m.Properties); err != nil {
		return nil, err
	}
	id, _ := p.MessageID.Str()
	return []broker.Outgoing{{Content: engine.Content{MessageID: id, Subject: p.Subject.Or("")}, Body: append([]byte(nil), m.Body.Content()...)}}, nil
}

// writeDelivery is what stands before and after the body of a delivery.
func writeDelivery(d *engine.Delivery) (head, tail []byte) {
	h := wire.Header{DeliveryCount: wire.Some(uint32(d.Message.DeliveryCount))}
	p := wire.Properties{MessageID: value.OfString(d.Content.MessageID())}
	head = h.Append(nil)
	head = p.Append(head)
	return wire.AppendDataHead(head, uint32(d.Content.BodySize())), nil
}
