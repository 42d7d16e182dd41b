package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/Azure/go-amqp"
	"github.com/gorilla/websocket"

	"mayfly/storage/mongo/mongotest"
	"mayfly/web/api"
)

// A cluster is servers on one MongoDB, each a process of its own, and namespaces with
// the queues q, which keeps what it is sent, and w, from which it is taken.
type cluster struct {
	*testing.T
	ctx    context.Context
	store  string
	spaces []string

	mu  sync.Mutex
	all map[*child]Ready // those that clients are sent to; guarded by mu
}

// clusterLease is of the servers: short, and yet longer than a busy machine's pauses.
const clusterLease = 3 * time.Second

// join starts one more server, and waits until it says whether it owns anything.
func (c *cluster) join() (*child, Ready) {
	c.Helper()
	p := spawnPeer(c.T, c.store, clusterLease, "")
	select {
	case r, ok := <-p.news:
		if !ok {
			c.Fatalf("it has ended: %v\n%s", p.err, &p.said)
		}
		c.mu.Lock()
		c.all[p] = r
		c.mu.Unlock()
		go func() { // ends with the child
			for range p.news { // it says the same of where it is
				continue
			}
		}()
		return p, r
	case <-c.ctx.Done():
		c.Fatalf("it says nothing\n%s", &p.said)
	}
	panic("unreachable")
}

// leave has clients be sent to a server no more.
func (c *cluster) leave(p *child) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.all, p)
}

// servers are those that clients are sent to, in some order that stays.
func (c *cluster) servers() (out []Ready) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.all {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b Ready) int { return strings.Compare(a.Dashboard, b.Dashboard) })
	return out
}

// ask is a request at a namespace's host; code zero: there was no answer.
func (c *cluster) ask(method, at, space, body string) (code int, text string, h http.Header) {
	ctx, cancel := context.WithTimeout(c.ctx, 30*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, at, strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	if space != "" && space != "default" {
		r.Host = space + ".localhost"
	}
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err.Error(), nil
	}
	defer w.Body.Close()
	raw, err := io.ReadAll(w.Body)
	if err != nil {
		return 0, err.Error(), nil
	}
	return w.StatusCode, string(raw), w.Header
}

// owners are which servers say that they serve a namespace, by its name.
func (c *cluster) owners(of ...Ready) map[string][]string {
	out := map[string][]string{}
	for _, r := range of {
		code, text, _ := c.ask("GET", r.Dashboard+"/api/v1/namespaces", "", "")
		var all api.Namespaces
		if err := json.Unmarshal([]byte(text), &all); code != http.StatusOK || err != nil {
			continue
		}
		for _, n := range all.Namespaces {
			if n.State == "serving" {
				out[n.Name] = append(out[n.Name], r.Dashboard)
			}
		}
	}
	return out
}

// until waits until something is so; what is not is told after a while.
func (c *cluster) until(what string, so func() error) {
	c.Helper()
	began := time.Now()
	for {
		err := so()
		if err == nil {
			c.Logf("%s after %v", what, time.Since(began).Round(10*time.Millisecond))
			return
		}
		if c.ctx.Err() != nil {
			c.Fatalf("never so: %s: %v", what, err)
		}
		pause(c.ctx)
	}
}

// reached is whether every namespace is to be had through every server, by each way there
// is: a page, the API, REST, AMQP in TCP and in a WebSocket, and the socket of pages.
func (c *cluster) reached() error {
	var errs []error
	var mu sync.Mutex
	var all sync.WaitGroup
	servers := c.servers()
	for i, r := range servers {
		next := servers[(i+1)%len(servers)]
		for _, space := range c.spaces {
			all.Go(func() {
				for way, try := range map[string]func() error{
					"page": func() error { return c.shows(r, space) },
					"API":  func() error { return c.lists(r, space) },
					"live": func() error { return c.tells(r, space) },
					"REST": func() error { return c.gives(r, next, space) },
					"AMQP": func() error { return c.passes(r, space) },
				} {
					if err := try(); err != nil {
						mu.Lock()
						errs = append(errs, fmt.Errorf("%s by %s at %s: %w", space, way, r.Dashboard, err))
						mu.Unlock()
					}
				}
			})
		}
	}
	all.Wait()
	return errors.Join(errs...)
}

