package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"mayfly/engine/broker"
	"mayfly/engine/template"
)

// TestRepeat: a request with the seed of a dry run sends the messages that the dry run returned,
// random values included.
func TestRepeat(t *testing.T) {
	w := start(t, broker.Options{})
	w.want(201, "POST", "/entities", `{"kind":"queue","path":"q","properties":{"RequiresDuplicateDetection":true}}`, nil)
	const message = `"message":{"messageId":"m{{n%3}}","subject":"s{{n}}","body":"{{uuid}}","timeToLive":"{{n}}m","repeat":4,"properties":[{"name":"p","type":"int","value":"{{n}}"},{"name":"q","value":"x"}]}`
	var dry, got Repeated
	w.want(200, "POST", "/repeat/q", `{`+message+`,"dryRun":true}`, &dry)
	if n := w.entity("q").Counts.Active; n != 0 || dry.Sent != 0 || dry.Count != 4 || len(dry.Messages) != 3 || dry.Messages[2].Subject != "s3" || dry.Messages[0].TimeToLive != "PT1M" {
		t.Fatalf("got %d messages in the dry run %+v", n, dry)
	}
	w.want(200, "POST", "/repeat/q", `{`+message+`,"seed":"`+dry.Seed+`"}`, &got)
	if got.Sent != 3 || got.Duplicates != 1 || got.First != 1 || got.Last != 3 || got.Seed != dry.Seed || got.Job != nil { // m1 is a duplicate: DUP-2
		t.Errorf("sent %+v", got)
	}
	var peeked Messages
	w.want(200, "GET", "/peek/q", "", &peeked)
	for i, m := range peeked.Messages {
		if *m.Body != *dry.Messages[i].Body || fmt.Sprint(m.Properties) != fmt.Sprint(dry.Messages[i].Properties) {
			t.Errorf("message %d is %+v, but the dry run had %+v", i+1, m.Outgoing, dry.Messages[i])
		}
	}
	w.want(200, "POST", "/repeat/q", `{"message":{"body":"{{as it is}}"}}`, &got)
	w.want(200, "GET", "/peek/q?from=4", "", &peeked)
	if *peeked.Messages[0].Body != "{{as it is}}" {
		t.Errorf("a single message is %q", *peeked.Messages[0].Body)
	}
}

func TestRepeatByJob(t *testing.T) {
	w := start(t, broker.Options{})
	w.want(201, "POST", "/entities", `{"kind":"queue","path":"q"}`, nil)
	var got Repeated
	w.want(200, "POST", "/repeat/q", `{"message":{"body":"{{n}}","repeat":1001}}`, &got)
	if got.Job == nil || got.Job.Kind != "send" || got.Job.To != "q" || got.Count != 1001 || got.Sent != 0 {
		t.Fatalf("got %+v", got)
	}
	var is Job
	w.want(200, "GET", fmt.Sprintf("/jobs/%d?wait=20s", got.Job.ID), "", &is)
	if is.State != "done" || is.Counts.Done != 1001 || !is.Undoable {
		t.Errorf("the job is %+v", is)
	}
}

