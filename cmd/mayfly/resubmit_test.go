package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mayfly/web/api"
)

// One dead letter is sent again, changed in what --set and -p say and in nothing else
// (OPS-1, OPS-2).
func TestResubmitOne(t *testing.T) {
	s := serving(t, Config{Store: "memory:"})
	t.Setenv("MAYFLY_SERVER", s.Dashboard)
	run := func(exit int, in, out, complaint string, args ...string) {
		t.Helper()
		got, said, code := typed(t, in, args...)
		if code != exit || !strings.Contains(got, out) || out == "" && got != "" || !strings.Contains(said, complaint) {
			t.Errorf("%q: got %d %q %q, want %d %q %q", args, code, got, said, exit, out, complaint)
		}
	}
	counts := func(want api.Counts) {
		t.Helper()
		if c := entity(t, s, "orders").Counts; c != want {
			t.Fatalf("there are %+v, want %+v", c, want)
		}
	}
	last := func(in string) api.Message {
		t.Helper()
		var got struct{ Messages []api.Message }
		ask(t, s.Ready, "GET", "/peek/"+in+"?count=50", "", &got)
		return got.Messages[len(got.Messages)-1]
	}
	const sent = `{"messageId":"m-1","subject":"old","correlationId":"c","sessionId":"s","partitionKey":"s","to":"t","replyTo":"r","replyToSessionId":"rs","contentType":"text/plain","timeToLive":"1h","scheduledEnqueueTime":"2020-01-01T00:00:00Z","body":"wrong","properties":{"region":"us","n":{"type":"int","value":"3"}}}`
	run(exitOK, "", "later", "", "entities", "create", "queue", "later")
	run(exitOK, strings.Repeat(sent+"\n", 4), "4", "", "send", "orders", "--create", "--jsonl")
	run(exitOK, "", "wrong", "", "receive", "orders", "--max", "4", "--then", "dead-letter")
	counts(api.Counts{DeadLetter: 4})

	for _, tc := range []struct {
		exit int
		want string
		args []string
	}{
		{exitUsage, "for one message: --seq N says which", []string{"--set", "subject=new"}},
		{exitUsage, "for one message", []string{"-p", "region=eu", "--query", "subject:old"}},
		{exitUsage, "for one message", []string{"--copy"}},
		{exitUsage, "--query and --no-wait are for many", []string{"--seq", "1", "--query", "subject:old"}},
		{exitUsage, "is a sequence number, not -1", []string{"--seq=-1"}},
		{exitUsage, "is written KEY=VALUE", []string{"--seq", "1", "--set", "subject"}},
		{exitUsage, `--set knows at, body, content-type, correlation-id, message-id, partition-key, reply-to, reply-to-session-id, session-id, subject, to, ttl, not "label"`, []string{"--seq", "1", "--set", "label=x"}},
		{exitUsage, "is written NAME=VALUE", []string{"--seq", "1", "-p", "region"}},
		{exitUsage, "--at is a time", []string{"--seq", "1", "--set", "at=soon"}},
		{exitFailed, "read the body", []string{"--seq", "1", "--set", "body=@" + filepath.Join(t.TempDir(), "nothing")}},
		{exitNotFound, "no dead letter with the sequence number 9", []string{"--seq", "9"}},
		{exitNotFound, "'nowhere'", []string{"--seq", "1", "--to", "nowhere"}},
		{exitRefused, "timeToLive", []string{"--seq", "1", "--set", "ttl=soon"}},
		{exitRefused, "PartitionKey", []string{"--seq", "1", "--set", "partition-key=other"}},
	} {
		run(tc.exit, "", "", tc.want, append([]string{"resubmit", "orders"}, tc.args...)...)
	}
	run(exitOK, "", `"subject":"new"`, "Nothing is done", "resubmit", "orders", "--seq", "1", "--set", "subject=new", "--dry-run")
	counts(api.Counts{DeadLetter: 4})

	// As it was, but for its reasons.
	run(exitOK, "", "Message #4 was resubmitted to orders: #5.\n", "", "resubmit", "orders/$deadletterqueue", "--seq", "4")
	if m := last("orders"); m.ScheduledEnqueueTime != "" || *m.Body != "wrong" || m.MessageID != "m-1" || m.Subject != "old" || m.TimeToLive != "PT1H" && m.TimeToLive != "1h" || len(m.Properties) != 2 || *m.SessionID != "s" || m.ReplyToSessionID != "rs" {
		t.Errorf("it is %+v", m)
	}
	counts(api.Counts{Active: 1, DeadLetter: 3})

	file := filepath.Join(t.TempDir(), "fixed.json")
	if err := os.WriteFile(file, []byte(`{"total":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	run(exitOK, "", "Message #1 was resubmitted to orders: #6.\n", "", "resubmit", "orders", "--seq", "1", "--set", "subject=new", "--set", "ttl=2h", "--set", "message-id=m-2",
		"--set", "correlation-id=", "--set", "partition-key=", "--set", "session-id=z", "--set", "content-type=application/json", "--set", "to=t2", "--set", "reply-to=r2", "--set", "reply-to-session-id=rs2",
		"--set", "body=@"+file, "-p", "region=eu", "-p", "more=1.5")
	m := last("orders")
	if *m.Body != `{"total":1}` || m.MessageID != "m-2" || m.Subject != "new" || m.CorrelationID != "" || m.PartitionKey != "" || *m.SessionID != "z" || m.ContentType != "application/json" ||
		m.To != "t2" || m.ReplyTo != "r2" || m.ReplyToSessionID != "rs2" || m.ExpiresAt.Sub(m.EnqueuedTime).Hours() != 2 {
		t.Errorf("it is %+v", m)
	}
	for name, want := range map[string]string{"region": "eu", "n": "3", "more": "1.5"} {
		if v, _ := m.Properties.Lookup(name); v.Text() != want {
			t.Errorf("%s is %q", name, v.Text())
		}
	}
	run(exitOK, "from\xffpipe", `{"sequenceNumber":7}`, "", "resubmit", "orders", "--seq", "2", "--set", "body=@-", "--copy", "--json")
	if m := last("orders"); m.BodyBase64 == nil || *m.BodyBase64 != "ZnJvbf9waXBl" {
		t.Errorf("it is %+v", m)
	}
	counts(api.Counts{Active: 3, DeadLetter: 2})
	run(exitOK, "", "Message #2 was resubmitted as a copy to later: #1.\n", "", "resubmit", "orders", "--seq", "2", "--set", "at=1h", "--to", "later", "--copy")
}
