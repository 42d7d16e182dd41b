package e2e

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

	"mayfly/cmd/mayfly/cli"
	"mayfly/cmd/mayfly/command"
	"mayfly/cmd/mayfly/server"
)

// Environment variables for the program in a process of its own.
const (
	childStore = "MAYFLY_CHILD_STORE"
	childLease = "MAYFLY_CHILD_LEASE"
	childPeer  = "MAYFLY_CHILD_PEER"
	childArgs  = "MAYFLY_CHILD_ARGS" // a command line, as a JSON list, instead of the other variables
)

// TestChild is the program under test when this binary runs itself.
func TestChild(t *testing.T) {
	if line := os.Getenv(childArgs); line != "" {
		var args []string
		if err := json.Unmarshal([]byte(line), &args); err != nil {
			t.Fatal(err)
		}
		if code := cli.Execute(t.Context(), command.All(), args, nil, cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}); code != cli.ExitOK {
			t.Fatalf("exit code %d", code)
		}
		return
	}
	store := os.Getenv(childStore)
	if store == "" {
		return // not run as a child
	}
	lease, err := time.ParseDuration(os.Getenv(childLease))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(t.Context(), syscall.SIGTERM)
	defer stop()
	c := server.Config{
		HTTP: "127.0.0.1:0", Admin: "127.0.0.1:0", AMQP: "127.0.0.1:0", Store: store, Lease: lease, Peer: os.Getenv(childPeer), ReadyJSON: true,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	}
	if err := server.Run(ctx, c, os.Stdout); err != nil {
		t.Fatal(err)
	}
}

// A child is the program in a process of its own.
type child struct {
	cmd  *exec.Cmd
	said Output
	news chan server.Ready // each Ready that the process prints, in order; closed when the process ends
	done chan struct{}     // closed when it has ended
	err  error             // its exit error; read after done
}

// spawn starts the program on a store, with a lease if the store is shared. The process is
// killed at the end of the test.
func spawn(t *testing.T, store string, lease time.Duration) *child {
	t.Helper()
	return spawnPeer(t, store, lease, server.NoListener) // without forwarding
}

// spawnPeer is [spawn] for a server that forwards requests to others and receives theirs, unless
// peer is none.
func spawnPeer(t *testing.T, store string, lease time.Duration, peer string) *child {
	t.Helper()
	return spawned(t, childStore+"="+store, childLease+"="+lease.String(), childPeer+"="+peer)
}

// spawnWith starts the program with a command line, which has to contain --ready-json. The
// process is killed at the end of the test.
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
	cmd := exec.Command(os.Args[0], "-test.run=^TestChild$")
	cmd.Env = append(os.Environ(), env...)
	return spawnedBy(t, cmd)
}

func spawnedBy(t *testing.T, cmd *exec.Cmd) *child {
	t.Helper()
	p := &child{cmd: cmd, news: make(chan server.Ready, 256), done: make(chan struct{})}
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
			var r server.Ready
			if json.Unmarshal(lines.Bytes(), &r) != nil {
				p.said.Add(lines.Text() + "\n")
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

// next waits until the child reports a state. If the child ends first, the error has its
// output.
func (p *child) next(ctx context.Context, state string) (server.Ready, error) {
	for {
		select {
		case r, ok := <-p.news:
			if !ok {
				<-p.done
				return server.Ready{}, fmt.Errorf("the program ended: %w\n%s", p.err, &p.said)
			}
			if r.State == state {
				return r, nil
			}
		case <-ctx.Done():
			return server.Ready{}, fmt.Errorf("the program never became %s: %w\n%s", state, context.Cause(ctx), &p.said)
		}
	}
}

// signal sends a signal to the child; it may have ended already.
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
