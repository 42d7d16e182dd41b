package past

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"mayfly/engine"
)

// The names of a filter's words.
const (
	WordScope   = "scope"
	WordPath    = "path"
	WordMessage = "message"
	WordGroup   = "group"
	WordActor   = "actor"
	WordText    = "q"
	WordFrom    = "from"
	WordUntil   = "until"
	WordBefore  = "before"
)

// Words are the names of all words there are.
func Words() []string {
	return []string{WordScope, WordPath, WordMessage, WordGroup, WordActor, WordText, WordFrom, WordUntil, WordBefore}
}

// longestText bounds what is looked for in texts, in bytes.
const longestText = 200

// Read takes a filter from the words of an address. What cannot be read is left
// out, and has an error under its name, an engine.ErrArgument each.
func Read(q url.Values, limits engine.Limits) (f Filter, wrong map[string]error) {
	wrong = map[string]error{}
	word := func(name string, read func(string) error) {
		if text := strings.TrimSpace(q.Get(name)); text != "" {
			if err := read(text); err != nil {
				wrong[name] = err
			}
		}
	}
	word(WordScope, func(s string) (err error) {
		f.Scope, err = oneOf("scope", Scope(s), Scopes())
		return err
	})
	word(WordGroup, func(s string) (err error) {
		f.Group, err = oneOf("group", Group(s), Groups())
		return err
	})
	word(WordPath, func(s string) (err error) {
		p, err := engine.ParsePath(s, limits)
		if err != nil {
			return refuse("'%s' is not the path of an entity.", cut(s))
		}
		f.Path = p.Entity()
		return nil
	})
	word(WordMessage, func(s string) error {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil || n == 0 {
			return refuse("'%s' is not the key of a message.", cut(s))
		}
		f.Message = engine.Key(n)
		return nil
	})
	word(WordActor, text(&f.Actor))
	word(WordText, text(&f.Text))
	word(WordFrom, moment(&f.From))
	word(WordUntil, moment(&f.Until))
	word(WordBefore, func(s string) (err error) {
		f.Before, err = ParsePlace(s)
		return err
	})
	return f, wrong
}

func oneOf[T ~string](what string, given T, known []T) (T, error) {
	if slices.Contains(known, given) {
		return given, nil
	}
	return "", refuse("The %s '%s' is none of %q.", what, cut(string(given)), known[1:])
}

func text(to *string) func(string) error {
	return func(s string) error {
		if len(s) > longestText {
			return refuse("At most %d bytes are looked for.", longestText)
		}
		*to = s
		return nil
	}
}

// moments are how an instant is written: in UTC where it does not say.
func moments() []string {
	return []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05.999", "2006-01-02T15:04", time.DateTime, time.DateOnly}
}

func moment(to *engine.Instant) func(string) error {
	return func(s string) error {
		for _, layout := range moments() {
			if at, err := time.Parse(layout, strings.ToUpper(s)); err == nil && at.Unix() > 0 {
				*to = engine.At(at)
				return nil
			}
		}
		return refuse("'%s' is not a time such as 2026-07-14T10:30, in UTC.", cut(s))
	}
}

// Values are the words of f.
func (f Filter) Values() url.Values {
	q := url.Values{}
	set := func(name, text string) {
		if text != "" {
			q.Set(name, text)
		}
	}
	set(WordScope, string(f.Scope))
	set(WordPath, string(f.Path))
	if f.Message != 0 {
		set(WordMessage, strconv.FormatUint(uint64(f.Message), 10))
	}
	set(WordGroup, string(f.Group))
	set(WordActor, f.Actor)
	set(WordText, f.Text)
	set(WordFrom, writeMoment(f.From))
	set(WordUntil, writeMoment(f.Until))
	if f.Before != (engine.PastPlace{}) {
		set(WordBefore, WritePlace(f.Before))
	}
	return q
}

// writeMoment is as short as the instant allows, and what a field for local
// times takes.
func writeMoment(at engine.Instant) string {
	switch t := at.Time(); {
	case at == 0:
		return ""
	case at%1000 != 0:
		return t.Format("2006-01-02T15:04:05.000")
	case at%60_000 != 0:
		return t.Format("2006-01-02T15:04:05")
	default:
		return t.Format("2006-01-02T15:04")
	}
}

// WritePlace is a place in a history as addresses write it: its instant in
// milliseconds, its epoch, its number.
func WritePlace(p engine.PastPlace) string { return fmt.Sprintf("%d-%d-%d", p.At, p.Epoch, p.N) }

// ParsePlace reads what WritePlace wrote; an engine.ErrArgument otherwise.
func ParsePlace(s string) (p engine.PastPlace, err error) {
	parts := strings.Split(s, "-")
	bad := refuse("'%s' is not a place in the history.", cut(s))
	if len(parts) != 3 {
		return p, bad
	}
	var n [3]uint64
	for i, part := range parts {
		if n[i], err = strconv.ParseUint(part, 10, 63); err != nil {
			return p, bad
		}
	}
	return engine.PastPlace{At: engine.Instant(n[0]), Epoch: n[1], N: n[2]}, nil
}

func refuse(format string, args ...any) error {
	return &engine.Refusal{Kind: engine.ErrArgument, Text: fmt.Sprintf(format, args...)}
}

// cut shortens what somebody sent for use in an error.
func cut(s string) string {
	const most = 64
	s = strings.ToValidUTF8(s, "\ufffd")
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
