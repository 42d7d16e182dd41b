package rest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/webtest"
)

func TestLongPollGetsWhatComes(t *testing.T) {
	w := start(t, broker.Options{})
	w.create(engine.Queue, "q")
	for _, method := range []string{"POST", "DELETE"} {
		got := make(chan webtest.Answer, 1)
		go func() { got <- w.Ask(method, "/q/messages/head?timeout=60", "a body that nobody needs") }()
		webtest.Eventually(t, "a receiver waits", func() bool { return w.broker.State("q").Receivers == 1 })
		w.Want(201, "POST", "/q/messages", "x")
		if a := <-got; a.Body != "x" {
			t.Errorf("%s got %d %q", method, a.StatusCode, a.Body)
		}
	}
	began := time.Now()
	w.Want(204, "POST", "/q/messages/head?timeout=0.05", "")
	if took := time.Since(began); took < 50*time.Millisecond {
		t.Errorf("the request waited for only %v", took)
	}
}

// TestDisconnectedReceiverGetsNothing hangs up while it waits. Messages that arrive afterwards stay
// for other receivers.
func TestDisconnectedReceiverGetsNothing(t *testing.T) {
	w := start(t, broker.Options{})
	w.create(engine.Queue, "q")
	for _, request := range []string{
		"POST /q/messages/head HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n",
		"POST /q/messages/head HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc",
		"DELETE /q/messages/head HTTP/1.1\r\nHost: localhost\r\n\r\n",
	} {
		conn, err := net.Dial("tcp", w.Server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, request); err != nil {
			t.Fatal(err)
		}
		webtest.Eventually(t, "the receiver waits", func() bool { return w.broker.State("q").Receivers == 1 })
		conn.Close()
		webtest.Eventually(t, "the server has noticed the disconnect", func() bool { return w.broker.State("q").Receivers == 0 })
		w.Want(201, "POST", "/q/messages", "x")
		if got := w.Want(200, "DELETE", "/q/messages/head?timeout=0", ""); brokerHeader(t, got)["DeliveryCount"] != 1.0 {
			t.Errorf("after %q: a delivery was counted: %v", request, got.Header)
		}
	}
}

// TestLeavingRacesWithDelivery sends and disconnects at the same time, many times. Whichever is
// first, no message stays locked for the client that disconnected, and none is counted as
// delivered.
func TestLeavingRacesWithDelivery(t *testing.T) {
	w := start(t, broker.Options{})
	w.create(engine.Queue, "q", "LockDuration", "PT5M")
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	got := 0
	const rounds = 150
	for i := range rounds {
		ctx, leave := context.WithTimeout(t.Context(), time.Duration(rand.IntN(3000))*time.Microsecond)
		received := make(chan string, 1)
		go func() {
			defer close(received)
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL+"/q/messages/head?timeout=60", http.NoBody)
			if err != nil {
				panic(err)
			}
			a, err := transport.RoundTrip(r)
			if err != nil {
				return
			}
			defer a.Body.Close()
			if _, err := io.ReadAll(a.Body); err == nil && a.StatusCode == http.StatusCreated {
				received <- a.Header.Get("Location")
			}
		}()
		w.Want(201, "POST", "/q/messages", fmt.Sprint(i))
		location, ok := <-received
		leave()
		if ok { // the receiver was first, and has the lock
			got++
			w.Want(200, "DELETE", strings.TrimPrefix(location, w.URL), "")
		}
	}
	// A client may hang up when its message has already been sent to it. For the server
	// it has the message then, and its lock runs until it expires. Every other message is
	// here.
	webtest.Eventually(t, "no receiver waits", func() bool { return w.broker.State("q").Receivers == 0 })
	c := w.broker.Counts("q")
	if c.MessageCount() != int64(rounds-got) {
		t.Errorf("received %d messages, and %+v are left of %d", got, c, rounds)
	}
	rows, err := w.broker.Peek(t.Context(), "q", 1, rounds, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if r.Message.DeliveryCount != 0 {
			t.Errorf("message %d was counted as delivered %d times", r.Message.Seq, r.Message.DeliveryCount)
		}
	}
	t.Logf("%d received, %d returned or never delivered, %d left for a client that disconnected", got, c.Active, c.Locked)
}

