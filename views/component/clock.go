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

// A Clock shows the time left until an instant, as a ring, countdown, flaps or hourglass. The
// zero Clock never runs out.
type Clock struct {
	At  time.Time     // when it runs out; zero means never
	Of  time.Duration // the whole duration, of which a share is left
	Now time.Time     // the broker's clock when rendered
	As  Tone          // fixes the tone; empty means Urgency of the time left
}

// left returns the time left in whole seconds, rounded up: a clock shows zero only when it has
// run out.
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

// Tone returns As if it is set, Never for a clock that never runs out, and else the Urgency of the
// time left. With view.WithFrozenClocks that is Plenty, until the script has updated the clock.
func (c Clock) Tone(ctx context.Context) Tone {
	switch {
	case c.As != "":
		return c.As
	case c.At.IsZero():
		return Never
	case view.ClocksFrozen(ctx):
		return Plenty
	default:
		return Urgency(c.left(), c.Of)
	}
}

// timer returns the attributes of the time element that the script updates.
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
	if !view.ClocksFrozen(ctx) {
		a["aria-label"] = LongSpan(ctx, c.left())
	}
	return a
}

// reading returns the text of the clock. With view.WithFrozenClocks it is the instant,
// which the script replaces at once.
func (c Clock) reading(ctx context.Context) string {
	switch {
	case view.ClocksFrozen(ctx):
		return clockTime(c.At)
	case c.left() == 0:
		return locale.T(ctx, "time.expiring")
	default:
		return Span(ctx, c.left())
	}
}

// digits returns minutes and seconds for flaps.
func (c Clock) digits(ctx context.Context) string {
	left := int(c.left() / time.Second)
	if view.ClocksFrozen(ctx) {
		left = 0
	}
	return twoDigits(left/60) + ":" + twoDigits(left%60)
}

// flapsFit reports whether two digits of minutes can show the time left.
func (c Clock) flapsFit() bool { return c.left() < 100*time.Minute }

func seconds(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64)
}

// A LockInfo is the lock on a message, drawn as a second, thin ring. Its zero value means no lock.
type LockInfo struct {
	Until time.Time
	Of    time.Duration // the lock duration

	Since     time.Time // when it was taken; zero if unknown, before a restart
	Renewals  int       // how often it was renewed since
	RenewedAt time.Time // when it was last renewed; zero means never
}

func (h LockInfo) held() bool { return !h.Until.IsZero() }

func (h LockInfo) share(ctx context.Context, now time.Time) float64 {
	if view.ClocksFrozen(ctx) || h.Of <= 0 {
		return 1
	}
	return max(0, min(1, float64(h.Until.Sub(now))/float64(h.Of)))
}

// ringPath returns the SVG path of a clock's ring: a circle, or a diamond if tone is Critical. It is
// smaller if held, so that the ring of a lock fits around it.
func ringPath(tone Tone, held bool) string {
	r := 7.0
	if held {
		r = 5.5
	}
	if tone == Critical {
		s := r + 1.5
		return "M10 " + formatFloat(10-s) + "L" + formatFloat(10+s) + " 10L10 " + formatFloat(10+s) + "L" + formatFloat(10-s) + " 10Z"
	}
	d := formatFloat(2 * r)
	arc := "a" + formatFloat(r) + " " + formatFloat(r) + " 0 0 1 0 "
	return "M10 " + formatFloat(10-r) + arc + d + arc + "-" + d
}

func (c Clock) ringShare(ctx context.Context) float64 {
	if view.ClocksFrozen(ctx) {
		return 1
	}
	return c.share()
}

// dash and offset return the values of stroke-dasharray and stroke-dashoffset that draw a share of a
// path of length 100 so that it drains clockwise.
func dash(share float64) string { return strconv.Itoa(percent(share)) + " 100" }

func offset(share float64) string { return strconv.Itoa(percent(share) - 100) }

func percent(share float64) int { return int(math.Round(share * 100)) }

// sandPath returns the SVG path of the sand in an hourglass with the given share of time left. Areas
// are to scale: a triangle's height is proportional to the square root of its area.
func sandPath(share float64) string {
	k := math.Sqrt(max(0, min(1, share)))
	x := func(n float64) string { return formatFixed(12 + n*5.2*k) }
	y := func(n float64) string { return formatFixed(16 + n*10*k) }
	return "M" + x(-1) + " " + y(-1) + "H" + x(1) + "L12 16ZM" + x(-1) + " " + y(1) + "H" + x(1) + "L17.2 26.5H6.8Z"
}

func formatFloat(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func formatFixed(f float64) string { return strconv.FormatFloat(f, 'f', 2, 64) }
