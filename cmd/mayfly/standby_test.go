package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"mayfly/engine"
)

// A standing is the program on a shared store, and what it tells of itself.
type standing struct {
	t     *testing.T
	out   output
	news  chan Ready
	ended chan error
	stop  context.CancelCauseFunc
}

// output is what was printed so far.
type output struct {
	mu sync.Mutex
	b  strings.Builder
}

func (o *output) Write(p []byte) (int, error) {
	o.add(string(p))
	return len(p), nil
}

func (o *output) add(s string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.b.WriteString(s)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// share starts the program on a shelf. The end of the test stops it.
func share(t *testing.T, on *shelf, c Config) *standing {
	t.Helper()
	c.Store, c.open = "mongodb://me:secret@db.example/shop", on.open
	return stand(t, c)
}

// stand starts the program; c needs a store. The end of the test stops it.
func stand(t *testing.T, c Config) *standing {
	t.Helper()
	c.HTTP, c.Admin, c.AMQP = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	s := &standing{t: t, news: make(chan Ready, 64), ended: make(chan error, 1)}
	c.Ready = func(r Ready) { s.news <- r }
	var ctx context.Context
	ctx, s.stop = context.WithCancelCause(context.Background())
	go func() { s.ended <- run(ctx, c, &s.out); close(s.ended) }()
	t.Cleanup(func() {
		s.stop(errStopped)
		for range s.ended { // until it is closed; what it says is asked for elsewhere
		}
	})
	return s
}

// next is what it says next, which is to be of a state.
func (s *standing) next(state string) Ready {
	s.t.Helper()
	select {
	case r := <-s.news:
		if r.State != state {
			s.t.Fatalf("it is %+v, want %s", r, state)
		}
		return r
	case err := <-s.ended:
		s.t.Fatalf("it has ended: %v", err)
	case <-time.After(30 * time.Second):
		s.t.Fatalf("it never was %s; printed is %s", state, &s.out)
	}
	panic("unreachable")
}

// end stops it in order.
func (s *standing) end() {
	s.t.Helper()
	s.stop(errStopped)
	select {
	case err := <-s.ended:
		if err != nil {
			s.t.Error(err)
		}
	case <-time.After(30 * time.Second):
		s.t.Fatal("it does not end")
	}
}

// request makes a request and returns status and body.
func request(t *testing.T, method, url, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Body.Close()
	text, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.StatusCode, string(text)
}

var other = engine.Owner{Dashboard: "http://till-2.example:8080", Admin: "http://till-2.example:5300", Host: "till-2"}

// TestStandsByAndServes: another server owns the namespace; this one says so,
// takes over when that one is gone, and serves what is there.
func TestStandsByAndServes(t *testing.T) {
	on := newShelf()
	first := share(t, on, Config{Namespace: "shop", Advertise: "http://till-1.example/"})
	r := first.next(stateReady)
	if code, text := request(t, http.MethodPost, r.Dashboard+"/api/v1/send/orders?create=queue", `{"body":"x"}`); code != http.StatusCreated {
		t.Fatal(code, text)
	}
	second := share(t, on, Config{Namespace: "shop"})
	standby := second.next(stateStandby)
	if standby.Owner != "http://till-1.example" || standby.Curl != "" || standby.Data != "MongoDB at db.example, database shop" {
		t.Errorf("it says %+v", standby)
	}
	if want := "Standing by: the server at http://till-1.example owns namespace shop."; !strings.HasPrefix(second.out.String(), want) || strings.Count(second.out.String(), "\n") != 1 {
		t.Errorf("printed is %q", &second.out)
	}
	for path, want := range map[string]int{"/healthz": 200, "/livez": 200, "/readyz": 503, "/": 503, "/n/shop/q/orders": 503, "/api/v1/entities": 503, "/live": 503} {
		if code, text := request(t, http.MethodGet, standby.Dashboard+path, ""); code != want || code == 503 && !strings.Contains(text, "http://till-1.example") {
			t.Errorf("%s: got %d %s", path, code, text)
		}
	}
	if code, text := request(t, http.MethodPost, standby.Admin+"/orders/messages", "x"); code != 503 || !strings.Contains(text, "<Code>503</Code>") || !strings.Contains(text, "http://till-1.example") {
		t.Errorf("REST: got %d %s", code, text)
	}
	if code, _ := request(t, http.MethodGet, r.Dashboard+"/readyz", ""); code != 200 {
		t.Errorf("the owner is not ready: %d", code)
	}

	first.end()
	taken := second.next(stateReady)
	if taken.Dashboard != standby.Dashboard || taken.Admin != standby.Admin {
		t.Errorf("it moved from %+v to %+v", standby, taken)
	}
	if code, text := request(t, http.MethodPost, taken.Admin+"/orders/messages/head?timeout=5", ""); code != http.StatusCreated || text != "x" {
		t.Errorf("got %d %s", code, text)
	}
	if code, _ := request(t, http.MethodGet, taken.Dashboard+"/readyz", ""); code != 200 {
		t.Errorf("it is not ready: %d", code)
	}
	if !strings.Contains(second.out.String(), "Mayfly is running.") || strings.Contains(second.out.String(), "secret") {
		t.Errorf("printed is %q", &second.out)
	}
	second.end()
}

// TestFencedServerStandsBy: a server that loses the namespace while it serves
// stands by at once, lets go of who waits at it, and serves again later.
func TestFencedServerStandsBy(t *testing.T) {
	on := newShelf()
	s := share(t, on, Config{ReadyJSON: true})
	r := s.next(stateReady)
	if code, text := request(t, http.MethodPost, r.Dashboard+"/api/v1/entities", `{"kind":"queue","path":"q"}`); code != http.StatusCreated {
		t.Fatal(code, text)
	}
	for round := range 3 {
		socket, polled := dialLive(t, r.Dashboard), poll(t, r)
		on.seize(other)
		if got := s.next(stateStandby); got.Owner != other.Dashboard {
			t.Errorf("round %d: it stands by for %q", round, got.Owner)
		}
		if code := <-polled; code != http.StatusServiceUnavailable {
			t.Errorf("round %d: whoever waited was told %d", round, code)
		}
		if err := socket.ends(); err != nil {
			t.Errorf("round %d: %v", round, err)
		}
		if code, text := request(t, http.MethodGet, r.Dashboard+"/readyz", ""); code != 503 || !strings.Contains(text, other.Dashboard) {
			t.Errorf("round %d: got %d %s", round, code, text)
		}
		on.release()
		if again := s.next(stateReady); again.Dashboard != r.Dashboard {
			t.Errorf("round %d: it moved to %+v", round, again)
		}
		if code, text := request(t, http.MethodPost, r.Admin+"/q/messages", "x"); code != http.StatusCreated {
			t.Errorf("round %d: got %d %s", round, code, text)
		}
		if code, text := request(t, http.MethodDelete, r.Admin+"/q/messages/head?timeout=5", ""); code != http.StatusOK || text != "x" {
			t.Errorf("round %d: got %d %s", round, code, text)
		}
	}
	s.end()
	var states []string
	for line := range strings.Lines(s.out.String()) {
		var r Ready
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err, line)
		}
		states = append(states, r.State)
	}
	if got, want := strings.Join(states, " "), "ready"+strings.Repeat(" standby ready", 3); got != want {
		t.Errorf("it printed %s, want %s", got, want)
	}
}

