package dashboard_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"mayfly/engine"
)

// orders creates a queue with one message in each state.
func orders(w *world) {
	w.b.CreateQueue("orders", engine.Config{DefaultMessageTimeToLive: time.Hour, DeadLetteringOnMessageExpiration: true, LockDuration: 30 * time.Second})
	now, err := w.b.Now(w.Context())
	w.must(err)
	w.fill("orders", engine.Content{Subject: "parked"}, engine.Content{Subject: "dead"}, engine.Content{Subject: "active"},
		engine.Content{Subject: "later", ScheduledFor: now.Add(time.Hour)})
	_, at := w.done("/n/default/q/orders/receive")
	path, lock, _ := strings.Cut(at, "?lock=")
	w.done(path+"/defer", "lock", lock)
	_, at = w.done("/n/default/q/orders/receive")
	path, lock, _ = strings.Cut(at, "?lock=")
	w.done(path+"/dead-letter", "lock", lock, "reason", "Poison", "description", "It tasted bad.")
	if e := w.b.State("orders"); e.Counts != (engine.Counts{Active: 1, Deferred: 1, Scheduled: 1, DeadLetter: 1}) {
		w.Fatalf("got %+v", e.Counts)
	}
}

func TestInspect(t *testing.T) {
	within(t, func(w *world) {
		orders(w)
		says, at := w.done("/n/default/q/orders/receive")
		if !strings.Contains(says, "You hold the lock") {
			t.Errorf("the notice is %q", says)
		}
		path, lock, _ := strings.Cut(at, "?lock=")
		if n := w.see(at).Find(`button[formaction="` + path + `/complete"]`).Length(); n != 1 {
			t.Errorf("%d buttons complete the message", n)
		}
		if n := w.see(path).Find(`button[formaction="` + path + `/complete"]`).Length(); n != 0 {
			t.Error("a message can be completed without its lock")
		}
		if a := w.post("/n/default/q/orders/receive"); !strings.HasPrefix(a.to, "/n/default/q/orders") {
			t.Errorf("receiving from an empty queue redirects to %s", a.to)
		}
		other := w.first("orders", engine.ClassDeferred)
		for name, tc := range map[string]struct {
			to     string
			pairs  []string
			status int
		}{
			"no lock":         {path + "/complete", nil, 422},
			"no token":        {path + "/complete", []string{"lock", "key"}, 422},
			"another lock":    {path + "/complete", []string{"lock", strings.Repeat("0", 32)}, 410},
			"of another":      {other + "/complete", []string{"lock", lock}, 410},
			"reason too long": {path + "/dead-letter", []string{"lock", lock, "reason", strings.Repeat("a", 4097)}, 422},
			"deleting it":     {path + "/delete", []string{"count", "1"}, 409},
			"resubmitting it": {path + "/resubmit", nil, 409},
			"returning it":    {path + "/return", nil, 409},
			"cancelling it":   {path + "/cancel", []string{"count", "1"}, 409},
			"sending it now":  {path + "/send-now", nil, 404},
		} {
			if a := w.post(tc.to, tc.pairs...); a.status != tc.status {
				t.Errorf("%s: %d, want %d", name, a.status, tc.status)
			}
		}
		w.pass(20 * time.Second)
		w.done(path + "/renew")
		w.pass(20 * time.Second)
		w.done(path+"/complete", "lock", lock)
		w.see(path).wants(200, "Completed")
		if a := w.post(path+"/complete", "lock", lock); a.status != 410 {
			t.Errorf("completed twice: %d", a.status)
		}
	})
}

func TestDrawer(t *testing.T) {
	within(t, func(w *world) {
		orders(w)
		m := w.first("orders", engine.ClassActive)
		a := w.see(m + "?drawer=1")
		if a.Find("aside.drawer").Length() != 1 || a.Find("nav.rail").Length() != 0 {
			t.Error("there is no drawer, or it has more than the message")
		}
		if topic := a.Find("aside.drawer").AttrOr("data-live", ""); topic != m {
			t.Errorf("the drawer has the live topic %q", topic)
		}
	})
}

