package api

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/webtest"
)

func TestEntities(t *testing.T) {
	w := start(t, broker.Options{})
	var made Entity
	w.want(201, "POST", "/entities", `{"kind":"queue","path":"orders/eu","properties":{"lockDuration":"30s","MaxDeliveryCount":3,"DeadLetteringOnMessageExpiration":true,"UserMetadata":null}}`, &made)
	for name, want := range map[string]any{
		"LockDuration": "PT30S", "MaxDeliveryCount": 3.0, "DeadLetteringOnMessageExpiration": true, "Status": "Active",
		"DefaultMessageTimeToLive": engine.MaxDurationText, "UserMetadata": "", "EnableBatchedOperations": true,
	} {
		if made.Properties[name] != want {
			t.Errorf("%s is %v, want %v", name, made.Properties[name], want)
		}
	}
	if n := len(engine.Properties(engine.Queue)); len(made.Properties) != n {
		t.Errorf("got %d properties, want %d", len(made.Properties), n)
	}
	w.want(201, "POST", "/entities", `{"kind":"topic","path":"prices"}`, nil)
	w.want(201, "POST", "/entities", `{"kind":"Subscription","path":"prices/subscriptions/eu","properties":{"RequiresSession":"true"}}`, &made)
	if made.Path != "prices/Subscriptions/eu" || made.Properties["RequiresSession"] != true || len(made.Rules) != 1 || made.Rules[0].Kind != "True" {
		t.Errorf("got %+v", made)
	}
	var all Entities
	w.want(200, "GET", "/entities", "", &all)
	var paths []string
	for _, e := range all.Entities {
		paths = append(paths, e.Kind+" "+e.Path)
	}
	if d := cmp.Diff([]string{"queue orders/eu", "topic prices", "subscription prices/Subscriptions/eu"}, paths); d != "" {
		t.Error(d)
	}
	w.want(200, "GET", "/entities?kind=topic", "", &all)
	if len(all.Entities) != 1 {
		t.Errorf("%d topics", len(all.Entities))
	}

	var changed Entity
	w.want(200, "PATCH", "/entities/orders%2Feu", `{"properties":{"MaxDeliveryCount":"7"}}`, &changed)
	if changed.Properties["MaxDeliveryCount"] != 7.0 || changed.Properties["LockDuration"] != "PT30S" {
		t.Errorf("after an update: %v", changed.Properties)
	}
	w.want(201, "POST", "/send/orders/eu", `[{},{},{}]`, nil)
	w.want(409, "DELETE", "/entities/orders/eu?expectedCount=1", "", nil)
	if got := w.entity("orders/eu"); got.Counts.Active != 3 {
		t.Errorf("a refused delete left %+v", got.Counts)
	}
	w.want(204, "DELETE", "/entities/orders/eu?expectedCount=3", "", nil)
	w.want(404, "GET", "/entities/orders/eu", "", nil)
	w.want(204, "DELETE", "/entities/prices", "", nil)
	w.want(404, "GET", "/entities/prices/Subscriptions/eu", "", nil)
}

const full = `{"messageId":"m","sessionId":"s","partitionKey":"s","viaPartitionKey":"v","correlationId":"c","subject":"é","to":"t","replyTo":"r",
	"replyToSessionId":"rs","contentType":"text/plain","timeToLive":"PT1M30S","scheduledEnqueueTime":"2001-02-03T04:05:06.789Z","body":"hello",
	"properties":{"region":"eu","n":5,"f":5.0,"yes":true,"none":null,"typed":{"type":"uuid","value":"6f1c3a52-0d4e-4b7a-9c11-2f6e5d7a8b90"}}}`