// poll waits at the queue q for a message; it returns when the request has been
// sent, and what it is answered with comes later.
func poll(t *testing.T, r Ready) <-chan int {
	t.Helper()
	sent, answered := make(chan struct{}), make(chan int, 1)
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { close(sent) }})
	go func() {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.Admin+"/q/messages/head?timeout=60", http.NoBody)
		if err != nil {
			panic(err)
		}
		w, err := new(http.Transport).RoundTrip(req)
		if err != nil {
			answered <- 0
			return
		}
		w.Body.Close()
		answered <- w.StatusCode
	}()
	<-sent
	return answered
}

// TestFencedServerSaysSoAtOnce: it need not know who owns the namespace now.
func TestFencedServerSaysSoAtOnce(t *testing.T) {
	on := newShelf()
	s := share(t, on, Config{})
	r := s.next(stateReady)
	on.mu.Lock()
	on.hangs = true
	on.mu.Unlock()
	on.seize(other)
	eventually(t, "it stands by", func() bool {
		code, text := request(t, http.MethodGet, r.Dashboard+"/readyz", "")
		return code == 503 && strings.Contains(text, "or to learn who does")
	})
	s.end()
}

// TestLostUnnoticed: a server that learns from a failed write that another one
// owns the namespace stands by too, and does not wait for it inside the broker.
func TestLostUnnoticed(t *testing.T) {
	on := newShelf()
	on.silent = true
	s := share(t, on, Config{})
	r := s.next(stateReady)
	on.seize(other)
	if code, text := request(t, http.MethodPost, r.Dashboard+"/api/v1/send/q?create=queue", `{"body":"x"}`); code != http.StatusServiceUnavailable {
		t.Errorf("got %d %s", code, text)
	}
	s.next(stateStandby)
	on.release()
	s.next(stateReady)
	s.end()
}

