package api

import (
	"encoding/base64"
	"strings"
	"testing"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/auth/origin"
)

// TestLargeBodies: the response to a peek or a receive omits bodies over maxInlineBody, so that the
// server need not hold them in memory; a receive that deletes the message includes them.
func TestLargeBodies(t *testing.T) {
	l := engine.DefaultLimits()
	l.MessageSize, l.BatchSize = 100<<20, 100<<20
	w := start(t, broker.Options{Limits: &l})
	w.broker.CreateQueue("q", engine.Config{})
	w.want(413, "POST", "/send/q", `{"body":"`+strings.Repeat("x", origin.MaxBody)+`"}`, nil)
	limit, large := strings.Repeat("a", maxInlineBody), strings.Repeat("b", maxInlineBody+1)
	w.want(201, "POST", "/send/q", `[{"body":"`+limit+`"},{"body":"`+large+`"}]`, nil)
	var got Messages
	check := func(how string) {
		t.Helper()
		if len(got.Messages) != 2 {
			t.Fatalf("%s: %d messages", how, len(got.Messages))
		}
		if m := got.Messages[0]; m.BodyOmitted || m.Body == nil || *m.Body != limit {
			t.Errorf("%s: a body of exactly the limit is omitted", how)
		}
	}
	w.want(200, "GET", "/peek/q", "", &got)
	check("peek")
	if m := got.Messages[1]; !m.BodyOmitted || m.Body != nil || m.BodyBase64 != nil || m.Size != maxInlineBody+1 {
		t.Error("peek: the response has a large body")
	}
	got = Messages{}
	w.want(200, "POST", "/receive/q", `{"limit":2}`, &got)
	check("receive")
	if m := got.Messages[1]; !m.BodyOmitted || m.Body != nil || m.BodyBase64 != nil {
		t.Error("receive: the response has a large body")
	}
	for _, m := range got.Messages {
		w.want(204, "POST", "/settle", `{"lockToken":"`+m.LockToken+`","outcome":"abandon"}`, nil)
	}
	got = Messages{}
	w.want(200, "POST", "/receive/q", `{"limit":2,"mode":"receive-and-delete"}`, &got)
	check("receive and delete")
	if m := got.Messages[1]; m.BodyOmitted || m.BodyBase64 == nil || *m.BodyBase64 != base64.StdEncoding.EncodeToString([]byte(large)) {
		t.Error("receive and delete: a large body was lost")
	}
}
