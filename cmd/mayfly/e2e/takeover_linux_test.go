package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"mayfly/cmd/mayfly/server"
	"mayfly/engine/longtest"
	"mayfly/storage/mongo/mongotest"
)

// TestOrderlyStopHandsOver checks that a stopped server releases the namespace: the other one does
// not wait for its lease, which is much longer than this test.
func TestOrderlyStopHandsOver(t *testing.T) {
	f := newPair(t, mongotest.URL(t), time.Hour)
	f.ready()
	first, before := f.serving(func(server.Ready) bool { return true })
	first.signal(syscall.SIGTERM)
	_, after := f.serving(func(r server.Ready) bool { return r.Epoch > before.Epoch })
	if after.Dashboard == before.Dashboard {
		t.Errorf("the same server serves: %+v", after)
	}
	if <-first.done; first.err != nil {
		t.Errorf("the first server ended with %v\n%s", first.err, &first.said)
	}
}

// TestTakeOvers changes the owner repeatedly while clients work with the current one: it is killed,
// frozen and resumed, or stopped.
func TestTakeOvers(t *testing.T) {
	longtest.Require(t, "take-overs")
	rounds := 4
	if os.Getenv("CI") != "" {
		rounds = 20
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	f := newPair(t, mongotest.URL(t), 1500*time.Millisecond)
	l := &succession{newLedger(t, f, "/api/v1"), f}
	l.create()
	stop, cancel := context.WithCancel(t.Context())
	defer cancel()
	var clients sync.WaitGroup
	for i := range 3 {
		clients.Go(func() { l.send(stop, fmt.Sprint("s", i)) })
		clients.Go(func() { l.receive(stop) })
	}
	ways := []func(*succession, *child, server.Ready) server.Ready{(*succession).kill, (*succession).freezeAndThaw, (*succession).stopInOrder}
	random := rand.New(rand.NewPCG(seed, 1))
	for round := range rounds {
		f.ready()
		who, r := f.serving(func(server.Ready) bool { return true })
		way := random.IntN(len(ways))
		if round < len(ways) {
			way = round // each way occurs at least once
		}
		after := ways[way](l, who, r)
		if after.Epoch <= r.Epoch {
			t.Errorf("round %d: epoch %d follows %d", round, after.Epoch, r.Epoch)
		}
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
	}
	l.progress()
	cancel()
	clients.Wait()
	l.compare()
	_, last, _ := f.owner()
	t.Logf("%d take-overs up to epoch %d: %s", rounds, last.Epoch, l.ledger)
}

// A succession is the ledger of a pair whose owner changes.
type succession struct {
	*ledger
	pair *pair
}

// kill kills the owner and returns the next one's Ready.
func (l *succession) kill(who *child, r server.Ready) server.Ready {
	l.t.Helper()
	held := l.hold(r)
	l.progress()
	who.signal(os.Kill)
	_, after := l.pair.serving(func(now server.Ready) bool { return now.Epoch > r.Epoch })
	l.counted("killed")
	for _, d := range held {
		l.settle(l.t.Context(), after.Dashboard, d)
	}
	l.pair.add()
	return after
}

// stopInOrder stops the owner by SIGTERM.
func (l *succession) stopInOrder(who *child, r server.Ready) server.Ready {
	l.t.Helper()
	held := l.hold(r)
	l.progress()
	who.signal(syscall.SIGTERM)
	_, after := l.pair.serving(func(now server.Ready) bool { return now.Epoch > r.Epoch })
	l.counted("stopped")
	for _, d := range held {
		l.settle(l.t.Context(), after.Dashboard, d)
	}
	if <-who.done; who.err != nil {
		l.t.Errorf("the owner ended with %v\n%s", who.err, &who.said)
	}
	l.pair.add()
	return after
}

// freezeAndThaw freezes the owner for longer than its lease; the process does not notice. It must
// serve neither the requests that arrive while it is frozen nor those that arrive as soon as it is
// resumed.
func (l *succession) freezeAndThaw(who *child, r server.Ready) server.Ready {
	l.t.Helper()
	held := l.hold(r)
	l.progress()
	freeze(l.t, who)
	early := make(chan int, len(held))
	for _, d := range held {
		go func() {
			early <- l.ask(l.t.Context(), pairPatience, http.MethodPost, r.Dashboard+"/api/v1/settle", d.completion(), nil)
		}()
	}
	_, after := l.pair.serving(func(now server.Ready) bool { return now.Epoch > r.Epoch })
	l.counted("frozen")
	for _, d := range held[:len(held)/2] {
		l.settle(l.t.Context(), after.Dashboard, d)
	}
	who.signal(syscall.SIGCONT)
	for _, d := range held {
		if code := l.ask(l.t.Context(), pairPatience, http.MethodPost, r.Dashboard+"/api/v1/settle", d.completion(), nil); code == http.StatusNoContent {
			l.t.Errorf("the former owner of epoch %d settled %s in epoch %d", r.Epoch, d.MessageID, after.Epoch)
		}
	}
	for range held {
		if code := <-early; code == http.StatusNoContent {
			l.t.Errorf("the former owner of epoch %d settled a message while it was frozen, in epoch %d", r.Epoch, after.Epoch)
		}
	}
	l.pair.state(who, server.StateStandby)
	for _, d := range held[len(held)/2:] {
		l.settle(l.t.Context(), after.Dashboard, d)
	}
	return after
}
