package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"mayfly/views/sample"
	"mayfly/web/api"
)

// TestSamples runs the programs that pages show, of every kind that they show and
// in each language whose SDK is here, against a server. .NET's are not run.
func TestSamples(t *testing.T) {
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

// sampleTasks are what pages show programs for. Their entities are made for them.
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

// runSample runs a program, and sees that it received and completed what there
// was, or that what it sent is there.
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
		t.Errorf("it wrote %q; it is\n%s", out, p.Code)
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
		t.Errorf("it left %q; it is\n%s", bodies, p.Code)
	}
}
