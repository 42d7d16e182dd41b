package dashboard

import (
	"context"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"mayfly/engine"
	"mayfly/views/locale"
	sendpage "mayfly/views/page/send"
	"mayfly/web/dashboard/pages"
	"mayfly/web/dashboard/send"
)

// formError returns an error about a form's value, with a text of the catalogue.
func formError(ctx context.Context, id string) error {
	return &pages.LocalizedError{Err: engine.ErrArgument, Text: locale.T(ctx, id)}
}

func runes(s string) int64 { return int64(utf8.RuneCountInString(s)) }

// parseLength parses a positive duration; "never" is not one.
func parseLength(ctx context.Context, text string) (time.Duration, error) {
	d, never, err := engine.ParseDuration(pages.RemoveSpaces(text))
	if err != nil || never || d <= 0 {
		return 0, formError(ctx, "ui.duration")
	}
	return d, nil
}

// parseSignedLength parses a duration that may be negative, but not zero.
func parseSignedLength(ctx context.Context, text string) (time.Duration, error) {
	text = strings.TrimPrefix(strings.TrimSpace(text), "+")
	if rest, minus := strings.CutPrefix(strings.Replace(text, "−", "-", 1), "-"); minus {
		d, err := parseLength(ctx, rest)
		return -d, err
	}
	return parseLength(ctx, text)
}

// parseDue returns the time at which a message is to become active, or zero if that is at once.
// `field` is the name of the field that an error is about.
func parseDue(ctx context.Context, typed url.Values, now engine.Instant) (at engine.Instant, field string, err error) {
	switch typed.Get(sendpage.SendSchedule) {
	case "", "now":
		return 0, sendpage.SendSchedule, nil
	case "in":
		d, err := parseLength(ctx, typed.Get(sendpage.SendIn))
		return now.Add(d), sendpage.SendIn, err
	case "at":
		at, wrong := send.ParseTime(typed.Get(sendpage.SendAt), now)
		if wrong != "" {
			return 0, sendpage.SendAt, formError(ctx, wrong)
		}
		return at, sendpage.SendAt, nil
	default:
		return 0, sendpage.SendSchedule, formError(ctx, "ui.when")
	}
}