func TestTemplates(t *testing.T) {
	w := start(t, broker.Options{})
	w.want(201, "POST", "/entities", `{"kind":"queue","path":"q"}`, nil)
	const whole = `{"messageId":"m{{n}}","sessionId":"","partitionKey":"k","correlationId":"c","subject":"s","to":"t","replyTo":"r","replyToSessionId":"rs","contentType":"a/b","timeToLive":"5m",` +
		`"delay":"1s","properties":[{"name":"p","type":"int","value":"1"}],"body":"b","repeat":2,"every":"PT1S","placeholders":true}`
	var kept, got Template
	w.want(200, "PUT", "/templates/late%20orders", whole, &kept)
	w.want(200, "GET", "/templates/late%20orders", "", &got)
	raw, err := json.Marshal(got.Message)
	if err != nil || string(raw) != whole || got.Name != "late orders" || !kept.UpdatedAt.Equal(got.UpdatedAt) {
		t.Errorf("got %s %v", raw, err)
	}
	w.want(200, "PUT", "/templates/b", `{"bodyBase64":"/w=="}`, nil)
	var all Templates
	w.want(200, "GET", "/templates", "", &all)
	if len(all.Templates) != 2 || all.Templates[0].Name != "b" {
		t.Errorf("got %+v", all)
	}
	var sent Repeated
	w.want(200, "POST", "/repeat/q", `{"template":"late orders","message":{"subject":"other","sessionId":"k","delay":"0s","properties":[{"name":"p","value":"two"},{"name":"q","value":"3"}]},"dryRun":true}`, &sent)
	if m := sent.Messages[0]; sent.Count != 2 || m.Subject != "other" || m.MessageID != "m1" || m.ScheduledEnqueueTime != "" || *m.Body != "b" || fmt.Sprint(m.Properties) != "[{p two} {q 3}]" {
		t.Errorf("with other fields than the template: %+v", m)
	}
	w.want(204, "DELETE", "/templates/b", "", nil)
	before := w.everything()
	for name, tc := range map[string]struct {
		method, path, body string
		status             int
		code, part, text   string
	}{
		"a wrong placeholder":  {"POST", "/repeat/q", `{"message":{"subject":"{{x}}","repeat":2}}`, 400, "Argument", "subject", "The placeholder {{x}} does not exist"},
		"a wrong property":     {"POST", "/repeat/q", `{"message":{"properties":[{"name":"p","type":"int","value":"x"}]}}`, 400, "Argument", "properties", "Properties 1: "},
		"too often":            {"POST", "/repeat/q", `{"message":{"repeat":100001}}`, 400, "Argument", "repeat", "1 to 100000 times"},
		"no duration":          {"POST", "/repeat/q", `{"message":{"every":"soon"}}`, 400, "Argument", "", "'every' is not a duration"},
		"no seed":              {"POST", "/repeat/q", `{"message":{},"seed":"12"}`, 400, "Argument", "", "32 hexadecimal digits"},
		"nothing":              {"POST", "/repeat/q", `{}`, 400, "Argument", "", "The request has no message"},
		"no template":          {"POST", "/repeat/q", `{"template":"b"}`, 404, "TemplateNotFound", "", "The template does not exist"},
		"an id too long":       {"POST", "/repeat/q", `{"message":{"messageId":"` + strings.Repeat("x", 128) + `{{n}}","repeat":2}}`, 400, "Argument", "", "MessageId has 129"},
		"two bodies":           {"POST", "/repeat/q", `{"message":{"body":"","bodyBase64":""}}`, 400, "Argument", "", "not both"},
		"nowhere":              {"POST", "/repeat/nowhere", `{"message":{}}`, 404, "MessagingEntityNotFound", "", "could not be found"},
		"to dead letters":      {"POST", "/repeat/q/$DeadLetterQueue", `{"message":{}}`, 400, "InvalidOperation", "", "cannot be sent"},
		"too large for a job":  {"POST", "/repeat/q", `{"message":{"body":"` + strings.Repeat("x", 65<<10) + `","repeat":1001}}`, 413, "MessageSizeExceeded", "", "larger than 64 KiB"},
		"a template too large": {"PUT", "/templates/x", `{"body":"` + strings.Repeat("x", template.MaxTemplateBytes) + `"}`, 413, "MessageSizeExceeded", "", "the maximum is"},
		"a template's name":    {"PUT", "/templates/a%2Fb", `{}`, 400, "Argument", "", "no slash"},
		"a wrong template":     {"PUT", "/templates/x", `{"body":"{{","placeholders":true}`, 400, "Argument", "body", "not closed by }}"},
		"delete what is not":   {"DELETE", "/templates/b", "", 404, "TemplateNotFound", "", "The template does not exist"},
	} {
		var p Problem
		w.want(tc.status, tc.method, tc.path, tc.body, &p)
		if p.Code != tc.code || p.Part != tc.part || !strings.Contains(p.Detail, tc.text) {
			t.Errorf("%s: %+v", name, p)
		}
	}
	if after := w.everything(); after != before {
		t.Errorf("something was changed: %s", after)
	}
	for i := range template.MaxTemplates - 1 {
		w.want(200, "PUT", fmt.Sprint("/templates/", i), `{}`, nil)
	}
	w.want(403, "PUT", "/templates/more", `{}`, nil)
	w.want(200, "PUT", "/templates/7", `{"subject":"x"}`, nil)
}
