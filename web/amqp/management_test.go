package amqp_test

import (
	"encoding/binary"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/value"
	"mayfly/web/amqp/amqptest"
	"mayfly/web/amqp/wire"
)

func prop(name string, v value.Value) value.Property { return value.Property{Name: name, Value: v} }

func mapOf(p ...value.Property) value.Value { return value.OfRaw(wire.AppendMap(nil, p)) }

func arrayOf(kind value.Kind, all ...value.Value) value.Value {
	return value.OfRaw(wire.AppendArray(nil, kind, all...))
}

func listOf(all ...value.Value) value.Value { return value.OfRaw(wire.AppendList(nil, all...)) }

// A managementClient is an entity of each kind with messages in it, and a client that holds a lock on
// a message of the queue and on the session "s".
type managementClient struct {
	w       *world
	c       *amqptest.Client
	token   value.Value // of the lock on the message "locked" in q
	foreign value.Value // a token without a lock
	link    string      // name of the link that holds "s"
}

func newManagementClient(w *world) *managementClient {
	w.b.CreateQueue("q", engine.Config{LockDuration: time.Minute})
	w.b.CreateQueue("qs", engine.Config{LockDuration: time.Minute, RequiresSession: true})
	w.b.CreateQueue("off", engine.Config{Status: engine.StatusDisabled})
	for _, e := range []struct {
		kind engine.EntityKind
		path engine.Path
	}{{engine.Topic, "t"}, {engine.Subscription, "t/Subscriptions/s"}} {
		w.b.CreateEntity(e.kind, e.path, engine.Config{})
	}
	w.send("q", "", "locked", "free")
	w.send("qs", "s", "of s")
	c := w.client()
	c.Begin(1)
	a := amqptest.ReceiverAttach(0, "q")
	c.Attach(1, a)
	c.GrantCredit(1, 0, 0, 1)
	d := &managementClient{w: w, c: c, foreign: value.OfUUID([16]byte{1})}
	d.token = value.OfUUID(wire.TagOfLockToken([16]byte(c.ReceiveDelivery().DeliveryTag)))
	session := asks(1, "qs", value.OfString("s"), 0)
	d.link = session.Name
	c.Attach(1, session)
	return d
}