func TestMessageComesBackAsItWasSent(t *testing.T) {
	w := start(t, broker.Options{})
	var sent Sent
	w.want(201, "POST", "/send/q?create=queue", full, &sent)
	w.want(201, "POST", "/send/q?create=queue", `{"bodyBase64":"AP+A"}`, &sent)
	if !slices.Equal(sent.SequenceNumbers, []int64{2}) {
		t.Errorf("got numbers %v", sent.SequenceNumbers)
	}
	var in Outgoing
	if err := json.Unmarshal([]byte(full), &in); err != nil {
		t.Fatal(err)
	}
	var peeked, received Messages
	w.want(200, "GET", "/peek/q", "", &peeked)
	w.want(200, "POST", "/receive/q", `{"limit":5,"wait":"1s"}`, &received)
	if len(peeked.Messages) != 2 || len(received.Messages) != 2 {
		t.Fatalf("peeked %d, received %d messages", len(peeked.Messages), len(received.Messages))
	}
	for what, got := range map[string]Message{"peeked": peeked.Messages[0], "received": received.Messages[0]} {
		if d := cmp.Diff(in, got.Outgoing); d != "" {
			t.Errorf("%s (-sent +got):\n%s", what, d)
		}
		if got.SequenceNumber != 1 || got.State != "active" || got.Path != "q" || got.Size != 5 || got.DeliveryCount != 0 ||
			got.ExpiresAt == nil || got.ExpiresAt.Sub(got.EnqueuedTime) != 90*time.Second {
			t.Errorf("%s: %+v", what, got)
		}
	}
	if got := received.Messages[1]; got.BodyBase64 == nil || *got.BodyBase64 != "AP+A" || got.Body != nil || got.ExpiresAt != nil {
		t.Errorf("a binary body became %+v", got)
	}
	if peeked.Messages[0].LockToken != "" || received.Messages[0].LockToken == "" || received.Messages[0].LockedUntil == nil {
		t.Error("a peeked message has a lock, or a received one has none")
	}
	peeked = Messages{}
	w.want(200, "GET", "/peek/q?from=2&limit=1", "", &peeked)
	if len(peeked.Messages) != 1 || peeked.Messages[0].LockedBy == "" || peeked.Messages[0].LockedUntil == nil {
		t.Errorf("a locked message is shown as %+v", peeked.Messages)
	}
	if m := peeked.Messages[0]; m.LockedSince == nil || m.LockedSince.After(*m.LockedUntil) || m.LockRenewals != 0 || m.LockRenewedAt != nil {
		t.Errorf("the lock is %+v", m.LockHistory)
	}
	w.want(200, "POST", "/renew-lock", `{"lockToken":"`+received.Messages[1].LockToken+`"}`, nil)
	w.want(201, "POST", "/send/q", `{"body":"free"}`, nil)
	for query, want := range map[string][]int64{"": {1, 2, 3}, "&state=all": {1, 2, 3}, "&state=locked": {1, 2}, "&state=active": {3}, "&state=deferred": nil} {
		var got Messages
		w.want(200, "GET", "/peek/q?from=1"+query, "", &got)
		var seqs []int64
		for _, m := range got.Messages {
			seqs = append(seqs, m.SequenceNumber)
			if m.SequenceNumber == 2 && (m.LockRenewals != 1 || m.LockRenewedAt == nil || m.LockedSince == nil) {
				t.Errorf("after its renewal the lock is %+v", m.LockHistory)
			}
		}
		if !slices.Equal(seqs, want) {
			t.Errorf("peeked %q: %v", query, seqs)
		}
	}
	w.want(400, "GET", "/peek/q?state=dead", "", nil)
}

