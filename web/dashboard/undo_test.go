package dashboard_test

import (
	"bytes"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// reversible lists the operations that can be undone (dashboard §4): each changes a world, and
// returns a function that reports whether all is as before.
func reversible() map[string]func(w *world) (asBefore func() bool) {
	dead := func(w *world) engine.Row {
		w.must(w.b.DeadLetterMessage(w.Context(), w.b.Rows("orders")[0].Message.Key, "Poison", "it was bad", "test"))
		return w.b.Rows("orders/$DeadLetterQueue")[0]
	}
	counts := func(w *world) engine.Counts { return w.b.State("orders").Counts }
	return map[string]func(w *world) (asBefore func() bool){
		"OPS-2 resubmit a copy": func(w *world) func() bool {
			d := dead(w)
			was := counts(w)
			w.done(w.pages.MessageURL(d.Message.Key) + "/resubmit-copy")
			return func() bool { return counts(w) == was }
		},
		"OPS-1 resubmit": func(w *world) func() bool {
			d := dead(w)
			w.done(w.pages.MessageURL(d.Message.Key) + "/resubmit")
			return func() bool {
				rows := w.b.Rows("orders/$DeadLetterQueue")
				return len(rows) == 1 && rows[0].Message.Extra.Reason == "Poison" && rows[0].Message.Extra.Description == "it was bad"
			}
		},
		"OPS-1 edit": func(w *world) func() bool {
			d := dead(w)
			w.done(w.pages.MessageURL(d.Message.Key)+"/edit", "subject", "new", "body", "corrected")
			return func() bool { return w.same(d) }
		},
		"OPS-1 edit, but for its body": func(w *world) func() bool {
			large := bytes.Repeat([]byte("large "), 40_000)
			w.b.SendMessages("orders", broker.Outgoing{Content: engine.Content{Subject: "large"}, Body: large})
			w.must(w.b.DeadLetterMessage(w.Context(), w.b.Rows("orders")[3].Message.Key, "Poison", "it was bad", "test"))
			d := w.b.Rows("orders/$DeadLetterQueue")[0]
			w.done(w.pages.MessageURL(d.Message.Key)+"/edit", "subject", "new", "keep-body", "on")
			return func() bool {
				if !w.same(d) {
					return false
				}
				is := w.b.Rows("orders/$DeadLetterQueue")[0]
				in, err := w.b.Body(w.Context(), is.Message.Content, is.Content.BodySize())
				w.must(err)
				defer in.Close()
				got, err := io.ReadAll(in)
				w.must(err)
				return bytes.Equal(got, large)
			}
		},
		"OPS-2 edit a copy": func(w *world) func() bool {
			d := dead(w)
			was := counts(w)
			w.done(w.pages.MessageURL(d.Message.Key)+"/edit", "subject", "new", "how", "copy")
			return func() bool { return counts(w) == was && w.same(d) }
		},
		"OPS-3 extend": func(w *world) func() bool {
			was := w.b.Rows("orders")[0]
			w.done(w.pages.MessageURL(was.Message.Key)+"/extend", "by", "10m")
			return func() bool { return w.b.Rows("orders")[0].Expires == was.Expires }
		},
		"OPS-4 defer": func(w *world) func() bool {
			was := counts(w)
			_, at := w.done("/n/default/q/orders/receive")
			path, token, _ := strings.Cut(at, "?lock=")
			w.done(path+"/defer", "lock", token)
			return func() bool { return counts(w) == was }
		},
		"OPS-5 dead-letter": func(w *world) func() bool {
			was := counts(w)
			w.done(w.first("orders", engine.ClassActive)+"/dead-letter", "reason", "odd")
			return func() bool { return counts(w) == was }
		},
		"OPS-8 reschedule": func(w *world) func() bool {
			w.fill("orders", engine.Content{ScheduledFor: w.b.ClockTime().Add(time.Hour)})
			was := w.b.RowsOf("orders", engine.ClassScheduled)[0].Message.ScheduledFor
			w.done(w.first("orders", engine.ClassScheduled)+"/reschedule", "schedule", "in", "in", "2h")
			return func() bool { return w.b.RowsOf("orders", engine.ClassScheduled)[0].Message.ScheduledFor == was }
		},
		"OPS-9 pin": func(w *world) func() bool {
			w.b.CreateQueue("reply", engine.Config{AutoDeleteOnIdle: 10 * time.Minute})
			w.done("/n/default/q/reply/pin")
			return func() bool { return w.b.State("reply").Config.AutoDeleteOnIdle == 10*time.Minute }
		},
		"stop sending": func(w *world) func() bool {
			w.done("/n/default/q/orders/status?agreed=1", "to", "SendDisabled")
			return func() bool { return w.b.State("orders").Config.Status == engine.StatusActive }
		},
		"extend many": func(w *world) func() bool {
			was := w.b.Rows("orders")
			w.done("/n/default/q/orders/bulk/extend", append(w.keysOf("orders", "a", "b"), "by", "-10m")...)
			return func() bool {
				is := w.b.Rows("orders")
				return is[0].Expires == was[0].Expires && is[1].Expires == was[1].Expires
			}
		},
		"OPS-10 move many": func(w *world) func() bool {
			w.b.CreateQueue("other", engine.Config{})
			was := counts(w)
			w.done("/n/default/q/orders/bulk/move", append(w.keysOf("orders", "a", "b"), "count", "2", "to", "other")...)
			return func() bool { return counts(w) == was && w.b.State("other").Counts.Active == 0 }
		},
		"copy many": func(w *world) func() bool {
			w.b.CreateQueue("other", engine.Config{})
			was := counts(w)
			w.done("/n/default/q/orders/bulk/move", append(w.keysOf("orders", "a", "b"), "count", "2", "to", "other", "how", "copy")...)
			return func() bool { return counts(w) == was && w.b.State("other").Counts.Active == 0 }
		},
		"dead-letter many": func(w *world) func() bool {
			was := counts(w)
			w.done("/n/default/bulk/dead-letter", append(w.keysOf("orders", "a", "b"), "count", "2")...)
			return func() bool { return counts(w) == was }
		},
	}
}

// same reports whether `was` is the only dead letter of orders and unchanged, except for where its
// content is stored, and orders has no message with the subject "new".
func (w *world) same(was engine.Row) bool {
	rows := w.b.Rows("orders/$DeadLetterQueue")
	if len(rows) != 1 || w.b.State("orders").Counts.MessageCount() != int64(len(w.b.Rows("orders"))+1) {
		return false
	}
	was.Message.Content = rows[0].Message.Content
	for _, r := range w.b.Rows("orders") {
		if r.Content.Subject() == "new" {
			return false
		}
	}
	return gocmp.Equal(was, rows[0])
}

// threeOrders creates a few messages.
func threeOrders(w *world) {
	w.b.CreateQueue("orders", engine.Config{DefaultMessageTimeToLive: 24 * time.Hour})
	w.fill("orders", engine.Content{Subject: "a"}, engine.Content{Subject: "b"}, engine.Content{Subject: "c"})
}

// TestUndo: a reversible operation is done at once, and undone by the button of its notice,
// once.
func TestUndo(t *testing.T) {
	for name, do := range reversible() {
		t.Run(name, func(t *testing.T) {
			within(t, func(w *world) {
				threeOrders(w)
				asBefore := do(w)
				if w.undo == "" {
					t.Fatal("there is no undo button")
				}
				if asBefore() {
					t.Fatal("nothing was changed")
				}
				undo := w.undo
				w.pass(10 * time.Second)
				says, _ := w.done(undo)
				if !strings.Contains(says, "Undone") || !asBefore() {
					t.Errorf("the notice is %q, and all is as before: %t", says, asBefore())
				}
				if says, _ := w.done(undo); !strings.Contains(says, "too late") || !asBefore() {
					t.Errorf("the second time the notice is %q", says)
				}
			})
		})
	}
}

// TestUndoSparesWhatWasTouched: messages that were changed since are left alone, and the notice
// reports them.
func TestUndoSparesWhatWasTouched(t *testing.T) {
	within(t, func(w *world) {
		threeOrders(w)
		w.done("/n/default/q/orders/bulk/extend", append(w.keysOf("orders", "a", "b"), "by", "10m")...)
		undo, later := w.undo, w.b.ClockTime().Add(30*24*time.Hour)
		rows := w.b.Rows("orders")
		w.must(w.b.Extend(w.Context(), rows[0].Message.Key, later, "another"))
		says, _ := w.done(undo)
		is := w.b.Rows("orders")
		if !strings.Contains(says, "Undone for one message") || !strings.Contains(says, "One stays as it is") || is[0].Expires != later || is[1].Expires == rows[1].Expires {
			t.Errorf("got %q; %v", says, is)
		}
		w.done(w.first("orders", engine.ClassActive)+"/extend", "by", "10m")
		undo = w.undo
		_, err := w.b.Receive(w.Context(), broker.ReceiveRequest{Path: "orders", Mode: engine.ReceiveAndDelete})
		w.must(err)
		if says, _ := w.done(undo); !strings.Contains(says, "cannot be undone any more") {
			t.Errorf("of deleted messages the notice is %q", says)
		}
	})
}

// TestUndoTooLate: an undo is refused as too late after a minute, after many other operations,
// after a restart, and if its token is unknown.
func TestUndoTooLate(t *testing.T) {
	within(t, func(w *world) {
		threeOrders(w)
		extend := func() string {
			w.done(w.first("orders", engine.ClassActive)+"/extend", "by", "10m")
			return w.undo
		}
		in := func(undo, want string) {
			t.Helper()
			if says, _ := w.done(undo); !strings.Contains(says, want) {
				t.Errorf("the notice is %q, want %q", says, want)
			}
		}
		undo := extend()
		w.pass(time.Minute - time.Millisecond)
		in(undo, "Undone")
		undo = extend()
		w.pass(time.Minute)
		in(undo, "too late")
		in("/n/default/undo/GUESSED", "too late")
		undo = extend()
		at := w.first("orders", engine.ClassActive) + "/extend"
		for range 200 {
			if a := w.post(at, "by", "10m"); a.status != 303 {
				t.Fatalf("%d", a.status)
			}
		}
		in(undo, "too late")
		undo = extend()
		w.restart()
		in(undo, "too late")
		if a := w.get(undo); a.status != 404 && a.status != 405 {
			t.Errorf("undone by a link: %d", a.status)
		}
	})
}

// TestEveryLeadsToTheJob: an operation on all matches is a job, which counts before it begins.
func TestEveryLeadsToTheJob(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{})
		w.fillMany("orders", 60)
		page := w.see("/n/default/q/orders")
		page.wants(200, "All 60 messages here")
		form := []string{"all", "yes", "path", page.Find("#bulk [name=path]").AttrOr("value", ""), "q", page.Find("#bulk [name=q]").AttrOr("value", ""), "key", "1"}
		a := w.post("/n/default/q/orders/bulk/delete", form...)
		if a.status != 303 {
			t.Fatalf("%d", a.status)
		}
		w.see(a.to).wants(200, "60 messages", "Type orders", "Delete 60 messages", "Export first")
		if n := w.b.State("orders").Counts.Active; n != 60 {
			t.Errorf("%d messages are left before the job began", n)
		}
		if a := w.post("/n/default/q/orders/bulk/export", form...); a.status != 303 || a.to != "/api/v1/n/default/export/orders" {
			t.Errorf("the export returned %d to %s", a.status, a.to)
		}
		if a := w.post("/n/default/q/orders/bulk/break-lock", form...); a.status != 409 {
			t.Errorf("all locks: %d", a.status)
		}
		for name, tc := range map[string]struct{ tab, path, q string }{
			"scheduled": {"scheduled", "orders", "state:scheduled"},
			"deferred":  {"deferred", "orders", "state:deferred"},
		} {
			page := w.see("/n/default/q/orders?tab=" + tc.tab)
			if page.Find("#bulk [name=all]").Length() != 0 {
				t.Errorf("%s: an empty table offers actions on all", name)
			}
		}
		first := w.b.Rows("orders")
		for i, r := range first[:55] {
			w.must(w.b.DeadLetterMessage(w.Context(), r.Message.Key, []string{"", `Odd "one"`}[i%2], "", "test"))
		}
		w.pass(2 * time.Second)
		for _, tc := range []struct{ of, q, want string }{
			{"", "", "All 55 messages here"}, {"&reason=-", `reason:""`, "All 28 that match"}, {"&reason=Odd+%22one%22", `reason:"Odd \"one\""`, "All 27 that match"},
		} {
			page := w.see("/n/default/q/orders?tab=dead-letter" + tc.of)
			page.wants(200, tc.want)
			if q := page.Find("#bulk [name=q]").AttrOr("value", "none"); q != tc.q {
				t.Errorf("%s asks for %s", tc.of, q)
			}
			a := w.post("/n/default/q/orders/bulk/resubmit", "all", "yes", "path", "orders/$DeadLetterQueue", "q", tc.q)
			w.see(a.to).wants(200, strings.Fields(tc.want)[1]+" messages")
		}
	})
}

