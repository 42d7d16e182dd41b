package amqp_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine/value"
	"mayfly/web/amqp/amqptest"
	"mayfly/web/amqp/wire"
)

// A manager is a pair of links to a $management: 0 for requests, 1 for replies.
type manager struct {
	c    *amqptest.Client
	sent uint32
	had  uint32
}

// manages attaches a link for requests and one for replies to an entity's $management. It gives no
// credit for replies.
func manages(c *amqptest.Client, entity string) *manager {
	c.AttachSender(0, 0, entity+"/$management")
	a := amqptest.ReceiverAttach(1, entity+"/$management")
	a.Target = &wire.Target{Address: wire.Some("answers")}
	c.Attach(0, a)
	return &manager{c: c}
}

// ask sends a request.
func (m *manager) ask(operation string, arguments value.Properties) {
	m.askWith(value.Properties{{Name: "operation", Value: value.OfString(operation)}}, wire.AppendMap(nil, arguments))
}

func (m *manager) askWith(about value.Properties, body []byte) {
	props := wire.Properties{MessageID: value.OfULong(uint64(m.sent)), ReplyTo: wire.Some("answers")}
	b := props.Append(nil)
	b = wire.AppendAnnotations(b, wire.SectionApplicationProperties, about)
	b = wire.AppendSection(b, wire.SectionValue, body)
	t := amqptest.MessageTransfer(0, m.sent, b)
	t.Settled = wire.Some(true)
	m.sent++
	m.c.WriteFrames(0, t)
}

// An answer is a reply of $management.
type answer struct {
	Status    int64
	Text      string
	Condition string
	Body      value.Properties
}

// answer returns the next reply.
func (m *manager) answer() answer {
	m.c.GrantCredit(0, 1, m.had, 1)
	m.had++
	return readAnswer(m.c.ReceiveDelivery().Payload)
}

func readAnswer(b []byte) (a answer) {
	var msg wire.Message
	if err := msg.Decode(b); err != nil {
		return answer{Text: err.Error()}
	}
	about, err := wire.ParseMap(msg.ApplicationProperties)
	if err != nil {
		return answer{Text: err.Error()}
	}
	if v, ok := about.Lookup("statusCode"); ok && v.Kind() == value.Int {
		a.Status, _ = v.Int64()
	}
	if v, ok := about.Lookup("statusDescription"); ok {
		a.Text, _ = v.Str()
	}
	if v, ok := about.Lookup("errorCondition"); ok && v.Kind() == value.Symbol {
		a.Condition, _ = v.Str()
	}
	if a.Body, err = wire.ParseMap(msg.Body.Content()); err != nil && a.Status == 200 {
		a.Text = err.Error()
	}
	return a
}

// do sends a request and returns the reply.
func (m *manager) do(operation string, arguments value.Properties) answer {
	m.ask(operation, arguments)
	synctest.Wait()
	return m.answer()
}

// The reply to a request is written before the request is settled if the client has given
// credit for it. Otherwise a client that gives credit after the settlement would wait for
// ever.
func TestAnswersFirst(t *testing.T) {
	ask := func(c *amqptest.Client, id uint32, operation string, in value.Properties) {
		c.WriteFrames(0, amqptest.MessageTransfer(0, id, request(uint64(id), operation, in)))
	}
	renew := func(d *managementClient) value.Properties {
		return value.Properties{prop("lock-tokens", arrayOf(value.UUID, d.token))}
	}
	order := func(c *amqptest.Client) (all []string) {
		for _, p := range frames(c) {
			switch p := p.(type) {
			case *wire.Transfer:
				all = append(all, fmt.Sprint("answer ", readAnswer(p.Payload).Status))
			case *wire.Disposition:
				all = append(all, fmt.Sprintf("settled %d %T", p.First, p.State))
			}
		}
		return all
	}
	bubble(t, func(t *testing.T, w *world) {
		d := newManagementClient(w)
		manages(d.c, "q")
		step := func(what string, want ...string) {
			t.Helper()
			if diff := cmp.Diff(want, order(d.c)); diff != "" {
				t.Errorf("%s: %s", what, diff)
			}
		}
		ask(d.c, 0, "com.microsoft:renew-lock", renew(d))
		step("without credit", "settled 0 wire.Accepted")
		d.c.GrantCredit(0, 1, 0, 4)
		step("with credit", "answer 200")
		ask(d.c, 1, "com.microsoft:renew-lock", renew(d))
		step("and the next", "answer 200", "settled 1 wire.Accepted")
		ask(d.c, 2, "com.microsoft:renew-lock", nil)
		step("that is refused", "answer 400", "settled 2 wire.Accepted")
		ask(d.c, 3, "com.microsoft:renew-lock", renew(d))
		step("for the last credit", "answer 200", "settled 3 wire.Accepted")
		ask(d.c, 4, "com.microsoft:renew-lock", renew(d))
		step("and one more", "settled 4 wire.Accepted")
		d.c.GrantCredit(0, 1, 4, 2)
		step("then", "answer 200")
		d.c.WriteFrames(0, amqptest.MessageTransfer(0, 6, request(6, "com.microsoft:renew-lock", renew(d))), amqptest.MessageTransfer(0, 7, request(7, "com.microsoft:renew-lock", renew(d))))
		got := order(d.c)
		slices.Sort(got)
		if diff := cmp.Diff([]string{"answer 200", "settled 6 wire.Accepted", "settled 7 wire.Accepted"}, got); diff != "" {
			t.Errorf("two replies for one credit: %s", diff)
		}
		d.c.GrantCredit(0, 1, 6, 1)
		step("then", "answer 200")
		d.c.WriteFrames(0, &wire.Detach{Handle: 1, Closed: true})
		frames(d.c)
		ask(d.c, 5, "com.microsoft:renew-lock", renew(d))
		step("without a link", "settled 5 wire.Accepted")
	})
}
