package filter_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine/filter"
	"mayfly/engine/value"
)

// What a filter may read of the system's properties, and an action change.
const (
	permitted        = changeable + ", SequenceNumber, EnqueuedSequenceNumber, EnqueuedTimeUtc"
	permittedTargets = changeable + ", ScheduledEnqueueTimeUtc"
	changeable       = "MessageId, CorrelationId, SessionId, ReplyTo, ReplyToSessionId, Label, To, ContentType, PartitionKey"
)

func TestSyntaxErrors(t *testing.T) {
	operators := "an operator, AND, OR or "
	for text, want := range map[string]filter.SyntaxError{
		"":                  {Pos: 0, Want: "a value"},
		"  ":                {Pos: 2, Want: "a value"},
		"a = 1 AMD b = 2":   {Pos: 6, Found: "AMD", Want: "AND, OR or the end"},
		"color 'red'":       {Pos: 6, Found: "'red'", Want: operators + "the end"},
		"a = 1 = 2":         {Pos: 6, Found: "=", Want: "AND, OR or the end"},
		"größe = ":          {Pos: 8, Want: "a value"},
		"größe = )":         {Pos: 8, Found: ")", Want: "a value"},
		"(a = 1":            {Pos: 6, Want: `AND, OR or ")"`},
		"(a":                {Pos: 2, Want: operators + `")"`},
		"a = 1)":            {Pos: 5, Found: ")", Want: "AND, OR or the end"},
		"a IS 1":            {Pos: 5, Found: "1", Want: "NULL or NOT NULL"},
		"a IS NOT 1":        {Pos: 9, Found: "1", Want: "NULL"},
		"a NOT = 1":         {Pos: 6, Found: "=", Want: "IN or LIKE"},
		"a IN 1":            {Pos: 5, Found: "1", Want: `"(" and values`},
		"a IN ()":           {Pos: 6, Found: ")", Want: "a value"},
		"a IN (1 2)":        {Pos: 8, Found: "2", Want: `an operator, a comma or ")"`},
		"a IN (1,)":         {Pos: 8, Found: ")", Want: "a value"},
		"EXISTS a":          {Pos: 7, Found: "a", Want: `"(" and a property`},
		"EXISTS('a')":       {Pos: 7, Found: "'a'", Want: "a property"},
		"EXISTS(a = 1)":     {Pos: 9, Found: "=", Want: `")"`},
		"NOT" + " NOT a":    {Pos: 4, Found: "NOT", Want: "a value"},
		"a = NOT b":         {Pos: 4, Found: "NOT", Want: "a value"},
		"a AND":             {Pos: 5, Want: "a value"},
		"and = 1":           {Pos: 0, Found: "and", Want: "a value"},
		"sys. = 1":          {Pos: 5, Found: "=", Want: "the name of a property"},
		"newid(1) = a":      {Pos: 6, Found: "1", Want: `")"`},
		"p() = 1":           {Pos: 2, Found: ")", Want: "a value"},
		"p('a' = 1":         {Pos: 6, Found: "=", Want: `")"`},
		"a = --1":           {Pos: 5, Found: "-", Want: "a value"},
		"a LIKE 'x' ESCAPE": {Pos: 17, Want: "a value"},
		"a ESCAPE 'x'":      {Pos: 2, Found: "ESCAPE", Want: operators + "the end"},
		"a; b":              {Pos: 1, Found: ";", Want: operators + "the end"},
		"1. = a":            {Pos: 1, Found: ".", Want: operators + "the end"},
		"a = é 'x' OR [b":   {Pos: 6, Found: "'x'", Want: "AND, OR or the end"},
		"SET a = 1":         {Pos: 4, Found: "a", Want: operators + "the end"},
		"a = " + strings.Repeat("'x' ", 2) + strings.Repeat("y", 50): {Pos: 8, Found: "'x'", Want: "AND, OR or the end"},
		"a = 1 " + strings.Repeat("y", 50):                           {Pos: 6, Found: strings.Repeat("y", 39) + "…", Want: "AND, OR or the end"},

		"a = 'é":                          {Pos: 4, Found: "'é", Text: "The text is not closed: a ' is missing."},
		"[a = 1":                          {Pos: 0, Found: "[a = 1", Text: "The name is not closed: a ] is missing."},
		`a = 1 OR "b`:                     {Pos: 9, Found: `"b`, Text: `The name is not closed: a " is missing.`},
		"[] = 1":                          {Pos: 0, Found: "[]", Text: "A name must have a character at least."},
		`"" = 1`:                          {Pos: 0, Found: `""`, Text: "A name must have a character at least."},
		"a = # 1":                         {Pos: 4, Found: "#", Text: "This character has no meaning here."},
		"a = \xff":                        {Pos: 4, Found: "\xff", Text: "This character has no meaning here."},
		"a ! 1":                           {Pos: 2, Found: "!", Text: "This character has no meaning here."},
		"_a = 1":                          {Pos: 0, Found: "_", Text: "A name starts with a letter; others are written in [brackets]."},
		"a = @":                           {Pos: 4, Found: "@", Text: "After @ belongs the name of a parameter."},
		"a = @1":                          {Pos: 4, Found: "@", Text: "After @ belongs the name of a parameter."},
		"a = 1E+":                         {Pos: 4, Found: "1E+", Text: "After the E of a number belong digits."},
		"a = 1e":                          {Pos: 4, Found: "1e", Text: "After the E of a number belong digits."},
		"a = 12ab":                        {Pos: 4, Found: "12ab", Text: "This is not a number, and a name starts with a letter."},
		"a = 1E999":                       {Pos: 4, Found: "1E999", Text: "The number is too large."},
		"a = 9223372036854775808":         {Pos: 4, Found: "9223372036854775808", Text: "A whole number is at most 9223372036854775807."},
		"a = -9223372036854775809":        {Pos: 4, Found: "-9223372036854775809", Text: "A whole number is at most 9223372036854775807."},
		"sys.Foo='x'":                     {Pos: 0, Found: "sys.Foo", Text: "The specified property 'Foo' does not exist or is not allowed; there are " + permitted + "."},
		"a = 1 OR EXISTS(SYS.[b c])":      {Pos: 16, Found: "SYS.[b c]", Text: "The specified property 'b c' does not exist or is not allowed; there are " + permitted + "."},
		"sys.ScheduledEnqueueTimeUtc > a": {Pos: 0, Found: "sys.ScheduledEnqueueTimeUtc", Text: "The specified property 'ScheduledEnqueueTimeUtc' does not exist or is not allowed; there are " + permitted + "."},
		"order.id = 1":                    {Pos: 0, Found: "order", Text: "Before a point only sys and user can stand; a name with a point in it is written in [brackets]."},
		"len(a) = 1":                      {Pos: 0, Found: "len", Text: "There is no such function: only newid(), property() and its short form p(), and EXISTS() as a condition."},
		"(a = 1) = (b = 2)":               {Pos: 0, Found: "(a = 1)", Text: "A value is needed here, not a condition."},
		"1 + (a = 1) > 1":                 {Pos: 4, Found: "(a = 1)", Text: "A value is needed here, not a condition."},
		"-(a = 1)":                        {Pos: 1, Found: "(a = 1)", Text: "A value is needed here, not a condition."},
		"(NOT a) IN (1)":                  {Pos: 0, Found: "(NOT a)", Text: "A value is needed here, not a condition."},
		"a IN ((b AND c))":                {Pos: 6, Found: "(b AND c)", Text: "A value is needed here, not a condition."},
		"a LIKE (b OR c)":                 {Pos: 7, Found: "(b OR c)", Text: "A value is needed here, not a condition."},
		"a = 1 AND 5":                     {Pos: 10, Found: "5", Text: "A condition is needed here, not a value."},
		"'x'":                             {Pos: 0, Found: "'x'", Text: "A condition is needed here, not a value."},
		"a + 1 OR b":                      {Pos: 0, Found: "a + 1", Text: "A condition is needed here, not a value."},
		"NOT -a":                          {Pos: 4, Found: "-a", Text: "A condition is needed here, not a value."},
		"sys.Label":                       {Pos: 0, Found: "sys.Label", Text: "A condition is needed here, not a value."},
		"newid() AND a":                   {Pos: 0, Found: "newid()", Text: "A condition is needed here, not a value."},
		"@number":                         {Pos: 0, Found: "@number", Text: "A condition is needed here, not a value."},
		"a + 1 IS NULL":                   {Pos: 0, Found: "a + 1", Text: "Only a property can be asked whether it IS NULL."},
		"1 IS NULL":                       {Pos: 0, Found: "1", Text: "Only a property can be asked whether it IS NULL."},
		"a LIKE 5":                        {Pos: 7, Found: "5", Text: "This LIKE has a pattern of type long, which must be a text."},
		"a LIKE 'x' ESCAPE 'xy'":          {Pos: 7, Found: "'x' ESCAPE 'xy'", Text: "This LIKE has an escape that is not one character."},
		"a LIKE b ESCAPE ''":              {Pos: 7, Found: "b ESCAPE ''", Text: "This LIKE has an escape that is not one character."},
		"a LIKE b ESCAPE 1":               {Pos: 7, Found: "b ESCAPE 1", Text: "This LIKE has an escape that is not one character."},
		"a LIKE 1 ESCAPE b":               {Pos: 7, Found: "1 ESCAPE b", Text: "This LIKE has a pattern of type long, which must be a text."},
		"a LIKE 'x!' ESCAPE '!'":          {Pos: 7, Found: "'x!' ESCAPE '!'", Text: "This LIKE has a pattern that ends with its escape character."},
	} {
		t.Run("FILT-28 "+text, func(t *testing.T) {
			f, err := filter.ParseSQL(text, props("@number", 1))
			got := &filter.SyntaxError{}
			if f != nil || !errors.As(err, &got) {
				t.Fatalf("is a filter: %v", err)
			}
			if d := cmp.Diff(want, *got); d != "" {
				t.Error(d)
			}
		})
	}
	t.Run("FILT-21", func(t *testing.T) {
		_, err := filter.ParseSQL("sys.Foo='x'", nil)
		if want := "The specified property 'Foo' does not exist or is not allowed; there are " + permitted + ". See character 1, sys.Foo."; err == nil || err.Error() != want {
			t.Errorf("error %v\nwant  %s", err, want)
		}
	})
	for text, want := range map[string]string{
		"a = 1 AMD b": "At character 7 stands AMD, where AND, OR or the end was expected.",
		"a = ":        "The text ends at character 5, where a value was expected.",
		"sys.Size":    "The specified property 'Size' does not exist or is not allowed; there are " + permitted + ". See character 1, sys.Size.",
	} {
		if _, err := filter.ParseSQL(text, nil); err == nil || err.Error() != want {
			t.Errorf("FILT-28 %s: %v\nwant %s", text, err, want)
		}
	}
}

