package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A pair is two servers on one store, each a process of its own. One of them
// owns the namespace, unless it is just changing hands.
type pair struct {
	t     *testing.T
	store string
	lease time.Duration

	mu      sync.Mutex
	all     map[*child]Ready // what each said last
	changed chan struct{}    // closed and made anew when something in all changes
}

func newPair(t *testing.T, store string, lease time.Duration) *pair {
	t.Helper()
	f := &pair{t: t, store: store, lease: lease, all: map[*child]Ready{}, changed: make(chan struct{})}
	f.add()
	f.serving(func(Ready) bool { return true })
	f.add()
	return f
}

// add starts another server.
func (f *pair) add() {
	f.t.Helper()
	p := spawn(f.t, f.store, f.lease)
	f.set(p, Ready{})
	go func() { // ends with the child
		for r := range p.news {
			f.set(p, r)
		}
		f.remove(p)
	}()
}

func (f *pair) set(p *child, r Ready) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all[p] = r
	f.change()
}

func (f *pair) remove(p *child) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.all, p)
	f.change()
}

func (f *pair) change() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// owner is the server that says it serves in the latest epoch; nil if none does.
func (f *pair) owner() (who *child, r Ready, changed <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for p, said := range f.all {
		if said.State == stateReady && said.Epoch > r.Epoch {
			who, r = p, said
		}
	}
	return who, r, f.changed
}

// server is where to ask, when there is somebody who serves.
func (f *pair) server(stop context.Context) (at string, ok bool) {
	for {
		who, r, changed := f.owner()
		if stop.Err() != nil {
			return "", false
		}
		if who != nil {
			return r.Dashboard, true
		}
		select {
		case <-changed:
		case <-stop.Done():
		}
	}
}

// stale is what comes late from a server that was frozen as it said it.
func (f *pair) stale(at string, _ time.Time) bool {
	_, r, _ := f.owner()
	return r.Dashboard != at
}

// said is what a server said last, and what is closed when that changes.
func (f *pair) said(p *child) (Ready, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.all[p], f.changed
}

// patient is how long a pair may take for what it has to do.
const pairPatience = 2 * time.Minute

// serving waits until the owner is as wanted.
func (f *pair) serving(wanted func(Ready) bool) (*child, Ready) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), pairPatience)
	defer cancel()
	for {
		who, r, changed := f.owner()
		if who != nil && wanted(r) {
			return who, r
		}
		select {
		case <-changed:
		case <-ctx.Done():
			f.fail("no server takes over")
		}
	}
}

// state waits until a server says that it is in a state.
func (f *pair) state(p *child, state string) Ready {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), pairPatience)
	defer cancel()
	for {
		r, changed := f.said(p)
		if r.State == state {
			return r
		}
		select {
		case <-changed:
		case <-ctx.Done():
			f.fail("a server never was " + state)
		}
	}
}

// ready waits until every server says something, so that one stands by.
func (f *pair) ready() {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), pairPatience)
	defer cancel()
	for {
		f.mu.Lock()
		n, changed := 0, f.changed
		for _, r := range f.all {
			if r.State != "" {
				n++
			}
		}
		f.mu.Unlock()
		if n >= 2 {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			f.fail("no server stands by")
		}
	}
}

// fail is the end of a test in which nothing moves any more. What every server
// was about is told by the server itself, on its way out.
func (f *pair) fail(what string) {
	f.t.Helper()
	f.mu.Lock()
	var all strings.Builder
	children := slices.Collect(maps.Keys(f.all))
	for p, r := range f.all {
		fmt.Fprintf(&all, "\n%d: %+v", p.cmd.Process.Pid, r)
	}
	f.mu.Unlock()
	for _, p := range children {
		p.signal(syscall.SIGQUIT)
		<-p.done
		fmt.Fprintf(&all, "\n%d said: %s", p.cmd.Process.Pid, &p.said)
	}
	f.t.Fatalf("%s; there are %s", what, all.String())
}

// freeze stops a server in its tracks, and returns when it stands still.
func freeze(t *testing.T, p *child) {
	t.Helper()
	p.signal(syscall.SIGSTOP)
	for {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		// What follows the name, which stands in parentheses, is the state.
		if i := bytes.LastIndexByte(stat, ')'); i >= 0 && bytes.HasPrefix(stat[i:], []byte(") T")) {
			return
		}
	}
}