func (c *cluster) shows(r Ready, space string) error {
	code, text, _ := c.ask("GET", r.Dashboard+"/n/"+space+"/q/q", "", "")
	if code != http.StatusOK || !strings.Contains(text, `data-list="rows"`) && !strings.Contains(text, "<main") {
		return fmt.Errorf("%d %.300s", code, text)
	}
	return nil
}

func apiOf(space string) string {
	if space == "default" {
		return "/api/v1"
	}
	return "/api/v1/n/" + space
}

func (c *cluster) lists(r Ready, space string) error {
	code, text, _ := c.ask("GET", r.Dashboard+apiOf(space)+"/entities/q", "", "")
	if code != http.StatusOK || !strings.Contains(text, `"path":"q"`) {
		return fmt.Errorf("%d %.300s", code, text)
	}
	return nil
}

func (c *cluster) tells(r Ready, space string) error {
	ctx, cancel := context.WithTimeout(c.ctx, 30*time.Second)
	defer cancel()
	ws, w, err := websocket.DefaultDialer.DialContext(ctx, "ws"+strings.TrimPrefix(r.Dashboard, "http")+"/n/"+space+"/live", http.Header{"Origin": {r.Dashboard}})
	if err != nil {
		if w != nil {
			w.Body.Close()
		}
		return err
	}
	defer ws.Close()
	defer w.Body.Close()
	if _, hello, err := ws.ReadMessage(); err != nil || !strings.Contains(string(hello), `"epoch"`) {
		return fmt.Errorf("it begins with %.100s, %w", hello, err)
	}
	return nil
}

// gives sends at one server, and takes at another.
func (c *cluster) gives(r, other Ready, space string) error {
	if code, text, _ := c.ask("POST", r.Admin+"/t/messages", space, "of "+r.Dashboard); code != http.StatusCreated {
		return fmt.Errorf("send: %d %.300s", code, text)
	}
	if code, text, _ := c.ask("DELETE", other.Admin+"/t/messages/head?timeout=5", space, ""); code != http.StatusOK || !strings.HasPrefix(text, "of ") {
		return fmt.Errorf("receive at %s: %d %.300s", other.Dashboard, code, text)
	}
	return nil
}

// passes sends in TCP and takes in a WebSocket.
func (c *cluster) passes(r Ready, space string) error {
	ctx, cancel := context.WithTimeout(c.ctx, 30*time.Second)
	defer cancel()
	named := &amqp.ConnOptions{SASLType: amqp.SASLTypeAnonymous(), HostName: space + ".localhost"}
	plain, err := amqp.Dial(ctx, "amqp://"+r.AMQP, named)
	if err != nil {
		return err
	}
	defer plain.Close()
	in, err := dialled(c.T, r.Admin, websocket.Dialer{Subprotocols: []string{"amqp"}})
	if err != nil {
		return err
	}
	wrapped, err := amqp.NewConn(ctx, in, named)
	if err != nil {
		return err
	}
	defer wrapped.Close()
	s, err := plain.NewSession(ctx, nil)
	if err != nil {
		return err
	}
	snd, err := s.NewSender(ctx, "a", nil)
	if err != nil {
		return err
	}
	if err := snd.Send(ctx, amqp.NewMessage([]byte("x")), nil); err != nil {
		return err
	}
	if s, err = wrapped.NewSession(ctx, nil); err != nil {
		return err
	}
	rcv, err := s.NewReceiver(ctx, "a", nil)
	if err != nil {
		return err
	}
	m, err := rcv.Receive(ctx, nil)
	if err != nil {
		return err
	}
	return rcv.AcceptMessage(ctx, m)
}

// A ledger is what clients know of what they have sent and taken.
type clusterLedger struct {
	mu      sync.Mutex
	tried   map[string]bool // sent, by namespace and body
	certain map[string]bool // acknowledged
	taken   map[string]int  // how often it was received
	done    map[string]bool // completed, with success
	sends   map[string]int  // how many were acknowledged, by namespace
	takes   map[string]int  // how many were completed, likewise
}

