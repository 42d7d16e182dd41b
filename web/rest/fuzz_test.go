package rest

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/value"
)

// refused reports whether err is an error for clients.
func refused(err error) bool {
	code, _ := status(err)
	return code == http.StatusBadRequest || code == http.StatusForbidden || code == http.StatusNotFound
}

func FuzzBrokerProperties(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"MessageId":"1","TimeToLive":1.5}`, `{"timetolive":1e-12}`, `{"TimeToLive":1e400}`, `{"TimeToLiveTimeSpan":"10675199.02:48:05.4775807"}`,
		`{"ScheduledEnqueueTimeUtc":"Sun, 06 Nov 1994 08:49:37 GMT"}`, `{"ScheduledEnqueueTimeUtc":"0001-01-01T00:00:00"}`, `null`, `{"Label":null}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := parseBrokerProperties([]byte(s))
		if err != nil {
			if !refused(err) {
				t.Fatalf("%v is not an error for clients", err)
			}
			return
		}
		if c.TTL < 0 {
			t.Errorf("an expired message: %v", c.TTL)
		}
		if got, err := c.Pack().Content(); err != nil || !cmp.Equal(got, c) {
			t.Errorf("stored as %+v (%v), want %+v", got, err, c)
		}
	})
}

func FuzzHeaderValue(f *testing.F) {
	for _, s := range []string{
		``, `5`, `-0`, `5.0`, `1e400`, `"a"`, `"a\u00e9\n"`, `true`, `False`, `null`, `bare`, `"Sun, 06 Nov 1994 08:49:37 GMT"`, `18446744073709551615`, `"`, "\xff",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := parseHeaderValue(s)
		if err != nil {
			return
		}
		text := formatHeaderValue(v)
		if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Fatalf("%q is not a valid header", text)
		}
		again, err := parseHeaderValue(text)
		if err != nil || again != v {
			t.Fatalf("%q is %v %v, written %q, which is %v %v (%v)", s, v.Kind(), v, text, again.Kind(), again, err)
		}
	})
}

// FuzzStoredValue writes any value that may be stored. A receiver must be able to read a
// value.
func FuzzStoredValue(f *testing.F) {
	f.Add(uint8(value.Double), "NaN")
	f.Add(uint8(value.Decimal128), "1E+400")
	f.Add(uint8(value.Binary), "AAEC")
	f.Add(uint8(value.Timestamp), "9223372036854775807")
	f.Fuzz(func(t *testing.T, kind uint8, text string) {
		v, err := value.Parse(value.Kind(kind), text)
		if err != nil {
			return
		}
		written := formatHeaderValue(v)
		if _, err := parseHeaderValue(written); err != nil {
			t.Errorf("%v %v is written %q, which cannot be read: %v", v.Kind(), v, written, err)
		}
	})
}

func FuzzBatch(f *testing.F) {
	for _, s := range []string{
		`[]`, `[{}]`, `[{"Body":"x","BrokerProperties":{"MessageId":"1"},"UserProperties":{"a":1,"b":{"type":"int","value":"5"}}}]`,
		`[{"Body":"x"}`, `[null]`, `{`, `[{"body":"\ud800"}]`, `[{"UserProperties":{"a":null}}]`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out, err := parseBatch([]byte(s))
		if err != nil {
			if !refused(err) {
				t.Fatalf("%v is not an error for clients", err)
			}
			return
		}
		if !json.Valid([]byte(s)) {
			t.Fatalf("%q is not JSON", s)
		}
		for _, o := range out {
			if _, err := engine.Submit(o.Content, o.Body, 0, 1, engine.DefaultLimits()); err != nil && !refused(err) {
				t.Fatal(err)
			}
		}
	})
}

func FuzzTarget(f *testing.F) {
	for _, s := range []string{"/q/messages", "/a%2Fb/messages/head", "/q/messages/1/x", "/", "", "/%zz/messages", "/messages/messages/head"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, ofMessages, err := parseTarget(s)
		if err != nil {
			if !refused(err) {
				t.Fatalf("%v is not an error for clients", err)
			}
			return
		}
		if !ofMessages {
			return
		}
		if p, err := engine.ParsePath(got.entity, engine.DefaultLimits()); err == nil {
			again, ofMessages, err := parseTarget(strings.TrimPrefix(deliveryURL(&http.Request{Host: "h"}, p, engine.Message{Seq: 7}), "http://h"))
			if err != nil || !ofMessages || again.kind != locked || again.id != "7" || !strings.EqualFold(again.entity, string(p)) {
				t.Errorf("%q has locations that were read as %+v (%v)", p, again, err)
			}
		}
	})
}

func TestStatusKnowsEveryKind(t *testing.T) {
	for _, kind := range []error{
		engine.ErrNotFound, engine.ErrExists, engine.ErrDisabled, engine.ErrLockLost, engine.ErrSessionLockLost, engine.ErrSessionLocked, engine.ErrTimeout, engine.ErrMessageNotFound, engine.ErrTooLarge, engine.ErrQuota,
		engine.ErrBusy, engine.ErrNotAllowed, engine.ErrArgument, engine.ErrOutOfRange, engine.ErrNotImplemented, engine.ErrClosed, engine.ErrChanged,
	} {
		if code, _ := status(kind); code == http.StatusInternalServerError {
			t.Errorf("%v is an internal error", kind)
		}
	}
	if code, sub := status(errors.New("surprise")); code != http.StatusInternalServerError || sub != 50000 {
		t.Errorf("an unknown error becomes %d %d", code, sub)
	}
}