// TestOwnFormerEpochNeedsNoStandby: what a server lost to nobody is its own
// again, and nobody is told that it stood by.
func TestOwnFormerEpochNeedsNoStandby(t *testing.T) {
	on := newShelf()
	s := share(t, on, Config{})
	r := s.next(stateReady)
	on.mu.Lock()
	on.take(on.process, on.owner) // as if another process had owned it for a moment, and nobody saw it
	on.mu.Unlock()
	if again := s.next(stateReady); again.Dashboard != r.Dashboard {
		t.Errorf("it moved to %+v", again)
	}
	s.end()
	if strings.Contains(s.out.String(), "Standing by") {
		t.Errorf("printed is %q", &s.out)
	}
}

// TestClientsOfAStandby: the process is well; whoever wants more is told where to
// go.
func TestClientsOfAStandby(t *testing.T) {
	on := newShelf()
	on.seize(other)
	t.Setenv("MAYFLY_SERVER", share(t, on, Config{}).next(stateStandby).Dashboard)
	if out, complaint, code := typed(t, "", "healthcheck"); code != exitOK || out != "ok\n" {
		t.Errorf("got %d %q %q", code, out, complaint)
	}
	if out, complaint, code := typed(t, "", "healthcheck", "--json"); code != exitOK || !strings.Contains(out, `"owner":"http://till-2.example:8080"`) {
		t.Errorf("got %d %q %q", code, out, complaint)
	}
	const want = "mayfly: Standing by: the server at http://till-2.example:8080 owns the namespace default.\n"
	if _, complaint, code := typed(t, "", "send", "q", "x"); code != exitFailed || complaint != want {
		t.Errorf("got %d %q", code, complaint)
	}
}

func TestStopWhileStandingBy(t *testing.T) {
	on := newShelf()
	on.seize(other)
	s := share(t, on, Config{})
	r := s.next(stateStandby)
	began := time.Now()
	s.end()
	if took := time.Since(began); took > stopPatience/2 {
		t.Errorf("it took %v", took)
	}
	if _, err := http.Get(r.Dashboard + "/livez"); err == nil { //nolint:bodyclose // there is none
		t.Error("it still answers")
	}
	if on.process != "another" {
		t.Error("it took the namespace on its way out")
	}
}

// TestOwnerChangesWhileStandingBy: the page names the present owner, and the line
// is printed once.
func TestOwnerChangesWhileStandingBy(t *testing.T) {
	on := newShelf()
	on.seize(engine.Owner{Dashboard: "http://till-1.example"})
	s := share(t, on, Config{})
	r := s.next(stateStandby)
	on.seize(other)
	eventually(t, "it names the other one", func() bool {
		_, text := request(t, http.MethodGet, r.Dashboard+"/readyz", "")
		return strings.Contains(text, other.Dashboard)
	})
	s.end()
	if strings.Count(s.out.String(), "Standing by") != 1 {
		t.Errorf("printed is %q", &s.out)
	}
}

// TestAbsentStore: one try is made of a store that nobody answers for, more only
// when asked to; what is wrong for good is never tried again.
func TestAbsentStore(t *testing.T) {
	absent := fmt.Errorf("MongoDB at db.example does not answer: %w", engine.ErrUnreachable)
	for name, tc := range map[string]struct {
		why   error
		wait  time.Duration
		least int
		most  int
	}{
		"one try":          {absent, 0, 1, 1},
		"given up":         {absent, 300 * time.Millisecond, 2, 10},
		"a wrong password": {errors.New("MongoDB does not know this user"), time.Hour, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			on := newShelf()
			on.fail(tc.why)
			s := share(t, on, Config{Wait: tc.wait})
			if err := <-s.ended; !errors.Is(err, tc.why) || s.out.String() != "" {
				t.Errorf("got %v, printed %q", err, &s.out)
			}
			if n := on.opened(); n < tc.least || n > tc.most {
				t.Errorf("it tried %d times", n)
			}
		})
	}
}

