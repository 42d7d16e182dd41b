package e2e

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

	"mayfly/cmd/mayfly/cli"
	"mayfly/cmd/mayfly/server"
	"mayfly/engine"
)

// A SharedServer is the program on a shared store, with its output.
type SharedServer struct {
	t      *testing.T
	Out    Output
	States chan server.Ready
	Ended  chan error
	Stop   context.CancelCauseFunc
}

// Output records everything printed so far.
type Output struct {
	mu sync.Mutex
	b  strings.Builder
}

func (o *Output) Write(p []byte) (int, error) {
	o.Add(string(p))
	return len(p), nil
}

func (o *Output) Add(s string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.b.WriteString(s)
}

func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// StartShared starts the program on a shared store until the test ends. The address of its catalogue has no
// listener, and needs no name server.
func StartShared(t *testing.T, on *SharedStore, c server.Config) *SharedServer {
	t.Helper()
	c.Store, c.OpenStore = "mongodb://me:secret@127.0.0.1:1/shop?serverSelectionTimeoutMS=100", on.Open
	return StartStandby(t, c)
}

// StartStandby starts the program until the test ends; c needs a store.
func StartStandby(t *testing.T, c server.Config) *SharedServer {
	t.Helper()
	c.HTTP, c.Admin, c.AMQP = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	s := &SharedServer{t: t, States: make(chan server.Ready, 64), Ended: make(chan error, 1)}
	c.Ready = func(r server.Ready) { s.States <- r }
	var ctx context.Context
	ctx, s.Stop = context.WithCancelCause(context.Background())
	go func() { s.Ended <- server.Run(ctx, c, &s.Out); close(s.Ended) }()
	t.Cleanup(func() {
		s.Stop(cli.ErrStopped)
		for range s.Ended { // until it is closed; the error is checked elsewhere
		}
	})
	return s
}

// Next returns the next Ready, which has to be of a state.
func (s *SharedServer) Next(state string) server.Ready {
	s.t.Helper()
	select {
	case r := <-s.States:
		if r.State != state {
			s.t.Fatalf("got %+v, want %s", r, state)
		}
		return r
	case err := <-s.Ended:
		s.t.Fatalf("the server ended: %v", err)
	case <-time.After(30 * time.Second):
		s.t.Fatalf("the server never became %s; printed %s", state, &s.Out)
	}
	panic("unreachable")
}

// End stops the server.
func (s *SharedServer) End() {
	s.t.Helper()
	s.Stop(cli.ErrStopped)
	select {
	case err := <-s.Ended:
		if err != nil {
			s.t.Error(err)
		}
	case <-time.After(30 * time.Second):
		s.t.Fatal("the server does not end")
	}
}

