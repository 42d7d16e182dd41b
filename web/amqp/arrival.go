package amqp

import (
	"fmt"

	"mayfly/web/amqp/wire"
)

// An arrival is a delivery of the client as far as it has come.
type arrival struct {
	begun   bool
	id      uint32
	format  uint32
	settled bool
	state   wire.State
	size    uint64      // of its payload
	bytes   []byte      // of it that are kept
	kept    int64       // bytes that are counted as kept by the connection
	entire  bool        // it does not stream, however large it is
	refused *wire.Error // why nothing is kept of it any more
}

// merge takes what a transfer says of its delivery; begins tells that it is the
// first. In the others id, format and tag may be absent, and repeat it otherwise.
func (d *arrival) merge(t *wire.Transfer) (begins bool, why *wire.Error) {
	id, named := t.DeliveryID.Get()
	if begins = !d.begun; begins {
		if !named {
			return begins, &wire.Error{Condition: wire.CondInvalidField, Description: "The first transfer of a delivery has no delivery-id."}
		}
		*d = arrival{begun: true, id: id, bytes: d.bytes[:0]}
	} else if named && id != d.id {
		return begins, &wire.Error{Condition: wire.CondInvalidField, Description: fmt.Sprintf("Delivery %d came before delivery %d had ended.", id, d.id)}
	}
	if format, ok := t.MessageFormat.Get(); ok {
		if !begins && format != d.format {
			return begins, &wire.Error{Condition: wire.CondInvalidField, Description: "The message-format of a delivery has changed on its way."}
		}
		d.format = format
	}
	d.settled = d.settled || t.Settled.Or(false)
	if t.State != nil {
		d.state = t.State
	}
	d.size += uint64(len(t.Payload))
	return begins, nil
}

// keep adds to the bytes of a delivery of which more is to come, if there is room.
func (d *arrival) keep(c *conn, piece []byte) error {
	if err := c.keep(int64(len(piece))); err != nil {
		return err
	}
	d.kept += int64(len(piece))
	d.bytes = append(d.bytes, piece...)
	return nil
}

// whole is all of a delivery, of which last is what came last.
func (d *arrival) whole(last []byte) []byte {
	if len(d.bytes) == 0 {
		return last
	}
	d.bytes = append(d.bytes, last...)
	return d.bytes
}

// refuse has nothing be kept of the delivery any more. Its first reason counts.
func (d *arrival) refuse(c *conn, why *wire.Error) {
	if d.refused == nil {
		d.refused = why
	}
	d.forget(c)
}

// forget lets go of what is kept.
func (d *arrival) forget(c *conn) {
	if d.bytes = d.bytes[:0]; cap(d.bytes) > keepOver {
		d.bytes = nil
	}
	c.unkeep(d.kept)
	d.kept = 0
}

// over ends the delivery.
func (d *arrival) over(c *conn) {
	d.forget(c)
	d.begun = false
}

// keepOver is the size in bytes of a buffer that is not kept for the next
// delivery.
const keepOver = 16 << 10

func tooLarge(most uint64) *wire.Error {
	return &wire.Error{Condition: wire.CondMessageSizeExceeded, Description: fmt.Sprintf("The message is larger than the %d bytes allowed.", most)}
}
