// Package codec encodes records, batches and events as bytes, exactly and compactly. Storage
// drivers keep these bytes besides any readable columns, and backups consist of them.
//
//	record = kind fields                 kind is one byte
//	batch, event = fields
//	field  = head number | head length bytes
//	head   = tag << 1, plus 1 if there is a length
//
// Heads, lengths and numbers are unsigned varints; signed numbers are zigzag. Tags increase from
// 1. Each element of a list is a field of its own, with the same tag. Zero values are not written.
// A reader skips unknown tags, so fields can be added without a new format; a tag is never
// reused. An empty list is read as nil.
package codec

import (
	"errors"
	"fmt"

	"mayfly/engine"
)

// ErrCorrupt is wrapped by all errors of this package. The bytes are damaged, or were written by a
// newer version.
var ErrCorrupt = errors.New("the record cannot be read")

// The numbers of the kinds are stored: a new kind gets the next one.
const (
	kindClock = iota + 1
	kindEntity
	kindRule
	kindMeter
	kindContent
	kindMessage
	kindSession
	kindSeen
	kindAccess
	kindSetting
)

// Append appends the encoded record to dst.
func Append(dst []byte, r engine.Record) []byte {
	c := writer(dst)
	switch r := r.(type) {
	case engine.Clock:
		c.kind(kindClock)
		clock(&c, &r)
	case engine.Entity:
		c.kind(kindEntity)
		entity(&c, &r)
	case engine.Rule:
		c.kind(kindRule)
		rule(&c, &r)
	case engine.Meter:
		c.kind(kindMeter)
		meter(&c, &r)
	case engine.SessionRecord:
		c.kind(kindSession)
		session(&c, &r)
	case engine.SeenIDs:
		c.kind(kindSeen)
		seen(&c, &r)
	case engine.Access:
		c.kind(kindAccess)
		access(&c, &r)
	case engine.Setting:
		c.kind(kindSetting)
		setting(&c, &r)
	case engine.StoredContent:
		c.kind(kindContent)
		content(&c, &r)
	case engine.Message:
		c.kind(kindMessage)
		message(&c, &r)
	default:
		panic(fmt.Sprintf("unknown record %T", r))
	}
	return c.buf
}

// Parse returns the record that Append wrote. It shares no memory with b.
func Parse(b []byte) (engine.Record, error) {
	if len(b) == 0 {
		return nil, fmt.Errorf("%w: there are no bytes", ErrCorrupt)
	}
	switch c := reader(b, 1); b[0] {
	case kindClock:
		return parsed(&c, clock)
	case kindEntity:
		return parsed(&c, entity)
	case kindRule:
		return parsed(&c, rule)
	case kindMeter:
		return parsed(&c, meter)
	case kindContent:
		return parsed(&c, content)
	case kindSession:
		return parsed(&c, session)
	case kindSeen:
		return parsed(&c, seen)
	case kindAccess:
		return parsed(&c, access)
	case kindSetting:
		return parsed(&c, setting)
	case kindMessage:
		return parseMessage(b)
	default:
		return nil, fmt.Errorf("%w: the kind %d is unknown", ErrCorrupt, b[0])
	}
}

func parsed[T engine.Record](c *coder, fields func(*coder, *T)) (engine.Record, error) {
	var v T
	fields(c, &v)
	if err := c.end(); err != nil {
		return nil, err
	}
	return v, nil
}

// parseMessage is parsed for messages, the most frequent records. Since it calls no function
// value, it allocates only the result.
func parseMessage(b []byte) (engine.Record, error) {
	c := reader(b, 1)
	var v engine.Message
	message(&c, &v)
	if err := c.end(); err != nil {
		return nil, err
	}
	return v, nil
}

// AppendBatch appends the encoded batch to dst, without Written, which is in the contents.
func AppendBatch(dst []byte, b *engine.Batch) []byte {
	c := writer(dst)
	batch(&c, b)
	return c.buf
}

// ParseBatch returns the batch that AppendBatch wrote. It shares no memory with b.
func ParseBatch(b []byte) (*engine.Batch, error) {
	c, v := reader(b, 0), new(engine.Batch)
	batch(&c, v)
	if err := c.end(); err != nil {
		return nil, err
	}
	return v, nil
}

// AppendEvent appends the encoded event to dst.
func AppendEvent(dst []byte, e *engine.Event) []byte {
	c := writer(dst)
	event(&c, e)
	return c.buf
}

// ParseEvent returns the event that AppendEvent wrote. It shares no memory with b.
func ParseEvent(b []byte) (engine.Event, error) {
	var v engine.Event
	c := reader(b, 0)
	event(&c, &v)
	if err := c.end(); err != nil {
		return engine.Event{}, err
	}
	return v, nil
}
