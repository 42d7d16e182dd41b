package cli

import (
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
		"a plain failure":    {fmt.Errorf("the disk is full"), ExitFailed},
		"a misuse":           {UsageErrorf("--at is a time"), ExitUsage},
		"wrapped":            {fmt.Errorf("line 3: %w", UsageErrorf("no")), ExitUsage},
		"nobody answers":     {&UnreachableError{"http://x", fmt.Errorf("refused")}, ExitUnreachable},
		"nothing":            {ErrEmpty, ExitEmpty},
		"no entity":          {ErrNoEntity, ExitEmpty},
		"a signal":           {fmt.Errorf("wait: %w", ErrStopped), ExitInterrupted},
		"not found":          {&api.Problem{Status: http.StatusNotFound}, ExitNotFound},
		"a conflict":         {&api.Problem{Status: http.StatusConflict}, ExitRefused},
		"a lost lock":        {&api.Problem{Status: http.StatusGone}, ExitRefused},
		"a quota":            {&api.Problem{Status: http.StatusForbidden}, ExitRefused},
		"what it cannot":     {&api.Problem{Status: http.StatusNotImplemented}, ExitRefused},
		"too slow":           {&api.Problem{Status: http.StatusRequestTimeout}, ExitFailed},
		"too busy":           {&api.Problem{Status: http.StatusServiceUnavailable}, ExitFailed},
		"the server's fault": {&api.Problem{Status: http.StatusInternalServerError}, ExitFailed},
	} {
		if got := ExitCodeOf(tc.err); got != tc.want {
			t.Errorf("%s: got %d, want %d", name, got, tc.want)
		}
	}
}

// An argument after -- is not a flag, even if it looks like one.
func TestWantsJSON(t *testing.T) {
	if wantsJSON([]string{"send", "q", "--", "--json"}) || !wantsJSON([]string{"peek", "--json", "q"}) {
		t.Error("--json is a flag before -- only")
	}
}

// TestProblemsBeginAsSentences checks that errors begin with a capital letter, except URLs.
func TestProblemsBeginAsSentences(t *testing.T) {
	for said, want := range map[string]string{
		"nothing was done":                       `"detail":"Nothing was done."`,
		"http://127.0.0.1:1 does not answer":     `"detail":"http://127.0.0.1:1 does not answer."`,
		"é no letter, see http://127.0.0.1:1/x.": `"detail":"É no letter, see http://127.0.0.1:1/x."`,
	} {
		if got := problemDocument(errors.New(said), ExitFailed); !strings.Contains(got, want) {
			t.Errorf("%q: %s", said, got)
		}
	}
}
