package engine_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"mayfly/engine"
	"mayfly/engine/value"
)

// anyValue draws application property values of every stored form.
func anyValue() *rapid.Generator[value.Value] {
	return rapid.OneOf(
		rapid.Just(value.Value{}),
		rapid.Map(rapid.Bool(), value.OfBool),
		rapid.Map(rapid.Int64(), value.OfLong),
		rapid.Map(rapid.Int32(), value.OfInt),
		rapid.Map(rapid.Float64(), value.OfDouble),
		rapid.Map(rapid.String(), value.OfString),
		rapid.Map(rapid.SliceOf(rapid.Byte()), value.OfBinary),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 1, 20), value.OfRaw),
	)
}

func anyContent(t *rapid.T) engine.Content {
	text := rapid.StringN(0, 40, -1)
	c := engine.Content{
		MessageID: text.Draw(t, "id"), SessionID: text.Draw(t, "session"), PartitionKey: text.Draw(t, "partition"),
		ViaPartitionKey: text.Draw(t, "via"), CorrelationID: text.Draw(t, "correlation"), Subject: text.Draw(t, "subject"),
		To: text.Draw(t, "to"), ReplyTo: text.Draw(t, "reply"), ReplyToSessionID: text.Draw(t, "reply session"),
		ContentType: text.Draw(t, "type"), TTL: time.Duration(rapid.Int64().Draw(t, "ttl")),
		ScheduledFor: engine.Instant(rapid.Int64().Draw(t, "scheduled")), BodyKind: engine.BodyKind(rapid.Byte().Draw(t, "kind")),
		BodySize: rapid.Int64().Draw(t, "size"), Preview: text.Draw(t, "preview"), Wire: text.Draw(t, "wire"),
	}
	c.EmptySessionID = c.SessionID == "" && rapid.Bool().Draw(t, "empty session")
	for range rapid.IntRange(0, 5).Draw(t, "properties") {
		c.Properties = append(c.Properties, value.Property{Name: text.Draw(t, "name"), Value: anyValue().Draw(t, "value")})
	}
	return c
}

// MSG-2, MSG-3: content is read from the store as the sender wrote it.
func TestPackRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := anyContent(t)
		p := want.Pack()
		got, err := p.Content()
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got, cmp.Comparer(func(a, b value.Value) bool { return a == b })); d != "" {
			t.Fatal(d)
		}
		if p.MessageID() != want.MessageID || p.SessionID() != want.SessionID || p.HasSessionID() != want.HasSessionID() || p.Subject() != want.Subject || p.BodySize() != want.BodySize {
			t.Fatalf("the fields, read one by one, are %q, %q, %d", p.MessageID(), p.Subject(), p.BodySize())
		}
	})
	if p := (engine.Content{}).Pack(); p != "" {
		t.Errorf("nothing takes %d bytes", len(p))
	}
}

// Fields of a later version are skipped.
func TestPackedUnknownField(t *testing.T) {
	p := "\xf0\x02ab" + engine.Content{MessageID: "m"}.Pack() + "\xf1\x00"
	if c, err := p.Content(); err != nil || c.MessageID != "m" || p.MessageID() != "m" {
		t.Errorf("%+v, %v", c, err)
	}
}

func FuzzPacked(f *testing.F) {
	f.Add([]byte(engine.Content{MessageID: "m", TTL: time.Hour, BodySize: 5, Preview: "hello", Properties: value.Properties{{Name: "a", Value: value.OfInt(1)}}}.Pack()))
	for _, s := range []string{"\x01", "\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\x0b\x00", "\x0d\x01\x00"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p := engine.Packed(b)
		p.MessageID()
		p.BodySize()
		c, err := p.Content()
		if err != nil {
			return
		}
		if again, err := c.Pack().Content(); err != nil || !cmp.Equal(c, again, cmp.Comparer(func(a, b value.Value) bool { return a == b })) {
			t.Fatalf("%+v is packed and read as %+v, %v", c, again, err)
		}
	})
}

