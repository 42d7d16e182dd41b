package filter_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine/filter"
	"mayfly/engine/value"
)

func apply(t *testing.T, text string, m filter.Message) (filter.Message, error) {
	t.Helper()
	a, err := filter.ParseAction(text, props("@five", "5", "@id", value.OfUUID([16]byte{1})), 32)
	if err != nil {
		t.Fatalf("parse %s: %v", text, err)
	}
	return a.Apply(m)
}

func TestAction(t *testing.T) {
	null := value.Value{}
	for _, c := range []struct {
		rule, text   string
		before, want value.Properties
	}{
		{"ACT-1 in order", "SET a = 1; SET b = a + 1; SET a = b * 10", nil, props("a", value.OfLong(20), "b", value.OfLong(2))},
		{"ACT-1 each sees the former", "REMOVE a SET b = a", props("a", 1), props("b", nil)},
		{"ACT-1 no separators", "SET a = 1 SET b = 2 REMOVE a", nil, props("b", value.OfLong(2))},
		{"ACT-8 commas", "SET a = 1, SET b = 2,REMOVE a;, SET c = p('b') + 1;", nil, props("b", value.OfLong(2), "c", value.OfLong(3))},
		{"ACT-8 a scope in brackets", "SET [user].a = [sys].MessageId; SET \"USER\".[b c] = \"sys\".DeliveryCount", nil, props("a", "m", "b c", 0)},
		{"ACT-1 separators", "set a = 1;remove b;SET c = 'x' ;", props("b", 1), props("a", value.OfLong(1), "c", "x")},
		{"ACT-2 created", "SET color = 'red'; SET [c d] = TRUE; SET user.x = 1.5", nil, props("color", "red", "c d", true, "x", 1.5)},
		{"ACT-2 converted", "SET n = '5'", props("n", 1), props("n", 5)},
		{"ACT-2 found in any case, spelled as before", "SET COLOR = 'blue'", props("Color", "red"), props("Color", "blue")},
		{"ACT-2 the exact case is preferred", "SET color = 'blue'", props("Color", "red", "color", "green"), props("Color", "red", "color", "blue")},
		{"ACT-2 where it stood", "SET b = 9", props("a", 1, "b", 2, "c", 3), props("a", 1, "b", 9, "c", 3)},
		{"ACT-2 not possible", "SET n = 'five'", props("n", 1), props("n", "five")},
		{"ACT-2 a null has no type to keep", "SET n = 5", props("n", nil), props("n", value.OfLong(5))},
		{"ACT-2 a parameter", "SET n = @five; SET i = @id", props("n", 1), props("n", 5, "i", value.OfUUID([16]byte{1}))},
		{"ACT-2 the type of a property", "SET b = a; SET d = c", props("a", value.OfShort(3), "c", value.OfSymbol("s")), props("a", value.OfShort(3), "c", value.OfSymbol("s"), "b", value.OfShort(3), "d", value.OfSymbol("s"))},
		{"ACT-2 types as in C#", "SET b = a + a; SET c = a + 1; SET d = f + a; SET e = f + 1.0", props("a", value.OfByte(3), "f", value.OfFloat(1)), props("a", value.OfByte(3), "f", value.OfFloat(1), "b", 6, "c", value.OfLong(4), "d", value.OfFloat(4), "e", 2.0)},
		{"ACT-2 wider than in C#", "SET b = a + a; SET d = c - c - 1; SET e = c + c", props("a", math.MaxInt32, "c", value.OfUInt(math.MaxUint32)), props("a", math.MaxInt32, "c", value.OfUInt(math.MaxUint32), "b", value.OfLong(2*math.MaxInt32), "d", value.OfLong(-1), "e", value.OfLong(2*math.MaxUint32))},
		{"ACT-2 unsigned", "SET b = a + 1; SET d = c + c; SET e = a - a - 1; SET f = c - 1", props("a", value.OfULong(1), "c", value.OfUInt(4)), props("a", value.OfULong(1), "c", value.OfUInt(4), "b", value.OfULong(2), "d", value.OfUInt(8), "e", value.OfLong(-1), "f", value.OfLong(3))},
		{"ACT-2 moments", "SET b = t + s; SET c = d + s; SET e = d - t", props("t", value.OfTimestamp(1), "s", value.OfTimespan(15_000), "d", value.OfDateTimeOffset(621_355_968_000_000_000)), props("t", value.OfTimestamp(1), "s", value.OfTimespan(15_000), "d", value.OfDateTimeOffset(621_355_968_000_000_000), "b", value.OfTimestamp(2), "c", value.OfDateTimeOffset(621_355_968_000_015_000), "e", value.OfTimespan(-10_000))},
		{"ACT-3 of a missing property", "REMOVE nothing", props("a", 1), props("a", 1)},
		{"ACT-3 in any case", "REMOVE USER.color", props("Color", 1, "a", 1, "color", 2), props("a", 1)},
		{"ACT-6 created as null", "SET a = missing + 1", nil, props("a", nil)},
		{"ACT-6 changed to null", "SET a = missing + 1", props("a", 1), props("a", nil)},
		{"ACT-6 of NULL", "SET a = NULL", props("a", 1), props("a", null)},
	} {
		t.Run(c.rule, func(t *testing.T) {
			m := filter.Message{MessageID: "m", Properties: c.before}
			kept := append(value.Properties(nil), c.before...)
			got, err := apply(t, c.text, m)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got.Properties); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(kept, c.before); d != "" {
				t.Errorf("the original has changed: %s", d)
			}
			got.Properties = c.before
			if d := cmp.Diff(m, got); d != "" {
				t.Errorf("something else has changed: %s", d)
			}
		})
	}
}

