package carry

import (
	"errors"
	"fmt"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/value"
	"mayfly/web/amqp/wire"
)

// Batch are the messages in an envelope of [wire.FormatBatch], in order. If one
// of them is bad they all are (MSG-6). What the envelope itself says besides,
// which repeats the first message, has no meaning.
func Batch(encoded []byte) ([]broker.Outgoing, error) {
	var envelope wire.Message
	if err := envelope.Decode(encoded); err != nil {
		return nil, err //nolint:wrapcheck // a *wire.ProtocolError says where
	}
	inside, err := envelope.Batch()
	if err != nil {
		return nil, err //nolint:wrapcheck // likewise
	}
	return all(inside, func(one []byte) (broker.Outgoing, error) { return Incoming(one) })
}

// Scheduled are the messages that a request com.microsoft:schedule-message asks
// to schedule, in order, given the encoded map that is its body (SCH-1, SCH-8).
// Each says itself when it is due; what stands beside it repeats what it says.
func Scheduled(body []byte) ([]broker.Outgoing, error) {
	request, err := wire.ParseMap(body)
	if err != nil {
		return nil, err //nolint:wrapcheck // a *wire.ProtocolError says where
	}
	listed, _ := request.Lookup("messages")
	list, _ := listed.Bytes()
	entries, err := wire.ParseList(list)
	if err != nil || listed.Kind() != value.Raw {
		return nil, argument("The messages to schedule are a list called 'messages'.")
	}
	return all(entries, func(entry value.Value) (broker.Outgoing, error) {
		encoded, _ := entry.Bytes()
		fields, err := wire.ParseMap(encoded)
		if err != nil {
			return broker.Outgoing{}, argument("It is not a map.")
		}
		v, _ := fields.Lookup("message")
		message, ok := v.Bytes()
		if !ok || v.Kind() != value.Binary {
			return broker.Outgoing{}, argument("There is no binary called 'message'.")
		}
		return Incoming(message)
	})
}

// all reads several messages, and says at which one it failed.
func all[T any](given []T, read func(T) (broker.Outgoing, error)) ([]broker.Outgoing, error) {
	if len(given) == 0 {
		return nil, argument("There is no message in the batch.")
	}
	out := make([]broker.Outgoing, 0, len(given))
	for i, one := range given {
		m, err := read(one)
		if err != nil {
			return nil, at(i, err)
		}
		out = append(out, m)
	}
	return out, nil
}

// at is err with the position of the message it is about, and of the same kind.
func at(i int, err error) error {
	where := fmt.Sprintf("The message at position %d of the batch: ", i)
	if r, ok := errors.AsType[*engine.Refusal](err); ok {
		return &engine.Refusal{Kind: r.Kind, SubCode: r.SubCode, Text: where + r.Text}
	}
	if p, ok := errors.AsType[*wire.ProtocolError](err); ok {
		return &wire.ProtocolError{Condition: p.Condition, Text: where + p.Text, Offset: p.Offset}
	}
	return fmt.Errorf("%s%w", where, err)
}
