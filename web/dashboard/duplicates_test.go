package dashboard_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"mayfly/engine"
)

// keysOf returns form fields that select the messages of a path with these subjects, one for each.
func (w *world) keysOf(path engine.Path, subjects ...string) (pairs []string) {
	w.Helper()
	for _, s := range subjects {
		for _, r := range w.b.Rows(path) {
			if r.Content.Subject() == s {
				pairs = append(pairs, "key", strconv.FormatUint(uint64(r.Message.Key), 10))
			}
		}
	}
	if len(pairs) != 2*len(subjects) {
		w.Fatalf("%s has %d messages with the subject %q", path, len(pairs)/2, subjects)
	}
	return pairs
}

// deadPayments creates a queue with duplicate detection and dead letters in it: two have ids that
// were sent again later, and two have the same id, sent in consecutive detection windows.
func deadPayments(w *world) {
	w.b.CreateQueue("payments", engine.Config{RequiresDuplicateDetection: true, DuplicateDetectionHistoryTimeWindow: time.Minute})
	dead := func(id, subject string) {
		w.fill("payments", engine.Content{MessageID: id, Subject: subject})
		_, at := w.done("/n/default/q/payments/receive")
		path, token, _ := strings.Cut(at, "?lock=")
		w.done(path+"/dead-letter", "lock", token, "reason", "odd")
	}
	dead("1", "one")
	dead("2", "two")
	dead("3", "three")
	dead("4", "four")
	w.pass(time.Minute)
	dead("4", "four-again")
	w.pass(time.Minute)
	w.fill("payments", engine.Content{MessageID: "1"}, engine.Content{MessageID: "2"})
	w.done("/n/default/q/payments/purge", "state", "active", "count-active", "2")
}

// TestResubmitOfManyTellsDuplicates: before selected dead letters are resubmitted, the page
// shows how many would be dropped as duplicates, and which; if none would, it asks nothing
// (OPS-1, DUP-2, DUP-10).
func TestResubmitOfManyTellsDuplicates(t *testing.T) {
	const to, dlq = "/n/default/q/payments/bulk/resubmit", engine.Path("payments/$DeadLetterQueue")
	within(t, func(w *world) {
		deadPayments(w)
		says, _ := w.done(to, w.keysOf(dlq, "three")...)
		if strings.TrimSpace(says) != "One message resubmitted" {
			t.Errorf("without duplicates: %q", says)
		}

		all := w.keysOf(dlq, "one", "four", "two", "four-again")
		ask := w.post(to, all...)
		ask.wants(200, "Resubmit 4 dead letters", "3 of them would be dropped as duplicates, having an id that payments has seen lately: one #1, two #2 and four-again #5.", "Let duplicates be dropped")
		if n := w.b.State("payments").Counts.DeadLetter; n != 4 {
			t.Fatalf("before the user has confirmed, %d dead letters are left", n)
		}
		if n := ask.Find("input[name=key]").Length(); n != 4 {
			t.Errorf("the page asks about %d duplicates", n)
		}
		ask.wants(200, "what is dropped is then gone")
		says, at := w.done(to, append(all, "count", "4", "how", "move", "back", "/n/default/q/payments")...)
		if c := w.b.State("payments").Counts; c.DeadLetter != 3 || strings.Join(strings.Fields(says), " ") != "One message resubmitted, 3 would be duplicates They are still among the dead letters, here." || at != "/n/default/q/payments?tab=dead-letter" {
			t.Errorf("without permission: %+v, %q at %s", c, says, at)
		}
		says, at = w.done("/n/default/q/payments/resubmit", "count", "3", "how", "move", "back", "/n/default/q/payments")
		if c := w.b.State("payments").Counts; c.DeadLetter != 3 || !strings.Contains(says, "They are still among the dead letters") || at != "/n/default/q/payments?tab=dead-letter" {
			t.Errorf("all of them without permission: %+v, %q at %s", c, says, at)
		}
		w.see("/n/default/q/payments/resubmit").wants(200, "3 of them would be dropped as duplicates", "one #1, two #2 and four")
		says, _ = w.done(to, append(w.keysOf(dlq, "one", "two"), "count", "2", "duplicate", "drop")...)
		if c := w.b.State("payments").Counts; c.DeadLetter != 1 || c.Active != 2 || strings.TrimSpace(says) != "0 messages resubmitted, 2 dropped as duplicates" {
			t.Errorf("with permission: %+v, %q", c, says)
		}
		w.pass(time.Minute)
		w.see("/n/default/q/payments/resubmit").lacks("Let duplicates")
	})
}

// TestResubmitOfManyWithoutDetection: without duplicate detection the page asks nothing
// (OPS-1).
func TestResubmitOfManyWithoutDetection(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{})
		for range 2 {
			w.fill("orders", engine.Content{MessageID: "same", Subject: "s"})
			_, at := w.done("/n/default/q/orders/receive")
			path, token, _ := strings.Cut(at, "?lock=")
			w.done(path+"/dead-letter", "lock", token, "reason", "odd")
		}
		w.see("/n/default/q/orders/resubmit").lacks("duplicates")
		var keys []string
		for _, r := range w.b.Rows("orders/$DeadLetterQueue") {
			keys = append(keys, "key", strconv.FormatUint(uint64(r.Message.Key), 10))
		}
		if says, _ := w.done("/n/default/q/orders/bulk/resubmit", keys...); strings.TrimSpace(says) != "2 messages resubmitted" {
			t.Errorf("%q", says)
		}
	})
}