// An action must not write into the spare capacity of the original's properties, which may
// belong to others.
func TestActionSharesNothing(t *testing.T) {
	most := props("a", 1, "b", 2, "other", 3)
	m := filter.Message{Properties: most[:2:3]}
	for _, text := range []string{"SET c = 1", "REMOVE a", "SET a = 9", "REMOVE a; SET d = 5; SET e = 6"} {
		if _, err := apply(t, text, m); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(props("a", 1, "b", 2, "other", 3), most); d != "" {
			t.Errorf("ACT-1 %s: %s", text, d)
		}
	}
}

func TestActionOnSystemProperties(t *testing.T) {
	set := map[string]func(*filter.Message) *string{
		"Label": func(m *filter.Message) *string { return &m.Label }, "Subject": func(m *filter.Message) *string { return &m.Label },
		"To": func(m *filter.Message) *string { return &m.To }, "ReplyTo": func(m *filter.Message) *string { return &m.ReplyTo },
		"CorrelationId": func(m *filter.Message) *string { return &m.CorrelationID }, "ContentType": func(m *filter.Message) *string { return &m.ContentType },
		"SessionId": func(m *filter.Message) *string { return &m.SessionID }, "MessageId": func(m *filter.Message) *string { return &m.MessageID },
		"ViaPartitionKey":  func(m *filter.Message) *string { return &m.ViaPartitionKey },
		"ReplyToSessionId": func(m *filter.Message) *string { return &m.ReplyToSessionID }, "PartitionKey": func(m *filter.Message) *string { return &m.PartitionKey },
	}
	for name, field := range set {
		for text, want := range map[string]string{
			"SET sys.%s = 'x'": "x", "set SYS.[%s] = 'x' + 'y'": "xy", "REMOVE sys.%s": "", "SET sys.%s = missing": "", "SET sys.%s = ''": "", "SET sys.%s = 5 + 1": "6", "SET sys.%s = @id": "01000000-0000-0000-0000-000000000000", "SET sys.%s = TRUE": "true",
			"SET sys.%[1]s = 'a'; SET sys.%[1]s = sys.%[1]s + 'b'": "ab",
		} {
			text = fmt.Sprintf(text, name)
			t.Run("ACT-5 "+text, func(t *testing.T) {
				m := filter.Message{}
				*field(&m) = "before"
				got, err := apply(t, text, m)
				if err != nil || *field(&got) != want {
					t.Errorf("%q, %v; want %q", *field(&got), err, want)
				}
				*field(&got) = "before"
				m.EmptySessionID = name == "SessionId" && strings.HasSuffix(text, "''") // an empty SessionId is a valid id
				if d := cmp.Diff(m, got); d != "" {
					t.Error(d)
				}
			})
		}
	}
	for _, text := range []string{"SET sys.ScheduledEnqueueTimeUtc = @five", "SET sys.ScheduledEnqueueTime = 5", "REMOVE sys.scheduledenqueuetimeutc", "SET sys.ForcePersistence = TRUE"} {
		t.Run("ACT-5 no effect (SCH-15): "+text, func(t *testing.T) {
			m := filter.Message{MessageID: "m", Properties: props("a", 1)}
			got, err := apply(t, text, m)
			if d := cmp.Diff(m, got); d != "" || err != nil {
				t.Error(err, d)
			}
		})
	}
}

