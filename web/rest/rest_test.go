package rest

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/webtest"
)

func brokerHeader(t *testing.T, a webtest.Answer) (p map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.Header.Get("BrokerProperties")), &p); err != nil {
		t.Fatalf("BrokerProperties %q: %v", a.Header.Get("BrokerProperties"), err)
	}
	return p
}

func TestSystemProperties(t *testing.T) {
	t.Run("§2.1, §2.2, MSG-1 come back as they were sent", comeBackAsTheyWereSent)
}

func comeBackAsTheyWereSent(t *testing.T) {
	w := start(t, broker.Options{})
	w.create(engine.Queue, "orders/eu")
	sent := w.Want(201, "POST", "/orders/eu/messages", "payload \x00\xff", "Content-Type", "application/x-thing",
		"BrokerProperties", `{"MessageId":"m1","CorrelationId":"c","SessionId":"s","PartitionKey":"s","ViaPartitionKey":"v","To":"t","ReplyTo":"r","ReplyToSessionId":"rs","Label":"étoile 𝄞","TimeToLive":90.5,"SequenceNumber":77,"LockToken":"x","Surprise":[{}],"ForcePersistence":true}`,
		"Customer", `"12\"345 é"`, "Count", "5", "Ratio", "2.5", "Whole", "5.0", "Big", "18446744073709551615", "Ok", "true", "Bare", "some text",
		"When", `"Sun, 06 Nov 1994 08:49:37 GMT"`, "Nothing", "null", "Empty", "")
	if got := sent.Header.Get("Content-Type"); got != "application/x-thing" || sent.Body != "" {
		t.Errorf("the answer to a send has type %q and body %q", got, sent.Body)
	}

	got := w.Want(200, "DELETE", "/Orders%2FEU/messages/HEAD?timeout=0", "")
	if got.Body != "payload \x00\xff" || got.Header.Get("Content-Type") != "application/x-thing" {
		t.Errorf("got %q of type %q", got.Body, got.Header.Get("Content-Type"))
	}
	props := brokerHeader(t, got)
	for _, changing := range []string{"EnqueuedTimeUtc"} {
		if _, err := http.ParseTime(props[changing].(string)); err != nil {
			t.Errorf("%s: %v", changing, err)
		}
	}
	if props["EnqueuedTimeUtc"] != got.Header.Get("Date") {
		t.Errorf("Date is %s, the message was enqueued %s", got.Header.Get("Date"), props["EnqueuedTimeUtc"])
	}
	delete(props, "EnqueuedTimeUtc")
	want := map[string]any{
		"MessageId": "m1", "CorrelationId": "c", "SessionId": "s", "PartitionKey": "s", "ViaPartitionKey": "v", "To": "t", "ReplyTo": "r",
		"ReplyToSessionId": "rs", "Label": "étoile 𝄞", "TimeToLive": 90.5, "SequenceNumber": 1.0, "EnqueuedSequenceNumber": 1.0,
		"DeliveryCount": 1.0, "State": "Active",
	}
	if d := cmp.Diff(want, props); d != "" {
		t.Errorf("BrokerProperties (-want +got):\n%s", d)
	}
	custom := map[string]string{}
	for _, name := range []string{"Customer", "Count", "Ratio", "Whole", "Big", "Ok", "Bare", "When", "Nothing", "Empty"} {
		custom[name] = got.Header.Get(name)
	}
	if d := cmp.Diff(map[string]string{
		"Customer": `"12\"345 \u00e9"`, "Count": "5", "Ratio": "2.5", "Whole": "5.0", "Big": "18446744073709551615", "Ok": "true",
		"Bare": `"some text"`, "When": `"Sun, 06 Nov 1994 08:49:37 GMT"`, "Nothing": "null", "Empty": `""`,
	}, custom); d != "" {
		t.Errorf("custom properties (-want +got):\n%s", d)
	}
	w.Want(204, "DELETE", "/orders/eu/messages/head?timeout=0", "")
}