// Request sends a request and returns status and body.
func Request(t *testing.T, method, url, body string) (int, string) {
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

// TestStandsByAndServes checks that a server is a standby while another owns the namespace, takes
// over when that server has ended, and serves its messages.
func TestStandsByAndServes(t *testing.T) {
	on := NewSharedStore()
	first := StartShared(t, on, server.Config{Namespace: "shop", Advertise: "http://till-1.example/"})
	r := first.Next(server.StateReady)
	if code, text := Request(t, http.MethodPost, r.Dashboard+"/api/v1/send/orders?create=queue", `{"body":"x"}`); code != http.StatusCreated {
		t.Fatal(code, text)
	}
	second := StartShared(t, on, server.Config{Namespace: "shop"})
	standby := second.Next(server.StateStandby)
	if standby.Owner != "http://till-1.example" || standby.Curl != "" || standby.Data != "MongoDB at 127.0.0.1:1, database shop" {
		t.Errorf("the standby reports %+v", standby)
	}
	if want := "Standing by: the server at http://till-1.example owns namespace shop."; !strings.HasPrefix(second.Out.String(), want) || strings.Count(second.Out.String(), "\n") != 1 {
		t.Errorf("printed %q", &second.Out)
	}
	for path, want := range map[string]int{"/healthz": 200, "/livez": 200, "/readyz": 503, "/": 503, "/n/shop/q/orders": 503, "/api/v1/entities": 503, "/live": 503} {
		if code, text := Request(t, http.MethodGet, standby.Dashboard+path, ""); code != want || code == 503 && !strings.Contains(text, "http://till-1.example") {
			t.Errorf("%s: got %d %s", path, code, text)
		}
	}
	if code, text := Request(t, http.MethodPost, standby.Admin+"/orders/messages", "x"); code != 503 || !strings.Contains(text, "<Code>503</Code>") || !strings.Contains(text, "http://till-1.example") {
		t.Errorf("REST: got %d %s", code, text)
	}
	if code, _ := Request(t, http.MethodGet, r.Dashboard+"/readyz", ""); code != 200 {
		t.Errorf("the owner is not ready: %d", code)
	}

	first.End()
	taken := second.Next(server.StateReady)
	if taken.Dashboard != standby.Dashboard || taken.Admin != standby.Admin {
		t.Errorf("the addresses changed from %+v to %+v", standby, taken)
	}
	if code, text := Request(t, http.MethodPost, taken.Admin+"/orders/messages/head?timeout=5", ""); code != http.StatusCreated || text != "x" {
		t.Errorf("got %d %s", code, text)
	}
	if code, _ := Request(t, http.MethodGet, taken.Dashboard+"/readyz", ""); code != 200 {
		t.Errorf("the server is not ready: %d", code)
	}
	if !strings.Contains(second.Out.String(), "Mayfly is running.") || strings.Contains(second.Out.String(), "secret") {
		t.Errorf("printed %q", &second.Out)
	}
	second.End()
}

// TestFencedServerStandsBy checks that a server that loses the namespace becomes a standby at
// once, releases waiting clients, and serves again later.
func TestFencedServerStandsBy(t *testing.T) {
	on := NewSharedStore()
	s := StartShared(t, on, server.Config{ReadyJSON: true})
	r := s.Next(server.StateReady)
	if code, text := Request(t, http.MethodPost, r.Dashboard+"/api/v1/entities", `{"kind":"queue","path":"q"}`); code != http.StatusCreated {
		t.Fatal(code, text)
	}
	for round := range 3 {
		socket, polled := DialLive(t, r.Dashboard), poll(t, r)
		on.Seize(other)
		if got := s.Next(server.StateStandby); got.Owner != other.Dashboard {
			t.Errorf("round %d: the standby names the owner %q", round, got.Owner)
		}
		if code := <-polled; code != http.StatusServiceUnavailable {
			t.Errorf("round %d: the waiting receiver got %d", round, code)
		}
		if err := socket.WaitClosed(); err != nil {
			t.Errorf("round %d: %v", round, err)
		}
		if code, text := Request(t, http.MethodGet, r.Dashboard+"/readyz", ""); code != 503 || !strings.Contains(text, other.Dashboard) {
			t.Errorf("round %d: got %d %s", round, code, text)
		}
		on.Release()
		if again := s.Next(server.StateReady); again.Dashboard != r.Dashboard {
			t.Errorf("round %d: the addresses changed to %+v", round, again)
		}
		if code, text := Request(t, http.MethodPost, r.Admin+"/q/messages", "x"); code != http.StatusCreated {
			t.Errorf("round %d: got %d %s", round, code, text)
		}
		if code, text := Request(t, http.MethodDelete, r.Admin+"/q/messages/head?timeout=5", ""); code != http.StatusOK || text != "x" {
			t.Errorf("round %d: got %d %s", round, code, text)
		}
	}
	s.End()
	var states []string
	for line := range strings.Lines(s.Out.String()) {
		var r server.Ready
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err, line)
		}
		states = append(states, r.State)
	}
	if got, want := strings.Join(states, " "), "ready"+strings.Repeat(" standby ready", 3); got != want {
		t.Errorf("the server printed %s, want %s", got, want)
	}
}

