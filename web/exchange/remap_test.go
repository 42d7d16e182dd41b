package exchange

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/engine/value"
	"mayfly/web/amqp/codec"
)

// TestExportedTTL checks that an export and import keep any time to live, even one of a nanosecond
// or a negative one (TTL-8).
func TestExportedTTL(t *testing.T) {
	for _, ttl := range []time.Duration{0, 1, time.Millisecond, -1, -time.Millisecond, -time.Hour} {
		c, _, err := Exported{Outgoing: Outgoing{TimeToLive: exportTTL(ttl)}}.content()
		if err != nil || c.TTL != ttl {
			t.Errorf("%v was written as %q and read as %v, %v", ttl, exportTTL(ttl), c.TTL, err)
		}
	}
}

func TestRemap(t *testing.T) {
	const now = engine.Instant(1_800_000_000_000)
	at := func(d time.Duration) *time.Time { t := now.Time().Add(d); return &t }
	for name, tc := range map[string]struct {
		how       string // ttl/schedule
		s         System
		had, want engine.Content
		over      bool
	}{
		"nothing left, on the dot": {"remaining/keep", System{ExpiresAt: at(0)}, engine.Content{TTL: time.Hour}, engine.Content{}, true},
		"a moment left":            {"remaining/keep", System{ExpiresAt: at(time.Millisecond)}, engine.Content{TTL: time.Hour}, engine.Content{TTL: time.Millisecond}, false},
		"it never expires":         {"remaining/keep", System{}, engine.Content{TTL: time.Hour}, engine.Content{TTL: time.Hour}, false},
		"its time has not begun": {"remaining/keep", System{ExpiresAt: at(2 * time.Hour), ScheduledFor: at(time.Hour)},
			engine.Content{TTL: time.Hour, ScheduledFor: now.Add(time.Hour)}, engine.Content{TTL: time.Hour, ScheduledFor: now.Add(time.Hour)}, false},
		"an export of an hour ago": {"keep/shift", System{ScheduledFor: at(time.Minute), ExportedAt: *at(-time.Hour)},
			engine.Content{ScheduledFor: 1}, engine.Content{ScheduledFor: now.Add(time.Hour + time.Minute)}, false},
		"an export by a clock that is ahead": {"keep/shift", System{ScheduledFor: at(time.Hour), ExportedAt: *at(time.Minute)},
			engine.Content{ScheduledFor: 1}, engine.Content{ScheduledFor: now.Add(time.Hour)}, false},
		"not scheduled": {"keep/shift", System{ExportedAt: *at(-time.Hour)}, engine.Content{}, engine.Content{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			ttl, schedule, _ := strings.Cut(tc.how, "/")
			c := tc.had
			left, err := Remap{TTL: ttl, Schedule: schedule, IDs: "keep"}.apply(&c, &tc.s, now)
			switch {
			case err != nil || left == tc.over:
				t.Errorf("left %v, %v", left, err)
			case left && (c.TTL != tc.want.TTL || c.ScheduledFor != tc.want.ScheduledFor):
				t.Errorf("got %v and %v, want %v and %v", c.TTL, c.ScheduledFor, tc.want.TTL, tc.want.ScheduledFor)
			}
		})
	}
}

// Whatever a sender claims about a message, an imported message can be exported again.
func FuzzContents(f *testing.F) {
	spoken, err := codec.DecodeMessage([]byte("\x00\x53\x70\xc0\x04\x02\x41\x50\x07\x00\x53\x73\xc0\x12\x01\x98abcdefghijklmnop\x00\x53\x77\xa1\x05hello\x00\x53\x78\xc1\x06\x02\xa3\x01f\x54\x05"))
	if err != nil {
		f.Fatal(err)
	}
	for _, c := range []engine.Content{
		{}, spoken.Content, {Subject: "\xff", TTL: -1, ScheduledFor: 1, Properties: value.Properties{{Name: "\xfe", Value: value.OfInt(1)}}}, {EmptySessionID: true, BodyKind: engine.SequenceBody},
		{BodySize: 1 << 40, Preview: "\xff", PartitionKey: "a", ViaPartitionKey: "b"},
	} {
		f.Add([]byte(c.Pack()), spoken.Body, c.Wire)
	}
	f.Fuzz(func(t *testing.T, content, body []byte, amqp string) {
		text := base64.StdEncoding.EncodeToString(body)
		x := Exported{Outgoing: Outgoing{BodyBase64: &text}, Content: base64.StdEncoding.EncodeToString(content), AMQP: base64.StdEncoding.EncodeToString([]byte(amqp))}
		c, body, err := x.content()
		if err == nil {
			err = codec.ValidateStored(&c, body)
		}
		var s engine.Submission
		if err == nil {
			s, err = engine.Submit(c, body, 0, 1, engine.DefaultLimits())
		}
		if err != nil {
			if _, ok := errors.AsType[*engine.Refusal](err); !ok {
				t.Fatalf("%v is not an error for clients", err)
			}
			return
		}
		if _, err := Export(engine.Row{Content: s.Content}, 1); err != nil {
			t.Errorf("the content cannot be exported: %v", err)
		}
		var e codec.Envelope
		if _, err := e.EncodeDelivery(nil, &engine.Delivery{Content: s.Content}); err != nil {
			t.Fatalf("the content cannot be encoded: %v", err)
		}
		if back, err := codec.DecodeMessage(e.AppendMessage(nil, body)); err != nil {
			t.Errorf("the exported line is not a message: %v, %+v", err, back)
		}
	})
}