func TestWaitsForItsStore(t *testing.T) {
	on := newShelf()
	on.fail(engine.ErrUnreachable)
	s := share(t, on, Config{Wait: time.Hour})
	eventually(t, "it tries again", func() bool { return on.opened() > 1 })
	if s.out.String() != "" {
		t.Errorf("printed is %q", &s.out)
	}
	on.fail(nil)
	r := s.next(stateReady)
	if code, _ := request(t, http.MethodGet, r.Dashboard+"/readyz", ""); code != 200 {
		t.Errorf("it is not ready: %d", code)
	}

	// Once it has owned the namespace it never gives up, and says why it waits.
	on.fail(errors.New("MongoDB does not know this user"))
	on.seize(other)
	eventually(t, "it says why it waits", func() bool {
		code, text := request(t, http.MethodGet, r.Dashboard+"/readyz", "")
		return code == 503 && strings.Contains(text, "MongoDB does not know this user")
	})
	if _, text := request(t, http.MethodGet, r.Dashboard+"/", ""); !strings.Contains(text, "Waiting for the database") {
		t.Errorf("the page is %s", text)
	}
	on.release()
	on.fail(nil)
	s.next(stateReady)
	s.end()
}

// TestStoreGoneWhileStandingBy: a server that stands by does not end because it
// cannot see the owner for a while.
func TestStoreGoneWhileStandingBy(t *testing.T) {
	on := newShelf()
	on.seize(other)
	s := share(t, on, Config{})
	r := s.next(stateStandby)
	on.fail(errors.New("MongoDB has no primary"))
	eventually(t, "it says what is wrong", func() bool {
		_, text := request(t, http.MethodGet, r.Dashboard+"/readyz", "")
		return text == "Standing by: MongoDB has no primary.\n"
	})
	on.fail(nil)
	eventually(t, "it names the owner again", func() bool {
		_, text := request(t, http.MethodGet, r.Dashboard+"/readyz", "")
		return strings.Contains(text, other.Dashboard)
	})
	on.release()
	s.next(stateReady)
	s.end()
	if strings.Count(s.out.String(), "Standing by") != 1 {
		t.Errorf("printed is %q", &s.out)
	}
}

// TestLostFileIsTheEnd: a store of one process is lost for good.
func TestLostFileIsTheEnd(t *testing.T) {
	on := newShelf()
	ended := make(chan error, 1)
	ready := make(chan Ready, 1)
	go func() {
		ended <- run(t.Context(), Config{HTTP: "127.0.0.1:0", Admin: "127.0.0.1:0", AMQP: "127.0.0.1:0", Store: "sqlite:x", open: on.open, Ready: func(r Ready) { ready <- r }}, io.Discard)
	}()
	<-ready
	on.seize(other)
	if err := <-ended; !errors.Is(err, engine.ErrFenced) {
		t.Errorf("got %v", err)
	}
}

// TestDefinitionIsAppliedByWhoeverOwns: --config is of the server that serves,
// and what cannot be is the end of one that has stood by.
func TestDefinitionIsAppliedByWhoeverOwns(t *testing.T) {
	dir := t.TempDir()
	on := newShelf()
	on.seize(other)
	good := share(t, on, Config{Definition: wrote(t, dir, "good.json", `{"UserConfig":{"Namespaces":[{"Name":"n","Queues":[{"Name":"a"}]}]}}`)})
	good.next(stateStandby)
	on.release()
	r := good.next(stateReady)
	if code, _ := request(t, http.MethodGet, r.Dashboard+"/api/v1/entities/a", ""); code != 200 {
		t.Errorf("the queue is %d", code)
	}
	bad := share(t, on, Config{Definition: wrote(t, dir, "bad.json", `{"UserConfig":{"Namespaces":[{"Name":"n","Queues":[{"Name":"a","Properties":{"RequiresSession":true}}]}]}}`)})
	bad.next(stateStandby)
	good.end()
	if err := <-bad.ended; err == nil || !strings.Contains(err.Error(), "RequiresSession") {
		t.Errorf("got %v", err)
	}
	on.mu.Lock()
	defer on.mu.Unlock()
	if on.process != "" {
		t.Error("it keeps the namespace that it does not serve")
	}
}

func wrote(t *testing.T, dir, name, text string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
