package amqp_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
	"mayfly/engine/value"
	"mayfly/web/amqp/wire"
)

// Purging a session deletes its own messages, and only for the link that holds it.
// Without a session-id the entity's oldest messages are deleted.
func TestPurgeSession(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.b.CreateQueue("q", engine.Config{RequiresSession: true, LockDuration: time.Minute})
		for range 5 {
			w.send("q", "one", "x", "x")
			w.send("q", "two", "x")
		}
		time.Sleep(time.Second)
		synctest.Wait()
		c := w.client()
		c.Begin(1)
		session := asks(0, "q", value.OfString("one"), 0)
		session.Name = "holds one"
		c.Attach(1, session)
		m, foreign := manages(c, "q"), manages(w.client(), "q")
		purge := func(m *manager, link string, more ...value.Property) string {
			about := value.Properties{prop("operation", value.OfString("com.microsoft:batch-delete-messages"))}
			if link != "" {
				about = append(about, prop("associated-link-name", value.OfString(link)))
			}
			m.askWith(about, wire.AppendMap(nil, append(value.Properties{
				prop("message-count", value.OfInt(100)), prop("enqueued-time-utc", value.OfTimestamp(time.Now().UnixMilli())),
			}, more...)))
			got := m.answer()
			if v, ok := got.Body.Lookup("message-count"); ok {
				n, _ := v.Int64()
				return fmt.Sprint(got.Status, " ", n)
			}
			return fmt.Sprint(got.Status, " ", got.Condition)
		}
		one, two := prop("session-id", value.OfString("one")), prop("session-id", value.OfString("two"))
		const lost = "410 " + sessionLockLost
		for _, step := range []struct {
			about   string
			by      *manager
			link    string
			session value.Property
			want    string
			left    int64
		}{
			{"BDEL-8 of a session that nobody holds", m, "", two, lost, 15},
			{"BDEL-8 by another connection", foreign, "", one, lost, 15},
			{"BDEL-8 by a link that does not hold it", m, "another", one, lost, 15},
			{"BDEL-8 by its holder", m, session.Name, one, "200 10", 5},
			{"BDEL-8 again", m, "", one, "204 ", 5},
			{"BDEL-1 of all sessions", m, "", prop("session-id", value.Value{}), "200 5", 0},
		} {
			if got := purge(step.by, step.link, step.session); got != step.want {
				t.Errorf("%s: %q, not %q", step.about, got, step.want)
			}
			if n, _ := w.count("q"); n != step.left {
				t.Errorf("%s: %d messages are left, not %d", step.about, n, step.left)
			}
		}
	})
}

