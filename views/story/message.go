package story

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/page"
	"mayfly/views/page/message"
	"mayfly/views/sample"
	"mayfly/views/view"
)

const order = `{"order": 88412, "placedAt": "2026-07-14T10:00:00.090Z",
 "customer": {"id": 4417, "city": "Ústí nad Labem", "vip": true},
 "lines": [{"sku": "1180", "n": 2}], "note": "<script>alert(1)</script>",
 "total": 129.900000000000000001}`

func oneMessage() message.Message {
	stored := at("10:00:00").Add(121 * time.Millisecond)
	lock := within(26*time.Second, 30*time.Second)
	lock.As = component.Lock
	return message.Message{
		Shell: shell("order.placed", layout.Queues, "/m/3048201"), Key: "3048201", Href: home + "/m/3048201",
		Entity: page.EntityRef{Kind: page.Queue, Name: "orders", Href: home + "/q/orders"}, Path: "orders",
		State: page.StateLocked, Number: 48_201, Subject: "order.placed", ID: "o-88412", Type: "application/json", Size: 1434, Tries: 2, Max: 10,
		Clock: within(48*time.Second, 5*time.Minute), Hold: lockedFor(26*time.Second, 7), Holder: "worker-5",
		Fate: component.ExpiryOutcome{To: "orders/$DLQ"},
		TTLExplanation: component.TTLExplanation{
			Terms: []component.TTLTerm{
				{Name: "message", Duration: time.Hour, Show: "1h"},
				{Name: "queue default", Href: home + "/q/orders/edit", Duration: 5 * time.Minute, Show: "5m", Applies: true},
			},
			Says: []component.Text{plainText("The smaller one counts: "), strongText("5m"), plainText(". The clock started when it was stored, at 10:00:00, and goes on while it is locked. On expiry: dead-letter, TTLExpiredException.")},
		},
		Timeline: []component.TimelineStep{
			{Icon: "check", Tone: component.Plenty, Title: "Stored as #48,201", At: stored, Detail: []component.Text{plainText("clock started; 5m until 10:05:00")}},
			{Icon: "locked", Tone: component.Lock, Title: "Locked by worker-2", At: at("10:01:10"), Detail: []component.Text{plainText("30s")}},
			{Icon: "refresh", Tone: component.Low, Title: "Given back by worker-2", At: at("10:01:22"), Detail: []component.Text{plainText("“gateway timeout” · delivery count 1")}},
			{Icon: "locked", Tone: component.Lock, Title: "Locked by worker-5", At: at("10:04:08"), Now: true, Detail: []component.Text{plainText("holds it for another "), {Clock: &lock}}},
			{Icon: "dead", Tone: component.Dead, Title: "Expires, unless completed", At: stored.Add(5 * time.Minute), Detail: []component.Text{plainText("A lock outlives the time to live: worker-5 may still complete it.")}},
		},
		Body: message.Body{Content: []byte(order), Size: int64(len(order)), Form: "data", Download: home + "/m/3048201/body"},
		Headers: []message.Header{
			{Name: "MessageId", AMQP: "properties · message-id", Value: "o-88412"},
			{Name: "Subject", AMQP: "properties · subject", Value: "order.placed"},
			{Name: "SequenceNumber", AMQP: "message-annotations · x-opt-sequence-number", Value: "48201"},
			{Name: "EnqueuedTime", AMQP: "message-annotations · x-opt-enqueued-time", At: stored},
			{Name: "DeliveryCount", AMQP: "header · delivery-count", Value: "2"},
		},
		Application: []component.Property{
			{Name: "region", Value: "eu", Type: "string"},
			{Name: "attempt", Value: "2", Type: "int"},
			{Name: "lastError", Value: "gateway timeout", Type: "string"},
			{Name: "precise", Value: "0.10000000000000000555", Type: "decimal128"},
			{Name: "a-very-long-name-without-any-break-in-it-whatsoever", Value: "c0ffee00-0000-4000-8000-00000000cafe", Type: "uuid"},
		},
	}
}

// messageSent is the page of a message with its sections as they were sent. The message is a copy,
// and was copied in turn.
func messageSent() message.Message {
	return messageIn(page.StateActive, func(m *message.Message) {
		m.View = message.SentView
		m.Sent = []message.AMQPSection{
			{Name: "header", Fields: []component.Property{{Name: "durable", Type: "boolean", Value: "true"}, {Name: "ttl", Type: "milliseconds", Value: "300000"}}},
			{Name: "properties", Fields: []component.Property{{Name: "message-id", Type: "string", Value: "o-88412"}, {Name: "subject", Type: "string"}}},
			{Name: "body", Fields: []component.Property{{Name: "data", Type: "bytes", Value: "219"}}},
		}
		m.Related = []message.RelatedMessage{
			{How: message.Original, Name: "#47,990", In: "orders/$DLQ", Href: home + "/m/3047001", At: at("10:00:00")},
			{How: message.Copy, Name: "#12", In: "audit/" + strings.Repeat("long", 20), Href: home + "/m/3048777", At: at("10:03:10")},
		}
		m.MoreRelated = true
		m.Resend = message.Resend{
			Curl:    `curl 'http://localhost:8080/api/v1/send/orders' -d '{"body":"hello"}'`,
			Samples: sample.SendPrograms(sample.Task{Connection: "Endpoint=sb://localhost:5672/", Queue: "orders"}, sample.Message{ID: "o-88412", File: "message-3048201.bin", Props: []component.Property{{Name: "attempt", Type: "int", Value: "2"}}}),
			File:    "message-3048201.bin",
		}
	})
}

