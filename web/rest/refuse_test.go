package rest

import (
	"fmt"
	"strings"
	"testing"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// TestRefusals checks bad input: every field, each way of being wrong. A refused request
// changes nothing.
func TestRefusals(t *testing.T) {
	limits := engine.DefaultLimits()
	limits.MessageSize, limits.BatchSize, limits.EntitySize, limits.MessageMemory, limits.Receives = 1000, 1500, 3500, 0, 1
	w := start(t, broker.Options{Limits: &limits})
	w.create(engine.Queue, "q")
	w.create(engine.Queue, "full")
	w.create(engine.Queue, "closed", "Status", "Disabled")
	w.create(engine.Queue, "sessions", "RequiresSession", "true")
	w.create(engine.Topic, "t")
	w.create(engine.Subscription, "t/Subscriptions/s")
	for range 4 {
		w.Want(201, "POST", "/full/messages", strings.Repeat("x", 700))
	}
	w.Want(201, "POST", "/q/messages", "x", "BrokerProperties", `{"MessageId":"m"}`)
	before := w.totals()

	const json = "BrokerProperties"
	token := "/00000100-0000-0004-313a-c2f254f78bd3"
	for name, tc := range map[string]struct {
		method, path, body string
		headers            []string
		status             int
		sub                int
		text               string
	}{
		"entity: absent":                  {"POST", "/nowhere/messages", "x", nil, 410, 40400, "The messaging entity 'nowhere' could not be found."},
		"entity: absent, receive":         {"DELETE", "/nowhere/messages/head", "", nil, 410, 40400, "'nowhere' could not be found"},
		"entity: absent, complete":        {"DELETE", "/nowhere/messages/1" + token, "", nil, 410, 40400, "'nowhere' could not be found"},
		"entity: empty":                   {"POST", "//messages", "x", nil, 404, 0, "Nothing is served at this address"},
		"entity: none":                    {"POST", "/messages", "x", nil, 404, 0, "Nothing is served at this address"},
		"entity: too long":                {"POST", "/" + strings.Repeat("a", 261) + "/messages", "x", nil, 400, 40000, "characters, not 261"},
		"entity: malformed":               {"POST", "/a*b/messages", "x", nil, 400, 40000, "must not contain '*'"},
		"entity: slashes":                 {"POST", "/a//b/messages", "x", nil, 400, 40000, "nor contain '//'"},
		"entity: bad escape of UTF-8":     {"POST", "/a%FFb/messages", "x", nil, 400, 40000, "must not contain"},
		"entity: a topic to receive from": {"DELETE", "/t/messages/head?timeout=0", "", nil, 400, 40301, "Receive from one of its subscriptions"},
		"entity: a subscription to send":  {"POST", "/t/subscriptions/s/messages", "x", nil, 400, 40301, "send to its topic"},
		"entity: a dead-letter queue":     {"POST", "/q/$DeadLetterQueue/messages", "x", nil, 400, 40301, "cannot be sent to a dead-letter queue"},
		"entity: a topic's dead letters":  {"DELETE", "/t/$DeadLetterQueue/messages/head?timeout=0", "", nil, 410, 40400, "could not be found"},
		"STAT-2 entity: disabled, send":   {"POST", "/closed/messages", "x", nil, 403, 0, "is currently disabled for Send operations"},
		"entity: disabled, receive":       {"POST", "/closed/messages/head?timeout=0", "", nil, 403, 0, "is currently disabled for Receive operations"},
		"entity: sessions, send":          {"POST", "/sessions/messages", "x", nil, 400, 40301, "The SessionId was not set on a message"},
		"entity: sessions, receive":       {"POST", "/sessions/messages/head?timeout=0", "", nil, 400, 40301, "to create a non-sessionful message receiver"},
		"entity: full":                    {"POST", "/full/messages", strings.Repeat("x", 700), nil, 403, 40300, "The maximum entity size has been reached"},
		"address: unknown":                {"POST", "/q", "x", nil, 404, 0, "Nothing is served at this address"},
		"address: empty":                  {"GET", "/", "", nil, 404, 0, "Nothing is served at this address"},
		"method: wrong for messages":      {"GET", "/q/messages", "", nil, 405, 0, "accepts POST, not GET"},
		"method: wrong for head":          {"PUT", "/q/messages/head", "", nil, 405, 0, "accepts DELETE, POST, not PUT"},
		"method: wrong for a lock":        {"GET", "/q/messages/1" + token, "", nil, 405, 0, "accepts DELETE, POST, PUT, not GET"},
		"method: unknown":                 {"PURGE", "/q/messages", "", nil, 405, 0, "Method Not Allowed"},

		"timeout: empty":        {"DELETE", "/q/messages/head?timeout=", "", nil, 400, 40000, "must be a number of seconds, not ''"},
		"timeout: malformed":    {"DELETE", "/q/messages/head?timeout=soon", "", nil, 400, 40000, "must be a number of seconds, not 'soon'"},
		"timeout: no number":    {"POST", "/q/messages/head?timeout=NaN", "", nil, 400, 40000, "must be a number of seconds, not 'NaN'"},
		"timeout: negative":     {"POST", "/q/messages/head?timeout=-1", "", nil, 400, 40000, "must be a number of seconds, not '-1'"},
		"timeout: out of range": {"POST", "/q/messages/head?timeout=301", "", nil, 400, 40000, "at most 300 seconds"},
		"timeout: overflow":     {"POST", "/q/messages/head?timeout=" + strings.Repeat("9", 400), "", nil, 400, 40000, "must be a number of seconds"},
		"timeout: of a send":    {"POST", "/q/messages?timeout=x", "x", nil, 400, 40000, "must be a number of seconds"},
		"receive: with a body":  {"DELETE", "/q/messages/head?timeout=0", strings.Repeat("x", 70_000), nil, 400, 40000, "must not have a body"},

		"token: malformed":    {"DELETE", "/q/messages/1/xyz", "", nil, 400, 40000, "'xyz' is not a lock token"},
		"token: empty":        {"DELETE", "/q/messages/1/", "", nil, 404, 40400, "could not be found"},
		"token: too long":     {"PUT", "/q/messages/1/" + strings.Repeat("0", 2000), "", nil, 400, 40000, "is not a lock token"},
		"token: unknown":      {"PUT", "/q/messages/1" + token, "", nil, 404, 0, "The lock supplied is invalid."},
		"token: unknown id":   {"POST", "/q/messages/%00" + token, "", nil, 404, 0, "The lock supplied is invalid."},
		"token: not one, dlq": {"POST", "/q/$DeadLetterQueue/messages/1" + token, "", nil, 404, 0, "The lock supplied is invalid."},

		"message: too large":           {"POST", "/q/messages", strings.Repeat("x", 1001), nil, 403, 40300, "The message has 1001 bytes; at most 1000"},
		"message: too large with head": {"POST", "/q/messages", strings.Repeat("x", 990), nil, 403, 40300, "the maximum of 'q' is 1000"},
		"broker properties: no JSON":   {"POST", "/q/messages", "x", []string{json, `{"MessageId":`}, 400, 40000, "are not a JSON object"},
		"broker properties: empty":     {"POST", "/q/messages", "x", []string{json, ``}, 400, 40000, "are not a JSON object"},
		"broker properties: null":      {"POST", "/q/messages", "x", []string{json, `null`}, 400, 40000, "are not a JSON object"},
		"broker properties: a list":    {"POST", "/q/messages", "x", []string{json, `[]`}, 400, 40000, "are not a JSON object"},
		"broker properties: trailing":  {"POST", "/q/messages", "x", []string{json, `{} {}`}, 400, 40000, "are not a JSON object"},
		"broker properties: twice":     {"POST", "/q/messages", "x", []string{json, `{}`, json, `{}`}, 400, 40000, "2 BrokerProperties headers"},
		"broker properties: Latin-1":   {"POST", "/q/messages", "x", []string{json, "{\"Label\":\"\xe9\"}"}, 400, 40000, "are not UTF-8"},
		"MessageId: wrong type":        {"POST", "/q/messages", "x", []string{json, `{"MessageId":[5]}`}, 400, 40000, "'MessageId' must be a string, not [5]"},
		"MSG-5 MessageId: too long":    {"POST", "/q/messages", "x", []string{json, `{"MessageId":"` + strings.Repeat("a", 129) + `"}`}, 400, 40000, "The MessageId has 129 characters"},
		"SessionId: too long":          {"POST", "/q/messages", "x", []string{json, `{"SessionId":"` + strings.Repeat("a", 129) + `"}`}, 400, 40000, "The SessionId has 129 characters"},
		"PartitionKey: another":        {"POST", "/q/messages", "x", []string{json, `{"SessionId":"a","PartitionKey":"b"}`}, 400, 40000, "must equal the SessionId"},
		"Label: wrong type":            {"POST", "/q/messages", "x", []string{json, `{"Label":{"a":1}}`}, 400, 40000, "'Label' must be a string"},
		"TimeToLive: wrong type":       {"POST", "/q/messages", "x", []string{json, `{"TimeToLive":"soon"}`}, 400, 40000, "must be a number of seconds"},
		"TimeToLive: zero":             {"POST", "/q/messages", "x", []string{json, `{"TimeToLive":0}`}, 400, 40000, "must be positive"},
		"TimeToLive: negative":         {"POST", "/q/messages", "x", []string{json, `{"TimeToLive":-0.5}`}, 400, 40000, "must be positive"},
		"TimeToLive: far negative":     {"POST", "/q/messages", "x", []string{json, `{"TimeToLive":-1e400}`}, 400, 40000, "must be positive"},
		"TimeToLiveTimeSpan: bad":      {"POST", "/q/messages", "x", []string{json, `{"TimeToLiveTimeSpan":"forty"}`}, 400, 40000, "must be written as"},
		"TimeToLiveTimeSpan: zero":     {"POST", "/q/messages", "x", []string{json, `{"TimeToLiveTimeSpan":"00:00:00"}`}, 400, 40000, "must be positive"},
		"TimeToLiveTimeSpan: number":   {"POST", "/q/messages", "x", []string{json, `{"TimeToLiveTimeSpan":40}`}, 400, 40000, "must be a string such as"},
		"Scheduled: malformed":         {"POST", "/q/messages", "x", []string{json, `{"ScheduledEnqueueTimeUtc":"tomorrow"}`}, 400, 40000, "must be a time such as"},
		"Scheduled: no such day":       {"POST", "/q/messages", "x", []string{json, `{"ScheduledEnqueueTimeUtc":"2026-02-30T00:00:00Z"}`}, 400, 40000, "must be a time such as"},
		"Scheduled: wrong type":        {"POST", "/q/messages", "x", []string{json, `{"ScheduledEnqueueTimeUtc":12}`}, 400, 40000, "must be a time such as"},
		"property: open quote":         {"POST", "/q/messages", "x", []string{"Region", `"eu`}, 400, 40000, "The header 'Region' is not a property: a quoted string must be written as in JSON"},
		"property: after the quote":    {"POST", "/q/messages", "x", []string{"Region", `"eu" x`}, 400, 40000, "as in JSON"},
		"property: Latin-1":            {"POST", "/q/messages", "x", []string{"Region", "\xe9"}, 400, 40000, "it is not UTF-8"},
		"property: too long":           {"POST", "/q/messages", "x", []string{"Region", strings.Repeat("x", 33<<10)}, 400, 40000, "longer than the 32768 bytes allowed"},

		"batch: no list":             {"POST", "/q/messages", `{"Body":"x"}`, []string{"Content-Type", batchType}, 400, 40000, "must be a list of messages"},
		"batch: nothing":             {"POST", "/q/messages", ``, []string{"Content-Type", batchType}, 400, 40000, "must be a list of messages"},
		"batch: no message":          {"POST", "/q/messages", `[]`, []string{"Content-Type", batchType}, 400, 40000, "The batch contains no messages."},
		"batch: cut off":             {"POST", "/q/messages", `[{"Body":"x"}`, []string{"Content-Type", batchType}, 400, 40000, "ends too early"},
		"batch: cut off in an item":  {"POST", "/q/messages", `[{"Body":"x"`, []string{"Content-Type", batchType}, 400, 40000, "The batch is not valid JSON at position 0."},
		"batch: trailing":            {"POST", "/q/messages", `[{"Body":"x"}] x`, []string{"Content-Type", batchType}, 400, 40000, "Something follows"},
		"batch: wrong type of body":  {"POST", "/q/messages", `[{"Body":5}]`, []string{"Content-Type", batchType}, 400, 40000, "'Body' has the wrong type: a number"},
		"batch: wrong type of item":  {"POST", "/q/messages", `["x"]`, []string{"Content-Type", batchType}, 400, 40000, "position 0 of the batch: It is not an object such as"},
		"batch: bad broker property": {"POST", "/q/messages", `[{},{"BrokerProperties":{"TimeToLive":0}}]`, []string{"Content-Type", batchType}, 400, 40000, "position 1 of the batch: The broker property 'TimeToLive' must be positive"},
		"batch: bad property":        {"POST", "/q/messages", `[{"UserProperties":{"a":[1]}}]`, []string{"Content-Type", batchType}, 400, 40000, "position 0"},
		"batch: one too large":       {"POST", "/q/messages", `[{},{"Body":"` + strings.Repeat("x", 1001) + `"}]`, []string{"Content-Type", batchType}, 403, 40300, "at position 1 of the batch"},
		"batch: together too large":  {"POST", "/q/messages", `[{"Body":"` + strings.Repeat("x", 740) + `"},{"Body":"` + strings.Repeat("x", 740) + `"}]`, []string{"Content-Type", batchType}, 403, 40300, "The batch has"},
		"batch: too long to read":    {"POST", "/q/messages", strings.Repeat(" ", 70_000), []string{"Content-Type", batchType}, 403, 40300, "at most 68536 are allowed"},
		"batch: too many":            {"POST", "/q/messages", "[{}" + strings.Repeat(",{}", maxBatch) + "]", []string{"Content-Type", batchType}, 400, 40000, "more than the 5000 messages"},
		"batch: deep":                {"POST", "/q/messages", `[{"UserProperties":` + strings.Repeat(`{"a":`, 10_001) + strings.Repeat(`}`, 10_001), []string{"Content-Type", batchType}, 400, 40000, "nested more than 16 deep"},
	} {
		t.Run("§2.2, ERR-2, ERR-5 "+name, func(t *testing.T) {
			w := &world{w.For(t), w.broker.For(t)}
			got := w.Ask(tc.method, tc.path, tc.body, tc.headers...)
			parts := errorShape.FindStringSubmatch(got.Body)
			if parts == nil {
				t.Fatalf("got %d %q, which is not an error of Service Bus", got.StatusCode, got.Body)
			}
			text := strings.NewReplacer("&#39;", "'", "&#34;", `"`).Replace(parts[2])
			if got.StatusCode != tc.status || parts[1] != fmt.Sprint(tc.status) || !strings.Contains(text, tc.text) {
				t.Errorf("got %d %s\nwant %d %q", got.StatusCode, text, tc.status, tc.text)
			}
			if sub := fmt.Sprintf("SubCode=%d. ", tc.sub); strings.Contains(text, "SubCode=") != (tc.sub != 0) || tc.sub != 0 && !strings.HasSuffix(text, sub) {
				t.Errorf("got %s\nwant %s", text, sub)
			}
			if after := w.totals(); after != before {
				t.Errorf("something changed: %+v, before %+v", after, before)
			}
		})
	}
}

func TestLongNeverTTLIsNoTTL(t *testing.T) {
	w := start(t, broker.Options{})
	w.create(engine.Queue, "q")
	for _, ttl := range []string{"922337203685.47754", "1e400", "9223372037"} {
		w.Want(201, "POST", "/q/messages", "x", "BrokerProperties", `{"TimeToLive":`+ttl+`}`)
		got := w.Want(200, "DELETE", "/q/messages/head", "")
		if p := brokerHeader(t, got); p["TimeToLive"] != neverSeconds {
			t.Errorf("%s was returned as %v", ttl, p["TimeToLive"])
		}
	}
}
