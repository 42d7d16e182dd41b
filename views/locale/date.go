package locale

import (
	"context"
	"time"
)

// dates are how languages write a date in figures, as layouts of package time, from CLDR's
// short and medium forms with a year of four digits. English has no one order of its own:
// it writes that which nobody misreads. Within a date no line breaks.
func dates() map[string]string {
	return map[string]string{
		"en":    time.DateOnly,
		"pt-PT": "02/01/2006",
		"pt-BR": "02/01/2006",
		"cs":    "2.\u00a01.\u00a02006",
		"zh-CN": "2006/1/2",
	}
}

// DateLayout is how the language of ctx writes a date, as the one that package time shows
// layouts by. Scripts have it too, so that what they rewrite is as the server wrote it.
func DateLayout(ctx context.Context) string { return dates()[Lang(ctx)] }

// Date is the day of t, in UTC, as the language of ctx writes it.
func Date(ctx context.Context, t time.Time) string { return t.UTC().Format(DateLayout(ctx)) }

// Moment is Date with the time of day, to the second. All of the languages count 24 hours.
func Moment(ctx context.Context, t time.Time) string {
	return Date(ctx, t) + t.UTC().Format(" 15:04:05")
}
