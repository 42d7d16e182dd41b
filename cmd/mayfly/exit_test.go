package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"mayfly/web/api"
)

func TestExitCodes(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want int
	}{
		"a plain failure":    {fmt.Errorf("the disk is full"), exitFailed},
		"a misuse":           {misused("--at is a time"), exitUsage},
		"wrapped":            {fmt.Errorf("line 3: %w", misused("no")), exitUsage},
		"nobody answers":     {&unreachable{"http://x", fmt.Errorf("refused")}, exitUnreachable},
		"nothing":            {errEmpty, exitEmpty},
		"no entity":          {errNoEntity, exitEmpty},
		"a signal":           {fmt.Errorf("wait: %w", errStopped), exitInterrupted},
		"not found":          {&api.Problem{Status: http.StatusNotFound}, exitNotFound},
		"a conflict":         {&api.Problem{Status: http.StatusConflict}, exitRefused},
		"a lost lock":        {&api.Problem{Status: http.StatusGone}, exitRefused},
		"a quota":            {&api.Problem{Status: http.StatusForbidden}, exitRefused},
		"what it cannot":     {&api.Problem{Status: http.StatusNotImplemented}, exitRefused},
		"too slow":           {&api.Problem{Status: http.StatusRequestTimeout}, exitFailed},
		"too busy":           {&api.Problem{Status: http.StatusServiceUnavailable}, exitFailed},
		"the server's fault": {&api.Problem{Status: http.StatusInternalServerError}, exitFailed},
	} {
		if got := exitOf(tc.err); got != tc.want {
			t.Errorf("%s: got %d, want %d", name, got, tc.want)
		}
	}
}

// With --json every complaint is one problem document on standard error, the
// server's own where there is one.
func TestComplaintsAsProblems(t *testing.T) {
	s := serving(t, Config{Store: "memory:"})
	t.Setenv("MAYFLY_SERVER", s.Dashboard)
	if _, said, code := typed(t, "", "send", "there", "x", "--create"); code != exitOK {
		t.Fatal(said)
	}
	for name, tc := range map[string]struct {
		args    []string
		exit    int
		code    string
		status  int
		details string
	}{
		"no entity":    {[]string{"peek", "nowhere", "--json"}, exitNotFound, "MessagingEntityNotFound", 404, "could not be found"},
		"there is one": {[]string{"entities", "create", "--json", "queue", "there"}, exitRefused, "MessagingEntityAlreadyExists", 409, "there"},
		"a wrong flag": {[]string{"peek", "q", "--json", "--bogus"}, exitUsage, "Usage", 0, "unknown flag --bogus; mayfly peek --help says how."},
		"no server":    {[]string{"peek", "q", "--json", "--server", "http://127.0.0.1:1"}, exitUnreachable, "Unreachable", 0, "Http://127.0.0.1:1 does not answer"},
		"nothing":      {[]string{"peek", "there", "--from", "9", "--json", "--fail-empty"}, exitEmpty, "Empty", 0, "There is no message."},
	} {
		out, said, code := typed(t, "", tc.args...)
		var p api.Problem
		if err := json.Unmarshal([]byte(said), &p); err != nil || code != tc.exit || p.Code != tc.code || p.Status != tc.status || p.Type != "about:blank" ||
			p.Title == "" || !strings.Contains(strings.ToLower(p.Detail), strings.ToLower(tc.details)) || strings.Count(said, "\n") != 1 || out != "" {
			t.Errorf("%s: got %d %q %q %v", name, code, out, said, err)
		}
	}
}

// A body that looks like a flag asks for nothing.
func TestWantsJSON(t *testing.T) {
	if wantsJSON([]string{"send", "q", "--", "--json"}) || !wantsJSON([]string{"peek", "--json", "q"}) {
		t.Error("a flag is one before -- alone")
	}
}

// A signal ends what waits, and there is nothing to complain of.
func TestInterrupted(t *testing.T) {
	s := serving(t, Config{Store: "memory:"})
	t.Setenv("MAYFLY_SERVER", s.Dashboard)
	if _, said, code := typed(t, "", "send", "q", "one", "--create"); code != exitOK {
		t.Fatal(said)
	}
	for _, args := range [][]string{{"peek", "q", "--follow"}, {"receive", "q", "--wait", "1m", "--number", "1"}} {
		ctx, stop := context.WithCancelCause(t.Context())
		out, said := &once{line: make(chan string, 1)}, &once{line: make(chan string, 1)}
		ended := make(chan int, 1)
		if args[0] == "receive" {
			stop(errStopped)
		}
		go func() { ended <- execute(ctx, args, nil, streams{in: strings.NewReader(""), out: out, err: said}) }()
		if args[0] == "peek" {
			<-out.line
		}
		stop(errStopped)
		if code := <-ended; code != exitInterrupted || len(said.line) > 0 {
			t.Errorf("%q: got %d, %d complaints", args, code, len(said.line))
		}
	}
}

// TestProblemsBeginAsSentences: but for an address, which stays what can be gone to.
func TestProblemsBeginAsSentences(t *testing.T) {
	for said, want := range map[string]string{
		"nothing was done":                       `"detail":"Nothing was done."`,
		"http://127.0.0.1:1 does not answer":     `"detail":"http://127.0.0.1:1 does not answer."`,
		"é no letter, see http://127.0.0.1:1/x.": `"detail":"É no letter, see http://127.0.0.1:1/x."`,
	} {
		if got := problemOf(errors.New(said), exitFailed); !strings.Contains(got, want) {
			t.Errorf("%q: %s", said, got)
		}
	}
}
