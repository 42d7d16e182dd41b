package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mayfly/cmd/mayfly/server"
	"mayfly/engine/longtest"
)

// RequestJSON sends a request to a server's JSON API, which has to succeed.
func RequestJSON(t *testing.T, r server.Ready, method, path, body string, out any) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), method, r.Dashboard+"/api/v1"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	if a.StatusCode >= 300 {
		t.Fatalf("%s %s: %d %s", method, path, a.StatusCode, text)
	}
	if err := json.Unmarshal(text, out); err != nil {
		t.Fatal(err)
	}
}

// TestKilledInTheMiddleOfAJob kills a server during a job over 100,000 messages: the next server
// reports exactly what the job has done, and resumes it.
func TestKilledInTheMiddleOfAJob(t *testing.T) {
	longtest.Require(t, "a kill in the middle of a job")
	const n = 100_000
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	store := "sqlite:" + filepath.Join(t.TempDir(), "jobs.db")
	first := spawn(t, store, time.Second)
	r, err := first.next(ctx, server.StateReady)
	if err != nil {
		t.Fatal(err)
	}
	var ignored any
	for _, name := range []string{"from", "to"} {
		RequestJSON(t, r, "POST", "/entities", `{"kind":"queue","path":"`+name+`"}`, &ignored)
	}
	var lines bytes.Buffer
	for i := range n {
		fmt.Fprintf(&lines, "{\"messageId\":\"%d\",\"body\":\"%d\"}\n", i, i)
	}
	RequestJSON(t, r, "POST", "/import/from", lines.String(), &ignored)

	type counts struct{ Total, Examined, Done, Skipped, Failed int64 }
	var is struct {
		ID     int64
		State  string
		Counts counts
	}
	RequestJSON(t, r, "POST", "/jobs", `{"kind":"move","paths":["from"],"to":"to"}`, &is)
	at := fmt.Sprint("/jobs/", is.ID)
	for is.Counts.Done < n/3 && is.State == "running" {
		RequestJSON(t, r, "GET", at+"?wait=5ms", "", &is)
	}
	told := is.Counts.Done
	first.signal(os.Kill)
	first.killed()

	second := spawn(t, store, time.Second)
	if r, err = second.next(ctx, server.StateReady); err != nil {
		t.Fatal(err)
	}
	moved := func() [2]int64 {
		var from, to struct{ Counts struct{ Active int64 } }
		RequestJSON(t, r, "GET", "/entities/from", "", &from)
		RequestJSON(t, r, "GET", "/entities/to", "", &to)
		return [2]int64{from.Counts.Active, to.Counts.Active}
	}
	RequestJSON(t, r, "GET", at, "", &is)
	if is.State != "interrupted" || is.Counts.Done < told || is.Counts.Done == n {
		t.Errorf("after the kill the job is %+v; %d messages were reported as done", is, told)
	}
	if got := moved(); got != [2]int64{n - is.Counts.Done, is.Counts.Done} {
		t.Errorf("the job reports %d moved messages, but got %v", is.Counts.Done, got)
	}
	RequestJSON(t, r, "POST", at+"/resume", "", &is)
	RequestJSON(t, r, "GET", at+"?wait=300s", "", &is)
	if is.State != "done" || is.Counts != (counts{Total: n, Examined: n, Done: n}) {
		t.Errorf("at the end the job is %+v", is)
	}
	if got := moved(); got != [2]int64{0, n} {
		t.Errorf("at the end got %v", got)
	}
}