// How deep brackets may be, and that what is long without being deep is not.
func TestSyntaxBounds(t *testing.T) {
	for _, c := range []struct{ before, open, inside, shut string }{
		{"", "(", "a = 1", ")"}, {"", "(", "a", ")"}, {"x = ", "p(", "'x'", ")"}, {"", "NOT (", "a", ")"}, {"x = ", "-(", "a", ")"}, {"x IN (", "(", "1", ")"},
	} {
		open := strings.Count(c.before, "(")
		for _, deep := range []int{100, 101, 50_000} {
			n := deep - open
			text := c.before + strings.Repeat(c.open, n) + c.inside + strings.Repeat(c.shut, n) + strings.Repeat(")", open)
			_, err := filter.ParseSQL(text, nil)
			if deep == 100 && err != nil || deep > 100 && (err == nil || !strings.HasPrefix(err.Error(), "There are more than 100 brackets open.")) {
				t.Errorf("%d times %q: %v", deep, c.open, err)
			}
		}
	}
	m := &filter.Message{Properties: props("a", 1)}
	for _, long := range []string{
		"a = 1" + strings.Repeat(" AND a = 1", 20_000), "a = 2" + strings.Repeat(" OR a = 1", 20_000),
		"a" + strings.Repeat(" + 1 - 1", 20_000) + " = 1", "a = a" + strings.Repeat(" * 1", 20_000), "a IN (2" + strings.Repeat(", 2", 20_000) + ", 1)",
		"a = 1" + strings.Repeat(" AND (a = p('a'))", 200) + strings.Repeat(" AND a IN (1)", 200),
	} {
		f, err := filter.ParseSQL(long, nil)
		if err != nil {
			t.Fatal(err)
		}
		if ok, err := f.Matches(m); !ok || err != nil {
			t.Errorf("%.20s…: %v, %v", long, ok, err)
		}
	}
}

