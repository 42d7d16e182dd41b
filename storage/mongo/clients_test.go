package mongo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/storage/mongo/mongotest"
)

// A gate is a proxy that counts the connections through it to a server.
type gate struct {
	url string

	mu        sync.Mutex
	now, most int // guarded by mu
}

// through starts a gate to the tests' server. Its URL has a database of its own.
func through(t testing.TB) *gate {
	t.Helper()
	to, err := url.Parse(mongotest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	host := to.Host
	to.Host = l.Addr().String()
	g := &gate{url: to.String()}
	ctx, hangUp := context.WithCancel(context.Background())
	var passing sync.WaitGroup
	passing.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return // the gate is closed
			}
			passing.Go(func() { g.pass(ctx, c, host) })
		}
	})
	t.Cleanup(func() { l.Close(); hangUp(); passing.Wait() })
	return g
}

func (g *gate) pass(ctx context.Context, c net.Conn, host string) {
	defer c.Close()
	there, err := (&net.Dialer{}).DialContext(ctx, "tcp", host)
	if err != nil {
		return // the driver reports it
	}
	defer there.Close()
	stop := context.AfterFunc(ctx, func() { c.Close(); there.Close() })
	defer stop()
	g.count(1)
	defer g.count(-1)
	var both sync.WaitGroup
	for to, from := range map[net.Conn]net.Conn{c: there, there: c} {
		both.Go(func() {
			_, _ = io.Copy(to, from) //nolint:errcheck // either end may disconnect
			c.Close()
			there.Close()
		})
	}
	both.Wait()
}

func (g *gate) count(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.now += n
	g.most = max(g.most, g.now)
}

// eventually calls `is` until it returns true, and reports whether it did so in time.
func eventually(is func() bool) bool {
	for range 1000 {
		if is() {
			return true
		}
		<-time.After(10 * time.Millisecond)
	}
	return false
}

func (g *gate) connections() (now, most int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.now, g.most
}