func TestSettling(t *testing.T) {
	w := start(t, broker.Options{})
	w.want(201, "POST", "/send/q?create=queue", `[{"body":"1"},{"body":"2"},{"body":"3"},{"body":"4"},{"body":"5"}]`, nil)
	var got Messages
	w.want(200, "POST", "/receive/q", `{"limit":5}`, &got)
	if len(got.Messages) != 5 {
		t.Fatalf("received %d messages", len(got.Messages))
	}
	if got.Messages[0].MessageID == "" { // the JavaScript SDK requires an id
		t.Error("a message without an id got none")
	}
	var renewed Renewed
	w.want(200, "POST", "/renew-lock", `{"lockToken":"`+got.Messages[0].LockToken+`"}`, &renewed)
	if renewed.LockedUntil.Before(*got.Messages[0].LockedUntil) {
		t.Errorf("renewed until %v, before until %v", renewed.LockedUntil, got.Messages[0].LockedUntil)
	}
	for i, settle := range []string{
		`"outcome":"complete"`, `"outcome":"abandon","properties":{"why":"later"}`, `"outcome":"defer"`,
		`"outcome":"dead-letter","reason":"bad","description":"very"`, `"outcome":"release"`,
	} {
		body := `{"lockToken":"` + got.Messages[i].LockToken + `",` + settle + `}`
		w.want(204, "POST", "/settle", body, nil)
		w.want(410, "POST", "/settle", body, nil)
	}
	if c := w.entity("q").Counts; c != (Counts{Active: 2, Deferred: 1, DeadLetter: 1}) {
		t.Errorf("afterwards got %+v", c)
	}
	w.want(200, "POST", "/receive/q", `{"sequenceNumbers":[3]}`, &got)
	if len(got.Messages) != 1 || *got.Messages[0].Body != "3" || got.Messages[0].State != "deferred" {
		t.Errorf("fetched %+v", got.Messages)
	}
	w.want(404, "POST", "/receive/q", `{"sequenceNumbers":[3]}`, nil)
	got = Messages{}
	w.want(200, "POST", "/receive/q/$DeadLetterQueue", `{"mode":"receive-and-delete"}`, &got)
	if reason, _ := got.Messages[0].Properties.Lookup("DeadLetterReason"); reason.String() != "bad" || got.Messages[0].LockToken != "" {
		t.Errorf("a dead letter is %+v", got.Messages[0])
	}
	got = Messages{}
	w.want(200, "GET", "/peek/q?from=2", "", &got)
	if why, _ := got.Messages[0].Properties.Lookup("why"); why.String() != "later" || got.Messages[0].DeliveryCount != 1 {
		t.Errorf("an abandoned message is %+v", got.Messages[0])
	}
}

func TestPurge(t *testing.T) {
	w := start(t, broker.Options{})
	w.want(201, "POST", "/send/q?create=queue", `[{},{},{},{},{"scheduledEnqueueTime":"2090-01-01T00:00:00Z"}]`, nil)
	var got Messages
	w.want(200, "POST", "/receive/q", `{"limit":3}`, &got)
	w.want(204, "POST", "/settle", `{"lockToken":"`+got.Messages[0].LockToken+`","outcome":"dead-letter"}`, nil)
	w.want(204, "POST", "/settle", `{"lockToken":"`+got.Messages[1].LockToken+`","outcome":"defer"}`, nil)
	before := w.entity("q").Counts
	if before != (Counts{Active: 1, Locked: 1, Deferred: 1, Scheduled: 1, DeadLetter: 1}) {
		t.Fatalf("got %+v", before)
	}
	w.want(409, "POST", "/purge/q", `{"states":["active","deferred","scheduled","dead-letter"],"expectedCount":3}`, nil)
	if after := w.entity("q").Counts; after != before {
		t.Errorf("a refused purge left %+v", after)
	}
	var done Purged
	w.want(200, "POST", "/purge/q", `{"states":["active","dead-letter"],"expectedCount":2}`, &done)
	if after := w.entity("q").Counts; after != (Counts{Locked: 1, Deferred: 1, Scheduled: 1}) || done.Removed != 2 {
		t.Errorf("removed %+v, left %+v", done, after)
	}
	w.want(200, "POST", "/purge/q", `{"states":["scheduled","deferred"]}`, &done)
	w.want(200, "POST", "/purge/q/$DeadLetterQueue", ``, &done)
	if after := w.entity("q").Counts; after != (Counts{Locked: 1}) || done.Removed != 0 {
		t.Errorf("left %+v", after)
	}
}