// TestBulkOverEntities: messages of several entities are selected in search results, and in
// the list of deferred ones; a large deletion requires the namespace's name.
func TestBulkOverEntities(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{})
		w.b.CreateQueue("other", engine.Config{})
		w.fillMany("orders", 30)
		w.fillMany("other", 2)
		page := w.see("/n/default/search?q=state:active")
		page.wants(200, "All 32 that match")
		var keys []string
		for _, path := range []engine.Path{"other", "orders"} {
			for _, r := range w.b.Rows(path) {
				keys = append(keys, "key", strconv.FormatUint(uint64(r.Message.Key), 10))
			}
		}
		if n := page.Find("#bulk [name=key]").Length(); n != 32 {
			t.Fatalf("%d messages can be selected", n)
		}
		w.post("/n/default/bulk/delete", keys[:6]...).wants(200, "Delete 3 messages of default", "Export first")
		w.post("/n/default/bulk/delete", keys...).wants(200, "Type default", "Active")
		w.post("/n/default/bulk/delete", append(keys, "count", "32", "confirm", "orders")...).wants(422)
		w.post("/n/default/bulk/delete", append(keys, "count", "30", "confirm", "default")...).wants(409)
		w.done("/n/default/bulk/delete", append(keys, "count", "32", "confirm", "default", "back", "/n/default/search?q=state:active")...)
		if a, b := w.b.State("orders").Counts.Active, w.b.State("other").Counts.Active; a+b != 0 {
			t.Errorf("%d and %d messages are left", a, b)
		}
		w.post("/n/default/bulk/move", keys[:2]...).wants(200, "To the queue or topic")
		w.post("/n/default/bulk/move", append(keys[:2:2], "count", "1", "to", "nowhere")...).wants(422)
		w.post("/n/default/bulk/explode", keys[:2]...).wants(404)
	})
}

