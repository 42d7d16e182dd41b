package locale

import (
	"context"
	"time"
)

// dates holds each language's layout of a numeric date, for package time: CLDR's short and medium
// forms with a four-digit year. English has no single order, so its layout is an unambiguous one.
// Spaces in a layout do not break.
var dates = map[string]string{
	"en":    time.DateOnly,
	"pt-PT": "02/01/2006",
	"pt-BR": "02/01/2006",
	"cs":    "2.\u00a01.\u00a02006",
	"zh-CN": "2006/1/2",
}

// DateLayout returns the date layout of the language of ctx, for package time. Scripts get it
// too, so that they write dates as the server does.
func DateLayout(ctx context.Context) string { return dates[Lang(ctx)] }

// Date writes the day of t, in UTC, in the language of ctx.
func Date(ctx context.Context, t time.Time) string { return t.UTC().Format(DateLayout(ctx)) }

// DateTime is Date with the time of day, to the second. All of the languages use 24 hours.
func DateTime(ctx context.Context, t time.Time) string {
	return Date(ctx, t) + t.UTC().Format(" 15:04:05")
}
