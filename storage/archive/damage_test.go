package archive

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"runtime"
	"strings"
	"testing"

	"mayfly/engine"
	"mayfly/engine/codec"
	"mayfly/storage/memory"
)

// A piece is one frame of a test's file.
type piece struct {
	kind byte
	text string
}

func rec(r engine.Record) piece { return piece{frameRecord, string(codec.Append(nil, r))} }

func eventPiece(e engine.Event) piece {
	return piece{frameEvent, string(codec.AppendEvent(binary.AppendUvarint(nil, 3), &e))}
}

// sealed returns a file of these frames with correct checksums.
func sealed(t testing.TB, pieces ...piece) []byte {
	t.Helper()
	var file bytes.Buffer
	f, err := newFrameWriter(&file)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pieces {
		if err := f.put(p.kind, func(b []byte) []byte { return append(b, p.text...) }); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.end(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func content(k engine.Key, n int64) piece {
	return rec(engine.StoredContent{Key: k, Content: engine.Content{BodySize: n}.Pack()})
}

func chunk(n int) piece { return piece{frameBody, strings.Repeat("b", n)} }

var (
	head  = piece{frameHeader, `{"namespace":"shop","source":"sqlite","epoch":3,"to come":[1]}`}
	queue = rec(engine.Entity{ID: 1, DeadLetterID: 2, TransferID: 3, Kind: engine.Queue, Path: "q"})
	good  = []piece{
		head, rec(engine.Clock{Now: 5}), queue, rec(engine.Meter{Subqueue: 1, NextSeq: 2}),
		content(7, 300_000), chunk(bodyFrameBytes), chunk(300_000 - bodyFrameBytes), content(8, 0),
		rec(engine.Message{Key: 7, Content: 7, Subqueue: 1, Seq: 1}), eventPiece(engine.Event{N: 1, Kind: engine.EventSent, At: 4}),
		{frameTrailer, `{"queues":1,"meters":1,"contents":2,"bodies":1,"bodyBytes":300000,"messages":1,"events":1,"to come":1}`},
	}
)

// with returns good with the pieces from `from` to `to` replaced.
func with(from, to int, pieces ...piece) []piece {
	return append(append(append([]piece{}, good[:from]...), pieces...), good[to:]...)
}

// all reads a file to its end.
func all(t testing.TB, file []byte) (Summary, error) {
	return Read(t.Context(), bytes.NewReader(file), Visitor{
		Header: func(Header) error { return nil }, Record: func(engine.Record) error { return nil }, Event: func(engine.HistoryEvent) error { return nil },
		Body: func(_ engine.StoredContent, r io.Reader) error {
			_, err := io.Copy(io.Discard, r)
			return err
		},
	})
}

func TestGoodFile(t *testing.T) {
	s, err := all(t, sealed(t, good...))
	want := Summary{Header: Header{Namespace: "shop", Source: "sqlite", Epoch: 3}, Clock: 5, Bytes: s.Bytes,
		Counts: Counts{Queues: 1, Meters: 1, Contents: 2, Bodies: 1, BodyBytes: 300_000, Messages: 1, Events: 1}}
	if err != nil || s != want {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestWrongFrames checks that files that Write never writes are refused although their checksums
// are correct.
func TestWrongFrames(t *testing.T) {
	trailer := good[len(good)-1]
	for name, tc := range map[string]struct {
		pieces []piece
		want   string
	}{
		"nothing":                {nil, "ends early"},
		"no header":              {good[1:], "the header is missing"},
		"two headers":            {with(1, 1, head), "frame 2 has kind 1"},
		"a bad header":           {with(0, 1, piece{frameHeader, "{"}), "the header cannot be read"},
		"no trailer":             {good[:len(good)-1], "ends early"},
		"two trailers":           {append(with(0, 0), trailer), "there is data after the last frame"},
		"a bad trailer":          {with(10, 11, piece{frameTrailer, `{"queues":"many"}`}), "the trailer cannot be read"},
		"a trailer of another":   {with(10, 11, piece{frameTrailer, "{}"}), "the trailer counts"},
		"something is missing":   {with(8, 9), "the trailer counts"},
		"an unknown frame":       {with(8, 8, piece{9, "x"}), "frame 9 has kind 9"},
		"frame zero":             {with(8, 8, piece{}), "frame 9 has kind 0"},
		"an unknown record":      {with(2, 3, piece{frameRecord, "\x0b"}), "frame 3: the record cannot be read"},
		"an empty record":        {with(2, 3, piece{frameRecord, ""}), "frame 3: the record cannot be read"},
		"a torn record":          {with(2, 3, piece{queue.kind, queue.text[:len(queue.text)-1]}), "frame 3: the record cannot be read"},
		"a session after":        {with(8, 8, rec(engine.SessionRecord{Subqueue: 1, ID: "s"})), "frame 9 has a engine.SessionRecord out of order"},
		"seen, and an entity":    {with(2, 2, rec(engine.SeenIDs{Subqueue: 1, N: 1})), "frame 4 has a engine.Entity out of order"},
		"torn digests":           {with(4, 4, piece{frameRecord, "\x08\x09\x08abcdefgh"}), "frame 5: the record cannot be read"},
		"more was seen":          {with(4, 4, rec(engine.SeenIDs{Subqueue: 1, N: 1, Digests: make([]engine.Digest, 1)})), "the trailer counts"},
		"a message before":       {with(3, 3, good[8]), "frame 5 has a engine.Meter out of order"},
		"an entity after":        {with(9, 9, queue), "frame 10 has a engine.Entity out of order"},
		"a record after events":  {with(10, 10, good[8]), "frame 11 has a engine.Message out of order"},
		"an event of no epoch":   {with(9, 10, piece{frameEvent, ""}), "frame 10 has an event without an epoch"},
		"a torn event":           {with(9, 10, piece{frameEvent, "\x03\x02"}), "frame 10: the record cannot be read"},
		"the mark":               {with(2, 3, rec(engine.Entity{ID: 1, Kind: engine.RestoreMark})), "frame 3 has a record that backups do not contain"},
		"no body":                {with(5, 7), "frame 6 comes 300000 bytes before the end of a body"},
		"half a body":            {with(6, 7), "frame 7 comes 37856 bytes before the end"},
		"too much body":          {with(7, 7, chunk(1)), "frame 8 has kind 3"},
		"the body of nothing":    {with(8, 8, chunk(5)), "frame 9 has kind 3"},
		"an empty piece of body": {with(5, 5, chunk(0)), "frame 6 has 0 bytes of a body"},
		"a long piece of body":   {with(5, 7, chunk(300_000)), "frame 6 has 300000 bytes of a body"},
		"a short piece of body":  {with(5, 7, chunk(150_000), chunk(150_000)), "frame 6 has 150000 bytes of a body"},
		"a body beyond any":      {with(4, 5, content(7, 1<<62)), "frame 7 has 37856 bytes of a body"},
	} {
		if _, err := all(t, sealed(t, tc.pieces...)); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v; want %q", name, err, tc.want)
		}
	}
}

func TestNoBackup(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "not a Mayfly backup",
		"SQLite format 3\x00":               "not a Mayfly backup",
		"Mayfly backup":                     "not a Mayfly backup",
		"Mayfly backup 1":                   "not a Mayfly backup",
		"Mayfly backup 0\n":                 "not a Mayfly backup",
		"Mayfly backup -1\n":                "not a Mayfly backup",
		"Mayfly backup one\n":               "not a Mayfly backup",
		"mayfly backup 1\n":                 "not a Mayfly backup",
		"Mayfly backup 99999999999999999\n": "not a Mayfly backup",
		"Mayfly backup 2\n":                 "the backup was written by a newer Mayfly: it has format 2, and this version supports formats up to 1",
		"Mayfly backup 1\n":                 "ends early, after 16 bytes",
		"Mayfly backup 1\nand no gzip ...":  "cannot be decompressed",
	} {
		if _, err := all(t, []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", text, err, want)
		}
	}
	sick := errors.New("a bad sector")
	file := sealed(t, good...)
	for _, n := range []int{5, 20, len(file) - 40, len(file) - 10, len(file)} {
		_, err := Read(t.Context(), io.MultiReader(bytes.NewReader(file[:n]), fails{sick}), Visitor{})
		if !errors.Is(err, sick) || errors.Is(err, ErrDamaged) {
			t.Errorf("a bad sector after %d bytes: %v", n, err)
		}
	}
}

type fails struct{ err error }

func (f fails) Read([]byte) (int, error) { return 0, f.err }

// TestEveryBit changes each bit of a file, truncates it at every byte, and appends to it: no
// result is accepted as a backup.
func TestEveryBit(t *testing.T) {
	file := sealed(t, head, queue, content(7, 40), chunk(40), piece{frameTrailer, `{"queues":1,"contents":1,"bodies":1,"bodyBytes":40}`})
	if _, err := all(t, file); err != nil {
		t.Fatal(err)
	}
	for i := range file {
		for bit := range 8 {
			file[i] ^= 1 << bit
			if _, err := all(t, file); err == nil {
				t.Errorf("a file with a changed bit %d in byte %d of %d is accepted", bit, i, len(file))
			}
			file[i] ^= 1 << bit
		}
		if _, err := all(t, file[:i]); err == nil {
			t.Errorf("the first %d bytes of %d are accepted", i, len(file))
		} else if i >= 16 && !strings.Contains(err.Error(), "ends early") {
			t.Errorf("after %d bytes: %v", i, err)
		}
	}
	for _, more := range []string{"\x00", "\n", string(file)} {
		if _, err := all(t, append(bytes.Clone(file), more...)); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "there is data after the end") {
			t.Errorf("%d bytes more: %v", len(more), err)
		}
	}
}

// packed returns a file of arbitrary frames with a correct checksum of the whole.
func packed(t *testing.T, frames []byte) []byte {
	t.Helper()
	file := bytes.NewBufferString("Mayfly backup 1\n")
	z := gzip.NewWriter(file)
	if _, err := z.Write(frames); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(file.Bytes())
	return append(file.Bytes(), sum[:]...)
}

// TestEachFrameIsChecked changes a frame so that only its own checksum is wrong: the error names
// the frame.
func TestEachFrameIsChecked(t *testing.T) {
	frames := func(change func([]byte)) []byte {
		text := good[0].text
		b := append(binary.BigEndian.AppendUint32([]byte{frameHeader}, uint32(len(text))), text...)
		b = binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
		change(b)
		trailer := []byte{frameTrailer, 0, 0, 0, 2, '{', '}'}
		return packed(t, append(b, binary.BigEndian.AppendUint32(trailer, crc32.Checksum(trailer, castagnoli))...))
	}
	if _, err := all(t, frames(func([]byte) {})); err != nil {
		t.Fatal(err)
	}
	n := 5 + len(good[0].text)
	for _, at := range []int{0, 5 + 15, n - 3, n, n + 3} {
		if _, err := all(t, frames(func(b []byte) { b[at] ^= 1 })); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "the checksum of frame 1 does not match") {
			t.Errorf("byte %d: %v", at, err)
		}
	}
}

// TestLengthsAreNotBelieved reads a frame that claims to have 60 MB: no memory is allocated for
// it ahead.
func TestLengthsAreNotBelieved(t *testing.T) {
	frame := func(n uint32) []byte {
		return packed(t, append([]byte{frameHeader}, binary.BigEndian.AppendUint32(nil, n)...))
	}
	file := frame(60 << 20)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := all(t, file); !errors.Is(err, ErrDamaged) {
		t.Error(err)
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20 {
		t.Errorf("reading took %d bytes of memory", took)
	}
	if _, err := all(t, frame(65<<20)); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "an invalid length") {
		t.Errorf("%v", err)
	}
}

// FuzzRead checks that any file is either refused or read to its last byte.
func FuzzRead(f *testing.F) {
	f.Add(sealed(f, good...))
	f.Add(sealed(f))
	f.Add([]byte("Mayfly backup 1\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		if s, err := all(t, file); err == nil && s.Bytes != int64(len(file)) {
			t.Errorf("%+v of %d bytes", s, len(file))
		}
	})
}

