package api

import (
	"strings"
	"testing"

	"mayfly/engine/broker"
)

// TestEdit: the new message has the given properties and keeps the body unless another is
// given; the original is removed in the same step, or stays.
func TestEdit(t *testing.T) {
	w := start(t, broker.Options{})
	w.want(201, "POST", "/entities", `{"kind":"queue","path":"q","properties":{"RequiresDuplicateDetection":true}}`, nil)
	w.want(201, "POST", "/entities", `{"kind":"queue","path":"r"}`, nil)
	w.want(201, "POST", "/send/q", `[{"messageId":"a","subject":"s","bodyBase64":"/wA=","properties":{"p":1,"q":2}},{"messageId":"b","body":"b"}]`, nil)
	var at Messages
	w.want(200, "GET", "/peek/q", "", &at)
	a, b := at.Messages[0].Key, at.Messages[1].Key
	var got ResubmitResult
	w.want(200, "POST", "/resubmit", `{"key":"`+a+`","to":"r","copy":true,"keepProperties":true,"message":{"messageId":"c","properties":{"q":3}}}`, &got)
	at = Messages{}
	w.want(200, "GET", "/peek/r", "", &at)
	m := at.Messages[0]
	if got.SequenceNumber != 1 || m.MessageID != "c" || m.Subject != "" || *m.BodyBase64 != "/wA=" || len(m.Properties) != 2 || m.Properties[1].Value.Text() != "3" || w.entity("q").Counts.Active != 2 {
		t.Errorf("got %+v, at %d", m, got.SequenceNumber)
	}
	w.want(200, "POST", "/resubmit", `{"key":"`+b+`","message":{"messageId":"d","body":""}}`, &got)
	at = Messages{}
	w.want(200, "GET", "/peek/q?from=3", "", &at)
	if m := at.Messages[0]; got.SequenceNumber != 3 || m.MessageID != "d" || m.Size != 0 || w.entity("q").Counts.Active != 2 {
		t.Errorf("got %+v, at %d", m, got.SequenceNumber)
	}
	before := w.everything()
	for name, tc := range map[string]struct {
		body   string
		status int
		text   string
	}{
		"a duplicate":  {`{"key":"` + a + `","message":{"messageId":"d"}}`, 400, "has received the MessageId 'd'"},
		"gone":         {`{"key":"` + b + `","message":{}}`, 404, ""},
		"nowhere":      {`{"key":"` + a + `","to":"x","message":{}}`, 404, "'x'"},
		"no key":       {`{"key":"x","message":{}}`, 400, "not the key"},
		"dead letters": {`{"key":"` + a + `","to":"r/$DeadLetterQueue","message":{}}`, 400, "dead-letter queue"},
	} {
		var p Problem
		if w.want(tc.status, "POST", "/resubmit", tc.body, &p); !strings.Contains(p.Detail, tc.text) {
			t.Errorf("%s: %s", name, p.Detail)
		}
	}
	if after := w.everything(); after != before {
		t.Errorf("something was changed: %s", after)
	}
	w.want(200, "POST", "/resubmit", `{"key":"`+a+`","dropDuplicate":true,"message":{"messageId":"d"}}`, &got)
	if !got.Duplicate || w.entity("q").Counts.Active != 1 {
		t.Errorf("got %+v", got)
	}
}
