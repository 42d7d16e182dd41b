package alert

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"mayfly/engine"
)

const (
	maxFireRecords = 200_000
	chunkSize      = 512
)

// A recordEntry is a FireRecord as it is stored: with the key of its message, and the time until
// which it is needed.
type recordEntry struct {
	key    engine.Key
	record FireRecord
	until  engine.Instant
}

// A chunk holds entries that are stored in one setting. All but the last of a rule are full
// and do not change any more.
type chunk struct {
	no      uint64
	entries []recordEntry
}

// until returns the time from which none of the chunk's entries is needed.
func (c *chunk) until() (at engine.Instant) {
	for _, e := range c.entries {
		at = max(at, e.until)
	}
	return at
}

// A fireRecords holds the FireRecords of one rule.
type fireRecords struct {
	rule   ID
	marks  map[engine.Key]FireRecord
	chunks []chunk // by number
}

func newFireRecords(rule ID) *fireRecords {
	return &fireRecords{rule: rule, marks: map[engine.Key]FireRecord{}}
}

const (
	rulePrefix  = "rescue/rule/"
	statePrefix = "rescue/state/"
	seenPrefix  = "rescue/seen/"
)

func ruleKey(id ID) string                  { return fmt.Sprintf("%s%06d", rulePrefix, id) }
func stateKey(id ID) string                 { return fmt.Sprintf("%s%06d", statePrefix, id) }
func seenKeyPrefix(id ID) string            { return fmt.Sprintf("%s%06d/", seenPrefix, id) }
func (l *fireRecords) key(no uint64) string { return fmt.Sprintf("%s%010d", seenKeyPrefix(l.rule), no) }

// with returns a copy of l with the chunks extended by the entries `more`, and the settings to
// store for them. It changes neither l nor the shared marks, which `add` changes once the settings
// are stored.
func (l *fireRecords) with(more []recordEntry) (next *fireRecords, keep []engine.Setting) {
	next = &fireRecords{rule: l.rule, marks: l.marks, chunks: slices.Clone(l.chunks)}
	for len(more) > 0 {
		last := len(next.chunks) - 1
		if last < 0 || len(next.chunks[last].entries) >= chunkSize {
			no := uint64(1)
			if last >= 0 {
				no = next.chunks[last].no + 1
			}
			next.chunks = append(next.chunks, chunk{no: no})
			last++
		}
		c := &next.chunks[last]
		n := min(chunkSize-len(c.entries), len(more))
		c.entries = append(slices.Clip(c.entries), more[:n]...)
		keep = append(keep, engine.Setting{Key: l.key(c.no), Value: encodeChunk(c.entries)})
		more = more[n:]
	}
	return next, keep
}

// add adds the entries that were passed to `with` to the marks. Call it once they are stored.
func (l *fireRecords) add(more []recordEntry) {
	for _, e := range more {
		l.marks[e.key] = e.record
	}
}

// stale returns how many chunks, from the first on, have no entry that is still needed.
func (l *fireRecords) stale(now engine.Instant) (n int) {
	for n < len(l.chunks) && l.chunks[n].until().Passed(now) {
		n++
	}
	return n
}

// without returns l without its first n chunks but with the entries that stay, and the
// settings to store and drop for that; l is not changed.
func (l *fireRecords) without(n int, stay []recordEntry) (next *fireRecords, keep []engine.Setting, drop []string) {
	for _, c := range l.chunks[:n] {
		drop = append(drop, l.key(c.no))
	}
	rest := &fireRecords{rule: l.rule, marks: l.marks, chunks: l.chunks[n:]}
	if len(rest.chunks) == 0 && len(stay) > 0 { // its number must differ from those of removed chunks
		rest.chunks = []chunk{{no: l.chunks[n-1].no + 1}}
	}
	next, keep = rest.with(stay)
	return next, keep, drop
}

// removeChunks removes the entries of the first n chunks from l.marks, except those in stay. Call it
// once the changes returned by without are stored.
func (l *fireRecords) removeChunks(n int, stay []recordEntry) {
	for _, c := range l.chunks[:n] {
		for _, e := range c.entries {
			if l.marks[e.key] == e.record {
				delete(l.marks, e.key)
			}
		}
	}
	l.add(stay)
}

func encodeChunk(all []recordEntry) string {
	var b []byte
	for _, e := range all {
		b = binary.AppendUvarint(b, uint64(e.key))
		b = binary.AppendVarint(b, int64(e.record.Expires))
		b = binary.AppendUvarint(b, uint64(e.record.Extensions))
		b = binary.AppendVarint(b, int64(e.until-e.record.Expires))
	}
	return base64.RawStdEncoding.EncodeToString(b)
}

var errChunk = errors.New("the records of an alert rule cannot be read")

func decodeChunk(text string) (all []recordEntry, err error) {
	b, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil {
		return nil, errors.Join(errChunk, err)
	}
	for len(b) > 0 {
		var n [4]int64
		for i := range n {
			var used int
			if i == 0 || i == 2 {
				var u uint64
				u, used = binary.Uvarint(b)
				n[i] = int64(u)
			} else {
				n[i], used = binary.Varint(b)
			}
			if used <= 0 {
				return nil, errChunk
			}
			b = b[used:]
		}
		if n[2] < 0 || n[2] > MaxExtensions {
			return nil, errChunk
		}
		at := engine.Instant(n[1])
		all = append(all, recordEntry{engine.Key(n[0]), FireRecord{at, int(n[2])}, at + engine.Instant(n[3])})
	}
	return all, nil
}
