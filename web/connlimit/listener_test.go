package connlimit

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/web/proxy"
)

// scarce is a listener that is out of files for connections as long as the budget's
// reserve is full.
type scarce struct {
	net.Listener
	b   *Budget
	out []net.Conn
}

func (s *scarce) Accept() (net.Conn, error) {
	s.b.files.Lock()
	defer s.b.files.Unlock()
	if len(s.b.reserve) == reservedFiles {
		return nil, os.NewSyscallError("accept4", syscall.EMFILE)
	}
	if len(s.out) == 0 {
		return nil, net.ErrClosed
	}
	nc := s.out[0]
	s.out = s.out[1:]
	return nc, nil
}

// TestOutOfFiles checks that when the process is out of files, Accept closes a connection to free a
// file although the budget is not used up, and uses a file of the reserve if there is none to
// close.
func TestOutOfFiles(t *testing.T) {
	b := New(Options{Max: 100, Reserve: true, Logger: slog.New(slog.DiscardHandler)})
	defer b.Close()
	first := arrive(b, "192.0.2.1")
	l := b.Listen(&scarce{b: b, out: []net.Conn{&fake{at: "192.0.2.2"}, &fake{at: "192.0.2.3"}}}, HTTP)
	nc, err := l.Accept()
	if err != nil || !first.isClosed() || !Unwrap(nc).Admit() {
		t.Fatalf("the first connection was closed: %v, %v", first.isClosed(), err)
	}
	Unwrap(nc).Exempt() // it cannot be closed for others
	next, err := l.Accept()
	if err != nil || Unwrap(nc).isClosed() || Unwrap(next).phase != emergency {
		t.Errorf("with nothing to close, the next connection is in phase %d, %v", Unwrap(next).phase, err)
	}
	if n := len(b.reserve); n != reservedFiles {
		t.Errorf("%d files are in reserve", n)
	}
}

// TestEmergencyEnds checks that a connection keeps an emergency place for three seconds.
func TestEmergencyEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget(t, 1)
		kept := arrive(b, "192.0.2.1")
		kept.Exempt()
		ours, theirs := net.Pipe()
		c := b.conn(theirs, HTTP)
		b.placeConn(c, false)
		at := time.Now()
		if _, err := ours.Read(make([]byte, 1)); !errors.Is(err, io.EOF) || time.Since(at) != emergencyTimeout {
			t.Errorf("the connection ended after %s, with %v", time.Since(at), err)
		}
		if !c.Evicted() || c.Admit() || len(b.emergency[HTTP]) != 0 {
			t.Error("the connection still has a place")
		}
	})
}

// TestFarewell checks that an evicted connection has two seconds to send its closing error.
func TestFarewell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget(t, 1)
		ours, theirs := net.Pipe()
		c := b.conn(theirs, AMQP)
		b.placeConn(c, false)
		text := ""
		c.OnEvict(func(why string) { text = why })
		at := time.Now()
		arrive(b, "192.0.2.1")
		if _, err := ours.Read(make([]byte, 1)); !errors.Is(err, io.EOF) || text == "" || time.Since(at) != leavingTimeout {
			t.Errorf("read %q; the connection ended after %s with %v", text, time.Since(at), err)
		}
		if _, err := c.Read(make([]byte, 1)); err == nil {
			t.Error("an evicted connection can be read")
		}
		if _ = c.Close(); b.leaving != 0 {
			t.Errorf("%d connections are still closing", b.leaving)
		}
	})
}

// TestEvictedReadsAnEnd checks that the reader of an evicted connection gets io.EOF.
func TestEvictedReadsAnEnd(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	b := budget(t, 1)
	counted := b.Listen(l, HTTP)
	var server []net.Conn
	for range 2 {
		nc, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = nc.Close() })
		c, err := counted.Accept()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		server = append(server, c)
	}
	if _, err := server[0].Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the evicted connection reads %v", err)
	}
	_ = server[1].Close()
	if _, err := server[1].Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a connection closed by its server reads %v", err)
	}
}

