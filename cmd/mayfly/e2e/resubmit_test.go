package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mayfly/cmd/mayfly/cli"
	"mayfly/cmd/mayfly/server"
	"mayfly/web/api"
)

// TestResubmitOne checks that resubmitting one dead letter changes the properties of --set and -p,
// and no others (OPS-1, OPS-2).
func TestResubmitOne(t *testing.T) {
	s := Start(t, server.Config{Store: "memory:"})
	t.Setenv("MAYFLY_SERVER", s.Dashboard)
	run := func(exit int, in, out, complaint string, args ...string) {
		t.Helper()
		got, said, code := RunCommand(t, in, args...)
		if code != exit || !strings.Contains(got, out) || out == "" && got != "" || !strings.Contains(said, complaint) {
			t.Errorf("%q: got %d %q %q, want %d %q %q", args, code, got, said, exit, out, complaint)
		}
	}
	counts := func(want api.Counts) {
		t.Helper()
		if c := Entity(t, s, "orders").Counts; c != want {
			t.Fatalf("got %+v, want %+v", c, want)
		}
	}
	last := func(in string) api.Message {
		t.Helper()
		var got struct{ Messages []api.Message }
		RequestJSON(t, s.Ready, "GET", "/peek/"+in+"?limit=50", "", &got)
		return got.Messages[len(got.Messages)-1]
	}
	const sent = `{"messageId":"m-1","subject":"old","correlationId":"c","sessionId":"s","partitionKey":"s","to":"t","replyTo":"r","replyToSessionId":"rs","contentType":"text/plain","timeToLive":"1h","scheduledEnqueueTime":"2020-01-01T00:00:00Z","body":"wrong","properties":{"region":"us","n":{"type":"int","value":"3"}}}`
	run(cli.ExitOK, "", "later", "", "entities", "create", "queue", "later")
	run(cli.ExitOK, strings.Repeat(sent+"\n", 4), "4", "", "send", "orders", "--create", "--jsonl")
	run(cli.ExitOK, "", "wrong", "", "receive", "orders", "--limit", "4", "--then", "dead-letter")
	counts(api.Counts{DeadLetter: 4})

	for _, tc := range []struct {
		exit int
		want string
		args []string
	}{
		{cli.ExitUsage, "require --sequence-number N", []string{"--set", "subject=new"}},
		{cli.ExitUsage, "require --sequence-number N", []string{"-p", "region=eu", "--query", "subject:old"}},
		{cli.ExitUsage, "require --sequence-number N", []string{"--copy"}},
		{cli.ExitUsage, "without --query or --no-wait", []string{"--sequence-number", "1", "--query", "subject:old"}},
		{cli.ExitUsage, "must be a positive sequence number, not -1", []string{"--sequence-number=-1"}},
		{cli.ExitUsage, "must be KEY=VALUE", []string{"--sequence-number", "1", "--set", "subject"}},
		{cli.ExitUsage, `the keys of --set are at, body, content-type, correlation-id, message-id, partition-key, reply-to, reply-to-session-id, session-id, subject, to, ttl, not "label"`, []string{"--sequence-number", "1", "--set", "label=x"}},
		{cli.ExitUsage, "must be NAME=VALUE", []string{"--sequence-number", "1", "-p", "region"}},
		{cli.ExitUsage, "--at must be a time", []string{"--sequence-number", "1", "--set", "at=soon"}},
		{cli.ExitFailed, "read the body", []string{"--sequence-number", "1", "--set", "body=@" + filepath.Join(t.TempDir(), "nothing")}},
		{cli.ExitNotFound, "no dead letter with the sequence number 9", []string{"--sequence-number", "9"}},
		{cli.ExitNotFound, "'nowhere'", []string{"--sequence-number", "1", "--to", "nowhere"}},
		{cli.ExitRefused, "timeToLive", []string{"--sequence-number", "1", "--set", "ttl=soon"}},
		{cli.ExitRefused, "PartitionKey", []string{"--sequence-number", "1", "--set", "partition-key=other"}},
	} {
		run(tc.exit, "", "", tc.want, append([]string{"resubmit", "orders"}, tc.args...)...)
	}
	run(cli.ExitOK, "", `"subject":"new"`, "Nothing was done", "resubmit", "orders", "--sequence-number", "1", "--set", "subject=new", "--dry-run")
	counts(api.Counts{DeadLetter: 4})

	// Without options, everything but the dead-letter reason and description is kept.
	run(cli.ExitOK, "", "Message #4 was resubmitted to orders: #5.\n", "", "resubmit", "orders/$deadletterqueue", "--sequence-number", "4")
	if m := last("orders"); m.ScheduledEnqueueTime != "" || *m.Body != "wrong" || m.MessageID != "m-1" || m.Subject != "old" || m.TimeToLive != "PT1H" && m.TimeToLive != "1h" || len(m.Properties) != 2 || *m.SessionID != "s" || m.ReplyToSessionID != "rs" {
		t.Errorf("got %+v", m)
	}
	counts(api.Counts{Active: 1, DeadLetter: 3})

	file := filepath.Join(t.TempDir(), "fixed.json")
	if err := os.WriteFile(file, []byte(`{"total":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	run(cli.ExitOK, "", "Message #1 was resubmitted to orders: #6.\n", "", "resubmit", "orders", "--sequence-number", "1", "--set", "subject=new", "--set", "ttl=2h", "--set", "message-id=m-2",
		"--set", "correlation-id=", "--set", "partition-key=", "--set", "session-id=z", "--set", "content-type=application/json", "--set", "to=t2", "--set", "reply-to=r2", "--set", "reply-to-session-id=rs2",
		"--set", "body=@"+file, "-p", "region=eu", "-p", "more=1.5")
	m := last("orders")
	if *m.Body != `{"total":1}` || m.MessageID != "m-2" || m.Subject != "new" || m.CorrelationID != "" || m.PartitionKey != "" || *m.SessionID != "z" || m.ContentType != "application/json" ||
		m.To != "t2" || m.ReplyTo != "r2" || m.ReplyToSessionID != "rs2" || m.ExpiresAt.Sub(m.EnqueuedTime).Hours() != 2 {
		t.Errorf("got %+v", m)
	}
	for name, want := range map[string]string{"region": "eu", "n": "3", "more": "1.5"} {
		if v, _ := m.Properties.Lookup(name); v.Text() != want {
			t.Errorf("%s is %q", name, v.Text())
		}
	}
	run(cli.ExitOK, "from\xffpipe", `{"sequenceNumber":7}`, "", "resubmit", "orders", "--sequence-number", "2", "--set", "body=@-", "--copy", "--json")
	if m := last("orders"); m.BodyBase64 == nil || *m.BodyBase64 != "ZnJvbf9waXBl" {
		t.Errorf("got %+v", m)
	}
	counts(api.Counts{Active: 3, DeadLetter: 2})
	run(cli.ExitOK, "", "Message #2 was resubmitted as a copy to later: #1.\n", "", "resubmit", "orders", "--sequence-number", "2", "--set", "at=1h", "--to", "later", "--copy")
}
