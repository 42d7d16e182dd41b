package amqp_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/amqp"
	"mayfly/web/amqp/amqptest"
	"mayfly/web/amqp/wire"
)

// A protocolViolation is something that the standard does not allow, or seems not to, with the
// server's answer. The client has a session on channel 0 with link 0, on which it
// receives from q, and link 1, on which it sends to q.
type protocolViolation struct {
	open wire.Open
	hm   wire.Opt[uint32] // the client's handle-max
	says []byte
	then []byte // written when says has been answered
	want []string
	why  string // why it is allowed; empty if it ends a link, the session or the connection
}

// TestOffences tries the errors that a client can make on an open connection, by subject.
// One that ends something is logged once, and allowed ones are not logged.
func TestOffences(t *testing.T) {
	for subject, table := range map[string]map[string]protocolViolation{
		"numbers":      offendingNumbers(),
		"order":        offendingOrder(),
		"frames":       offendingFrames(),
		"links":        offendingLinks(),
		"deliveries":   offendingDeliveries(),
		"settlements":  offendingSettlements(),
		"messages":     offendingMessages(),
		"transactions": offendingTransactions(),
	} {
		for name, o := range table {
			t.Run(subject+"/"+name, func(t *testing.T) { synctest.Test(t, o.test) })
		}
	}
}

func (o protocolViolation) test(t *testing.T) {
	var log bytes.Buffer
	w := newWorld(t, amqp.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, broker.Options{})
	w.b.CreateQueue("q", engine.Config{})
	c := amqptest.Connect(t, w.plug(), o.open)
	c.WriteFrames(0, &wire.Begin{IncomingWindow: 100, OutgoingWindow: 100, HandleMax: o.hm})
	amqptest.Expect[*wire.Begin](c)
	c.Attach(0, amqptest.ReceiverAttach(0, "q"))
	c.AttachSender(0, 1, "q")
	c.Write(o.says)
	got := answers(c)
	if o.then != nil {
		c.Write(o.then)
		got = append(got, answers(c)...)
	}
	if diff := cmp.Diff(o.want, got); diff != "" {
		t.Error(diff)
	}
	ends := len(got) > 0 && endsByError(got[len(got)-1])
	if ends == (o.why != "") {
		t.Errorf("allowed because %q, but the answer is %q", o.why, got)
	}
	inLog(t, log.String(), ends)
	if !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "close") }) {
		c.Begin(7) // the connection stays
	}
}

// inLog checks that the log has one line about an offence, or none.
func inLog(t *testing.T, log string, offence bool) {
	t.Helper()
	want := 0
	if offence {
		want = 1
	}
	if strings.Count(log, "\n") != want || strings.Count(log, "level=INFO") != want || strings.Contains(log, "at byte 0") {
		t.Errorf("the log says\n%s", log)
	}
}

// endsByError reports whether an answer, as brief shows it, ends something because of an error.
func endsByError(answer string) bool {
	what, why, _ := strings.Cut(answer, " ")
	return why != "" && (what == "detach" || what == "end" || what == "close")
}

// answers returns the frames that have arrived, as brief shows them, with the states of
// dispositions.
func answers(c *amqptest.Client) (out []string) {
	for _, p := range frames(c) {
		d, ok := p.(*wire.Disposition)
		if !ok {
			out = append(out, brief([]wire.Performative{p})...)
			continue
		}
		name := strings.TrimPrefix(strings.ToLower(fmt.Sprintf("%T", d.State)), "wire.")
		if cond := condition(d.State); cond != "" {
			name += " " + string(cond)
		}
		out = append(out, name)
	}
	return out
}

// on returns performatives in frames of a channel.
func on(channel uint16, all ...wire.Performative) (b []byte) {
	for _, p := range all {
		b = wire.AppendFrame(b, channel, p)
	}
	return b
}

// sends returns transfers on link 1 of a message that is empty but for its one section.
func sends(changes ...func(*wire.Transfer)) []byte {
	var b []byte
	for i, change := range changes {
		d := amqptest.MessageTransfer(1, uint32(i), amqptest.DataMessage(nil))
		change(d)
		b = wire.AppendFrame(b, 0, d)
	}
	return b
}

func asItIs(*wire.Transfer) {}

func attaches(a wire.Attach, change func(*wire.Attach)) []byte {
	if change != nil {
		change(&a)
	}
	return on(0, &a)
}

const (
	endUnattached = "end amqp:session:unattached-handle"
	closeFraming  = "close amqp:connection:framing-error"
	closeField    = "close amqp:invalid-field"
	closeDecode   = "close amqp:decode-error"
	closeNot      = "close amqp:not-allowed"
	closeUnknown  = "close amqp:not-implemented"
	detachField   = "detach amqp:invalid-field"
)

