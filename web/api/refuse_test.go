package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// TestRefusals sends invalid input to the API: every field, with every kind of error. Refused
// requests change nothing.
func TestRefusals(t *testing.T) {
	limits := engine.DefaultLimits()
	limits.MessageSize, limits.BatchSize, limits.EntitySize, limits.MessageMemory = 1000, 1500, 1500, 0
	w := start(t, broker.Options{Limits: &limits})
	for _, e := range []string{
		`{"kind":"queue","path":"q"}`, `{"kind":"queue","path":"full"}`, `{"kind":"queue","path":"closed","properties":{"Status":"Disabled"}}`,
		`{"kind":"queue","path":"sessions","properties":{"RequiresSession":true}}`, `{"kind":"topic","path":"t"}`,
		`{"kind":"subscription","path":"t/Subscriptions/s"}`,
	} {
		w.want(201, "POST", "/entities", e, nil)
	}
	w.want(201, "POST", "/send/full", `[{"body":"`+strings.Repeat("x", 500)+`"},{"body":"`+strings.Repeat("x", 500)+`"}]`, nil)
	w.want(201, "POST", "/send/q", `{}`, nil)
	before := w.everything()
	const token = `"lockToken":"00000100-0000-0004-313a-c2f254f78bd3"`
	queue := func(properties string) string {
		return `{"kind":"queue","path":"new","properties":{` + properties + `}}`
	}

	for name, tc := range map[string]struct {
		method, path, body string
		status             int
		code, text         string
	}{
		"address: unknown":            {"GET", "/nowhere", "", 404, "NoSuchAddress", "Nothing is served at this address."},
		"method: wrong":               {"PUT", "/entities", "", 405, "HTTP", "This address accepts OPTIONS, GET, HEAD, POST, not PUT."},
		"query: unknown":              {"GET", "/entities?sort=name", "", 400, "Argument", "query parameter 'sort'; this address has kind, filter."},
		"query: one of several":       {"GET", "/peek/q?start=1", "", 400, "Argument", "query parameter 'start'; this address has from, limit, state."},
		"query: twice":                {"GET", "/entities?kind=queue&kind=topic", "", 400, "Argument", "'kind' is given 2 times"},
		"query: malformed":            {"GET", "/entities?kind=%zz", "", 400, "Argument", "The query cannot be decoded"},
		"kind: unknown":               {"GET", "/entities?kind=exchange", "", 400, "Argument", "not 'exchange'"},
		"entity: absent":              {"GET", "/entities/nowhere", "", 404, "MessagingEntityNotFound", "'nowhere' could not be found"},
		"entity: malformed":           {"GET", "/entities/a*b", "", 400, "Argument", "must not contain '*'"},
		"entity: empty":               {"GET", "/entities/", "", 400, "Argument", "must have 1 to 260 characters"},
		"entity: too long":            {"GET", "/entities/" + strings.Repeat("a", 261), "", 400, "Argument", "characters, not 261"},
		"delete: absent":              {"DELETE", "/entities/nowhere", "", 404, "MessagingEntityNotFound", "could not be found"},
		"delete: a dead-letter queue": {"DELETE", "/entities/q/$DeadLetterQueue", "", 400, "InvalidOperation", "has no properties of its own"},
		"delete: count malformed":     {"DELETE", "/entities/q?expectedCount=all", "", 400, "ArgumentOutOfRange", "not 'all'"},
		"delete: count negative":      {"DELETE", "/entities/q?expectedCount=-1", "", 400, "ArgumentOutOfRange", "not '-1'"},
		"delete: count has grown":     {"DELETE", "/entities/q?expectedCount=0", "", 409, "Changed", "now there are 1. Nothing was changed."},

		"create: no body":         {"POST", "/entities", "", 400, "Argument", "The kind is queue, topic or subscription, not ''"},
		"create: no JSON":         {"POST", "/entities", "kind=queue", 400, "Argument", "The JSON is not valid at byte 1"},
		"create: cut off":         {"POST", "/entities", `{"kind":"queue"`, 400, "Argument", "ends too early"},
		"create: a list":          {"POST", "/entities", `[]`, 400, "Argument", "wrong type: a list"},
		"create: trailing":        {"POST", "/entities", `{"kind":"queue","path":"new"} {}`, 400, "Argument", "Something follows"},
		"create: unknown member":  {"POST", "/entities", `{"kind":"queue","path":"new","colour":"red"}`, 400, "Argument", `Unknown field "colour".`},
		"create: wrong type":      {"POST", "/entities", `{"kind":5,"path":"new"}`, 400, "Argument", "'kind' has the wrong type: a number"},
		"create: deep":            {"POST", "/entities", strings.Repeat(`{"properties":`, 17), 400, "Argument", "nested more than 16 deep"},
		"create: too long":        {"POST", "/entities", strings.Repeat(" ", smallBody+1), 413, "MessageSizeExceeded", "more than 1048576 bytes"},
		"create: no path":         {"POST", "/entities", `{"kind":"queue"}`, 400, "Argument", "must have 1 to 260 characters"},
		"create: bad path":        {"POST", "/entities", `{"kind":"queue","path":"a b"}`, 400, "Argument", "must not contain ' '"},
		"create: exists":          {"POST", "/entities", `{"kind":"topic","path":"Q"}`, 409, "MessagingEntityAlreadyExists", "The queue 'q' already exists."},
		"create: wrong kind":      {"POST", "/entities", `{"kind":"queue","path":"t/subscriptions/x"}`, 400, "Argument", "not the path of a queue"},
		"create: short path":      {"POST", "/entities", `{"kind":"subscription","path":"t/x"}`, 400, "Argument", "A subscription's path is TOPIC/Subscriptions/NAME."},
		"create: no topic":        {"POST", "/entities", `{"kind":"subscription","path":"no/subscriptions/x"}`, 404, "MessagingEntityNotFound", "'no' could not be found"},
		"property: unknown":       {"POST", "/entities", queue(`"Colour":"red"`), 400, "Argument", "A queue has no property 'Colour'."},
		"property: of another":    {"POST", "/entities", `{"kind":"topic","path":"new","properties":{"LockDuration":"30s"}}`, 400, "Argument", "A topic has no property 'LockDuration'."},
		"property: twice":         {"POST", "/entities", queue(`"LockDuration":"30s","lockDuration":"31s"`), 400, "Argument", "'LockDuration' is given more than once"},
		"duration: a number":      {"POST", "/entities", queue(`"LockDuration":30`), 400, "Argument", "must be a duration in quotes"},
		"duration: malformed":     {"POST", "/entities", queue(`"LockDuration":"1hour"`), 400, "Argument", `The value for 'LockDuration' is not a duration: write it as PT1M30S, 90s, 1h30m or 7d, not "1hour".`},
		"duration: out of range":  {"POST", "/entities", queue(`"LockDuration":"6m"`), 400, "ArgumentOutOfRange", "exceeds the allowed maximum of '5' minutes"},
		"number: a text":          {"POST", "/entities", queue(`"MaxDeliveryCount":"many"`), 400, "Argument", "must be a whole number"},
		"number: a fraction":      {"POST", "/entities", queue(`"MaxDeliveryCount":1.5`), 400, "Argument", "must be a whole number"},
		"number: out of range":    {"POST", "/entities", queue(`"MaxDeliveryCount":0`), 400, "ArgumentOutOfRange", "between 1 and"},
		"number: a boolean":       {"POST", "/entities", queue(`"MaxDeliveryCount":true`), 400, "Argument", "must be a whole number, not true"},
		"switch: a number":        {"POST", "/entities", queue(`"RequiresSession":1`), 400, "Argument", "must be true or false, not 1"},
		"choice: unknown":         {"POST", "/entities", queue(`"Status":"Sleepy"`), 400, "Argument", "must be one of"},
		"text: too long":          {"POST", "/entities", queue(`"UserMetadata":"` + strings.Repeat("x", 1025) + `"`), 400, "ArgumentOutOfRange", "at most 1024 characters"},
		"text: an object":         {"POST", "/entities", queue(`"UserMetadata":{}`), 400, "Argument", "must be a string, not {}"},
		"forward: to nowhere":     {"POST", "/entities", queue(`"ForwardTo":"nowhere"`), 400, "Argument", "does not exist"},
		"update: absent":          {"PATCH", "/entities/nowhere", `{"properties":{"LockDuration":"30s"}}`, 404, "MessagingEntityNotFound", "could not be found"},
		"update: nothing":         {"PATCH", "/entities/q", `{}`, 400, "Argument", "The request has no properties to change"},
		"update: fixed":           {"PATCH", "/entities/q", `{"properties":{"RequiresSession":true}}`, 400, "Argument", "of an existing Queue cannot be changed"},
		"update: dry, fixed":      {"PATCH", "/entities/q?dryRun=true", `{"properties":{"RequiresSession":true}}`, 400, "Argument", "of an existing Queue cannot be changed"},
		"update: dry or not":      {"PATCH", "/entities/q?dryRun=no", `{"properties":{"LockDuration":"30s"}}`, 400, "Argument", "The value for 'dryRun' must be true"},
		"update: unknown":         {"PATCH", "/entities/q", `{"properties":{"Colour":"red"}}`, 400, "Argument", "no property 'Colour'"},
		"update: the path":        {"PATCH", "/entities/q", `{"path":"r","properties":{}}`, 400, "Argument", `Unknown field "path".`},
		"send: absent":            {"POST", "/send/nowhere", `{}`, 404, "MessagingEntityNotFound", "could not be found"},
		"send: nothing":           {"POST", "/send/q", ``, 400, "Argument", "The request has no message"},
		"send: an empty list":     {"POST", "/send/q", `[]`, 400, "Argument", "The batch contains no messages."},
		"send: a text":            {"POST", "/send/q", `"hello"`, 400, "Argument", "The request must be a message"},
		"send: unknown member":    {"POST", "/send/q", `{"text":"hello"}`, 400, "Argument", `Unknown field "text".`},
		"send: unknown in a list": {"POST", "/send/q", `[{},{"text":"hello"}]`, 400, "Argument", `Unknown field "text".`},
		"send: trailing":          {"POST", "/send/q", `{}{}`, 400, "Argument", "Something follows"},
		"send: wrong type":        {"POST", "/send/q", `{"body":5}`, 400, "Argument", "'body' has the wrong type: a number"},
		"send: two bodies":        {"POST", "/send/q", `{"body":"","bodyBase64":""}`, 400, "Argument", "not both"},
		"send: bad base64":        {"POST", "/send/q", `{"bodyBase64":"?"}`, 400, "Argument", "is not base64"},
		"send: bad duration":      {"POST", "/send/q", `{"timeToLive":"soon"}`, 400, "Argument", "'timeToLive' is not a duration"},
		"send: no time to live":   {"POST", "/send/q", `{"timeToLive":"0s"}`, 400, "ArgumentOutOfRange", "must be positive"},
		"send: bad time":          {"POST", "/send/q", `[{},{"scheduledEnqueueTime":"tomorrow"}]`, 400, "Argument", "Message 2: The value for 'scheduledEnqueueTime'"},
		"send: bad property":      {"POST", "/send/q", `{"properties":{"n":{"type":"int","value":"x"}}}`, 400, "Argument", "is not a value of type int"},
		"send: a list property":   {"POST", "/send/q", `{"properties":{"n":[1]}}`, 400, "Argument", "cannot be a list"},
		"send: id too long":       {"POST", "/send/q", `{"messageId":"` + strings.Repeat("x", 129) + `"}`, 400, "Argument", "The MessageId has 129 characters"},
		"send: too large":         {"POST", "/send/q", `{"body":"` + strings.Repeat("x", 1001) + `"}`, 413, "MessageSizeExceeded", "the maximum of 'q' is 1000"},
		"send: far too large":     {"POST", "/send/q", `{"body":"` + strings.Repeat("x", 1_100_000) + `"}`, 413, "MessageSizeExceeded", "The request has more than"},
		"send: too many":          {"POST", "/send/q", "[{}" + strings.Repeat(",{}", maxSend) + "]", 400, "ArgumentOutOfRange", "at most 5000"},
		"send: full":              {"POST", "/send/full", `{"body":"` + strings.Repeat("x", 800) + `"}`, 403, "QuotaExceeded", "The maximum entity size"},
		"send: disabled":          {"POST", "/send/closed", `{}`, 403, "MessagingEntityDisabled", "disabled for Send"},
		"send: no session":        {"POST", "/send/sessions", `{}`, 400, "InvalidOperation", "The SessionId was not set on a message"},
		"send: to dead letters":   {"POST", "/send/q/$DeadLetterQueue", `{}`, 400, "InvalidOperation", "cannot be sent to a dead-letter queue"},
		"send: create what":       {"POST", "/send/q?create=topic", `{}`, 400, "Argument", "not 'topic'"},
		"send: create badly":      {"POST", "/send/new?create=queue", `{"text":"x"}`, 400, "Argument", "Unknown field"},
		"send: create in nothing": {"POST", "/send/no/subscriptions/x?create=queue", `{}`, 400, "Argument", "not the path of a queue"},
		"peek: absent":            {"GET", "/peek/nowhere", "", 404, "MessagingEntityNotFound", "could not be found"},
		"peek: short path":        {"GET", "/peek/T/S/$DeadLetterQueue", "", 404, "MessagingEntityNotFound", "A subscription's path is TOPIC/Subscriptions/NAME: 't/Subscriptions/s'."},
		"peek: short, no such":    {"GET", "/peek/t/x", "", 404, "MessagingEntityNotFound", "'t/x' could not be found."},
		"peek: bad from":          {"GET", "/peek/q?from=x", "", 400, "ArgumentOutOfRange", "'from' must be a whole number from 1"},
		"peek: from zero":         {"GET", "/peek/q?from=0", "", 400, "ArgumentOutOfRange", "not '0'"},
		"peek: bad count":         {"GET", "/peek/q?limit=99999999999999999999", "", 400, "ArgumentOutOfRange", "'limit' must be a whole number"},
		"peek: disabled":          {"GET", "/peek/closed", "", 403, "MessagingEntityDisabled", "disabled for Receive"},
		"receive: absent":         {"POST", "/receive/nowhere", "", 404, "MessagingEntityNotFound", "could not be found"},
		"receive: from a topic":   {"POST", "/receive/t", "", 400, "InvalidOperation", "is a topic"},
		"receive: bad mode":       {"POST", "/receive/q", `{"mode":"steal"}`, 400, "Argument", "not 'steal'"},
		"receive: bad wait":       {"POST", "/receive/q", `{"wait":"-1s"}`, 400, "Argument", "'wait' is not a duration"},
		"receive: endless":        {"POST", "/receive/q", `{"wait":"never"}`, 400, "ArgumentOutOfRange", "up to 5m0s"},
		"receive: none":           {"POST", "/receive/q", `{"limit":0}`, 400, "ArgumentOutOfRange", "must be from 1 to"},
		"receive: negative":       {"POST", "/receive/q", `{"limit":-1}`, 400, "ArgumentOutOfRange", "must be from 1 to 250"},
		"receive: too many":       {"POST", "/receive/q", `{"limit":251}`, 400, "ArgumentOutOfRange", "must be from 1 to 250"},
		"receive: wrong type":     {"POST", "/receive/q", `{"limit":"1"}`, 400, "Argument", "'limit' has the wrong type"},
		"receive: unknown member": {"POST", "/receive/q", `{"count":1}`, 400, "Argument", `Unknown field "count".`},
		"receive: no such number": {"POST", "/receive/q", `{"sequenceNumbers":[99]}`, 404, "MessageNotFound", "Failed to lock"},
		"settle: nothing":         {"POST", "/settle", ``, 400, "Argument", "'' is not a lock token"},
		"settle: bad token":       {"POST", "/settle", `{"lockToken":"x","outcome":"complete"}`, 400, "Argument", "'x' is not a lock token"},
		"settle: unknown token":   {"POST", "/settle", `{` + token + `,"outcome":"complete"}`, 410, "MessageLockLost", "The lock supplied is invalid."},
		"settle: bad outcome":     {"POST", "/settle", `{` + token + `,"outcome":"explode"}`, 400, "Argument", "not 'explode'"},
		"settle: stray reason":    {"POST", "/settle", `{` + token + `,"outcome":"complete","reason":"x"}`, 400, "Argument", "require the outcome dead-letter"},
		"settle: stray property":  {"POST", "/settle", `{` + token + `,"outcome":"release","properties":{"a":1}}`, 400, "Argument", "requires the outcome abandon"},
		"settle: query":           {"POST", "/settle?x=1", `{` + token + `,"outcome":"complete"}`, 400, "Argument", "query parameter 'x'; this address has no query parameters."},
		"renew: unknown token":    {"POST", "/renew-lock", `{` + token + `}`, 410, "MessageLockLost", "The lock supplied is invalid."},
		"renew: bad token":        {"POST", "/renew-lock", `{"lockToken":5}`, 400, "Argument", "'lockToken' has the wrong type"},
		"purge: absent":           {"POST", "/purge/nowhere", `{"states":["active"]}`, 404, "MessagingEntityNotFound", "could not be found"},
		"purge: nothing":          {"POST", "/purge/q", ``, 400, "Argument", "'states' is missing"},
		"purge: bad state":        {"POST", "/purge/q", `{"states":["locked"]}`, 400, "Argument", "not 'locked'"},
		"purge: twice":            {"POST", "/purge/q", `{"states":["active","active"]}`, 400, "Argument", "more than once"},
		"purge: negative":         {"POST", "/purge/q", `{"states":["active"],"expectedCount":-1}`, 400, "ArgumentOutOfRange", "must not be negative"},
		"purge: has grown":        {"POST", "/purge/q", `{"states":["active"],"expectedCount":0}`, 409, "Changed", "Nothing was changed"},
		"purge: bad filter":       {"POST", "/purge/q", `{"states":["active"],"filter":"price >"}`, 400, "Argument", "The filter is not valid: Expected a value at character 8, where the text ends"},
		"purge: empty filter":     {"POST", "/purge/q", `{"states":["active"],"filter":""}`, 400, "Argument", "The filter is not valid: Expected a value at character 1, where the text ends"},
		"purge: long filter":      {"POST", "/purge/q", `{"states":["active"],"filter":"n = '` + strings.Repeat("x", 1019) + `'"}`, 400, "Argument", "1025 characters; the maximum is 1024"},
		"purge: more match":       {"POST", "/purge/q", `{"states":["active"],"filter":"1 = 1","expectedCount":0}`, 409, "Changed", "Nothing was changed"},
		"purge: looked at only":   {"POST", "/purge/q", `{"states":["active"],"filter":"1 = 1","dryRun":"yes"}`, 400, "Argument", "'dryRun' has the wrong type"},
		"purge: of dead letters":  {"POST", "/purge/q/$DeadLetterQueue", `{"states":["active"]}`, 400, "Argument", "has no states"},
		"purge: of a topic's":     {"POST", "/purge/t", `{"states":["dead-letter"]}`, 400, "Argument", "A topic has no dead letters."},
		"purge: topic's queue":    {"POST", "/purge/t/$DeadLetterQueue", ``, 404, "MessagingEntityNotFound", "no dead-letter queue"},
	} {
		t.Run(name, func(t *testing.T) {
			w := *w
			w.Client = w.For(t)
			got, text := w.ask(tc.method, tc.path, tc.body)
			var p Problem
			if err := json.Unmarshal([]byte(text), &p); err != nil || got.Header.Get("Content-Type") != "application/problem+json" {
				t.Fatalf("got %d %q, which is not a problem document", got.StatusCode, text)
			}
			if got.StatusCode != tc.status || p.Status != tc.status || p.Code != tc.code || !strings.Contains(p.Detail, tc.text) {
				t.Errorf("got  %d %s %s\nwant %d %s %s", got.StatusCode, p.Code, p.Detail, tc.status, tc.code, tc.text)
			}
			if p.Title != http.StatusText(tc.status) || p.Type != "about:blank" || !strings.HasSuffix(p.Detail, ".") || len(p.Detail) > 600 {
				t.Errorf("the document is %+v", p)
			}
			if after := w.everything(); after != before {
				t.Errorf("something changed:\n%s\nbefore\n%s", after, before)
			}
		})
	}
}