// TestPurgeByFilter: a filter removes only messages for which it is true, from all subqueues;
// the counted number is the one to confirm (OPS-7).
func TestPurgeByFilter(t *testing.T) {
	w := start(t, broker.Options{})
	w.want(201, "POST", "/send/q?create=queue", `[{"subject":"dead","properties":{"n":20}},{"subject":"locked","properties":{"n":20}},
		{"properties":{"n":5}},{"properties":{"n":10}},{"properties":{"n":15}},{},{"properties":{"n":true}},{"scheduledEnqueueTime":"2090-01-01T00:00:00Z","properties":{"n":20}}]`, nil)
	var got Messages
	w.want(200, "POST", "/receive/q", `{"limit":2}`, &got)
	w.want(204, "POST", "/settle", `{"lockToken":"`+got.Messages[0].LockToken+`","outcome":"dead-letter","reason":"Poison"}`, nil)
	before := w.entity("q").Counts

	var seen PurgePreview
	w.want(200, "POST", "/purge/q", `{"states":["active"],"filter":"-n < -10","dryRun":true}`, &seen)
	if sample := numbers(seen.Sample); sample != "5" {
		t.Errorf("the sample is %s", sample)
	}
	if seen.Sample = nil; !cmp.Equal(seen, PurgePreview{Matching: 1, Skipped: 1, Failed: 1, NotMatching: 3}) {
		t.Errorf("the preview is %+v", seen)
	}
	const all = `{"states":["active","scheduled","dead-letter"],"filter":"-n < -10"`
	seen = PurgePreview{}
	w.want(200, "POST", "/purge/q", all+`,"dryRun":true}`, &seen)
	if sample := numbers(seen.Sample); sample != "1 5 8" {
		t.Errorf("the sample is %s", sample)
	}
	if seen.Sample = nil; !cmp.Equal(seen, PurgePreview{Matching: 3, Skipped: 1, Failed: 1, NotMatching: 3}) {
		t.Errorf("the preview is %+v", seen)
	}
	w.want(409, "POST", "/purge/q", all+`,"expectedCount":2}`, nil)
	w.want(409, "POST", "/purge/q", `{"states":["active"],"filter":"n IS NULL OR n <> 10","expectedCount":1}`, nil)
	if after := w.entity("q").Counts; after != before {
		t.Errorf("counting and refusing left %+v", after)
	}
	var done Purged
	w.want(200, "POST", "/purge/q/$DeadLetterQueue", `{"filter":"DeadLetterReason = 'Other'"}`, &done)
	if done != (Purged{NotMatching: 1}) {
		t.Errorf("removed %+v", done)
	}
	done = Purged{}
	w.want(200, "POST", "/purge/q", all+`,"expectedCount":3}`, &done)
	if done != (Purged{Removed: 3, Skipped: 1, Failed: 1, NotMatching: 3}) {
		t.Errorf("removed %+v", done)
	}
	if after := w.entity("q").Counts; after != (Counts{Active: 4, Locked: 1}) {
		t.Errorf("left %+v", after)
	}
	w.want(200, "GET", "/activity", "", nil)
	if _, text := w.ask("GET", "/activity?q=n+%3C", ""); !strings.Contains(text, `"reason":"-n < -10"`) {
		t.Errorf("the event has %s", text)
	}
	_, text := w.ask("POST", "/purge/q", `{"states":["active"],"filter":"n = 1 n"}`)
	var p Problem
	if err := json.Unmarshal([]byte(text), &p); err != nil || p.Part != "filter" || p.Position == nil || *p.Position != 6 || p.Rule != "" {
		t.Errorf("refused with %s", text)
	}
}