// sdkArguments are the arguments that SDKs send with each operation of $management (Go
// 1.11.0, Python 7.15.0, JavaScript 7.9.5, Java 7.17.20, .NET 7.21.0), with values as
// they write them. The other fields of a schedule's entries repeat what is in "message"
// (see codec.DecodeScheduled).
var sdkArguments = map[string]struct {
	at   string
	args func(d *managementClient) value.Properties
}{
	"renew-lock": {"q", func(d *managementClient) value.Properties {
		return value.Properties{prop("lock-tokens", arrayOf(value.UUID, d.token))}
	}},
	"renew-session-lock": {"qs", func(*managementClient) value.Properties {
		return value.Properties{prop("session-id", value.OfString("s"))}
	}},
	"peek-message": {"qs", func(*managementClient) value.Properties {
		return value.Properties{
			prop("from-sequence-number", value.OfLong(1)), prop("message-count", value.OfInt(1)), prop("session-id", value.OfString("s")), prop("omit-message-body", value.OfBool(true)),
		}
	}},
	"schedule-message": {"q", func(*managementClient) value.Properties {
		return value.Properties{prop("messages", listOf(mapOf(prop("message", value.OfBinary(later())))))}
	}},
	"cancel-scheduled-message": {"q", func(*managementClient) value.Properties {
		return value.Properties{prop("sequence-numbers", arrayOf(value.Long))}
	}},
	"set-session-state": {"qs", func(*managementClient) value.Properties {
		return value.Properties{prop("session-id", value.OfString("s")), prop("session-state", value.OfBinary([]byte("x")))}
	}},
	"get-session-state": {"qs", func(*managementClient) value.Properties {
		return value.Properties{prop("session-id", value.OfString("s"))}
	}},
	"get-message-sessions": {"qs", func(*managementClient) value.Properties {
		return value.Properties{prop("last-updated-time", value.OfTimestamp(253402300800000)), prop("skip", value.OfInt(0)), prop("top", value.OfInt(1))}
	}},
	"receive-by-sequence-number": {"qs", func(*managementClient) value.Properties {
		return value.Properties{
			prop("sequence-numbers", arrayOf(value.Long)), prop("receiver-settle-mode", value.OfUInt(1)), prop("session-id", value.OfString("s")),
		}
	}},
	"update-disposition": {"q", func(d *managementClient) value.Properties {
		return value.Properties{
			prop("disposition-status", value.OfString("suspended")), prop("lock-tokens", arrayOf(value.UUID, d.token)), prop("session-id", value.Value{}),
			prop("deadletter-reason", value.OfString("r")), prop("deadletter-description", value.OfString("d")),
			prop("properties-to-modify", mapOf(prop("k", value.OfInt(1)))),
		}
	}},
	"add-rule": {"t/Subscriptions/s", func(*managementClient) value.Properties {
		return value.Properties{
			prop("rule-name", value.OfString("r")),
			prop("rule-description", mapOf(prop("rule-name", value.OfString("r")), prop("sql-filter", mapOf(prop("expression", value.OfString("a=1")))))),
		}
	}},
	"remove-rule": {"t/Subscriptions/s", func(*managementClient) value.Properties {
		return value.Properties{prop("rule-name", value.OfString("$Default"))}
	}},
	"enumerate-rules": {"t/Subscriptions/s", func(*managementClient) value.Properties {
		return value.Properties{prop("top", value.OfInt(1)), prop("skip", value.OfInt(0))}
	}},
	"batch-delete-messages": {"qs", func(*managementClient) value.Properties {
		return value.Properties{
			prop("message-count", value.OfInt(1)), prop("enqueued-time-utc", value.OfTimestamp(253402300800000)), prop("session-id", value.OfString("s")),
		}
	}},
}

// later returns an encoded message that is scheduled.
func later() []byte {
	b := wire.AppendAnnotations(nil, wire.SectionMessageAnnotations, value.Properties{prop("x-opt-scheduled-enqueue-time", value.OfTimestamp(time.Now().Add(1000*time.Hour).UnixMilli()))})
	return append(wire.AppendDataHeader(b, 5), "later"...)
}

// Every operation of $management succeeds with the arguments of SDKs, and is refused if any one of
// them has an invalid value, which shows that it does not ignore the argument.
func TestArgumentsAreRead(t *testing.T) {
	for operation, tc := range sdkArguments {
		t.Run(operation, func(t *testing.T) {
			ask := func(change func(value.Properties)) (got answer) {
				bubble(t, func(_ *testing.T, w *world) {
					d := newManagementClient(w)
					in := tc.args(d)
					change(in)
					got = manages(d.c, tc.at).do("com.microsoft:"+operation, in)
				})
				return got
			}
			if got := ask(func(value.Properties) {}); got.Status != 200 && got.Status != 204 {
				t.Fatalf("with the arguments of SDKs: %+v", got)
			}
			for i, p := range tc.args(&managementClient{token: value.OfUUID([16]byte{1})}) {
				wrong := value.OfChar('x')
				if p.Name == "session-id" { // any type that has a text is an id (MSG-11)
					wrong = mapOf()
				}
				got := ask(func(in value.Properties) { in[i].Value = wrong })
				if got.Status != 400 || got.Condition != "com.microsoft:argument-error" {
					t.Errorf("an invalid %s is ignored: %+v", p.Name, got)
				}
			}
		})
	}
}
