package dashboard_test

import (
	"strings"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// TestStatusSwitch: each status is set by its switch; the page asks before a change that stops
// running work, and other properties are kept (STAT-1…9).
func TestStatusSwitch(t *testing.T) {
	within(t, func(w *world) {
		c := engine.Config{LockDuration: 7 * time.Second, UserMetadata: "mine", MaxDeliveryCount: 3}
		w.b.CreateQueue("orders", c)
		w.b.CreateEntity(engine.Topic, "prices", engine.Config{})
		w.b.CreateEntity(engine.Subscription, "prices/Subscriptions/eu", engine.Config{})
		for _, tc := range []struct {
			url  string
			path engine.Path
			to   engine.Status
			asks bool
		}{
			{"q/orders", "orders", engine.StatusSendDisabled, true},
			{"q/orders", "orders", engine.StatusReceiveDisabled, true},
			{"q/orders", "orders", engine.StatusDisabled, true},
			{"q/orders", "orders", engine.StatusReceiveDisabled, false},
			{"q/orders", "orders", engine.StatusActive, false},
			{"t/prices", "prices", engine.StatusSendDisabled, true},
			{"t/prices", "prices", engine.StatusDisabled, true},
			{"t/prices", "prices", engine.StatusSendDisabled, false},
			{"t/prices/s/eu", "prices/Subscriptions/eu", engine.StatusReceiveDisabled, true},
			{"t/prices/s/eu", "prices/Subscriptions/eu", engine.StatusDisabled, true},
			{"t/prices/s/eu", "prices/Subscriptions/eu", engine.StatusActive, false},
		} {
			was := w.b.State(tc.path).Config
			to := "/n/default/" + tc.url + "/status"
			a := w.post(to, "to", tc.to.String())
			if asked := a.status == 200; asked != tc.asks {
				t.Fatalf("%s to %v: %d", tc.url, tc.to, a.status)
			}
			if tc.asks {
				if w.b.State(tc.path).Config.Status != was.Status {
					t.Errorf("%s: no confirmation before the status became %v", tc.url, tc.to)
				}
				form := w.see(to + "?to=" + tc.to.String()).Find("form.asking")
				at, value := form.AttrOr("action", ""), form.Find("input[name=to]").AttrOr("value", "")
				w.done(at, "to", value)
			}
			now := w.b.State(tc.path).Config
			if now.Status != tc.to {
				t.Errorf("%s is %v, want %v", tc.url, now.Status, tc.to)
			}
			if now.Status = was.Status; !now.Equal(was) {
				t.Errorf("%s changed: %+v, was %+v", tc.url, now, was)
			}
		}
		w.post("/n/default/t/prices/status", "to", "ReceiveDisabled").wants(422, "no such status")
		w.post("/n/default/q/orders/status", "to", "Open").wants(422)
		w.get("/n/default/q/orders/status").wants(404)
		w.get("/n/default/q/orders/status?to=Nothing").wants(404)
		w.post("/n/default/q/none/status", "to", "Active").wants(404)
	})
}

// TestStatusTellsWhatStops: the confirmation of a new status names locked messages that could not
// be settled, and entities that forward here, if the status affects them.
func TestStatusTellsWhatStops(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{})
		w.b.CreateQueue("in", engine.Config{ForwardTo: "orders"})
		w.fill("orders", engine.Content{}, engine.Content{})
		w.done("/n/default/q/orders/receive")
		a := w.see("/n/default/q/orders/status?to=Disabled")
		a.wants(200, "One message is locked and can no longer be settled", "One entity forwards here")
		w.see("/n/default/q/orders/status?to=ReceiveDisabled").lacks("forwards here")
	})
}

