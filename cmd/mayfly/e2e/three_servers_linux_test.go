package e2e

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"mayfly/cmd/mayfly/server"
	"mayfly/storage/mongo/mongotest"
	"mayfly/web/api"
)

// TestThreeServers runs three servers on one store that own seven namespaces between them, while
// clients send requests to each in turn, whatever it owns. One server is killed, one is added, one
// is frozen and resumed, and one is stopped. Each acknowledged message exists exactly once, unless
// it was completed, and clients make progress each time.
func TestThreeServers(t *testing.T) {
	c := newServerGroup(t, mongotest.URL(t), 3*time.Second)
	first := c.add()
	second, third := c.add(), c.add()
	at := func(p *child, name string) {
		t.Helper()
		var body struct{}
		in := api.NewNamespace{Name: name}
		c.until("there is the namespace "+name, func() bool {
			code := c.asked(t.Context(), http.MethodPost, c.url(p)+"/api/v1/namespaces", in, &body)
			return code == http.StatusCreated || code == http.StatusConflict // created before, with a late response
		})
	}
	for i, p := range []*child{first, second, third} {
		at(p, fmt.Sprintf("shop-%d", i))
		at(p, fmt.Sprintf("till-%d", i))
	}
	ledgers := map[string]*ledger{"default": newLedger(t, c, "/api/v1")}
	for i := range 3 {
		for _, n := range []string{"shop", "till"} {
			name := fmt.Sprintf("%s-%d", n, i)
			ledgers[name] = newLedger(t, c, "/api/v1/n/"+name)
		}
	}
	c.until("every server knows all namespaces, and each owns some", func() bool {
		owns := c.owners()
		return len(owns) == len(ledgers) && len(owning(owns)) == 3
	})
	stop, cancel := context.WithCancel(t.Context())
	defer cancel()
	var clients sync.WaitGroup
	for name, l := range ledgers {
		l.rest, l.step = 200*time.Millisecond, 10 // there are many clients, and the test server is slow
		l.create()
		clients.Go(func() { l.send(stop, name) })
		clients.Go(func() { l.receive(stop) })
	}
	works := func(when string) {
		t.Helper()
		began := time.Now()
		var all sync.WaitGroup
		var stuck atomic.Int32
		for _, l := range ledgers {
			all.Go(func() {
				if !l.advance() {
					stuck.Add(1)
				}
			})
		}
		if all.Wait(); stuck.Load() > 0 {
			c.fail(fmt.Sprintf("%s: clients of %d namespaces do not get on", when, stuck.Load()))
		}
		t.Logf("%s: clients of all namespaces make progress after %v; owners: %v", when, time.Since(began).Round(10*time.Millisecond), owning(c.owners()))
	}
	works("at first")

	c.kill(first)
	works("one was killed")

	fourth := c.add()
	works("another one came")

	c.freeze(second)
	works("one is frozen")

	c.thaw(second)
	works("it moves again")
	c.until("every namespace has one owner, and all servers agree on it", func() bool { return len(c.owners()) == len(ledgers) })

	c.stop(third)
	works("one was stopped")

	cancel()
	clients.Wait()
	for name, l := range ledgers {
		l.compare()
		t.Logf("%s: %s", name, l)
	}
	for _, p := range []*child{second, fourth} {
		if c.url(p) == "" {
			t.Errorf("a server ended unexpectedly: %v\n%s", p.err, &p.said)
		}
	}
}

// owning returns how many namespaces each server owns.
func owning(owners map[string]string) map[string]int {
	n := map[string]int{}
	for _, o := range owners {
		n[o]++
	}
	return n
}

// serverGroup is several processes on one store that forward requests to each other.
type serverGroup struct {
	t     *testing.T
	store string
	lease time.Duration
	turn  atomic.Uint64

	mu     sync.Mutex
	at     map[*child]string // dashboards of running servers; guarded by mu
	frozen map[*child]bool   // guarded by mu
	thawed time.Time         // when a server was last resumed; guarded by mu
}

func newServerGroup(t *testing.T, store string, lease time.Duration) *serverGroup {
	return &serverGroup{t: t, store: store, lease: lease, at: map[*child]string{}, frozen: map[*child]bool{}}
}