// TestTransfers: transfer dead letters are counted, and can be received and purged like other dead
// letters (FWD-14).
func TestTransfers(t *testing.T) {
	w := start(t, broker.Options{})
	w.want(201, "POST", "/entities", `{"kind":"topic","path":"via"}`, nil)
	w.want(201, "POST", "/entities", `{"kind":"queue","path":"dest","properties":{"Status":"Disabled"}}`, nil)
	for range 2 {
		if _, err := w.broker.SendVia(t.Context(), "via", "dest", []broker.Outgoing{{Body: []byte("hello")}}, ""); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.entity("via").Counts; got != (Counts{TransferDeadLetter: 2}) {
		t.Errorf("got %+v", got)
	}
	var got Messages
	w.want(200, "POST", "/receive/via/$transfer/$deadletterqueue", `{"mode":"receive-and-delete"}`, &got)
	if m := got.Messages; len(m) != 1 || m[0].Path != "via/$Transfer/$DeadLetterQueue" || m[0].DeadLetterSource != "" || m[0].TransferTo != "dest" {
		t.Errorf("received %+v", got)
	}
	w.want(409, "POST", "/purge/via/$Transfer/$DeadLetterQueue", `{"expectedCount":0}`, nil)
	var done Purged
	w.want(200, "POST", "/purge/via/$Transfer/$DeadLetterQueue", `{"expectedCount":1}`, &done)
	if got := w.entity("via").Counts; got != (Counts{}) || done.Removed != 1 {
		t.Errorf("removed %+v, left %+v", done, got)
	}
}

func TestHealth(t *testing.T) {
	w := start(t, broker.Options{Name: "shop"})
	var h Health
	w.want(200, "GET", "/health", "", &h)
	if d := cmp.Diff(Health{Status: "ok", Namespace: "shop", Epoch: 1}, h); d != "" {
		t.Error(d)
	}
	w.broker.Close()
	w.want(200, "GET", "/health", "", &h)
	if h.Status != "stopped" {
		t.Errorf("got %+v", h)
	}
	got, text := w.ask("POST", "/send/q", "{}")
	if got.StatusCode != 503 || got.Header.Get("Retry-After") == "" {
		t.Errorf("got %d %s", got.StatusCode, text)
	}
}

// TestDisconnectedReceiverGetsNothing disconnects while it waits, and when its answer is about to be
// written.
func TestDisconnectedReceiverGetsNothing(t *testing.T) {
	w := start(t, broker.Options{})
	w.want(201, "POST", "/entities", `{"kind":"queue","path":"q"}`, nil)
	receivers := func() (n int) {
		if err := w.broker.Read(t.Context(), func(r broker.Reader) error {
			s, err := r.State("q")
			n = s.Receivers
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return n
	}
	conn, err := net.Dial("tcp", w.Server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "POST /api/v1/receive/q HTTP/1.1\r\nHost: localhost\r\nContent-Length: 14\r\n\r\n{\"wait\":\"60s\"}"); err != nil {
		t.Fatal(err)
	}
	webtest.Eventually(t, "the receiver waits", func() bool { return receivers() == 1 })
	conn.Close()
	webtest.Eventually(t, "the server has noticed the disconnect", func() bool { return receivers() == 0 })
	w.want(201, "POST", "/send/q", `[{"body":"1"},{"body":"2"}]`, nil)
	for _, after := range []int{0, 300, 1 << 19} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/api/v1/receive/q", strings.NewReader(`{"limit":2}`))
		if err != nil {
			t.Fatal(err)
		}
		w.Server.Config.Handler.ServeHTTP(&brokenPipe{http.Header{}, after}, r)
		if c := w.entity("q").Counts; c != (Counts{Active: 2}) {
			t.Errorf("a client that took %d bytes left %+v", after, c)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/api/v1/receive/q", strings.NewReader(`{"limit":2}`))
	if err != nil {
		t.Fatal(err)
	}
	w.Server.Config.Handler.ServeHTTP(&brokenPipe{http.Header{}, 1 << 30}, r)
	var got Messages
	w.want(200, "GET", "/peek/q", "", &got)
	for _, m := range got.Messages {
		if m.DeliveryCount != 0 || m.LockedUntil != nil {
			t.Errorf("a delivery was counted, or a lock left: %+v", m)
		}
	}
}

// A brokenPipe is a response writer that fails after a number of bytes, like the connection of a
// client that disconnects.
type brokenPipe struct {
	header http.Header
	after  int // bytes that can still be written
}

func (p *brokenPipe) Header() http.Header { return p.header }
func (p *brokenPipe) WriteHeader(int)     {}
func (p *brokenPipe) Write(b []byte) (int, error) {
	if p.after -= len(b); p.after < 0 {
		return 0, io.ErrClosedPipe
	}
	return len(b), nil
}
func (p *brokenPipe) FlushError() error {
	if p.after < 1<<20 {
		return io.ErrClosedPipe
	}
	return nil
}

func numbers(all []Message) string {
	var out []string
	for _, m := range all {
		out = append(out, strconv.FormatInt(m.SequenceNumber, 10))
	}
	return strings.Join(out, " ")
}
