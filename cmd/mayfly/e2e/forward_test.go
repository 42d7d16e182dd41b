package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/Azure/go-amqp"
	"github.com/gorilla/websocket"

	"mayfly/cmd/mayfly/server"
	"mayfly/storage/mongo/mongotest"
)

// StartTwo starts two servers on one MongoDB: the owner of the server's own namespace, and a standby.
func StartTwo(t *testing.T, c server.Config) (owner, other server.Ready, first, second *SharedServer) {
	t.Helper()
	c.Store = mongotest.URL(t)
	first = StartStandby(t, c)
	owner = first.Next(server.StateReady)
	second = StartStandby(t, c)
	other = second.Next(server.StateStandby)
	Eventually(t, "requests are forwarded", func() bool {
		code, _ := Request(t, http.MethodGet, other.Dashboard+"/readyz", "")
		return code == http.StatusOK
	})
	return owner, other, first, second
}

// TestPassedOnHTTP checks that a standby forwards requests, which get the same responses as at
// the owner.
func TestPassedOnHTTP(t *testing.T) {
	owner, other, _, _ := StartTwo(t, server.Config{})
	if code, text := Request(t, http.MethodPost, other.Dashboard+"/api/v1/send/orders%2Flate?create=queue", `{"body":"x"}`); code != http.StatusCreated {
		t.Fatal(code, text)
	}
	if code, text := Request(t, http.MethodGet, owner.Dashboard+"/api/v1/peek/orders%2Flate", ""); code != 200 || !strings.Contains(text, `"x"`) {
		t.Errorf("at the owner: %d %s", code, text)
	}
	for path, want := range map[string]string{
		"/":                              "orders/late",
		"/n/default/queues?q=late":       "orders/late",
		"/api/v1/entities/orders%2Flate": `"path":"orders/late"`,
		"/readyz":                        "forwarded to the server at " + owner.Dashboard,
	} {
		if code, text := Request(t, http.MethodGet, other.Dashboard+path, ""); code != 200 || !strings.Contains(text, want) {
			t.Errorf("%s: %d, no %q in %.2000s", path, code, want, text)
		}
	}
	if code, text := Request(t, http.MethodDelete, other.Admin+"/orders%2Flate/messages/head?timeout=1", ""); code != 200 || text != "x" {
		t.Errorf("received: %d %q", code, text)
	}
	if code, text := Request(t, http.MethodGet, other.Admin+"/health", ""); code != 200 {
		t.Errorf("the emulator's health: %d %s", code, text)
	}

	// A waiting receive at one server is woken by a send at the other, in both directions.
	for _, way := range [][2]string{{owner.Admin, other.Admin}, {other.Admin, owner.Admin}} {
		got := make(chan string, 1)
		go func() {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, way[1]+"/orders/late/messages/head?timeout=60", http.NoBody)
			if err != nil {
				panic(err)
			}
			w, err := http.DefaultClient.Do(r)
			if err != nil {
				got <- err.Error()
				return
			}
			defer w.Body.Close()
			text, _ := io.ReadAll(w.Body) //nolint:errcheck // compared below
			got <- string(text)
		}()
		if code, text := Request(t, http.MethodPost, way[0]+"/orders/late/messages", "woken"); code != http.StatusCreated {
			t.Errorf("sent: %d %s", code, text)
		}
		if text := <-got; text != "woken" {
			t.Errorf("woken with %q", text)
		}
	}

	// A form of a forwarded page is accepted by both servers.
	for i, way := range [][2]string{{other.Dashboard, owner.Dashboard}, {owner.Dashboard, other.Dashboard}} {
		jar := &CookieJar{}
		_, page := jar.Get(t, way[0]+"/n/default/queues")
		_, form, ok := strings.Cut(page, `name="csrf" value="`)
		if !ok {
			t.Fatalf("there is no form in %.3000s", page)
		}
		token, _, _ := strings.Cut(form, `"`)
		code, text := jar.Post(t, way[1]+"/n/default/queues", url.Values{"csrf": {token}, "name": {fmt.Sprint("made", i)}})
		if code != http.StatusSeeOther {
			t.Errorf("the form: %d %.2000s", code, text)
		}
	}
}

