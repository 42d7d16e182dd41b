package filter_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"mayfly/engine/filter"
	"mayfly/engine/value"
)

// characters returns what _ matches: code points, and bytes that are not part of one.
func characters(s string) []string {
	var all []string
	for s != "" {
		_, size := utf8.DecodeRuneInString(s)
		all = append(all, s[:size])
		s = s[size:]
	}
	return all
}

// naiveLike implements LIKE with a table of which prefixes match which. ok is false if the
// pattern ends with an escape.
func naiveLike(s, pattern, escape string) (match, ok bool) {
	type step struct {
		any, run bool
		c        string
	}
	var steps []step
	p := characters(pattern)
	for i := 0; i < len(p); i++ {
		switch {
		case escape != "" && p[i] == escape:
			if i++; i == len(p) {
				return false, false
			}
			steps = append(steps, step{c: p[i]})
		case p[i] == "%":
			steps = append(steps, step{run: true})
		case p[i] == "_":
			steps = append(steps, step{any: true})
		default:
			steps = append(steps, step{c: p[i]})
		}
	}
	text := characters(s)
	table := make([][]bool, len(steps)+1)
	for i := range table {
		table[i] = make([]bool, len(text)+1)
		for j := range table[i] {
			switch {
			case i == 0:
				table[i][j] = j == 0
			case steps[i-1].run:
				table[i][j] = table[i-1][j] || j > 0 && table[i][j-1]
			default:
				table[i][j] = j > 0 && table[i-1][j-1] && (steps[i-1].any || steps[i-1].c == text[j-1])
			}
		}
	}
	return table[len(steps)][len(text)], true
}

// checkLike compares LIKE with naiveLike, with the pattern as a constant and as a property.
func checkLike(t *testing.T, s, pattern, escape string) {
	t.Helper()
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
	fixed, late := "s LIKE "+quote(pattern), "s LIKE pattern"
	if escape != "" {
		fixed, late = fixed+" ESCAPE "+quote(escape), late+" ESCAPE e"
	}
	want, ok := naiveLike(s, pattern, escape)
	m := &filter.Message{Properties: props("s", s, "pattern", pattern, "e", escape)}
	for _, text := range []string{fixed, late} {
		f, err := filter.ParseSQL(text, nil)
		if err != nil {
			if ok || text == late {
				t.Errorf("%q: %v", text, err)
			}
			continue
		}
		got, err := f.Matches(m)
		if (err == nil) != ok || got != want {
			t.Errorf("%q LIKE %q ESCAPE %q is %v, %v; want %v, %v", s, pattern, escape, got, err, want, ok)
		}
	}
}

func TestLikeAgainstTable(t *testing.T) {
	alphabet := []string{"a", "b", "a", "b", "%", "_", "%", "_", "é", "\\", "\xc3", "\xa9", "€", "\xe2", "�"}
	r := rand.New(rand.NewPCG(22, 1))
	draw := func(most int) string {
		var b strings.Builder
		for range r.IntN(most + 1) {
			b.WriteString(alphabet[r.IntN(len(alphabet)-r.IntN(len(alphabet)-2))])
		}
		return b.String()
	}
	for range 10_000 {
		escape := ""
		if r.IntN(3) == 0 {
			escape = alphabet[r.IntN(len(alphabet))]
		}
		checkLike(t, draw(14), draw(8), escape)
	}
	// Patterns with a piece that is cut from the text, mostly of more than 64 characters, and with or
	// without a long run of b_.
	for range 300 {
		s := strings.Repeat("ab", 100) + draw(20) + strings.Repeat("ba", 60)
		n := r.IntN(100)
		checkLike(t, s, "%"+s[n:n+r.IntN(len(s)-n)]+"_"+draw(3)+strings.Repeat("b_", r.IntN(60))+"%"+draw(2), "")
	}
}

// TestLikeEnds checks that LIKE ends soon for patterns for which a backtracking matcher would take
// years.
func TestLikeEnds(t *testing.T) {
	text := strings.Repeat("a", 60_000)
	for _, pattern := range []string{
		strings.Repeat("%a", 500) + "%b", strings.Repeat("a%", 500) + "b", "%" + strings.Repeat("a", 1000) + "b%", "%" + strings.Repeat("a_", 500) + "b%", strings.Repeat("%a_a", 250) + "%b_%", strings.Repeat("%_", 500) + "b%",
	} {
		f, err := filter.ParseSQL("s LIKE p", nil)
		if err != nil {
			t.Fatal(err)
		}
		m := &filter.Message{Properties: props("s", text, "p", pattern)}
		if ok, err := f.Matches(m); ok || err != nil {
			t.Errorf("FILT-22 %.10s… matches: %v, %v", pattern, ok, err)
		}
	}
	// A pattern as long as a property can be needs memory in proportion to its length.
	var wide strings.Builder
	for r := rune(0x4e00); wide.Len() < 60_000; r++ {
		wide.WriteRune(r)
	}
	f, err := filter.ParseSQL("s LIKE '%' + p + '_%'", nil)
	if err != nil {
		t.Fatal(err)
	}
	m := &filter.Message{Properties: value.Properties{{Name: "s", Value: value.OfString("x" + wide.String() + "y")}, {Name: "p", Value: value.OfString(wide.String())}}}
	if ok, err := f.Matches(m); !ok || err != nil {
		t.Errorf("FILT-22 a long text is not like itself: %v, %v", ok, err)
	}
}