// A brokenPipe is a response writer that fails after a number of bytes, like the connection of a
// client that disconnects.
type brokenPipe struct {
	header http.Header
	after  int // bytes that are still accepted
}

func (p *brokenPipe) Header() http.Header { return p.header }
func (p *brokenPipe) WriteHeader(int)     {}
func (p *brokenPipe) Write(b []byte) (int, error) {
	if p.after -= len(b); p.after < 0 {
		return 0, errBroken
	}
	return len(b), nil
}
func (p *brokenPipe) FlushError() error {
	if p.after < 1<<20 {
		return errBroken
	}
	return nil
}

var errBroken = errors.New("broken pipe")

func TestUnwritableMessageIsGivenBack(t *testing.T) {
	w := start(t, broker.Options{})
	w.create(engine.Queue, "q")
	w.Want(201, "POST", "/q/messages", strings.Repeat("x", 1000))
	for _, after := range []int{0, 100, 1000} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/q/messages/head", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		w.Server.Config.Handler.ServeHTTP(&brokenPipe{http.Header{}, after}, r)
		if c := w.broker.Counts("q"); c.Active != 1 || c.Locked != 0 {
			t.Errorf("a client that took %d bytes left %+v", after, c)
		}
	}
	if got := w.Want(201, "POST", "/q/messages/head", ""); brokerHeader(t, got)["DeliveryCount"] != 1.0 {
		t.Errorf("a delivery was counted: %v", got.Header)
	}
}

// premium returns the limits of the tier in which a queue has its own maximum message
// size.
func premium(t *testing.T) *engine.Limits {
	t.Helper()
	l, err := engine.Profile("premium")
	if err != nil {
		t.Fatal(err)
	}
	return &l
}

func TestHalfAMessageIsNone(t *testing.T) {
	w := start(t, broker.Options{Limits: premium(t)})
	w.create(engine.Queue, "q", "MaxMessageSizeInKilobytes", "1024")
	for _, size := range []int{100, 200_000} { // in memory, and staged
		conn, err := net.Dial("tcp", w.Server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprintf(conn, "POST /q/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", size, strings.Repeat("x", size/2)); err != nil {
			t.Fatal(err)
		}
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(conn)
		if err != nil || !strings.HasPrefix(string(text), "HTTP/1.1 400 ") || !strings.Contains(string(text), "The body ended before it was complete.") {
			t.Errorf("half of %d bytes: %v %s", size, err, text)
		}
		conn.Close()
		if c := w.broker.Counts("q"); c.MessageCount() != 0 {
			t.Errorf("half of %d bytes left %+v", size, c)
		}
	}
}

func TestLargeMessagePasses(t *testing.T) {
	w := start(t, broker.Options{Limits: premium(t)})
	w.create(engine.Queue, "q", "MaxMessageSizeInKilobytes", "4096")
	body := strings.Repeat("0123456789abcdef", 200_000)
	w.Want(201, "POST", "/q/messages", body)
	if got := w.Want(200, "DELETE", "/q/messages/head", ""); got.Body != body {
		t.Errorf("received %d bytes, want %d", len(got.Body), len(body))
	}
	w.Want(403, "POST", "/q/messages", body+body)
	// Without a Content-Length the request cannot be refused at once.
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.URL+"/q/messages", io.MultiReader(strings.NewReader(body), strings.NewReader(body)))
	if err != nil {
		t.Fatal(err)
	}
	if got := w.Do(r); got.StatusCode != 403 {
		t.Errorf("got %d %s", got.StatusCode, got.Body)
	}
	if c := w.broker.Counts("q"); c.MessageCount() != 0 {
		t.Errorf("a refused message left %+v", c)
	}
}