func TestActs(t *testing.T) {
	within(t, func(w *world) {
		orders(w)
		active, parked := w.first("orders", engine.ClassActive), w.first("orders", engine.ClassDeferred)
		later, dead := w.first("orders", engine.ClassScheduled), w.first("orders/$DeadLetterQueue", engine.ClassAll)

		says, _ := w.done(active+"/extend", "by", "10m")
		if !strings.Contains(says, "runs out at") {
			t.Errorf("the notice is %q", says)
		}
		rows := w.b.RowsOf("orders", engine.ClassActive)
		if left := rows[0].Expires.Sub(rows[0].Message.EnqueuedAt); left != 70*time.Minute {
			t.Errorf("the message lives %v now", left)
		}
		w.see(active).wants(200, "set by hand")
		w.done(active+"/extend", "by", "-1h")

		_, at := w.done(parked + "/fetch")
		if !strings.HasPrefix(at, parked+"?lock=") {
			t.Errorf("fetching redirects to %s", at)
		}
		w.done(parked + "/break-lock")
		w.done(parked + "/return")
		if a := w.post(parked + "/return"); a.status != 409 {
			t.Errorf("returned twice: %d", a.status)
		}
		says, _ = w.done(later+"/reschedule", "schedule", "in", "in", "2h")
		if !strings.Contains(says, "It is now #") {
			t.Errorf("the notice is %q", says)
		}
		w.done(later+"/reschedule", "schedule", "at", "at", "2100-01-01T10:30")
		w.done(later + "/send-now")
		says, _ = w.done(dead + "/resubmit-copy")
		if !strings.Contains(says, "A copy was resubmitted") {
			t.Errorf("the notice is %q", says)
		}
		says, _ = w.done(dead+"/resubmit", "how", "move")
		if !strings.Contains(says, "Resubmitted as #") {
			t.Errorf("the notice is %q", says)
		}
		w.done(dead+"/dead-letter", "reason", "Again")
		w.see(dead).wants(200, "Again", "Resubmitted")
		w.done(dead+"/delete", "count", "1")
		w.see(dead).wants(200, "Deleted")
		if e := w.b.State("orders"); e.Counts != (engine.Counts{Active: 4}) {
			t.Errorf("got %+v", e.Counts)
		}
	})
}

// TestBadActs: an operation on a message with an invalid value is refused, with the error beside
// its field, and changes nothing.
func TestBadActs(t *testing.T) {
	within(t, func(w *world) {
		orders(w)
		active, later := w.first("orders", engine.ClassActive), w.first("orders", engine.ClassScheduled)
		dead := w.first("orders/$DeadLetterQueue", engine.ClassAll)
		before := w.b.Rows("orders")
		for name, tc := range map[string]struct {
			to     string
			pairs  []string
			status int
			errors int // beside fields
		}{
			"extend by nothing said":     {active + "/extend", nil, 422, 1},
			"extend by nothing":          {active + "/extend", []string{"by", "0s"}, 422, 1},
			"extend by words":            {active + "/extend", []string{"by", "a bit"}, 422, 1},
			"extend for ever":            {active + "/extend", []string{"by", "never"}, 422, 1},
			"cut to before now":          {active + "/extend", []string{"by", "-2h"}, 422, 1},
			"extend a dead letter":       {dead + "/extend", []string{"by", "1m"}, 409, 0},
			"extend a scheduled one":     {later + "/extend", []string{"by", "1m"}, 409, 0},
			"delete without a number":    {active + "/delete", nil, 422, 0},
			"delete two":                 {active + "/delete", []string{"count", "2"}, 422, 0},
			"cancel an active one":       {active + "/cancel", []string{"count", "1"}, 409, 0},
			"reason too long":            {active + "/dead-letter", []string{"reason", strings.Repeat("a", 4097)}, 422, 1},
			"description too long":       {active + "/dead-letter", []string{"description", strings.Repeat("a", 4097)}, 422, 1},
			"dead-letter a dead letter":  {dead + "/dead-letter", nil, 409, 0},
			"reschedule, nothing said":   {later + "/reschedule", nil, 422, 1},
			"reschedule to now":          {later + "/reschedule", []string{"schedule", "now"}, 422, 1},
			"reschedule, unknown":        {later + "/reschedule", []string{"schedule", "soon"}, 422, 1},
			"reschedule in words":        {later + "/reschedule", []string{"schedule", "in", "in", "a while"}, 422, 1},
			"reschedule to the past":     {later + "/reschedule", []string{"schedule", "at", "at", "1999-01-01T10:30"}, 422, 1},
			"reschedule at words":        {later + "/reschedule", []string{"schedule", "at", "at", "noon"}, 422, 1},
			"reschedule an active one":   {active + "/reschedule", []string{"schedule", "in", "in", "1h"}, 404, 0},
			"resubmit in another way":    {dead + "/resubmit", []string{"how", "twice"}, 422, 0},
			"resubmit an active one":     {active + "/resubmit", nil, 409, 0},
			"return an active one":       {active + "/return", nil, 409, 0},
			"fetch an active one":        {active + "/fetch", nil, 404, 0},
			"break a lock that is none":  {active + "/break-lock", nil, 409, 0},
			"renew a lock that is none":  {active + "/renew", nil, 409, 0},
			"send now what is not later": {active + "/send-now", nil, 404, 0},
		} {
			a := w.post(tc.to, tc.pairs...)
			if a.status != tc.status || a.Find(".err").Length() != tc.errors {
				t.Errorf("%s: %d, want %d, with %d errors: %s", name, a.status, tc.status, a.Find(".err").Length(), strings.Join(strings.Fields(a.Find("main").Text()), " "))
			}
		}
		after := w.b.Rows("orders")
		for i := range before {
			if before[i].Message.ExpiresAt != after[i].Message.ExpiresAt || before[i].Message.State != after[i].Message.State || before[i].Message.Seq != after[i].Message.Seq {
				t.Errorf("message %d was changed: %+v", i, after[i].Message)
			}
		}
	})
}

