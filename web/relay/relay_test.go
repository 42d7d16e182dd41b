package relay_test

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

	"mayfly/web/identity"
	"mayfly/web/relay"
)

// A far is a server that takes what others pass on.
type far struct {
	*relay.Relay
	place relay.Place
}

func farOff(t *testing.T, s relay.Secret, o relay.Options) far {
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
		_ = r.Close(ctx) // tests end in the middle of things
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return far{r, relay.PlaceOf(o.Name, l.Addr(), "")}
}

// near is a server that passes on.
func near(t *testing.T, s relay.Secret, o relay.Options) *relay.Relay {
	t.Helper()
	o.Logger = slog.New(slog.DiscardHandler)
	r := relay.New(o)
	if err := r.Know(s); err != nil {
		t.Fatal(err)
	}
	return r
}

// door serves a line as a port of its own, and says what came of passing on.
func door(t *testing.T, l *relay.Line, port relay.Port) (url string, came <-chan error) {
	t.Helper()
	said := make(chan error, 16)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "of the nearer one")
		err := l.Pass(w, r.WithContext(identity.With(r.Context(), identity.Who{Name: "ana", Role: identity.Operator, Way: identity.Password})), port)
		said <- err
		if err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, said
}

var secret = relay.Secret{1, 2, 3}

// What the owner is told of a request is what the client said, and who that is.
func TestRequestArrivesAsItWas(t *testing.T) {
	type heard struct {
		Method, URI, Host, Remote, Body string
		Passed                          relay.Passed
		Secure                          bool
		Forged                          string
	}
	got := make(chan heard, 1)
	o := farOff(t, secret, relay.Options{Name: "FAR", HTTP: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) //nolint:errcheck // it is compared
		p, _ := relay.Of(r.Context())
		got <- heard{r.Method, r.URL.RequestURI(), r.Host, r.RemoteAddr, string(body), p, r.TLS != nil, r.Header.Get("Mayfly-Passed-On") + r.Header.Get("X-Forwarded-For")}
		w.Header().Set("X-Own", "far")
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, "short and stout") //nolint:errcheck // likewise
	})})
	url, came := door(t, near(t, secret, relay.Options{Name: "NEAR"}).Line("shop", o.place), relay.Admin)
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
		t.Errorf("answered %d %v %q, %v", w.StatusCode, w.Header, text, err)
	}
	if err := <-came; err != nil {
		t.Error(err)
	}
	is := <-got
	if !strings.HasPrefix(is.Remote, "127.0.0.1:") || is.Remote != is.Passed.Client {
		t.Errorf("the client is %q, told as %q", is.Remote, is.Passed.Client)
	}
	client := is.Remote
	want := heard{
		"PUT", "/a%2Fb/messages/1?x=%zz;y", "shop.localhost:5300", client, "body",
		relay.Passed{Namespace: "shop", Port: relay.Admin, Client: client, Who: identity.Who{Name: "ana", Role: identity.Operator, Way: identity.Password}}, false, "10.1.2.3",
	}
	if d := cmp.Diff(want, is); d != "" {
		t.Error(d)
	}
}

// Nobody is let in who does not know the secret, or wants another server; who passes on
// finds that out, and tells a client nothing of it.
func TestStrangersStayOut(t *testing.T) {
	asked := make(chan struct{}, 16)
	o := farOff(t, secret, relay.Options{Name: "FAR", HTTP: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked <- struct{}{} }), AMQP: func(*relay.Conn) { asked <- struct{}{} }})
	other := o.place
	other.Name = "ANOTHER"
	for name, l := range map[string]*relay.Line{
		"another secret":   near(t, relay.Secret{1, 2, 4}, relay.Options{}).Line("shop", o.place),
		"another server":   near(t, secret, relay.Options{}).Line("shop", other),
		"no secret":        relay.New(relay.Options{}).Line("shop", o.place),
		"nobody is there":  near(t, secret, relay.Options{}).Line("shop", relay.Place{Name: "FAR", Addresses: []string{"127.0.0.1:1"}}),
		"a line hung up":   closed(near(t, secret, relay.Options{}).Line("shop", o.place)),
		"a relay that was": over(t, near(t, secret, relay.Options{}), o.place),
	} {
		t.Run(name, func(t *testing.T) {
			url, came := door(t, l, relay.Dashboard)
			w, err := http.Get(url)
			if err != nil {
				t.Fatal(err)
			}
			w.Body.Close()
			if err := <-came; err == nil || errors.Is(err, relay.ErrUnsure) || w.StatusCode != http.StatusServiceUnavailable || w.Header.Get("Content-Security-Policy") == "" {
				t.Errorf("answered %d %v after %v", w.StatusCode, w.Header, err)
			}
			nc, err := l.Open(t.Context(), relay.Passed{})
			if err == nil { // TLS 1.3: the other end's no comes with the first read
				_, err = nc.Read(make([]byte, 1))
				_ = nc.Close()
			}
			if err == nil {
				t.Error("AMQP was let in")
			}
		})
	}
	// Without any certificate, as anybody's client.
	nc, err := tls.Dial("tcp", o.place.Addresses[0], &tls.Config{InsecureSkipVerify: true, ServerName: "FAR", NextProtos: []string{"http/1.1"}}) //nolint:gosec // that is the point
	if err == nil {
		_, _ = io.WriteString(nc, "GET / HTTP/1.1\r\nHost: x\r\n\r\n") //nolint:errcheck // likewise
		if _, err = bufio.NewReader(nc).ReadString('\n'); err == nil {
			t.Error("a client without a certificate was answered")
		}
		_ = nc.Close()
	}
	if len(asked) > 0 {
		t.Error("somebody was let in")
	}
}

