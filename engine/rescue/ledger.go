package rescue

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"mayfly/engine"
)

const (
	marksMost  = 200_000
	chunkMarks = 512
)

// An entry is a Mark as it is kept: with its message, and until when it is needed.
type entry struct {
	key   engine.Key
	mark  Mark
	until engine.Instant
}

// A chunk is entries that are kept in one setting. All but the last of a rule are
// full and do not change any more.
type chunk struct {
	no      uint64
	entries []entry
}

// until is when none of the messages runs out later.
func (c *chunk) until() (at engine.Instant) {
	for _, e := range c.entries {
		at = max(at, e.until)
	}
	return at
}

// A ledger is what a rule remembers of messages.
type ledger struct {
	rule   ID
	marks  map[engine.Key]Mark
	chunks []chunk // by number
}

func newLedger(rule ID) *ledger { return &ledger{rule: rule, marks: map[engine.Key]Mark{}} }

const (
	rulePrefix  = "rescue/rule/"
	statePrefix = "rescue/state/"
	seenPrefix  = "rescue/seen/"
)

func ruleKey(id ID) string             { return fmt.Sprintf("%s%06d", rulePrefix, id) }
func stateKey(id ID) string            { return fmt.Sprintf("%s%06d", statePrefix, id) }
func seenOf(id ID) string              { return fmt.Sprintf("%s%06d/", seenPrefix, id) }
func (l *ledger) key(no uint64) string { return fmt.Sprintf("%s%010d", seenOf(l.rule), no) }

// with returns l with more entries, and the settings that have to be kept for that;
// l is not changed.
func (l *ledger) with(more []entry) (next *ledger, keep []engine.Setting) {
	next = &ledger{rule: l.rule, marks: l.marks, chunks: slices.Clone(l.chunks)}
	for len(more) > 0 {
		last := len(next.chunks) - 1
		if last < 0 || len(next.chunks[last].entries) >= chunkMarks {
			no := uint64(1)
			if last >= 0 {
				no = next.chunks[last].no + 1
			}
			next.chunks = append(next.chunks, chunk{no: no})
			last++
		}
		c := &next.chunks[last]
		n := min(chunkMarks-len(c.entries), len(more))
		c.entries = append(slices.Clip(c.entries), more[:n]...)
		keep = append(keep, engine.Setting{Key: l.key(c.no), Value: encodeChunk(c.entries)})
		more = more[n:]
	}
	return next, keep
}

// remember is for what with was given, once that is kept.
func (l *ledger) remember(more []entry) {
	for _, e := range more {
		l.marks[e.key] = e.mark
	}
}

// stale are the first chunks of messages whose time is over by now.
func (l *ledger) stale(now engine.Instant) (n int) {
	for n < len(l.chunks) && l.chunks[n].until().Passed(now) {
		n++
	}
	return n
}

// without returns l without its first n chunks, with what has to go on being
// remembered of them, and what is kept and dropped for that; l is not changed.
func (l *ledger) without(n int, stay []entry) (next *ledger, keep []engine.Setting, drop []string) {
	for _, c := range l.chunks[:n] {
		drop = append(drop, l.key(c.no))
	}
	rest := &ledger{rule: l.rule, marks: l.marks, chunks: l.chunks[n:]}
	if len(rest.chunks) == 0 && len(stay) > 0 { // its number is not that of one that goes
		rest.chunks = []chunk{{no: l.chunks[n-1].no + 1}}
	}
	next, keep = rest.with(stay)
	return next, keep, drop
}

// forget is for the first n chunks of l once they are dropped, but for what stays.
func (l *ledger) forget(n int, stay []entry) {
	for _, c := range l.chunks[:n] {
		for _, e := range c.entries {
			if l.marks[e.key] == e.mark {
				delete(l.marks, e.key)
			}
		}
	}
	l.remember(stay)
}

func encodeChunk(all []entry) string {
	var b []byte
	for _, e := range all {
		b = binary.AppendUvarint(b, uint64(e.key))
		b = binary.AppendVarint(b, int64(e.mark.Expires))
		b = binary.AppendUvarint(b, uint64(e.mark.Times)) //nolint:gosec // never below zero
		b = binary.AppendVarint(b, int64(e.until-e.mark.Expires))
	}
	return base64.RawStdEncoding.EncodeToString(b)
}

var errChunk = errors.New("what a rule remembers of messages cannot be read")

func decodeChunk(text string) (all []entry, err error) {
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
				n[i] = int64(u) //nolint:gosec // a key is any 64 bits
			} else {
				n[i], used = binary.Varint(b)
			}
			if used <= 0 {
				return nil, errChunk
			}
			b = b[used:]
		}
		if n[2] < 0 || n[2] > TimesMost {
			return nil, errChunk
		}
		at := engine.Instant(n[1])
		all = append(all, entry{engine.Key(n[0]), Mark{at, int(n[2])}, at + engine.Instant(n[3])}) //nolint:gosec // likewise
	}
	return all, nil
}
