package amqp_test

import (
	"encoding/binary"
	"strings"

	"mayfly/engine/value"
	"mayfly/web/amqp/amqptest"
	"mayfly/web/amqp/wire"
)

// framed returns a frame of a type on channel 0 with this body.
func framed(kind byte, body string) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(8+len(body)))
	return append(append(b, 2, kind, 0, 0), body...)
}

func offendingFrames() map[string]protocolViolation {
	begin := on(3, &wire.Begin{})
	extended := append([]byte{0, 0, 0, byte(len(begin) + 8), 4, 0, 0, 3, 'E', 'X', 'T', 'E', 'N', 'D', 'E', 'D'}, begin[8:]...)
	return map[string]protocolViolation{
		// Errors in the frame header.
		"too large":               {says: framed(0, strings.Repeat("x", 64<<10)), want: []string{closeFraming}},
		"shorter than its header": {says: []byte{0, 0, 0, 4, 2, 0, 0, 0}, want: []string{closeFraming}},
		"of no bytes":             {says: make([]byte, 8), want: []string{closeFraming}},
		"body within the header":  {says: []byte{0, 0, 0, 8, 1, 0, 0, 0}, want: []string{closeFraming}},
		"body beyond the frame":   {says: []byte{0, 0, 0, 8, 3, 0, 0, 0}, want: []string{closeFraming}},
		"of an unknown type":      {says: []byte{0, 0, 0, 8, 2, 7, 0, 0}, want: []string{closeFraming}},
		"of SASL":                 {says: on(0, &wire.Init{Mechanism: "PLAIN"}), want: []string{closeFraming}},
		"with a longer header":    {says: extended, want: []string{"begin"}, why: "a header may be longer, and what it adds is skipped"},

		// Errors in the performative.
		"of an unknown number":           {says: framed(0, "\x00\x53\x99\x45"), want: []string{closeUnknown}},
		"of an unknown symbol":           {says: framed(0, "\x00\xa3\x0cfoo:bar:list\x45"), want: []string{closeUnknown}},
		"of a state":                     {says: framed(0, "\x00\x53\x24\x45"), want: []string{closeUnknown}},
		"of a state without a session":   {says: []byte{0, 0, 0, 12, 2, 0, 0, 5, 0, 0x53, 0x24, 0x45}, want: []string{closeUnknown}},
		"of SASL in a frame of AMQP":     {says: framed(0, "\x00\x53\x40\x45"), want: []string{closeUnknown}},
		"of no descriptor":               {says: framed(0, "\xa1\x01x"), want: []string{closeField}},
		"of a symbol":                    {says: framed(0, "\x00\xa3\x0eamqp:flow:list\xc0\x05\x04\x43\x43\x43\x43"), want: nil, why: "a symbol means the same as the number"},
		"attach that is a map":           {says: framed(0, "\x00\x53\x12\xc1\x01\x00"), want: []string{closeField}},
		"attach that is cut":             {says: framed(0, "\x00\x53\x12\xc0\x05\x09\xa1\x01a"), want: []string{closeDecode}},
		"attach of 2^32-1 fields":        {says: framed(0, "\x00\x53\x12\xd0\x00\x00\x00\x07\xff\xff\xff\xff\xa1\x01a"), want: []string{closeDecode}},
		"attach without handle":          {says: framed(0, "\x00\x53\x12\xc0\x04\x01\xa1\x01a"), want: []string{closeField}},
		"attach with a number as name":   {says: framed(0, "\x00\x53\x12\xc0\x05\x03\x54\x01\x43\x42"), want: []string{closeField}},
		"attach with snd-settle-mode 7":  {says: framed(0, "\x00\x53\x12\xc0\x08\x04\xa1\x01a\x43\x42\x50\x07"), want: []string{closeField}},
		"end with too many fields":       {says: framed(0, "\x00\x53\x17\xc0\x03\x02\x40\x40"), want: []string{closeField}},
		"end with bytes after it":        {says: framed(0, "\x00\x53\x17\x45\x40"), want: []string{closeDecode}},
		"flow without windows":           {says: framed(0, "\x00\x53\x13\x45"), want: []string{closeField}},
		"disposition of an unknown kind": {says: framed(0, "\x00\x53\x15\xc0\x09\x05\x41\x43\x40\x42\x00\x53\x99\x45"), want: []string{closeField}},
	}
}

func offendingLinks() map[string]protocolViolation {
	const detachUnsupported = "detach amqp:not-implemented"
	sends, receives := amqptest.SenderAttach(5, "q"), amqptest.ReceiverAttach(5, "q")
	return map[string]protocolViolation{
		"name in use": {
			says: attaches(sends, func(a *wire.Attach) { a.Name = "to q 1" }), want: []string{"detach amqp:link:stolen", "attach", "flow"},
			why: "the standard has the later attach win",
		},
		"name in use in the other direction": {
			says: attaches(sends, func(a *wire.Attach) { a.Name = "from q 0" }), want: []string{"attach", "flow"},
			why: "a name stands for one link in each direction",
		},
		"no initial-delivery-count": {
			says: attaches(sends, func(a *wire.Attach) { a.InitialDeliveryCount = wire.Opt[uint32]{} }), want: []string{"attach", "flow"},
			why: "it is zero then, which every client means",
		},
		"no source and target":      {says: attaches(sends, func(a *wire.Attach) { a.Source, a.Target = nil, nil }), want: []string{"attach", detachUnsupported}},
		"no source to receive from": {says: attaches(receives, func(a *wire.Attach) { a.Source = nil }), want: []string{"attach", detachField}},
		"a long name":               {says: attaches(sends, func(a *wire.Attach) { a.Name = strings.Repeat("x", 5000) }), want: []string{"attach", detachField}},
		"receives from coordinator": {says: attaches(amqptest.CoordinatorAttach(5), func(a *wire.Attach) { a.Role = wire.RoleReceiver }), want: []string{"attach", "detach amqp:not-allowed"}},
		"properties of 3000 keys": {
			says: attaches(sends, func(a *wire.Attach) {
				for range 3000 {
					a.Properties = append(a.Properties, value.Property{Name: "some key", Value: value.OfInt(1)})
				}
			}),
			want: []string{"attach", "flow"}, why: "they fit a frame, and are not kept",
		},
		"transfer before credit": {
			says: append(attaches(sends, nil), on(0, amqptest.MessageTransfer(5, 0, amqptest.DataMessage(nil)))...),
			want: []string{"attach", "detach amqp:link:transfer-limit-exceeded"},
		},
		"flow of a link without handle": {
			says: on(0, flow(0, 7, func(f *wire.Flow) { f.Handle = wire.Opt[uint32]{} })), want: nil,
			why: "the windows count, and the credit is for no link",
		},
		"flow that has seen too much": {
			says: on(0, flow(0, 0, func(f *wire.Flow) { f.NextIncomingID = wire.Some[uint32](999) })), want: nil,
			why: "its window counts from where we are",
		},
	}
}
