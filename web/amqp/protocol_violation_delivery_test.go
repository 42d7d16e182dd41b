package amqp_test

import (
	"slices"
	"strings"

	"mayfly/web/amqp/amqptest"
	"mayfly/web/amqp/wire"
)

func offendingDeliveries() map[string]protocolViolation {
	tag := func(n int) func(*wire.Transfer) {
		return func(d *wire.Transfer) { d.DeliveryTag = []byte(strings.Repeat("t", n)) }
	}
	more := func(d *wire.Transfer) { d.More = true }
	resumed := func(d *wire.Transfer) { d.Resume = true }
	const settles, answered = "it is settled as the transfer says, whatever the link's mode", "accepted"
	mode := func(m wire.SenderSettleMode) []byte {
		return attaches(amqptest.SenderAttach(5, "q"), func(a *wire.Attach) { a.SenderSettleMode = wire.Some(m) })
	}
	to5 := func(settled bool) []byte {
		return sends(func(d *wire.Transfer) { d.Handle, d.Settled = 5, wire.Some(settled) })
	}
	return map[string]protocolViolation{
		"to a sender's link": {says: on(0, amqptest.MessageTransfer(0, 0, nil)), want: []string{closeNot}},
		"no delivery-id":     {says: sends(func(d *wire.Transfer) { d.DeliveryID = wire.Opt[uint32]{} }), want: []string{detachField}},
		"no tag":             {says: sends(func(d *wire.Transfer) { d.DeliveryTag = nil }), want: []string{answered}, why: "nothing needs a tag, because no link is resumed"},
		"tag of 36 bytes":    {says: sends(tag(36)), want: []string{answered}, why: "Java's old SDK sends them"},
		"tag of 257 bytes":   {says: sends(tag(257)), want: []string{closeField}},
		"no format":          {says: sends(func(d *wire.Transfer) { d.MessageFormat = wire.Opt[uint32]{} }), want: []string{answered}, why: "it is zero then"},
		"an unknown format": {
			says: sends(func(d *wire.Transfer) { d.MessageFormat = wire.Some[uint32](0x12345) }), want: []string{"rejected amqp:not-implemented"},
			why: "the message alone is wrong",
		},
		"format that changes": {says: sends(more, func(d *wire.Transfer) {
			d.DeliveryID, d.MessageFormat = wire.Some[uint32](0), wire.Some(wire.FormatBatch)
		}), want: []string{detachField}},
		"a delivery-id again":   {says: slices.Concat(sends(asItIs), sends(asItIs)), want: []string{answered, answered}, why: "nothing is resumed, and each is settled with its answer"},
		"delivery-ids backward": {says: on(0, amqptest.MessageTransfer(1, 5, amqptest.DataMessage(nil)), amqptest.MessageTransfer(1, 3, amqptest.DataMessage(nil))), want: []string{answered, answered}, why: "as a delivery-id again"},
		"a delivery in another": {says: sends(more, asItIs), want: []string{detachField}},
		"resumed": {
			says: slices.Concat(sends(resumed), on(0, amqptest.MessageTransfer(1, 1, amqptest.DataMessage(nil)))), want: []string{answered},
			why: "the standard has a receiver ignore a delivery that it does not know",
		},
		"resumed in two transfers": {
			says: slices.Concat(sends(func(d *wire.Transfer) { resumed(d); more(d) }), sends(asItIs), on(0, amqptest.MessageTransfer(1, 1, amqptest.DataMessage(nil)))),
			want: []string{answered}, why: "as resumed",
		},
		"resumed request": {
			says: attaches(amqptest.SenderAttach(5, "$cbs"), nil), then: sends(func(d *wire.Transfer) { d.Handle, d.Resume, d.Payload = 5, true, []byte("rubbish") }),
			want: []string{"attach", "flow"}, why: "as resumed",
		},
		"aborted, and more of it": {
			says: slices.Concat(sends(more), sends(func(d *wire.Transfer) { d.Aborted, d.More = true, true }), on(0, amqptest.MessageTransfer(1, 1, amqptest.DataMessage(nil)))),
			want: []string{answered}, why: "an abort ends the delivery",
		},
		"settled at last": {
			says: slices.Concat(sends(more), sends(func(d *wire.Transfer) { d.Settled, d.Payload = wire.Some(true), nil })), want: nil,
			why: "one transfer of a delivery that says so is enough",
		},
		"settled at first only": {
			says: slices.Concat(sends(func(d *wire.Transfer) { d.Settled, d.More = wire.Some(true), true }), sends(func(d *wire.Transfer) { d.Payload = nil })), want: nil,
			why: "one transfer of a delivery that says so is enough",
		},
		"unsettled on a settled link":  {says: mode(wire.SenderSettled), then: to5(false), want: []string{"attach", "flow", answered}, why: settles},
		"settled on an unsettled link": {says: mode(wire.SenderUnsettled), then: to5(true), want: []string{"attach", "flow"}, why: settles},
	}
}