func closed(l *relay.Line) *relay.Line { l.Close(); return l }

func over(t *testing.T, r *relay.Relay, at relay.Place) *relay.Line {
	l := r.Line("shop", at)
	if err := r.Close(t.Context()); err != nil {
		t.Error(err)
	}
	return l
}

// A body and its answer go through as they come, however long they take.
func TestBodiesAreStreamed(t *testing.T) {
	o := farOff(t, secret, relay.Options{Name: "FAR", HTTP: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		_ = control.EnableFullDuplex() //nolint:errcheck // what is read says it
		in := bufio.NewReader(r.Body)
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			_, _ = io.WriteString(w, "heard "+line) //nolint:errcheck // likewise
			_ = control.Flush()                     //nolint:errcheck // likewise
		}
	})})
	l := near(t, secret, relay.Options{}).Line("shop", o.place)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex() //nolint:errcheck // likewise
		if err := l.Pass(w, r, relay.Dashboard); err != nil {
			t.Error(err)
		}
	}))
	defer s.Close()
	say, body := net.Pipe()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, body)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.WriteString(say, "one\n") }() //nolint:errcheck // likewise
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
			t.Fatalf("heard %q, %v", line, err)
		}
	}
	_ = say.Close()
}

// When the line is closed, because the namespace has another owner, whoever waits on it
// waits no longer: what was not answered yet is told to come again, what was is cut off.
func TestClosedLineEndsWhatIsUnderWay(t *testing.T) {
	begun := make(chan struct{}, 4)
	let := make(chan struct{})
	o := farOff(t, secret, relay.Options{Name: "FAR", HTTP: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/answered" {
			_, _ = io.WriteString(w, "half of it")    //nolint:errcheck // the other end says it
			_ = http.NewResponseController(w).Flush() //nolint:errcheck // likewise
		}
		begun <- struct{}{}
		select {
		case <-let:
		case <-r.Context().Done():
		}
	}), AMQP: func(c *relay.Conn) {
		begun <- struct{}{}
		_, _ = io.Copy(io.Discard, c) //nolint:errcheck // until it is closed
		_ = c.Close()
	}})
	defer close(let)
	l := near(t, secret, relay.Options{}).Line("shop", o.place)
	url, came := door(t, l, relay.Dashboard)
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
	owner, err := l.Open(t.Context(), relay.Passed{Client: "10.0.0.1:77"})
	if err != nil {
		t.Fatal(err)
	}
	joined := make(chan struct{})
	go func() { l.Join(ours, owner); close(joined) }()
	for range 4 { // each at the owner, and the beginning of an answer at the client
		<-begun
	}
	l.Close()
	for range 2 {
		if err := <-answers; err != nil {
			t.Error(err)
		}
	}
	if err := <-came; !errors.Is(err, relay.ErrUnsure) {
		t.Errorf("who waited is told %v", err)
	}
	<-joined
	if _, err := client.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the client of AMQP has %v", err)
	}
}

// A connection of AMQP arrives with what is told of its client, and byte by byte.
func TestConnectionArrivesAsItWas(t *testing.T) {
	got := make(chan *relay.Conn, 1)
	o := farOff(t, secret, relay.Options{Name: "FAR", AMQP: func(c *relay.Conn) {
		got <- c
		_, _ = io.Copy(c, c) //nolint:errcheck // what comes back says it
		_ = c.Close()
	}})
	l := near(t, secret, relay.Options{}).Line("shop", relay.Place{Name: "FAR", Addresses: append([]string{"127.0.0.1:1"}, o.place.Addresses...)})
	is := relay.Passed{Client: "10.0.0.1:77", Secure: true, ServerName: "shop.example", WebSocket: true, Rule: "ci", Key: "k"}
	owner, err := l.Open(t.Context(), is)
	if err != nil {
		t.Fatal(err)
	}
	client, ours := net.Pipe()
	go l.Join(ours, owner)
	const words = "all that the client says"
	go func() { _, _ = io.WriteString(client, words) }() //nolint:errcheck // likewise
	b := make([]byte, len(words))
	if _, err := io.ReadFull(client, b); err != nil || string(b) != words {
		t.Errorf("back came %q, %v", b, err)
	}
	c := <-got
	is.Namespace = "shop"
	if d := cmp.Diff(is, c.Passed); d != "" || c.RemoteAddr().String() != "10.0.0.1:77" {
		t.Error(c.RemoteAddr(), d)
	}
	_ = client.Close()
	_ = c.SetReadDeadline(time.Now().Add(10 * time.Second)) //nolint:errcheck // the read says it
	if _, err := c.Read(b); !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
		t.Errorf("after the client has gone: %v", err)
	}
}

func TestParsePlace(t *testing.T) {
	for text, want := range map[string]bool{
		"ABC7@10.0.0.1:7071": true, "abc@[::1]:7071,mayfly-1:7071": true,
		"": false, "ABC": false, "@h:1": false, "ABC@": false, "ABC@h": false, "A/B@h:1": false, "ABC@h:1,": false, "ABC@:1": false,
	} {
		p, ok := relay.ParsePlace(text)
		if ok != want || ok && p.String() != text {
			t.Errorf("%q: %+v, %v", text, p, ok)
		}
	}
	everywhere := relay.PlaceOf("N", &net.TCPAddr{IP: net.IPv6unspecified, Port: 7071}, "till-1")
	if len(everywhere.Addresses) == 0 || !strings.HasSuffix(everywhere.Addresses[len(everywhere.Addresses)-1], "till-1:7071") || strings.Contains(everywhere.String(), "[::]") {
		t.Errorf("everywhere is %v", everywhere)
	}
}