func TestBodyIsKeptAsItIs(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{})

		w.done("/n/default/q/orders/send", "body", "<script>alert('x')</script>", "subject", "<b>bold</b>")
		m := w.first("orders", engine.ClassAll)
		for _, view := range []string{"", "?view=raw", "?view=hex", "?view=headers"} {
			if a := w.see(m + view); strings.Contains(a.text, "<script>alert") || strings.Contains(a.text, "<b>bold") {
				t.Errorf("%s: a body was not escaped", view)
			}
		}
		if a := w.see("/n/default/q/orders"); strings.Contains(a.text, "<script>alert") || strings.Contains(a.text, "<b>bold") {
			t.Error("a row was not escaped")
		}
		a := w.get(m + "/body")
		if a.text != "<script>alert('x')</script>" {
			t.Errorf("downloaded %q", a.text)
		}

	})
}

func TestSendMakesUpMessageIDs(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{})
		w.done("/n/default/q/orders/send", "body", "x", "schedule", "now", "repeat", "2")
		shape := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
		seen := map[string]bool{}
		for _, row := range w.b.Rows("orders") {
			c, err := row.Content.Content()
			w.must(err)
			if seen[c.MessageID] = true; !shape.MatchString(c.MessageID) {
				t.Errorf("the id is %q", c.MessageID)
			}
		}
		if len(seen) != 2 {
			t.Errorf("the ids are %v", seen)
		}
	})
}

func TestSend(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{DefaultMessageTimeToLive: time.Hour})
		says, at := w.done("/n/default/q/orders/send", "body", "hello {{n}}\r\nthere", "subject", "greeting {{n}}", "message-id", "g-{{n}}", "content-type", "text/plain",
			"correlation-id", "c", "to", "you", "reply-to", "me", "ttl", "1m 30s", "schedule", "now", "repeat", "3",
			"property-0-name", "region", "property-0-type", "string", "property-0-value", "eu",
			"property-1-name", "", "property-1-type", "int", "property-1-value", "",
			"property-2-name", "count", "property-2-type", "int", "property-2-value", "42",
			"property-3-name", "id", "property-3-type", "uuid", "property-3-value", "6f1c3a52-0d4e-4b7a-9c11-2f6e5d7a8b90")
		if at != "/n/default/q/orders" || !strings.Contains(says, "Sent 3 messages to orders") {
			t.Errorf("redirected to %s with the notice %q", at, says)
		}
		rows := w.b.Rows("orders")
		c, err := rows[1].Content.Content()
		w.must(err)
		if c.Subject != "greeting 2" || c.MessageID != "g-2" || c.TTL != 90*time.Second || c.Preview != "hello 2 there" || len(c.Properties) != 3 {
			t.Errorf("sent %+v", c)
		}
		if n, ok := c.Properties[1].Value.Int64(); !ok || n != 42 || c.Properties[1].Value.Kind().String() != "int" {
			t.Errorf("the property is %v", c.Properties[1])
		}
		w.see(w.pages.MessageURL(rows[0].Message.Key)).wants(200, "greeting 1", "region", "6f1c3a52", "1m 30s")
		w.done("/n/default/q/orders/send", "body", "later", "schedule", "in", "in", "10m")
		if n := w.b.State("orders").Counts.Scheduled; n != 1 {
			t.Errorf("%d are scheduled", n)
		}
		w.done("/n/default/q/orders/send", "body", strings.Repeat("x", 3000), "repeat", "1000")
		if n := w.b.State("orders").Counts.Active; n != 1003 {
			t.Errorf("%d are active", n)
		}
		more := w.post("/n/default/q/orders/send", "body", "kept", "add-property", "1", "property-0-name", "a", "property-0-value", "b")
		more.wants(200)
		if n := more.Find("input[name$=-name]").Length(); n < 5 || more.Find("textarea[name=body]").Text() == "" {
			t.Errorf("%d rows of properties", n)
		}
	})
}

