package admin

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
	"mayfly/views/page/admin"
	"mayfly/web/dashboard/pages"
	"mayfly/web/presentation"
)

// ShareLifetimes returns the lifetimes offered for the link that an audience follows. The second
// is the default.
func ShareLifetimes() []time.Duration {
	return []time.Duration{time.Hour, 4 * time.Hour, 12 * time.Hour}
}

// A ShareState is the state of sharing pages with others, or the form that starts it.
type ShareState struct {
	pages.FormState
	Name      string   // default name
	Addresses []string // addresses at which other machines reach the dashboard, as URLs
	Active    bool     // there is a presentation with Link, whose URL may be unknown
	Key       string   // key of the presentation, which the presenting tab needs
	Link      presentation.Link
	State     presentation.State
	Ended     bool // the presentation has just ended
}

// Share returns the page that starts sharing pages with others, or shows its state.
func Share(ctx context.Context, p *pages.Pages, s ShareState) (admin.Share, error) {
	to := pages.Address{Namespace: p.Broker.Name(), Kind: pages.Share, Query: url.Values{}}
	m := admin.Share{
		Shell: p.StaticShell(ctx, to, locale.T(ctx, "share.title")), To: p.URL(to), Stop: p.URL(to) + "/stop", Cancel: p.Home(),
		Name: s.Name, Ended: s.Ended, Refused: s.Refused, Key: s.Key, TalkName: s.State.Name, Followers: s.State.Followers,
	}
	if s.Values != nil {
		m.Name, m.At, m.For = s.Values.Get(admin.ShareName), s.Values.Get(admin.ShareAt), s.Values.Get(admin.ShareFor)
	}
	if !s.Active {
		m.Addresses = PublicURLs(ctx, s.Addresses)
		m.Local = isLocal(m.Addresses)
		for _, d := range ShareLifetimes() {
			m.Spans = append(m.Spans, admin.LinkLifetime{Value: d.String(), Hours: int(d.Hours())})
		}
		return m, nil
	}
	m.Active, m.Until = true, s.Link.Until
	if s.Link.URL == "" {
		return m, nil
	}
	var err error
	m.URL = s.Link.URL
	m.QR, m.Local, err = linkQR(m.URL)
	return m, err
}

// linkQR returns a link as a QR code. here is true, and there is no code, for a link that only
// this machine can reach: a phone that scanned it would look for the server on itself.
func linkQR(link string) (qr component.QR, here bool, err error) {
	if isLocal([]string{link}) {
		return qr, true, nil
	}
	qr, err = drawQR(link)
	return qr, false, err
}

// PublicURLs returns the addresses by which others may reach the dashboard, the likeliest first:
// the one the visitor uses, unless it is local to this machine, then those that the dashboard
// listens on. If there is none, it returns the visitor's own.
func PublicURLs(ctx context.Context, listens []string) []string {
	who, _ := ctx.Value(pages.VisitorKey{}).(pages.Visitor)
	var all []string
	for _, a := range append([]string{who.Origin}, listens...) {
		if a != "" && !isLocal([]string{a}) && !slices.Contains(all, a) {
			all = append(all, a)
		}
	}
	if len(all) == 0 {
		all = []string{who.Origin}
	}
	return all
}

// isLocal reports whether only this machine can reach the first of the addresses.
func isLocal(addresses []string) bool {
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

// drawQR returns text as a QR code. Adjacent dark modules of a row are drawn as one line.
func drawQR(text string) (component.QR, error) {
	code, err := qrcode.New(text, qrcode.Medium)
	if err != nil {
		return component.QR{}, fmt.Errorf("draw a QR code: %w", err)
	}
	rows := code.Bitmap() // including the quiet zone
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
