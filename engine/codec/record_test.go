package codec

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mayfly/engine"
	"mayfly/engine/enginetest"
	"mayfly/engine/value"
)

// differ compares a record that was written with the one that was read.
func differ(t *testing.T, what string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		t.Fatalf("%s (-want +got):\n%s", what, d)
	}
}

func drawer(t *testing.T) enginetest.Generator {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return enginetest.NewGenerator(seed)
}

// drawSeen draws SeenIDs, which reflection cannot fill because digests are arrays.
func drawSeen(d enginetest.Generator) engine.SeenIDs {
	var s engine.SeenIDs
	for _, field := range []any{&s.Subqueue, &s.N, &s.At} {
		d.Fill(field)
	}
	for range d.IntN(4) {
		s.Digests = append(s.Digests, engine.Digest(d.Bytes(len(engine.Digest{}))))
	}
	return s
}

// drawBatch fills every field of a batch that is encoded.
func drawBatch(d enginetest.Generator) (b engine.Batch) {
	for f, v := range reflect.ValueOf(&b).Elem().Fields() {
		switch f.Name {
		case "Written":
		case "Seen":
			for range d.IntN(4) {
				b.Seen = append(b.Seen, drawSeen(d))
			}
		default:
			d.Fill(v.Addr().Interface())
		}
	}
	return b
}

// TestRecords fills every field of every record by reflection: a forgotten field would be zero
// after reading.
func TestRecords(t *testing.T) {
	d := drawer(t)
	for range 300 {
		for _, v := range []engine.Record{
			new(engine.Clock), new(engine.Entity), new(engine.Rule), new(engine.Meter), new(engine.SessionRecord), new(engine.SeenIDs),
			new(engine.Access), new(engine.Setting), new(engine.StoredContent), new(engine.Message),
		} {
			if seen, ok := v.(*engine.SeenIDs); ok {
				*seen = drawSeen(d)
			} else {
				d.Fill(v)
			}
			want, ok := reflect.TypeAssert[engine.Record](reflect.ValueOf(v).Elem())
			if !ok {
				t.Fatalf("%T is no record", v)
			}
			b := Append([]byte("before"), want)
			got, err := Parse(bytes.TrimPrefix(b, []byte("before")))
			if err != nil {
				t.Fatalf("%+v: %v", want, err)
			}
			differ(t, "record", want, got)
		}
	}
}

func TestBatches(t *testing.T) {
	d := drawer(t)
	for range 200 {
		want := drawBatch(d)
		got, err := ParseBatch(AppendBatch(nil, &want))
		if err != nil {
			t.Fatal(err)
		}
		differ(t, "batch", &want, got)
	}
}

func TestEvents(t *testing.T) {
	d := drawer(t)
	for range 300 {
		var want engine.Event
		d.Fill(&want)
		got, err := ParseEvent(AppendEvent([]byte{}, &want))
		if err != nil {
			t.Fatal(err)
		}
		differ(t, "event", want, got)
	}
}