// CookieJar is a browser's cookie jar for two servers at one host name.
type CookieJar struct{ All []*http.Cookie }

func (j *CookieJar) Do(t *testing.T, r *http.Request) (int, string) {
	t.Helper()
	for _, c := range j.Sent(r.URL.Port()) {
		r.AddCookie(c)
	}
	w, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Body.Close()
	j.All = append(j.All, w.Cookies()...)
	text, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.StatusCode, string(text)
}

// Sent returns the cookies for the server at a port. Cookies whose names contain a port are
// renamed, as if both servers were behind one address.
func (j *CookieJar) Sent(port string) (out []*http.Cookie) {
	for _, c := range j.All {
		is := *c
		if i := strings.LastIndexByte(is.Name, '_'); i >= 0 && strings.Trim(is.Name[i+1:], "0123456789") == "" {
			is.Name = is.Name[:i+1] + port
		}
		out = append(out, &is)
	}
	return out
}

func (j *CookieJar) Get(t *testing.T, at string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	return j.Do(t, r)
}

func (j *CookieJar) Post(t *testing.T, at string, form url.Values) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return j.Do(t, r)
}

// TestPassedOnLive checks that the socket of a forwarded page ends when the owner is lost.
func TestPassedOnLive(t *testing.T) {
	owner, other, first, _ := StartTwo(t, server.Config{})
	ws, w, err := websocket.DefaultDialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(other.Dashboard, "http")+"/live", http.Header{"Origin": {other.Dashboard}})
	if err != nil {
		t.Fatal(w, err)
	}
	defer ws.Close()
	defer w.Body.Close()
	if _, hello, err := ws.ReadMessage(); err != nil || !strings.Contains(string(hello), `"epoch"`) {
		t.Errorf("the first frame is %s, %v", hello, err)
	}
	socket := DialLive(t, other.Dashboard)
	if _, text := Request(t, http.MethodGet, owner.Dashboard+"/metrics", ""); !strings.Contains(text, "mayfly_") {
		t.Error("the metrics are missing")
	}
	first.End()
	if err := socket.WaitClosed(); err != nil {
		t.Error(err)
	}
}

// TestPassedOnAMQP checks that a standby forwards AMQP connections to the owner.
func TestPassedOnAMQP(t *testing.T) {
	owner, other, first, second := StartTwo(t, server.Config{})
	CreateQueue(t, owner, "q")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := amqp.Dial(ctx, "amqp://"+other.AMQP, &amqp.ConnOptions{SASLType: amqp.SASLTypeAnonymous(), HostName: "default.localhost"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s, err := c.NewSession(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	snd, err := s.NewSender(ctx, "q", nil)
	if err != nil {
		t.Fatal(err)
	}
	rcv, err := s.NewReceiver(ctx, "q", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{"small", strings.Repeat("large", 40_000)} {
		if err := snd.Send(ctx, amqp.NewMessage([]byte(body)), nil); err != nil {
			t.Fatal(err)
		}
		m, err := rcv.Receive(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		if string(m.GetData()) != body {
			t.Errorf("received %d bytes", len(m.GetData()))
		}
		if err := rcv.AcceptMessage(ctx, m); err != nil {
			t.Error(err)
		}
	}
	if _, text := Request(t, http.MethodGet, other.Dashboard+"/api/v1/connections", ""); !strings.Contains(text, `"remoteAddress":"127.0.0.1:`) || !strings.Contains(text, `"senders":1`) {
		t.Errorf("the owner's clients have the addresses %s", text)
	}
	first.End()
	select {
	case <-c.Done():
	case <-ctx.Done():
		t.Fatal("the connection is still open")
	}
	second.Next(server.StateReady)
}
