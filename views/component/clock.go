package component

import (
	"context"
	"math"
	"strconv"
	"time"

	"github.com/a-h/templ"

	"mayfly/views/locale"
	"mayfly/views/view"
)

// A Clock is a stretch of time that runs out: what rings, countdowns, flaps
// and hourglasses draw. Its zero value never runs out.
type Clock struct {
	At  time.Time     // the instant it runs out; zero: never
	Of  time.Duration // the whole stretch, of which a share is left
	Now time.Time     // the broker's clock at rendering
	As  Tone          // fixes the tone; empty: Urgency of the time left
}

// left is the time left in whole seconds, rounded up: a clock shows zero only
// when its time has come.
func (c Clock) left() time.Duration {
	d := c.At.Sub(c.Now)
	if d <= 0 {
		return 0
	}
	return (d + time.Second - 1) / time.Second * time.Second
}

func (c Clock) share() float64 {
	if c.Of <= 0 {
		return 0
	}
	return min(1, float64(c.left())/float64(c.Of))
}

// Tone is the tone of the time left. Standing still it is the calm one, until
// the script has looked.
func (c Clock) Tone(ctx context.Context) Tone {
	switch {
	case c.As != "":
		return c.As
	case c.At.IsZero():
		return Never
	case view.IsStill(ctx):
		return Plenty
	default:
		return Urgency(c.left(), c.Of)
	}
}

// timer is the attributes of the time element the script drives.
func (c Clock) timer(ctx context.Context) templ.Attributes {
	a := templ.Attributes{
		"role":     "timer",
		"datetime": iso(c.At),
		"title":    iso(c.At),
		"data-of":  seconds(c.Of),
	}
	if c.As != "" {
		a["data-as"] = string(c.As)
	} else {
		low, critical := limits(c.Of)
		a["data-low"], a["data-crit"] = seconds(low), seconds(critical)
	}
	if !view.IsStill(ctx) {
		a["aria-label"] = LongSpan(ctx, c.left())
	}
	return a
}

// reading is the text of the clock. Standing still it is the instant, which
// the script replaces as soon as it sees it.
func (c Clock) reading(ctx context.Context) string {
	switch {
	case view.IsStill(ctx):
		return clockTime(c.At)
	case c.left() == 0:
		return locale.T(ctx, "time.expiring")
	default:
		return Span(ctx, c.left())
	}
}

// digits is the reading of a board: minutes and seconds.
func (c Clock) digits(ctx context.Context) string {
	left := int(c.left() / time.Second)
	if view.IsStill(ctx) {
		left = 0
	}
	return two(left/60) + ":" + two(left%60)
}

// flapsFit says whether minutes of two digits can tell the time left.
func (c Clock) flapsFit() bool { return c.left() < 100*time.Minute }

func seconds(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64)
}

// A Hold is the lock on a message, drawn as a thin second ring. Its zero value
// is no lock.
type Hold struct {
	Until time.Time
	Of    time.Duration // the lock duration

	Since     time.Time // when it was taken; zero: not known, it was before a restart
	Renewals  int       // how often it was renewed since
	RenewedAt time.Time // when last; zero: never
}

func (h Hold) held() bool { return !h.Until.IsZero() }

func (h Hold) share(ctx context.Context, now time.Time) float64 {
	if view.IsStill(ctx) || h.Of <= 0 {
		return 1
	}
	return max(0, min(1, float64(h.Until.Sub(now))/float64(h.Of)))
}

// ringPath is a circle, or the diamond of the last moments; smaller when a
// lock is drawn around it.
func ringPath(tone Tone, held bool) string {
	r := 7.0
	if held {
		r = 5.5
	}
	if tone == Critical {
		s := r + 1.5
		return "M10 " + fig(10-s) + "L" + fig(10+s) + " 10L10 " + fig(10+s) + "L" + fig(10-s) + " 10Z"
	}
	d := fig(2 * r)
	arc := "a" + fig(r) + " " + fig(r) + " 0 0 1 0 "
	return "M10 " + fig(10-r) + arc + d + arc + "-" + d
}

func (c Clock) ringShare(ctx context.Context) float64 {
	if view.IsStill(ctx) {
		return 1
	}
	return c.share()
}

// dash and offset draw a share of a path of length 100 so that it drains
// clockwise.
func dash(share float64) string { return strconv.Itoa(percent(share)) + " 100" }

func offset(share float64) string { return strconv.Itoa(percent(share) - 100) }

func percent(share float64) int { return int(math.Round(share * 100)) }

// sandPath draws both heaps true to area: a triangle's height goes with the
// root of its share.
func sandPath(share float64) string {
	k := math.Sqrt(max(0, min(1, share)))
	x := func(n float64) string { return fix(12 + n*5.2*k) }
	y := func(n float64) string { return fix(16 + n*10*k) }
	return "M" + x(-1) + " " + y(-1) + "H" + x(1) + "L12 16ZM" + x(-1) + " " + y(1) + "H" + x(1) + "L17.2 26.5H6.8Z"
}

func fig(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func fix(f float64) string { return strconv.FormatFloat(f, 'f', 2, 64) }