// TestManagement sends every operation, with the arguments of SDKs and with invalid ones, and
// checks its result (ERR-1: a status, a text and a condition). The numbers of the messages in q are
// 1, which is locked, and 2.
func TestManagement(t *testing.T) {
	long, integer, text := value.OfLong, value.OfInt, value.OfString
	tokens := func(t ...value.Value) value.Property { return prop("lock-tokens", arrayOf(value.UUID, t...)) }
	seqs := func(n ...value.Value) value.Property { return prop("sequence-numbers", arrayOf(value.Long, n...)) }
	message := wire.AppendAnnotations(nil, wire.SectionMessageAnnotations, value.Properties{prop("x-opt-scheduled-enqueue-time", value.OfTimestamp(time.Now().Add(1000*time.Hour).UnixMilli()))})
	message = append(wire.AppendDataHeader(message, 5), "later"...)
	rule := func(name string, of ...value.Property) value.Properties {
		return value.Properties{prop("rule-name", text(name)), prop("rule-description", mapOf(of...))}
	}
	sql := func(s string) value.Property { return prop("sql-filter", mapOf(prop("expression", text(s)))) }
	session := prop("session-id", text("s"))
	dispose := func(status string, more ...value.Property) func(d *managementClient) value.Properties {
		return func(d *managementClient) value.Properties {
			return append(value.Properties{prop("disposition-status", text(status)), tokens(d.token)}, more...)
		}
	}
	is := func(p ...value.Property) func(*managementClient) value.Properties {
		return func(*managementClient) value.Properties { return p }
	}
	const (
		notFound, badArgument, outOfRange = "amqp:not-found", "com.microsoft:argument-error", "com.microsoft:argument-out-of-range"
		notAllowed, lockLost, noMessage   = "amqp:not-allowed", "com.microsoft:message-lock-lost", "com.microsoft:message-not-found"
	)
	for name, tc := range map[string]struct {
		at, operation string
		arguments     func(*managementClient) value.Properties
		status        int64
		condition     string
		key           string // in the reply
		kind          value.Kind
	}{
		"LOCK-5 renew":                  {"q", "renew-lock", func(d *managementClient) value.Properties { return value.Properties{tokens(d.token)} }, 200, "", "expirations", value.Raw},
		"renew what is not locked":      {"q", "renew-lock", func(d *managementClient) value.Properties { return value.Properties{tokens(d.foreign)} }, 410, lockLost, "", 0},
		"renew one that is and one not": {"q", "renew-lock", func(d *managementClient) value.Properties { return value.Properties{tokens(d.token, d.foreign)} }, 410, lockLost, "", 0},
		"renew a list": {"q", "renew-lock", func(d *managementClient) value.Properties {
			return value.Properties{prop("lock-tokens", listOf(d.token))}
		}, 200, "", "expirations", value.Raw},
		"renew nothing":                  {"q", "renew-lock", is(), 400, badArgument, "", 0},
		"renew no tokens":                {"q", "renew-lock", is(tokens()), 400, badArgument, "", 0},
		"renew strings":                  {"q", "renew-lock", is(prop("lock-tokens", arrayOf(value.String, text("x")))), 400, badArgument, "", 0},
		"renew a session":                {"qs", "renew-session-lock", is(session), 200, "", "expiration", value.Timestamp},
		"renew no session":               {"qs", "renew-session-lock", is(), 400, badArgument, "", 0},
		"renew another session":          {"qs", "renew-session-lock", is(prop("session-id", text("z"))), 410, sessionLockLost, "", 0},
		"renew a session where none is":  {"q", "renew-session-lock", is(session), 410, sessionLockLost, "", 0},
		"PEEK-4":                         {"q", "peek-message", is(prop("from-sequence-number", long(1)), prop("message-count", integer(5))), 200, "", "messages", value.Raw},
		"PEEK-4 nothing there":           {"q", "peek-message", is(prop("from-sequence-number", long(99)), prop("message-count", integer(5))), 204, "", "", 0},
		"PEEK-4 of a session":            {"qs", "peek-message", is(prop("from-sequence-number", long(0)), prop("message-count", integer(5)), session), 200, "", "messages", value.Raw},
		"peek with small numbers":        {"q", "peek-message", is(prop("from-sequence-number", integer(0)), prop("message-count", value.OfUByte(1)), prop("session-id", value.Value{})), 200, "", "messages", value.Raw},
		"peek with large numbers":        {"q", "peek-message", is(prop("from-sequence-number", value.OfULong(1)), prop("message-count", long(1))), 200, "", "messages", value.Raw},
		"peek with text":                 {"q", "peek-message", is(prop("from-sequence-number", text("1")), prop("message-count", integer(1))), 400, badArgument, "", 0},
		"peek none":                      {"q", "peek-message", is(prop("message-count", integer(0))), 400, outOfRange, "", 0},
		"peek where nothing is":          {"nothing", "peek-message", is(prop("message-count", integer(1))), 404, notFound, "", 0},
		"peek a dead-letter queue":       {"q/$DeadLetterQueue", "peek-message", is(prop("message-count", integer(1))), 204, "", "", 0},
		"SCH-1 schedule":                 {"q", "schedule-message", is(prop("messages", listOf(mapOf(prop("message-id", text("m")), prop("message", value.OfBinary(message)))))), 200, "", "sequence-numbers", value.Raw},
		"schedule nothing":               {"q", "schedule-message", is(), 400, badArgument, "", 0},
		"schedule junk":                  {"q", "schedule-message", is(prop("messages", listOf(mapOf(prop("message", value.OfBinary([]byte("junk"))))))), 400, "amqp:decode-error", "", 0},
		"schedule to nothing":            {"nothing", "schedule-message", is(prop("messages", listOf(mapOf(prop("message-id", text("m")), prop("message", value.OfBinary(message)))))), 404, notFound, "", 0},
		"schedule where sending is off":  {"off", "schedule-message", is(prop("messages", listOf(mapOf(prop("message-id", text("m")), prop("message", value.OfBinary(message)))))), 400, "com.microsoft:entity-disabled", "", 0},
		"SCH-9 change a schedule":        {"q", "update-scheduled-message", is(seqs(long(2))), 501, "amqp:not-implemented", "", 0},
		"cancel what is not scheduled":   {"q", "cancel-scheduled-message", is(seqs(long(2))), 404, noMessage, "", 0},
		"cancel text":                    {"q", "cancel-scheduled-message", is(prop("sequence-numbers", arrayOf(value.String, text("2")))), 400, badArgument, "", 0},
		"set a state":                    {"qs", "set-session-state", is(session, prop("session-state", value.OfBinary([]byte("x")))), 200, "", "", 0},
		"clear a state":                  {"qs", "set-session-state", is(session, prop("session-state", value.Value{})), 200, "", "", 0},
		"set a state of text":            {"qs", "set-session-state", is(session, prop("session-state", text("x"))), 400, badArgument, "", 0},
		"set another's state":            {"qs", "set-session-state", is(prop("session-id", text("z")), prop("session-state", value.Value{})), 410, sessionLockLost, "", 0},
		"get a state that is not set":    {"qs", "get-session-state", is(session), 200, "", "session-state", value.Null},
		"sessions":                       {"qs", "get-message-sessions", is(prop("last-updated-time", value.OfTimestamp(253402300800000)), prop("skip", integer(0)), prop("top", integer(100))), 200, "", "sessions-ids", value.Raw},
		"sessions past the end":          {"qs", "get-message-sessions", is(prop("last-updated-time", value.OfTimestamp(253402300800000)), prop("skip", integer(1)), prop("top", integer(100))), 204, "", "", 0},
		"sessions changed since":         {"qs", "get-message-sessions", is(prop("last-updated-time", value.OfTimestamp(0)), prop("skip", integer(0)), prop("top", integer(100))), 204, "", "", 0},
		"sessions where none are":        {"q", "get-message-sessions", is(), 400, notAllowed, "", 0},
		"fetch what is not deferred":     {"q", "receive-by-sequence-number", is(seqs(long(2)), prop("receiver-settle-mode", value.OfUInt(1))), 404, noMessage, "", 0},
		"complete":                       {"q", "update-disposition", dispose("completed"), 200, "", "", 0},
		"SETL-3 completed":               {"q", "update-disposition", dispose("completed"), 200, "", "", 0},
		"SETL-3 abandoned":               {"q", "update-disposition", dispose("abandoned", prop("properties-to-modify", mapOf(prop("k", integer(1))))), 200, "", "", 0},
		"SETL-3 suspended":               {"q", "update-disposition", dispose("suspended", prop("deadletter-reason", text("why")), prop("deadletter-description", text("because"))), 200, "", "", 0},
		"SETL-3 defered":                 {"q", "update-disposition", dispose("defered"), 200, "", "", 0},
		"settle in no way":               {"q", "update-disposition", dispose("finished"), 400, badArgument, "", 0},
		"settle with properties of text": {"q", "update-disposition", dispose("abandoned", prop("properties-to-modify", text("x"))), 400, badArgument, "", 0},
		"settle what is not locked": {"q", "update-disposition", func(d *managementClient) value.Properties {
			return value.Properties{prop("disposition-status", text("completed")), tokens(d.foreign)}
		}, 410, lockLost, "", 0},
		"add a rule":               {"t/Subscriptions/s", "add-rule", is(rule("r", sql("a=1"))...), 200, "", "", 0},
		"add a rule twice":         {"t/Subscriptions/s", "add-rule", is(rule("$Default", sql("a=1"))...), 409, "com.microsoft:entity-already-exists", "", 0},
		"add a rule that is none":  {"t/Subscriptions/s", "add-rule", is(rule("r", sql("a=="))...), 400, badArgument, "", 0},
		"add a rule of conditions": {"t/Subscriptions/s", "add-rule", is(rule("r", prop("correlation-filter", mapOf(prop("label", text("x")), prop("to", value.Value{}), prop("properties", mapOf(prop("k", integer(1)))))))...), 200, "", "", 0},
		"MSG-11 add a rule of ids": {"t/Subscriptions/s", "add-rule", is(rule("r", prop("correlation-filter", mapOf(prop("message-id", value.OfBinary([]byte("m"))), prop("correlation-id", value.OfULong(7)), prop("session-id", value.OfUUID([16]byte{1})))))...), 200, "", "", 0},
		"add a rule of a compound": {"t/Subscriptions/s", "add-rule", is(rule("r", prop("correlation-filter", mapOf(prop("message-id", mapOf()))))...), 400, badArgument, "", 0},
		"add a rule to nothing":    {"t/Subscriptions/z", "add-rule", is(rule("r", sql("a=1"))...), 404, notFound, "", 0},
		"remove a rule":            {"t/Subscriptions/s", "remove-rule", is(prop("rule-name", text("$Default"))), 200, "", "", 0},
		"remove no rule":           {"t/Subscriptions/s", "remove-rule", is(prop("rule-name", text("z"))), 404, notFound, "", 0},
		"rules":                    {"t/Subscriptions/s", "enumerate-rules", is(prop("top", integer(100)), prop("skip", integer(0))), 200, "", "rules", value.Raw},
		"rules past the end":       {"t/Subscriptions/s", "enumerate-rules", is(prop("top", integer(100)), prop("skip", integer(100))), 204, "", "", 0},
		"batch delete":             {"q", "batch-delete-messages", is(prop("message-count", integer(10)), prop("enqueued-time-utc", value.OfTimestamp(253402300800000))), 200, "", "message-count", value.Int},
		"batch delete before all":  {"q", "batch-delete-messages", is(prop("message-count", integer(10)), prop("enqueued-time-utc", value.OfTimestamp(1))), 204, "", "", 0},
		"nothing that there is":    {"q", "brew-coffee", is(), 501, "amqp:not-implemented", "", 0},
	} {
		t.Run("ERR-1 "+name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				d := newManagementClient(w)
				got := manages(d.c, tc.at).do("com.microsoft:"+tc.operation, tc.arguments(d))
				if got.Status != tc.status || got.Condition != tc.condition {
					t.Fatalf("the answer is %d %s: %s", got.Status, got.Condition, got.Text)
				}
				if tc.status >= 400 && !tracked.MatchString(got.Text) {
					t.Errorf("ERR-5: the text is %q", got.Text)
				}
				if tc.key == "" {
					return
				}
				if v, ok := got.Body.Lookup(tc.key); !ok || v.Kind() != tc.kind {
					t.Errorf("%s is %v in %v", tc.key, v, got.Body)
				}
			})
		})
	}
}

