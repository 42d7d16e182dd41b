package e2e

import (
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	goamqp "github.com/Azure/go-amqp"

	"mayfly/engine"
	"mayfly/web/amqp"
	"mayfly/web/amqp/amqptest"
	protocol "mayfly/web/amqp/wire"
)

// BenchmarkSmallBesideLarge sends a thousand messages of 1 kB a second over AMQP to the
// embedded store. It measures the time from when a message is due until it is received, first
// alone and then while messages of 100 MB are sent and received one after another. The clients
// are in the same process.
//
//	go test ./cmd/mayfly/e2e -run '^$' -bench SmallBesideLarge -benchtime 1x
func BenchmarkSmallBesideLarge(b *testing.B) {
	const phase = 5 * time.Second
	w := newBench(b)
	w.queue("small", engine.Config{})
	w.queue("large", engine.Config{MaxMessageSizeInKilobytes: 102_400})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	w.must(err)
	s := amqp.New(amqp.Options{Logger: slog.New(slog.DiscardHandler)})
	s.Open(w.Broker)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l, "") }()
	defer func() {
		s.Close(context.Background())
		w.must(<-served)
	}()
	small := newStream(w, l.Addr().String())
	var quiet, beside []time.Duration
	passed := 0
	for b.Loop() {
		quiet = append(quiet, small.run(phase)...)
		stop := make(chan struct{})
		done := make(chan int, 1)
		go func() { done <- w.passLarge(l.Addr().String(), stop) }()
		beside = append(beside, small.run(phase)...)
		close(stop)
		passed += <-done
	}
	slices.Sort(quiet)
	slices.Sort(beside)
	ms := func(sorted []time.Duration, share float64) float64 {
		return float64(at(sorted, share)) / float64(time.Millisecond)
	}
	b.ReportMetric(0, "ns/op") // ns/op would be the length of the phases
	b.ReportMetric(ms(quiet, .5), "quiet-p50-ms")
	b.ReportMetric(ms(quiet, .99), "quiet-p99-ms")
	b.ReportMetric(ms(beside, .5), "beside-p50-ms")
	b.ReportMetric(ms(beside, .99), "beside-p99-ms")
	b.ReportMetric(ms(beside, .99)/ms(quiet, .99), "p99-ratio")
	b.ReportMetric(float64(passed)/float64(b.N), "large")
}

// A stream is a sender and a receiver of small messages, each with its own connection.
type stream struct {
	*bench
	snd *goamqp.Sender
	rcv *goamqp.Receiver
}

func newStream(w *bench, address string) *stream {
	w.Helper()
	session := func() *goamqp.Session {
		c, err := goamqp.Dial(w.Context(), "amqp://"+address, &goamqp.ConnOptions{SASLType: goamqp.SASLTypeAnonymous()})
		w.must(err)
		w.Cleanup(func() { _ = c.Close() }) // the server has stopped by then, so an error is expected
		s, err := c.NewSession(w.Context(), nil)
		w.must(err)
		return s
	}
	snd, err := session().NewSender(w.Context(), "small", nil)
	w.must(err)
	rcv, err := session().NewReceiver(w.Context(), "small", &goamqp.ReceiverOptions{Credit: 200})
	w.must(err)
	return &stream{w, snd, rcv}
}

// run sends a thousand messages a second, each when it is due even if earlier ones are not
// accepted yet, and returns the time that each took.
func (s *stream) run(d time.Duration) []time.Duration {
	const every = time.Millisecond
	n := int(d / every)
	begun := time.Now()
	var all sync.WaitGroup
	all.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for i := 0; i < n; {
			<-tick.C
			for ; i < n && time.Since(begun) >= time.Duration(i)*every; i++ {
				body := make([]byte, 1<<10)
				binary.BigEndian.PutUint64(body, uint64(i))
				all.Go(func() {
					if err := s.snd.Send(s.Context(), goamqp.NewMessage(body), nil); err != nil {
						s.Error(err)
					}
				})
			}
		}
	})
	took := make([]time.Duration, 0, n)
	for len(took) < n {
		m, err := s.rcv.Receive(s.Context(), nil)
		s.must(err)
		due := time.Duration(binary.BigEndian.Uint64(m.GetData())) * every
		took = append(took, time.Since(begun)-due)
		s.must(s.rcv.AcceptMessage(s.Context(), m))
	}
	all.Wait()
	return took
}

