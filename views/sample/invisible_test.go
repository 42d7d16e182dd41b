package sample_test

import (
	"encoding/json"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"
	"time"

	"mayfly/views/component"
	"mayfly/views/sample"
)

// unseen holds the invisible runes of texts: direction marks, joiners and zero-width
// spaces, fillers, and control characters of terminals.
const unseen = "\U000e0041\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c\u200b\u200c\u200d\u2060\ufeff\u00ad\u034f\u3164\u115f\x00\x1b\x07\x7f\u0085\u009b\r"

// TestProgramsHideNothing: the copied text equals the displayed text, and contains the
// message's values.
func TestProgramsHideNothing(t *testing.T) {
	bad := "a" + unseen + "z"
	m := sample.Message{
		Body: []byte(bad), ID: bad, CorrelationID: bad, Subject: bad, ContentType: bad, To: bad, ReplyTo: bad, ReplyToSession: bad, PartitionKey: bad,
		InSession: true, Session: bad, TTL: time.Minute, Due: time.Unix(1, 0),
		Props: []component.Property{
			{Name: bad, Value: bad, Type: "string"}, {Name: "x" + bad, Value: "1", Type: "decimal128"}, {Name: "y" + bad, Value: "1", Type: "odd"}, {Name: "z" + bad, Value: "9223372036854775807", Type: "long"}, {Name: "w" + bad, Value: "1", Type: "int"},
		},
	}
	task := sample.Task{Queue: "q", Connection: "Endpoint=sb://here;SharedAccessKeyName=" + bad, InSession: true, Session: bad, Sends: true, Receives: true}
	all := append(append(sample.SendPrograms(task, m), sample.Programs(task)...), sample.AcceptLines(task)...)
	all = append(append(all, sample.Scripts()...), sample.SendPrograms(sample.Task{Topic: bad}, sample.Message{File: bad})...)
	for _, s := range all {
		if i := strings.IndexFunc(s.Code, component.IsInvisible); i >= 0 {
			t.Errorf("%s hides %q in %q", s.Language, s.Code[i:min(len(s.Code), i+4)], s.Code[max(0, i-60):i])
		}
	}
	code := sample.SendPrograms(task, m)[0].Code
	if _, err := parser.ParseFile(token.NewFileSet(), "", code, 0); err != nil || strings.Count(code, `\u202e`) < 10 {
		t.Errorf("the Go program is invalid: %v\n%s", err, code)
	}
}

// TestSeenJSON: the escaped JSON has the same meaning, and no invisible runes.
func TestSeenJSON(t *testing.T) {
	for _, text := range []string{"plain é 漢 👍", unseen, "\U000e0041\U000e007f tags", "quote \" and \\ back"} {
		raw, err := json.Marshal(map[string]string{text: text})
		if err != nil {
			t.Fatal(err)
		}
		seen := component.EscapeInvisibleJSON(string(raw))
		var got map[string]string
		if err := json.Unmarshal([]byte(seen), &got); err != nil || got[text] != text || !component.Copyable(seen) {
			t.Errorf("%q becomes %s: %v", text, seen, err)
		}
		text = strings.Map(func(r rune) rune {
			if r >= 0xe0000 { // which Go escapes differently
				return -1
			}
			return r
		}, text)
		if back, err := strconv.Unquote(component.Quoted(text)); err != nil || back != text {
			t.Errorf("%q as a literal: %q, %v", text, back, err)
		}
	}
}
