package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"
)

// What the program is told that runs as a process of its own.
const (
	childStore = "MAYFLY_CHILD_STORE"
	childLease = "MAYFLY_CHILD_LEASE"
	childPeer  = "MAYFLY_CHILD_PEER"
	childArgs  = "MAYFLY_CHILD_ARGS" // a command line, as a JSON list, instead of these three
)

// TestChild is the program under test when this binary runs itself.
func TestChild(t *testing.T) {
	if line := os.Getenv(childArgs); line != "" {
		var args []string
		if err := json.Unmarshal([]byte(line), &args); err != nil {
			t.Fatal(err)
		}
		if code := execute(t.Context(), args, nil, streams{in: os.Stdin, out: os.Stdout, err: os.Stderr}); code != exitOK {
			t.Fatalf("exit code %d", code)
		}
		return
	}
	store := os.Getenv(childStore)
	if store == "" {
		return // it is not a test of its own
	}
	lease, err := time.ParseDuration(os.Getenv(childLease))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(t.Context(), syscall.SIGTERM)
	defer stop()
	c := Config{
		HTTP: "127.0.0.1:0", Admin: "127.0.0.1:0", AMQP: "127.0.0.1:0", Store: store, Lease: lease, Peer: os.Getenv(childPeer), ReadyJSON: true,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	}
	if err := run(ctx, c, os.Stdout); err != nil {
		t.Fatal(err)
	}
}

// A child is the program in a process of its own.
type child struct {
	cmd  *exec.Cmd
	said output
	news chan Ready    // what it says of itself, in order; closed at its end
	done chan struct{} // closed when it has ended
	err  error         // how; read after done
}

// spawn starts the program on a store, with a lease where that is shared. The end
// of the test kills it.
func spawn(t *testing.T, store string, lease time.Duration) *child {
	t.Helper()
	return spawnPeer(t, store, lease, noPort) // each answers for itself
}

// spawnPeer is [spawn] of a server that takes what others pass on, unless peer is none,
// and passes on.
func spawnPeer(t *testing.T, store string, lease time.Duration, peer string) *child {
	t.Helper()
	return spawned(t, childStore+"="+store, childLease+"="+lease.String(), childPeer+"="+peer)
}

// spawnWith starts the program with a command line, which has to say --ready-json.
// The end of the test kills it.
func spawnWith(t *testing.T, args []string) *child {
	t.Helper()
	line, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return spawned(t, childArgs+"="+string(line))
}

func spawned(t *testing.T, env ...string) *child {
	t.Helper()
	p := &child{cmd: exec.Command(os.Args[0], "-test.run=^TestChild$"), news: make(chan Ready, 256), done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stderr = &p.said
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.done)
		defer close(p.news)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var r Ready
			if json.Unmarshal(lines.Bytes(), &r) != nil {
				p.said.add(lines.Text() + "\n")
				continue
			}
			p.news <- r
		}
		p.err = p.cmd.Wait()
	}()
	t.Cleanup(func() {
		p.signal(os.Kill)
		<-p.done
	})
	return p
}

// next waits until it is in a state, whatever it says before. It tells what it
// has said instead if it ends first.
func (p *child) next(ctx context.Context, state string) (Ready, error) {
	for {
		select {
		case r, ok := <-p.news:
			if !ok {
				<-p.done
				return Ready{}, fmt.Errorf("it has ended: %w\n%s", p.err, &p.said)
			}
			if r.State == state {
				return r, nil
			}
		case <-ctx.Done():
			return Ready{}, fmt.Errorf("it never was %s: %w\n%s", state, context.Cause(ctx), &p.said)
		}
	}
}

// signal sends it a signal; it may have ended already.
func (p *child) signal(s os.Signal) {
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		panic(err)
	}
}

// killed waits for the end of a child that was killed.
func (p *child) killed() {
	if <-p.done; p.err == nil {
		panic("it ended by itself")
	}
}