// add starts a server, and waits until it serves or is a standby.
func (c *serverGroup) add() *child {
	c.t.Helper()
	p := spawnPeer(c.t, c.store, c.lease, "")
	ctx, cancel := context.WithTimeout(c.t.Context(), pairPatience)
	defer cancel()
	for {
		select {
		case r, ok := <-p.news:
			if !ok {
				<-p.done
				c.t.Fatalf("the server ended: %v\n%s", p.err, &p.said)
			}
			if r.State != server.StateReady && r.State != server.StateStandby {
				continue
			}
			c.mu.Lock()
			c.at[p] = r.Dashboard
			c.mu.Unlock()
			go func() { // ends with the child
				for range p.news { // drains news, so that the child never blocks
				}
				c.forget(p)
			}()
			return p
		case <-ctx.Done():
			c.fail("a server neither serves nor stands by")
		}
	}
}

func (c *serverGroup) forget(p *child) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.at, p)
}

// url returns a server's dashboard, or "" if it has ended.
func (c *serverGroup) url(p *child) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at[p]
}

func (c *serverGroup) kill(p *child) {
	c.forget(p)
	p.signal(os.Kill)
	p.killed()
}

// stop stops a server, which has to succeed.
func (c *serverGroup) stop(p *child) {
	c.t.Helper()
	p.signal(syscall.SIGTERM)
	if <-p.done; p.err != nil {
		c.t.Errorf("the server ended with %v\n%s", p.err, &p.said)
	}
}

// freeze stops a process. Clients still send requests to it.
func (c *serverGroup) freeze(p *child) {
	c.t.Helper()
	c.mu.Lock()
	c.frozen[p] = true
	c.mu.Unlock()
	freeze(c.t, p)
}

func (c *serverGroup) thaw(p *child) {
	p.signal(syscall.SIGCONT)
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.frozen, p)
	c.thawed = time.Now()
}

// running returns the servers that are not frozen.
func (c *serverGroup) running() (at []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for p, url := range c.at {
		if !c.frozen[p] {
			at = append(at, url)
		}
	}
	slices.Sort(at)
	return at
}

// server returns the address of another server at each call, in turn, or false if stop has ended.
func (c *serverGroup) server(stop context.Context) (at string, ok bool) {
	c.mu.Lock()
	all := slices.Sorted(maps.Values(c.at))
	c.mu.Unlock()
	if stop.Err() != nil || len(all) == 0 {
		return "", false
	}
	return all[c.turn.Add(1)%uint64(len(all))], true
}

// stale reports whether a server was frozen, or just resumed, while another one may have waited
// for it.
func (c *serverGroup) stale(_ string, asked time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.frozen) > 0 || c.thawed.After(asked)
}

func (c *serverGroup) asked(ctx context.Context, method, url string, in, out any) int {
	l := ledger{t: c.t}
	return l.ask(ctx, answerIn, method, url, in, out)
}

// owners returns the owners of namespaces, as dashboards, for those namespaces on which all
// running servers agree.
func (c *serverGroup) owners() map[string]string {
	agreed := map[string]string{}
	for i, at := range c.running() {
		var all api.Namespaces
		if c.asked(c.t.Context(), http.MethodGet, at+"/api/v1/namespaces", nil, &all) != http.StatusOK {
			return nil
		}
		says := map[string]string{}
		for _, n := range all.Namespaces {
			switch n.State {
			case "serving":
				says[n.Name] = at
			case "standby":
				says[n.Name] = strings.TrimSuffix(n.Owner, "/")
			}
		}
		if i == 0 {
			agreed = says
		}
		maps.DeleteFunc(agreed, func(name, owner string) bool { return says[name] != owner })
	}
	return agreed
}

// until calls `is` until it returns true. After pairPatience it fails the test with the description
// `what`.
func (c *serverGroup) until(what string, is func() bool) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), pairPatience)
	defer cancel()
	for !is() {
		if ctx.Err() != nil {
			c.fail("it never was so that " + what)
		}
		pause(ctx)
	}
}

// fail ends a test that makes no progress. It makes every server print its goroutines.
func (c *serverGroup) fail(what string) {
	c.t.Helper()
	owners := c.owners()
	c.mu.Lock()
	running := maps.Clone(c.at)
	c.mu.Unlock()
	var all strings.Builder
	for p, url := range running {
		p.signal(syscall.SIGQUIT)
		p.signal(syscall.SIGCONT) // a frozen process handles no signals
		<-p.done
		fmt.Fprintf(&all, "\n%s said: %s", url, &p.said)
	}
	c.t.Fatalf("%s; owners: %v%s", what, owners, all.String())
}
