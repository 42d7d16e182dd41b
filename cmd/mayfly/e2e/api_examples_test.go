package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"mayfly/cmd/mayfly/server"
	"mayfly/web/api"
)

// TestReferenceLines runs each example of the API reference as it is. The entity of an example may
// not exist, but its request has to be valid.
func TestReferenceLines(t *testing.T) {
	t.Parallel()
	RequirePrograms(t, "sh", "curl")
	s := Start(t, server.Config{Store: "memory:"})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Dashboard+"/docs/api", nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	page, err := goquery.NewDocumentFromReader(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range api.Document().Ordered {
		line := page.Find("#" + o.ID + " .snippet code").Text()
		if !strings.Contains(line, s.Dashboard+"/api/v1/") {
			t.Errorf("%s has the line %q", o.ID, line)
			continue
		}
		// words are the arguments that the shell passes to curl, one per line.
		words, err := exec.CommandContext(ctx, "sh", "-c", "curl() { printf '%s\\n' \"$@\"; }; "+line).Output()
		if sent := "\n" + o.Example.Body + "\n"; err != nil || o.Example.Body != "" && !strings.HasSuffix("\n"+string(words), sent) {
			t.Errorf("%s: the line sends %s, not %s: %v", o.ID, words, sent, err)
		}
		out, err := exec.CommandContext(ctx, "sh", "-c", line+` -s -o /dev/null -w '%{http_code} %{method}'`).CombinedOutput()
		code, method, _ := strings.Cut(string(out), " ")
		if err != nil || o.Responses[code] == nil || code == "400" && o.ID != "settleMessage" && o.ID != "releaseSession" || code >= "405" && code != "409" && code != "410" || method != o.Method {
			t.Errorf("%s: %s\n%s: %s %v", o.ID, line, fmt.Sprintf("%s instead of %s", method, o.Method), out, err)
		}
	}
}
