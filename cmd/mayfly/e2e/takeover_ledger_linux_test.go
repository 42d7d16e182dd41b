package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"mayfly/cmd/mayfly/server"
	"mayfly/web/api"
)

// A fact is how certain a client is of the effect of its request.
type fact int

const (
	doubtful fact = iota // no response, or one to retry later
	certain              // acknowledged
)

// The queues of a ledger: one that clients work with, and one for messages that are held.
const (
	busy  = "busy"
	aside = "aside"
)

// servers are the servers that clients of a ledger work with.
type servers interface {
	// server returns the dashboard of a server once there is one; not ok means that the test ends.
	server(stop context.Context) (at string, ok bool)
	// stale reports whether the response of a server to a request made at asked may be outdated.
	stale(at string, asked time.Time) bool
	// fail ends a test that makes no progress.
	fail(what string)
}

// A ledger records what clients know about the messages of a namespace.
type ledger struct {
	t      *testing.T
	f      servers
	api    string        // path of the namespace's API: /api/v1/n/shop
	rest   time.Duration // pause of a client after a refusal or a missing response
	step   int           // how many more messages clients may send in each step
	client http.Client

	mu       sync.Mutex
	sent     map[string]fact // by id of the message
	settled  map[string]fact // by id of the message: completions that were tried
	received int
	failed   int            // requests that failed, or may have failed
	held     int            // messages that were sent to be held
	allowed  int            // limit of sent messages, because the test server gets slow with thousands
	by       map[string]int // how owners ended
}

func newLedger(t *testing.T, f servers, api string) *ledger {
	return &ledger{t: t, f: f, api: api, rest: 20 * time.Millisecond, step: 50, sent: map[string]fact{}, settled: map[string]fact{}, by: map[string]int{}}
}

func (l *ledger) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return fmt.Sprintf("%v; %d sends acknowledged, %d in doubt; %d deliveries; %d completions acknowledged, %d in doubt or refused; %d requests failed",
		l.by, known(l.sent), len(l.sent)-known(l.sent), l.received, known(l.settled), len(l.settled)-known(l.settled), l.failed)
}

func (l *ledger) counted(way string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.by[way]++
}

// ask sends a request and returns its status; zero means no response.
func (l *ledger) ask(ctx context.Context, patience time.Duration, method, url string, in, out any) int {
	raw, err := json.Marshal(in)
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(raw))
	if err != nil {
		panic(err)
	}
	w, err := l.client.Do(r)
	if err != nil {
		return 0
	}
	defer w.Body.Close()
	body, err := io.ReadAll(w.Body)
	if err != nil {
		return 0
	}
	if out != nil && w.StatusCode < 300 && json.Unmarshal(body, out) != nil {
		l.t.Errorf("%s: the response cannot be decoded: %s", url, body)
	}
	return w.StatusCode
}

// answerIn is how long a client waits for a response: a frozen server sends none.
const answerIn = 3 * time.Second

// failure pauses, which gives the servers time to elect an owner.
func (l *ledger) failure(stop context.Context) {
	l.mu.Lock()
	l.failed++
	l.mu.Unlock()
	pauseFor(stop, l.rest)
}

func pause(stop context.Context) { pauseFor(stop, 20*time.Millisecond) }

func pauseFor(stop context.Context, d time.Duration) {
	moment := time.NewTimer(d)
	defer moment.Stop()
	select {
	case <-moment.C:
	case <-stop.Done():
	}
}

func (l *ledger) create() {
	l.t.Helper()
	at, _ := l.f.server(l.t.Context())
	for _, queue := range []string{busy, aside} {
		in := map[string]any{"kind": "queue", "path": queue, "properties": map[string]any{"LockDuration": "PT5M", "MaxDeliveryCount": 1000}}
		if code := l.ask(l.t.Context(), pairPatience, http.MethodPost, at+l.api+"/entities", in, nil); code != http.StatusCreated {
			l.t.Fatalf("the creation of queue %s returned %d", queue, code)
		}
	}
}

// send sends messages one after another.
func (l *ledger) send(stop context.Context, name string) {
	for n := 0; ; n++ {
		at, ok := l.f.server(stop)
		if !ok {
			return
		}
		if l.enough() {
			pause(stop)
			continue
		}
		if !l.sendTo(at, busy, fmt.Sprintf("%s-%d", name, n)) {
			l.failure(stop)
		}
	}
}

// sendTo sends one message, and reports whether it was acknowledged.
func (l *ledger) sendTo(at, queue, id string) bool {
	body := "x"
	l.write(l.sent, id, doubtful)
	code := l.ask(l.t.Context(), answerIn, http.MethodPost, at+l.api+"/send/"+queue, api.Outgoing{MessageID: id, Body: &body}, nil)
	switch code {
	case http.StatusCreated:
		l.write(l.sent, id, certain)
		return true
	case 0, http.StatusServiceUnavailable:
	default:
		l.t.Errorf("%s: sending returned %d", id, code)
	}
	return false
}

func (l *ledger) write(in map[string]fact, id string, f fact) {
	l.mu.Lock()
	defer l.mu.Unlock()
	in[id] = f
}

// enough reports whether clients have reached the limit of sent messages.
func (l *ledger) enough() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return known(l.sent) >= l.allowed
}

