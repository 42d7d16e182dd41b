package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mayfly/engine/longtest"
)

// mayfly builds the measured program once, for the first test that measures. Building it at the
// start would compile the same packages twice while the Go tool builds the tests of other packages.
var mayfly = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "livebench-test")
	if err != nil {
		return "", err
	}
	builtIn = dir
	return build(context.Background(), dir)
})

// builtIn is the folder of the program that mayfly built, or empty before that.
var builtIn string

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == remoteTabsArg { // this process has to open the tabs of a test
		if err := serveTabs(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	code := m.Run()
	if builtIn != "" {
		_ = os.RemoveAll(builtIn)
	}
	os.Exit(code)
}

// program builds the measured program and returns its path. It skips the test unless MAYFLY_LONG=1.
func program(t *testing.T) string {
	t.Helper()
	longtest.Require(t, "figures of a running server")
	at, err := mayfly()
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// measured runs a command and returns its report. Figures may exceed their limits, because that
// depends on the machine.
func measured(t *testing.T, args ...string) *report {
	t.Helper()
	at := program(t)
	var out, log bytes.Buffer
	err := run(t.Context(), append([]string{args[0], "-mayfly", at, "-json", "-dir", t.TempDir()}, args[1:]...), &out, &log)
	if err != nil && !errors.Is(err, errMissed) {
		t.Fatalf("%v: %v\n%s", args, err, log.Bytes())
	}
	r := &report{}
	if err := json.Unmarshal(out.Bytes(), r); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out.Bytes())
	}
	if r.passed() != (err == nil) {
		t.Errorf("the report passed is %v, but the error is %v", r.passed(), err)
	}
	for _, f := range r.Figures {
		if f.Value < 0 && !strings.Contains(f.Name, "growth") && !strings.Contains(f.Name, "more than") {
			t.Errorf("%s was not measured", f.Name)
		}
	}
	return r
}

// got returns the value of a figure by its description.
func (r *report) got(t *testing.T, what string) float64 {
	t.Helper()
	i := slices.IndexFunc(r.Figures, func(f figure) bool { return f.Name == what })
	if i < 0 {
		t.Fatalf("there is no figure %q in %+v", what, r.Figures)
	}
	return r.Figures[i].Value
}

// needsChromium skips a test if there is no browser, unless MAYFLY_BROWSER=require.
func needsChromium(t *testing.T) {
	t.Helper()
	longtest.Require(t, "figures of pages in a browser")
	if chromium() != "" {
		return
	}
	if os.Getenv("MAYFLY_BROWSER") == "require" {
		t.Fatal("MAYFLY_BROWSER=require, but there is no Chromium in PATH")
	}
	t.Skip("browser test skipped: no Chromium in PATH")
}

func TestTabs(t *testing.T) {
	needsChromium(t)
	r := measured(t, "tabs", "-tabs", "10", "-rate", "100", "-expiries", "20", "-backlog", "20", "-pairs", "1", "-warm", "1s", "-settle", "500ms", "-each", "3s")
	if n := r.got(t, "messages that this was seen of"); n < 2 {
		t.Errorf("%v messages were seen in Chromium, want some", n)
	}
	if sent := r.got(t, "with pages: sent"); sent < 50 {
		t.Errorf("%v messages a second were sent, want about 100", sent)
	}
	if first, painted := r.got(t, "from sending to a frame in the other tabs, p50"), r.got(t, "the same, p50"); first <= 0 || painted <= 0 {
		t.Errorf("in tabs after %v ms, painted after %v: before it was sent", first, painted)
	}
}

// TestChromiumStartsOnce checks that if Chromium fails to start after a first attempt, the command
// returns an error that names Chromium.
func TestChromiumStartsOnce(t *testing.T) {
	needsChromium(t)
	at := program(t)
	dir := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\nmkdir '%s/started' && exec '%s' \"$@\"\n", dir, chromium())
	if err := os.WriteFile(filepath.Join(dir, "chromium"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	args := []string{"tabs", "-mayfly", at, "-dir", t.TempDir(), "-tabs", "1", "-rate", "100", "-expiries", "20", "-backlog", "20", "-pairs", "1", "-warm", "100ms", "-settle", "100ms", "-each", "200ms"}
	if err := run(t.Context(), args, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), "start "+filepath.Join(dir, "chromium")) {
		t.Errorf("got error %v, want that Chromium did not start", err)
	}
}

