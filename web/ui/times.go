package ui

import (
	"context"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"mayfly/engine"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/web/show"
)

// refuse is an error about what was typed, with a text of the catalogue.
func refuse(ctx context.Context, id string) error {
	return &engine.Refusal{Kind: engine.ErrArgument, Text: locale.T(ctx, id)}
}

func runes(s string) int64 { return int64(utf8.RuneCountInString(s)) }

// length reads a duration that has to be longer than nothing; never is not one.
func length(ctx context.Context, text string) (time.Duration, error) {
	d, never, err := engine.ParseDuration(show.Spaceless(text))
	if err != nil || never || d <= 0 {
		return 0, refuse(ctx, "ui.duration")
	}
	return d, nil
}

// signed reads a duration that may have a minus, but is not nothing.
func signed(ctx context.Context, text string) (time.Duration, error) {
	text = strings.TrimPrefix(strings.TrimSpace(text), "+")
	if rest, minus := strings.CutPrefix(strings.Replace(text, "−", "-", 1), "-"); minus {
		d, err := length(ctx, rest)
		return -d, err
	}
	return length(ctx, text)
}

// moments are the forms of an instant in UTC that a form takes.
var moments = []string{
	"2006-01-02T15:04", "2006-01-02T15:04:05", time.RFC3339Nano, "2006-01-02 15:04", "2006-01-02 15:04:05",
}

// due reads when a message is to come: zero is at once. Field is the one that
// the error is about.
func due(ctx context.Context, typed url.Values, now engine.Instant) (at engine.Instant, field string, err error) {
	switch typed.Get(page.SendSchedule) {
	case "", "now":
		return 0, page.SendSchedule, nil
	case "in":
		d, err := length(ctx, typed.Get(page.SendIn))
		return now.Add(d), page.SendIn, err
	case "at":
		text := strings.TrimSpace(typed.Get(page.SendAt))
		for _, form := range moments {
			if t, err := time.Parse(form, text); err == nil && t.Year() < 9999 {
				if i := engine.At(t); i > now {
					return i, page.SendAt, nil
				}
				return 0, page.SendAt, refuse(ctx, "ui.past")
			}
		}
		return 0, page.SendAt, refuse(ctx, "ui.moment")
	default:
		return 0, page.SendSchedule, refuse(ctx, "ui.when")
	}
}
