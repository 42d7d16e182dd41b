package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/enginetest"
	"mayfly/engine/value"
	"mayfly/web/amqp/codec"
	"mayfly/web/auth/origin"
	"mayfly/web/exchange"
)

// A twin is the part of a message that an export and import must preserve.
type twin struct {
	Content engine.Content
	Body    string
}

func (w *world) twins(path engine.Path) (all []twin) {
	w.Helper()
	var rows []engine.Row
	err := w.broker.Read(w.Context(), func(r broker.Reader) (err error) {
		rows, err = r.Browse(engine.Browse{Path: path, From: 1, Limit: 10000})
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
	for _, row := range rows {
		c, err := row.Content.Content()
		if err != nil {
			w.Fatal(err)
		}
		body, err := w.broker.Body(w.Context(), row.Message.Content, c.BodySize)
		if err != nil {
			w.Fatal(err)
		}
		text, err := io.ReadAll(body)
		body.Close()
		if err != nil {
			w.Fatal(err)
		}
		all = append(all, twin{c, string(text)})
	}
	return all
}

// drawOutgoing returns a random message that a broker accepts: a fifth of them have texts that
// are not UTF-8, a fifth come from AMQP.
func drawOutgoing(t *testing.T, d enginetest.Generator) broker.Outgoing {
	t.Helper()
	var props value.Properties
	d.Fill(&props)
	text := func() string {
		switch d.IntN(5) {
		case 0:
			return d.Text(8)
		case 1:
			return ""
		default:
			return fmt.Sprintf("é <%d>", d.IntN(1e6))
		}
	}
	if d.OneIn(5) {
		out, err := codec.DecodeMessage([]byte("\x00\x53\x70\xc0\x04\x02\x41\x50\x07\x00\x53\x73\xc0\x12\x01\x98abcdefghijklmnop" +
			"\x00\x53\x77\xa1\x05hello\x00\x53\x78\xc1\x06\x02\xa3\x01f\x54\x05"))
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	c := engine.Content{
		MessageID: fmt.Sprint("m", d.IntN(1e9)), SessionID: fmt.Sprint(d.IntN(3)), CorrelationID: text(), Subject: text(), To: text(),
		ReplyTo: text(), ReplyToSessionID: text(), ContentType: text(), Properties: props,
	}
	if d.OneIn(3) {
		c.SessionID, c.EmptySessionID = "", true
	}
	if d.OneIn(2) {
		c.TTL = time.Hour + time.Duration(d.IntN(1e9))*time.Millisecond
	}
	if d.OneIn(4) {
		c.ScheduledFor = engine.At(time.Date(2090, 1, 2, 3, 4, 5, d.IntN(1000)*1e6, time.UTC))
	}
	body := d.Bytes(d.IntN(2000))
	if d.OneIn(4) {
		body = []byte(strings.Repeat("text ", d.IntN(20)))
	}
	return broker.Outgoing{Content: c, Body: body}
}

// TestExportIsLossless: an exported and imported message is the same, whatever its properties
// are (MSG-2).
func TestExportIsLossless(t *testing.T) {
	for _, sessions := range []bool{false, true} {
		w := start(t, broker.Options{})
		for _, path := range []engine.Path{"from", "to"} {
			w.broker.CreateQueue(path, engine.Config{RequiresSession: sessions})
		}
		d := enginetest.NewGenerator(7)
		for range 400 {
			out := drawOutgoing(t, d)
			if sessions && !out.Content.HasSessionID() {
				out.Content.SessionID = "s"
			}
			w.broker.SendMessages("from", out)
		}
		got, lines := w.ask("GET", "/export/from", "")
		if got.StatusCode != 200 || got.Header.Get("Content-Type") != "application/x-ndjson" || !strings.Contains(got.Header.Get("Content-Disposition"), "from-") {
			t.Fatalf("got %d %v", got.StatusCode, got.Header)
		}
		var done Imported
		w.want(200, "POST", "/import/to", lines, &done)
		if done.Imported != 400 || done.Failed != 0 {
			t.Fatalf("imported: %+v", done)
		}
		if d := cmp.Diff(w.twins("from"), w.twins("to")); d != "" {
			t.Errorf("sessions %v (-sent +imported):\n%s", sessions, d)
		}
	}
}

func TestExportHasSystemProperties(t *testing.T) {
	w := start(t, broker.Options{})
	w.want(201, "POST", "/send/q?create=queue", `[{"body":"1","timeToLive":"1h"},{"body":"2"},{"body":"3"},{"body":"4","scheduledEnqueueTime":"2090-01-02T03:04:05Z"}]`, nil)
	var got Messages
	w.want(200, "POST", "/receive/q", `{"limit":3}`, &got)
	w.want(204, "POST", "/settle", `{"lockToken":"`+got.Messages[1].LockToken+`","outcome":"defer"}`, nil)
	w.want(204, "POST", "/settle", `{"lockToken":"`+got.Messages[2].LockToken+`","outcome":"dead-letter","reason":"why","description":"so","properties":{"a":1}}`, nil)
	for state, want := range map[string]string{"all": "1,2,4", "locked": "1", "deferred": "2", "scheduled": "4", "active": "", "": "1,2,4"} {
		query := "?state=" + state
		if state == "" {
			query = ""
		}
		var bodies []string
		for _, x := range w.exported("/export/q" + query) {
			bodies = append(bodies, *x.Body)
		}
		if got := strings.Join(bodies, ","); got != want {
			t.Errorf("state %s: bodies %s, want %s", state, got, want)
		}
	}
	all := w.exported("/export/q")
	if s := all[0].System; s.LockedUntil == nil || s.LockedBy == "" || s.ExpiresAt == nil || s.SequenceNumber != 1 || s.State != "active" || s.Size != 1 {
		t.Errorf("a locked message is %+v", s)
	}
	if s := all[2].System; s.ScheduledFor == nil || s.State != "scheduled" {
		t.Errorf("a scheduled message is %+v", s)
	}
	dead := w.exported("/export/q/$DeadLetterQueue")
	if len(dead) != 1 || len(dead[0].Properties) != 1 || dead[0].System.DeadLetterReason != "why" || dead[0].System.DeadLetterDescription != "so" || dead[0].System.DeadLettered == nil {
		t.Errorf("a dead letter is %+v", dead)
	}
	w.want(404, "GET", "/export/nowhere", "", nil)
	w.want(400, "GET", "/export/q?state=dead", "", nil)
	w.want(400, "GET", "/export/q?nonsense=1", "", nil)
}

func (w *world) exported(path string) (all []exchange.Exported) {
	w.Helper()
	got, text := w.ask("GET", path, "")
	if got.StatusCode != 200 {
		w.Fatalf("GET %s: %d %s", path, got.StatusCode, text)
	}
	for d := json.NewDecoder(strings.NewReader(text)); ; {
		var x exchange.Exported
		if err := d.Decode(&x); err == io.EOF {
			return all
		} else if err != nil {
			w.Fatal(err)
		}
		all = append(all, x)
	}
}

func TestLargeBodiesAreExportedInParts(t *testing.T) {
	l := engine.DefaultLimits()
	l.MessageSize, l.BatchSize = 100<<20, 100<<20
	w := start(t, broker.Options{Limits: &l})
	for _, path := range []engine.Path{"from", "to"} {
		w.broker.CreateQueue(path, engine.Config{})
	}
	for _, size := range []int{exchange.PartSize, exchange.PartSize + 1, 9 << 20} {
		out := broker.Outgoing{Content: engine.Content{MessageID: fmt.Sprint(size)}, Body: bytes.Repeat([]byte{0xfe, 1}, size/2+1)[:size]}
		w.broker.SendMessages("from", out)
	}
	spoken, err := codec.DecodeMessage([]byte("\x00\x53\x77\xb1\x00\x20\x00\x00" + strings.Repeat("ab", exchange.PartSize)))
	if err != nil {
		t.Fatal(err)
	}
	w.broker.SendMessages("from", spoken)
	_, lines := w.ask("GET", "/export/from", "")
	if n := strings.Count(lines, "\n"); n != 3+2+9+4 {
		t.Errorf("got %d lines", n)
	}
	for line := range strings.SplitSeq(lines, "\n") {
		if len(line) > origin.MaxBody {
			t.Errorf("a line has %d bytes", len(line))
		}
	}
	var done Imported
	w.want(200, "POST", "/import/to", lines, &done)
	if d := cmp.Diff(w.twins("from"), w.twins("to")); d != "" || done.Imported != 4 {
		t.Errorf("imported %+v\n%s", done, d[:min(len(d), 2000)])
	}
	cut := lines[:strings.LastIndex(strings.TrimSpace(lines), "\n")+1]
	before := w.everything()
	w.want(400, "POST", "/import/nowhere2?ids=other", cut, nil)
	if got := w.everything(); got != before {
		t.Error("a refused import changed something")
	}
	got, text := w.ask("POST", "/import/to", cut)
	if got.StatusCode != 400 || !strings.Contains(text, "before the body of a message does") || !strings.Contains(text, "3 messages before it were imported") {
		t.Errorf("an incomplete body: %d %s", got.StatusCode, text)
	}
	if n := w.entity("to").Counts.Active; n != 7 {
		t.Errorf("got %d messages, want 7", n)
	}
}

func TestImportRemapsTimes(t *testing.T) {
	const at = `"key":"1","path":"p","sequenceNumber":1,"enqueuedSequenceNumber":1,"deliveryCount":0,"size":0,"enqueuedTime":"2026-01-01T00:00:00Z"`
	expired := `{"messageId":"a","timeToLive":"PT1H","system":{` + at + `,"state":"active","expiresAt":"2026-01-01T01:00:00Z","exportedAt":"2026-01-01T00:30:00Z"}}`
	future := `{"messageId":"a","timeToLive":"PT1H","system":{` + at + `,"state":"active","expiresAt":"2091-01-01T01:00:00Z","exportedAt":"2026-01-01T00:30:00Z"}}`
	waits := `{"messageId":"a","scheduledEnqueueTime":"2089-01-01T00:00:00Z","system":{` + at + `,"state":"scheduled","scheduledFor":"2090-01-01T00:00:00Z","exportedAt":"2026-01-01T00:00:00Z"}}`
	for name, tc := range map[string]struct {
		query, line string
		want        Imported
		check       func(m exchange.Exported) bool
	}{
		"kept":                      {"", expired, Imported{Imported: 1}, func(m exchange.Exported) bool { return m.TimeToLive == "PT1H" && m.MessageID == "a" }},
		"without a time to live":    {"?ttl=drop", expired, Imported{Imported: 1}, func(m exchange.Exported) bool { return m.TimeToLive == "" && m.System.ExpiresAt == nil }},
		"nothing left":              {"?ttl=remaining", expired, Imported{Expired: 1}, nil},
		"what is left":              {"?ttl=remaining", future, Imported{Imported: 1}, func(m exchange.Exported) bool { return m.System.ExpiresAt.Year() == 2091 }},
		"a schedule that was moved": {"", waits, Imported{Imported: 1}, func(m exchange.Exported) bool { return m.System.ScheduledFor.Year() == 2090 }},
		"a schedule shifted": {"?schedule=shift", waits, Imported{Imported: 1}, func(m exchange.Exported) bool {
			return m.System.ScheduledFor.After(time.Date(2090, 1, 2, 0, 0, 0, 0, time.UTC))
		}},
		"a schedule dropped": {"?schedule=drop&ttl=remaining", waits, Imported{Imported: 1}, func(m exchange.Exported) bool { return m.System.State == "active" }},
		"another id":         {"?ids=new", expired, Imported{Imported: 1}, func(m exchange.Exported) bool { return m.MessageID != "a" && m.MessageID != "" }},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t, broker.Options{})
			w.want(201, "POST", "/entities", `{"kind":"queue","path":"q"}`, nil)
			var done Imported
			w.want(200, "POST", "/import/q"+tc.query, "\n"+tc.line+"\n\n", &done)
			if d := cmp.Diff(tc.want, done); d != "" {
				t.Error(d)
			}
			switch all := w.exported("/export/q"); {
			case tc.check == nil && len(all) != 0, tc.check != nil && (len(all) != 1 || !tc.check(all[0])):
				t.Errorf("got %+v", all)
			}
		})
	}
}