func TestBadMessages(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{})
		w.b.CreateQueue("closed", engine.Config{Status: engine.StatusSendDisabled})
		w.b.CreateQueue("sessions", engine.Config{RequiresSession: true})
		w.b.CreateEntity(engine.Topic, "prices", engine.Config{})
		w.b.CreateEntity(engine.Subscription, "prices/Subscriptions/eu", engine.Config{})
		property := func(kind, v string) []string {
			return []string{"property-0-name", "p", "property-0-type", kind, "property-0-value", v}
		}
		for name, tc := range map[string]struct {
			to     string
			pairs  []string
			status int
			errors int
		}{
			"TTL in words":            {"q/orders", []string{"ttl", "soon"}, 422, 1},
			"TTL of nothing":          {"q/orders", []string{"ttl", "0s"}, 422, 1},
			"TTL negative":            {"q/orders", []string{"ttl", "-1m"}, 422, 1},
			"in words":                {"q/orders", []string{"schedule", "in", "in", "soon"}, 422, 1},
			"in nothing":              {"q/orders", []string{"schedule", "in"}, 422, 1},
			"at nothing":              {"q/orders", []string{"schedule", "at"}, 422, 1},
			"at a past time":          {"q/orders", []string{"schedule", "at", "at", "1999-12-31T23:59"}, 422, 1},
			"at the year 10000":       {"q/orders", []string{"schedule", "at", "at", "10000-01-01T00:00"}, 422, 1},
			"no times":                {"q/orders", []string{"repeat", "0"}, 422, 1},
			"too many times":          {"q/orders", []string{"repeat", "100001"}, 422, 1},
			"times in words":          {"q/orders", []string{"repeat", "twice"}, 422, 1},
			"id too long":             {"q/orders", []string{"message-id", strings.Repeat("é", 129)}, 422, 1},
			"session too long":        {"q/orders", []string{"session-id", strings.Repeat("a", 129)}, 422, 1},
			"partition of another":    {"q/orders", []string{"session-id", "a", "partition-key", "b"}, 422, 0},
			"property without a name": {"q/orders", []string{"property-0-name", "", "property-0-type", "int", "property-0-value", "1"}, 422, 1},
			"property, unknown type":  {"q/orders", property("integer", "1"), 422, 1},
			"property, no number":     {"q/orders", property("int", "one"), 422, 1},
			"property out of range":   {"q/orders", property("ubyte", "256"), 422, 1},
			"property, no boolean":    {"q/orders", property("boolean", "yes"), 422, 1},
			"property, no guid":       {"q/orders", property("uuid", "6f1c"), 422, 1},
			"property, no instant":    {"q/orders", property("timestamp", "noon"), 422, 1},
			"property too long":       {"q/orders", property("string", strings.Repeat("a", 33<<10)), 422, 0},
			"too large":               {"q/orders", []string{"body", strings.Repeat("a", 257<<10)}, 413, 0},
			"sending is closed":       {"q/closed", []string{"body", "x"}, 409, 0},
			"no session":              {"q/sessions", []string{"body", "x"}, 409, 0},
			"to a subscription":       {"t/prices/s/eu", []string{"body", "x"}, 409, 0},
		} {
			a := w.post("/n/default/"+tc.to+"/send", tc.pairs...)
			if a.status != tc.status || a.Find(".err").Length() != tc.errors || tc.errors == 0 && a.Find(".notice[data-tone=critical]").Length() == 0 {
				t.Errorf("%s: %d, want %d, with %d errors: %s", name, a.status, tc.status, a.Find(".err").Length(), a.Find(".err, .notice").Text())
			}
		}
		for _, path := range []engine.Path{"orders", "closed", "sessions", "prices/Subscriptions/eu"} {
			if n := w.b.State(path).Counts.MessageCount(); n != 0 {
				t.Errorf("%s got %d messages", path, n)
			}
		}
		if a := w.post("/n/default/q/orders/send", "body", strings.Repeat("a", 4<<20)); a.status != 413 {
			t.Errorf("4 MB: %d", a.status)
		}
	})
}