// TestZeroes checks encodings byte by byte: a zero field takes no bytes, and the encoding of an
// empty Extra differs from that of a missing one.
func TestZeroes(t *testing.T) {
	for name, tc := range map[string]struct {
		got  []byte
		want string
	}{
		"clock":          {Append(nil, engine.Clock{}), "\x01"},
		"message":        {Append(nil, engine.Message{}), "\x06"},
		"one number":     {Append(nil, engine.Meter{NextSeq: -1}), "\x04\x04\x01"},
		"an empty extra": {Append(nil, engine.Message{Extra: &engine.Extra{}}), "\x06\x1b\x00"},
		"a fresh message": {Append(nil, engine.Message{Key: 5, Content: 5, Subqueue: 3, Seq: 1, EnqueuedSeq: 1}),
			"\x06\x02\x05\x06\x03\x08\x02"},
		"session": {Append(nil, engine.SessionRecord{}), "\x07"},
		"a session": {Append(nil, engine.SessionRecord{Subqueue: 1, ID: "Ab", State: "\x00\xff", ChangedAt: 2}),
			"\x07\x02\x01\x05\x02Ab\x07\x02\x00\xff\x08\x04"},
		"a session's empty state": {Append(nil, engine.SessionRecord{Subqueue: 1, ID: "a"}), "\x07\x02\x01\x05\x01a"},
		"seen":                    {Append(nil, engine.SeenIDs{}), "\x08"},
		"two seen": {Append(nil, engine.SeenIDs{Subqueue: 1, N: 3, At: 2, Digests: []engine.Digest{{0: 'a', 15: 'b'}, {}}}),
			"\x08\x02\x01\x04\x03\x06\x04\x09\x20a" + strings.Repeat("\x00", 14) + "b" + strings.Repeat("\x00", 16)},
		"a third place":   {Append(nil, engine.Entity{TransferID: 5}), "\x02\x12\x05"},
		"a parameter":     {Append(nil, engine.Rule{Filter: engine.Filter{Parameters: value.Properties{{Name: "@a", Value: value.OfBool(true)}}}}), "\x03\x0f\x06\x01\x02@a\x01\x01"},
		"a meter's last":  {Append(nil, engine.Meter{Duplicates: 1 << 63}), "\x04\x0a\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"},
		"a forwarded one": {Append(nil, engine.Message{Hops: 4}), "\x06\x1c\x04"},
		"a rewritten one": {Append(nil, engine.Message{Extra: &engine.Extra{Rewritten: "r", NeverForwarded: true}}), "\x06\x1b\x05\x13\x01r\x14\x01"},
		"batch":           {AppendBatch(nil, &engine.Batch{}), ""},
		"sessions and seen in a batch": {AppendBatch(nil, &engine.Batch{Sessions: []engine.SessionRecord{{ID: "a"}}, Seen: []engine.SeenIDs{{N: 1}},
			DropSessions: []engine.SessionID{{Subqueue: 1, ID: "b"}}, DropSeen: []engine.SeenIDsThrough{{Subqueue: 1, N: 2}}}),
			"\x1d\x03\x05\x01a" + "\x1f\x02\x04\x01" + "\x21\x05\x02\x01\x05\x01b" + "\x23\x04\x02\x01\x04\x02"},
		"settings in a batch": {AppendBatch(nil, &engine.Batch{Settings: []engine.Setting{{}, {Key: "a", Value: "\xff", ChangedAt: 1}}, DropSettings: []string{"b", ""}}),
			"\x27\x00" + "\x27\x08\x03\x01a\x05\x01\xff\x06\x02" + "\x29\x01b" + "\x29\x00"},
		"setting":           {Append(nil, engine.Setting{}), "\x0a"},
		"a session's event": {AppendEvent(nil, &engine.Event{Session: "s"}), "\x21\x01s"},
		"a zero in a batch": {AppendBatch(nil, &engine.Batch{DropMessages: []engine.Key{0, 1}}), "\x16\x00\x16\x01"},
		"event":             {AppendEvent(nil, &engine.Event{}), ""},
		"an empty entity":   {AppendEvent(nil, &engine.Event{Entity: &engine.Entity{}}), "\x1b\x00"},
	} {
		if string(tc.got) != tc.want {
			t.Errorf("%s: %q; want %q", name, tc.got, tc.want)
		}
	}
	m, err := Parse([]byte("\x06\x1b\x00"))
	if m, ok := m.(engine.Message); err != nil || !ok || m.Extra == nil {
		t.Errorf("an empty extra: %+v, %v", m, err)
	}
}

// TestFieldsToCome checks that unknown fields, which a later version may write, are skipped, and
// are corrupt if they are cut off.
func TestFieldsToCome(t *testing.T) {
	want := engine.Message{Key: 1 << 60, Content: 7, Subqueue: 3, Extra: &engine.Extra{By: "somebody"}}
	b := Append(nil, want)
	b = append(b, 90<<1&0x7f|0x80, 1, 200, 1)           // a field with a number
	b = append(b, 91<<1&0x7f|0x81, 1, 3, 'n', 'e', 'w') // a field with bytes
	got, err := Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	differ(t, "message", engine.Record(want), got)
	if _, err := Parse(b[:len(b)-1]); !errors.Is(err, ErrCorrupt) {
		t.Errorf("an unknown field that is cut off: %v", err)
	}
}