// FuzzFrames reads arbitrary frames with correct checksums, given as the kind, the length in
// two bytes and the text of each. A file that is accepted as a backup can be restored, or the
// restore is refused.
func FuzzFrames(f *testing.F) {
	small := append(with(4, 7, content(7, 3), chunk(3))[:9], piece{frameTrailer, `{"queues":1,"meters":1,"contents":2,"bodies":1,"bodyBytes":3,"messages":1,"events":1}`})
	if _, err := all(f, sealed(f, small...)); err != nil {
		f.Fatal(err)
	}
	var text []byte
	for _, p := range small {
		text = append(binary.BigEndian.AppendUint16(append(text, p.kind), uint16(len(p.text))), p.text...)
	}
	f.Add(text)
	f.Fuzz(func(t *testing.T, text []byte) {
		var pieces []piece
		for len(text) > 3 {
			n := min(int(binary.BigEndian.Uint16(text[1:])), len(text)-3)
			pieces = append(pieces, piece{text[0], string(text[3 : 3+n])})
			text = text[3+n:]
		}
		c, err := Check(t.Context(), bytes.NewReader(sealed(t, pieces...)), nil)
		if err != nil {
			return
		}
		if _, err := c.Restore(t.Context(), new(memory.Store)); errors.Is(err, ErrDamaged) {
			t.Error(err)
		}
	})
}
