package search

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"mayfly/engine"
)

// An op is how a value is compared.
type op uint8

const (
	is op = iota
	below
	atMost
	above
	atLeast
)

var signs = [...]string{
	is:      "",
	below:   "<",
	atMost:  "<=",
	above:   ">",
	atLeast: ">=",
}

// holds tells whether something that compares as c with the operand fits.
func (o op) holds(c int) bool {
	switch o {
	case below:
		return c < 0
	case atMost:
		return c <= 0
	case above:
		return c > 0
	case atLeast:
		return c >= 0
	default:
		return c == 0
	}
}

// An operand is one value of a term, as everything that its text may stand for.
type operand struct {
	op     op
	text   string // as it was written, without quotes
	quoted bool   // it is this text and nothing else
	glob   glob   // of text

	number  *number        // nil: it is none
	span    *time.Duration // nil: it is none
	never   bool           // of ttl
	from    engine.Instant // a moment, up to but not including until; zero: it is none
	until   engine.Instant
	choice  int   // of state, kind, status and has
	integer int64 // of whole numbers and sizes
}

// newOperand reads a value of a key, or says what is wrong with it.
func newOperand(k key, o op, text string, quoted bool) (v operand, why string) {
	v = operand{op: o, text: text, quoted: quoted, glob: newGlob(text, quoted)}
	s := names[k].sort
	if quoted && s != textSort && s != anySort {
		return v, fmt.Sprintf("The value of %s is written without quotes, as in %s.", k, names[k].example)
	}
	switch s {
	case choiceSort:
		if v.choice = slices.Index(k.choices(), strings.ToLower(text)); v.choice < 0 {
			return v, fmt.Sprintf("There is no %s %q; there are %s.", k, shorten(text), strings.Join(k.choices(), ", "))
		}
	case durationSort, expirySort, endSort:
		return v.ofTime(k)
	case momentSort:
		if !v.moment() {
			return v, fmt.Sprintf("%q is not a moment: write it as 2026-07-14, 2026-07-14T10:00 or 2026-07-14T10:00:05.250Z.", shorten(text))
		}
	case wholeSort:
		var err error
		if v.integer, err = strconv.ParseInt(text, 10, 64); err != nil {
			return v, fmt.Sprintf("%q is not a whole number, as in %s.", shorten(text), names[k].example)
		}
	case sizeSort:
		if !v.bytes() {
			return v, fmt.Sprintf("%q is not a size: write it as 500, 500B, 1KB, 1.5MB or 1GB.", shorten(text))
		}
	case anySort:
		v.guess()
		if o != is && v.glob.anything() {
			return v, "Nothing is more or less than *: compare with a number, a duration, a moment or a text."
		}
	case textSort:
	}
	return v, ""
}

// ofTime reads a duration.
func (v *operand) ofTime(k key) (operand, string) {
	d, never, err := engine.ParseDuration(v.text)
	switch {
	case err != nil:
		return *v, fmt.Sprintf("%q is not a duration: write it as 90s, 1h30m, 7d or PT1M30S.", shorten(v.text))
	case never && k == keyTTL && v.op == is:
		v.never = true
	case never && k >= keyName:
		return *v, fmt.Sprintf("Nothing is more or less than never, as it could be of %s.", names[k].example)
	case never:
		return *v, "Nothing is more or less than never; write ttl:never for what does not run out."
	case v.op == is:
		return *v, fmt.Sprintf("No time is exactly that: write more or less, as in %s.", names[k].example)
	}
	v.span = &d
	return *v, ""
}

// guess finds out what the text may be besides a text.
func (v *operand) guess() {
	if v.quoted {
		return
	}
	if n, ok := parseNumber(v.text); ok {
		v.number = &n
		return
	}
	if v.moment() {
		return
	}
	if d, never, err := engine.ParseDuration(v.text); err == nil && !never {
		v.span = &d
	}
}

// The ways to write a moment, and how long what is left out lasts.
var moments = [...]struct {
	layout string
	lasts  time.Duration
}{
	{"2006-01-02", 24 * time.Hour},
	{"2006-01-02T15:04", time.Minute},
	{"2006-01-02T15:04Z07:00", time.Minute},
	{"2006-01-02T15:04:05", time.Second},
	{"2006-01-02T15:04:05Z07:00", time.Second},
}

func (v *operand) moment() bool {
	for _, m := range moments {
		t, err := time.Parse(m.layout, strings.ToUpper(v.text))
		if err != nil {
			continue
		}
		if strings.Contains(v.text, ".") { // Parse takes a fraction where seconds are
			m.lasts = time.Millisecond
		}
		v.from = engine.At(t)
		v.until = v.from.Add(m.lasts)
		return v.from > 0
	}
	return false
}

// compareTo is how an instant compares with the moment: 0 is within it.
func (v *operand) compareTo(at engine.Instant) int {
	switch {
	case at < v.from:
		return -1
	case at >= v.until:
		return +1
	default:
		return 0
	}
}

// bytes reads a size.
func (v *operand) bytes() bool {
	s := strings.ToUpper(v.text)
	unit := int64(1)
	for _, u := range [...]struct {
		name string
		n    int64
	}{{"KIB", 1 << 10}, {"MIB", 1 << 20}, {"GIB", 1 << 30}, {"KB", 1 << 10}, {"MB", 1 << 20}, {"GB", 1 << 30}, {"B", 1}} {
		if rest, ok := strings.CutSuffix(s, u.name); ok {
			s, unit = rest, u.n
			break
		}
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		v.integer = n * unit
		return n >= 0 && n <= mostBytes/unit
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !(f >= 0 && f <= float64(mostBytes/unit)) || strings.Trim(s, "0123456789.") != "" {
		return false
	}
	v.integer = int64(f * float64(unit))
	return true
}

const mostBytes = 1 << 50

// String writes the operand so that it reads back as it is.
func (v operand) String() string {
	if v.quoted {
		return signs[v.op] + quote(v.text)
	}
	return signs[v.op] + v.text
}
