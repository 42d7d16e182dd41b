package amqp_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/amqp"
	"mayfly/web/amqp/amqptest"
	"mayfly/web/amqp/wire"
	"mayfly/web/connections"
)

// withLinkBytes runs a test in a world with that many bytes for links and deliveries.
func withLinkBytes(t *testing.T, bytesOf int64, test func(w *world, log *bytes.Buffer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		l := engine.DefaultLimits()
		l.LinkBytes = bytesOf
		w := newWorld(t, amqp.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, broker.Options{Limits: &l})
		w.b.CreateQueue("q", engine.Config{LockDuration: 5 * time.Minute})
		test(w, &log)
		w.s.Close(w.t.Context())
		if n := w.s.LinkBytes(); n != 0 {
			t.Errorf("%d bytes are counted after all links are detached", n)
		}
	})
}

// Links over the budget for link-bytes are refused with the name of the limit. One connection can
// use up to half of it, so that others can still attach links, and detached links and ended
// sessions free their bytes.
func TestLinkBytes(t *testing.T) {
	withLinkBytes(t, 100<<10, func(w *world, _ *bytes.Buffer) {
		c := w.client()
		open := 0
		for handle := range uint32(100) {
			a := amqptest.ReceiverAttach(handle, "q")
			if handle%2 == 0 {
				a = amqptest.SenderAttach(handle, "q")
			}
			c.WriteFrames(0, &a)
			for _, p := range frames(c) {
				switch p := p.(type) {
				case *wire.Attach:
					open++
				case *wire.Detach:
					open--
					if p.Error == nil || p.Error.Condition != wire.CondResourceLimitExceeded || !strings.Contains(p.Error.Description, "--limit link-bytes") {
						t.Fatalf("%+v", p.Error)
					}
				}
			}
		}
		if open < 20 || open > 25 { // half of the budget
			t.Errorf("%d links are open", open)
		}
		for range 3 { // others still get their share
			other := w.client()
			other.AttachSender(0, 0, "q")
			other.Attach(0, amqptest.ReceiverAttach(1, "q"))
		}
		c.WriteFrames(0, &wire.Detach{Handle: 0, Closed: true})
		amqptest.Expect[*wire.Detach](c)
		c.WriteFrames(0, &wire.End{})
		amqptest.Expect[*wire.End](c)
		c.Begin(0)
		c.AttachSender(0, 0, "q")
		before := w.s.LinkBytes()
		for range 500 {
			c.Begin(1)
			c.WriteFrames(1, &wire.End{})
			amqptest.Expect[*wire.End](c)
		}
		if n := w.s.LinkBytes(); n != before {
			t.Errorf("%d bytes are still counted for ended sessions", n-before)
		}
	})
}

// Deliveries over the budget wait until others are settled, which the log and the
// connection's page show. Other clients do not wait, and a drain is answered.
func TestUnsettledOverBudget(t *testing.T) {
	withLinkBytes(t, 200<<10, func(w *world, log *bytes.Buffer) {
		for range 4 {
			w.send("q", "", make([]string, 500)...)
		}
		hog := w.client()
		hog.Attach(0, amqptest.ReceiverAttach(0, "q"))
		hog.WriteFrames(0, flow(0, 10_000, nil))
		got := transfers(frames(hog))
		if got < 300 || got > 600 {
			t.Fatalf("received %d messages", got)
		}
		is := w.s.Connections(connections.Query{Links: 1}).Connections[0]
		if is.Starved != 1 || len(is.Links) != 1 || !is.Links[0].Starved || is.Memory < 60<<10 {
			t.Errorf("the connection is listed as %+v", is)
		}
		if !strings.Contains(log.String(), "receiver waits for memory") {
			t.Errorf("the log says\n%s", log)
		}
		other := w.client() // a client within its share
		other.Attach(0, amqptest.ReceiverAttach(0, "q"))
		other.WriteFrames(0, flow(0, 50, nil))
		if n := transfers(frames(other)); n != 50 {
			t.Errorf("another client received %d messages", n)
		}
		hog.WriteFrames(0, flow(uint32(got), 10_000, drain))
		if all := sentFrames(hog); len(all) == 0 || all[len(all)-1] != fmt.Sprintf("flow %d/0 drain", got+10_000) {
			t.Errorf("the drain: %v", all)
		}
		hog.WriteFrames(0, flow(uint32(got)+10_000, 10_000, nil), &wire.Disposition{Role: wire.RoleReceiver, First: 0, Last: wire.Some(uint32(99)), Settled: true, State: wire.Accepted{}})
		if n := transfers(frames(hog)); n == 0 || n > 150 {
			t.Errorf("received %d messages after a hundred were settled", n)
		}
		// Memory that another connection frees is used within a second.
		before := transfers(frames(hog))
		other.WriteFrames(0, &wire.Disposition{Role: wire.RoleReceiver, First: 0, Last: wire.Some(uint32(49)), Settled: true, State: wire.Accepted{}})
		time.Sleep(2 * time.Second)
		if n := transfers(frames(hog)); before+n == 0 {
			t.Error("no message came after another connection had settled")
		}
	})
}