// passLarge sends and receives messages of 100 MB, one after another, until stop is closed,
// and returns their number. It writes frames itself: with a client that keeps whole messages,
// the benchmark would measure the garbage collection of the client.
func (w *bench) passLarge(address string, stop <-chan struct{}) (n int) {
	message := amqptest.DataMessage(make([]byte, 100_000_000))
	snd, err := dialRaw(address, amqptest.SenderAttach(0, "large"))
	if err == nil {
		defer snd.nc.Close()
		var rcv *rawLink
		if rcv, err = dialRaw(address, amqptest.ReceiverAttach(0, "large")); err == nil {
			defer rcv.nc.Close()
			for ; err == nil; n++ {
				select {
				case <-stop:
					return n
				default:
				}
				if err = snd.send(uint32(n), message); err == nil {
					err = rcv.receive(uint32(n))
				}
			}
		}
	}
	w.Error(err)
	return n
}

// rawLink is a link on its own connection.
type rawLink struct {
	nc net.Conn
	r  protocol.Reader
}

func dialRaw(address string, attach protocol.Attach) (*rawLink, error) {
	nc, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	l := &rawLink{nc: nc, r: protocol.Reader{From: nc, MaxFrame: 1 << 20}}
	hello := protocol.ProtocolAMQP.Append(nil)
	for _, p := range []protocol.Performative{&protocol.Open{ContainerID: "large"}, &protocol.Begin{IncomingWindow: 1 << 30, OutgoingWindow: 1 << 30}, &attach} {
		hello = protocol.AppendFrame(hello, 0, p)
	}
	if _, err = nc.Write(hello); err == nil {
		_, err = l.r.Protocol()
	}
	if err == nil {
		_, err = l.until(protocol.CodeAttach)
	}
	return l, err
}

var errLargeEnded = errors.New("the server has ended the link")

// until reads frames until one has a given performative.
func (l *rawLink) until(code protocol.Code) ([]byte, error) {
	for {
		f, err := l.r.Frame()
		if err != nil || f.IsHeartbeat() {
			if err != nil {
				return nil, err
			}
			continue
		}
		switch got, err := protocol.CodeOf(f.Body); {
		case err != nil:
			return nil, err
		case got == code:
			return f.Body, nil
		case got == protocol.CodeDetach || got == protocol.CodeEnd || got == protocol.CodeClose:
			return nil, errLargeEnded
		}
	}
}

// send sends a message and waits until it is accepted.
func (l *rawLink) send(id uint32, message []byte) error {
	var out []byte
	t := amqptest.MessageTransfer(0, id, nil)
	for first := true; first || len(message) > 0; first = false {
		n := min(60_000, len(message))
		t.Payload, t.More = message[:n], n < len(message)
		message = message[n:]
		out = protocol.AppendFrame(out[:0], 0, t)
		if _, err := l.nc.Write(out); err != nil {
			return err
		}
	}
	body, err := l.until(protocol.CodeDisposition)
	if err != nil {
		return err
	}
	var d protocol.Disposition
	if err := d.Decode(body); err != nil {
		return err
	}
	if d.State != (protocol.Accepted{}) {
		return errLargeEnded
	}
	return nil
}

// receive receives and completes the nth message.
func (l *rawLink) receive(n uint32) error {
	flow := &protocol.Flow{
		NextIncomingID: protocol.Some[uint32](0), IncomingWindow: 1 << 30, OutgoingWindow: 1 << 30,
		Handle: protocol.Some[uint32](0), DeliveryCount: protocol.Some(n), LinkCredit: protocol.Some[uint32](1),
	}
	if _, err := l.nc.Write(protocol.AppendFrame(nil, 0, flow)); err != nil {
		return err
	}
	for more := true; more; {
		body, err := l.until(protocol.CodeTransfer)
		if err != nil {
			return err
		}
		var t protocol.Transfer
		if err := t.Decode(body); err != nil {
			return err
		}
		more = t.More
	}
	done := &protocol.Disposition{Role: protocol.RoleReceiver, First: n, Settled: true, State: protocol.Accepted{}}
	_, err := l.nc.Write(protocol.AppendFrame(nil, 0, done))
	return err
}
