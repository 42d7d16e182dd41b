package amqp_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/value"
	"mayfly/web/amqp"
	"mayfly/web/amqp/amqptest"
	"mayfly/web/amqp/wire"
)

// FuzzStates sends anything in any order: valid frames, frames in the wrong state, broken
// frames, and bytes that are no frames, before and after every state of a connection. The
// server does not fail, its answers are in order, no goroutine is left, and the broker's
// indexes are consistent.
func FuzzStates(f *testing.F) {
	for _, seed := range []string{
		"\x01",
		"\x01\x10\x00\x20\x00\x00\x20\x00\x21\x30\x05\x00\x50\x00\x00\x40\x21\x01",
		"\x01\x10\x00\x20\x00\x02\x30\x09\x01\x60\x00\x09\x70\x00\x80\x00\x90",
		"\x00\x10\x01\x21\x00\x01\x40\x00\x55\x55\x90\x90\x10\x00",
		"\x02\xf0\xff", "\x03\x08junkjunk", "\x01\xe0\x10\xff\x20\x00\x03\xd0\x05\x10\x00\x20\x00\x04",
		"\x01\x10\x00\x20\x00\x16\x20\x01\x17\x40\x00\x06\x30\x01\x05\xd0\x40\xa0",
	} {
		f.Add([]byte(seed))
	}
	for n := range uint64(200) { // a session and some links, then anything at random
		r := rand.New(rand.NewPCG(1, n))
		script := []byte{1, 0x10, 255}
		for h := range byte(4) {
			script = append(script, 0x20, h, byte(r.UintN(8)<<4|r.UintN(16)), 0x30, h, byte(16+r.UintN(16)))
		}
		for range 100 {
			script = append(script, byte(r.UintN(256)))
		}
		f.Add(script)
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) > 400 {
			return
		}
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, amqp.Options{IdleTimeOut: 10 * time.Second}, broker.Options{})
			w.b.CreateQueue("q", engine.Config{LockDuration: 5 * time.Second, MaxDeliveryCount: 3})
			w.b.CreateQueue("qs", engine.Config{LockDuration: 5 * time.Second, RequiresSession: true})
			w.send("q", "", "0", "1", "2", "3", "4", string(make([]byte, 2_000)))
			w.send("qs", "a", "0", "1")
			w.send("qs", "b", "0", "1")
			nc := w.plug()
			heard := make(chan error, 1)
			go func() { heard <- overhear(nc) }()
			s := &speaker{script: script, nc: nc}
			s.speak(t.Context(), w.b.Broker)
			if s.next()&1 == 0 {
				_ = nc.Close()
			}
			w.s.Close(context.Background()) // closes every connection cleanly
			_ = nc.Close()
			if err := <-heard; err != nil {
				t.Error(err)
			}
		})
	})
}

// A speaker is a client that sends frames and bytes; each byte of its script selects what comes
// next.
type speaker struct {
	script []byte
	nc     net.Conn
	ids    uint32
}

func (s *speaker) next() byte {
	if len(s.script) == 0 {
		return 0
	}
	b := s.script[0]
	s.script = s.script[1:]
	return b
}

// say writes b, and reports whether the server still reads.
func (s *speaker) say(b []byte) bool {
	_, err := s.nc.Write(b)
	return err == nil
}

