package amqp_test

import (
	"testing/synctest"

	"mayfly/engine/value"
	"mayfly/web/amqp/amqptest"
	"mayfly/web/amqp/wire"
)

// A manager is a pair of links to a $management: 0 for requests, 1 for answers.
type manager struct {
	c    *amqptest.Client
	sent uint32
	had  uint32
}

// manages attaches to the $management of an entity, without credit for answers.
func manages(c *amqptest.Client, entity string) *manager {
	c.Sender(0, 0, entity+"/$management")
	a := amqptest.Receives(1, entity+"/$management")
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
	t := amqptest.Delivery(0, m.sent, b)
	t.Settled = wire.Some(true)
	m.sent++
	m.c.Say(0, t)
}

// An answer is one of $management.
type answer struct {
	Status    int64
	Text      string
	Condition string
	Body      value.Properties
}

// answer is the next answer.
func (m *manager) answer() answer {
	m.c.Credit(0, 1, m.had, 1)
	m.had++
	return readAnswer(m.c.Receive().Payload)
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

// do asks and is the answer.
func (m *manager) do(operation string, arguments value.Properties) answer {
	m.ask(operation, arguments)
	synctest.Wait()
	return m.answer()
}
