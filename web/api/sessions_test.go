package api

import (
	"strings"
	"testing"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/webtest"
)

func TestSessions(t *testing.T) {
	w := start(t, broker.Options{})
	w.want(201, "POST", "/entities", `{"kind":"queue","path":"q","properties":{"RequiresSession":true}}`, nil)
	w.want(201, "POST", "/send/q", `[{"sessionId":"a","messageId":"a1"},{"sessionId":"b","messageId":"b1"},{"sessionId":"a","messageId":"a2"}]`, nil)
	w.want(400, "POST", "/send/q", `{}`, nil)    // MSG-9
	w.want(400, "POST", "/receive/q", `{}`, nil) // SES-13
	var first, second HeldSession
	w.want(201, "POST", "/accept-session/q", ``, &first)
	w.want(410, "POST", "/accept-session/q", `{"sessionId":"a"}`, nil)
	w.want(201, "POST", "/accept-session/q", `{"wait":"1s"}`, &second)
	w.want(408, "POST", "/accept-session/q", `{}`, nil)
	if first.Session != "a" || second.Session != "b" || first.SessionLockToken == second.SessionLockToken {
		t.Fatalf("got %+v and %+v", first, second)
	}
	var got Messages
	w.want(200, "POST", "/receive/q", `{"sessionLockToken":"`+first.SessionLockToken+`","limit":10}`, &got)
	if len(got.Messages) != 2 || got.Messages[0].MessageID != "a1" || *got.Messages[1].SessionID != "a" {
		t.Fatalf("got %+v", got)
	}
	w.want(204, "POST", "/settle", `{"lockToken":"`+got.Messages[0].LockToken+`","outcome":"complete"}`, nil)
	var renewed Renewed
	w.want(200, "POST", "/renew-lock", `{"sessionLockToken":"`+first.SessionLockToken+`"}`, &renewed)
	w.want(400, "POST", "/renew-lock", `{"sessionLockToken":"`+first.SessionLockToken+`","lockToken":"x"}`, nil)

	var all Sessions
	w.want(200, "GET", "/sessions/q?limit=1", "", &all)
	if len(all.Sessions) != 1 || all.Sessions[0].ID != "a" || all.Sessions[0].Locked != 1 || all.Sessions[0].LockedUntil == nil || all.Next != "b" {
		t.Errorf("got %+v", all)
	}
	w.want(200, "GET", "/sessions/q?from=b", "", &all)
	if len(all.Sessions) != 1 || all.Sessions[0].ID != "b" || all.Sessions[0].Active != 1 {
		t.Errorf("got %+v", all)
	}

	// Unsettled messages of a released session are available again, without a counted delivery
	// (SES-7).
	w.want(204, "DELETE", "/accept-session/q?sessionLockToken="+first.SessionLockToken, "", nil)
	w.want(410, "DELETE", "/accept-session/q?sessionLockToken="+first.SessionLockToken, "", nil)
	w.want(410, "POST", "/receive/q", `{"sessionLockToken":"`+first.SessionLockToken+`"}`, nil)
	w.want(201, "POST", "/accept-session/q", `{"sessionId":"a","mode":"receive-and-delete"}`, &first)
	got = Messages{}
	w.want(200, "POST", "/receive/q", `{"sessionLockToken":"`+first.SessionLockToken+`"}`, &got)
	if len(got.Messages) != 1 || got.Messages[0].MessageID != "a2" || got.Messages[0].DeliveryCount != 0 || got.Messages[0].LockToken != "" {
		t.Errorf("got %+v", got)
	}

	// A lock broken by an operator counts as a delivery of the messages held under it.
	w.want(200, "POST", "/receive/q", `{"sessionLockToken":"`+second.SessionLockToken+`"}`, nil)
	w.want(204, "DELETE", "/session/q?id=b", "", nil)
	webtest.Eventually(t, "the session's lock is broken", func() bool {
		a, _ := w.ask("POST", "/renew-lock", `{"sessionLockToken":"`+second.SessionLockToken+`"}`)
		return a.StatusCode == 410
	})
	w.want(201, "POST", "/accept-session/q", `{"sessionId":"b"}`, &second)
	w.want(200, "POST", "/receive/q", `{"sessionLockToken":"`+second.SessionLockToken+`"}`, &got)
	if len(got.Messages) != 1 || got.Messages[0].DeliveryCount != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestSessionState(t *testing.T) {
	w := start(t, broker.Options{})
	w.want(201, "POST", "/entities", `{"kind":"queue","path":"q","properties":{"RequiresSession":true}}`, nil)
	w.want(201, "POST", "/entities", `{"kind":"queue","path":"plain"}`, nil)
	const at = "/session/q?id=a%2Fb"
	state := func() (s Session) {
		w.Helper()
		w.want(200, "GET", at, "", &s)
		return s
	}
	if s := state(); s.ID != "a/b" || s.State != nil || s.StateSize != nil {
		t.Errorf("got %+v", s)
	}
	w.want(200, "PUT", at, `{"state":"step 3"}`, nil)
	if s := state(); *s.State != "step 3" || *s.StateSize != 6 || s.StateChangedAt == nil {
		t.Errorf("got %+v", s)
	}
	w.want(200, "PUT", at, `{"stateBase64":"/wA="}`, nil)
	if s := state(); s.State != nil || *s.StateBase64 != "/wA=" || *s.StateSize != 2 {
		t.Errorf("got %+v", s)
	}
	w.want(200, "PUT", at, `{"state":""}`, nil) // the empty text is a valid state
	if s := state(); s.State == nil || *s.StateSize != 0 {
		t.Errorf("got %+v", s)
	}
	for body, want := range map[string]int{
		`{"state":"x","stateBase64":"eA=="}`: 400, `{"stateBase64":"?"}`: 400, `{"stat":"x"}`: 400,
		`{"state":"` + strings.Repeat("x", int(engine.DefaultLimits().SessionStateSize)+1) + `"}`: 413,
	} {
		w.want(want, "PUT", at, body, nil)
	}
	if s := state(); s.State == nil || *s.StateSize != 0 {
		t.Errorf("a refused state was set: %+v", s)
	}
	w.want(200, "PUT", at, `{}`, nil)
	if s := state(); s.State != nil || s.StateSize != nil {
		t.Errorf("got %+v", s)
	}
	w.want(200, "PUT", at, `{"state":"one","ifStateTag":"none"}`, nil)
	w.want(409, "PUT", at, `{"state":"two","ifStateTag":"none"}`, nil)
	w.want(409, "PUT", at, `{"ifStateTag":""}`, nil)
	if s := state(); s.State == nil || *s.State != "one" || s.StateTag == "none" {
		t.Errorf("got %+v", s)
	}
	tag := state().StateTag
	w.want(200, "PUT", at, `{"state":"three","ifStateTag":"`+tag+`"}`, nil)
	w.want(409, "PUT", at, `{"ifStateTag":"`+tag+`"}`, nil)
	w.want(200, "PUT", at, `{"ifStateTag":"`+state().StateTag+`"}`, nil)
	if s := state(); s.State != nil || s.StateTag != "none" {
		t.Errorf("got %+v", s)
	}
	w.want(400, "GET", "/session/q", "", nil)
	w.want(400, "GET", "/session/plain?id=x", "", nil)
	w.want(400, "GET", "/sessions/plain", "", nil)
	w.want(404, "GET", "/sessions/none", "", nil)
	w.want(400, "GET", "/sessions/q?limit=0", "", nil)
}

func TestDuplicatesAreReported(t *testing.T) {
	w := start(t, broker.Options{})
	w.want(201, "POST", "/entities", `{"kind":"queue","path":"q","properties":{"RequiresDuplicateDetection":true}}`, nil)
	w.want(201, "POST", "/entities", `{"kind":"queue","path":"s","properties":{"RequiresSession":true}}`, nil)
	w.want(201, "POST", "/send/s", `{"sessionId":"a"}`, nil)
	var sent Sent
	w.want(201, "POST", "/send/q", `[{"messageId":"a"},{"messageId":"b"},{"messageId":"a"}]`, &sent)
	if len(sent.SequenceNumbers) != 3 || sent.SequenceNumbers[2] != 0 || sent.Duplicates != 1 {
		t.Errorf("got %+v; a duplicate has no number and is counted (DUP-2)", sent)
	}
	if e := w.entity("q"); e.Duplicates == nil || *e.Duplicates != (Duplicates{Dropped: 1, Remembered: 2}) || e.Sessions != nil {
		t.Errorf("got %+v", e.Duplicates)
	}
	if e := w.entity("s"); e.Duplicates != nil || e.Sessions == nil || *e.Sessions != 1 {
		t.Errorf("got %+v", e)
	}
}

// TestEmptySessionID: the empty string is a session id like others, and differs from null (SES-1).
func TestEmptySessionID(t *testing.T) {
	w := start(t, broker.Options{})
	w.want(201, "POST", "/entities", `{"kind":"queue","path":"q","properties":{"RequiresSession":true}}`, nil)
	w.want(400, "POST", "/send/q", `{"sessionId":null}`, nil) // MSG-9
	w.want(201, "POST", "/send/q", `{"sessionId":"","messageId":"m"}`, nil)
	var all Sessions
	w.want(200, "GET", "/sessions/q", "", &all)
	if len(all.Sessions) != 1 || all.Sessions[0].ID != "" || all.Sessions[0].Active != 1 {
		t.Errorf("got %+v", all)
	}
	var one Session
	w.want(200, "PUT", "/session/q?id=", `{"state":"x"}`, &one)
	if one.State == nil || *one.State != "x" {
		t.Errorf("got %+v", one)
	}
	w.want(400, "GET", "/session/q", "", nil)
	var h HeldSession
	w.want(201, "POST", "/accept-session/q", `{"sessionId":""}`, &h)
	var got Messages
	w.want(200, "POST", "/receive/q", `{"sessionLockToken":"`+h.SessionLockToken+`"}`, &got)
	if len(got.Messages) != 1 || got.Messages[0].SessionID == nil || *got.Messages[0].SessionID != "" {
		t.Errorf("got %+v", got)
	}
	w.want(204, "DELETE", "/session/q?id=", "", nil)
}