func offendingNumbers() map[string]protocolViolation {
	receives := func(handle uint32) wire.Performative { a := amqptest.ReceiverAttach(handle, "q"); return &a }
	return map[string]protocolViolation{
		"transfer for no link":           {says: on(0, amqptest.MessageTransfer(9, 0, nil)), want: []string{endUnattached}},
		"flow for no link":               {says: on(0, flow(0, 1, func(f *wire.Flow) { f.Handle = wire.Some[uint32](9) })), want: []string{endUnattached}},
		"detach for no link":             {says: on(0, &wire.Detach{Handle: 9}), want: []string{endUnattached}},
		"attach without begin":           {says: on(5, receives(0)), want: []string{closeNot}},
		"end without begin":              {says: on(5, &wire.End{}), want: []string{closeNot}},
		"begin twice":                    {says: on(0, &wire.Begin{}), want: []string{closeNot}},
		"begin that answers":             {says: on(3, &wire.Begin{RemoteChannel: wire.Some[uint16](0)}), want: []string{closeNot}},
		"channel above channel-max":      {says: on(5000, &wire.Begin{}), want: []string{closeFraming}},
		"the last channel":               {says: on(4999, &wire.Begin{}), want: []string{"begin"}, why: "it is what channel-max says"},
		"channel above the client's own": {open: wire.Open{ChannelMax: wire.Some[uint16](3)}, says: slices.Concat(on(3, &wire.Begin{}), on(4, &wire.Begin{})), want: []string{"begin", closeNot}},
		"handle above handle-max":        {says: on(0, receives(1<<16)), want: []string{closeFraming}},
		"the last handle":                {says: on(0, receives(1<<16-1)), want: []string{"attach"}, why: "it is what handle-max says"},
		"handle above the client's own":  {hm: wire.Some[uint32](3), says: on(0, receives(4)), want: []string{closeNot}},
		"handle in use":                  {says: on(0, receives(0)), want: []string{"end amqp:session:handle-in-use"}},
		"close on another channel":       {says: on(9, &wire.Close{}), want: []string{"close"}, why: "it may come on any channel"},
		"close above channel-max":        {says: on(60_000, &wire.Close{}), want: []string{"close"}, why: "it is the last frame"},
		"heartbeat on another channel":   {says: []byte{0, 0, 0, 8, 2, 0, 0, 77}, want: nil, why: "an empty frame belongs to no session"},
	}
}

func offendingOrder() map[string]protocolViolation {
	receives := amqptest.ReceiverAttach(3, "q")
	return map[string]protocolViolation{
		"open twice":                {says: on(0, &wire.Open{ContainerID: "again"}), want: []string{"close amqp:illegal-state"}},
		"close, then begin":         {says: on(0, &wire.Close{}, &wire.Begin{}), want: []string{"close"}, why: "nothing is read after a close"},
		"close, then rubbish":       {says: append(on(0, &wire.Close{}), 0, 0, 0, 0, 0, 0, 0, 0), want: []string{"close"}, why: "nothing is read after a close"},
		"frames after end":          {says: on(0, &wire.End{}, &wire.Detach{}, &receives), want: []string{"end"}, why: "they may have crossed an end of ours"},
		"end twice":                 {says: on(0, &wire.End{}, &wire.End{}), want: []string{"end"}, why: "it may have crossed an end of ours"},
		"end, then begin":           {says: on(0, &wire.End{}), then: on(0, &wire.Begin{}), want: []string{"end", "begin"}, why: "the channel is free again"},
		"end and begin at once":     {says: on(0, &wire.End{}, &wire.Begin{}), want: []string{"end", "begin"}, why: "the channel is free when the end is sent"},
		"detach twice":              {says: on(0, &wire.Detach{Handle: 1, Closed: true}, &wire.Detach{Handle: 1}), want: []string{"detach"}, why: "Python's SDK does it"},
		"transfer after detach":     {says: on(0, &wire.Detach{Handle: 1, Closed: true}, amqptest.MessageTransfer(1, 0, nil)), want: []string{"detach"}, why: "it may have crossed a detach of ours"},
		"attach and end at once":    {says: on(0, &receives, &wire.End{}), want: []string{"end"}, why: "an end ends links that are not answered too"},
		"attach and detach at once": {says: on(0, &receives, &wire.Detach{Handle: 3, Closed: true}), want: []string{"attach", "detach"}, why: "a detach answers an attach that was answered"},
	}
}

// A client that closes its socket, even in the middle of a frame, commits no offence.
func TestClosedSocketIsNoOffence(t *testing.T) {
	header, open := wire.ProtocolAMQP.Append(nil), wire.AppendFrame(nil, 0, &wire.Open{ContainerID: "x"})
	begin := wire.AppendFrame(nil, 0, &wire.Begin{})
	for name, says := range map[string][]byte{
		"nothing": nil, "half a header": header[:5], "a header": header, "half an open": append(header, open[:9]...),
		"an open": append(header, open...), "half a begin": append(append(header, open...), begin[:9]...),
	} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			w := newWorld(t, amqp.Options{Logger: slog.New(slog.NewTextHandler(&out, nil))}, broker.Options{})
			nc := w.plug()
			go func() {
				for b := make([]byte, 1024); ; {
					if _, err := nc.Read(b); err != nil {
						return
					}
				}
			}()
			if _, err := nc.Write(says); err != nil {
				t.Error(err)
			}
			synctest.Wait()
			_ = nc.Close()
			synctest.Wait()
			if out.Len() > 0 {
				t.Errorf("%s: the log says\n%s", name, &out)
			}
		})
	}
}

// Every frame is as small as the client asks for: descriptions of errors are cut. If that
// is not possible, the client gets an error.
func TestFramesFit(t *testing.T) {
	inBubble(t, nil, func(h bubbleWorld) {
		c := amqptest.Connect(h, h.pipe(), wire.Open{MaxFrameSize: wire.Some[uint32](512)}) // the client reads no larger ones
		c.Begin(0)
		long := amqptest.SenderAttach(0, strings.Repeat("é", 200))
		long.Name = "n"
		why := h.refused(c, 0, long)
		h.because(why, wire.CondNotFound)
		if n := len(why.Description); n < 400 || !strings.Contains(why.Description, "éé") || strings.Contains(why.Description, "Timestamp") {
			t.Errorf("the description is %s", why.Description)
		}
		a := amqptest.ReceiverAttach(0, "$cbs")
		a.Target.Address = wire.Some(strings.Repeat("x", 600))
		c.WriteFrames(0, &a)
		h.because(c.WaitForClose(), wire.CondFrameSizeTooSmall)
	})
}
