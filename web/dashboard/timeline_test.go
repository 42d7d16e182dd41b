package dashboard_test

import (
	"fmt"
	"strings"
	"testing"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/value"
)

// TestHexWindows: a long body is shown in hexadecimal, in windows of 4 KB; an offset beyond
// the end shows the end, an invalid one the beginning.
func TestHexWindows(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{})
		body := make([]byte, 200<<10)
		copy(body[5000:], "here it is")
		w.b.SendMessages("orders", broker.Outgoing{Body: body})
		m := w.first("orders", engine.ClassActive)
		hex := func(at string) string {
			return w.see(m + "?view=hex&at=" + at).Find("pre.hex").Text()
		}
		if got := hex("5003"); !strings.Contains(got, "00001380  00 00 00 00 00 00 00 00  68 65 72 65 20 69 74 20  |........here it |") || !strings.HasPrefix(strings.TrimSpace(got), "00001000") || strings.Contains(got, "00002000") {
			t.Errorf("around byte 5003 got\n%.200s", got)
		}
		for _, at := range []string{"", "-1", "x"} {
			if got := strings.TrimSpace(hex(at)); !strings.HasPrefix(got, "00000000") {
				t.Errorf("at %q the window begins with %.20q", at, got)
			}
		}
		end := fmt.Sprintf("%08x", len(body)-4096)
		for _, at := range []string{"204799", "204800", "9223372036854775807", "99999999999999999999"} {
			if got := strings.TrimSpace(hex(at)); !strings.HasPrefix(got, end) {
				t.Errorf("at %q the window begins with %.20q, which is not the end", at, got)
			}
		}
		a := w.see(m + "?view=hex&at=4096")
		for rel, want := range map[string]string{"prev": m + "?at=0&view=hex#body", "next": m + "?at=8192&view=hex#body"} {
			if got := a.Find(`.hexes a[rel=`+rel+`]`).AttrOr("href", ""); got != want {
				t.Errorf("%s links to %q", rel, got)
			}
		}
		if n := w.see(m + "?view=hex&at=204799").Find(".hexes a[rel=next]").Length(); n != 0 {
			t.Error("there is a link beyond the end")
		}
	})
}

// TestHexFarInside: bytes far inside a large body are shown too.
func TestHexFarInside(t *testing.T) {
	within(t, func(w *world) {
		w.largest = 4 << 20
		w.restart()
		w.b.CreateQueue("orders", engine.Config{})
		body := make([]byte, 2<<20)
		copy(body[1<<20+5000:], "here it is")
		w.b.SendMessages("orders", broker.Outgoing{Body: body})
		got := w.see(w.first("orders", engine.ClassActive) + "?view=hex&at=1053576").Find("pre.hex").Text()
		if !strings.Contains(got, "00101380  00 00 00 00 00 00 00 00  68 65 72 65 20 69 74 20  |........here it |") {
			t.Errorf("got\n%.200s", got)
		}
	})
}

// TestAsSentAndAgain: the page shows the sender's properties, with types, and nothing that the
// broker added (MSG-2); and how to send the message again, with the types.
func TestAsSentAndAgain(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{})
		w.fill("orders", engine.Content{Subject: "it's", SessionID: "s", Properties: value.Properties{{Name: "n", Value: value.OfShort(3)}, {Name: "d", Value: value.OfDecimal64(0x31c000000000000f)}}})
		m := w.first("orders", engine.ClassActive)
		a := w.see(m + "?view=sent")
		a.wants(200, "group-id", "application-properties", "short")
		if got := a.Find("#body").Text(); strings.Contains(got, "sequence-number") {
			t.Errorf("the sender's properties are %q", got)
		}
		curl := a.Find(".again pre").First().Text()
		for _, part := range []string{`/send/orders' \`, `"subject":"it'\''s"`, `"sessionId":"s"`, `"n":{"type":"short","value":"3"}`} {
			if !strings.Contains(curl, part) {
				t.Errorf("%s is missing: %s", part, curl)
			}
		}
		code := a.Find(".again .sample").Text()
		for _, part := range []string{"int16(3)", "(short) 3", "SessionID: ptr(\"s\")", "left out, for this SDK has no such type: d (decimal64)"} {
			if !strings.Contains(code, part) {
				t.Errorf("%s is missing: %s", part, code)
			}
		}
	})
}

// TestKin: the page of a resubmitted copy links to the original and back, and the pages of the
// copies that a topic made of one message link to each other, also after a restart (OPS-2, FILT-1).
func TestKin(t *testing.T) {
	within(t, func(w *world) {
		orders(w)
		w.b.CreateEntity(engine.Topic, "news", engine.Config{})
		w.b.CreateEntity(engine.Subscription, "news/Subscriptions/a", engine.Config{})
		w.b.CreateEntity(engine.Subscription, "news/Subscriptions/b", engine.Config{})
		w.fill("news", engine.Content{Subject: "extra"})
		dead := w.first("orders/$DeadLetterQueue", engine.ClassAll)
		w.done(dead + "/resubmit-copy")
		copied := ""
		for _, r := range w.b.RowsOf("orders", engine.ClassActive) {
			if r.Content.Subject() == "dead" {
				copied = fmt.Sprintf("/n/default/m/%d", r.Message.Key)
			}
		}
		a, b := w.first("news/Subscriptions/a", engine.ClassAll), w.first("news/Subscriptions/b", engine.ClassAll)
		look := func(when string) {
			t.Helper()
			for from, want := range map[string][2]string{dead: {"Copy", copied}, copied: {"Original", dead}, a: {"Sent with it", b}, b: {"Sent with it", a}} {
				kin := w.see(from).Find(".kin")
				if got := [2]string{kin.Find("b").Text(), kin.Find("a").AttrOr("href", "")}; got != want {
					t.Errorf("%s: %s has the copies %q, want %q", when, from, got, want)
				}
			}
		}
		look("at once")
		w.restart()
		look("after a restart")
		w.done(copied+"/delete", "count", "1")
		if got := w.see(copied).Find(".kin a").AttrOr("href", ""); got != dead {
			t.Errorf("after its removal it has the copies %q", got)
		}
	})
}
