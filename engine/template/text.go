package template

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
	"mayfly/engine/shorten"
)

const (
	openBraces  = "{{"
	closeBraces = "}}"
	signs       = "+-" // signs before a duration

	maxPlaceholders = 1000    // placeholders in one text
	maxLetters      = 1 << 20 // letters of all {{letters N}} in a text together
)

// A Text is a text with placeholders. Its zero value is the empty text.
type Text struct {
	parts       []part
	letterCount int // how many letters its {{letters N}} generate
}

// A part is a literal text or a placeholder.
type part struct {
	literal string
	fill    func(*generator) string // nil for a literal
}

// A SyntaxError says what is wrong with a text.
type SyntaxError struct {
	At   int    // byte offset of the placeholder
	Text string // a sentence
}

func (e *SyntaxError) Error() string { return e.Text }

// Plain returns a literal text.
func Plain(text string) Text {
	if text == "" {
		return Text{}
	}
	return Text{parts: []part{{literal: text}}}
}

// Parse parses a text with placeholders. The error is a *SyntaxError.
func Parse(text string) (Text, error) {
	var t Text
	at := 0
	for n := 0; ; {
		i := strings.Index(text[at:], openBraces)
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
			t.add(openBraces)
			at += len(openBraces)
			continue
		}
		end := strings.Index(text[at:], closeBraces)
		if end < 0 {
			return Text{}, &SyntaxError{at, `A placeholder is not closed by }}. Write \{{ for plain braces.`}
		}
		inside := text[at+len(openBraces) : at+end]
		if n++; n > maxPlaceholders {
			return Text{}, &SyntaxError{at, fmt.Sprintf("A text can have at most %d placeholders.", maxPlaceholders)}
		}
		fill, wrong := t.parsePlaceholder(inside)
		if wrong != "" {
			return Text{}, &SyntaxError{at, wrong}
		}
		t.parts = append(t.parts, part{fill: fill})
		at += end + len(closeBraces)
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

// Empty reports whether the text has no parts.
func (t Text) Empty() bool { return len(t.parts) == 0 }

// Fixed reports whether the text is the same for every message.
func (t Text) Fixed() bool {
	for _, p := range t.parts {
		if p.fill != nil {
			return false
		}
	}
	return true
}

func (t Text) fill(f *generator) string {
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

// parsePlaceholder parses the text between the braces. It returns the function that fills in the
// placeholder, or what is wrong with it.
func (t *Text) parsePlaceholder(inside string) (fill func(*generator) string, wrong string) {
	name, rest := inside, ""
	name = strings.TrimSpace(name)
	if i := strings.IndexAny(name, " \t\n+-%"); i >= 0 {
		name, rest = name[:i], name[i:]
	}
	switch name {
	case "n":
		return parseNumber(rest)
	case "now", "unix":
		return parseTime(name, rest)
	case "random":
		return parseRandom(rest)
	case "letters":
		return t.parseLetters(rest)
	case "pick":
		_, choices, _ := strings.Cut(inside, "pick")
		return parsePick(choices)
	}
	switch {
	case rest != "" && (name == "count" || name == "uuid"):
		return nil, fmt.Sprintf("{{%s}} takes no argument; remove %q.", name, shorten.To(strings.TrimSpace(rest), 40))
	case name == "count":
		return func(f *generator) string { return strconv.FormatInt(f.count, 10) }, ""
	case name == "uuid":
		return (*generator).uuid, ""
	default:
		return nil, fmt.Sprintf(`The placeholder {{%s}} does not exist. Choose from n, count, uuid, now, unix, random, pick and letters. Write \{{ for plain braces.`, shorten.To(strings.TrimSpace(inside), 40))
	}
}

// parseNumber parses {{n}}, possibly with an addition or a division.
func parseNumber(rest string) (func(*generator) string, string) {
	rest = strings.TrimSpace(rest)
	if rest == "" {
		return func(f *generator) string { return strconv.FormatInt(f.n, 10) }, ""
	}
	by, err := strconv.ParseInt(strings.TrimSpace(rest[1:]), 10, 64)
	switch {
	case err != nil || by < 0 || by > math.MaxInt64/2:
		return nil, fmt.Sprintf("After {{n, write + - or %% and a whole number, as in {{n+100}}, not %q.", shorten.To(rest, 40))
	case rest[0] == '+':
		return func(f *generator) string { return strconv.FormatInt(f.n+by, 10) }, ""
	case rest[0] == '-':
		return func(f *generator) string { return strconv.FormatInt(f.n-by, 10) }, ""
	case rest[0] == '%' && by > 0:
		return func(f *generator) string { return strconv.FormatInt(f.n%by, 10) }, ""
	default:
		return nil, fmt.Sprintf("After {{n, write + - or %% and a whole number, as in {{n+100}}, not %q.", shorten.To(rest, 40))
	}
}

// parseTime parses {{now}} or {{unix}}, possibly with a duration.
func parseTime(name, rest string) (func(*generator) string, string) {
	rest = strings.TrimSpace(rest)
	by := time.Duration(0)
	if rest != "" {
		d, never, err := engine.ParseDuration(rest[1:])
		if !strings.ContainsAny(rest[:1], signs) || err != nil || never {
			return nil, fmt.Sprintf("After {{%s, write + or - and a duration, as in {{%s+5m}}, not %q.", name, name, shorten.To(rest, 40))
		}
		if by = d; rest[0] == '-' {
			by = -d
		}
	}
	if name == "unix" {
		return func(f *generator) string { return strconv.FormatInt(f.now.Add(by).Time().Unix(), 10) }, ""
	}
	return func(f *generator) string { return f.now.Add(by).Time().UTC().Format("2006-01-02T15:04:05.000Z") }, ""
}

func parseRandom(rest string) (func(*generator) string, string) {
	if ends := strings.Fields(rest); len(ends) == 2 {
		least, err := strconv.ParseInt(ends[0], 10, 64)
		most, err2 := strconv.ParseInt(ends[1], 10, 64)
		if err == nil && err2 == nil && least <= most {
			return func(f *generator) string { return strconv.FormatInt(f.between(least, most), 10) }, ""
		}
	}
	return nil, fmt.Sprintf("{{random}} needs two whole numbers, the smaller one first, as in {{random 1 100}}, not %q.", shorten.To(strings.TrimSpace(rest), 40))
}

// parsePick parses {{pick}}. The texts between the bars are literal; only the space before the first
// and after the last is removed.
func parsePick(rest string) (func(*generator) string, string) {
	rest = strings.TrimSpace(rest)
	choices := strings.Split(rest, "|")
	if len(choices) < 2 {
		return nil, "{{pick}} needs two or more texts separated by bars, as in {{pick a|b|c}}."
	}
	return func(f *generator) string { return choices[f.between(0, int64(len(choices)-1))] }, ""
}

func (t *Text) parseLetters(rest string) (func(*generator) string, string) {
	n, err := strconv.Atoi(strings.TrimSpace(rest))
	if err != nil || n < 1 {
		return nil, fmt.Sprintf("{{letters}} needs a number, 1 or more, as in {{letters 20}}, not %q.", shorten.To(strings.TrimSpace(rest), 40))
	}
	if n > maxLetters || t.letterCount+n > maxLetters {
		return nil, fmt.Sprintf("{{letters}} would make more than %d letters in one text.", maxLetters)
	}
	t.letterCount += n
	return func(f *generator) string { return f.letters(n) }, ""
}

// A Seed determines all random values of a draft's messages.
type Seed [16]byte

// A generator generates the values of placeholders in one message.
type generator struct {
	n, count    int64
	now         engine.Instant
	seed        Seed
	blocksDrawn uint64 // blocks of random bytes
	rest        []byte // unused bytes of the latest block
}

// randomBytes returns n random bytes; n must not exceed a block, which has 32.
func (f *generator) randomBytes(n int) []byte {
	if len(f.rest) < n {
		var from [32]byte
		copy(from[:16], f.seed[:])
		binary.BigEndian.PutUint64(from[16:], uint64(f.n))
		binary.BigEndian.PutUint64(from[24:], f.blocksDrawn)
		block := sha256.Sum256(from[:])
		f.blocksDrawn, f.rest = f.blocksDrawn+1, block[:]
	}
	out := f.rest[:n]
	f.rest = f.rest[n:]
	return out
}

// between returns a random number of at least `least` and at most `most`.
func (f *generator) between(least, most int64) int64 {
	drawn := binary.BigEndian.Uint64(f.randomBytes(8))
	span := uint64(most) - uint64(least) + 1
	if span == 0 { // every int64
		return int64(drawn)
	}
	high, _ := bits.Mul64(drawn, span)
	return int64(uint64(least) + high)
}

func (f *generator) uuid() string {
	b := f.randomBytes(16)
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func (f *generator) letters(n int) string {
	const alphabet = "abcdefghijklmnopqrstuvwxyz234567" // five bits each
	out := make([]byte, n)
	for i := range out {
		out[i] = alphabet[f.randomBytes(1)[0]&31]
	}
	return string(out)
}