func TestLarge(t *testing.T) {
	needsChromium(t)
	r := measured(t, "large", "-entities", "60", "-messages", "600", "-tries", "2", "-looked", "2")
	paths := map[string]bool{}
	for _, p := range r.Pages {
		paths[p.Path] = true
	}
	// The crawl also finds pages that only lists and menus link to.
	for _, want := range []string{home + "/expirations", home + "/q/queue-00000/purge", home + "/metrics", "/scenes", home + "/queues/new"} {
		if !paths[want] {
			t.Errorf("%s was not requested; %d pages were", want, len(paths))
		}
	}
	for _, below := range []string{"/m/", "/s/team-"} {
		if !slices.ContainsFunc(r.Pages, func(p pageTime) bool { return strings.Contains(p.Path, below) }) {
			t.Errorf("no page with %s was requested", below)
		}
	}
	if n := r.got(t, "pages looked at where the palette came"); n != 2 {
		t.Errorf("the palette was opened on %v pages, want 2", n)
	}
}

// TestClients checks that the report fails if the server does not disconnect a frozen browser
// within -patience.
func TestClients(t *testing.T) {
	r := measured(t, "clients", "-tabs", "4", "-slow", "1", "-frozen", "1", "-rate", "100", "-expiries", "20", "-each", "2s", "-patience", "1s")
	if r.passed() {
		t.Errorf("no browser is disconnected within a second, but the report passed: %+v", r.Figures)
	}
}

func TestSoak(t *testing.T) {
	r := measured(t, "soak", "-for", "4s", "-every", "100ms", "-tabs", "4", "-rate", "100", "-expiries", "20", "-shortest", "100ms", "-longest", "600ms")
	if n := r.got(t, "goroutines, mean"); n < 10 {
		t.Errorf("%v goroutines, want those of a server", n)
	}
}

func TestCommandLine(t *testing.T) {
	for _, args := range [][]string{{}, {"dance"}, {"tabs", "-dance"}, {"tabs", "-mayfly", "/nowhere/mayfly"}} {
		var out, log bytes.Buffer
		if err := run(t.Context(), args, &out, &log); err == nil || out.Len() > 0 {
			t.Errorf("%q: got error %v, and output %q", args, err, out.String())
		}
	}
	var out, log bytes.Buffer
	if err := run(t.Context(), []string{"soak", "-h"}, &out, &log); err != nil || !strings.Contains(log.String(), "-for") {
		t.Errorf("-h: %v %s", err, log.String())
	}
}

// TestInterrupted checks that an interrupted run returns an error and prints no report.
func TestInterrupted(t *testing.T) {
	at := program(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	var out bytes.Buffer
	err := run(ctx, []string{"soak", "-mayfly", at, "-dir", t.TempDir(), "-for", "1h", "-tabs", "1", "-rate", "10", "-expiries", "2"}, &out, io.Discard)
	if err == nil || errors.Is(err, errMissed) || out.Len() > 0 {
		t.Errorf("an interrupted run ended with %v and printed %q", err, out.String())
	}
}

// TestTheServerEnds checks that a run returns an error, and does not block, if the server ends
// meanwhile.
func TestTheServerEnds(t *testing.T) {
	at := program(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := start(ctx, options{mayfly: at, dir: t.TempDir(), log: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	l := &load{s: s, rate: 100, expiries: 10}
	if err := l.prepare(ctx); err != nil {
		t.Fatal(err)
	}
	err = l.runDuring(ctx, func(ctx context.Context) error {
		s.stop()
		<-ctx.Done()
		return nil
	})
	if err == nil || ctx.Err() != nil {
		t.Errorf("the load ended with %v, %v; want an error that the server has ended", err, ctx.Err())
	}
}