func TestLockIsSettledAtItsLocation(t *testing.T) {
	w := start(t, broker.Options{})
	w.create(engine.Queue, "q")
	lock := func() string {
		t.Helper()
		got := w.Want(201, "POST", "/q/messages/head?timeout=5", "")
		location := got.Header.Get("Location")
		path, ok := strings.CutPrefix(location, w.URL)
		if !ok {
			t.Fatalf("Location is %q", location)
		}
		if p := brokerHeader(t, got); !strings.HasSuffix(location, p["LockToken"].(string)) || p["LockedUntilUtc"] == nil {
			t.Errorf("Location %s, BrokerProperties %v", location, p)
		}
		return path
	}
	w.Want(201, "POST", "/q/messages", "x", "BrokerProperties", `{"MessageId":"a/b c"}`)
	at := lock()
	if got := brokerHeader(t, w.Want(200, "POST", at, "")); got["LockedUntilUtc"] == nil {
		t.Error("a renewal does not return the end of the lock")
	}
	w.Want(200, "PUT", at, "")
	if c := w.broker.Counts("q"); c.Active != 1 {
		t.Errorf("after unlocking got %+v", c)
	}
	for _, method := range []string{"PUT", "DELETE", "POST"} {
		if got := w.Want(404, method, at, ""); !strings.Contains(got.Body, "The lock supplied is invalid.") {
			t.Errorf("%s with an old lock: %s", method, got.Body)
		}
	}
	at = lock()
	token := at[strings.LastIndex(at, "/")+1:]
	w.Want(404, "DELETE", "/q/messages/999/"+token, "")
	w.Want(404, "DELETE", "/q/messages/other/"+token, "")
	w.Want(410, "DELETE", "/nowhere/messages/1/"+token, "")
	w.Want(200, "DELETE", "/q/messages/a%2Fb%20c/"+token, "")
	if c := w.broker.Counts("q"); c.MessageCount() != 0 {
		t.Errorf("after completing got %+v", c)
	}
	w.Want(404, "DELETE", "/q/messages/1/"+token, "")
}

func TestTopicSubscriptionsAndDeadLetters(t *testing.T) {
	w := start(t, broker.Options{})
	w.create(engine.Topic, "prices")
	w.create(engine.Subscription, "prices/Subscriptions/eu", "MaxDeliveryCount", "1")
	w.Want(201, "POST", "/prices/messages?timeout=0", "42", "Region", `"eu"`)
	at := w.Want(201, "POST", "/PRICES/subscriptions/EU/messages/head?timeout=0", "").Header.Get("Location")
	w.Want(200, "PUT", strings.TrimPrefix(at, w.URL), "") // the only delivery (MaxDeliveryCount is 1)
	dead := w.Want(201, "POST", "/prices/subscriptions/eu/$deadletterqueue/messages/head", "")
	if got := dead.Header.Get("DeadLetterReason"); got != `"MaxDeliveryCountExceeded"` || dead.Header.Get("Region") != `"eu"` {
		t.Errorf("a dead letter has the reason %s and the headers %v", got, dead.Header)
	}
	path := strings.TrimPrefix(dead.Header.Get("Location"), w.URL)
	if !strings.Contains(path, "/$DeadLetterQueue/messages/") {
		t.Errorf("Location is %s", path)
	}
	w.Want(404, "DELETE", strings.Replace(path, "/$DeadLetterQueue", "", 1), "") // the lock is not in the main queue
	w.Want(200, "DELETE", path, "")
	w.Want(204, "DELETE", "/prices/subscriptions/eu/%24DeadLetterQueue/messages/head?timeout=0.01", "")
}

func TestBatch(t *testing.T) {
	w := start(t, broker.Options{})
	w.create(engine.Queue, "q")
	const batch = "application/vnd.microsoft.servicebus.json"
	w.Want(201, "POST", "/q/messages", `[
		{"Body":"one","BrokerProperties":{"MessageId":"1","TimeToLiveTimeSpan":"0.00:00:40"},"UserProperties":{"myName":"eu","n":3}},
		{"Body":"two","BrokerProperties":{"ContentType":"text/plain"}},
		{"UserProperties":null,"BrokerProperties":null,"Body":null},
		{}]`, "Content-Type", batch+"; charset=utf-8")
	first := w.Want(200, "DELETE", "/q/messages/head", "")
	if first.Body != "one" || brokerHeader(t, first)["TimeToLive"] != 40.0 || first.Header.Get("Myname") != `"eu"` || first.Header.Get("N") != "3" {
		t.Errorf("the first is %q with %v", first.Body, first.Header)
	}
	second := w.Want(200, "DELETE", "/q/messages/head", "")
	if second.Body != "two" || second.Header.Get("Content-Type") != "text/plain" || brokerHeader(t, second)["MessageId"] == nil {
		t.Errorf("the second is %q with %v", second.Body, second.Header)
	}
	if third := w.Want(200, "DELETE", "/q/messages/head", ""); third.Body != "" || third.Header.Get("Content-Type") != defaultContentType {
		t.Errorf("the third is %q with %v", third.Body, third.Header)
	}
}