// TestTransferDeadLetters: transfer dead letters have a tab of their own while there are some,
// where they are received, resubmitted and purged (DLQ-3, FWD-14, OPS-1).
func TestTransferDeadLetters(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("via", engine.Config{})
		w.b.CreateQueue("to", engine.Config{Status: engine.StatusSendDisabled})
		w.see("/n/default/q/via").lacks("Transfer dead-letter")
		for range 3 {
			_, err := w.b.SendVia(w.Context(), "via", "to", []broker.Outgoing{{Content: engine.Content{Subject: "paid"}}}, "test")
			w.must(err)
		}
		w.pass(time.Second)
		if n := w.b.State("via").Counts.TransferDeadLetter; n != 3 {
			t.Fatalf("got %d dead letters", n)
		}
		tab := w.see("/n/default/q/via?tab=transfer")
		tab.wants(200, "Transfer dead-letter", "3 failed", "Resubmit all 3")
		if n := tab.Find("[data-list=rows] tr").Length(); n != 3 {
			t.Errorf("got %d rows", n)
		}
		_, at := w.done("/n/default/q/via/receive", "dlq", "transfer")
		if !strings.Contains(at, "?lock=") {
			t.Fatalf("the link is %s", at)
		}
		w.see(at).wants(200, "Complete")
		path, token, _ := strings.Cut(at, "?lock=")
		w.done(path+"/abandon", "lock", token)
		w.done("/n/default/q/to/status", "to", "Active")
		ask := w.see("/n/default/q/via/resubmit?dlq=transfer")
		ask.wants(200, "3")
		w.done(ask.Find("form.asking").AttrOr("action", ""), "count", "3", "how", "copy")
		if to, via := w.b.State("to").Counts.Active, w.b.State("via").Counts.TransferDeadLetter; to != 3 || via != 3 {
			t.Errorf("copies: %d there, %d here", to, via)
		}
		ask = w.see("/n/default/q/via/purge?state=transfer-dead-letter")
		n := ask.Find("input[name=count-transfer-dead-letter]").AttrOr("value", "")
		w.post("/n/default/q/via/purge", "state", "transfer-dead-letter", "count-transfer-dead-letter", "2").wants(409)
		w.done("/n/default/q/via/purge", "state", "transfer-dead-letter", "count-transfer-dead-letter", n)
		if n := w.b.State("via").Counts.TransferDeadLetter; n != 0 {
			t.Errorf("%d messages are left", n)
		}
		w.see("/n/default/q/via?tab=transfer").wants(200, "Nothing is left")
	})
}

// TestResubmitDuplicate: a dead letter that is a duplicate is not lost when it is resubmitted:
// the page warns first, and drops it only on request (OPS-1, DUP-2).
func TestResubmitDuplicate(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{RequiresDuplicateDetection: true})
		w.fill("orders", engine.Content{MessageID: "one"}, engine.Content{MessageID: "two"})
		for range 2 {
			_, at := w.done("/n/default/q/orders/receive")
			path, token, _ := strings.Cut(at, "?lock=")
			w.done(path+"/dead-letter", "lock", token, "reason", "odd")
		}
		w.fill("orders", engine.Content{MessageID: "one"})
		w.pass(time.Second)
		w.see("/n/default/q/orders").wants(200, "1 dropped", "2 ids remembered")
		dead := w.first("orders/$DeadLetterQueue", engine.ClassAll)
		w.see(dead+"/resubmit").wants(200, "orders has seen its id within the last 10m", "Let duplicates be dropped")
		w.post(dead+"/resubmit", "count", "1").wants(409, "has received the MessageId 'one'", "Let duplicates be dropped")
		if n := w.b.State("orders").Counts.DeadLetter; n != 2 {
			t.Fatalf("%d dead letters are left", n)
		}
		says, _ := w.done(dead+"/resubmit", "count", "1", "duplicate", "drop")
		if c := w.b.State("orders").Counts; c.DeadLetter != 1 || c.Active != 0 || !strings.Contains(says, "dropped as a duplicate") {
			t.Errorf("%+v: %s", c, says)
		}
		w.see("/n/default/q/orders/resubmit").wants(200, "having an id that orders has seen lately: two #2")
		says, _ = w.done("/n/default/q/orders/resubmit", "count", "1")
		if !strings.Contains(says, "one would be a duplicate") || w.b.State("orders").Counts.DeadLetter != 1 {
			t.Errorf("the page has %s", says)
		}
		w.pass(10 * time.Minute)
		w.see(dead).lacks("Let duplicates")
	})
}

