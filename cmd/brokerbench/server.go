package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A contestant is a broker with a configuration.
type contestant struct {
	name    string
	flushes bool // before it confirms
	idle    bool // idle connections are measured
	start   func(ctx context.Context) (*server, error)
}

// A server is a running broker.
type server struct {
	cmd    *exec.Cmd
	pid    int // of the process that does the work
	dial   func(ctx context.Context, window int, h handlers) (client, error)
	attach func(ctx context.Context) (io.Closer, error) // opens an idle connection; nil if not measured
	after  func()                                       // called after its end
}

func (s *server) stop() {
	_ = syscall.Kill(s.pid, syscall.SIGTERM)
	ended := make(chan struct{})
	go func() { _ = s.cmd.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(patience):
		_ = s.cmd.Process.Kill()
		<-ended
	}
	if s.after != nil {
		s.after()
	}
}

// cpu returns the processor time that the server has used.
func (s *server) cpu() time.Duration {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.pid))
	if err != nil {
		return 0
	}
	text := string(b)
	f := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(f) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(f[11])
	system, _ := strconv.Atoi(f[12])
	return time.Duration(user+system) * 10 * time.Millisecond // clock ticks of Linux
}

// resident returns the server's resident memory in bytes.
func (s *server) resident() int64 {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.pid))
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "VmRSS:" {
			n, _ := strconv.ParseInt(f[1], 10, 64)
			return n * 1024
		}
	}
	return 0
}

// command starts a program with additional environment variables env and this program's standard
// error. It returns the program's standard output.
func command(ctx context.Context, env []string, name string, args ...string) (*exec.Cmd, io.Reader, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	return cmd, out, nil
}

// freePort returns a loopback port that is currently free.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// contestants returns the brokers that can be measured here.
func contestants(ctx context.Context, o options, dir string) ([]*contestant, error) {
	if o.mayfly == "" {
		o.mayfly = filepath.Join(dir, "mayfly")
		build := exec.CommandContext(ctx, "go", "build", "-o", o.mayfly, "mayfly/cmd/mayfly")
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			return nil, fmt.Errorf("build Mayfly: %w", err)
		}
	}
	all := []*contestant{
		{name: "mayfly", flushes: true, idle: true, start: func(ctx context.Context) (*server, error) { return startMayfly(ctx, o, dir) }},
		{name: "mayfly-memory", start: func(ctx context.Context) (*server, error) { return startMayfly(ctx, o, "") }},
		{name: "jetstream-sync", flushes: true, start: func(ctx context.Context) (*server, error) { return startNATS(ctx, dir, "-sync") }},
		{name: "jetstream", start: func(ctx context.Context) (*server, error) { return startNATS(ctx, dir) }},
	}
	if _, err := os.Stat(o.rabbitmq); errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(os.Stderr, "RabbitMQ is left out: there is no %s\n", o.rabbitmq)
	} else {
		for _, kind := range []string{"classic", "quorum"} {
			all = append(all, &contestant{name: "rabbitmq-" + kind, flushes: true, start: func(ctx context.Context) (*server, error) {
				return startRabbitMQ(ctx, o.rabbitmq, dir, kind)
			}})
		}
	}
	if o.only == "" {
		return all, nil
	}
	var some []*contestant
	for _, name := range strings.Split(o.only, ",") {
		found := false
		for _, c := range all {
			if c.name == name {
				some, found = append(some, c), true
			}
		}
		if !found {
			return nil, fmt.Errorf("there is no contestant %q", name)
		}
	}
	return some, nil
}
