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

// These are the system properties that a filter can read, and those that an action can set.
const (
	permitted        = permittedTargets + ", SequenceNumber, EnqueuedSequenceNumber, EnqueuedTimeUtc, ExpiresAtUtc, Size, DeadLetterSource, DeliveryCount, State, LockedUntilUtc, LockToken"
	permittedTargets = "MessageId, CorrelationId, SessionId, ReplyTo, ReplyToSessionId, Label, To, ContentType, PartitionKey, ViaPartitionKey, TimeToLive, ScheduledEnqueueTimeUtc, ForcePersistence"
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
		"NOT" + " NOT":      {Pos: 7, Want: "a value"},
		"a = -":             {Pos: 5, Want: "a value"},
		"a = 1 .5":          {Pos: 6, Found: ".5", Want: "AND, OR or the end"},
		"a .5 = 1":          {Pos: 2, Found: ".5", Want: operators + "the end"},
		"[a].b = 1":         {Pos: 0, Found: "[a]", Text: "Only sys and user can precede a period. Write a name with a period in [brackets]."},
		"[sys].Nope = 1":    {Pos: 0, Found: "[sys].Nope", Text: "The specified property 'Nope' does not exist or is not allowed; there are " + permitted + "."},
		"a = NOT b":         {Pos: 4, Found: "NOT", Want: "a value"},
		"a AND":             {Pos: 5, Want: "a value"},
		"and = 1":           {Pos: 0, Found: "and", Want: "a value"},
		"sys. = 1":          {Pos: 5, Found: "=", Want: "the name of a property"},
		"newid(1) = a":      {Pos: 6, Found: "1", Want: `")"`},
		"p() = 1":           {Pos: 2, Found: ")", Want: "a value"},
		"p('a' = 1":         {Pos: 6, Found: "=", Want: `")"`},
		"a LIKE 'x' ESCAPE": {Pos: 17, Want: "a value"},
		"a ESCAPE 'x'":      {Pos: 2, Found: "ESCAPE", Want: operators + "the end"},
		"a; b":              {Pos: 1, Found: ";", Want: operators + "the end"},
		"a = é 'x' OR [b":   {Pos: 6, Found: "'x'", Want: "AND, OR or the end"},
		"SET a = 1":         {Pos: 4, Found: "a", Want: operators + "the end"},
		"a = " + strings.Repeat("'x' ", 2) + strings.Repeat("y", 50): {Pos: 8, Found: "'x'", Want: "AND, OR or the end"},
		"a = 1 " + strings.Repeat("y", 50):                           {Pos: 6, Found: strings.Repeat("y", 40) + "…", Want: "AND, OR or the end"},

		"a = 'é":                     {Pos: 4, Found: "'é", Text: "The string is not closed: a ' is missing."},
		"[a = 1":                     {Pos: 0, Found: "[a = 1", Text: "The name is not closed: a ] is missing."},
		`a = 1 OR "b`:                {Pos: 9, Found: `"b`, Text: `The name is not closed: a " is missing.`},
		"[] = 1":                     {Pos: 0, Found: "[]", Text: "A name must have at least one character."},
		`"" = 1`:                     {Pos: 0, Found: `""`, Text: "A name must have at least one character."},
		"a = # 1":                    {Pos: 4, Found: "#", Text: "This character has no meaning here."},
		"a = \xff":                   {Pos: 4, Found: "\ufffd", Text: "This character has no meaning here."},
		"a ! 1":                      {Pos: 2, Found: "!", Text: "This character has no meaning here."},
		"_a = 1":                     {Pos: 0, Found: "_", Text: "A name must start with a letter. Write other names in [brackets]."},
		"a = @":                      {Pos: 4, Found: "@", Text: "The name of a parameter must follow @."},
		"a = @1":                     {Pos: 4, Found: "@", Text: "The name of a parameter must follow @."},
		"a = 1E+":                    {Pos: 4, Found: "1E+", Text: "Digits must follow the E of a number."},
		"a = 1e":                     {Pos: 4, Found: "1e", Text: "Digits must follow the E of a number."},
		"a = 12ab":                   {Pos: 4, Found: "12ab", Text: "This is not a number, and a name must start with a letter."},
		"a = 1E999":                  {Pos: 4, Found: "1E999", Text: "The number is too large."},
		"a = 9223372036854775808":    {Pos: 4, Found: "9223372036854775808", Text: "A whole number must be at most 9223372036854775807."},
		"a = -9223372036854775809":   {Pos: 4, Found: "-9223372036854775809", Text: "A whole number must be at most 9223372036854775807."},
		"sys.Foo='x'":                {Pos: 0, Found: "sys.Foo", Text: "The specified property 'Foo' does not exist or is not allowed; there are " + permitted + "."},
		"a = 1 OR EXISTS(SYS.[b c])": {Pos: 16, Found: "SYS.[b c]", Text: "The specified property 'b c' does not exist or is not allowed; there are " + permitted + "."},
		"order.id = 1":               {Pos: 0, Found: "order", Text: "Only sys and user can precede a period. Write a name with a period in [brackets]."},
		"len(a) = 1":                 {Pos: 0, Found: "len", Text: "Unknown function. Use newid(), property() or its short form p(), or EXISTS() as a condition."},
		"(a = 1) = (b = 2)":          {Pos: 0, Found: "(a = 1)", Text: "A value is needed here, not a condition."},
		"1 + (a = 1) > 1":            {Pos: 4, Found: "(a = 1)", Text: "A value is needed here, not a condition."},
		"-(a = 1)":                   {Pos: 1, Found: "(a = 1)", Text: "A value is needed here, not a condition."},
		"(NOT a) IN (1)":             {Pos: 0, Found: "(NOT a)", Text: "A value is needed here, not a condition."},
		"a IN ((b AND c))":           {Pos: 6, Found: "(b AND c)", Text: "A value is needed here, not a condition."},
		"a LIKE (b OR c)":            {Pos: 7, Found: "(b OR c)", Text: "A value is needed here, not a condition."},
		"a = 1 AND 5":                {Pos: 10, Found: "5", Text: "A condition is needed here, not a value."},
		"'x'":                        {Pos: 0, Found: "'x'", Text: "A condition is needed here, not a value."},
		"a + 1 OR b":                 {Pos: 0, Found: "a + 1", Text: "A condition is needed here, not a value."},
		"NOT -a":                     {Pos: 4, Found: "-a", Text: "A condition is needed here, not a value."},
		"sys.Label":                  {Pos: 0, Found: "sys.Label", Text: "A condition is needed here, not a value."},
		"newid() AND a":              {Pos: 0, Found: "newid()", Text: "A condition is needed here, not a value."},
		"@number":                    {Pos: 0, Found: "@number", Text: "A condition is needed here, not a value."},
		"a + 1 IS NULL":              {Pos: 0, Found: "a + 1", Text: "IS NULL can only follow a property."},
		"1 IS NULL":                  {Pos: 0, Found: "1", Text: "IS NULL can only follow a property."},
		"a LIKE 5":                   {Pos: 7, Found: "5", Text: "This LIKE has a pattern of type long, but needs a string."},
		"a LIKE 'x' ESCAPE 'xy'":     {Pos: 7, Found: "'x' ESCAPE 'xy'", Text: "This LIKE has an escape that is not one character."},
		"a LIKE b ESCAPE ''":         {Pos: 7, Found: "b ESCAPE ''", Text: "This LIKE has an escape that is not one character."},
		"a LIKE b ESCAPE 1":          {Pos: 7, Found: "b ESCAPE 1", Text: "This LIKE has an escape that is not one character."},
		"a LIKE 1 ESCAPE b":          {Pos: 7, Found: "1 ESCAPE b", Text: "This LIKE has a pattern of type long, but needs a string."},
		"a LIKE 'x!' ESCAPE '!'":     {Pos: 7, Found: "'x!' ESCAPE '!'", Text: "This LIKE has a pattern that ends with its escape character."},
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
		"a = 1 AMD b": "Expected AND, OR or the end at character 7, not AMD.",
		"a = ":        "Expected a value at character 5, where the text ends.",
		"sys.Body":    "The specified property 'Body' does not exist or is not allowed; there are " + permitted + ". See character 1, sys.Body.",
	} {
		if _, err := filter.ParseSQL(text, nil); err == nil || err.Error() != want {
			t.Errorf("FILT-28 %s: %v\nwant %s", text, err, want)
		}
	}
}