// known returns how many facts are certain, that is, acknowledged by a server.
func known(m map[string]fact) (n int) {
	for _, f := range m {
		n += int(f)
	}
	return n
}

// A delivery is a locked message.
type delivery api.Message

func (d delivery) completion() api.Settle {
	return api.Settle{LockToken: d.LockToken, Outcome: "complete"}
}

// hold sends a few messages to a server and locks them there for later.
func (l *ledger) hold(r server.Ready) []delivery {
	for range 6 {
		l.held++
		l.sendTo(r.Dashboard, aside, fmt.Sprintf("held-%d", l.held))
	}
	return l.take(l.t.Context(), r.Dashboard, aside, 6, "100ms")
}

func (l *ledger) take(ctx context.Context, at, queue string, most int, wait string) (out []delivery) {
	var got api.Messages
	asked := time.Now()
	if l.ask(ctx, answerIn+5*time.Second, http.MethodPost, at+l.api+"/receive/"+queue, api.Receive{Limit: &most, Wait: wait}, &got) != http.StatusOK {
		return nil
	}
	stale := l.f.stale(at, asked)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range got.Messages {
		l.received++
		if _, ok := l.sent[m.MessageID]; !ok {
			l.t.Errorf("received %s, which no client has sent", m.MessageID)
		}
		if l.settled[m.MessageID] == certain && !stale {
			l.t.Errorf("received %s, which was completed", m.MessageID)
		}
		out = append(out, delivery(m))
	}
	return out
}

// receive receives messages and completes them.
func (l *ledger) receive(stop context.Context) {
	for {
		at, ok := l.f.server(stop)
		if !ok {
			return
		}
		got := l.take(stop, at, busy, 4, "50ms")
		if got == nil {
			l.failure(stop)
		}
		for _, d := range got {
			l.settle(l.t.Context(), at, d)
		}
	}
}

// settle completes a delivery. Only one completion of a message may succeed.
func (l *ledger) settle(ctx context.Context, at string, d delivery) {
	l.mu.Lock()
	if _, ok := l.settled[d.MessageID]; !ok {
		l.settled[d.MessageID] = doubtful
	}
	l.mu.Unlock()
	code := l.ask(ctx, answerIn, http.MethodPost, at+l.api+"/settle", d.completion(), nil)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch code {
	case http.StatusNoContent:
		if l.settled[d.MessageID] == certain {
			l.t.Errorf("%s was completed twice", d.MessageID)
		}
		l.settled[d.MessageID] = certain
	case 0, http.StatusServiceUnavailable, http.StatusGone, http.StatusNotFound: // a lock that is not durable may be lost
		l.failed++
	default:
		l.t.Errorf("%s: completing returned %d", d.MessageID, code)
	}
}

// certainties returns how many sends and completions are certain.
func (l *ledger) certainties() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return known(l.sent) + known(l.settled)
}

// progress lets clients work, and waits until they make progress.
func (l *ledger) progress() {
	l.t.Helper()
	if !l.advance() {
		l.f.fail("clients do not get on: " + l.String())
	}
}

// advance is progress, but reports whether there was any.
func (l *ledger) advance() bool {
	l.mu.Lock()
	l.allowed = known(l.sent) + l.step
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(l.t.Context(), pairPatience)
	defer cancel()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for before := l.certainties(); l.certainties() < before+5; {
		select {
		case <-again.C:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// compare compares the queues with the ledger. Each acknowledged message is in a queue or was
// completed, no completed message is in a queue, and none is there twice.
func (l *ledger) compare() {
	l.t.Helper()
	at, _ := l.f.server(l.t.Context())
	there := map[string]int{}
	l.look(at, busy, there)
	l.look(at, aside, there)
	for _, id := range slices.Sorted(maps.Keys(l.sent)) {
		_, tried := l.settled[id]
		switch {
		case there[id] > 1:
			l.t.Errorf("%s exists %d times", id, there[id])
		case there[id] == 1 && l.settled[id] == certain:
			l.t.Errorf("%s was completed, but exists", id)
		case there[id] == 0 && l.sent[id] == certain && !tried:
			l.t.Errorf("%s was sent, but does not exist", id)
		}
		delete(there, id)
	}
	for id := range there {
		l.t.Errorf("%s exists, but no client has sent it", id)
	}
}

// look counts the messages of a queue by id. It repeats a request that is refused because the
// owner is about to change, as on a machine that is too slow for the lease.
func (l *ledger) look(at, queue string, there map[string]int) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), pairPatience)
	defer cancel()
	for from := int64(1); ; {
		var page api.Messages
		url := fmt.Sprintf("%s%s/peek/%s?limit=200&from=%d", at, l.api, queue, from)
		switch code := l.ask(ctx, pairPatience, http.MethodGet, url, nil, &page); {
		case code == http.StatusServiceUnavailable && ctx.Err() == nil:
			pause(ctx)
			continue
		case code != http.StatusOK:
			l.t.Fatalf("peeking returned %d", code)
		}
		if len(page.Messages) == 0 {
			return
		}
		for _, m := range page.Messages {
			there[m.MessageID]++
			from = m.SequenceNumber + 1
		}
	}
}
