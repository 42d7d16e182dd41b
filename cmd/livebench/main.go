// Command livebench measures what it costs that many people watch: it starts
// Mayfly as a process of its own, on free ports of loopback and with its data in a
// temporary folder, and drives it through real sockets as clients, browsers and one
// Chromium do.
//
//	go run ./cmd/livebench tabs      open pages beside much traffic
//	go run ./cmd/livebench large     every page of a namespace with very much in it
//	go run ./cmd/livebench clients   browsers that read slowly, or not at all
//	go run ./cmd/livebench soak      for an hour: does anything grow?
//
// Each prints its figures as a table, each beside what we want it to be, and ends
// with exit code 1 when one is missed; -json prints them as an object instead, and
// -h says what can be changed. What goes on meanwhile is told on standard error.
//
// Times are those of one clock: clients, server and browser are on this machine.
// The processor time of those who drive the server is among the figures, because
// on a small machine they are what is in each other's way.
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

// options are those of every command.
type options struct {
	mayfly string
	dir    string
	json   bool
	log    io.Writer // where what goes on is told
}

// tell says what goes on.
func (o options) tell(format string, args ...any) {
	fmt.Fprintf(o.log, "livebench: "+format+"\n", args...) //nolint:errcheck // there is nobody else to tell
}

// taking is a writer that the server, whose errors go there too, and whoever tells
// what goes on take in turns.
type taking struct {
	mu sync.Mutex
	w  io.Writer
}

func (t *taking) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.w.Write(b) //nolint:wrapcheck // whoever writes says what
}

// A command is what the first argument names.
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
	if len(os.Args) == 2 && os.Args[1] == elsewhere {
		act = func(ctx context.Context, _ []string, out, _ io.Writer) error { return beTabs(ctx, os.Stdin, out) }
	}
	if err := act(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "livebench:", err)
		stop()
		os.Exit(1)
	}
}

var errMissed = errors.New("a figure is not what we want")

// run carries out one command.
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
	o := options{log: &taking{w: log}}
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
	defer func() { _ = os.RemoveAll(dir) }() //nolint:errcheck // what is left is in a folder for such
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
	if err == nil && !r.fine() {
		err = errMissed
	}
	return err
}

// build makes the program that is measured, from the tree that this one is of.
func build(ctx context.Context, dir string) (string, error) {
	at := filepath.Join(dir, "mayfly")
	c := exec.CommandContext(ctx, "go", "build", "-o", at, "mayfly/cmd/mayfly")
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build Mayfly: %w\n%s", err, out)
	}
	return at, nil
}

// pause waits, unless ctx ends before.
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
