package cluster_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mayfly/web/auth"
	"mayfly/web/cluster"
)

// A far is a server that accepts forwarded requests.
type far struct {
	*cluster.Relay
	endpoint cluster.Endpoint
}

func farOff(t *testing.T, s cluster.Secret, o cluster.Options) far {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := near(t, s, o)
	served := make(chan error, 1)
	go func() { served <- r.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = r.Close(ctx) // tests end while connections are open
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return far{r, cluster.EndpointOf(o.Name, l.Addr(), "")}
}

// near returns the relay of a server that forwards.
func near(t *testing.T, s cluster.Secret, o cluster.Options) *cluster.Relay {
	t.Helper()
	o.Logger = slog.New(slog.DiscardHandler)
	r := cluster.New(o)
	if err := r.SetSecret(s); err != nil {
		t.Fatal(err)
	}
	return r
}

// startRelay serves a port that forwards its requests through l, and sends the results of Forward
// to came.
func startRelay(t *testing.T, l *cluster.Forwarder, port cluster.Port) (url string, came <-chan error) {
	t.Helper()
	errs := make(chan error, 16)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "of the nearer one")
		err := l.Forward(w, r.WithContext(auth.WithCaller(r.Context(), auth.Caller{Name: "ana", Role: auth.Operator, Method: auth.Password})), cluster.ClientInfo{Port: port, Hosts: []string{"bus.example"}, Own: true})
		errs <- err
		if err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, errs
}

var secret = cluster.Secret{1, 2, 3}

// A forwarded request arrives at the owner with the client's method, address, headers and body and
// with its ClientInfo, which the client cannot forge. The client gets the owner's answer.
func TestRequestArrivesAsItWas(t *testing.T) {
	type heard struct {
		Method, URI, Host, Remote, Body string
		Passed                          cluster.ClientInfo
		Secure                          bool
		Forged                          string
	}
	got := make(chan heard, 1)
	o := farOff(t, secret, cluster.Options{Name: "FAR", HTTP: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) //nolint:errcheck // it is compared below
		p, _ := cluster.ClientFromContext(r.Context())
		got <- heard{r.Method, r.URL.RequestURI(), r.Host, r.RemoteAddr, string(body), p, r.TLS != nil, r.Header.Get("Mayfly-Passed-On") + r.Header.Get("X-Forwarded-For")}
		w.Header().Set("X-Own", "far")
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, "short and stout") //nolint:errcheck // the client checks the answer
	})})
	url, came := startRelay(t, near(t, secret, cluster.Options{Name: "NEAR"}).Forwarder("shop", o.endpoint), cluster.Admin)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, url+"/a%2Fb/messages/1?x=%zz;y", strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "shop.localhost:5300"
	r.Header.Set("Mayfly-Passed-On", "eyJuYW1lc3BhY2UiOiJldmlsIn0=")
	r.Header.Set("X-Forwarded-For", "10.1.2.3")
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Body.Close()
	text, err := io.ReadAll(w.Body)
	if err != nil || w.StatusCode != http.StatusTeapot || string(text) != "short and stout" || w.Header.Get("X-Own") != "far" || w.Header.Get("Content-Security-Policy") != "" {
		t.Errorf("the response is %d %v %q, %v", w.StatusCode, w.Header, text, err)
	}
	if err := <-came; err != nil {
		t.Error(err)
	}
	is := <-got
	if !strings.HasPrefix(is.Remote, "127.0.0.1:") || is.Remote != is.Passed.Client {
		t.Errorf("the client is %q, want the one of the request: %q", is.Remote, is.Passed.Client)
	}
	client := is.Remote
	want := heard{
		"PUT", "/a%2Fb/messages/1?x=%zz;y", "shop.localhost:5300", client, "body",
		cluster.ClientInfo{Namespace: "shop", Port: cluster.Admin, Hosts: []string{"bus.example"}, Own: true, Client: client, Caller: auth.Caller{Name: "ana", Role: auth.Operator, Method: auth.Password}}, false, "",
	}
	if d := cmp.Diff(want, is); d != "" {
		t.Error(d)
	}
}

