package amqp_test

import (
	"regexp"
	"testing"
	"testing/synctest"

	"mayfly/engine/value"
	"mayfly/web/amqp/amqptest"
	"mayfly/web/amqp/wire"
)

// Error texts that clients match over AMQP, and where they do so. Other errors are
// recognised by condition and status: see TestManagement. Those over Atom are in
// web/rest/atom (SubCode=40301 and SubCode=40901, which JavaScript's SDK looks for, and
// SubCode=… followed by a dot, which .NET's reads by a regular expression), those of
// tokens in TestLinksBeforeToken and web/auth/sas. Python's, Go's and .NET's messaging
// clients match no text of the server, with one exception: when listing sessions, Go's
// takes "session not found" for an empty list, for which the server answers with status
// 204.
var matched = map[string]*regexp.Regexp{
	// JavaScript: core-amqp errors.js; Java: azure-core-amqp ExceptionUtil. Both
	// recognise a missing entity by this text, whatever the condition.
	"not found": regexp.MustCompile(`The messaging entity .* could not be found`),
	// The live tests of JavaScript's rule manager recognise an existing rule by this
	// text.
	"exists": regexp.MustCompile(`^The messaging entity '.*' already exists\.`),
	// The same, with the service's name for a rule.
	"no rule":     regexp.MustCompile(`^The messaging entity 'default:Topic:t\|s\|z' could not be found\.`),
	"rule exists": regexp.MustCompile(`^The messaging entity 'default:Topic:t\|s\|\$Default' already exists\.`),
}

func TestTextsThatClientsMatch(t *testing.T) {
	check := func(t *testing.T, cond wire.Condition, text string, want wire.Condition, like ...string) {
		t.Helper()
		if cond != want {
			t.Errorf("the condition is %s, want %s", cond, want)
		}
		for _, name := range like {
			if !matched[name].MatchString(text) {
				t.Errorf("%q does not match %v", text, matched[name])
			}
		}
	}
	manage := func(at, operation string, in ...value.Property) func(*testing.T, *managementClient) (wire.Condition, string) {
		return func(_ *testing.T, d *managementClient) (wire.Condition, string) {
			got := manages(d.c, at).do("com.microsoft:"+operation, in)
			return wire.Condition(got.Condition), got.Text
		}
	}
	attach := func(a wire.Attach) func(*testing.T, *managementClient) (wire.Condition, string) {
		return func(t *testing.T, d *managementClient) (wire.Condition, string) {
			why := refused(d.w.client(), a)
			if why == nil {
				t.Fatal("the request is not refused")
			}
			return why.Condition, why.Description
		}
	}
	rule := func(name string) []value.Property {
		return []value.Property{prop("rule-name", value.OfString(name)), prop("rule-description", mapOf(prop("sql-filter", mapOf(prop("expression", value.OfString("a=1"))))))}
	}
	const exists = "com.microsoft:entity-already-exists"
	for name, tc := range map[string]struct {
		do   func(*testing.T, *managementClient) (wire.Condition, string)
		cond wire.Condition
		like []string
	}{
		"ERR-1 a missing rule":                {manage("t/Subscriptions/s", "remove-rule", prop("rule-name", value.OfString("z"))), wire.CondNotFound, []string{"not found", "no rule"}},
		"ERR-1 a rule twice":                  {manage("t/Subscriptions/s", "add-rule", rule("$Default")...), exists, []string{"exists", "rule exists"}},
		"ERR-1 rules of what is missing":      {manage("t/Subscriptions/z", "add-rule", rule("r")...), wire.CondNotFound, []string{"not found"}},
		"ERR-1 a request to what is missing":  {manage("nothing", "peek-message", prop("message-count", value.OfInt(1))), wire.CondNotFound, []string{"not found"}},
		"ERR-1 a receiver of what is missing": {attach(amqptest.ReceiverAttach(0, "nothing")), wire.CondNotFound, []string{"not found"}},
		"ERR-1 a sender to what is missing":   {attach(amqptest.SenderAttach(0, "nothing")), wire.CondNotFound, []string{"not found"}},
		"ERR-1 a missing subscription":        {attach(amqptest.ReceiverAttach(0, "t/Subscriptions/z")), wire.CondNotFound, []string{"not found"}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				cond, text := tc.do(t, newManagementClient(w))
				check(t, cond, text, tc.cond, tc.like...)
			})
		})
	}
}

// Settling a deferred message of a session twice loses the message's own lock, while the
// session is held. If it is not, or if the request names neither the session nor its
// link, it is the session's lock that is lost.
func TestSettledTwiceInSession(t *testing.T) {
	const lockLost = "com.microsoft:message-lock-lost"
	for name, tc := range map[string]struct {
		link, session bool // the client sends them
		gone          bool // the session is no longer held
		want          string
	}{
		"SES-21 by session":               {session: true, want: lockLost},
		"SES-21 by session and link":      {session: true, link: true, want: lockLost},
		"SES-21 by link, as Go's SDK":     {link: true, want: lockLost},
		"SES-21 without the session":      {session: true, link: true, gone: true, want: sessionLockLost},
		"SES-10 of a client that is mute": {want: sessionLockLost},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				d := newManagementClient(w)
				d.c.WriteFrames(1, flow(0, 1, func(f *wire.Flow) { f.Handle = wire.Some[uint32](1) }))
				got := d.c.ReceiveDelivery()
				d.c.WriteFrames(1, &wire.Disposition{Role: wire.RoleReceiver, First: got.DeliveryID.Or(0), Settled: true, State: wire.Modified{UndeliverableHere: true}})
				synctest.Wait()
				m := manages(d.c, "qs")
				fetched := m.do(fetchOperation, value.Properties{
					prop("sequence-numbers", arrayOf(value.Long, value.OfLong(1))), prop("receiver-settle-mode", value.OfUInt(1)), prop("session-id", value.OfString("s")),
				})
				token, _ := only(t, fetched.Body, "messages").Lookup("lock-token")
				complete := func() answer {
					about := value.Properties{prop("operation", value.OfString("com.microsoft:update-disposition"))}
					in := value.Properties{prop("disposition-status", value.OfString("completed")), prop("lock-tokens", arrayOf(value.UUID, token))}
					if tc.link {
						about = append(about, prop("associated-link-name", value.OfString(d.link)))
					}
					if tc.session {
						in = append(in, prop("session-id", value.OfString("s")))
					}
					m.askWith(about, wire.AppendMap(nil, in))
					synctest.Wait()
					return m.answer()
				}
				if got := complete(); got.Status != 200 {
					t.Fatalf("settled once: %+v", got)
				}
				if tc.gone {
					if err := w.b.BreakSession(t.Context(), "qs", "s", "operator"); err != nil {
						t.Fatal(err)
					}
					amqptest.Expect[*wire.Detach](d.c)
				}
				if got := complete(); got.Status != 410 || got.Condition != tc.want {
					t.Errorf("settled twice: %d %s", got.Status, got.Condition)
				}
			})
		})
	}
}