// TestBulkOfScheduledAndDeferred: the operations that only scheduled or deferred messages have work
// on selected rows too.
func TestBulkOfScheduledAndDeferred(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{})
		in := w.b.ClockTime().Add(time.Hour)
		w.fill("orders", engine.Content{Subject: "a", ScheduledFor: in}, engine.Content{Subject: "b", ScheduledFor: in}, engine.Content{Subject: "c", ScheduledFor: in}, engine.Content{Subject: "d"})
		const at = "/n/default/q/orders/bulk/"
		w.post(at+"reschedule", w.keysOf("orders", "a", "b")...).wants(200, "Reschedule 2 messages")
		w.post(at+"reschedule", append(w.keysOf("orders", "a", "b"), "count", "2", "schedule", "now")...).wants(422)
		w.done(at+"reschedule", append(w.keysOf("orders", "a", "b"), "count", "2", "schedule", "in", "in", "3h")...)
		if w.undo == "" {
			t.Error("the operation cannot be undone")
		}
		w.done(at+"send-now", w.keysOf("orders", "a")...)
		w.post(at+"cancel", w.keysOf("orders", "b")...).wants(200, "Cancel 1 scheduled message")
		says, _ := w.done(at+"cancel", append(w.keysOf("orders", "b"), "count", "1")...)
		if c := w.b.State("orders").Counts; says != "One message cancelled" || c.Active != 2 || c.Scheduled != 1 || w.undo != "" {
			t.Errorf("%q, %+v", says, c)
		}
		_, to := w.done("/n/default/q/orders/receive")
		path, token, _ := strings.Cut(to, "?lock=")
		w.done(path+"/defer", "lock", token)
		w.see("/n/default/deferred").wants(200, "Return")
		row := w.b.RowsOf("orders", engine.ClassDeferred)[0]
		says, _ = w.done("/n/default/bulk/return", "key", strconv.FormatUint(uint64(row.Message.Key), 10), "back", "/n/default/deferred")
		if c := w.b.State("orders").Counts; says != "One message is active again" || c.Deferred != 0 {
			t.Errorf("%q, %+v", says, c)
		}
		w.done("/n/default/q/orders/receive")
		row = w.b.RowsOf("orders", engine.ClassLocked)[0]
		says, _ = w.done("/n/default/q/orders/bulk/break-lock", "key", strconv.FormatUint(uint64(row.Message.Key), 10))
		if c := w.b.State("orders").Counts; says != "One lock broken" || c.Locked != 0 {
			t.Errorf("%q, %+v", says, c)
		}
	})
}

