package wire_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/Azure/go-amqp"
	"github.com/google/go-cmp/cmp"

	"mayfly/engine/value"
	"mayfly/web/amqp/wire"
)

// An independent AMQP client sends a message in small frames to a server that sends it
// back, accepts it, and closes everything.
func TestClient(t *testing.T) {
	ctx := t.Context()
	near, far := net.Pipe()
	s := server{conn: far, in: wire.Reader{From: far, MaxFrame: 65536}}
	var wg sync.WaitGroup
	wg.Go(func() {
		defer far.Close()
		if err := s.serve(); err != nil {
			t.Errorf("the server: %v", err)
		}
	})
	defer wg.Wait()
	defer near.Close()

	c, err := amqp.NewConn(ctx, near, &amqp.ConnOptions{SASLType: amqp.SASLTypePlain("key", "secret"), MaxFrameSize: 512, HostName: "localhost"})
	if err != nil {
		t.Fatal(err)
	}
	session, err := c.NewSession(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	sender, err := session.NewSender(ctx, "q1", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := sender.MaxMessageSize(); got != 262144 {
		t.Errorf("the maximum message size is %d", got)
	}
	sent := &amqp.Message{
		Header:                &amqp.MessageHeader{Durable: true, Priority: 4, DeliveryCount: 1},
		Annotations:           amqp.Annotations{"x-opt-partition-key": "p", "n": int64(1) << 40},
		Properties:            &amqp.MessageProperties{MessageID: amqp.UUID{1, 2, 3}, Subject: new("subject"), GroupID: new(""), UserID: []byte("me")},
		ApplicationProperties: map[string]any{"s": strings.Repeat("long ", 100), "i": int32(-7), "f": 1.5, "b": []byte{0}, "nil": nil},
		Data:                  [][]byte{bytes.Repeat([]byte("data "), 2000)},
	}
	if err := sender.Send(ctx, sent, nil); err != nil {
		t.Fatal(err)
	}
	receiver, err := session.NewReceiver(ctx, "q1", &amqp.ReceiverOptions{
		SettlementMode: new(amqp.ReceiverSettleModeSecond),
		Filters:        []amqp.LinkFilter{amqp.NewLinkFilter("com.microsoft:session-filter", 0x137000000c, nil)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := receiver.LinkSourceFilterValue("com.microsoft:session-filter"); got != "s1" {
		t.Errorf("the session is %v", got)
	}
	if got := receiver.Properties()["com.microsoft:locked-until-utc"]; got != wire.DotNetTicks(0) {
		t.Errorf("the session is locked until %v", got)
	}
	got, err := receiver.Receive(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if tag := wire.TagOfLockToken([16]byte{1}); !bytes.Equal(got.DeliveryTag, tag[:]) {
		t.Errorf("the tag is % x", got.DeliveryTag)
	}
	if d := cmp.Diff([]any{sent.Header, sent.Annotations, sent.Properties, sent.ApplicationProperties, sent.Data},
		[]any{got.Header, got.Annotations, got.Properties, got.ApplicationProperties, got.Data}); d != "" {
		t.Error(d)
	}
	if err := receiver.AcceptMessage(ctx, got); err != nil {
		t.Error(err)
	}
	if _, err := session.NewReceiver(ctx, "missing", nil); !isRefused(err) {
		t.Errorf("a link to a missing node: %v", err)
	}
	if err := errors.Join(receiver.Close(ctx), sender.Close(ctx), session.Close(ctx)); err != nil {
		t.Error(err)
	}
	c.Close() // does not wait for the answer, and returns an error for it
}

func isRefused(err error) bool {
	e, ok := errors.AsType[*amqp.Error](err)
	return ok && e.Condition == amqp.ErrCondNotFound && e.Description == "not here"
}

// server serves one client with one session, and sends back the one message that it
// receives.
type server struct {
	conn net.Conn
	in   wire.Reader
	out  []byte

	max     uint32
	message []byte
	scanner wire.Scanner
	body    bytes.Buffer
}

func (s *server) serve() error {
	for _, want := range []wire.Protocol{wire.ProtocolSASL, wire.ProtocolAMQP} {
		if got, err := s.in.Protocol(); err != nil || got != want {
			return errors.Join(err, errors.New("a header of "+got.String()))
		}
		s.out = want.Append(s.out)
		if want == wire.ProtocolSASL {
			s.out = wire.AppendFrame(s.out, 0, &wire.Mechanisms{Mechanisms: []string{"MSSBCBS", "PLAIN", "ANONYMOUS", "EXTERNAL"}})
			if err := s.flush(); err != nil {
				return err
			}
			f, err := s.in.Frame()
			if err != nil {
				return err
			}
			var init wire.Init
			if err := init.Decode(f.Body); err != nil || init.Mechanism != "PLAIN" || string(init.InitialResponse) != "\x00key\x00secret" {
				return errors.Join(err, errors.New("chosen was "+init.Mechanism))
			}
			s.out = wire.AppendFrame(s.out, 0, &wire.Outcome{Result: wire.SASLOK, AdditionalData: []byte("Welcome!")})
		}
		if err := s.flush(); err != nil {
			return err
		}
	}
	for {
		f, err := s.in.Frame()
		if err != nil {
			return err
		}
		if f.IsHeartbeat() {
			continue
		}
		p, err := wire.Decode(f)
		if err != nil {
			return err
		}
		if err := s.answer(f.Channel, p); err != nil {
			return err
		}
		err = s.flush()
		if _, over := p.(*wire.Close); over && (err == nil || errors.Is(err, io.ErrClosedPipe)) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (s *server) flush() error {
	_, err := s.conn.Write(s.out)
	s.out = s.out[:0]
	return err
}

func (s *server) answer(channel uint16, p wire.Performative) error {
	u := wire.Some[uint32]
	write := func(p wire.Performative) { s.out = wire.AppendFrame(s.out, channel, p) }
	switch p := p.(type) {
	case *wire.Open:
		s.max = p.MaxFrameSize.Or(65536)
		write(&wire.Open{ContainerID: "c_G0", MaxFrameSize: u(65536), ChannelMax: wire.Some[uint16](4999), IdleTimeOut: u(120000)})
	case *wire.Begin:
		write(&wire.Begin{RemoteChannel: wire.Some(channel), IncomingWindow: 5000, OutgoingWindow: 5000, HandleMax: u(254)})
	case *wire.Attach:
		reply := *p
		reply.Role, reply.MaxMessageSize, reply.Properties = !p.Role, wire.Some[uint64](262144), value.Properties{}
		if p.Role == wire.RoleReceiver && p.Source.Address == wire.Some("missing") {
			reply.InitialDeliveryCount, reply.Source = u(0), nil
			write(&reply)
			write(&wire.Detach{Handle: p.Handle, Closed: true, Error: &wire.Error{Condition: wire.CondNotFound, Description: "not here"}})
			return nil
		}
		if p.Role == wire.RoleReceiver {
			reply.InitialDeliveryCount = u(0)
			reply.Properties = append(reply.Properties, value.Property{Name: "com.microsoft:locked-until-utc", Value: value.OfLong(wire.DotNetTicks(0))})
			if err := accept(p.Source.Filter, reply.Source); err != nil {
				return err
			}
		}
		write(&reply)
		if p.Role == wire.RoleSender {
			write(&wire.Flow{NextIncomingID: u(0), IncomingWindow: 5000, OutgoingWindow: 5000, Handle: u(p.Handle), DeliveryCount: u(0), LinkCredit: u(100)})
		}
	case *wire.Transfer:
		s.scanner.Data = &s.body
		if _, err := s.scanner.Write(p.Payload); err != nil {
			return err
		}
		if !p.More {
			return s.received(write, p)
		}
	case *wire.Flow:
		if p.Handle.IsSet() && p.LinkCredit.Or(0) > 0 && s.message != nil {
			return s.deliver(channel, p.Handle.Or(0))
		}
	case *wire.Disposition:
		write(&wire.Disposition{Role: wire.RoleSender, First: p.First, Last: u(p.Last.Or(p.First)), Settled: true, State: p.State})
	case *wire.Detach:
		if p.Handle < 2 { // the server has detached the third
			write(&wire.Detach{Handle: p.Handle, Closed: p.Closed})
		}
	case *wire.End:
		write(&wire.End{})
	case *wire.Close:
		write(&wire.Close{})
	}
	return nil
}

// accept puts a session into the filter, in the form in which the client sent it.
func accept(filter value.Properties, into *wire.Source) error {
	v, _ := filter.Lookup("com.microsoft:session-filter")
	raw, _ := v.Bytes()
	descriptor, asked, err := wire.ParseDescribed(raw)
	if err != nil || asked.Kind() != value.Null {
		return errors.Join(err, errors.New("the filter is "+v.String()))
	}
	into.Filter = value.Properties{{Name: "com.microsoft:session-filter", Value: value.OfRaw(wire.AppendDescribed(nil, descriptor, value.OfString("s1")))}}
	return nil
}

func (s *server) received(write func(wire.Performative), p *wire.Transfer) error {
	m, err := s.scanner.Message()
	if err != nil {
		return err
	}
	var h wire.Header
	var props wire.Properties
	if err := errors.Join(h.Decode(m.Header), props.Decode(m.Properties)); err != nil {
		return err
	}
	s.message = props.Append(h.Append(nil))
	for section, encoded := range map[wire.Section][]byte{wire.SectionMessageAnnotations: m.MessageAnnotations, wire.SectionApplicationProperties: m.ApplicationProperties} {
		all, err := wire.ParseMap(encoded)
		if err != nil {
			return err
		}
		s.message = wire.AppendAnnotations(s.message, section, all)
	}
	s.message = wire.AppendDataHeader(s.message, uint32(s.body.Len()))
	write(&wire.Disposition{Role: wire.RoleReceiver, First: p.DeliveryID.Or(0), Last: wire.Some(p.DeliveryID.Or(0)), Settled: true, State: wire.Accepted{}})
	return nil
}

func (s *server) deliver(channel uint16, handle uint32) (err error) {
	tag := wire.TagOfLockToken([16]byte{1})
	cut := wire.Splitter{
		Transfer: wire.Transfer{Handle: handle, DeliveryID: wire.Some[uint32](0), DeliveryTag: tag[:], MessageFormat: wire.Some(wire.FormatMessage), Settled: wire.Some(false)},
		Channel:  channel, MaxFrame: s.max,
		Head: s.message, Stream: &s.body, StreamSize: int64(s.body.Len()),
	}
	s.message = nil
	for !cut.Done() && err == nil {
		s.out, err = cut.Next(s.out)
	}
	return err
}