// tracked matches the end of every error text (ERR-5).
var tracked = regexp.MustCompile(`\S TrackingId:[0-9a-f-]{36}_G0, SystemTracker:default, Timestamp:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$`)

// A session's state is returned as it was set. An empty state means none (sdk-demands 11).
func TestSessionStateOverManagement(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		d := newManagementClient(w)
		m := manages(d.c, "qs")
		session := prop("session-id", value.OfString("s"))
		for _, set := range []value.Value{value.OfBinary([]byte("one")), value.OfBinary(nil), value.OfBinary([]byte("two")), {}} {
			m.do("com.microsoft:set-session-state", value.Properties{session, prop("session-state", set)})
			got, _ := m.do("com.microsoft:get-session-state", value.Properties{session}).Body.Lookup("session-state")
			if b, _ := set.Bytes(); len(b) == 0 {
				set = value.Value{}
			}
			if !got.Equal(set) {
				t.Errorf("got the state %v, set %v", got, set)
			}
		}
	})
}

// A request with an associated-link-name is executed only if that link holds the session.
func TestAssociatedLink(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		d := newManagementClient(w)
		m := manages(d.c, "qs")
		for link, want := range map[string]int64{d.link: 200, "another": 410} {
			m.askWith(value.Properties{
				prop("operation", value.OfString("com.microsoft:get-session-state")), prop("associated-link-name", value.OfString(link)),
			}, wire.AppendMap(nil, value.Properties{prop("session-id", value.OfString("s"))}))
			if got := m.answer(); got.Status != want {
				t.Errorf("for the link %q: %+v", link, got)
			}
		}
	})
}