// When one receiver of a connection has used up the budget and then settles its messages, a waiting
// receiver of that connection gets the freed memory at once.
func TestReceiversTakeTurns(t *testing.T) {
	withLinkBytes(t, 64<<10, func(w *world, _ *bytes.Buffer) {
		w.send("q", "", make([]string, 300)...)
		c := w.client()
		c.Attach(0, amqptest.ReceiverAttach(0, "q"))
		c.Attach(0, amqptest.ReceiverAttach(1, "q"))
		c.WriteFrames(0, flow(0, 1_000, nil))
		first := transfers(frames(c))
		c.WriteFrames(0, flow(0, 1_000, func(f *wire.Flow) { f.Handle = wire.Some[uint32](1) }))
		if n := transfers(frames(c)); n != 1 { // a receiver may always have one
			t.Errorf("the second link received %d messages, and the first %d", n, first)
		}
		c.WriteFrames(0, flow(uint32(first), 0, nil), &wire.Disposition{Role: wire.RoleReceiver, First: 0, Last: wire.Some(uint32(first) - 1), Settled: true, State: wire.Accepted{}})
		if n := transfers(frames(c)); n < 20 {
			t.Errorf("the second link received %d messages when the first had settled all", n)
		}
	})
}

// Every receiver gets at least one message, even if other receivers of the connection have used up
// the budget.
func TestOneMessageEach(t *testing.T) {
	withLinkBytes(t, 24<<10, func(w *world, _ *bytes.Buffer) {
		w.send("q", "", make([]string, 50)...)
		c := w.client()
		for handle := range uint32(4) {
			c.Attach(0, amqptest.ReceiverAttach(handle, "q"))
		}
		for handle := range uint32(4) {
			c.WriteFrames(0, flow(0, 100, func(f *wire.Flow) { f.Handle = wire.Some(handle) }))
		}
		of := map[uint32]int{}
		for _, p := range frames(c) {
			if tr, ok := p.(*wire.Transfer); ok {
				of[tr.Handle]++
			}
		}
		if len(of) != 4 {
			t.Errorf("only these links received messages: %v", of)
		}
	})
}

// A receiver can hold 6,000 messages and more, because there is no limit on their number.
func TestSixThousandUnsettled(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.b.CreateQueue("q", engine.Config{LockDuration: 5 * time.Minute})
		kilobyte := strings.Repeat("x", 1<<10)
		for range 65 {
			bodies := make([]string, 100)
			for i := range bodies {
				bodies[i] = kilobyte
			}
			w.send("q", "", bodies...)
		}
		c := w.client()
		c.Attach(0, amqptest.ReceiverAttach(0, "q"))
		c.WriteFrames(0, flow(0, 6_500, nil))
		if got := transfers(frames(c)); got != 6_500 {
			t.Fatalf("received %d messages", got)
		}
		c.WriteFrames(0, &wire.Disposition{Role: wire.RoleReceiver, First: 0, Last: wire.Some[uint32](6_499), Settled: true, State: wire.Accepted{}})
		synctest.Wait()
		if active, locked := w.count("q"); active+locked != 0 {
			t.Errorf("%d messages are active and %d locked when all are settled", active, locked)
		}
	})
}

// Two links whose long names differ only at the end are different links, although the server does
// not keep long names in full.
func TestNamesAreCut(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.b.CreateQueue("q", engine.Config{})
		long := strings.Repeat("n", 3_500)
		c := w.client()
		named := func(handle uint32, name string) wire.Attach {
			a := amqptest.ReceiverAttach(handle, "q")
			a.Name = name
			return a
		}
		if got := c.Attach(0, named(0, long+"a")).Name; got != long+"a" {
			t.Errorf("the answer has a name of %d bytes", len(got))
		}
		c.Attach(0, named(1, long+"b"))
		again := named(2, long+"a")
		c.WriteFrames(0, &again)
		if d := amqptest.Expect[*wire.Detach](c); d.Handle != 0 || d.Error == nil || d.Error.Condition != wire.CondStolen {
			t.Errorf("%+v", d)
		}
	})
}

// A link uses no more memory than linkCost, however long its name.
func TestLinkCost(t *testing.T) {
	const links = 2_000
	bubble(t, func(t *testing.T, w *world) {
		w.b.CreateQueue("q", engine.Config{})
		c := w.client()
		before := memoryInUse()
		for handle := range uint32(links) {
			a := amqptest.ReceiverAttach(handle, "q")
			if a.Name = fmt.Sprint(handle); handle%2 == 0 { // the frames of attaches with short names are not kept
				a.Name += strings.Repeat("n", 3_500)
			}
			a.Target = &wire.Target{Address: wire.Some(strings.Repeat("x", 4_000))}
			c.Attach(0, a)
		}
		synctest.Wait()
		if each := (memoryInUse() - before) / links; each > amqp.LinkCost {
			t.Errorf("a link uses %d bytes, and is counted as %d", each, amqp.LinkCost)
		} else {
			t.Logf("a link uses %d bytes", each)
		}
	})
}

// memoryInUse returns the reachable bytes of the heap.
func memoryInUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
