package search

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"mayfly/engine"
	"mayfly/engine/shorten"
)

// An op is a comparison operator.
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

// holds reports whether a value satisfies the operator. c is the result of comparing the value with
// the operand, as by cmp.Compare.
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

// An operand is one value of a term, parsed as each of the types that its text may have.
type operand struct {
	op     op
	text   string // as written, without quotes
	quoted bool   // literal text
	glob   glob   // of text

	number  *number        // nil if the text is no number
	span    *time.Duration // nil if the text is no duration
	never   bool           // ttl:never
	from    engine.Instant // the first instant of a moment; zero if the text is no moment
	until   engine.Instant // the end of the moment, exclusive
	choice  int            // index in choices, for keys of choiceType
	integer int64          // for keys of integerType and sizeType
}

// newOperand parses a value of a key, or returns why it is invalid.
func newOperand(k key, o op, text string, quoted bool) (v operand, why string) {
	v = operand{op: o, text: text, quoted: quoted, glob: newGlob(text, quoted)}
	s := names[k].sort
	if quoted && s != textType && s != anyType {
		return v, fmt.Sprintf("Write the value of %s without quotes, as in %s.", k, names[k].example)
	}
	switch s {
	case choiceType:
		if v.choice = slices.Index(k.choices(), strings.ToLower(text)); v.choice < 0 {
			return v, fmt.Sprintf("%[2]q is not a value of %[1]s. Choose from %[3]s.", k, shorten.To(text, 40), strings.Join(k.choices(), ", "))
		}
	case durationType, expiryType, endType:
		return v.parseDuration(k)
	case momentType:
		if !v.parseMoment() {
			return v, fmt.Sprintf("%q is not a time. Write it as 2026-07-14, 2026-07-14T10:00 or 2026-07-14T10:00:05.250Z.", shorten.To(text, 40))
		}
	case integerType:
		var err error
		if v.integer, err = strconv.ParseInt(text, 10, 64); err != nil {
			return v, fmt.Sprintf("%q is not a whole number. Write it as in %s.", shorten.To(text, 40), names[k].example)
		}
	case sizeType:
		if !v.parseSize() {
			return v, fmt.Sprintf("%q is not a size. Write it as 500, 500B, 1KB, 1.5MB or 1GB.", shorten.To(text, 40))
		}
	case anyType:
		v.parseAll()
		if o != is && v.glob.anything() {
			return v, "* cannot be compared. Compare with a number, a duration, a time or a string."
		}
	case textType:
	}
	return v, ""
}

// parseDuration parses the text as a duration.
func (v *operand) parseDuration(k key) (operand, string) {
	d, never, err := engine.ParseDuration(v.text)
	switch {
	case err != nil:
		return *v, fmt.Sprintf("%q is not a duration. Write it as 90s, 1h30m, 7d or PT1M30S.", shorten.To(v.text, 40))
	case never && k == keyTTL && v.op == is:
		v.never = true
	case never && k >= keyName:
		return *v, fmt.Sprintf("never cannot be compared. Compare with a duration, as in %s.", names[k].example)
	case never:
		return *v, "never cannot be compared. Write ttl:never for messages that do not expire."
	case v.op == is:
		return *v, fmt.Sprintf("An exact duration never matches. Use < or >, as in %s.", names[k].example)
	}
	v.span = &d
	return *v, ""
}

// parseAll parses the text as a number, a moment or a duration, if it is one.
func (v *operand) parseAll() {
	if v.quoted {
		return
	}
	if n, ok := parseNumber(v.text); ok {
		v.number = &n
		return
	}
	if v.parseMoment() {
		return
	}
	if d, never, err := engine.ParseDuration(v.text); err == nil && !never {
		v.span = &d
	}
}

// moments holds the layouts of moments, each with the duration of the moment.
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

func (v *operand) parseMoment() bool {
	for _, m := range moments {
		t, err := time.Parse(m.layout, strings.ToUpper(v.text))
		if err != nil {
			continue
		}
		if strings.Contains(v.text, ".") { // Parse accepts a fraction where seconds are
			m.lasts = time.Millisecond
		}
		v.from = engine.At(t)
		v.until = v.from.Add(m.lasts)
		return v.from > 0
	}
	return false
}

// compareTo compares an instant with the operand's moment; 0 means that the instant is within it.
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

// parseSize parses the text as a size.
func (v *operand) parseSize() bool {
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
		return n >= 0 && n <= maxSize/unit
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !(f >= 0 && f <= float64(maxSize/unit)) || strings.Trim(s, "0123456789.") != "" {
		return false
	}
	v.integer = int64(f * float64(unit))
	return true
}

const maxSize = 1 << 50

// String returns the operand in the form that parses to an equal one.
func (v operand) String() string {
	if v.quoted {
		return signs[v.op] + quote(v.text)
	}
	return signs[v.op] + v.text
}
