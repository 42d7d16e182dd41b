package show

import (
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/skip2/go-qrcode"

	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/web/talk"
)

// ShareFor are how long a link for an audience may be good; the second is proposed.
func ShareFor() []time.Duration {
	return []time.Duration{time.Hour, 4 * time.Hour, 12 * time.Hour}
}

// A Sharing is how somebody shows pages to others, or is about to.
type Sharing struct {
	Typed
	Name      string   // proposed
	Addresses []string // where the dashboard listens for other machines, as URLs
	On        bool     // Link is what others were given; its URL may not be known any more
	Key       string   // of the talk, for the tab that leads it from now on
	Link      talk.Link
	State     talk.State
	Over      bool // it was ended just now
}

// Share is the page on which somebody begins to show pages to others, or sees how
// they follow.
func (p *Pages) Share(ctx context.Context, s Sharing) (page.Share, error) {
	to := Place{Namespace: p.b.Name(), Kind: Share, Query: url.Values{}}
	m := page.Share{
		Shell: p.still(ctx, to, locale.T(ctx, "share.title")), To: p.URL(to), Stop: p.URL(to) + "/stop", Cancel: p.Home(),
		Name: s.Name, Over: s.Over, Refused: s.Refused, Key: s.Key, TalkName: s.State.Name, Followers: s.State.Followers,
	}
	if s.Values != nil {
		m.Name, m.At, m.For = s.Values.Get(page.ShareName), s.Values.Get(page.ShareAt), s.Values.Get(page.ShareFor)
	}
	if !s.On {
		m.Addresses = p.Abroad(ctx, s.Addresses)
		m.Local = local(m.Addresses)
		for _, d := range ShareFor() {
			m.Spans = append(m.Spans, page.ShareSpan{Value: d.String(), Hours: int(d.Hours())})
		}
		return m, nil
	}
	m.On, m.Until = true, s.Link.Until
	if s.Link.URL == "" {
		return m, nil
	}
	var err error
	m.URL = s.Link.URL
	m.QR, m.Local, err = drawn(m.URL)
	return m, err
}

// drawn is a link as a QR code. One that only this machine reaches has none: a phone
// that scanned it would look for it on itself.
func drawn(link string) (qr component.QR, here bool, err error) {
	if local([]string{link}) {
		return qr, true, nil
	}
	qr, err = draw(link)
	return qr, false, err
}

// Abroad are the addresses by which others may reach the dashboard, the likeliest
// first: the one that the visitor came by, unless only this machine has it, and those
// that it listens on. Where there is none, it is the visitor's own.
func (p *Pages) Abroad(ctx context.Context, listens []string) []string {
	who, _ := ctx.Value(visitorKey{}).(Visitor)
	var all []string
	for _, a := range append([]string{who.Origin}, listens...) {
		if a != "" && !local([]string{a}) && !slices.Contains(all, a) {
			all = append(all, a)
		}
	}
	if len(all) == 0 {
		all = []string{who.Origin}
	}
	return all
}

// local tells whether only this machine reaches the first of the addresses.
func local(addresses []string) bool {
	u, err := url.Parse(addresses[0])
	if err != nil {
		return false
	}
	name := strings.ToLower(u.Hostname())
	if ip, err := netip.ParseAddr(name); err == nil {
		return ip.IsLoopback() || ip.IsUnspecified()
	}
	return name == "localhost" || strings.HasSuffix(name, ".localhost")
}

// draw is text as a QR code. Of its modules those of a row that are dark and stand
// together are one line.
func draw(text string) (component.QR, error) {
	code, err := qrcode.New(text, qrcode.Medium)
	if err != nil {
		return component.QR{}, fmt.Errorf("draw a QR code: %w", err)
	}
	rows := code.Bitmap() // with its quiet zone
	var b strings.Builder
	for y, row := range rows {
		for x := 0; x < len(row); x++ {
			from := x
			for x < len(row) && row[x] {
				x++
			}
			if x > from {
				fmt.Fprintf(&b, "M%d %dh%dv1h-%dz", from, y, x-from, x-from)
			}
		}
	}
	return component.QR{Size: len(rows), Path: b.String()}, nil
}