func (c *cluster) sender(stop context.Context, l *clusterLedger, space string) {
	for n := 0; stop.Err() == nil; n++ {
		servers := c.servers()
		at := servers[n%len(servers)] // as behind a load balancer
		id, queue := fmt.Sprintf("%s#%d", space, n), "q"
		if n%2 == 1 {
			queue = "w"
		}
		l.mu.Lock()
		l.tried[id] = true
		l.mu.Unlock()
		switch code, text, _ := c.ask("POST", at.Admin+"/"+queue+"/messages", space, id); code {
		case http.StatusCreated:
			l.mu.Lock()
			l.certain[id] = true
			l.sends[space]++
			l.mu.Unlock()
		case 0, http.StatusServiceUnavailable:
			pause(stop)
		default:
			c.Errorf("send %s: %d %.300s", id, code, text)
		}
		if n%4 == 3 {
			pause(stop)
		}
	}
}

// taker locks messages of w, and completes them, until stop ends and there are none.
func (c *cluster) taker(stop context.Context, l *clusterLedger, space string) {
	for n := 0; ; n++ {
		servers := c.servers()
		at := servers[n%len(servers)]
		ended := stop.Err() != nil
		code, id, h := c.ask("POST", at.Admin+"/w/messages/head?timeout=1", space, "")
		switch code {
		case http.StatusCreated:
		case http.StatusNoContent:
			if ended {
				return
			}
			continue
		case 0, http.StatusServiceUnavailable:
			pause(c.ctx)
			continue
		default:
			c.Errorf("take of %s: %d %.300s", space, code, id)
			return
		}
		l.mu.Lock()
		l.taken[id]++
		if l.done[id] {
			c.Errorf("%s was completed, and has come back", id)
		}
		l.mu.Unlock()
		lock := h.Get("Location")
		if i := strings.Index(lock, "/w/messages/"); i >= 0 {
			lock = lock[i:]
		}
		switch code, text, _ := c.ask("DELETE", at.Admin+lock, space, ""); code {
		case http.StatusOK:
			l.mu.Lock()
			l.done[id] = true
			l.takes[space]++
			l.mu.Unlock()
		case 0, http.StatusServiceUnavailable, http.StatusNotFound, http.StatusGone: // the lock may be over, or it is done
		default:
			c.Errorf("complete %s: %d %.300s", id, code, text)
		}
	}
}