// poll waits for a message of the queue q. It returns once the request has been sent; the channel
// gets the status of the response.
func poll(t *testing.T, r server.Ready) <-chan int {
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

// TestFencedServerSaysSoAtOnce checks that a server becomes a standby before it knows the new
// owner.
func TestFencedServerSaysSoAtOnce(t *testing.T) {
	on := NewSharedStore()
	s := StartShared(t, on, server.Config{})
	r := s.Next(server.StateReady)
	on.mu.Lock()
	on.hangs = true
	on.mu.Unlock()
	on.Seize(other)
	Eventually(t, "the server is a standby", func() bool {
		code, text := Request(t, http.MethodGet, r.Dashboard+"/readyz", "")
		return code == 503 && strings.Contains(text, "or to find its owner")
	})
	s.End()
}

// TestLostUnnoticed checks that a server whose store does not report the loss of the namespace
// becomes a standby when a write fails, and answers that request with 503.
func TestLostUnnoticed(t *testing.T) {
	on := NewSharedStore()
	on.silent = true
	s := StartShared(t, on, server.Config{})
	r := s.Next(server.StateReady)
	on.Seize(other)
	if code, text := Request(t, http.MethodPost, r.Dashboard+"/api/v1/send/q?create=queue", `{"body":"x"}`); code != http.StatusServiceUnavailable {
		t.Errorf("got %d %s", code, text)
	}
	s.Next(server.StateStandby)
	on.Release()
	s.Next(server.StateReady)
	s.End()
}

// TestOwnFormerEpochNeedsNoStandby checks that a server that regains the namespace without another
// owner in between does not report a standby.
func TestOwnFormerEpochNeedsNoStandby(t *testing.T) {
	on := NewSharedStore()
	s := StartShared(t, on, server.Config{})
	r := s.Next(server.StateReady)
	on.mu.Lock()
	on.take(on.process, on.owner) // as if another process had owned it for a moment, unnoticed
	on.mu.Unlock()
	if again := s.Next(server.StateReady); again.Dashboard != r.Dashboard {
		t.Errorf("the addresses changed to %+v", again)
	}
	s.End()
	if strings.Contains(s.Out.String(), "Standing by") {
		t.Errorf("printed %q", &s.Out)
	}
}

// TestClientsOfAStandby checks that a standby's health check succeeds, and that other requests get
// the owner's address.
func TestClientsOfAStandby(t *testing.T) {
	on := NewSharedStore()
	on.Seize(other)
	t.Setenv("MAYFLY_SERVER", StartShared(t, on, server.Config{}).Next(server.StateStandby).Dashboard)
	if out, complaint, code := RunCommand(t, "", "healthcheck"); code != cli.ExitOK || out != "ok\n" {
		t.Errorf("got %d %q %q", code, out, complaint)
	}
	if out, complaint, code := RunCommand(t, "", "healthcheck", "--json"); code != cli.ExitOK || !strings.Contains(out, `"owner":"http://till-2.example:8080"`) {
		t.Errorf("got %d %q %q", code, out, complaint)
	}
	const want = "mayfly: Standing by: the server at http://till-2.example:8080 owns the namespace default.\n"
	if _, complaint, code := RunCommand(t, "", "send", "q", "x"); code != cli.ExitFailed || complaint != want {
		t.Errorf("got %d %q", code, complaint)
	}
}

func TestStopWhileStandingBy(t *testing.T) {
	on := NewSharedStore()
	on.Seize(other)
	s := StartShared(t, on, server.Config{})
	r := s.Next(server.StateStandby)
	began := time.Now()
	s.End()
	if took := time.Since(began); took >= server.ShutdownTimeout {
		t.Errorf("it took %v", took)
	}
	if _, err := http.Get(r.Dashboard + "/livez"); err == nil { //nolint:bodyclose // there is none
		t.Error("the server still answers")
	}
	if on.process != "another" {
		t.Error("the server took over the namespace while it was stopping")
	}
}

// TestOwnerChangesWhileStandingBy checks that the page names the current owner, and that the line
// is printed once.
func TestOwnerChangesWhileStandingBy(t *testing.T) {
	on := NewSharedStore()
	on.Seize(engine.Owner{Dashboard: "http://till-1.example"})
	s := StartShared(t, on, server.Config{})
	r := s.Next(server.StateStandby)
	on.Seize(other)
	Eventually(t, "the page names the new owner", func() bool {
		_, text := Request(t, http.MethodGet, r.Dashboard+"/readyz", "")
		return strings.Contains(text, other.Dashboard)
	})
	s.End()
	if strings.Count(s.Out.String(), "Standing by") != 1 {
		t.Errorf("printed %q", &s.Out)
	}
}

// TestAbsentStore checks that an unreachable store is tried once, and more often only with --store-wait;
// permanent errors are never retried.
func TestAbsentStore(t *testing.T) {
	t.Parallel()
	absent := fmt.Errorf("MongoDB at db.example does not answer: %w", engine.ErrUnreachable)
	for name, tc := range map[string]struct {
		why   error
		wait  time.Duration
		least int
		most  int
	}{
		"one try":          {absent, 0, 1, 1},
		"given up":         {absent, 5 * time.Second, 2, 10},
		"a wrong password": {errors.New("MongoDB does not know this user"), time.Hour, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			on := NewSharedStore()
			on.Fail(tc.why)
			s := StartShared(t, on, server.Config{StoreWait: tc.wait})
			if err := <-s.Ended; !errors.Is(err, tc.why) || s.Out.String() != "" {
				t.Errorf("got %v, printed %q", err, &s.Out)
			}
			if n := on.Opened(); n < tc.least || n > tc.most {
				t.Errorf("the store was opened %d times", n)
			}
		})
	}
}

