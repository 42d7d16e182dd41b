package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"mayfly/engine/broker"
	"mayfly/storage/memory"
	"mayfly/web/connections"
	"mayfly/web/openapi"
	"mayfly/web/webtest"
)

// everyExample returns a world with the targets of the document's examples: a shop.
func everyExample(t *testing.T) *world {
	t.Helper()
	return furnished(startOn(t, &damagedStore{new(memory.Store)}, broker.Options{}))
}

// furnished returns a world with the shop in it.
func furnished(w *world) *world {
	w.Helper()
	for _, e := range []string{
		`{"kind":"queue","path":"orders","properties":{"DefaultMessageTimeToLive":"PT10M"}}`, `{"kind":"queue","path":"old-orders"}`,
		`{"kind":"queue","path":"copies"}`, `{"kind":"queue","path":"chats","properties":{"RequiresSession":true}}`,
		`{"kind":"topic","path":"prices"}`, `{"kind":"subscription","path":"prices/Subscriptions/eu"}`,
	} {
		w.want(201, "POST", "/entities", e, nil)
	}
	w.want(201, "POST", "/send/orders", `[{"body":"hello","subject":"new","properties":{"price":12.5}},{"body":"again"},{"body":"and again"}]`, nil)
	w.want(201, "POST", "/send/chats", `{"sessionId":"customer-1","body":"hello"}`, nil)
	w.want(200, "POST", "/alert-rules", `{"name":"many dead letters","when":"dead-letter-count","threshold":10}`, nil)
	w.want(200, "PUT", "/access-rules/ci", `{"rights":["Send"]}`, nil)
	w.want(200, "PUT", "/views/late%20orders", `{"columns":["seq"]}`, nil)
	w.want(200, "PUT", "/templates/late-orders", `{"subject":"order {{n}}","repeat":2}`, nil)
	w.want(201, "POST", "/namespaces", `{"name":"till"}`, nil)
	w.want(200, "PUT", "/scenes/dinner", lunch, nil)
	w.clients.Add(connections.Connection{ID: "1-17", Client: "AMQP worker"})
	return w
}

// varying returns, by operation, functions that make a value which differs in each run: the value
// in the example, and the one to send instead.
func varying(w *world) map[string]func() (instead, is string) {
	locked := func() (string, string) {
		var got Messages
		w.want(200, "POST", "/receive/orders", `{}`, &got)
		return "00000100-0000-0004-313a-c2f254f78bd3", got.Messages[0].LockToken
	}
	held := func() (string, string) {
		var got HeldSession
		w.want(201, "POST", "/accept-session/chats", `{"sessionId":"customer-1"}`, &got)
		return "TOKEN", url.QueryEscape(got.SessionLockToken)
	}
	job := func() (string, string) {
		var is Job
		w.want(200, "POST", "/jobs", `{"kind":"move","to":"copies","paths":["orders"]}`, &is)
		at := fmt.Sprint("/jobs/", is.ID)
		w.want(200, "GET", at+"?wait=30s", "", &is)
		return "/jobs/7", at
	}
	cancelled := func() (string, string) {
		var is Job
		webtest.Eventually(w.T, "a job is cancelled before it is done", func() bool {
			w.want(201, "POST", "/send/orders", "[{}"+strings.Repeat(",{}", maxSend-1)+"]", nil)
			w.want(200, "POST", "/jobs", `{"kind":"move","to":"copies","paths":["orders"]}`, &is)
			w.want(200, "DELETE", fmt.Sprint("/jobs/", is.ID), "", &is)
			w.want(200, "GET", fmt.Sprint("/jobs/", is.ID, "?wait=30s"), "", &is)
			return is.State == "cancelled"
		})
		return "/jobs/7", fmt.Sprint("/jobs/", is.ID)
	}
	keyed := func() (string, string) {
		var got Messages
		w.want(200, "GET", "/peek/orders", "", &got)
		return "1099511627777", got.Messages[0].Key
	}
	token := func() (string, string) {
		var is Token
		w.want(201, "POST", "/tokens", `{"name":"old","role":"viewer"}`, &is)
		return "abcdefghij", is.ID
	}
	playing := func() (string, string) {
		var is Playback
		w.want(201, "POST", "/playbacks", `{"scene":"deadline"}`, &is)
		return "deadline-1f2e3d", is.Name
	}
	running := func() (string, string) {
		instead, is := playing()
		w.want(200, "POST", "/playbacks/"+is+"/next?step=0", "", nil)
		w.want(200, "POST", "/playbacks/"+is+"/next?step=1", "", nil)
		return instead, is
	}
	return map[string]func() (string, string){
		"getPlayback": playing, "playNextStep": playing, "playPreviousStep": playing, "resetPlayback": playing, "setClockRate": playing, "advanceClock": running, "endPlayback": playing,
		"resubmitMessage": keyed, "revokeToken": token,
		"settleMessage": locked, "renewLock": locked, "releaseSession": held, "unlockSession": held,
		"getJob": job, "cancelJob": job, "undoJob": job, "resumeJob": cancelled,
	}
}

