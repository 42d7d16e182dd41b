package draft

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"mayfly/engine"
)

const (
	open  = "{{"
	shut  = "}}"
	moves = "+-" // what a number or an instant can be moved by

	mostPlaceholders = 1000    // of one text
	mostLetters      = 1 << 20 // that all {{letters N}} of a text make together
)

// A Text is one with placeholders. Its zero value is the empty text.
type Text struct {
	parts []part
	most  int // letters that are made
}

// A part is a literal text, or what is put in its place.
type part struct {
	literal string
	fill    func(*filling) string // nil: a literal
}

// A SyntaxError says what is wrong with a text.
type SyntaxError struct {
	At   int    // in bytes, where the placeholder begins
	Text string // a sentence
}

func (e *SyntaxError) Error() string { return e.Text }

// Plain is text as it is, whatever is in it.
func Plain(text string) Text {
	if text == "" {
		return Text{}
	}
	return Text{parts: []part{{literal: text}}}
}

// Parse finds the placeholders of a text. The error is a *SyntaxError.
func Parse(text string) (Text, error) {
	var t Text
	at := 0
	for n := 0; ; {
		i := strings.Index(text[at:], open)
		if i < 0 {
			t.add(text[at:])
			return t, nil
		}
		before := text[at : at+i]
		bare := strings.TrimRight(before, `\`)
		slashes := len(before) - len(bare)
		t.add(bare + strings.Repeat(`\`, slashes/2))
		at += i
		if slashes%2 == 1 {
			t.add(open)
			at += len(open)
			continue
		}
		end := strings.Index(text[at:], shut)
		if end < 0 {
			return Text{}, &SyntaxError{at, `A placeholder has no }} at its end. Write \{{ for braces that are none.`}
		}
		inside := text[at+len(open) : at+end]
		if n++; n > mostPlaceholders {
			return Text{}, &SyntaxError{at, fmt.Sprintf("There are more than %d placeholders.", mostPlaceholders)}
		}
		fill, wrong := t.placeholder(inside)
		if wrong != "" {
			return Text{}, &SyntaxError{at, wrong}
		}
		t.parts = append(t.parts, part{fill: fill})
		at += end + len(shut)
	}
}

func (t *Text) add(literal string) {
	if literal == "" {
		return
	}
	if last := len(t.parts) - 1; last >= 0 && t.parts[last].fill == nil {
		t.parts[last].literal += literal
		return
	}
	t.parts = append(t.parts, part{literal: literal})
}

// Empty tells whether nothing at all was written.
func (t Text) Empty() bool { return len(t.parts) == 0 }

// Fixed tells whether the text is the same for every message.
func (t Text) Fixed() bool {
	for _, p := range t.parts {
		if p.fill != nil {
			return false
		}
	}
	return true
}

func (t Text) fill(f *filling) string {
	switch {
	case len(t.parts) == 0:
		return ""
	case len(t.parts) == 1 && t.parts[0].fill == nil:
		return t.parts[0].literal
	}
	var b strings.Builder
	for _, p := range t.parts {
		if p.fill == nil {
			b.WriteString(p.literal)
		} else {
			b.WriteString(p.fill(f))
		}
	}
	return b.String()
}

// placeholder is what stands for the text between the braces, or what is wrong
// with it.
func (t *Text) placeholder(inside string) (fill func(*filling) string, wrong string) {
	name, rest := inside, ""
	name = strings.TrimSpace(name)
	if i := strings.IndexAny(name, " \t\n+-%"); i >= 0 {
		name, rest = name[:i], name[i:]
	}
	switch name {
	case "n":
		return number(rest)
	case "now", "unix":
		return moment(name, rest)
	case "random":
		return random(rest)
	case "letters":
		return t.letters(rest)
	case "pick":
		_, choices, _ := strings.Cut(inside, "pick")
		return pick(choices)
	}
	switch {
	case rest != "" && (name == "count" || name == "uuid"):
		return nil, fmt.Sprintf("{{%s}} stands alone, without %q.", name, brief(strings.TrimSpace(rest)))
	case name == "count":
		return func(f *filling) string { return strconv.FormatInt(f.count, 10) }, ""
	case name == "uuid":
		return (*filling).uuid, ""
	default:
		return nil, fmt.Sprintf(`There is no placeholder {{%s}}; there are n, count, uuid, now, unix, random, pick and letters. Write \{{ for braces that are none.`, brief(strings.TrimSpace(inside)))
	}
}

// number is {{n}}, with something added to it or the rest of a division.
func number(rest string) (func(*filling) string, string) {
	rest = strings.TrimSpace(rest)
	if rest == "" {
		return func(f *filling) string { return strconv.FormatInt(f.n, 10) }, ""
	}
	by, err := strconv.ParseInt(strings.TrimSpace(rest[1:]), 10, 64)
	switch {
	case err != nil || by < 0 || by > math.MaxInt64/2:
		return nil, fmt.Sprintf("After {{n there is + - or %% and a whole number, as in {{n+100}}, not %q.", brief(rest))
	case rest[0] == '+':
		return func(f *filling) string { return strconv.FormatInt(f.n+by, 10) }, ""
	case rest[0] == '-':
		return func(f *filling) string { return strconv.FormatInt(f.n-by, 10) }, ""
	case rest[0] == '%' && by > 0:
		return func(f *filling) string { return strconv.FormatInt(f.n%by, 10) }, ""
	default:
		return nil, fmt.Sprintf("After {{n there is + - or %% and a whole number, as in {{n+100}}, not %q.", brief(rest))
	}
}

// moment is {{now}} or {{unix}}, and so much later or earlier.
func moment(name, rest string) (func(*filling) string, string) {
	rest = strings.TrimSpace(rest)
	by := time.Duration(0)
	if rest != "" {
		d, never, err := engine.ParseDuration(rest[1:])
		if !strings.ContainsAny(rest[:1], moves) || err != nil || never {
			return nil, fmt.Sprintf("After {{%s there is + or - and a duration, as in {{%s+5m}}, not %q.", name, name, brief(rest))
		}
		if by = d; rest[0] == '-' {
			by = -d
		}
	}
	if name == "unix" {
		return func(f *filling) string { return strconv.FormatInt(f.now.Add(by).Time().Unix(), 10) }, ""
	}
	return func(f *filling) string { return f.now.Add(by).Time().UTC().Format("2006-01-02T15:04:05.000Z") }, ""
}

func random(rest string) (func(*filling) string, string) {
	if ends := strings.Fields(rest); len(ends) == 2 {
		least, err := strconv.ParseInt(ends[0], 10, 64)
		most, err2 := strconv.ParseInt(ends[1], 10, 64)
		if err == nil && err2 == nil && least <= most {
			return func(f *filling) string { return strconv.FormatInt(f.between(least, most), 10) }, ""
		}
	}
	return nil, fmt.Sprintf("{{random}} has two whole numbers, the smaller first, as in {{random 1 100}}, not %q.", brief(strings.TrimSpace(rest)))
}

// pick takes what stands between the bars as it is, but for the space behind the
// word and those at the end.
func pick(rest string) (func(*filling) string, string) {
	rest = strings.TrimSpace(rest)
	choices := strings.Split(rest, "|")
	if len(choices) < 2 {
		return nil, "{{pick}} has two texts or more with bars between them, as in {{pick a|b|c}}."
	}
	return func(f *filling) string { return choices[f.between(0, int64(len(choices)-1))] }, ""
}

func (t *Text) letters(rest string) (func(*filling) string, string) {
	n, err := strconv.Atoi(strings.TrimSpace(rest))
	if err != nil || n < 1 {
		return nil, fmt.Sprintf("{{letters}} has a number from 1, as in {{letters 20}}, not %q.", brief(strings.TrimSpace(rest)))
	}
	if n > mostLetters || t.most+n > mostLetters {
		return nil, fmt.Sprintf("{{letters}} would make more than %d letters in one text.", mostLetters)
	}
	t.most += n
	return func(f *filling) string { return f.letters(n) }, ""
}

// brief cuts what is told again.
func brief(s string) string {
	const most = 40
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// A Seed decides all that is random of what is made of a draft.
type Seed [16]byte

// A filling is one message that is being made.
type filling struct {
	n, count int64
	now      engine.Instant
	seed     Seed
	drawn    uint64 // blocks of random bytes
	rest     []byte // of the latest block
}

// take is so many random bytes, at most a block of them.
func (f *filling) take(n int) []byte {
	if len(f.rest) < n {
		var from [32]byte
		copy(from[:16], f.seed[:])
		binary.BigEndian.PutUint64(from[16:], uint64(f.n))
		binary.BigEndian.PutUint64(from[24:], f.drawn)
		block := sha256.Sum256(from[:])
		f.drawn, f.rest = f.drawn+1, block[:]
	}
	out := f.rest[:n]
	f.rest = f.rest[n:]
	return out
}

// between is a random number, the ends included.
func (f *filling) between(least, most int64) int64 {
	drawn := binary.BigEndian.Uint64(f.take(8))
	span := uint64(most) - uint64(least) + 1
	if span == 0 { // every number there is
		return int64(drawn)
	}
	high, _ := bits.Mul64(drawn, span)
	return int64(uint64(least) + high)
}

func (f *filling) uuid() string {
	b := f.take(16)
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func (f *filling) letters(n int) string {
	const alphabet = "abcdefghijklmnopqrstuvwxyz234567" // five bits each
	out := make([]byte, n)
	for i := range out {
		out[i] = alphabet[f.take(1)[0]&31]
	}
	return string(out)
}