func TestBulk(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{DefaultMessageTimeToLive: time.Hour})
		for range 40 {
			w.fill("orders", engine.Content{Subject: "s"})
		}
		keys := func(n int) (pairs []string) {
			for _, r := range w.b.Rows("orders")[:n] {
				pairs = append(pairs, "key", strconv.FormatUint(uint64(r.Message.Key), 10))
			}
			return pairs
		}
		bulk := func(do string, n int, more ...string) answer {
			return w.post("/n/default/q/orders/bulk/"+do, append(keys(n), more...)...)
		}
		if a := bulk("delete", 0); a.status != 303 {
			t.Errorf("without a selection: %d", a.status)
		}
		w.done("/n/default/q/orders/receive")
		w.done("/n/default/q/orders/receive")
		ask := bulk("delete", 20)
		ask.wants(200)
		if n := ask.Find("input[name=key]").Length(); n != 20 || ask.Find("input[name=count]").AttrOr("value", "") != "20" || ask.Find("input[name=confirm]").Length() != 0 {
			t.Errorf("the page asks about %d messages", n)
		}
		says, _ := w.done("/n/default/q/orders/bulk/delete", append(keys(20), "count", "20")...)
		if !strings.Contains(says, "18 messages deleted, 2 are locked or elsewhere") {
			t.Errorf("the notice is %q", says)
		}
		if a := bulk("delete", 22, "count", "22"); a.status != 422 || a.Find("input[name=confirm]").Length() != 1 {
			t.Errorf("22 messages without the typed name: %d", a.status)
		}
		if a := bulk("delete", 3, "count", "2"); a.status != 409 {
			t.Errorf("more than the confirmed number: %d", a.status)
		}
		says, _ = w.done("/n/default/q/orders/bulk/extend", append(keys(3), "by", "10m")...)
		if !strings.Contains(says, "3 messages got more time") {
			t.Errorf("the notice is %q", says)
		}
		if a := bulk("extend", 3, "by", "often"); a.status != 422 {
			t.Errorf("extended by text: %d", a.status)
		}
		bulk("dead-letter", 5).wants(200)
		if a := bulk("dead-letter", 5, "count", "5", "reason", strings.Repeat("a", 4097)); a.status != 422 {
			t.Errorf("reason too long: %d", a.status)
		}
		w.done("/n/default/q/orders/bulk/dead-letter", append(keys(5), "count", "5", "reason", "Poison")...)
		if n := w.b.State("orders").Counts.DeadLetter; n != 3 { // two of the five are locked
			t.Errorf("%d dead letters", n)
		}
		if a := w.post("/n/default/q/orders/bulk/delete", "key", "x"); a.status != 422 {
			t.Errorf("an invalid key: %d", a.status)
		}
		many := []string{}
		for i := range 501 {
			many = append(many, "key", strconv.Itoa(i+1))
		}
		if a := w.post("/n/default/q/orders/bulk/delete", many...); a.status != 422 {
			t.Errorf("501 keys: %d", a.status)
		}
		w.see("/n/default/q/orders/resubmit").wants(200)
		if a := w.post("/n/default/q/orders/resubmit"); a.status != 422 {
			t.Errorf("resubmitted without a number: %d", a.status)
		}
		if a := w.post("/n/default/q/orders/resubmit", "count", "2"); a.status != 409 {
			t.Errorf("resubmitted more than the confirmed number: %d", a.status)
		}
		says, _ = w.done("/n/default/q/orders/resubmit", "count", "3", "how", "move")
		if !strings.Contains(says, "3 messages resubmitted") || w.b.State("orders").Counts.DeadLetter != 0 {
			t.Errorf("the notice is %q", says)
		}
	})
}