// A server that does not know the secret, or expects another server, is rejected. The forwarding
// server gets the reason, and the client does not.
func TestUnknownServersAreRejected(t *testing.T) {
	asked := make(chan struct{}, 16)
	o := farOff(t, secret, cluster.Options{Name: "FAR", HTTP: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked <- struct{}{} }), AMQP: func(*cluster.Conn) { asked <- struct{}{} }})
	other := o.endpoint
	other.Name = "ANOTHER"
	for name, l := range map[string]*cluster.Forwarder{
		"another secret":   near(t, cluster.Secret{1, 2, 4}, cluster.Options{}).Forwarder("shop", o.endpoint),
		"another server":   near(t, secret, cluster.Options{}).Forwarder("shop", other),
		"no secret":        cluster.New(cluster.Options{}).Forwarder("shop", o.endpoint),
		"nobody is there":  near(t, secret, cluster.Options{}).Forwarder("shop", cluster.Endpoint{Name: "FAR", Addresses: []string{"127.0.0.1:1"}}),
		"a line hung up":   closed(near(t, secret, cluster.Options{}).Forwarder("shop", o.endpoint)),
		"a relay that was": over(t, near(t, secret, cluster.Options{}), o.endpoint),
	} {
		t.Run(name, func(t *testing.T) {
			url, came := startRelay(t, l, cluster.Dashboard)
			w, err := http.Get(url)
			if err != nil {
				t.Fatal(err)
			}
			w.Body.Close()
			if err := <-came; err == nil || errors.Is(err, cluster.ErrOutcomeUnknown) || w.StatusCode != http.StatusServiceUnavailable || w.Header.Get("Content-Security-Policy") == "" {
				t.Errorf("the response is %d %v after %v", w.StatusCode, w.Header, err)
			}
			nc, err := l.OpenAMQP(t.Context(), cluster.ClientInfo{})
			if err == nil { // in TLS 1.3 the other end's rejection arrives with the first read
				_, err = nc.Read(make([]byte, 1))
				_ = nc.Close()
			}
			if err == nil {
				t.Error("an AMQP connection was accepted")
			}
		})
	}
	// Connects without a certificate, as any client.
	nc, err := tls.Dial("tcp", o.endpoint.Addresses[0], &tls.Config{InsecureSkipVerify: true, ServerName: "FAR", NextProtos: []string{"http/1.1"}})
	if err == nil {
		_, _ = io.WriteString(nc, "GET / HTTP/1.1\r\nHost: x\r\n\r\n") //nolint:errcheck // the read fails without it
		if _, err = bufio.NewReader(nc).ReadString('\n'); err == nil {
			t.Error("a client without a certificate got a response")
		}
		_ = nc.Close()
	}
	if len(asked) > 0 {
		t.Error("a connection was accepted")
	}
}

func closed(l *cluster.Forwarder) *cluster.Forwarder { l.Close(); return l }

func over(t *testing.T, r *cluster.Relay, at cluster.Endpoint) *cluster.Forwarder {
	l := r.Forwarder("shop", at)
	if err := r.Close(t.Context()); err != nil {
		t.Error(err)
	}
	return l
}

// The bodies of a request and of its answer are forwarded as they arrive, however long they take.
func TestBodiesAreStreamed(t *testing.T) {
	o := farOff(t, secret, cluster.Options{Name: "FAR", HTTP: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		_ = control.EnableFullDuplex() //nolint:errcheck // reading fails without it
		in := bufio.NewReader(r.Body)
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			_, _ = io.WriteString(w, "heard "+line) //nolint:errcheck // the client checks the answer
			_ = control.Flush()                     //nolint:errcheck // the client checks the answer
		}
	})})
	l := near(t, secret, cluster.Options{}).Forwarder("shop", o.endpoint)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex() //nolint:errcheck // reading fails without it
		if err := l.Forward(w, r, cluster.ClientInfo{Port: cluster.Dashboard}); err != nil {
			t.Error(err)
		}
	}))
	defer s.Close()
	say, body := net.Pipe()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, body)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.WriteString(say, "one\n") }() //nolint:errcheck // the answer is read
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Body.Close()
	hear := bufio.NewReader(w.Body)
	for _, word := range []string{"one", "two", "three"} {
		if word != "one" {
			if _, err := io.WriteString(say, word+"\n"); err != nil {
				t.Fatal(err)
			}
		}
		if line, err := hear.ReadString('\n'); err != nil || line != "heard "+word+"\n" {
			t.Fatalf("received %q, %v", line, err)
		}
	}
	_ = say.Close()
}