func TestExplain(t *testing.T) {
	m := &filter.Message{Label: "l", SequenceNumber: 4, Properties: props("Color", "red", "größe", 3, "name", "color")}
	missing := func(name string) filter.Reading { return filter.Reading{Name: name, Missing: true} }
	number := filter.Reading{Name: "größe", Value: value.OfInt(3)}
	for text, want := range map[string][]filter.Clause{
		"größe > 5 AND NOT (color = 'red' OR sys.subject IN ('x', gone))": {
			{From: 0, To: 9, Text: "größe > 5", Result: F, Reads: []filter.Reading{number}},
			{From: 19, To: 32, Text: "color = 'red'", Result: T, Reads: []filter.Reading{{Name: "color", Value: value.OfString("red")}}},
			{From: 36, To: 62, Text: "sys.subject IN ('x', gone)", Result: U, Reads: []filter.Reading{{Name: "sys.Label", Value: value.OfString("l")}, missing("gone")}},
		},
		"gone IS NULL OR EXISTS(sys.to)": {
			{From: 0, To: 12, Text: "gone IS NULL", Result: T, Reads: []filter.Reading{missing("gone")}},
			{From: 16, To: 30, Text: "EXISTS(sys.to)", Result: F, Reads: []filter.Reading{missing("sys.To")}},
		},
		"größe": {{From: 0, To: 5, Text: "größe", Result: E, Error: "größe at character 1 stands as a condition, which a value of type int is not.", Reads: []filter.Reading{number}}},
		"p(name) LIKE 'r%' AND -(größe + größe) / 0 = 1": {
			{From: 0, To: 17, Text: "p(name) LIKE 'r%'", Result: T, Reads: []filter.Reading{{Name: "name", Value: value.OfString("color")}, {Name: "color", Value: value.OfString("red")}}},
			{From: 22, To: 46, Text: "-(größe + größe) / 0 = 1", Result: E, Error: "-(größe + größe) / 0 at character 23 divides by zero.", Reads: []filter.Reading{number}},
		},
		"sys.SequenceNumber = @x AND name LIKE gone ESCAPE 'x'": {
			{From: 0, To: 23, Text: "sys.SequenceNumber = @x", Result: E, Error: "@x at character 22 is a parameter that the rule gives no value for.", Reads: []filter.Reading{{Name: "sys.SequenceNumber", Value: value.OfLong(4)}}},
			{From: 28, To: 53, Text: "name LIKE gone ESCAPE 'x'", Result: U, Reads: []filter.Reading{{Name: "name", Value: value.OfString("color")}, missing("gone")}},
		},
	} {
		f, err := filter.ParseSQL(text, nil)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, f.Explain(m)); d != "" {
			t.Errorf("%s\n%s", text, d)
		}
	}
	if got := fmt.Sprint(F, U, T, E); got != "false unknown true error" {
		t.Error(got)
	}
}
