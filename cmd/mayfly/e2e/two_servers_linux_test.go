package e2e

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

	"mayfly/cmd/mayfly/server"
)

// A pair is two servers on one store, each in its own process. One of them owns the namespace,
// except during a takeover.
type pair struct {
	t     *testing.T
	store string
	lease time.Duration

	mu      sync.Mutex
	all     map[*child]server.Ready // the latest Ready of each
	changed chan struct{}           // closed and replaced when all changes
}

func newPair(t *testing.T, store string, lease time.Duration) *pair {
	t.Helper()
	f := &pair{t: t, store: store, lease: lease, all: map[*child]server.Ready{}, changed: make(chan struct{})}
	f.add()
	f.serving(func(server.Ready) bool { return true })
	f.add()
	return f
}

// add starts another server.
func (f *pair) add() {
	f.t.Helper()
	p := spawn(f.t, f.store, f.lease)
	f.set(p, server.Ready{})
	go func() { // ends with the child
		for r := range p.news {
			f.set(p, r)
		}
		f.remove(p)
	}()
}

func (f *pair) set(p *child, r server.Ready) {
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

// owner returns the server that is ready in the latest epoch, or nil if there is none.
func (f *pair) owner() (who *child, r server.Ready, changed <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for p, said := range f.all {
		if said.State == server.StateReady && said.Epoch > r.Epoch {
			who, r = p, said
		}
	}
	return who, r, f.changed
}

// server returns the address of the owner, once there is one.
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

// stale reports whether a response comes late from a server that was frozen meanwhile.
func (f *pair) stale(at string, _ time.Time) bool {
	_, r, _ := f.owner()
	return r.Dashboard != at
}

// said returns the latest Ready of a server, and a channel that is closed when that changes.
func (f *pair) said(p *child) (server.Ready, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.all[p], f.changed
}

// pairPatience is how long a pair may take for a step.
const pairPatience = 2 * time.Minute

// serving waits until the owner's Ready is as wanted.
func (f *pair) serving(wanted func(server.Ready) bool) (*child, server.Ready) {
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

// state waits until a server reports a state.
func (f *pair) state(p *child, state string) server.Ready {
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

// ready waits until every server has reported its state: one serves, and the other is a standby.
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

// fail ends a test that makes no progress. It makes every server print its goroutines.
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
	f.t.Fatalf("%s; the servers are %s", what, all.String())
}

// freeze stops a process, and returns once it has stopped.
func freeze(t *testing.T, p *child) {
	t.Helper()
	p.signal(syscall.SIGSTOP)
	for {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		// The state follows the name, which is in parentheses.
		if i := bytes.LastIndexByte(stat, ')'); i >= 0 && bytes.HasPrefix(stat[i:], []byte(") T")) {
			return
		}
	}
}
