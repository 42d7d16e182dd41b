package history

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"mayfly/engine"
	"mayfly/engine/shorten"
)

// The query parameters of a filter.
const (
	ParamScope   = "scope"
	ParamPath    = "path"
	ParamMessage = "message"
	ParamGroup   = "group"
	ParamActor   = "actor"
	ParamText    = "q"
	ParamFrom    = "from"
	ParamUntil   = "until"
	ParamCursor  = "cursor"
)

// Params returns the names of all query parameters.
func Params() []string {
	return []string{ParamScope, ParamPath, ParamMessage, ParamGroup, ParamActor, ParamText, ParamFrom, ParamUntil, ParamCursor}
}

// maxTextLength bounds the actor and text searched for, in bytes.
const maxTextLength = 200

// ParseFilter parses a filter from query parameters. It ignores a parameter that it cannot parse, and
// sets an engine.ErrArgument under its name in wrong.
func ParseFilter(q url.Values, limits engine.Limits) (f Filter, wrong map[string]error) {
	wrong = map[string]error{}
	word := func(name string, read func(string) error) {
		if text := strings.TrimSpace(q.Get(name)); text != "" {
			if err := read(text); err != nil {
				wrong[name] = err
			}
		}
	}
	word(ParamScope, func(s string) (err error) {
		f.Scope, err = oneOf("scope", Scope(s), Scopes())
		return err
	})
	word(ParamGroup, func(s string) (err error) {
		f.Group, err = oneOf("group", Group(s), Groups())
		return err
	})
	word(ParamPath, func(s string) (err error) {
		p, err := engine.ParsePath(s, limits)
		if err != nil {
			return engine.Refuse(engine.ErrArgument, "'%s' is not the path of an entity.", shorten.Quote(s))
		}
		f.Path = p.Entity()
		return nil
	})
	word(ParamMessage, func(s string) error {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil || n == 0 {
			return engine.Refuse(engine.ErrArgument, "'%s' is not the key of a message.", shorten.Quote(s))
		}
		f.Message = engine.Key(n)
		return nil
	})
	word(ParamActor, textParam(&f.Actor))
	word(ParamText, textParam(&f.Text))
	word(ParamFrom, timeParam(&f.From))
	word(ParamUntil, timeParam(&f.Until))
	word(ParamCursor, func(s string) (err error) {
		f.Before, err = ParseCursor(s)
		return err
	})
	return f, wrong
}

func oneOf[T ~string](what string, given T, known []T) (T, error) {
	if slices.Contains(known, given) {
		return given, nil
	}
	return "", engine.Refuse(engine.ErrArgument, "The %s must be one of %q, not '%s'.", what, known[1:], shorten.Quote(string(given)))
}

func textParam(to *string) func(string) error {
	return func(s string) error {
		if len(s) > maxTextLength {
			return engine.Refuse(engine.ErrArgument, "The text to search for must not be longer than %d bytes.", maxTextLength)
		}
		*to = s
		return nil
	}
}

// timeLayouts are the accepted layouts of an instant; without an offset it is in UTC.
var timeLayouts = []string{
	time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05.999", "2006-01-02T15:04", time.DateTime, time.DateOnly,
}

func timeParam(to *engine.Instant) func(string) error {
	return func(s string) error {
		for _, layout := range timeLayouts {
			if at, err := time.Parse(layout, strings.ToUpper(s)); err == nil && at.Unix() > 0 {
				*to = engine.At(at)
				return nil
			}
		}
		return engine.Refuse(engine.ErrArgument, "'%s' is not a time. Write it in UTC as 2026-07-14T10:30.", shorten.Quote(s))
	}
}

// Values returns the query parameters of f.
func (f Filter) Values() url.Values {
	q := url.Values{}
	set := func(name, text string) {
		if text != "" {
			q.Set(name, text)
		}
	}
	set(ParamScope, string(f.Scope))
	set(ParamPath, string(f.Path))
	if f.Message != 0 {
		set(ParamMessage, strconv.FormatUint(uint64(f.Message), 10))
	}
	set(ParamGroup, string(f.Group))
	set(ParamActor, f.Actor)
	set(ParamText, f.Text)
	set(ParamFrom, formatTime(f.From))
	set(ParamUntil, formatTime(f.Until))
	if f.Before != (engine.HistoryCursor{}) {
		set(ParamCursor, FormatCursor(f.Before))
	}
	return q
}

// formatTime formats an instant as short as possible, so that an input of type datetime-local
// accepts it.
func formatTime(at engine.Instant) string {
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

// FormatCursor formats a position in the history for query strings: its instant in milliseconds,
// its epoch and its number.
func FormatCursor(p engine.HistoryCursor) string { return fmt.Sprintf("%d-%d-%d", p.At, p.Epoch, p.N) }

// ParseCursor parses the output of FormatCursor. Anything else is an engine.ErrArgument.
func ParseCursor(s string) (p engine.HistoryCursor, err error) {
	parts := strings.Split(s, "-")
	bad := engine.Refuse(engine.ErrArgument, "'%s' is not a position in the history.", shorten.Quote(s))
	if len(parts) != 3 {
		return p, bad
	}
	var n [3]uint64
	for i, part := range parts {
		if n[i], err = strconv.ParseUint(part, 10, 63); err != nil {
			return p, bad
		}
	}
	return engine.HistoryCursor{At: engine.Instant(n[0]), Epoch: n[1], N: n[2]}, nil
}
