package codec

import (
	"errors"
	"fmt"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/value"
	"mayfly/web/amqp/wire"
)

// maxBatchMessages is the maximum number of messages in a batch, whatever its size. An empty
// message takes five bytes in the batch and some hundreds in memory. SDKs count at least 32 bytes
// for each message, so their largest batches have fewer messages.
const maxBatchMessages = 32 << 10

// DecodeBatch decodes the messages in an envelope of [wire.FormatBatch], in order. If one of
// them is invalid, all are refused (MSG-6). Other sections of the envelope repeat those
// of the first message and are ignored.
func DecodeBatch(encoded []byte) ([]broker.Outgoing, error) {
	var envelope wire.Message
	if err := envelope.Decode(encoded); err != nil {
		return nil, err
	}
	if n := envelope.Body.Sections; n > maxBatchMessages {
		return nil, tooManyMessages(n)
	}
	inside, err := envelope.Batch()
	if err != nil {
		return nil, err
	}
	return decodeEach(inside, func(one []byte) (broker.Outgoing, error) { return DecodeMessage(one) })
}

// DecodeScheduled decodes the messages in the body of a request com.microsoft:schedule-message,
// an encoded map, in order (SCH-1, SCH-8). Each message has its own enqueue time. The
// other fields of an entry repeat what the message contains.
func DecodeScheduled(body []byte) ([]broker.Outgoing, error) {
	request, err := wire.ParseMap(body)
	if err != nil {
		return nil, err
	}
	listed, _ := request.Lookup("messages")
	list, _ := listed.Bytes()
	entries, err := wire.ParseList(list)
	if err != nil || listed.Kind() != value.Raw {
		return nil, engine.Refuse(engine.ErrArgument, "The messages to schedule must be a list called 'messages'.")
	}
	if len(entries) > maxBatchMessages {
		return nil, tooManyMessages(len(entries))
	}
	return decodeEach(entries, func(entry value.Value) (broker.Outgoing, error) {
		encoded, _ := entry.Bytes()
		fields, err := wire.ParseMap(encoded)
		if err != nil {
			return broker.Outgoing{}, engine.Refuse(engine.ErrArgument, "It is not a map.")
		}
		v, _ := fields.Lookup("message")
		message, ok := v.Bytes()
		if !ok || v.Kind() != value.Binary {
			return broker.Outgoing{}, engine.Refuse(engine.ErrArgument, "It has no binary called 'message'.")
		}
		return DecodeMessage(message)
	})
}

func tooManyMessages(n int) error {
	return engine.Refuse(engine.ErrTooLarge, "The batch has %d messages; at most %d are allowed.", n, maxBatchMessages)
}

// decodeEach decodes several messages. Its error names the position of the invalid one.
func decodeEach[T any](given []T, read func(T) (broker.Outgoing, error)) ([]broker.Outgoing, error) {
	if len(given) == 0 {
		return nil, engine.Refuse(engine.ErrArgument, "The batch contains no messages.")
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

// at adds the position of a message to its error and keeps the error's kind.
func at(i int, err error) error {
	where := fmt.Sprintf("The message at position %d of the batch: ", i)
	if r, ok := errors.AsType[*engine.Refusal](err); ok {
		return engine.RefuseCode(r.Kind, r.SubCode, "%s", where+r.Text)
	}
	if p, ok := errors.AsType[*wire.ProtocolError](err); ok {
		return &wire.ProtocolError{Condition: p.Condition, Text: where + p.Text, Offset: p.Offset}
	}
	return fmt.Errorf("%s%w", where, err)
}