// messageLong is the page of a message whose 3 MB body is shown in hexadecimal from the middle, and
// is not in AMQP's data format.
func messageLong() message.Message {
	return messageIn(page.StateActive, func(m *message.Message) {
		m.View, m.Resend = message.HexView, message.Resend{UnsupportedBody: true}
		m.Body.Size, m.Body.From, m.Body.Window = 3<<20, 8192, bytes.Repeat([]byte("\x00订单 end"), 4)
	})
}

func messageIn(state page.State, change func(*message.Message)) message.Message {
	m := oneMessage()
	m.State, m.Hold, m.Holder = state, component.LockInfo{}, ""
	m.Timeline = m.Timeline[:3]
	if change != nil {
		change(&m)
	}
	return m
}

func messageActive() message.Message {
	return messageIn(page.StateActive, func(m *message.Message) { m.View = message.RawView })
}

func messageInspected() message.Message {
	m := oneMessage()
	m.Token, m.Holder, m.View = "00002af0-0000-0017-0000-000000000003", "dashboard", message.HeadersView
	return m
}

func messageScheduled() message.Message {
	return messageIn(page.StateScheduled, func(m *message.Message) {
		m.Clock, m.Due, m.TTLExplanation, m.Application = component.Clock{Now: now}, within(11*time.Minute, time.Hour), component.TTLExplanation{}, nil
		m.Body = message.Body{}
	})
}

func messageDeferred() message.Message {
	return messageIn(page.StateDeferred, func(m *message.Message) {
		m.Expired, m.View = true, message.HexView
		m.Body.Content = append([]byte{0, 1, 2, 0xff}, m.Body.Content...)
		m.Body.Size += 4
	})
}

func messageDead() message.Message {
	return messageIn(page.StateDeadLetter, func(m *message.Message) {
		m.Entity.DeadLetter, m.Clock, m.TTLExplanation = true, component.Clock{Now: now}, component.TTLExplanation{}
		m.Reason = page.Reason{Reason: "TTLExpiredException", Description: "The message expired and was dead lettered."}
		large := bytes.Repeat([]byte("订单 "), 1024)
		m.Body = message.Body{Content: large, Size: 3 << 20, Form: "data", Download: m.Body.Download}
	})
}

func messageEnded() message.Message {
	return messageIn(page.StateActive, func(m *message.Message) {
		m.Ended = component.TimelineStep{Icon: "check", Tone: component.Plenty, Title: "Completed", At: at("10:04:11"), Detail: []component.Text{plainText("by worker-5")}}
		m.TimelineLimits.Retention = 7 * 24 * time.Hour
	})
}

// messagePurged is the page of a message that was purged. Its timeline is cut, has a gap, and could
// not be read completely.
func messagePurged() message.Message {
	return messageIn(page.StateActive, func(m *message.Message) {
		m.Ended = component.TimelineStep{Icon: "trash", Tone: component.Lost, Title: "Purged from orders", At: at("10:03:58"), Detail: []component.Text{plainText("by the dashboard")}}
		m.TimelineLimits, m.HeadersMissing, m.Subject, m.ID, m.Headers, m.Application = message.TimelineLimits{Retention: 36 * time.Hour, Cut: true, Failed: true}, true, "", "", nil, nil
		gap := component.TimelineStep{Icon: "warn", Tone: component.Low, Title: "1,204 events of this time were not remembered; some may be of this message", At: at("09:31:40")}
		m.Timeline = append(m.Timeline, gap)
	})
}

func messageMissing() message.Message {
	return message.Message{Shell: shell("Message 17", "", "/m/17"), Key: "17", Href: home + "/m/17", Missing: true, TimelineLimits: message.TimelineLimits{Retention: 7 * 24 * time.Hour}}
}

// beside returns a page with a drawer open.
func beside(p view.Page, drawer templ.Component) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		var whole, side bytes.Buffer
		if err := p.Full().Render(ctx, &whole); err != nil {
			return err
		}
		if err := drawer.Render(ctx, &side); err != nil {
			return err
		}
		before, after, _ := bytes.Cut(whole.Bytes(), []byte("</body>"))
		_, err := w.Write(slices.Concat(before, side.Bytes(), []byte("</body>"), after))
		return err
	})
}