func TestPreview(t *testing.T) {
	for name, tc := range map[string]struct{ body, want string }{
		"text":                       {"hello", "hello"},
		"nothing":                    {"", ""},
		"white space is one":         {" {\n\t\"a\":  1 }", `{ "a": 1 }`},
		"not text":                   {"a\xff", ""},
		"control character":          {"a\x00b", ""},
		"cut":                        {strings.Repeat("a", 161), strings.Repeat("a", 160)},
		"cut inside of a character":  {strings.Repeat("a", 159) + "é…", strings.Repeat("a", 159)},
		"four bytes cut after three": {strings.Repeat("a", 157) + "🪰", strings.Repeat("a", 157)},
		"cut off by the sender":      {"abc\xc3", ""},
		"broken long before the cut": {"\xc3" + strings.Repeat("a", 300), ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := engine.Preview([]byte(tc.body)); got != tc.want {
				t.Errorf("%q", got)
			}
		})
	}
}

func FuzzPreview(f *testing.F) {
	f.Add([]byte("hello\n🪰"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if p := engine.Preview(b); len(p) > 160 || !utf8.ValidString(p) || strings.ContainsAny(p, "\x00\n\t\r") {
			t.Fatalf("%q", p)
		}
	})
}

func TestLockTokenText(t *testing.T) {
	var want engine.LockToken
	for i := range want {
		want[i] = byte(i*16 + i)
	}
	const text = "00112233-4455-6677-8899-aabbccddeeff"
	for in, ok := range map[string]bool{
		text: true, "{" + strings.ToUpper(text) + "}": true, strings.ReplaceAll(text, "-", ""): true,
		"": false, text[1:]: false, text + "00": false, "g" + text[1:]: false, strings.Repeat("-", 1000): false,
	} {
		got, err := engine.ParseLockToken(in)
		if ok && (err != nil || got != want) || !ok && !errors.Is(err, engine.ErrArgument) {
			t.Errorf("%q: %v, %v", in, got, err)
		}
	}
	if want.String() != text {
		t.Errorf("it is written %s", want)
	}
}

func FuzzParseLockToken(f *testing.F) {
	f.Add("00112233-4455-6677-8899-aabbccddeeff")
	f.Fuzz(func(t *testing.T, s string) {
		token, err := engine.ParseLockToken(s)
		if err != nil {
			return
		}
		if again, err := engine.ParseLockToken(token.String()); again != token || err != nil {
			t.Fatalf("%q gives %v, that gives %v, %v", s, token, again, err)
		}
	})
}

