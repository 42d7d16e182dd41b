package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine/longtest"
	"mayfly/views/component"
	"mayfly/views/sample"
	"mayfly/web/api"
)

// TestSamples runs the code samples of pages, of every kind and in each language whose SDK is
// installed, with a server. .NET's are not run.
func TestSamples(t *testing.T) {
	longtest.Require(t, "the programs that pages show")
	t.Parallel()
	for called, l := range languages() {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			l.installed(t)
			s := start(t, "--store", "memory:")
			for name, task := range sampleTasks() {
				task.Connection = s.connection()
				for _, p := range sample.Programs(task) {
					if p.Language == called {
						t.Run(name, func(t *testing.T) { runSample(t, s, l, task, p) })
					}
				}
			}
		})
	}
}

// sampleTasks returns the tasks for which pages show samples. Their entities are created by the
// test.
func sampleTasks() map[string]sample.Task {
	return map[string]sample.Task{
		"queue":                   {Queue: "in/out", Sends: true, Receives: true},
		"queue that only takes":   {Queue: "in", Sends: true},
		"queue that only gives":   {Queue: "out", Receives: true},
		"queue of sessions":       {Queue: "sessions", InSession: true, Session: "customer-1", Sends: true, Receives: true},
		"session":                 {Queue: "session", InSession: true, Session: "a\"b\\\n${x}é", Receives: true},
		"session without an id":   {Queue: "unnamed", InSession: true, Receives: true},
		"topic":                   {Topic: "news", Sends: true},
		"topic of sessions":       {Topic: "chats", InSession: true, Session: "customer-1", Sends: true},
		"subscription":            {Topic: "views", Subscriber: "all", Receives: true},
		"subscription, sessions":  {Topic: "talks", Subscriber: "all", InSession: true, Session: "customer-1", Receives: true},
		"topic and subscription":  {Topic: "letters", Subscriber: "all", Sends: true, Receives: true},
		"session of subscription": {Topic: "words", Subscriber: "all", InSession: true, Session: "customer-1", Sends: true, Receives: true},
	}
}

// TestSamplesSendAgain runs the samples of a message's page: each sends the same message, except
// for the widths of numbers if its SDK has only one, and for the parts that it says it omits.
// .NET's are not run.
func TestSamplesSendAgain(t *testing.T) {
	longtest.Require(t, "the programs that a message's page shows")
	t.Parallel()
	ids := sample.Message{
		Body: []byte("{\"n\": 1.10, \"s\": \"a\\\\b é 订\"}\n"), ID: "o-1", CorrelationID: "c", Subject: "it's \"so\"", ContentType: "application/json", To: "to",
		ReplyTo: "replies", ReplyToSession: "rs", InSession: true, Session: "s", PartitionKey: "s", TTL: 90 * time.Minute,
		Props: []component.Property{
			{Name: "text", Type: "string", Value: "ü\n\"x\""}, {Name: "on", Type: "boolean", Value: "true"}, {Name: "n", Type: "int", Value: "-5"},
			{Name: "l", Type: "long", Value: "9007199254740993"}, {Name: "d", Type: "double", Value: "1.5"}, {Name: "t", Type: "timestamp", Value: "2026-07-14T10:00:00.5Z"},
			{Name: "none", Type: "decimal32", Value: "1.1"},
		},
	}
	binary := sample.Message{Body: []byte{0, 0xff, '"'}, ID: "o-2", Due: time.Date(2099, 1, 2, 3, 4, 5, 0, time.UTC)}
	file := sample.Message{File: "message-3.bin", ID: "o-3"}
	for called, l := range languages() {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			l.installed(t)
			s := start(t, "--store", "memory:")
			s.create(t, "queue", "again", `{}`)
			for _, m := range []sample.Message{ids, binary, file} {
				for _, p := range sample.SendPrograms(sample.Task{Queue: "again", Connection: s.connection()}, m) {
					if p.Language == called {
						if m.File != "" {
							p.Code = strings.ReplaceAll(p.Code, m.File, strings.ReplaceAll(fileOf(t, m.File, "from a file"), `\`, `\\`))
						}
						l.run(t, s, p.Code)
					}
				}
			}
			var got api.Messages
			if err := json.Unmarshal(s.call(t, http.StatusOK, "GET", "/peek/again", ""), &got); err != nil {
				t.Fatal(err)
			}
			if len(got.Messages) != 3 {
				t.Fatalf("there are %d messages", len(got.Messages))
			}
			text := string(ids.Body)
			session, ttl := "s", "PT1H30M"
			want := api.Outgoing{MessageID: "o-1", CorrelationID: "c", Subject: ids.Subject, ContentType: ids.ContentType, To: "to", ReplyTo: "replies", ReplyToSessionID: "rs", SessionID: &session, PartitionKey: "s", TimeToLive: ttl, Body: &text}
			first := got.Messages[0].Outgoing
			seen := map[string]string{}
			for _, q := range first.Properties {
				seen[q.Name] = q.Value.Text()
			}
			first.Properties = nil
			if d := cmp.Diff(want, first); d != "" {
				t.Error(d)
			}
			wanted := map[string]string{"text": "ü\n\"x\"", "on": "true", "n": "-5", "l": "9007199254740993", "d": "1.5", "t": "2026-07-14T10:00:00.5Z"}
			if called == "JavaScript" || called == "Python" {
				delete(wanted, "l") // the sample documents that it omits this property
			}
			if d := cmp.Diff(wanted, seen); d != "" {
				t.Error(d)
			}
			if m := got.Messages[1]; m.BodyBase64 == nil || *m.BodyBase64 != "AP8i" || m.ScheduledEnqueueTime != "2099-01-02T03:04:05Z" {
				t.Errorf("the second is %+v", m)
			}
			if m := got.Messages[2]; m.Body == nil || *m.Body != "from a file" {
				t.Errorf("the third is %+v", m)
			}
		})
	}
}

// fileOf returns the path of a new file.
func fileOf(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// runSample runs a sample, and checks that it received and completed the messages, or that the
// messages it sent have arrived.
func runSample(t *testing.T, s *served, l language, task sample.Task, p sample.Sample) {
	properties := fmt.Sprintf(`{"RequiresSession":%t}`, task.InSession)
	at := task.Queue
	if at == "" {
		at = task.Topic + "/Subscriptions/all"
		s.create(t, "topic", task.Topic, `{}`)
		s.create(t, "subscription", at, properties)
	} else {
		s.create(t, "queue", at, properties)
	}
	hello := "hello from " + p.Language
	if !task.Sends {
		m := map[string]any{"body": hello}
		if task.InSession {
			m["sessionId"] = task.Session
		}
		body, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		s.call(t, http.StatusCreated, "POST", "/send/"+task.Queue+task.Topic, string(body))
	}
	out := l.run(t, s, p.Code)
	if task.Receives && !strings.HasPrefix(out, hello) {
		t.Errorf("the sample printed %q; it is\n%s", out, p.Code)
	}
	var left api.Messages
	if err := json.Unmarshal(s.call(t, http.StatusOK, "GET", "/peek/"+at, ""), &left); err != nil {
		t.Fatal(err)
	}
	var bodies, want []string
	for _, m := range left.Messages {
		bodies = append(bodies, *m.Body)
	}
	if !task.Receives {
		want = []string{hello}
		if l.json {
			want = []string{`"` + hello + `"`}
		}
	}
	if !slices.Equal(bodies, want) {
		t.Errorf("the sample sent %q; it is\n%s", bodies, p.Code)
	}
}