// Brackets have a maximum depth, but no maximum number.
func TestSyntaxBounds(t *testing.T) {
	for _, c := range []struct{ before, open, inside, shut string }{
		{"", "(", "a = 1", ")"}, {"", "(", "a", ")"}, {"x = ", "p(", "'x'", ")"}, {"", "NOT (", "a", ")"}, {"x = ", "-(", "a", ")"}, {"x IN (", "(", "1", ")"},
	} {
		open := strings.Count(c.before, "(")
		for _, deep := range []int{100, 101, 50_000} {
			n := deep - open
			text := c.before + strings.Repeat(c.open, n) + c.inside + strings.Repeat(c.shut, n) + strings.Repeat(")", open)
			_, err := filter.ParseSQL(text, nil)
			if deep == 100 && err != nil || deep > 100 && (err == nil || !strings.HasPrefix(err.Error(), "More than 100 brackets are open.")) {
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
		"größe": {{From: 0, To: 5, Text: "größe", Result: E, Error: "größe at character 1 must be a condition, not a value of type int.", Reads: []filter.Reading{number}}},
		"p(name) LIKE 'r%' AND -(größe + größe) / 0 = 1": {
			{From: 0, To: 17, Text: "p(name) LIKE 'r%'", Result: T, Reads: []filter.Reading{{Name: "name", Value: value.OfString("color")}, {Name: "color", Value: value.OfString("red")}}},
			{From: 22, To: 46, Text: "-(größe + größe) / 0 = 1", Result: E, Error: "-(größe + größe) / 0 at character 23 divides by zero.", Reads: []filter.Reading{number}},
		},
		"sys.SequenceNumber = @x AND name LIKE gone ESCAPE 'x'": {
			{From: 0, To: 23, Text: "sys.SequenceNumber = @x", Result: E, Error: "@x at character 22 is a parameter without a value in the rule.", Reads: []filter.Reading{{Name: "sys.SequenceNumber", Value: value.OfLong(4)}}},
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
