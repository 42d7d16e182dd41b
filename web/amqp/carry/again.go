package carry

import (
	"mayfly/engine"
)

// Again checks that a message which somebody gives back as it was once stored can
// be told to receivers: that what is in c.Wire, and in a body that is AMQP's own,
// is what AMQP says. It completes c.Preview. body is nil where it is on its way yet,
// and is then not looked at. The error is engine.ErrArgument.
func Again(c *engine.Content, body []byte) error {
	if c.Wire == "" && (c.BodyKind == engine.DataBody || body == nil) {
		return nil
	}
	given := *c
	given.BodySize = int64(len(body))
	if body == nil {
		given.BodyKind = engine.DataBody
	}
	var e Envelope
	if _, err := e.Delivery(nil, &engine.Delivery{Content: given.Pack()}); err != nil {
		return argument("What AMQP says of the message cannot be read: %v.", err)
	}
	is, err := Incoming(e.Append(nil, body))
	if err != nil {
		return argument("What AMQP says of the message is not AMQP: %v.", err)
	}
	if c.BodyKind == engine.ValueBody {
		c.Preview = is.Content.Preview
	}
	return nil
}