func TestRefusedPropertyIsNamed(t *testing.T) {
	w := start(t, broker.Options{})
	for _, body := range []string{`"LockDuration":"6m"`, `"LockDuration":true`, `"lockduration":""x`, `"Nonsense":1`} {
		_, text := w.ask("POST", "/entities", `{"kind":"queue","path":"q","properties":{`+body+`}}`)
		var p Problem
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			t.Fatal(err)
		}
		want := map[byte]string{'L': "LockDuration", 'l': "", 'N': "Nonsense"}[body[1]]
		if p.Property != want {
			t.Errorf("%s: the property is %q, want %q", body, p.Property, want)
		}
	}
}

func TestProblems(t *testing.T) {
	for name, tc := range map[string]struct {
		kind   error
		status int
	}{
		"§16 MessagingEntityNotFound":      {engine.ErrNotFound, 404},
		"§16 MessagingEntityAlreadyExists": {engine.ErrExists, 409},
		"§16 MessagingEntityDisabled":      {engine.ErrDisabled, 403},
		"§16 MessageLockLost":              {engine.ErrLockLost, 410},
		"§16 SessionLockLost":              {engine.ErrSessionLockLost, 410},
		"§16 SessionCannotBeLocked":        {engine.ErrSessionLocked, 410}, // though it may be available later; the code differs
		"§16 MessageNotFound":              {engine.ErrMessageNotFound, 404},
		"§16 MessageSizeExceeded":          {engine.ErrTooLarge, 413},
		"§16 QuotaExceeded":                {engine.ErrQuota, 403},
		"§16 ServiceTimeout":               {engine.ErrTimeout, 408},
		"§16 ServiceBusy":                  {engine.ErrBusy, 503},
		"§16 InvalidOperation":             {engine.ErrNotAllowed, 400},
		"§16 Argument":                     {engine.ErrArgument, 400},
		"§16 ArgumentOutOfRange":           {engine.ErrOutOfRange, 400},
		"§16 NotSupported":                 {engine.ErrNotImplemented, 501},
		"§16 OperationCancelled":           {engine.ErrClosed, 503},
		"TransactionOver":                  {engine.ErrTransaction, 410},
		"TransactionRolledBack":            {fmt.Errorf("%w: %w", engine.ErrRolledBack, engine.ErrBusy), 409},
		"Changed":                          {engine.ErrChanged, 409},
	} {
		t.Run(name, func(t *testing.T) {
			p := problem(&engine.Refusal{Kind: tc.kind, Text: "It went wrong."})
			if p.Status != tc.status || p.Code != name[strings.LastIndex(name, " ")+1:] || p.Detail != "It went wrong." {
				t.Errorf("got %+v", p)
			}
		})
	}
	if p := problem(errors.New("secret")); p.Status != http.StatusInternalServerError || strings.Contains(p.Detail, "secret") {
		t.Errorf("an unknown error becomes %+v", p)
	}
}