// ACT-5: an action sets the time to live, by a text as in the documentation or by a timespan.
func TestActionOnTimeToLive(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"SET sys.TimeToLive = '0:2:0'":                                          2 * time.Minute,
		"SET [sys].timetolive = 'PT3S'":                                         3 * time.Second,
		"SET sys.TimeToLive = sys.TimeToLive + sys.TimeToLive":                  2 * time.Hour,
		"SET sys.TimeToLive = span":                                             time.Millisecond,
		"SET sys.TimeToLive = '10675199.02:48:05.4775807'":                      0,
		"SET sys.TimeToLive = NULL":                                             0,
		"SET sys.TimeToLive = missing":                                          0,
		"REMOVE sys.TimeToLive":                                                 0,
		"SET a = sys.TimeToLive, REMOVE sys.TimeToLive, SET sys.TimeToLive = a": time.Hour,
	} {
		t.Run("ACT-5 "+text, func(t *testing.T) {
			m := filter.Message{MessageID: "m", TimeToLive: time.Hour, Properties: props("span", value.OfTimespan(10_000))}
			got, err := apply(t, text, m)
			if err != nil || got.TimeToLive != want {
				t.Errorf("%v, %v; want %v", got.TimeToLive, err, want)
			}
		})
	}
	for text, want := range map[string]string{
		"SET sys.TimeToLive = 5":        "SET sys.TimeToLive = 5 at character 1 needs a duration such as '0:02:00'.",
		"SET sys.TimeToLive = 'soon'":   "SET sys.TimeToLive = 'soon' at character 1 needs a duration such as '0:02:00'.",
		"SET sys.TimeToLive = '0:0:0'":  "SET sys.TimeToLive = '0:0:0' at character 1 needs a duration above zero.",
		"SET sys.TimeToLive = '-0:1:0'": "SET sys.TimeToLive = '-0:1:0' at character 1 needs a duration above zero.",
	} {
		if _, err := apply(t, text, filter.Message{}); err == nil || err.Error() != want {
			t.Errorf("ACT-5 %s: %v", text, err)
		}
	}
}