// TestEveryExampleIsAnswered sends the example of every operation of the document: conform
// checks requests and answers against the document. A route without an example fails.
func TestEveryExampleIsAnswered(t *testing.T) {
	for _, o := range theDocument().Ordered {
		t.Run(o.ID, func(t *testing.T) {
			w := everyExample(t)
			address, body := o.Example.Address, o.Example.Body
			if vary := varying(w)[o.ID]; vary != nil {
				instead, is := vary()
				address, body = strings.Replace(address, instead, is, 1), strings.Replace(body, instead, is, 1)
			}
			if strings.Contains(address, "{") || (o.RequestBody != nil) != (body != "") {
				t.Fatalf("the example of %s %s is invalid: %s %q", o.Method, o.Path, address, body)
			}
			got, text := w.ask(o.Method, escaped(address), body)
			if fmt.Sprint(got.StatusCode) != o.Status {
				t.Errorf("the response to %s %s %s is %d %s, want %s", o.Method, address, body, got.StatusCode, text, o.Status)
			}
			if o.ID == "searchMessages" && !strings.Contains(text, `"hit"`) || o.ID == "peekMessages" && !strings.Contains(text, "hello") {
				t.Errorf("the response to the example is empty: %s", text)
			}
		})
	}
}

// TestEveryAnswerOfAnEmptyNamespaceConforms reads everything in an empty namespace: lists are
// empty and not null, and unknown values are null only where the document says so. An
// operation that needs an entity is answered with a problem, which conforms, too.
func TestEveryAnswerOfAnEmptyNamespaceConforms(t *testing.T) {
	w, n := start(t, broker.Options{}), 0
	for _, o := range theDocument().Ordered {
		if o.Method != http.MethodGet {
			continue
		}
		addresses := []string{o.Example.Address}
		if at, _, asks := strings.Cut(o.Example.Address, "?"); asks {
			addresses = append(addresses, at)
		}
		for _, at := range addresses {
			if got, text := w.ask(o.Method, escaped(at), ""); got.StatusCode >= http.StatusInternalServerError {
				t.Errorf("%s %s: %d %s", o.Method, at, got.StatusCode, text)
			} else if got.StatusCode == http.StatusOK {
				n++
			}
		}
	}
	if n < 15 {
		t.Errorf("only %d addresses were answered with success", n)
	}
}

// TestNullIsHeldAgainstTheSchema: conform finds a null instead of an integer, and a list that
// is null.
func TestNullIsHeldAgainstTheSchema(t *testing.T) {
	whole := &openapi.Schema{Type: "array", Items: &openapi.Schema{Type: "integer"}}
	given := new(openapi.Schemas).Response([]*int64{})
	for _, tc := range []struct {
		schema *openapi.Schema
		answer string
		well   bool
	}{
		{whole, "[1]", true}, {whole, "[null]", false}, {whole, "null", false}, {given, "[1,null]", true}, {given, `["1"]`, false}, {given, "null", false},
	} {
		if err := check(tc.schema, parse(t, []byte(tc.answer)), "answer", strictly); (err == nil) != tc.well {
			t.Errorf("%s: %v", tc.answer, err)
		}
	}
}

// escaped returns an address as it is sent.
func escaped(address string) string {
	at, query, _ := strings.Cut(address, "?")
	out := (&url.URL{Path: at}).EscapedPath()
	if query != "" {
		out += "?" + strings.ReplaceAll(query, " ", "%20")
	}
	return out
}

// TestDocumentSaysEverything: every operation and all of its input is documented, with bounds
// and a valid example.
func TestDocumentSaysEverything(t *testing.T) {
	explained := func(o *openapi.Operation, what, about string) {
		t.Helper()
		if about == "" {
			t.Errorf("%s: %s has no description", o.ID, what)
		}
	}
	for _, r := range routes() {
		for _, p := range r.query {
			such := p.exampleValue()
			if such == nil {
				t.Errorf("%s: %s has no example", r.id, p.name)
				continue
			}
			if _, err := r.parseQuery(url.Values{p.name: {fmt.Sprint(such)}}.Encode()); err != nil {
				t.Errorf("%s: %v is an invalid example of %s: %v", r.id, such, p.name, err)
			}
		}
	}
	for _, o := range theDocument().Ordered {
		for _, p := range o.Parameters {
			explained(o, p.Name, p.Description)
			if p.Example == "" || p.Example == nil {
				t.Errorf("%s: %s has no example", o.ID, p.Name)
			}
			if p.Schema.Type == "integer" && p.Schema.Minimum == nil {
				t.Errorf("%s: %s has no minimum", o.ID, p.Name)
			}
			if p.In == "query" && !strings.HasSuffix(p.Description, ".") {
				t.Errorf("%s: the description of %s does not end with a full stop: %s", o.ID, p.Name, p.Description)
			}
		}
		if o.RequestBody == nil {
			continue
		}
		for _, m := range o.RequestBody.Content {
			explainedMembers(t, o, m.Schema, map[string]bool{})
		}
	}
}