func offendingSettlements() map[string]protocolViolation {
	// gets makes the client send itself a message, which it receives as delivery 0.
	gets := slices.Concat(on(0, amqptest.MessageTransfer(1, 0, amqptest.DataMessage(nil))), on(0, flow(0, 1, nil)))
	got := func(then ...string) []string { return append([]string{"accepted", "transfer"}, then...) }
	settled := func(s wire.State) *wire.Disposition {
		d := settles(0, wire.Opt[uint32]{}, s)
		d.Settled = true
		return d
	}
	return map[string]protocolViolation{
		"backwards":            {says: on(0, settles(5, wire.Some[uint32](4), wire.Accepted{})), want: []string{closeField}},
		"backwards by wrap":    {says: on(0, settles(0, wire.Some[uint32](1<<32-2), wire.Accepted{})), want: []string{closeField}},
		"of no delivery":       {says: on(0, settles(55, wire.Some[uint32](60), wire.Accepted{})), want: nil, why: "it may be settled already"},
		"of 2^31 deliveries":   {says: gets, then: on(0, settles(0, wire.Some[uint32](1<<31-1), wire.Accepted{})), want: got("accepted"), why: "those that there are count"},
		"as a sender":          {says: on(0, &wire.Disposition{Role: wire.RoleSender, First: 0, Settled: true, State: wire.Accepted{}}), want: nil, why: "its own are settled with our answer"},
		"twice":                {says: gets, then: on(0, settled(wire.Accepted{}), settled(wire.Released{})), want: got(), why: "the first counts"},
		"with another outcome": {says: gets, then: on(0, settles(0, wire.Opt[uint32]{}, wire.Accepted{}), settles(0, wire.Opt[uint32]{}, wire.Rejected{})), want: got("accepted"), why: "the first counts"},
		"that is not terminal": {says: gets, then: on(0, settles(0, wire.Opt[uint32]{}, wire.Received{SectionOffset: 3})), want: got(), why: "it tells how far the client is, which nothing needs"},
		"that has no state":    {says: gets, then: on(0, settled(nil)), want: got(), why: "the client forgets it, and its lock runs out"},
	}
}

