package amqp_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"syscall"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/brokertest"
	"mayfly/storage/memory"
	"mayfly/web/amqp"
	"mayfly/web/amqp/amqptest"
	"mayfly/web/amqp/wire"
)

func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// A peer is a minimal client that counts frames.
type peer struct {
	b  *testing.B
	nc net.Conn
	r  wire.Reader
}

func dial(b *testing.B, at string, attach wire.Attach) *peer {
	nc, err := net.Dial("tcp", at)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = nc.Close() })
	p := &peer{b: b, nc: nc, r: wire.Reader{From: nc, MaxFrame: 1 << 20}}
	hello := wire.ProtocolAMQP.Append(nil)
	for _, f := range []wire.Performative{&wire.Open{ContainerID: "a benchmark"}, &wire.Begin{IncomingWindow: 1 << 30, OutgoingWindow: 1 << 30}, &attach} {
		hello = wire.AppendFrame(hello, 0, f)
	}
	p.write(hello)
	if _, err := p.r.Protocol(); err != nil {
		b.Fatal(err)
	}
	for code, _ := p.next(); code != wire.CodeAttach; code, _ = p.next() {
	}
	return p
}

func (p *peer) write(frames []byte) {
	if _, err := p.nc.Write(frames); err != nil {
		p.b.Error(err)
	}
}

func (p *peer) next() (wire.Code, []byte) {
	for {
		f, err := p.r.Frame()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				p.b.Error(err)
			}
			return 0, nil
		}
		if !f.IsHeartbeat() {
			code, _ := wire.CodeOf(f.Body) //nolint:errcheck // sent by the server
			return code, f.Body
		}
	}
}

// BenchmarkAMQPLife measures the whole life of messages of a kilobyte: sent and accepted,
// delivered with a lock, and completed. At most 256 of each are in progress.
func BenchmarkAMQPLife(b *testing.B) {
	for name, open := range map[string]func(context.Context) (engine.Store, error){
		"memory": func(context.Context) (engine.Store, error) { return new(memory.Store), nil },
	} {
		b.Run(name, func(b *testing.B) {
			house := brokertest.OpenWith(b, open, broker.Options{})
			house.CreateQueue("q", engine.Config{})
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			s := amqp.New(amqp.Options{Logger: slog.New(slog.DiscardHandler)})
			s.Open(house.Broker)
			go s.Serve(l, "") //nolint:errcheck // ends with the server
			defer s.Close(context.Background())
			snd := dial(b, l.Addr().String(), amqptest.SenderAttach(0, "q"))
			rcv := dial(b, l.Addr().String(), amqptest.ReceiverAttach(0, "q"))
			message := amqptest.DataMessage(pattern(1 << 10))
			const window = 256
			b.ResetTimer()
			began, used := time.Now(), cpu()
			done := make(chan struct{})
			go func() {
				defer close(done)
				rcv.receive(b.N, window)
			}()
			var out []byte
			var d wire.Disposition
			for sent, answered := 0, 0; answered < b.N; {
				for out = out[:0]; sent < b.N && sent-answered < window; sent++ {
					out = wire.AppendFrame(out, 0, amqptest.MessageTransfer(0, uint32(sent), message))
				}
				if len(out) > 0 {
					snd.write(out)
				}
				for first := true; first || snd.r.Buffered(); first = false {
					code, body := snd.next()
					if code == 0 {
						b.FailNow()
					}
					if code == wire.CodeDisposition && d.Decode(body) == nil {
						answered += int(d.Last.Or(d.First)-d.First) + 1
					}
				}
			}
			<-done
			b.StopTimer()
			b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "msgs/s")
			b.ReportMetric(float64((cpu()-used).Microseconds())/float64(b.N), "cpu-µs/msg")
		})
	}
}

// receive receives and completes n messages.
func (p *peer) receive(n, window int) {
	credit := func(count int) *wire.Flow {
		return &wire.Flow{NextIncomingID: wire.Some[uint32](0), IncomingWindow: 1 << 30, OutgoingWindow: 1 << 30,
			Handle: wire.Some[uint32](0), DeliveryCount: wire.Some(uint32(count)), LinkCredit: wire.Some(uint32(window))}
	}
	p.write(wire.AppendFrame(nil, 0, credit(0)))
	var out []byte
	var t wire.Transfer
	var d wire.Disposition
	for had, settled := 0, 0; settled < n; {
		out = out[:0]
		before := had
		for first := true; first || p.r.Buffered(); first = false {
			switch code, body := p.next(); code {
			case 0:
				return
			case wire.CodeTransfer:
				if t.Decode(body) == nil && !t.More {
					out = wire.AppendFrame(out, 0, &wire.Disposition{Role: wire.RoleReceiver, First: uint32(had), State: wire.Accepted{}})
					had++
				}
			case wire.CodeDisposition:
				if d.Decode(body) == nil {
					settled += int(d.Last.Or(d.First)-d.First) + 1
				}
			}
		}
		if had/64 != before/64 {
			out = wire.AppendFrame(out, 0, credit(had))
		}
		if len(out) > 0 {
			p.write(out)
		}
	}
}
