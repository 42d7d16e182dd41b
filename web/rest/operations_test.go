package rest

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
)

const noLock = "/00000100-0000-0004-313a-c2f254f78bd3"

// lock locks a message at p and returns the address at which to settle it.
func (w *world) lock(p string) string {
	w.Helper()
	got := w.Want(http.StatusCreated, "POST", p+"/messages/head?timeout=0", "")
	at, ok := strings.CutPrefix(got.Header.Get("Location"), w.URL)
	if !ok || !strings.HasPrefix(at, p+"/messages/") {
		w.Fatalf("Location is %q", got.Header.Get("Location"))
	}
	return at
}

func (w *world) wantCounts(p engine.Path, want engine.Counts) {
	w.Helper()
	if got := w.broker.Counts(p); got != want {
		w.Errorf("%s has %+v, want %+v", p, got, want)
	}
}

// TestOperations checks the table of §2.2: the response and the effect of each operation, and the
// statuses with which it is refused.
func TestOperations(t *testing.T) {
	// settled tries an operation on a lock of another message, and on the right one.
	settled := func(method string) func(*world) {
		return func(w *world) {
			w.Want(201, "POST", "/q/messages", "x", "BrokerProperties", `{"MessageId":"m"}`)
			at := w.lock("/q")
			token := at[strings.LastIndex(at, "/"):]
			w.Want(404, method, "/q/messages/1"+noLock, "")
			w.Want(404, method, "/q/messages/2"+token, "")
			w.Want(404, method, "/q/messages/other"+token, "")
			w.Want(404, method, "/p/messages/1"+token, "") // of another queue
			w.Want(410, method, "/nowhere/messages/1"+token, "")
			w.Want(400, method, "/q/messages/1/xyz", "")
			w.wantCounts("q", engine.Counts{Locked: 1})
			if !strings.HasPrefix(at, "/q/messages/1/") && !strings.HasPrefix(at, "/q/messages/m/") {
				w.Errorf("Location is %s", at)
			}
			w.Want(200, method, "/q/messages/m"+token, "") // by its MessageId or its number
		}
	}
	for name, row := range map[string]func(*world){
		"§2.2 send": func(w *world) {
			w.Want(201, "POST", "/q/messages", "x")
			w.Want(201, "POST", "/t/messages", "x")
			w.wantCounts("q", engine.Counts{Active: 1})
			w.wantCounts("t/Subscriptions/s", engine.Counts{Active: 1})
			w.Want(400, "POST", "/q/messages", "x", "BrokerProperties", `{"TimeToLive":0}`)
			w.Want(410, "POST", "/nowhere/messages", "x")
			w.Want(201, "POST", "/p/messages", strings.Repeat("x", 900))
			w.Want(403, "POST", "/p/messages", strings.Repeat("x", 1001)) // too large
			w.Want(403, "POST", "/p/messages", strings.Repeat("x", 700))  // no room
			w.wantCounts("q", engine.Counts{Active: 1})
			w.wantCounts("p", engine.Counts{Active: 1})
		},
		"§2.2, LOCK-1 peek-lock": func(w *world) {
			w.Want(204, "POST", "/q/messages/head?timeout=0", "")
			w.Want(410, "POST", "/nowhere/messages/head?timeout=0", "")
			w.Want(400, "POST", "/q/messages/head?timeout=soon", "")
			w.Want(201, "POST", "/q/messages", "x")
			w.lock("/q")
			w.wantCounts("q", engine.Counts{Locked: 1})
			w.Want(204, "POST", "/q/messages/head?timeout=0", "")
			w.Want(201, "POST", "/t/messages", "x")
			w.lock("/t/Subscriptions/s")
		},
		"§2.2, LOCK-1 receive and delete": func(w *world) {
			w.Want(204, "DELETE", "/q/messages/head?timeout=0", "")
			w.Want(410, "DELETE", "/nowhere/messages/head?timeout=0", "")
			w.Want(400, "DELETE", "/q/messages/head?timeout=-1", "")
			w.Want(201, "POST", "/q/messages", "x")
			got := w.Want(200, "DELETE", "/q/messages/head?timeout=0", "")
			if p := brokerHeader(w.T, got); got.Body != "x" || got.Header.Get("Location") != "" || p["LockToken"] != nil || p["LockedUntilUtc"] != nil {
				w.Errorf("got %q with %v", got.Body, got.Header)
			}
			w.wantCounts("q", engine.Counts{})
		},
		"§2.2 complete": func(w *world) {
			settled("DELETE")(w)
			w.wantCounts("q", engine.Counts{})
		},
		"§2.2 unlock": func(w *world) {
			settled("PUT")(w)
			w.wantCounts("q", engine.Counts{Active: 1})
			if p := brokerHeader(w.T, w.Want(200, "DELETE", "/q/messages/head?timeout=0", "")); p["DeliveryCount"] != 2.0 {
				w.Errorf("the delivery was not counted: %v", p)
			}
		},
		"§2.2 renew": func(w *world) {
			settled("POST")(w)
			w.wantCounts("q", engine.Counts{Locked: 1})
		},
		"§2.2, LOCK-7 settled twice": func(w *world) {
			w.Want(201, "POST", "/q/messages", "x")
			at := w.lock("/q")
			w.Want(200, "DELETE", at, "")
			for _, method := range []string{"DELETE", "PUT", "POST"} {
				if got := w.Want(404, method, at, ""); !strings.Contains(got.Body, engine.LockLostText) {
					w.Errorf("%s has %s", method, got.Body)
				}
			}
		},
		"DC-1, DC-6 what clients see of failures": func(w *world) {
			w.Want(201, "POST", "/q/messages", "x")
			count := func(p string) float64 {
				got := w.Want(201, "POST", p+"/messages/head?timeout=0", "")
				w.Want(200, "PUT", strings.TrimPrefix(got.Header.Get("Location"), w.URL), "")
				return brokerHeader(w.T, got)["DeliveryCount"].(float64)
			}
			for n := range 10 {
				if got := count("/q"); got != float64(n+1) {
					w.Errorf("delivery %d is number %v", n+1, got)
				}
			}
			w.wantCounts("q", engine.Counts{DeadLetter: 1})
			for range 20 {
				if got := count("/q/$DeadLetterQueue"); got != 1 {
					w.Fatalf("a dead letter has the delivery count %v", got)
				}
			}
			w.wantCounts("q", engine.Counts{DeadLetter: 1})
		},
		"MSG-1, SEQ-6 the broker's own properties": func(w *world) {
			before := time.Now().Add(-time.Second)
			w.Want(201, "POST", "/q/messages", "x", "BrokerProperties", `{"SequenceNumber":77,"EnqueuedSequenceNumber":78,"EnqueuedTimeUtc":"Sun, 06 Nov 1994 08:49:37 GMT",`+
				`"DeliveryCount":9,"State":"Deferred","LockToken":"11112222-3333-4444-5555-666677778888","LockedUntilUtc":"Sun, 06 Nov 2094 08:49:37 GMT","DeadLetterSource":"elsewhere"}`)
			got := w.Want(201, "POST", "/q/messages/head?timeout=0", "")
			p := brokerHeader(w.T, got)
			at, err := http.ParseTime(p["EnqueuedTimeUtc"].(string))
			if err != nil || at.Before(before.Truncate(time.Second)) || at.After(time.Now().Add(time.Second)) {
				w.Errorf("the message was enqueued at %v, %v", p["EnqueuedTimeUtc"], err)
			}
			if p["SequenceNumber"] != 1.0 || p["EnqueuedSequenceNumber"] != 1.0 || p["DeliveryCount"] != 1.0 || p["State"] != "Active" ||
				p["LockToken"] == "11112222-3333-4444-5555-666677778888" || strings.Contains(p["LockedUntilUtc"].(string), "2094") || p["DeadLetterSource"] != nil {
				w.Errorf("got %v", p)
			}
		},
		"DLQ-2, DLQ-4 dead-letter queues": func(w *world) {
			w.Want(400, "POST", "/q/$DeadLetterQueue/messages", "x")
			w.Want(400, "POST", "/t/Subscriptions/s/$DeadLetterQueue/messages", "x")
			w.Want(204, "POST", "/Q/$deadletterqueue/messages/head?timeout=0", "")
			w.Want(204, "DELETE", "/t/subscriptions/S/$DEADLETTERQUEUE/messages/head?timeout=0", "")
			w.Want(410, "DELETE", "/t/$DeadLetterQueue/messages/head?timeout=0", "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			limits := engine.DefaultLimits()
			limits.MessageSize, limits.EntitySize, limits.MessageMemory = 1000, 1500, 0
			w := start(t, broker.Options{Limits: &limits})
			w.create(engine.Queue, "q")
			w.create(engine.Queue, "p")
			w.create(engine.Topic, "t")
			w.create(engine.Subscription, "t/Subscriptions/s")
			row(w)
		})
	}
}

func TestRenewalIsAWholeLockLonger(t *testing.T) {
	t.Run("LOCK-5", func(t *testing.T) {
		w := start(t, broker.Options{})
		w.create(engine.Queue, "q", "LockDuration", "PT5M")
		w.Want(201, "POST", "/q/messages", "x")
		at := w.lock("/q")
		before := time.Now().Add(5 * time.Minute).Truncate(time.Second)
		until, err := http.ParseTime(brokerHeader(t, w.Want(200, "POST", at, ""))["LockedUntilUtc"].(string))
		if after := time.Now().Add(5 * time.Minute); err != nil || until.Before(before) || until.After(after) {
			t.Errorf("renewed until %v, %v; want %v to %v", until, err, before, after)
		}
	})
}