func (s *speaker) speak(ctx context.Context, b *broker.Broker) {
	var hello []byte
	switch how := s.next(); how & 3 {
	case 0:
		hello = wire.AppendFrame(wire.ProtocolSASL.Append(nil), 0, &wire.Init{Mechanism: "ANONYMOUS"})
		fallthrough
	case 1:
		hello = wire.AppendFrame(wire.ProtocolAMQP.Append(hello), 0, &wire.Open{
			ContainerID: "fuzz", MaxFrameSize: wire.Some(uint32(512) << (how >> 6)), IdleTimeOut: wire.Some(uint32(how>>2&15) * 1_000),
		})
	case 2:
		hello = wire.ProtocolAMQP.Append(nil)
	}
	for ok := s.say(hello); ok && len(s.script) > 0; {
		op := s.next()
		channel := uint16(op & 3)
		switch op >> 4 {
		case 0: // random bytes
			n := min(int(op), len(s.script))
			ok = s.say(s.script[:n])
			s.script = s.script[n:]
		case 10:
			time.Sleep(time.Duration(s.next()) * 100 * time.Millisecond)
		case 11:
			synctest.Wait()
		case 12:
			if op&1 == 0 {
				_, _ = b.Send(ctx, "q", []broker.Outgoing{{Body: []byte("more")}}, "fuzz") //nolint:errcheck // the queue may be full
			} else {
				_, _ = b.Send(ctx, "qs", []broker.Outgoing{{Content: engine.Content{SessionID: "a"}}}, "fuzz") //nolint:errcheck // the queue may be full
			}
		case 13: // a frame with one byte changed
			frame := wire.AppendFrame(nil, channel, s.performative(s.next()>>4, op))
			frame[int(s.next())%len(frame)] ^= s.next()
			ok = s.say(frame)
		case 14:
			ok = s.say(wire.AppendHeartbeat(nil))
		default:
			ok = s.say(wire.AppendFrame(nil, channel, s.performative(op>>4, op)))
		}
	}
}

func (s *speaker) performative(kind, op byte) wire.Performative {
	a := s.next()
	handle := uint32(a & 3)
	switch kind {
	case 1:
		return &wire.Begin{IncomingWindow: uint32(a), OutgoingWindow: 9, NextOutgoingID: uint32(op>>2&1) * (1<<32 - 1)}
	case 2:
		return s.attach(handle, s.next())
	case 3:
		b := s.next()
		f := &wire.Flow{IncomingWindow: uint32(b), OutgoingWindow: 9, DeliveryCount: wire.Some(uint32(a >> 4)), LinkCredit: wire.Some(uint32(b & 31)), Drain: a&4 != 0, Echo: a&8 != 0}
		if b&32 == 0 {
			f.NextIncomingID = wire.Some(uint32(b >> 6))
		}
		if op&8 == 0 {
			f.Handle = wire.Some(handle)
		}
		return f
	case 4:
		t := &wire.Transfer{Handle: handle, Settled: wire.Some(a&4 != 0), More: a&8 != 0, Aborted: a&0x30 == 0x30}
		if op&4 == 0 {
			t.DeliveryID, t.DeliveryTag, t.MessageFormat = wire.Some(s.ids), []byte{1}, wire.Some[uint32](0)
			s.ids++
		}
		t.Payload = s.message(s.next())
		return t
	case 5:
		b := s.next()
		d := &wire.Disposition{Role: a&1 == 0, First: uint32(b & 7), Settled: a&2 != 0, State: s.state(a >> 4)}
		if a&4 != 0 {
			d.Last = wire.Some(uint32(b >> 3))
		}
		return d
	case 6:
		return &wire.Detach{Handle: handle, Closed: a&4 == 0}
	case 7:
		return &wire.End{}
	case 8:
		return &wire.Close{}
	case 9:
		return &wire.Open{ContainerID: "again"}
	default:
		return &wire.Mechanisms{Mechanisms: []string{"X"}}
	}
}

func (s *speaker) state(n byte) wire.State {
	switch n & 7 {
	case 0:
		return wire.Accepted{}
	case 1:
		return wire.Released{}
	case 2:
		return wire.Modified{DeliveryFailed: true}
	case 3:
		return wire.Modified{UndeliverableHere: true}
	case 4:
		return wire.Rejected{Error: &wire.Error{Condition: "com.microsoft:dead-letter"}}
	case 5:
		return wire.Transactional{TxnID: []byte{1}, Outcome: wire.Accepted{}}
	default:
		return nil
	}
}

func (s *speaker) attach(handle uint32, how byte) *wire.Attach {
	address := []string{"q", "qs", "q/$management", "qs/$management", "$cbs", "nothing", "q/$DeadLetterQueue", ""}[how&7]
	a := amqptest.ReceiverAttach(handle, address)
	if how&8 != 0 {
		a = amqptest.SenderAttach(handle, address)
	} else {
		a.Target.Address = wire.Some("me")
	}
	switch how >> 4 {
	case 1:
		a.Name = "one"
	case 2, 3, 4, 5:
		session := []value.Value{{}, value.OfString("a"), value.OfString(""), value.OfInt(1)}[how>>4-2]
		if a.Source != nil {
			a.Source.Filter = value.Properties{prop("com.microsoft:session-filter", session)}
		}
		a.Properties = value.Properties{prop("com.microsoft:timeout", value.OfUInt(handle*2_000))}
	case 6:
		a.SenderSettleMode = wire.Some(wire.SenderSettled)
	case 7:
		a.Source, a.Target = nil, nil
	case 8:
		a = amqptest.CoordinatorAttach(handle)
	}
	return &a
}