// explainedMembers checks all members of requests.
func explainedMembers(t *testing.T, o *openapi.Operation, s *openapi.Schema, seen map[string]bool) {
	t.Helper()
	if s.Items != nil {
		explainedMembers(t, o, s.Items, seen)
	}
	for _, one := range s.AnyOf {
		explainedMembers(t, o, one, seen)
	}
	name := s.Name()
	if s.Ref == "" || seen[name] {
		return
	}
	seen[name] = true
	of := theDocument().Components.Schemas[name]
	if of.Description == "" {
		t.Errorf("%s: %s has no description", o.ID, name)
	}
	for member, m := range of.Properties {
		if m.Description == "" {
			t.Errorf("%s: %s.%s has no description", o.ID, name, member)
		}
		explainedMembers(t, o, m, seen)
	}
}

// TestEveryOtherMethod: an address refuses other methods and lists its own.
func TestEveryOtherMethod(t *testing.T) {
	w := everyExample(t)
	for _, o := range theDocument().Ordered {
		at, _, _ := strings.Cut(escaped(o.Example.Address), "?")
		takes := map[string]bool{}
		for _, other := range theDocument().Ordered {
			if leads(other.Path, at) {
				takes[other.Method] = true
			}
		}
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "QUERY"} {
			if takes[method] {
				continue
			}
			got, text := w.ask(method, at, "")
			var p Problem
			if err := json.Unmarshal([]byte(text), &p); err != nil || got.StatusCode != http.StatusMethodNotAllowed || p.Status != got.StatusCode || p.Instance != "/api/v1"+at {
				t.Errorf("%s %s: %d %s", method, at, got.StatusCode, text)
			}
			allowed := map[string]bool{}
			for name := range strings.SplitSeq(got.Header.Get("Allow"), ", ") {
				allowed[name] = true
			}
			for name := range takes {
				if !allowed[name] || name == "GET" && !allowed["HEAD"] {
					t.Errorf("%s %s: Allow is %q, without %s", method, at, got.Header.Get("Allow"), name)
				}
				delete(allowed, name)
			}
			delete(allowed, "OPTIONS")
			delete(allowed, "HEAD")
			if len(allowed) > 0 {
				t.Errorf("%s %s: Allow is %q", method, at, got.Header.Get("Allow"))
			}
		}
	}
}

// TestEveryWrongMediaType: a body that is declared not to be JSON is refused before it is
// read; without a type, or with curl's default, it is taken as JSON.
func TestEveryWrongMediaType(t *testing.T) {
	w := everyExample(t)
	before := w.everything()
	send := func(o *openapi.Operation, header, value string) (webtest.Answer, string) {
		return w.ask(o.Method, escaped(o.Example.Address), o.Example.Body, header, value)
	}
	tried := 0
	for _, o := range theDocument().Ordered {
		if o.RequestBody == nil {
			continue
		}
		for _, tc := range [][2]string{
			{"Content-Type", "text/xml"}, {"Content-Type", "multipart/form-data; boundary=x"}, {"Content-Type", "application/atom+xml"}, {"Content-Type", "image/svg+xml"},
			{"Content-Type", "json"}, {"Content-Type", ";"}, {"Content-Type", "application/json; charset=utf-16"}, {"Content-Encoding", "gzip"},
		} {
			tried++
			got, text := send(o, tc[0], tc[1])
			var p Problem
			if err := json.Unmarshal([]byte(text), &p); err != nil || got.StatusCode != http.StatusUnsupportedMediaType || p.Code != codeMediaType || p.Detail == "" {
				t.Errorf("%s of %s: %d %s", o.ID, tc, got.StatusCode, text)
			}
		}
	}
	if after := w.everything(); after != before || tried < 50 {
		t.Errorf("%d requests were sent; something was changed\nfrom %s\nto   %s", tried, before, after)
	}
	o := operationAt("POST", "/send/orders")
	for _, tc := range [][2]string{
		{"Content-Type", "application/json"}, {"Content-Type", "Application/JSON; charset=UTF-8"}, {"Content-Type", "application/cloudevents+json"},
		{"Content-Type", "application/x-www-form-urlencoded"}, {"Content-Type", "text/plain"}, {"Content-Type", "application/octet-stream"}, {"Content-Encoding", "identity"},
	} {
		if got, text := send(o, tc[0], tc[1]); got.StatusCode != http.StatusCreated {
			t.Errorf("%s: %d %s", tc, got.StatusCode, text)
		}
	}
}