// TestThreeServers has clients work on seven namespaces of three servers, at any of them
// in turn, while one is killed, one freezes and comes back, and one more joins:
// what was acknowledged is there once, and what was completed does not come back.
func TestThreeServers(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	c := &cluster{T: t, ctx: ctx, store: mongotest.URL(t), all: map[*child]Ready{}, spaces: []string{"default"}}
	one, at := c.join()
	two, second := c.join()
	_, third := c.join()
	const queues = `[{"Name":"q"},{"Name":"t"},{"Name":"a"},{"Name":"w","Properties":{"LockDuration":"PT5S"}}]`
	if code, text, _ := c.ask("POST", at.Dashboard+"/api/v1/definitions", "", `{"UserConfig":{"Namespaces":[{"Name":"n","Queues":`+queues+`}]}}`); code != http.StatusOK {
		t.Fatal(code, text)
	}
	for i, r := range []Ready{at, second, third, at, second, third} {
		name := fmt.Sprintf("shop-%d", i)
		if code, text, _ := c.ask("POST", r.Dashboard+"/api/v1/namespaces", "", `{"name":"`+name+`","definitions":{"UserConfig":{"Namespaces":[{"Name":"n","Queues":`+queues+`}]}}}`); code != http.StatusCreated {
			t.Fatal(code, text)
		}
		c.spaces = append(c.spaces, name)
	}
	spread := func(most int) func() error {
		return func() error {
			owners, by := c.owners(c.servers()...), map[string]int{}
			for _, space := range c.spaces {
				if len(owners[space]) != 1 {
					return fmt.Errorf("%s is served by %v", space, owners[space])
				}
				by[owners[space][0]]++
			}
			for r, n := range by {
				if n > most {
					return fmt.Errorf("%s owns %d", r, n)
				}
			}
			return nil
		}
	}
	c.until("they are spread", spread(3))
	c.until("all are reached through all", c.reached)

	l := &clusterLedger{tried: map[string]bool{}, certain: map[string]bool{}, taken: map[string]int{}, done: map[string]bool{}, sends: map[string]int{}, takes: map[string]int{}}
	stop, halt := context.WithCancel(ctx)
	defer halt()
	var clients sync.WaitGroup
	for _, space := range c.spaces {
		clients.Go(func() { c.sender(stop, l, space) })
		clients.Go(func() { c.taker(stop, l, space) })
	}
	goOn := func(when string) {
		t.Helper()
		l.mu.Lock()
		sends, takes := maps.Clone(l.sends), maps.Clone(l.takes)
		l.mu.Unlock()
		c.until(when+", clients get on everywhere", func() error {
			l.mu.Lock()
			defer l.mu.Unlock()
			for _, space := range c.spaces {
				if l.sends[space] < sends[space]+3 || l.takes[space] < takes[space]+2 {
					return fmt.Errorf("%s: %d sent, %d taken", space, l.sends[space]-sends[space], l.takes[space]-takes[space])
				}
			}
			return nil
		})
	}
	goOn("at first")

	two.signal(os.Kill) // clients still come to its address, and then to another's
	<-two.done
	goOn("one killed")
	c.leave(two)
	c.until("what it owned has owners", spread(len(c.spaces)))
	c.until("one killed: all are reached through the others", c.reached)

	one.signal(syscall.SIGSTOP)
	c.leave(one)
	goOn("one frozen")
	one.signal(syscall.SIGCONT)
	c.mu.Lock()
	c.all[one] = at
	c.mu.Unlock()
	c.until("one that comes back knows who owns what", spread(len(c.spaces)))
	goOn("one back")

	_, fourth := c.join()
	c.until("one that joins gets its share", func() error {
		if n := len(c.owners(fourth)); n < 2 {
			return fmt.Errorf("it has %d", n)
		}
		return nil
	})
	goOn("with another")
	c.until("with another: all are reached through all", c.reached)
	halt()
	clients.Wait()

	// What is in q is there; what was in w was taken.
	for _, space := range c.spaces {
		there, r := map[string]int{}, c.servers()[0]
		for from := 1; ; {
			code, text, _ := c.ask("GET", fmt.Sprintf("%s%s/peek/q?count=200&from=%d", r.Dashboard, apiOf(space), from), "", "")
			if code != http.StatusOK {
				t.Fatal(code, text)
			}
			n := 0
			for part := range strings.SplitSeq(text, `"body":"`) {
				if id, _, ok := strings.Cut(part, `"`); ok && strings.HasPrefix(id, space+"#") {
					there[id]++
					n++
				}
			}
			if n == 0 {
				break
			}
			last := strings.LastIndex(text, `"sequenceNumber":`)
			if _, err := fmt.Sscanf(text[last:], `"sequenceNumber":%d`, &from); err != nil {
				t.Fatal(err)
			}
			from++
		}
		for id := range l.certain {
			if !strings.HasPrefix(id, space+"#") {
				continue
			}
			if there[id]+min(1, l.taken[id]) != 1 {
				t.Errorf("%s was acknowledged; it is there %d times and was taken %d times", id, there[id], l.taken[id])
			}
		}
		for id, n := range there {
			if !l.tried[id] || n > 1 {
				t.Errorf("%s is there %d times; sent: %v", id, n, l.tried[id])
			}
		}
	}
	for id := range l.taken {
		if !l.tried[id] {
			t.Errorf("%s was taken, and never sent", id)
		}
	}
	t.Logf("%d sent, %d acknowledged, %d taken, %d completed", len(l.tried), len(l.certain), len(l.taken), len(l.done))
}
