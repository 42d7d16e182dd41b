package codec

import (
	"mayfly/engine"
)

// ValidateStored checks that a message which a client sends back in its stored form can be
// delivered: c.Wire, and a body that is an AMQP value or sequence, must be valid. It sets
// c.Preview if the body is a value. A nil body has not arrived yet, and is not checked.
// The error is engine.ErrArgument.
func ValidateStored(c *engine.Content, body []byte) error {
	if c.Wire == "" && (c.BodyKind == engine.DataBody || body == nil) {
		return nil
	}
	given := *c
	given.BodySize = int64(len(body))
	if body == nil {
		given.BodyKind = engine.DataBody
	}
	var e Envelope
	if _, err := e.EncodeDelivery(nil, &engine.Delivery{Content: given.Pack()}); err != nil {
		return engine.Refuse(engine.ErrArgument, "The message's AMQP sections cannot be read: %v.", err)
	}
	is, err := DecodeMessage(e.AppendMessage(nil, body))
	if err != nil {
		return engine.Refuse(engine.ErrArgument, "The message's AMQP sections are not AMQP: %v.", err)
	}
	if c.BodyKind == engine.ValueBody {
		c.Preview = is.Content.Preview
	}
	return nil
}