func TestCorrupt(t *testing.T) {
	for name, b := range map[string]string{
		"nothing":                        "",
		"no such kind":                   "\x0b",
		"half a digest":                  "\x08\x09\x08abcdefgh",
		"a digest and a half":            "\x08\x09\x18" + strings.Repeat("a", 24),
		"digests that are not there":     "\x08\x09\x20" + strings.Repeat("a", 16),
		"digests beyond everything":      "\x08\x09\xf0\xff\xff\xff\xff\xff\xff\xff\x7f",
		"digests that are a number":      "\x08\x08\x10",
		"a state that is a number":       "\x07\x06\x01",
		"a session id that is cut off":   "\x07\x05\x03ab",
		"hops beyond eight bits":         "\x06\x1c\x80\x02",
		"parameters that are none":       "\x03\x0f\x02\x01a",
		"no number":                      "\x01\x02",
		"a number that does not end":     "\x01\x02\xff",
		"a number of more than 64 bits":  "\x01\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02",
		"bytes that are not there":       "\x05\x05\x04abc",
		"a length beyond everything":     "\x05\x05\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
		"a field within that is cut off": "\x06\x1b\x02\x05\x01",
		"a field that reaches out":       "\x06\x1b\x02\x05\x02ab",
		"a state beyond eight bits":      "\x06\x18\x80\x02",
		"a number where text should be":  "\x03\x04\x01",
		"text where a number should be":  "\x04\x03\x01a",
		"field 0":                        "\x04\x00\x01",
		"fields that do not rise":        "\x04\x04\x02\x02\x01",
		"no properties":                  "\x06\x1b\x04\x11\x02\x01a",
		"more than properties":           "\x06\x1b\x04\x11\x02\x00a",
	} {
		if r, err := Parse([]byte(b)); !errors.Is(err, ErrCorrupt) || r != nil {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	for name, b := range map[string]string{
		"a list of nothing":          "\x1d",
		"seen that is half a digest": "\x1f\x0a\x09\x08abcdefgh",
		"a through without an end":   "\x23\x02\x02",
		"an element that is no end":  "\x1d\x03\x02\x01",
		"a key that is cut off":      "\x29\x02b",
		"an element after a length":  "\x0d\x7f",
	} {
		if v, err := ParseBatch([]byte(b)); !errors.Is(err, ErrCorrupt) || v != nil {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
	}
}

// TestOwnMemory changes the bytes after a record was read from them: the record must not
// change.
func TestOwnMemory(t *testing.T) {
	d := drawer(t)
	var want engine.Batch
	for len(want.Messages)*len(want.Bodies)*len(want.Audit)*len(want.Seen)*len(want.Sessions) == 0 {
		want = drawBatch(d)
	}
	b := AppendBatch(nil, &want)
	got, err := ParseBatch(b)
	if err != nil {
		t.Fatal(err)
	}
	clear(b)
	differ(t, "batch", &want, got)
}

// FuzzParse parses any bytes. A parsed record must be the same after it is encoded and parsed
// again.
func FuzzParse(f *testing.F) {
	d := enginetest.NewGenerator(1)
	for range 20 {
		var (
			m engine.Message
			e engine.Entity
			s engine.SessionRecord
			v engine.Event
		)
		for _, at := range []any{&m, &e, &s, &v} {
			d.Fill(at)
		}
		b := drawBatch(d)
		f.Add(Append(nil, m))
		f.Add(Append(nil, e))
		f.Add(Append(nil, s))
		f.Add(Append(nil, drawSeen(d)))
		f.Add(AppendBatch(nil, &b))
		f.Add(AppendEvent(nil, &v))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if want, err := Parse(b); err == nil {
			got, err := Parse(Append(nil, want))
			if err != nil {
				t.Fatal(err)
			}
			differ(t, "record", want, got)
		}
		if want, err := ParseBatch(b); err == nil {
			got, err := ParseBatch(AppendBatch(nil, want))
			if err != nil {
				t.Fatal(err)
			}
			differ(t, "batch", want, got)
		}
		if want, err := ParseEvent(b); err == nil {
			got, err := ParseEvent(AppendEvent(nil, &want))
			if err != nil {
				t.Fatal(err)
			}
			differ(t, "event", want, got)
		}
	})
}

func ordinary(n engine.Key) engine.Message {
	return engine.Message{Key: 3<<40 | n, Content: 3<<40 | n, Subqueue: 2<<40 | 17, Seq: engine.Seq(n), EnqueuedSeq: engine.Seq(n),
		EnqueuedAt: 1784000000006, ExpiresAt: 1784003600006}
}

func BenchmarkMessage(b *testing.B) {
	m := ordinary(123_456)
	buf := Append(nil, m)
	b.Run("append", func(b *testing.B) {
		b.ReportAllocs()
		b.ReportMetric(float64(len(buf)), "bytes/message")
		r := engine.Record(m)
		for b.Loop() {
			buf = Append(buf[:0], r)
		}
	})
	b.Run("parse", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Parse(buf); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkBatch(b *testing.B) {
	v := &engine.Batch{Hard: true, Now: 1784000000006}
	for n := range engine.Key(100) {
		v.Messages = append(v.Messages, ordinary(n))
		v.Contents = append(v.Contents, engine.StoredContent{Key: 3<<40 | n, Content: engine.Content{MessageID: "order-17", BodySize: 200}.Pack()})
		v.Bodies = append(v.Bodies, engine.Body{Key: 3<<40 | n, Bytes: make([]byte, 200)})
	}
	buf := AppendBatch(nil, v)
	b.Run("append", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			buf = AppendBatch(buf[:0], v)
		}
	})
	b.Run("parse", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := ParseBatch(buf); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// TestOldOrdering reads records from when SupportOrdering was false by default for topics too: an
// omitted value is read as the present default, and true remains true.
func TestOldOrdering(t *testing.T) {
	for kind, def := range map[engine.EntityKind]string{engine.Queue: "false", engine.Topic: "true"} {
		p, ok := engine.LookupProperty(kind, "SupportOrdering")
		if !ok {
			t.Fatalf("a %s has no SupportOrdering", kind)
		}
		b := Append(nil, engine.Entity{ID: 7, Kind: kind, Path: "a"})
		stated := append(slices.Clone(b), 5<<1|1, 2, 13<<1, 1) // Config: field 13 is 1
		for _, o := range []struct {
			b    []byte
			want string
		}{{b, def}, {stated, "true"}} {
			got, err := Parse(o.b)
			if err != nil {
				t.Fatal(err)
			}
			if is := p.Text(got.(engine.Entity).Config); is != o.want {
				t.Errorf("SupportOrdering of a %s in %x is %s, want %s", kind, o.b, is, o.want)
			}
		}
	}
}