func (s *speaker) message(n byte) []byte {
	if n < 64 {
		return append(wire.AppendDataHeader(nil, uint32(n)), make([]byte, n)...)
	}
	operations := []string{"peek-message", "renew-lock", "receive-by-sequence-number", "get-message-sessions", "renew-session-lock", "enumerate-rules"}
	props := wire.Properties{MessageID: value.OfULong(1), ReplyTo: wire.Some("me")}
	b := wire.AppendAnnotations(props.Append(nil), wire.SectionApplicationProperties, value.Properties{prop("operation", value.OfString("com.microsoft:"+operations[int(n)%len(operations)]))})
	return wire.AppendSection(b, wire.SectionValue, wire.AppendMap(nil, value.Properties{
		prop("message-count", value.OfInt(3)), prop("session-id", value.OfString("a")), prop("sequence-numbers", arrayOf(value.Long, value.OfLong(1))),
	}))
}

// overhear reads all frames of a server, and returns an error for those out of order:
// frames on a channel or a link that it has not opened or has ended, frames after a
// close, and errors without a condition.
func overhear(nc net.Conn) error {
	r := &wire.Reader{From: nc, MaxFrame: 64 << 10}
	sasl := false
	for {
		p, err := r.Protocol()
		if err != nil {
			return nil //nolint:nilerr // the server has hung up
		}
		if p != wire.ProtocolSASL || sasl {
			break
		}
		sasl = true
		for range 2 {
			if _, err := r.Frame(); err != nil {
				return nil //nolint:nilerr // the server has hung up
			}
		}
	}
	type link struct {
		channel uint16
		handle  uint32
	}
	var lines []string
	sessions, links, closed := map[uint16]bool{}, map[link]bool{}, false
	complain := func(p wire.Performative) error {
		_, _ = io.Copy(io.Discard, nc) //nolint:errcheck // the test fails anyway
		return fmt.Errorf("the server sent %s after %s", amqptest.Format(p), strings.Join(lines, ", "))
	}
	for {
		f, err := r.Frame()
		if err != nil {
			return nil //nolint:nilerr // the server has hung up
		}
		if f.IsHeartbeat() {
			continue
		}
		p, err := wire.Decode(f)
		if err != nil {
			_, _ = io.Copy(io.Discard, nc) //nolint:errcheck // the test fails anyway
			return fmt.Errorf("the server's frame: %w", err)
		}
		ok, e := !closed, (*wire.Error)(nil)
		on := func(handle uint32) bool { return sessions[f.Channel] && links[link{f.Channel, handle}] }
		switch p := p.(type) {
		case *wire.Open:
		case *wire.Begin:
			ok = ok && !sessions[f.Channel]
			sessions[f.Channel] = true
		case *wire.Attach:
			ok = ok && sessions[f.Channel] && !on(p.Handle)
			links[link{f.Channel, p.Handle}] = true
		case *wire.Flow:
			h, there := p.Handle.Get()
			ok = ok && sessions[f.Channel] && (!there || on(h))
		case *wire.Transfer:
			ok = ok && on(p.Handle)
		case *wire.Disposition:
			ok = ok && sessions[f.Channel]
		case *wire.Detach:
			ok, e = ok && sessions[f.Channel], p.Error
			delete(links, link{f.Channel, p.Handle})
		case *wire.End:
			ok, e = ok && sessions[f.Channel], p.Error
			delete(sessions, f.Channel)
			for l := range links {
				if l.channel == f.Channel {
					delete(links, l)
				}
			}
		case *wire.Close:
			closed, e = true, p.Error
		}
		if !ok || e != nil && !strings.HasPrefix(string(e.Condition), "amqp:") && !strings.HasPrefix(string(e.Condition), "com.microsoft:") {
			return complain(p)
		}
		lines = append(lines, fmt.Sprintf("%d %T", f.Channel, p))
	}
}
