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
	return &show.Refusal{Kind: engine.ErrArgument, Text: locale.T(ctx, id)}
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
		at, wrong := show.ReadMoment(typed.Get(page.SendAt), now)
		if wrong != "" {
			return 0, page.SendAt, refuse(ctx, wrong)
		}
		return at, page.SendAt, nil
	default:
		return 0, page.SendSchedule, refuse(ctx, "ui.when")
	}
}