// TestHeaderOfProxies checks that the PROXY header is used only if it comes from a
// trusted proxy.
func TestHeaderOfProxies(t *testing.T) {
	trusted, err := proxy.Parse([]string{"10.0.0.0/8"})
	if err != nil {
		t.Fatal(err)
	}
	b := New(Options{Trusted: trusted, Logger: slog.New(slog.DiscardHandler)})
	const header, hello = "PROXY TCP4 203.0.113.1 10.0.0.1 4711 5672\r\n", "AMQP\x00\x01\x00\x00"
	for name, tc := range map[string]struct {
		from         string
		kind         Kind
		client, read string
	}{
		"a proxy":        {"10.0.0.1", AMQP, "203.0.113.1:4711", hello},
		"of HTTP":        {"10.0.0.1", HTTP, "203.0.113.1:4711", hello},
		"somebody":       {"192.0.2.1", AMQP, "192.0.2.1:1", header + hello},
		"another server": {"10.0.0.1", Cluster, "10.0.0.1:1", header + hello},
	} {
		t.Run(name, func(t *testing.T) {
			ours, theirs := net.Pipe()
			go func() { // ends with the pipe
				_, _ = io.WriteString(ours, header+hello) //nolint:errcheck // the read returns the error
				_ = ours.Close()
			}()
			c := b.conn(&piped{fake{at: tc.from}, theirs}, tc.kind)
			b.placeConn(c, false)
			if err := c.ReadHeader(); err != nil {
				t.Fatal(err)
			}
			if at := c.RemoteAddr().String(); at != tc.client {
				t.Errorf("the client is %s", at)
			}
			if got := c.Network(); got != proxy.Host(tc.client) {
				t.Errorf("the connection counts for %s", got)
			}
			if got, err := io.ReadAll(c); err != nil || string(got) != tc.read {
				t.Errorf("read %q, %v", got, err)
			}
			c.SetClient("198.51.100.7")
			c.SetClient("")
			if at := c.RemoteAddr().String(); at != tc.client {
				t.Errorf("afterwards the client is %s", at)
			}
			_ = c.Close()
		})
	}
}

// TestNetwork checks that a connection counts for its client's network, and for none if a
// trusted proxy names no client.
func TestNetwork(t *testing.T) {
	trusted, err := proxy.Parse([]string{"10.0.0.0/8"})
	if err != nil {
		t.Fatal(err)
	}
	b := New(Options{Trusted: trusted, Logger: slog.New(slog.DiscardHandler)})
	for from, want := range map[string]string{"10.0.0.1": "", "192.0.2.1": "192.0.2.1", "2001:db8::1": "2001:db8::/64"} {
		c := b.conn(&fake{at: from}, AMQP)
		if got := c.Network(); got != want {
			t.Errorf("%s counts for %q", from, got)
		}
		c.SetClient("2001:db8:1::7")
		if got := c.Network(); got != "2001:db8:1::/64" {
			t.Errorf("%s counts for %q, of a client that is named", from, got)
		}
		c.SetClient("")
		if got := c.Network(); got != want {
			t.Errorf("%s counts for %q afterwards", from, got)
		}
	}
	if (*Conn)(nil).Network() != "" {
		t.Error("an unknown connection counts for a network")
	}
}

// piped is a pipe from an address.
type piped struct {
	fake
	in net.Conn
}

func (p *piped) Read(b []byte) (int, error) { return p.in.Read(b) }

func TestFit(t *testing.T) {
	for _, tc := range []struct{ wanted, files, others, each, want int }{
		{10_000, 20_000, 264, 1, 10_000},
		{10_000, 3_000, 264, 1, 3_000 - 264 - ExtraFiles},
		{100, 3_000, 264, 1, 100},
		{10_000, 3_000, 320, 2, (3_000 - 320 - ExtraFiles) / 2},
		{10_000, 256, 264, 1, 128},
		{10_000, 1, 264, 2, 1},
	} {
		if got := fitFiles(tc.wanted, tc.files, tc.others, tc.each); got != tc.want {
			t.Errorf("%+v: got %d", tc, got)
		}
	}
}