func TestWaitsForItsStore(t *testing.T) {
	on := NewSharedStore()
	on.Fail(engine.ErrUnreachable)
	s := StartShared(t, on, server.Config{StoreWait: time.Hour})
	Eventually(t, "the server tries again", func() bool { return on.Opened() > 1 })
	if s.Out.String() != "" {
		t.Errorf("printed %q", &s.Out)
	}
	on.Fail(nil)
	r := s.Next(server.StateReady)
	if code, _ := Request(t, http.MethodGet, r.Dashboard+"/readyz", ""); code != 200 {
		t.Errorf("the server is not ready: %d", code)
	}

	// A server that has owned the namespace never gives up, and reports why it waits.
	on.Fail(errors.New("MongoDB does not know this user"))
	on.Seize(other)
	Eventually(t, "the server reports why it waits", func() bool {
		code, text := Request(t, http.MethodGet, r.Dashboard+"/readyz", "")
		return code == 503 && strings.Contains(text, "MongoDB does not know this user")
	})
	if _, text := Request(t, http.MethodGet, r.Dashboard+"/", ""); !strings.Contains(text, "Waiting for the database") {
		t.Errorf("the page is %s", text)
	}
	on.Release()
	on.Fail(nil)
	s.Next(server.StateReady)
	s.End()
}

// TestStoreGoneWhileStandingBy checks that a standby does not end if the store is unreachable for
// a while.
func TestStoreGoneWhileStandingBy(t *testing.T) {
	on := NewSharedStore()
	on.Seize(other)
	s := StartShared(t, on, server.Config{})
	r := s.Next(server.StateStandby)
	on.Fail(errors.New("MongoDB has no primary"))
	Eventually(t, "the standby reports the error", func() bool {
		_, text := Request(t, http.MethodGet, r.Dashboard+"/readyz", "")
		return text == "Standing by: MongoDB has no primary.\n"
	})
	on.Fail(nil)
	Eventually(t, "the standby names the owner again", func() bool {
		_, text := Request(t, http.MethodGet, r.Dashboard+"/readyz", "")
		return strings.Contains(text, other.Dashboard)
	})
	on.Release()
	s.Next(server.StateReady)
	s.End()
	if strings.Count(s.Out.String(), "Standing by") != 1 {
		t.Errorf("printed %q", &s.Out)
	}
}

// TestLostFileIsTheEnd checks that a server ends when it loses a store that only one process can
// use.
func TestLostFileIsTheEnd(t *testing.T) {
	on := NewSharedStore()
	ended := make(chan error, 1)
	ready := make(chan server.Ready, 1)
	go func() {
		ended <- server.Run(t.Context(), server.Config{HTTP: "127.0.0.1:0", Admin: "127.0.0.1:0", AMQP: "127.0.0.1:0", Store: "sqlite:x", OpenStore: on.Open, Ready: func(r server.Ready) { ready <- r }}, io.Discard)
	}()
	<-ready
	on.Seize(other)
	if err := <-ended; !errors.Is(err, engine.ErrFenced) {
		t.Errorf("got %v", err)
	}
}

// TestDefinitionIsAppliedByWhoeverOwns checks that the server that takes over applies its own
// --config, and ends if that is invalid.
func TestDefinitionIsAppliedByWhoeverOwns(t *testing.T) {
	dir := t.TempDir()
	on := NewSharedStore()
	on.Seize(other)
	good := StartShared(t, on, server.Config{ConfigFile: WriteFile(t, dir, "good.json", `{"UserConfig":{"Namespaces":[{"Name":"n","Queues":[{"Name":"a"}]}]}}`)})
	good.Next(server.StateStandby)
	on.Release()
	r := good.Next(server.StateReady)
	if code, _ := Request(t, http.MethodGet, r.Dashboard+"/api/v1/entities/a", ""); code != 200 {
		t.Errorf("the queue is %d", code)
	}
	bad := StartShared(t, on, server.Config{ConfigFile: WriteFile(t, dir, "bad.json", `{"UserConfig":{"Namespaces":[{"Name":"n","Queues":[{"Name":"a","Properties":{"RequiresSession":true}}]}]}}`)})
	bad.Next(server.StateStandby)
	good.End()
	if err := <-bad.Ended; err == nil || !strings.Contains(err.Error(), "RequiresSession") {
		t.Errorf("got %v", err)
	}
	on.mu.Lock()
	defer on.mu.Unlock()
	if on.process != "" {
		t.Error("a server that does not serve the namespace keeps it")
	}
}

func WriteFile(t *testing.T, dir, name, text string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
