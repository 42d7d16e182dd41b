// Package record is how records, batches and events are written as bytes:
// exactly, whatever is in them, and compactly. Drivers keep these bytes beside
// what they write for people, and backups are made of them.
package record

import (
	"errors"

	"mayfly/engine"
)

// ErrCorrupt is wrapped by errors about bytes that this package did not write,
// or that a newer version wrote.
var ErrCorrupt = errors.New("not the bytes of a record")

// Append adds the bytes of a record to dst.
func Append(dst []byte, r engine.Record) []byte { panic("to come") }

// Parse is the record that Append wrote. It shares no memory with b.
func Parse(b []byte) (engine.Record, error) { panic("to come") }

// AppendBatch adds the bytes of a batch to dst. Written is left out, it is in the contents.
func AppendBatch(dst []byte, b *engine.Batch) []byte { panic("to come") }

// ParseBatch is the batch that AppendBatch wrote. It shares no memory with b.
func ParseBatch(b []byte) (*engine.Batch, error) { panic("to come") }

// AppendEvent adds the bytes of an event to dst.
func AppendEvent(dst []byte, e *engine.Event) []byte { panic("to come") }

// ParseEvent is the event that AppendEvent wrote. It shares no memory with b.
func ParseEvent(b []byte) (engine.Event, error) { panic("to come") }