// Each renewal extends a session's lock by the lock duration, and returns the new end of the lock.
// When an operator breaks the lock, the link is detached.
func TestRenewedSession(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		d := newManagementClient(w)
		m := manages(d.c, "qs")
		for range 5 {
			time.Sleep(50 * time.Second)
			got := m.do("com.microsoft:renew-session-lock", value.Properties{prop("session-id", value.OfString("s"))})
			v, _ := got.Body.Lookup("expiration")
			if want := time.Now().Add(time.Minute).UnixMilli(); !v.Equal(value.OfTimestamp(want)) {
				t.Errorf("%v, not %d", v, want)
			}
		}
		if err := w.b.BreakSession(t.Context(), "qs", "s", "operator"); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"detach " + sessionLockLost}, brief(frames(d.c))); diff != "" {
			t.Error(diff)
		}
	})
}

// Sessions with messages or a state are listed in pages of a hundred, if the request has the date
// that stands for all sessions (sdk-demands 12).
func TestSessionPages(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.b.CreateQueue("q", engine.Config{RequiresSession: true})
		for i := range 230 {
			w.send("q", fmt.Sprintf("s%03d", i), "x")
		}
		m := manages(w.client(), "q")
		var sizes []int
		for skip := int32(0); ; {
			got := m.do("com.microsoft:get-message-sessions", value.Properties{
				prop("last-updated-time", value.OfTimestamp(253402300800000)), prop("skip", value.OfInt(skip)), prop("top", value.OfInt(100)),
			})
			if got.Status == 204 {
				break
			}
			ids, _ := got.Body.Lookup("sessions-ids")
			raw, _ := ids.Bytes()
			all, err := wire.ParseArray(raw)
			if err != nil {
				t.Fatal(err)
			}
			sizes = append(sizes, len(all))
			next, _ := got.Body.Lookup("skip")
			n, _ := next.Int64()
			skip = int32(n)
		}
		if diff := cmp.Diff([]int{100, 100, 30}, sizes); diff != "" {
			t.Error(diff)
		}
	})
}

