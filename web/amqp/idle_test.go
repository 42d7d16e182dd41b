package amqp_test

import (
	"net"
	"runtime"
	"testing"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/amqp"
	"mayfly/web/amqp/amqptest"
	"mayfly/web/amqp/wire"
)

// idlers opens n connections with a session and a waiting receiver each. To save memory, the client
// end is only a socket.
func idlers(b testing.TB, address string, n int) (all []net.Conn) {
	hello := wire.AppendFrame(wire.ProtocolAMQP.Append(nil), 0, &wire.Open{ContainerID: "idle"})
	hello = wire.AppendFrame(hello, 0, &wire.Begin{IncomingWindow: 5_000, OutgoingWindow: 5_000})
	a := amqptest.ReceiverAttach(0, "q")
	hello = wire.AppendFrame(hello, 0, &a)
	hello = wire.AppendFrame(hello, 0, flow(0, 100, nil))
	for range n {
		nc, err := net.Dial("tcp", address)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = nc.Close() })
		if _, err := nc.Write(hello); err != nil {
			b.Fatal(err)
		}
		r := wire.Reader{From: nc}
		if _, err := r.Protocol(); err != nil {
			b.Fatal(err)
		}
		for range 3 { // open, begin, attach
			if _, err := r.Frame(); err != nil {
				b.Fatal(err)
			}
		}
		all = append(all, nc)
	}
	return all
}

func inUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// BenchmarkIdle measures the memory of a connection with a waiting receiver: heap and
// stacks of both of its ends, in bytes.
func BenchmarkIdle(b *testing.B) {
	w := newWorld(b, amqp.Options{}, broker.Options{})
	w.b.CreateQueue("q", engine.Config{})
	address := w.listen()
	idlers(b, address, 10)
	const n = 1_000
	for b.Loop() {
		before := inUse()
		idlers(b, address, n)
		b.ReportMetric(float64(inUse()-before)/n, "B/connection")
	}
}
