package main

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
)

// A wire is between the browser and the program, and can be cut.
type wire struct {
	net.Listener
	to  string
	wg  sync.WaitGroup
	mu  sync.Mutex
	all map[net.Conn]struct{}
	cut chan struct{} // closed when the wire is whole; new connections wait for that
}

// lay puts a wire before the program, and has the visit go through it.
func (v *visit) lay() *wire {
	v.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		v.t.Fatal(err)
	}
	w := &wire{Listener: l, to: strings.TrimPrefix(v.server.Dashboard, "http://"), all: map[net.Conn]struct{}{}, cut: make(chan struct{})}
	close(w.cut)
	w.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			w.wg.Go(func() { w.carry(c) })
		}
	})
	v.t.Cleanup(func() {
		_ = l.Close()
		w.sever()
		w.mend()
		w.wg.Wait()
	})
	v.at = "http://" + l.Addr().String()
	return w
}

func (w *wire) keep(c net.Conn) (whole chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all[c] = struct{}{}
	return w.cut
}

func (w *wire) carry(c net.Conn) {
	defer c.Close()
	<-w.keep(c)
	far, err := net.Dial("tcp", w.to)
	if err != nil {
		return
	}
	defer far.Close()
	w.keep(far)
	there := make(chan struct{})
	go func() { // waited for below
		defer close(there)
		pipe(far, c)
	}()
	pipe(c, far)
	<-there
}

func pipe(to, from net.Conn) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if _, werr := to.Write(buf[:n]); werr != nil {
				err = werr
			}
		}
		if err != nil {
			_, _ = to.Close(), from.Close()
			return
		}
	}
}

// sever breaks every connection off, and keeps new ones waiting.
func (w *wire) sever() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = make(chan struct{})
	for c := range w.all {
		_ = c.Close()
		delete(w.all, c)
	}
}

func (w *wire) mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.cut)
}

// cutInBrowser: what happens while the connection is away is there when it is
// back, once.
func cutInBrowser(t *testing.T, v *visit) {
	w := v.lay()
	v.create("queue", "steady", `{"DeadLetteringOnMessageExpiration":true,"DefaultMessageTimeToLive":"PT1H"}`)
	send := func(id string, ttl int) {
		v.send("steady", fmt.Sprintf(`{"Label":%q,"TimeToLive":%d}`, id, ttl), "x")
	}
	send("stays-1", 3000)
	send("stays-2", 3000)
	send("goes", 4)
	v.visit("/n/default/q/steady")
	v.want(isLive)
	v.js(recorded)
	v.js(rows + `.forEach((row) => row.querySelectorAll("*").forEach((el) => { el.born = row.born = true; }))`)
	v.calm()
	w.sever()
	v.want(`document.querySelector("[data-pill]").dataset.state === "reconnecting"`)
	send("comes", 3000)
	send("flashes by", 1)
	v.until("three active and two dead", func(context.Context) bool {
		c := entity(t, v.server, "steady").Counts
		return c.Active == 3 && c.DeadLetter == 2
	})
	v.equal(slot+`("count-active")`, "3")
	v.equal(slot+`("count-dead")`, "0")
	w.mend()
	v.want(isLive)
	v.want(slot + `("count-dead") === "2"`)
	names := rows + `.map((row) => row.querySelector("b").textContent).join()`
	v.want(names + ` === "stays-1,stays-2,comes"`)
	send("after", 3000)
	v.want(names + ` === "stays-1,stays-2,comes,after"`)
	v.equal(slot+`("count-active")`, "4")
	v.equal(rows+`.map((row) => !!row.born && [...row.querySelectorAll("*")].every((el) => el.born)).join()`, "true,true,false,false")
	v.equal(`mayfly.reconnects > 0 && mayfly.polls === 0`, true)
	v.stayed()
	seen, _ := v.record()
	if len(seen) != 5 {
		t.Errorf("there were %d rows, want 5", len(seen))
	}
	for key, row := range seen {
		if row.Came != 1 || row.Went > 1 || (row.Went == 1) != (row.Struck > 0) {
			t.Errorf("row %s came %d times and went %d times, struck through at %d", key, row.Came, row.Went, row.Struck)
		}
	}
}
