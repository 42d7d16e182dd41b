package filter_test

import (
	"errors"
	"math"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine/filter"
	"mayfly/engine/value"
)

// fuzzMessages returns messages with values for most names that occur.
func fuzzMessages() []*filter.Message {
	return []*filter.Message{
		{},
		{Label: "l", MessageID: "m", SequenceNumber: 7, EnqueuedTime: 1_700_000_000_000, Properties: props("a", 1, "b", "red", "c", 2.5, "d", true)},
		{To: "%", Properties: props("a", value.OfULong(math.MaxUint64), "b", value.OfTimestamp(5), "c", value.OfTimespan(math.MinInt64), "d", nil, "A", value.OfRaw([]byte{1}))},
		{Properties: props("a", decimalOf(value.Decimal128, "-1.50"), "b", value.OfDateTimeOffset(math.MinInt64), "c", value.OfTimestamp(math.MaxInt64), "d", value.OfFloat(0))},
	}
}

func checkSyntaxError(t *testing.T, text string, err error) {
	t.Helper()
	e := &filter.SyntaxError{}
	if !errors.As(err, &e) || e.Pos < 0 || e.Pos > utf8.RuneCountInString(text) || (e.Want == "") == (e.Text == "") || e.Error() == "" {
		t.Errorf("%q: %#v", text, err)
	}
}

func FuzzParseSQL(f *testing.F) {
	for _, text := range []string{
		"color = 'red' AND price > 10", "NOT (a = 1) OR b LIKE 'x\\_%' ESCAPE '\\'", "a IN (1, 2.5, 'x', NULL)", "EXISTS(sys.Label) AND user.[a b] IS NOT NULL", "p('a' + 'b') <> -1E-5 * (3 % 2)", "newid() = @x", "((((a))))", "a = 'it''s' OR \"q\"\"r\" != ''", "sys.EnqueuedTimeUtc - c <= b",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		params := props("@x", 1, "@y", "%a_")
		first, err := filter.ParseSQL(text, params)
		if err != nil {
			checkSyntaxError(t, text, err)
			return
		}
		bracketed, err := filter.ParseSQL("\n( "+text+" )", params)
		if e := new(filter.SyntaxError); errors.As(err, &e) && e.Text == "More than 100 brackets are open." {
			bracketed = first
		} else if err != nil {
			t.Fatalf("%q cannot be put in brackets: %v", text, err)
		}
		for _, m := range fuzzMessages() {
			ok, err := first.Matches(m)
			again, errAgain := bracketed.Matches(m)
			if ok != again && !first.Late() || (err == nil) != (errAgain == nil) && !first.Late() {
				t.Errorf("%q: %v, %v, but in brackets %v, %v", text, ok, err, again, errAgain)
			}
			clauses := first.Explain(m)
			for _, c := range clauses {
				if c.From < 0 || c.From >= c.To || c.To > utf8.RuneCountInString(text) || (c.Result == filter.Failed) != (c.Error != "") {
					t.Errorf("%q: %+v", text, c)
				}
			}
			if len(clauses) == 0 {
				t.Errorf("%q has no clauses", text)
			}
		}
	})
}

func FuzzParseAction(f *testing.F) {
	for _, text := range []string{"SET a = 1; SET sys.Label = 'x' + b; REMOVE c", "SET b = newid() REMOVE sys.To", "SET a = -a * 2.5 / c; SET d = b + b;", "SET [x y] = @x", "set c = c - c"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := filter.ParseAction(text, props("@x", 1), 32)
		if err != nil {
			checkSyntaxError(t, text, err)
			return
		}
		for i, m := range fuzzMessages() {
			got, err := a.Apply(*m)
			if d := cmp.Diff(fuzzMessages()[i], m); d != "" {
				t.Fatalf("%q changed the original: %s", text, d)
			}
			if e := new(filter.Error); err != nil && (!errors.As(err, &e) || e.Name != filter.RuleActionException || e.Text == "") {
				t.Errorf("%q: %#v", text, err)
			}
			if d := cmp.Diff(*m, got); err != nil && d != "" {
				t.Errorf("%q failed half way: %s", text, d)
			}
			for _, p := range got.Properties {
				if v, _, err := value.ParseStored(p.Value.Append(nil)); err != nil || v != p.Value {
					t.Errorf("%q made %v, which cannot be stored: %v", text, p, err)
				}
			}
		}
	})
}

func FuzzParseCorrelation(f *testing.F) {
	for _, text := range []string{
		`{"Label":"l","Properties":{"a":1,"b":"red","c":2.5,"d":true}}`, `{"MessageId":"m"}`, `{"Properties":{"a":{"type":"decimal128","value":"-1.5"},"b":{"type":"ulong","value":"18446744073709551615"}}}`, `{"label":"\u00e9","properties":{"A":-0.0}}`, `{}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := filter.ParseCorrelation(text)
		if err != nil {
			return
		}
		again, err := filter.ParseCorrelation(c.Text())
		if err != nil || again.Text() != c.Text() {
			t.Fatalf("%q is formatted as %s, which is parsed as %v, %v", text, c.Text(), again, err)
		}
		for _, m := range fuzzMessages() {
			if selects(t, c, m) != again.Matches(m) {
				t.Errorf("%q and %s do not match the same messages", text, c.Text())
			}
		}
	})
}

func FuzzLike(f *testing.F) {
	for _, s := range [][3]string{{"abc", "a%", ""}, {"a_b", `a\_b`, `\`}, {"mississippi", "%iss_pp%", ""}, {"é\xc3", "_%\xc3", ""}, {"x", "%%x%%", "%"}, {"", "_", ""}} {
		f.Add(s[0], s[1], s[2])
	}
	f.Fuzz(func(t *testing.T, s, pattern, escape string) {
		if len(s)*len(pattern) > 1<<14 || len(characters(escape)) > 1 {
			return // the table would be too large, or the escape is refused
		}
		checkLike(t, s, pattern, escape)
	})
}