// TestForwardToItselfAsksFirst: the page warns before an entity begins to forward to itself,
// and not when it already does (PROP-9).
func TestForwardToItselfAsksFirst(t *testing.T) {
	within(t, func(w *world) {
		const queues, edit = "/n/default/queues", "/n/default/q/orders/edit"
		for _, to := range []string{queues, queues + "?temporary=1"} {
			first := w.post(to, "name", "orders", "ForwardTo", "ORDERS", "AutoDeleteOnIdle", "1h")
			first.wants(422, "orders would forward its messages to itself", "forwarded 4 times")
			if err := w.b.Delete(w.Context(), "orders", broker.Unconfirmed, ""); err == nil {
				t.Fatal("the change was made without a confirmation")
			}
			again, _ := first.Find("form#f").Attr("action")
			if strings.Contains(to, "temporary") != strings.Contains(again, "temporary") {
				t.Errorf("the second time the form posts to %s", again)
			}
			if a := w.post(again, "name", "orders", "ForwardTo", "ORDERS", "AutoDeleteOnIdle", "1h"); a.status != 303 || w.b.State("orders").Config.ForwardTo != "ORDERS" {
				t.Fatalf("the second time, at %s: %d", again, a.status)
			}
			w.see("/n/default/q/orders").wants(200, "orders")
			if err := w.b.Delete(w.Context(), "orders", broker.Unconfirmed, ""); err != nil {
				t.Fatal(err)
			}
		}
		w.b.CreateQueue("orders", engine.Config{DefaultMessageTimeToLive: time.Hour})
		w.fill("orders", engine.Content{})
		w.pass(10 * time.Minute)
		back := []string{"ForwardDeadLetteredMessagesTo", "orders", "DefaultMessageTimeToLive", "5m"}
		first := w.post(edit, back...)
		first.wants(422, "orders would forward its dead letters to itself", "4 times at most")
		again, _ := first.Find("form#f").Attr("action")
		second := w.post(again, back...)
		second.wants(422, "one message would run out at once")
		again, _ = second.Find("form#f").Attr("action")
		if a := w.post(again, back...); a.status != 303 || w.b.State("orders").Config.ForwardDeadLetteredMessagesTo != "orders" {
			t.Fatalf("the third time, at %s: %d", again, a.status)
		}
		w.done(edit, append(back, "MaxDeliveryCount", "3")...) // the entity already forwards to itself, so no confirmation is needed
	})
}

// TestRefusedForwarding: invalid forwarding is reported beside its field (FWD-2, PROP-9).
func TestRefusedForwarding(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{})
		for name, tc := range map[string]struct{ field, says string }{
			"missing": {"ForwardTo", "'nowhere' that 'ForwardTo' names does not exist"},
			"dead":    {"ForwardDeadLetteredMessagesTo", "does not exist"},
		} {
			pairs := []string{"name", "new", tc.field, "nowhere"}
			a := w.post("/n/default/queues", pairs...)
			if a.wants(422); !strings.Contains(a.Find("#f-"+tc.field+"-e").Text(), tc.says) {
				t.Errorf("%s: %q", name, a.Find(".err").Text())
			}
		}
		w.done("/n/default/queues", "name", "all", "RequiresSession", "true", "RequiresDuplicateDetection", "true",
			"DuplicateDetectionHistoryTimeWindow", "5m", "ForwardDeadLetteredMessagesTo", "orders", "EnableBatchedOperations", "true")
		c := w.b.State("all").Config
		if !c.RequiresSession || !c.RequiresDuplicateDetection || c.DuplicateWindow() != 5*time.Minute || c.ForwardDeadLetteredMessagesTo != "orders" {
			t.Errorf("got %+v", c)
		}
	})
}