func FuzzMessages(f *testing.F) {
	for _, s := range []string{full, `[{},{}]`, `{"bodyBase64":"AA=="}`, `{"timeToLive":"P1DT2H"}`, `{"properties":{"a":{"type":"binary","base64":"AA=="}}}`, `[`, `null`, `{"body":"\ud800"}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		in, err := parseMessages([]byte(s))
		for _, m := range in {
			if err != nil {
				break
			}
			var out broker.Outgoing
			if out, err = m.Compose(); err == nil {
				_, err = engine.Submit(out.Content, out.Body, 0, 1, engine.DefaultLimits())
			}
		}
		if err != nil && problem(err).Status >= 500 {
			t.Fatalf("%v is not an error for clients", err)
		}
	})
}

func FuzzBodies(f *testing.F) {
	for _, s := range []string{
		`{"kind":"queue","path":"q","properties":{"LockDuration":"30s","MaxDeliveryCount":3}}`, `{"lockToken":"x","outcome":"complete","properties":{"a":1}}`,
		`{"mode":"peek-lock","limit":1,"wait":"1s","sequenceNumbers":[1]}`, `{"states":["active"],"expectedCount":1,"filter":"n > 1","dryRun":true}`, `{"properties":{"Status":null}}`, `[[[[`, `{"":{}}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, v := range []any{&NewEntity{}, &Settle{}, &Receive{}, &Renew{}, &Purge{}} {
			err := decode([]byte(s), v)
			if c, ok := v.(*NewEntity); ok && err == nil {
				var config engine.Config
				err = setProperties(&config, engine.Queue, c.Properties, engine.DefaultLimits())
			}
			if err != nil && problem(err).Status >= 500 {
				t.Fatalf("%v is not an error for clients", err)
			}
			if err == nil && strings.TrimSpace(s) != "" && !json.Valid([]byte(s)) {
				t.Fatalf("%q is not JSON", s)
			}
		}
	})
}

// TestNotFound: a missing job, rule, template, view, token, namespace, scene or entity gets 404,
// with a text that says what is missing.
func TestNotFound(t *testing.T) {
	w := start(t, broker.Options{})
	w.want(201, "POST", "/entities", `{"kind":"queue","path":"q"}`, nil)
	for _, ask := range [][4]string{
		{"GET", "/jobs/7", "", "The job 7 does not exist."},
		{"GET", "/jobs/99999999999999999999", "", "The job '99999999999999999999' does not exist."},
		{"POST", "/jobs/x/undo", "", "The job 'x' does not exist."},
		{"GET", "/alert-rules/7", "", "The alert rule '7' does not exist."},
		{"PUT", "/alert-rules/7", `{"name":"x","when":"auto-deleted"}`, "The alert rule 7 does not exist."},
		{"POST", "/alert-rules/x/test", "", "The alert rule 'x' does not exist."},
		{"POST", "/repeat/q", `{"template":"nope"}`, "The template does not exist."},
		{"DELETE", "/templates/nope", "", "The template does not exist."},
		{"DELETE", "/views/nope", "", "The view 'nope' does not exist."},
		{"DELETE", "/tokens/nope", "", "The token or link does not exist."},
		{"GET", "/namespaces/nope", "", "The namespace 'nope' does not exist."},
		{"GET", "/scenes/nope", "", "The scene 'nope' does not exist."},
		{"GET", "/playbacks/nope", "", "No scene is playing in a namespace 'nope'."},
		{"GET", "/entities/nope", "", "The messaging entity 'nope' could not be found."},
	} {
		var p Problem
		w.want(404, ask[0], ask[1], ask[2], &p)
		if p.Detail != ask[3] {
			t.Errorf("%s %s: %q, not %q", ask[0], ask[1], p.Detail, ask[3])
		}
	}
}
