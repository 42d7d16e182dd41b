package route_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"

	"mayfly/engine"
	"mayfly/engine/value"
	"mayfly/views/component"
	"mayfly/views/page/message"
	"mayfly/web/dashboard/pages"
)

// unseen are invisible characters that a copied line could hide.
const unseen = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c\u200b\u200c\u200d\u2060\ufeff\u00ad\u034f\u3164\x01\x1b\x7f\u0085\U000e0041"

// TestCopiedLinesHideNothing checks that the shell command and the programs show invisible
// characters of a message, and that the shell sends the same message.
func TestCopiedLinesHideNothing(t *testing.T) {
	bad := "a'" + unseen + `"\z`
	var again message.Resend
	inside(t, &world{more: func(o *pages.Options) { o.API, o.Connection = "http://127.0.0.1:1/api/v1", "Endpoint=sb://here" }}, func(w *world) {
		w.create(engine.Queue, "orders", engine.Config{})
		w.send("orders", engine.Content{MessageID: bad, Subject: bad, CorrelationID: bad, ContentType: bad, To: bad, ReplyTo: bad, Properties: value.Properties{{Name: bad, Value: value.OfString(bad)}}})
		again = as[message.Message](w, w.pages.MessageURL(w.b.Rows("orders")[0].Message.Key)).Resend
	})
	codes := []string{again.Curl}
	for _, s := range again.Samples {
		codes = append(codes, s.Code)
	}
	for _, code := range codes {
		if i := strings.IndexFunc(code, component.IsInvisible); i >= 0 || code == "" {
			t.Errorf("%q is invisible in %s", code[max(i, 0):min(len(code), i+4)], code)
		}
	}
	if len(codes) != 6 {
		t.Errorf("%d lines and programs", len(codes))
	}
	at, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash to run the command in")
	}
	came := make(chan []byte, 1)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body) //nolint:errcheck // the test checks the result
		came <- b
	}))
	defer s.Close()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("there is no curl")
	}
	line := strings.ReplaceAll(again.Curl, "http://127.0.0.1:1", s.URL)
	if out, err := exec.CommandContext(t.Context(), at, "-c", line).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var got struct {
		MessageID  string         `json:"messageId"`
		Properties map[string]any `json:"properties"`
	}
	if err := json.Unmarshal(<-came, &got); err != nil || got.MessageID != bad || fmt.Sprint(got.Properties[bad]) != bad && fmt.Sprint(got.Properties[bad]) != fmt.Sprint(map[string]any{"type": "string", "value": bad}) {
		t.Errorf("the shell sent %+v: %v", got, err)
	}
}
