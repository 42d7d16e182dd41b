package rest

import (
	"strings"
	"testing"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// Application properties whose names HTTP defines are stored, and come back as headers,
// or in the header UserProperties if a response cannot have them.
func TestPropertiesHTTPKnows(t *testing.T) {
	for name, as := range map[string]string{
		"Priority": "", "From": "", "Age": "", "Link": "Link", "Location": "Location", "Date": "Date", "Server": "Server", "Set-Cookie": "Set-Cookie",
		"Etag": "Etag", "Expires": "Expires", "Warning": "Warning", "Vary": "Vary",
	} {
		t.Run("REST-3 "+name, func(t *testing.T) {
			w := start(t, broker.Options{})
			w.create(engine.Queue, "q")
			w.Want(201, "POST", "/q/messages", "x", name, "High")
			a := w.Want(201, "POST", "/q/messages/head?timeout=1", "")
			got, want := a.Header.Get(name), `"High"`
			if as != "" {
				got, want = a.Header.Get("UserProperties"), `{"`+as+`":"High"}`
			}
			if got != want || a.Header.Get("Set-Cookie") != "" || strings.Contains(a.Header.Get("Location"), "High") {
				t.Errorf("returned as %q, want %q: %v", got, want, a.Header)
			}
		})
	}
}

// TestLooseBrokerProperties checks that BrokerProperties may have numbers for strings, strings for
// numbers, unknown members, and times in any common format.
func TestLooseBrokerProperties(t *testing.T) {
	for name, tc := range map[string]struct{ given, want string }{
		"REST-4 a number for a text":  {`{"MessageId":5,"Label":1.50,"To":true}`, `"MessageId":"5"`},
		"REST-4 a text for a number":  {`{"TimeToLive":"30"}`, `"TimeToLive":30}`},
		"REST-4 a span for seconds":   {`{"TimeToLive":"00:00:40"}`, `"TimeToLive":40}`},
		"REST-4 an unknown member":    {`{"MessageId":"m","Unknown":{"a":[1]}}`, `"MessageId":"m"`},
		"REST-4 HTTP's time":          {`{"ScheduledEnqueueTimeUtc":"Thu, 01 Jan 2026 02:03:04 GMT"}`, "Thu, 01 Jan 2026 02:03:04 GMT"},
		"REST-4 ISO's time":           {`{"ScheduledEnqueueTimeUtc":"2026-01-01T02:03:04Z"}`, "Thu, 01 Jan 2026 02:03:04 GMT"},
		"REST-4 a time with a blank":  {`{"ScheduledEnqueueTimeUtc":"2026-01-01 02:03:04"}`, "Thu, 01 Jan 2026 02:03:04 GMT"},
		"REST-4 another time zone":    {`{"ScheduledEnqueueTimeUtc":"2026-01-01 02:03:04+01:00"}`, "Thu, 01 Jan 2026 01:03:04 GMT"},
		"REST-4 .NET's own time":      {`{"ScheduledEnqueueTimeUtc":"01/01/2026 02:03:04"}`, "Thu, 01 Jan 2026 02:03:04 GMT"},
		"REST-4 .NET's time at night": {`{"ScheduledEnqueueTimeUtc":"1/1/2026 2:03:04 AM"}`, "Thu, 01 Jan 2026 02:03:04 GMT"},
		"REST-4 a day":                {`{"ScheduledEnqueueTimeUtc":"2026-01-01"}`, "Thu, 01 Jan 2026 00:00:00 GMT"},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t, broker.Options{})
			w.create(engine.Queue, "q")
			w.Want(201, "POST", "/q/messages", "x", "BrokerProperties", tc.given)
			w.Want(201, "POST", "/q/messages", `[{"BrokerProperties":`+tc.given+`,"Unknown":1}]`, "Content-Type", batchType)
			for range 2 {
				if a := w.Want(200, "DELETE", "/q/messages/head?timeout=1", ""); !strings.Contains(a.Header.Get("BrokerProperties"), tc.want) {
					t.Errorf("returned as %s, want %s", a.Header.Get("BrokerProperties"), tc.want)
				}
			}
		})
	}
}