// When the Forwarder is closed, because the namespace has another owner, no client waits any
// longer: unanswered requests get an error to try again, and answers that have begun are cut off.
func TestClosedRelayEndsRunningRequests(t *testing.T) {
	begun := make(chan struct{}, 4)
	let := make(chan struct{})
	o := farOff(t, secret, cluster.Options{Name: "FAR", HTTP: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/answered" {
			_, _ = io.WriteString(w, "half of it")    //nolint:errcheck // the other end checks it
			_ = http.NewResponseController(w).Flush() //nolint:errcheck // the other end checks it
		}
		begun <- struct{}{}
		select {
		case <-let:
		case <-r.Context().Done():
		}
	}), AMQP: func(c *cluster.Conn) {
		begun <- struct{}{}
		_, _ = io.Copy(io.Discard, c) //nolint:errcheck // until the connection is closed
		_ = c.Close()
	}})
	defer close(let)
	l := near(t, secret, cluster.Options{}).Forwarder("shop", o.endpoint)
	url, came := startRelay(t, l, cluster.Dashboard)
	answers := make(chan error, 2)
	for _, at := range []string{"/waiting", "/answered"} {
		go func() {
			w, err := http.Get(url + at)
			if err == nil {
				if at == "/answered" {
					begun <- struct{}{}
				}
				_, err = io.ReadAll(w.Body)
				w.Body.Close()
				if at == "/waiting" && err == nil && w.StatusCode != http.StatusServiceUnavailable {
					err = errors.New(w.Status)
				}
				if at == "/answered" {
					if err == nil {
						err = errors.New("it ended as if that were all")
					} else {
						err = nil
					}
				}
			}
			answers <- err
		}()
	}
	client, ours := net.Pipe()
	owner, err := l.OpenAMQP(t.Context(), cluster.ClientInfo{Client: "10.0.0.1:77"})
	if err != nil {
		t.Fatal(err)
	}
	joined := make(chan struct{})
	go func() { l.Join(ours, owner); close(joined) }()
	for range 4 { // for each request, its arrival at the owner and the beginning of the answer at the client
		<-begun
	}
	l.Close()
	for range 2 {
		if err := <-answers; err != nil {
			t.Error(err)
		}
	}
	if err := <-came; !errors.Is(err, cluster.ErrOutcomeUnknown) {
		t.Errorf("the waiting client got %v", err)
	}
	<-joined
	if _, err := client.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the AMQP client got %v", err)
	}
}

// A forwarded AMQP connection arrives at the owner with the ClientInfo of its client, and its bytes
// are unchanged in both directions.
func TestConnectionArrivesAsItWas(t *testing.T) {
	got := make(chan *cluster.Conn, 1)
	o := farOff(t, secret, cluster.Options{Name: "FAR", AMQP: func(c *cluster.Conn) {
		got <- c
		_, _ = io.Copy(c, c) //nolint:errcheck // the client checks what comes back
		_ = c.Close()
	}})
	l := near(t, secret, cluster.Options{}).Forwarder("shop", cluster.Endpoint{Name: "FAR", Addresses: append([]string{"127.0.0.1:1"}, o.endpoint.Addresses...)})
	is := cluster.ClientInfo{Client: "10.0.0.1:77", Secure: true, ServerName: "shop.example", WebSocket: true, Rule: "ci", Key: "k"}
	owner, err := l.OpenAMQP(t.Context(), is)
	if err != nil {
		t.Fatal(err)
	}
	client, ours := net.Pipe()
	go l.Join(ours, owner)
	const words = "all that the client says"
	go func() { _, _ = io.WriteString(client, words) }() //nolint:errcheck // what comes back is read
	b := make([]byte, len(words))
	if _, err := io.ReadFull(client, b); err != nil || string(b) != words {
		t.Errorf("the echo is %q, %v", b, err)
	}
	c := <-got
	is.Namespace = "shop"
	if d := cmp.Diff(is, c.Client); d != "" || c.RemoteAddr().String() != "10.0.0.1:77" {
		t.Error(c.RemoteAddr(), d)
	}
	_ = client.Close()
	_ = c.SetReadDeadline(time.Now().Add(10 * time.Second)) //nolint:errcheck // the read returns the error
	if _, err := c.Read(b); !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
		t.Errorf("after the client has disconnected: %v", err)
	}
}

func TestParseEndpoint(t *testing.T) {
	for text, want := range map[string]bool{
		"ABC7@10.0.0.1:7071": true, "abc@[::1]:7071,mayfly-1:7071": true,
		"": false, "ABC": false, "@h:1": false, "ABC@": false, "ABC@h": false, "A/B@h:1": false, "ABC@h:1,": false, "ABC@:1": false,
	} {
		p, ok := cluster.ParseEndpoint(text)
		if ok != want || ok && p.String() != text {
			t.Errorf("%q: %+v, %v", text, p, ok)
		}
	}
	everywhere := cluster.EndpointOf("N", &net.TCPAddr{IP: net.IPv6unspecified, Port: 7071}, "till-1")
	if len(everywhere.Addresses) == 0 || !strings.HasSuffix(everywhere.Addresses[len(everywhere.Addresses)-1], "till-1:7071") || strings.Contains(everywhere.String(), "[::]") {
		t.Errorf("everywhere is %v", everywhere)
	}
}