// openAll opens n namespaces at once, as a server does that takes them over, and commits to
// each meanwhile.
func openAll(t testing.TB, url string, clients *Clients, n int) []*Store {
	t.Helper()
	stores := make([]*Store, n)
	var all sync.WaitGroup
	for i := range stores {
		all.Go(func() {
			s, err := Open(context.Background(), url, Options{Namespace: fmt.Sprintf("n%d", i), Clients: clients})
			if err != nil {
				t.Error(err)
				return
			}
			stores[i] = s
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return stores
}

// goesOn commits a batch, to check that the store works.
func goesOn(t *testing.T, s *Store, path engine.Path) {
	t.Helper()
	if err := s.Commit(t.Context(), &engine.Batch{Hard: true, Now: 1, Entities: []engine.Entity{{ID: 1, Path: path}}}); err != nil {
		t.Errorf("%s: %v", s.names, err)
	}
}

// TestOneClient checks that users of the same connection string in a process share connections,
// and create the indexes once. A user that gives up or closes does not affect the others. The
// last one disconnects, and after that the string can be opened again.
func TestOneClient(t *testing.T) {
	var seen tap
	g, clients := through(t), new(Clients)
	a, err := parse(g.url)
	if err != nil {
		t.Fatal(err)
	}
	seen.on(a.options)
	first, err := clients.take(g.url, a) // as another user
	if err != nil {
		t.Fatal(err)
	}
	stores := openAll(t, g.url, clients, 5)
	c := &Catalogue{URL: g.url, Clients: clients}
	if _, err := c.List(t.Context()); err != nil {
		t.Error(err)
	}
	if n := len(clients.all); n != 1 || first.users != 7 {
		t.Errorf("there are %d clients, the first with %d users", n, first.users)
	}
	stop, over := context.WithCancel(t.Context())
	var giving sync.WaitGroup
	giving.Go(func() {
		for range 50 {
			ctx, cancel := context.WithTimeout(stop, time.Millisecond)
			for _, err := range stores[0].Load(ctx) {
				if err != nil {
					break
				}
			}
			cancel()
		}
	})
	for range 20 {
		for i, s := range stores[1:] {
			goesOn(t, s, engine.Path(fmt.Sprintf("q%d", i)))
		}
	}
	giving.Wait()
	over()
	if !eventually(func() bool {
		first.indexLock <- struct{}{}
		defer func() { <-first.indexLock }()
		return first.indexed
	}) {
		t.Error("the indexes were not requested")
	}
	if err := stores[0].Close(); err != nil {
		t.Error(err)
	}
	if err := stores[0].Close(); err != nil {
		t.Error(err)
	}
	for _, s := range stores[1:] {
		goesOn(t, s, "after")
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	for _, s := range stores[1:] {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := first.release(t.Context()); err != nil {
		t.Error(err)
	}
	want(t, asked, made(t, seen.all()))
	if len(clients.all) != 0 || !eventually(func() bool { now, _ := g.connections(); return now == 0 }) {
		now, _ := g.connections()
		t.Errorf("after all are closed, there are %d clients and %d connections", len(clients.all), now)
	}
	for _, s := range openAll(t, g.url, clients, 2) {
		goesOn(t, s, "again")
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestClientsOfTheirOwn checks that users without shared clients, or with another connection
// string, have another client.
func TestClientsOfTheirOwn(t *testing.T) {
	g, clients := through(t), new(Clients)
	for _, of := range []struct {
		url     string
		clients *Clients
	}{{g.url, clients}, {g.url + "?appName=another", clients}, {g.url, nil}} {
		s, err := Open(t.Context(), of.url, Options{Namespace: random(), Clients: of.clients})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	if len(clients.all) != 2 {
		t.Errorf("there are %d clients", len(clients.all))
	}
}

// TestClosedTwice checks that closing one user twice does not close another user's client.
func TestClosedTwice(t *testing.T) {
	url, clients := mongotest.URL(t), new(Clients)
	var all [3]*database
	for i := range all {
		d, _, err := connect(t.Context(), url, clients, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		all[i] = d
	}
	for _, d := range []*database{all[0], all[0], all[1]} {
		if err := d.close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if _, err := all[2].Get(t.Context(), settings, "x"); err != nil || len(clients.all) != 1 {
		t.Errorf("%v; there are %d clients", err, len(clients.all))
	}
	if err := all[2].close(t.Context()); err != nil || len(clients.all) != 0 {
		t.Errorf("%v; there are %d clients", err, len(clients.all))
	}
}

// TestClientOfUnreachableServer checks that no client is left if no server answers.
func TestClientOfUnreachableServer(t *testing.T) {
	clients := new(Clients)
	if _, err := Open(t.Context(), "mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=100", Options{Clients: clients}); err == nil || len(clients.all) != 0 {
		t.Errorf("%v; there are %d clients", err, len(clients.all))
	}
}

// TestIndexesAreMadeByOne checks that the first user that succeeds creates the indexes.
func TestIndexesAreMadeByOne(t *testing.T) {
	p := &sharedClient{indexLock: make(chan struct{}, 1)}
	asked, trouble := 0, errors.New("it does not answer")
	ask := func(err error) error {
		return p.index(t.Context(), func(context.Context) error { asked++; return err })
	}
	if err := ask(trouble); !errors.Is(err, trouble) {
		t.Error(err)
	}
	p.indexLock <- struct{}{} // another user is creating them
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.index(gone, func(context.Context) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	<-p.indexLock
	for range 3 {
		if err := ask(nil); err != nil {
			t.Error(err)
		}
	}
	if asked != 2 {
		t.Errorf("the indexes were requested %d times, want once in vain and once more", asked)
	}
}

// BenchmarkOpenMany opens fifty namespaces at once.
func BenchmarkOpenMany(b *testing.B) {
	for name, clients := range map[string]func() *Clients{"each its own": func() *Clients { return nil }, "one": func() *Clients { return new(Clients) }} {
		b.Run(name, func(b *testing.B) {
			g := through(b)
			for b.Loop() {
				stores := openAll(b, g.url, clients(), 50)
				b.StopTimer()
				for _, s := range stores {
					if err := s.Close(); err != nil {
						b.Error(err)
					}
				}
				b.StartTimer()
			}
			_, most := g.connections()
			b.ReportMetric(float64(most), "connections")
		})
	}
}