func TestActionErrors(t *testing.T) {
	m := filter.Message{Properties: props("a", 1, "b", value.OfBinary([]byte{1}))}
	for text, want := range map[string]string{
		"SET x = 1; SET c = a / 0":                       "a / 0 at character 20 divides by zero.",
		"SET sys.Label = b":                              "SET sys.Label = b at character 1 needs a string, but has a value of type binary.",
		"SET a = 2; SET sys.To = 'x'; SET sys.Label = b": "SET sys.Label = b at character 30 needs a string, but has a value of type binary.",
		"SET c = @nobody":                                "@nobody at character 9 is a parameter without a value in the rule.",
		"SET c = 'x' + a":                                "'x' + a at character 9 cannot be computed from string and int.",
	} {
		t.Run("FILT-31 "+text, func(t *testing.T) {
			got, err := apply(t, text, m)
			if e := new(filter.Error); !errors.As(err, &e) || e.Name != "RuleActionException" || e.Text != want {
				t.Errorf("%v, want %s", err, want)
			}
			if d := cmp.Diff(m, got); d != "" {
				t.Errorf("part of the failed action was applied: %s", d)
			}
		})
	}
	t.Run("FILT-30", func(t *testing.T) {
		a, err := filter.ParseAction("SET a = sys.Label", nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := a.Apply(m); err != nil || got.Properties[0].Value.Kind() != value.Null {
			t.Errorf("%v, %v", got, err)
		}
		a.MissingSystemFails = true
		if _, err := a.Apply(m); err == nil || err.Error() != "sys.Label at character 9 is not set." {
			t.Errorf("FILT-30 the switch: %v", err)
		}
	})
	t.Run("a text that doubles", func(t *testing.T) {
		text := "SET a = 'xxxxxxxxxxxxxxxx'" + strings.Repeat("; SET a = a + a", 31)
		if _, err := apply(t, text, filter.Message{}); err == nil || !strings.Contains(err.Error(), "more than 65536 bytes") {
			t.Error(err)
		}
		if _, err := apply(t, "SET a = 'xxxxxxxxxxxxxxxx'"+strings.Repeat("; SET a = a + a", 12), filter.Message{}); err != nil {
			t.Error(err)
		}
	})
}

func TestActionSyntax(t *testing.T) {
	next := `an operator, ";", ",", SET, REMOVE or the end`
	thirtyThree := strings.Repeat("SET a = 1;", 32) + "REMOVE b"
	for text, want := range map[string]filter.SyntaxError{
		"":                                  {Pos: 0, Want: "SET or REMOVE"},
		"a = 1":                             {Pos: 0, Found: "a", Want: "SET or REMOVE"},
		"SET a = 1;;":                       {Pos: 10, Found: ";", Want: `",", SET, REMOVE or the end`},
		"SET a = 1, b = 2":                  {Pos: 11, Found: "b", Want: "SET or REMOVE"},
		"SET a = 1,":                        {Pos: 10, Want: "SET or REMOVE"},
		"SET a = 1,;":                       {Pos: 10, Found: ";", Want: "SET or REMOVE"},
		"SET sys.ExpiresAtUtc = @x":         {Pos: 4, Found: "sys.ExpiresAtUtc", Text: "The property 'ExpiresAtUtc' is set by the broker and cannot be changed."},
		"SET [sys].State = 1":               {Pos: 4, Found: "[sys].State", Text: "The property 'State' is set by the broker and cannot be changed."},
		"REMOVE sys.DeadLetterSource":       {Pos: 7, Found: "sys.DeadLetterSource", Text: "The property 'DeadLetterSource' is set by the broker and cannot be changed."},
		"SET a = 1 b = 2":                   {Pos: 10, Found: "b", Want: next},
		"SET a":                             {Pos: 5, Want: `"="`},
		"SET 'a' = 1":                       {Pos: 4, Found: "'a'", Want: "a property"},
		"SET a =":                           {Pos: 7, Want: "a value"},
		"REMOVE":                            {Pos: 6, Want: "a property"},
		"REMOVE a = 1":                      {Pos: 9, Found: "=", Want: `";", ",", SET, REMOVE or the end`},
		"REMOVE a b":                        {Pos: 9, Found: "b", Want: `";", ",", SET, REMOVE or the end`},
		"SET a = b = 1":                     {Pos: 10, Found: "=", Want: next},
		"SET a = (b = 1)":                   {Pos: 8, Found: "(b = 1)", Text: "A value is needed here, not a condition."},
		"SET a = 'x":                        {Pos: 8, Found: "'x", Text: "The string is not closed: a ' is missing."},
		"SET a = 1 #":                       {Pos: 10, Found: "#", Text: "This character has no meaning here."},
		"SET sys.Nope = 1":                  {Pos: 4, Found: "sys.Nope", Text: "The specified property 'Nope' does not exist or is not allowed; there are " + permittedTargets + "."},
		"REMOVE sys.Nope":                   {Pos: 7, Found: "sys.Nope", Text: "The specified property 'Nope' does not exist or is not allowed; there are " + permittedTargets + "."},
		"SET a = sys.Nope":                  {Pos: 8, Found: "sys.Nope", Text: "The specified property 'Nope' does not exist or is not allowed; there are " + permitted + "."},
		"SET sys.SequenceNumber = 1":        {Pos: 4, Found: "sys.SequenceNumber", Text: "The property 'SequenceNumber' is set by the broker and cannot be changed."},
		"SET sys.EnqueuedTimeUtc = @x":      {Pos: 4, Found: "sys.EnqueuedTimeUtc", Text: "The property 'EnqueuedTimeUtc' is set by the broker and cannot be changed."},
		"REMOVE sys.EnqueuedSequenceNumber": {Pos: 7, Found: "sys.EnqueuedSequenceNumber", Text: "The property 'EnqueuedSequenceNumber' is set by the broker and cannot be changed."},
		thirtyThree:                         {Pos: 320, Found: "REMOVE b", Text: "An action can have at most 32 statements."},
	} {
		rule := "FILT-28 "
		switch {
		case strings.Contains(want.Text, "does not exist"):
			rule = "ACT-3 "
		case strings.Contains(want.Text, "broker"):
			rule = "ACT-5 "
		case text == thirtyThree:
			rule = "ACT-4 33 "
		}
		t.Run(rule+text, func(t *testing.T) {
			a, err := filter.ParseAction(text, nil, 32)
			got := &filter.SyntaxError{}
			if a != nil || !errors.As(err, &got) {
				t.Fatalf("is an action: %v", err)
			}
			if d := cmp.Diff(want, *got); d != "" {
				t.Error(d)
			}
		})
	}
	t.Run("ACT-4 32", func(t *testing.T) {
		if _, err := filter.ParseAction(strings.Repeat("SET a = 1;", 32), nil, 32); err != nil {
			t.Error(err)
		}
	})
}

// SET converts the new value to the type of the property's present value. If it cannot be
// converted, the property gets the new value with its own type.
func TestConversion(t *testing.T) {
	d := func(k value.Kind, s string) value.Value { return decimalOf(k, s) }
	str, double := value.OfString, value.OfDouble
	for _, c := range []struct{ from, old, want value.Value }{
		{value.OfLong(5), value.OfInt(0), value.OfInt(5)},
		{value.OfLong(math.MaxInt32), value.OfInt(0), value.OfInt(math.MaxInt32)},
		{value.OfLong(math.MaxInt32 + 1), value.OfInt(0), value.OfLong(math.MaxInt32 + 1)},
		{value.OfLong(255), value.OfUByte(0), value.OfUByte(255)},
		{value.OfLong(256), value.OfUByte(0), value.OfLong(256)},
		{value.OfLong(-1), value.OfULong(0), value.OfLong(-1)},
		{value.OfULong(math.MaxUint64), value.OfLong(0), value.OfULong(math.MaxUint64)},
		{double(2.5), value.OfInt(0), value.OfInt(2)},
		{double(3.5), value.OfInt(0), value.OfInt(4)},
		{double(-2.6), value.OfShort(0), value.OfShort(-3)},
		{double(1e30), value.OfLong(0), double(1e30)},
		{double(math.NaN()), value.OfLong(0), double(math.NaN())},
		{d(value.Decimal64, "7.50"), value.OfByte(0), value.OfByte(8)},
		{value.OfBool(true), value.OfInt(0), value.OfInt(1)},
		{str(" 7 "), value.OfInt(0), value.OfInt(7)},
		{str("7.5"), value.OfInt(0), str("7.5")},
		{str("7.5"), value.OfDouble(0), double(7.5)},
		{value.OfLong(3), value.OfDouble(0), double(3)},
		{value.OfLong(3), value.OfFloat(0), value.OfFloat(3)},
		{double(0.1), value.OfFloat(0), value.OfFloat(0.1)},
		{value.OfBool(true), value.OfDouble(0), double(1)},
		{double(0.1), d(value.Decimal128, "0"), d(value.Decimal128, "0.1")},
		{double(1.0 / 3), d(value.Decimal32, "0"), d(value.Decimal32, "0.3333333")},
		{value.OfFloat(0.1), d(value.Decimal64, "0"), d(value.Decimal64, "0.1")},
		{value.OfLong(12345678), d(value.Decimal32, "0"), d(value.Decimal32, "1.234568E+7")},
		{value.OfULong(math.MaxUint64), d(value.Decimal128, "0"), d(value.Decimal128, "18446744073709551615")},
		{d(value.Decimal64, "1.50"), d(value.Decimal128, "0"), d(value.Decimal128, "1.50")},
		{d(value.Decimal64, "1.50"), double(0), double(1.5)},
		{value.OfLong(0), value.OfBool(true), value.OfBool(false)},
		{double(0.5), value.OfBool(false), value.OfBool(true)},
		{str("True"), value.OfBool(false), value.OfBool(true)},
		{str("yes"), value.OfBool(false), str("yes")},
		{value.OfLong(5), str(""), str("5")},
		{value.OfBool(true), str(""), str("true")},
		{double(2.5), value.OfSymbol(""), value.OfSymbol("2.5")},
		{value.OfUUID([16]byte{1}), str(""), str("01000000-0000-0000-0000-000000000000")},
		{str("01000000-0000-0000-0000-000000000000"), value.OfUUID([16]byte{}), value.OfUUID([16]byte{1})},
		{value.OfTimespan(10_000_000), str(""), str("00:00:01")},
		{str("00:00:01"), value.OfTimespan(0), value.OfTimespan(10_000_000)},
		{value.OfLong(5), value.OfTimespan(0), value.OfLong(5)},
		{str("1970-01-01T00:00:01Z"), value.OfTimestamp(0), value.OfTimestamp(1000)},
		{value.OfTimestamp(1000), value.OfDateTimeOffset(0), value.OfDateTimeOffset(621_355_968_010_000_000)},
		{value.OfDateTimeOffset(621_355_968_010_009_999), value.OfTimestamp(0), value.OfTimestamp(1000)},
		{value.OfTimestamp(math.MaxInt64), value.OfDateTimeOffset(0), value.OfTimestamp(math.MaxInt64)},
		{value.OfTimestamp(1000), str(""), str("1970-01-01T00:00:01Z")},
		{value.OfTimestamp(1000), value.OfLong(0), value.OfTimestamp(1000)},
		{value.OfLong(1000), value.OfTimestamp(0), value.OfLong(1000)},
		{value.OfLong(65), value.OfChar('b'), value.OfLong(65)},
		{str("é"), value.OfChar('b'), value.OfChar('é')},
		{value.OfChar('é'), str(""), str("é")},
		{value.OfSymbol("s"), value.OfURI(""), value.OfURI("s")},
		{str("YWI="), value.OfBinary(nil), str("YWI=")},
		{value.OfLong(1234), value.OfBinary(nil), value.OfLong(1234)},
		{value.OfBinary([]byte("ab")), str(""), value.OfBinary([]byte("ab"))},
		{value.OfBinary([]byte("ab")), value.OfInt(1), value.OfBinary([]byte("ab"))},
		{value.OfUUID([16]byte{1}), value.OfInt(1), value.OfUUID([16]byte{1})},
		{str("0x45"), value.OfRaw([]byte{0x40}), str("0x45")},
	} {
		t.Run(fmt.Sprintf("ACT-2 %v %v for %v", c.from.Kind(), c.from, c.old.Kind()), func(t *testing.T) {
			got, err := apply(t, "SET a = b", filter.Message{Properties: props("a", c.old, "b", c.from)})
			if err != nil {
				t.Fatal(err)
			}
			if v := got.Properties[0].Value; v != c.want {
				t.Errorf("is %v %v, want %v %v", v.Kind(), v, c.want.Kind(), c.want)
			}
		})
	}
}