func TestScheduledMessageWaits(t *testing.T) {
	w := start(t, broker.Options{})
	w.create(engine.Queue, "q")
	for _, at := range []string{"Sun, 06 Nov 2050 08:49:37 GMT", "2050-11-06T08:49:37Z", "2050-11-06T08:49:37", "2050-11-06T09:49:37+01:00"} {
		w.Want(201, "POST", "/q/messages", "x", "Brokerproperties", `{"ScheduledEnqueueTimeUtc":"`+at+`"}`)
	}
	rows, err := w.broker.Peek(t.Context(), "q", 1, 10, "")
	if err != nil || len(rows) != 4 {
		t.Fatal(rows, err)
	}
	for _, r := range rows {
		if got := r.Message.ScheduledFor.Time(); !got.Equal(time.Date(2050, 11, 6, 8, 49, 37, 0, time.UTC)) {
			t.Errorf("scheduled for %v", got)
		}
	}
}

func TestHealth(t *testing.T) {
	w := start(t, broker.Options{})
	says := func(status int, want map[string]string) func(*testing.T) {
		return func(t *testing.T) {
			w := w.For(t)
			var got map[string]string
			if err := json.Unmarshal([]byte(w.Want(status, "GET", "/health", "").Body), &got); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		}
	}
	t.Run("EMU-5 healthy", says(200, map[string]string{"status": "healthy", "message": "Service is healthy."}))
	w.broker.Close()
	t.Run("EMU-5 unhealthy", says(503, map[string]string{"status": "unhealthy", "message": "Service not available. Please try after some time."}))
	if got := w.Want(503, "POST", "/q/messages", "x"); got.Header.Get("Retry-After") == "" {
		t.Error("Retry-After is missing")
	}
}

func TestSendersCannotSetReceiversHeaders(t *testing.T) {
	w := start(t, broker.Options{})
	w.create(engine.Queue, "q")
	w.Want(201, "POST", "/q/messages", `[{"Body":"x","UserProperties":{
		"Set-Cookie":"a=b","location":"http://evil.example","content-length":"1","Content-Security-Policy":"none","Transfer-Encoding":"chunked",
		"two words":"x","new\nline":"x","":"x","Access-Control-Allow-Origin":"*","BrokerProperties":"{}","Fine":"a\r\nSet-Cookie: a=b"}}]`,
		"Content-Type", batchType)
	got := w.Want(200, "DELETE", "/q/messages/head", "")
	for _, name := range []string{"Set-Cookie", "Location", "Content-Security-Policy", "Access-Control-Allow-Origin"} {
		if got.Header.Get(name) != "" {
			t.Errorf("%s is %q", name, got.Header.Get(name))
		}
	}
	if got.Body != "x" || got.Header.Get("Fine") != `"a\r\nSet-Cookie: a=b"` {
		t.Errorf("got %q, Fine is %q", got.Body, got.Header.Get("Fine"))
	}
}

// The empty string is a valid session id, and not the same as none (SES-1).
func TestEmptySessionID(t *testing.T) {
	w := start(t, broker.Options{})
	w.create(engine.Queue, "plain")
	w.create(engine.Queue, "s", "RequiresSession", "true")
	for properties, status := range map[string]int{`{"SessionId":""}`: 201, `{"SessionId":null}`: 400, `{}`: 400, `{"SessionId":"","PartitionKey":"p"}`: 400} {
		w.Want(status, "POST", "/s/messages", "", "BrokerProperties", properties)
	}
	for properties, want := range map[string]any{`{"SessionId":""}`: "", `{}`: nil} {
		w.Want(201, "POST", "/plain/messages", "", "BrokerProperties", properties)
		if got := brokerHeader(t, w.Want(200, "DELETE", "/plain/messages/head", ""))["SessionId"]; got != want {
			t.Errorf("%s was returned as %v", properties, got)
		}
	}
}
