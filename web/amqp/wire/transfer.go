package wire

// MessageFormat values (AMQP 1.0, part 3, 3.2.16; Service Bus).
const (
	FormatMessage uint32 = 0
	FormatBatch   uint32 = 0x80013700 // every data section holds an encoded message
)

// Transfer carries a message or a part of one (AMQP 1.0, part 2, 2.7.5). The first
// transfer of a delivery has its id and tag; later ones may omit them.
type Transfer struct {
	Handle             uint32 // mandatory
	DeliveryID         Opt[uint32]
	DeliveryTag        []byte // nil if absent
	MessageFormat      Opt[uint32]
	Settled            Opt[bool] // absent means as in earlier transfers, and false in the first
	More               bool
	ReceiverSettleMode Opt[ReceiverSettleMode]
	State              State // nil if there is none
	Resume             bool
	Aborted            bool
	Batchable          bool

	// Payload is the rest of the frame after the performative.
	Payload []byte
}

// Code is CodeTransfer.
func (*Transfer) Code() Code { return CodeTransfer }
func (*Transfer) sealed()    {}

// Decode decodes the body of a frame. DeliveryTag and Payload are parts of body, and valid only as
// long as body is. Decode allocates only for a state other than accepted and released.
func (t *Transfer) Decode(body []byte) error {
	c := newCursor(body)
	f := c.enterComposite(CodeTransfer)
	*t = Transfer{
		Handle:             f.needUint("handle"),
		DeliveryID:         f.uint("delivery-id"),
		DeliveryTag:        f.tag(),
		MessageFormat:      f.uint("message-format"),
		Settled:            f.bool("settled"),
		More:               f.bool("more").Or(false),
		ReceiverSettleMode: f.receiverSettleMode(),
		State:              f.state("state"),
		Resume:             f.bool("resume").Or(false),
		Aborted:            f.bool("aborted").Or(false),
		Batchable:          f.bool("batchable").Or(false),
	}
	f.leave()
	if c.err != nil {
		return c.err
	}
	t.Payload = body[c.off:]
	return nil
}

// maxTagLength is the maximum length of a delivery tag, in bytes. The standard says 32 (part 2,
// 2.8.7), but Service Bus accepts more, and its old SDK for Java sends 36.
const maxTagLength = 256

func (f *fields) tag() []byte {
	tag := f.binary("delivery-tag")
	if len(tag) > maxTagLength {
		f.c.off -= len(tag)
		f.c.fail(CondInvalidField, "%v: a delivery-tag has at most %d bytes, not %d", f.code, maxTagLength, len(tag))
	}
	return tag
}

// append appends everything except the payload.
func (t *Transfer) append(b []byte) []byte {
	b, at := openComposite(b, CodeTransfer)
	b = appendUInt(b, t.Handle)
	b = appendOptUInt(b, t.DeliveryID)
	b = appendOptBinary(b, t.DeliveryTag)
	b = appendOptUInt(b, t.MessageFormat)
	b = appendOptBool(b, t.Settled)
	b = appendBool(b, t.More)
	b = appendReceiverSettleMode(b, t.ReceiverSettleMode)
	b = appendState(b, t.State)
	b = appendBool(b, t.Resume)
	b = appendBool(b, t.Aborted)
	b = appendBool(b, t.Batchable)
	return closeList(b, at, 11)
}