func offendingMessages() map[string]protocolViolation {
	const (
		header = "\x00\x53\x70\x45"
		dann   = "\x00\x53\x71\xc1\x01\x00"
		props  = "\x00\x53\x73\x45"
		app    = "\x00\x53\x74\xc1\x01\x00"
		data   = "\x00\x53\x75\xa0\x01x"
		val    = "\x00\x53\x77\x40"
		footer = "\x00\x53\x78\xc1\x01\x00"
	)
	message := func(m string) []byte { return sends(func(d *wire.Transfer) { d.Payload = []byte(m) }) }
	allowed := func(m, why string) protocolViolation {
		return protocolViolation{says: message(m), want: []string{"accepted"}, why: why}
	}
	rejected := func(m string) protocolViolation {
		return protocolViolation{says: message(m), want: []string{"rejected amqp:decode-error"}, why: "the message alone is wrong"}
	}
	deep := strings.Repeat("\xc0\xff\x01", 40) // the depth is checked before the sizes
	return map[string]protocolViolation{
		"no body":                        allowed(header+props, "Proton's clients send a message without a body so"),
		"no section":                     allowed("", "as no body"),
		"sections in another order":      allowed(app+props+header+data, "Service Bus' own library reads them in any order"),
		"footer before the body":         allowed(footer+data, "rhea writes it there"),
		"annotations behind the body":    allowed(data+dann, "Python's SDK writes delivery annotations there"),
		"null for a section":             allowed("\x00\x53\x70\x40"+data, ".NET's SDK writes it for an empty one"),
		"garbage":                        rejected("garbage!!"),
		"data of 4 GiB that do not come": rejected("\x00\x53\x75\xb0\xff\xff\xff\xff"),
		"a value that is cut":            rejected("\x00\x53\x77\xa1\x05a"),
		"a map of odd elements":          rejected("\x00\x53\x74\xc1\x04\x01\xa1\x01a" + data),
		"a value nested too deep":        rejected("\x00\x53\x77" + deep),
		"properties twice":               rejected(props + props + data),
		"two kinds of body":              rejected(data + val),
		"two values":                     rejected(val + val),
		"properties behind the body":     rejected(data + props),
		"data behind the footer":         rejected(data + footer + data),
		"an unknown section":             rejected(data + "\x00\x53\x79\x45"),
		"data that is a string":          rejected("\x00\x53\x75\xa1\x01x"),
		"a batch that is a value": {
			says: sends(func(d *wire.Transfer) { d.MessageFormat, d.Payload = wire.Some(wire.FormatBatch), []byte(val) }),
			want: []string{"rejected amqp:decode-error"}, why: "the message alone is wrong",
		},
	}
}

func offendingTransactions() map[string]protocolViolation {
	coordinates := amqptest.CoordinatorAttach(5)
	says := func(body string, change func(*wire.Transfer)) []byte {
		d := amqptest.MessageTransfer(5, 0, []byte("\x00\x53\x77"+body))
		change(d)
		return slices.Concat(on(0, &coordinates), on(0, d))
	}
	settled := func(d *wire.Transfer) { d.Settled = wire.Some(true) }
	const declare, noTransaction, wrong = "\x00\x53\x31\x45", "rejected amqp:transaction:unknown-id", "the standard has a coordinator reject it"
	joined := func(answer string) []string { return []string{"attach", "flow", answer} }
	return map[string]protocolViolation{
		"declare that is settled": {says: says(declare, settled), want: joined("detach amqp:illegal-state")},
		"discharge of no transaction": {
			says: says("\x00\x53\x32\xc0\x04\x01\xa0\x01x", asItIs), want: joined(noTransaction), why: wrong,
		},
		"discharge of nothing that is settled": {
			says: says("\x00\x53\x32\xc0\x04\x01\xa0\x01x", settled), want: []string{"attach", "flow"}, why: "it asks for no answer",
		},
		"a string":           {says: says("\xa1\x01x", asItIs), want: joined("rejected amqp:invalid-field"), why: wrong},
		"an unknown request": {says: says("\x00\xa3\x01x\x45", asItIs), want: joined("rejected amqp:not-implemented"), why: wrong},
		"a performative":     {says: says("\x00\x53\x17\x45", asItIs), want: joined("rejected amqp:not-implemented"), why: wrong},
		"transfer in none":   {says: sends(func(d *wire.Transfer) { d.State = wire.Transactional{TxnID: []byte("x")} }), want: []string{noTransaction}, why: "the standard has the message rejected"},
		"resumed declare":    {says: says(declare, func(d *wire.Transfer) { d.Resume = true }), want: []string{"attach", "flow"}, why: "as a resumed message"},
		"settlement in none": {
			says: slices.Concat(on(0, amqptest.MessageTransfer(1, 0, amqptest.DataMessage(nil))), on(0, flow(0, 1, nil))),
			then: on(0, settles(0, wire.Opt[uint32]{}, wire.Transactional{TxnID: []byte("x"), Outcome: wire.Accepted{}})),
			want: []string{"accepted", "transfer", noTransaction}, why: "the settlement alone is wrong",
		},
	}
}
