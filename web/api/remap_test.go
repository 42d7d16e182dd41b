package api

import (
	"bufio"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/exchange"
)

// TestImportKeepsOrder: imported messages are in the order of their lines, whether bodies are
// large or not.
func TestImportKeepsOrder(t *testing.T) {
	w := start(t, broker.Options{})
	w.want(201, "POST", "/entities", `{"kind":"queue","path":"q"}`, nil)
	w.want(200, "POST", "/import/q", `{"body":"1"}`+"\n"+`{"bodyParts":2}`+"\n"+`{"part":"Mg=="}`+"\n"+`{"part":"Mg=="}`+"\n"+`{"body":"3"}`, nil)
	var bodies []string
	for _, m := range w.twins("q") {
		bodies = append(bodies, m.Body)
	}
	if got := strings.Join(bodies, ","); got != "1,22,3" {
		t.Errorf("got %s", got)
	}
}

// begun starts an export of a queue of 32 MiB and reads one line of it. The server then blocks,
// because the client does not read the rest.
func begun(t *testing.T) (*world, *bufio.Reader) {
	t.Helper()
	w := start(t, broker.Options{})
	w.want(201, "POST", "/entities", `{"kind":"queue","path":"q"}`, nil)
	for i := range 512 {
		out := broker.Outgoing{Content: engine.Content{MessageID: fmt.Sprint(i)}, Body: make([]byte, 64<<10)}
		w.broker.SendMessages("q", out)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.URL+"/api/v1/export/q", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { got.Body.Close() })
	lines := bufio.NewReader(got.Body)
	if _, err := lines.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return w, lines
}

// TestExportEndsWithMessagesPresentAtItsStart: messages that arrive during an export are not in it.
func TestExportEndsWithMessagesPresentAtItsStart(t *testing.T) {
	w, lines := begun(t)
	w.want(201, "POST", "/send/q", `[{"body":"new"},{"body":"new"}]`, nil)
	rest, err := io.ReadAll(lines)
	if n := strings.Count(string(rest), "\n"); err != nil || n != 511 {
		t.Errorf("%d further lines arrived, %v", n, err)
	}
}

// TestExportThatIsCutOff: an export that cannot continue does not look complete.
func TestExportThatIsCutOff(t *testing.T) {
	w, lines := begun(t)
	w.want(204, "DELETE", "/entities/q", "", nil)
	if rest, err := io.ReadAll(lines); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("after %d bytes: %v", len(rest), err)
	}
}

// TestImportNamesSomeOfManyFailures: an answer lists the first hundred refused messages, and
// counts all.
func TestImportNamesSomeOfManyFailures(t *testing.T) {
	w := start(t, broker.Options{})
	w.want(201, "POST", "/entities", `{"kind":"queue","path":"q","properties":{"RequiresSession":true}}`, nil)
	var done Imported
	w.want(200, "POST", "/import/q", strings.Repeat(`{"body":"1"}`+"\n", exchange.MaxFailures+50), &done)
	if done.Failed != exchange.MaxFailures+50 || len(done.Failures) != exchange.MaxFailures || done.Failures[99].Line != 100 {
		t.Errorf("%d failed and %d are listed", done.Failed, len(done.Failures))
	}
}

// TestImportOfTooLargeAValue: a message with an AMQP body that is too large is refused, and
// does not affect others.
func TestImportOfTooLargeAValue(t *testing.T) {
	w := start(t, broker.Options{})
	w.want(201, "POST", "/entities", `{"kind":"queue","path":"q"}`, nil)
	part := `{"part":"` + base64.StdEncoding.EncodeToString(make([]byte, 300<<10)) + `"}` + "\n"
	var done Imported
	w.want(200, "POST", "/import/q", `{"bodyKind":"value","bodyParts":2}`+"\n"+part+part+`{"body":"2"}`, &done)
	if done.Imported != 1 || done.Failed != 1 || done.Failures[0].Code != "MessageSizeExceeded" || done.Failures[0].Line != 1 {
		t.Errorf("%+v", done)
	}
}