// Deferred messages are received, settled and deleted over $management alone. Peeks and
// fetches show their state (sdk-demands 27).
func TestDeferredOverManagement(t *testing.T) {
	for _, status := range []string{"completed", "abandoned", "suspended", ""} {
		t.Run(status, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				d := newManagementClient(w)
				m := manages(d.c, "q")
				dispose := func(status string, token value.Value) answer {
					return m.do("com.microsoft:update-disposition", value.Properties{
						prop("disposition-status", value.OfString(status)), prop("lock-tokens", arrayOf(value.UUID, token)),
					})
				}
				if got := dispose("defered", d.token); got.Status != 200 {
					t.Fatal(got)
				}
				mode := uint32(1)
				if status == "" {
					mode = 0
				}
				got := m.do("com.microsoft:receive-by-sequence-number", value.Properties{
					prop("sequence-numbers", arrayOf(value.Long, value.OfLong(1))), prop("receiver-settle-mode", value.OfUInt(mode)),
				})
				if got.Status != 200 {
					t.Fatal(got)
				}
				entry := only(t, got.Body, "messages")
				raw, _ := entry.Lookup("message")
				encoded, _ := raw.Bytes()
				if !strings.Contains(string(encoded), "x-opt-message-state\x54\x01") {
					t.Errorf("the state is not in %q", encoded)
				}
				token, locked := entry.Lookup("lock-token")
				if locked != (mode == 1) {
					t.Fatalf("fetched with mode %d: %v", mode, entry)
				}
				if status != "" {
					if got := dispose(status, token); got.Status != 200 {
						t.Error(got)
					}
				}
				synctest.Wait()
				var counts engine.Counts
				if err := w.b.Read(t.Context(), func(r broker.Reader) error {
					s, err := r.State("q")
					counts = s.Counts
					return err
				}); err != nil {
					t.Fatal(err)
				}
				want := map[string]engine.Counts{
					"completed": {Active: 1}, "": {Active: 1}, "abandoned": {Active: 1, Deferred: 1}, "suspended": {Active: 1, DeadLetter: 1},
				}[status]
				if diff := cmp.Diff(want, counts); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// only returns the only map in a list of a reply.
func only(t *testing.T, body value.Properties, key string) value.Properties {
	t.Helper()
	v, _ := body.Lookup(key)
	raw, _ := v.Bytes()
	all, err := wire.ParseList(raw)
	if err != nil || len(all) != 1 {
		t.Fatalf("%s are %v, %v", key, all, err)
	}
	b, _ := all[0].Bytes()
	p, err := wire.ParseMap(b)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A reply goes to the link of the session whose target address is the reply-to of the request, else
// to the one with that name, else to the latest link of the node. It has the request's id, with its
// type.
func TestReplies(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.b.CreateQueue("q", engine.Config{})
		w.b.CreateQueue("other", engine.Config{})
		c := w.client()
		c.AttachSender(0, 0, "q/$management")
		for i, l := range []struct{ name, target, of string }{
			{"one", "here", "q"}, {"two", "there", "q"}, {"three", "", "q"}, {"four", "there", "other"}, {"five", "here", "q"}, {"six", "last", "q"},
		} {
			a := amqptest.ReceiverAttach(uint32(i+1), l.of+"/$management")
			a.Name, a.Target = l.name, &wire.Target{}
			if l.target != "" {
				a.Target.Address = wire.Some(l.target)
			}
			c.Attach(0, a)
			c.GrantCredit(0, uint32(i+1), 0, 100)
		}
		c.Begin(1)
		a := amqptest.ReceiverAttach(0, "q/$management")
		a.Name, a.Target = "elsewhere", &wire.Target{Address: wire.Some("there")}
		c.Attach(1, a)
		c.GrantCredit(1, 0, 0, 100)
		for i, tc := range []struct {
			id   value.Value
			to   string
			want uint32
		}{
			{value.OfUUID([16]byte{7}), "there", 2},
			{value.OfULong(7), "three", 3},
			{value.OfString("7"), "here", 5}, // the later of two
			{value.OfBinary([]byte{7}), "nowhere", 6},
			{value.OfUUID([16]byte{8}), "", 6},
		} {
			props := wire.Properties{MessageID: tc.id}
			if tc.to != "" {
				props.ReplyTo = wire.Some(tc.to)
			}
			b := wire.AppendAnnotations(props.Append(nil), wire.SectionApplicationProperties, value.Properties{prop("operation", value.OfString("com.microsoft:peek-message"))})
			b = wire.AppendSection(b, wire.SectionValue, wire.AppendMap(nil, nil))
			c.WriteFrames(0, amqptest.MessageTransfer(0, uint32(i), b))
			got := c.ReceiveDelivery()
			if s := c.WaitForOutcome(uint32(i)); s != (wire.Accepted{}) {
				t.Fatal(s)
			}
			var m wire.Message
			var about wire.Properties
			if err := m.Decode(got.Payload); err != nil {
				t.Fatal(err)
			}
			if err := about.Decode(m.Properties); err != nil {
				t.Fatal(err)
			}
			if got.Handle != tc.want || !about.CorrelationID.Equal(tc.id) || !got.Settled.Or(false) {
				t.Errorf("reply-to %q: link %d, correlation-id %v, settled %v", tc.to, got.Handle, about.CorrelationID, got.Settled)
			}
		}
	})
}

// A delivery's tag is its lock token. A deleted delivery has an empty tag and is settled
// (sdk-demands 21).
func TestTags(t *testing.T) {
	logRule(t, "LOCK-1, LOCK-2: what each settle mode delivers")
	bubble(t, func(t *testing.T, w *world) {
		w.b.CreateQueue("q", engine.Config{})
		w.send("q", "", "0", "1")
		c := w.client()
		c.Attach(0, amqptest.ReceiverAttach(0, "q"))
		a := amqptest.ReceiverAttach(1, "q")
		a.SenderSettleMode, a.ReceiverSettleMode = wire.Some(wire.SenderSettled), wire.Some(wire.ReceiverFirst)
		if got := c.Attach(0, a); got.SenderSettleMode != a.SenderSettleMode || got.ReceiverSettleMode != a.ReceiverSettleMode {
			t.Errorf("the modes are %v and %v", got.SenderSettleMode, got.ReceiverSettleMode)
		}
		c.GrantCredit(0, 0, 0, 1)
		locked := c.ReceiveDelivery()
		if len(locked.DeliveryTag) != 16 || locked.Settled.Or(true) || locked.MessageFormat.Or(9) != 0 {
			t.Errorf("the locked delivery is %+v", locked)
		}
		token := wire.TagOfLockToken([16]byte(locked.DeliveryTag))
		if want := "x-opt-lock-token\x98" + string(token[:]); !strings.Contains(string(locked.Payload), want) {
			t.Error("the tag is not the token in the delivery annotations (sdk-demands 15)")
		}
		if binary.BigEndian.Uint64(token[:8]) == 0 {
			t.Errorf("the token is %x", token)
		}
		c.GrantCredit(0, 1, 0, 1)
		if deleted := c.ReceiveDelivery(); len(deleted.DeliveryTag) != 0 || !deleted.Settled.Or(false) {
			t.Errorf("the deleted delivery is %+v", deleted)
		}
	})
}