// TestSubmit checks that each part of a message is accepted at its limit and refused one past it.
func TestSubmit(t *testing.T) {
	l := engine.DefaultLimits()
	l.HeaderSize = 1000
	const long = 128
	id := func(n int) string { return strings.Repeat("é", n) }
	props := func(name, text int) value.Properties {
		return value.Properties{{Name: strings.Repeat("n", name), Value: value.OfString(strings.Repeat("v", text))}}
	}
	l.PropertySize = 300
	for name, tc := range map[string]struct {
		c  engine.Content
		ok bool
	}{
		"MSG-5 MessageId at its limit":     {engine.Content{MessageID: id(long)}, true},
		"MSG-5 MessageId past it":          {engine.Content{MessageID: id(long + 1)}, false},
		"SessionId at its limit":           {engine.Content{SessionID: id(long)}, true},
		"SessionId past it":                {engine.Content{SessionID: id(long + 1)}, false},
		"PartitionKey past it":             {engine.Content{PartitionKey: id(long + 1)}, false},
		"ViaPartitionKey past it":          {engine.Content{ViaPartitionKey: id(long + 1)}, false},
		"ReplyToSessionId past it":         {engine.Content{ReplyToSessionID: id(long + 1)}, false},
		"PartitionKey like the SessionId":  {engine.Content{PartitionKey: "a", SessionID: "a"}, true},
		"PartitionKey unlike it":           {engine.Content{PartitionKey: "a", SessionID: "b"}, false},
		"a name at its limit":              {engine.Content{Properties: props(300, 0)}, true},
		"a name past it":                   {engine.Content{Properties: props(301, 0)}, false},
		"SES-1 no characters":              {engine.Content{EmptySessionID: true}, true},
		"PartitionKey unlike an empty one": {engine.Content{EmptySessionID: true, PartitionKey: "a"}, false},
		"a value at its limit":             {engine.Content{Properties: props(1, 300)}, true},
		"a value past it":                  {engine.Content{Properties: props(1, 301)}, false},
		"all properties at their limit":    {engine.Content{Subject: strings.Repeat("s", 700), Properties: props(100, 200)}, true},
		"all properties past it":           {engine.Content{Subject: strings.Repeat("s", 701), Properties: props(100, 200)}, false},
		"what only AMQP says at the limit": {engine.Content{Wire: strings.Repeat("w", 1000)}, true},
		"what only AMQP says past it":      {engine.Content{Wire: strings.Repeat("w", 1001)}, false},
		"a preview does not count":         {engine.Content{Subject: strings.Repeat("s", 1000), Preview: "p"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := engine.Submit(tc.c, nil, 0, 1, l); (err == nil) != tc.ok || err != nil && !errors.Is(err, engine.ErrArgument) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestSubmitCompletes(t *testing.T) {
	body := []byte("hello")
	s, err := engine.Submit(engine.Content{TTL: time.Second}, body, 0, 7, engine.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Content.Content()
	if err != nil || c.BodySize != 5 || c.Preview != "hello" || s.Staged || !bytes.Equal(s.Body, body) || s.TTL != time.Second {
		t.Errorf("%+v of %+v, %v", s, c, err)
	}
	shown := c
	shown.Preview = ""
	if s.Size() != int64(len(shown.Pack()))+5 { // the size does not include the preview (RT-3)
		t.Errorf("its size is %d", s.Size())
	}
	if s, err = engine.Submit(engine.Content{Preview: "given"}, nil, 1000, 7, engine.DefaultLimits()); err != nil || !s.Staged || s.Body != nil || s.BodySize != 1000 {
		t.Errorf("staged it is %+v, %v", s, err)
	}
	if c, err = s.Content.Content(); err != nil || c.Preview != "given" || c.BodySize != 1000 {
		t.Errorf("staged it has %+v, %v", c, err)
	}
}

// AMQP encodings are not shown as text.
func TestSubmitPreview(t *testing.T) {
	for kind, want := range map[engine.BodyKind]string{engine.DataBody: "@", engine.ValueBody: "", engine.SequenceBody: ""} {
		s, err := engine.Submit(engine.Content{BodyKind: kind}, []byte("@"), 0, 1, engine.DefaultLimits())
		if err != nil {
			t.Fatal(err)
		}
		if c, err := s.Content.Content(); err != nil || c.Preview != want {
			t.Errorf("%d: %q, %v", kind, c.Preview, err)
		}
	}
}

func ExampleLockToken_String() {
	fmt.Println(engine.LockToken{15: 1})
	// Output: 00000000-0000-0000-0000-000000000001
}

// Within omits whole fields, and the rest can be decoded.
func TestPackedWithin(t *testing.T) {
	p := engine.Content{MessageID: "id", Subject: strings.Repeat("s", 300), ContentType: "text/plain", BodySize: 7}.Pack()
	for n := range len(p) + 2 {
		cut := p.Truncate(n)
		c, err := cut.Content()
		if err != nil || len(cut) > n || (n >= len(p)) != (cut == p) {
			t.Fatalf("within %d: %d bytes, %v", n, len(cut), err)
		}
		if n == 100 && (c.Subject != "" || c.MessageID != "id" || c.ContentType != "text/plain" || c.BodySize != 7) {
			t.Errorf("within %d it is %+v", n, c)
		}
	}
}
