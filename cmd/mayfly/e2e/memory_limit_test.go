package e2e

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"mayfly/cmd/mayfly/server"
)

// TestMemoryIsFull checks that a server at its memory limit refuses sends, reports that on pages,
// in health checks and in metrics, still delivers messages, and accepts sends again when there is
// room.
func TestMemoryIsFull(t *testing.T) {
	s := Start(t, server.Config{Store: "memory:", Memory: 1 << 20})
	call := func(method, url, body string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		w, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Body.Close()
		var text strings.Builder
		if _, err := io.Copy(&text, w.Body); err != nil {
			t.Fatal(err)
		}
		return w.StatusCode, text.String()
	}
	want := func(method, url, body string, code int, text string) {
		t.Helper()
		if got, said := call(method, url, body); got != code || !strings.Contains(said, text) {
			t.Errorf("%s %s: %d %.600s; want %d %s", method, url, got, said, code, text)
		}
	}
	want("POST", s.Dashboard+"/api/v1/entities", `{"kind":"queue","path":"q"}`, 201, "")
	for code := 201; code == 201; {
		code, _ = call("POST", s.Admin+"/q/messages", strings.Repeat("x", 8<<10))
	}
	want("POST", s.Admin+"/q/messages", strings.Repeat("x", 8<<10), 503, "memory is full")
	want("POST", s.Dashboard+"/api/v1/send/q", `{"body":"`+strings.Repeat("x", 8<<10)+`"}`, 503, "--limit memory")
	want("GET", s.Dashboard+"/readyz", "", 200, "ready, but memory is full and sends are refused")
	want("GET", s.Dashboard+"/api/v1/health", "", 200, `"status":"memory-full"`)
	want("GET", s.Dashboard+"/metrics", "", 200, "mayfly_memory_limit_bytes 1.048576e+06")
	want("GET", s.Dashboard+"/", "", 200, "Memory is full: sends are refused")
	want("GET", s.Dashboard+"/api/v1/activity", "", 200, `"memory-full"`)
	for range 16 {
		want("DELETE", s.Admin+"/q/messages/head", "", 200, "x")
	}
	want("GET", s.Dashboard+"/readyz", "", 200, "ready\n")
	want("POST", s.Admin+"/q/messages", "there is room", 201, "")
}
