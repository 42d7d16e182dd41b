// Command livebench measures the cost of many users who watch pages: it starts Mayfly as a separate
// process, on free loopback ports and with its data in a temporary folder, and uses it through
// real sockets like clients, browsers and one Chromium.
//
//	go run ./cmd/livebench tabs      open pages beside much traffic
//	go run ./cmd/livebench large     every page of a namespace with very much in it
//	go run ./cmd/livebench clients   browsers that read slowly, or not at all
//	go run ./cmd/livebench soak      for an hour: does anything grow?
//
// Each prints its figures as a table, with their limits, and ends with exit code 1 if one is
// exceeded; -json prints an object instead, and -h lists the flags. Progress is printed to
// standard error.
//
// All times are from one clock: clients, server and browser run on this machine. The figures
// include the processor time of clients, because on a small machine they compete with the server.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// options are the options of every command.
type options struct {
	mayfly string
	dir    string
	json   bool
	log    io.Writer // where progress is printed
}

// tell prints progress.
func (o options) tell(format string, args ...any) {
	fmt.Fprintf(o.log, "livebench: "+format+"\n", args...) //nolint:errcheck // nowhere else to report it
}

// lockedWriter is a writer that the server's standard error and the progress of this program share.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (t *lockedWriter) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.w.Write(b)
}

// A command is a subcommand of livebench.
type command struct {
	about string
	flags func(*flag.FlagSet) func(context.Context, options) (*report, error)
}

func commands() map[string]command {
	return map[string]command{
		"tabs":    {"open pages beside much traffic", tabsCommand},
		"large":   {"every page of a namespace with very much in it", largeCommand},
		"clients": {"browsers that read slowly, or not at all", clientsCommand},
		"soak":    {"does anything grow?", soakCommand},
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	act := run
	if len(os.Args) == 2 && os.Args[1] == remoteTabsArg {
		act = func(ctx context.Context, _ []string, out, _ io.Writer) error { return serveTabs(ctx, os.Stdin, out) }
	}
	if err := act(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "livebench:", err)
		stop()
		os.Exit(1)
	}
}

var errMissed = errors.New("a figure is not what we want")

// run executes one command.
func run(ctx context.Context, args []string, out, log io.Writer) error {
	var name string
	if len(args) > 0 {
		name = args[0]
	}
	c, ok := commands()[name]
	if !ok {
		return fmt.Errorf("there is no command %q; there are tabs, large, clients and soak", name)
	}
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.SetOutput(log)
	o := options{log: &lockedWriter{w: log}}
	f.StringVar(&o.mayfly, "mayfly", "", "the program to measure; empty: it is built")
	f.StringVar(&o.dir, "dir", "", "a folder for data and the browser's profile; empty: a temporary one. What is made in it goes at the end")
	f.BoolVar(&o.json, "json", false, "print an object instead of a table")
	act := c.flags(f)
	if err := f.Parse(args[1:]); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return fmt.Errorf("%s: %w", name, err)
	}
	dir, err := os.MkdirTemp(o.dir, "livebench")
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() //nolint:errcheck // what remains is in a temporary folder
	o.dir = dir
	if o.mayfly == "" {
		if o.mayfly, err = build(ctx, dir); err != nil {
			return err
		}
	}
	began := time.Now()
	r, err := act(ctx, o)
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	r.Command, r.Seconds = name, round(time.Since(began).Seconds())
	if o.json {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		err = e.Encode(r)
	} else {
		err = r.print(out)
	}
	if err == nil && !r.passed() {
		err = errMissed
	}
	return err
}

// build builds Mayfly from the tree of this program.
func build(ctx context.Context, dir string) (string, error) {
	at := filepath.Join(dir, "mayfly")
	c := exec.CommandContext(ctx, "go", "build", "-o", at, "mayfly/cmd/mayfly")
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build Mayfly: %w\n%s", err, out)
	}
	return at, nil
}

// pause waits for d, or returns an error if ctx ends first.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