// TestExportBeforePurge: before a purge, or an entity's deletion, the affected messages can be
// exported by state.
func TestExportBeforePurge(t *testing.T) {
	within(t, func(w *world) {
		threeOrders(w)
		w.must(w.b.DeadLetterMessage(w.Context(), w.b.Rows("orders")[0].Message.Key, "", "", "test"))
		for _, at := range []string{"/n/default/q/orders/purge", "/n/default/q/orders/delete"} {
			page := w.see(at)
			for _, want := range []string{"/api/v1/n/default/export/orders?state=active", "/api/v1/n/default/export/orders/$DeadLetterQueue"} {
				if page.Find("a[download][href='"+want+"']").Length() != 1 {
					t.Errorf("%s does not offer %s", at, want)
				}
			}
		}
	})
}

// TestUndoEdit: an edit is not undone if its result was received or the original has no place to
// return to, and the notice reports that. An edit that went to a topic, or whose former body is too
// large to keep, offers no undo.
func TestUndoEdit(t *testing.T) {
	within(t, func(w *world) {
		threeOrders(w)
		w.b.CreateQueue("other", engine.Config{})
		w.b.CreateEntity(engine.Topic, "prices", engine.Config{})
		w.b.CreateEntity(engine.Subscription, "prices/Subscriptions/eu", engine.Config{})
		edit := func(pairs ...string) string {
			t.Helper()
			w.must(w.b.DeadLetterMessage(w.Context(), w.b.RowsOf("orders", engine.ClassActive)[0].Message.Key, "Poison", "", "test"))
			dead := w.b.Rows("orders/$DeadLetterQueue")
			w.done(w.pages.MessageURL(dead[len(dead)-1].Message.Key)+"/edit", append([]string{"subject", "new", "body", "x"}, pairs...)...)
			return w.undo
		}
		if undo := edit("target", "prices"); undo != "" {
			t.Error("an edit that went to a topic can be undone")
		}
		undo := edit("target", "other")
		got, err := w.b.Receive(w.Context(), broker.ReceiveRequest{Path: "other", Mode: engine.PeekLock, Max: 1, Client: "test"})
		w.must(err)
		got[0].Body.Close()
		if says, _ := w.done(undo); !strings.Contains(says, "cannot be undone") || !strings.Contains(says, "was received") {
			t.Errorf("got %q", says)
		}
		if n := w.b.State("other").Counts; n != (engine.Counts{Locked: 1}) {
			t.Errorf("got %+v", n)
		}
		undo = edit("target", "other")
		w.must(w.b.Delete(w.Context(), "orders", broker.Unconfirmed, "test"))
		if says, _ := w.done(undo); !strings.Contains(says, "cannot be undone") || !strings.Contains(says, "orders") || strings.Contains(says, "received") {
			t.Errorf("got %q", says)
		}
		if n := w.b.State("other").Counts; n != (engine.Counts{Active: 1, Locked: 1}) {
			t.Errorf("got %+v", n)
		}
		large := bytes.Repeat([]byte("x"), 200_000)
		w.b.SendMessages("other", broker.Outgoing{Body: large})
		last := w.b.RowsOf("other", engine.ClassActive)[1]
		if w.done(w.pages.MessageURL(last.Message.Key)+"/edit", "target", "prices/Subscriptions/eu", "body", "x"); w.undo != "" {
			t.Error("an edit that dropped a large body can be undone")
		}
	})
}

// TestUndoEditLife: the history of a message whose edit was undone continues.
func TestUndoEditLife(t *testing.T) {
	within(t, func(w *world) {
		threeOrders(w)
		key := w.b.Rows("orders")[0].Message.Key
		w.must(w.b.DeadLetterMessage(w.Context(), key, "Poison", "", "test"))
		w.done(w.pages.MessageURL(key)+"/edit", "subject", "new", "body", "x")
		undo, rows := w.undo, w.b.Rows("orders")
		w.get(w.pages.MessageURL(key)).wants(200, "Deleted")
		w.done(undo)
		w.see(w.pages.MessageURL(key)).wants(200, "Poison", "Put back: its edit was undone", "Edit and resubmit")
		w.get(w.pages.MessageURL(rows[len(rows)-1].Message.Key)).wants(200, "Withdrawn: the edit was undone")
		w.see("/n/default/activity").wants(200, "put back: its edit was undone", "withdrawn: the edit was undone")
	})
}