func TestImportReportsWhatItIgnored(t *testing.T) {
	w := start(t, broker.Options{})
	w.want(201, "POST", "/entities", `{"kind":"queue","path":"q","properties":{"RequiresSession":true,"RequiresDuplicateDetection":true}}`, nil)
	var done Imported
	w.want(200, "POST", "/import/q", `{"sessionId":"s","messageId":"1"}
{"messageId":"2"}
{"sessionId":"s","messageId":"1"}
{"sessionId":"s","messageId":"3"}`, &done)
	if done.Imported != 2 || done.Duplicates != 1 || done.Failed != 1 || len(done.Failures) != 1 || done.Failures[0].Line != 2 || done.Failures[0].Code != "InvalidOperation" {
		t.Errorf("got %+v", done)
	}
	for line, want := range map[string]string{
		`{"nonsense":1}`:                                                                    "nonsense",
		`{"sessionId":"s","bodyKind":"thing"}`:                                              "kind of a body",
		`{"sessionId":"s","amqp":"CQX"}`:                                                    "base64",
		`{"sessionId":"s","amqp":"CQVh"}`:                                                   "AMQP",
		`{"sessionId":"s","content":"!"}`:                                                   "content",
		`{"sessionId":"s","body":"1","bodyParts":2}`:                                        "not both",
		`{"sessionId":"s","bodyParts":-2}`:                                                  "bodyParts",
		`{"sessionId":"s","bodyKind":"value","body":"no"}`:                                  "AMQP",
		`{"sessionId":"s","timeToLive":"-never"}`:                                           "timeToLive",
		`{"sessionId":"s","bodyParts":1}` + "\n" + `{}`:                                     "part of a body is missing",
		`{"sessionId":"s","bodyParts":1}` + "\n" + `{"part":"!"}`:                           "base64",
		`{"sessionId":"s","bodyKind":"value","bodyParts":1}` + "\n" + `{"part":"/////w=="}`: "AMQP",
		`[]`: "wrong type",
	} {
		got, text := w.ask("POST", "/import/q", `{"sessionId":"s"}`+"\n"+line)
		if got.StatusCode != 400 || !strings.Contains(text, want) || !strings.Contains(text, "Line ") {
			t.Errorf("%s: got %d %s, want something about %q", line, got.StatusCode, text, want)
		}
	}
	got, text := w.ask("POST", "/import/q?ttl=remaining", `{"sessionId":"s"}`)
	if got.StatusCode != 400 || !strings.Contains(text, "system") {
		t.Errorf("without the times: %d %s", got.StatusCode, text)
	}
	if got, text := w.ask("POST", "/import/q", `{"sessionId":"`+strings.Repeat("s", origin.MaxBody)+`"}`); got.StatusCode != 413 || !strings.Contains(text, "Line 1") {
		t.Errorf("a long line: %d %s", got.StatusCode, text)
	}
	for _, query := range []string{"?ttl=other", "?schedule=later", "?ids=", "?what=1"} {
		w.want(400, "POST", "/import/q"+query, "", nil)
	}
	w.want(404, "POST", "/import/nowhere", "", nil)
}
