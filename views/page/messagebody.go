package page

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"mayfly/views/component"
	"mayfly/views/locale"
)

// How much of a body is shown.
const (
	rawBytes    = 1 << 20 // up to here a body is shown whole
	beyondBytes = 4 << 10 // of a larger one this is
)

// HexBytes is how many bytes of a body are shown in hexadecimal at once.
const HexBytes = 4 << 10

// HexFrom is the name of the field that says which byte is the first of these.
const HexFrom = "at"

// looked is the view of the body that is shown when asked for one; tree is the
// document if the body is one and all there.
func (b Body) looked(v BodyView) (view BodyView, tree component.Tree) {
	if b.whole() {
		tree, _ = component.ReadTree(b.Content)
	}
	switch {
	case v == HexView || v == HeadersView || v == RawView || v == SentView:
		return v, tree
	case tree.Kind != "":
		return TreeView, tree
	default:
		return RawView, tree
	}
}

func (b Body) whole() bool { return int64(len(b.Content)) >= b.Size }

// raw is the body as text, and whether that is all of it.
func (b Body) raw() (text string, all bool) {
	if b.whole() && len(b.Content) <= rawBytes {
		return component.Visible(string(b.Content)), true
	}
	return component.Visible(string(b.Content[:min(len(b.Content), beyondBytes)])), false
}

// hex is the window of bytes, else the first ones, sixteen in a line behind the
// place of the first, and whether that is all of the body.
func (b Body) hex() (text string, all bool) {
	window := b.Window
	if window == nil {
		window = b.Content[:min(len(b.Content), HexBytes)]
	}
	var out strings.Builder
	for from := 0; from < len(window); from += hexLine {
		line := window[from:min(from+hexLine, len(window))]
		fmt.Fprintf(&out, "%08x  %-49s |", b.From+int64(from), spaced(line))
		for _, c := range line {
			if c < ' ' || c > '~' {
				c = '.'
			}
			out.WriteByte(c)
		}
		out.WriteString("|\n")
	}
	return out.String(), b.From == 0 && int64(len(window)) >= b.Size
}

const hexLine = 16

func spaced(line []byte) string {
	var out strings.Builder
	for i, c := range line {
		if i == hexLine/2 {
			out.WriteByte(' ')
		}
		fmt.Fprintf(&out, "%02x ", c)
	}
	return out.String()
}

// HexAt is where the window of bytes begins that has byte at.
func HexAt(at, size int64) int64 {
	return max(0, min(at, size-1)) / HexBytes * HexBytes
}

// hexAt is the page with the bytes from there on; empty if there are none.
func (m Message) hexAt(from int64) string {
	if from < 0 || from >= m.Body.Size {
		return ""
	}
	q := url.Values{"view": {string(HexView)}, HexFrom: {strconv.FormatInt(from, 10)}}
	if m.Token != "" {
		q.Set(AskToken, m.Token)
	}
	return m.Href + "?" + q.Encode() + "#body"
}

// views is the choices there are. A body that cannot be drawn has no tree.
func (m Message) views(ctx context.Context) []component.Choice {
	now, tree := m.Body.looked(m.View)
	var out []component.Choice
	for _, v := range []struct {
		view BodyView
		name string
	}{
		{TreeView, "body.tree"}, {RawView, "body.raw"}, {HexView, "body.hex"}, {HeadersView, "body.headers"}, {SentView, "body.sent"},
	} {
		if v.view == TreeView && tree.Kind == "" || v.view == SentView && len(m.Sent) == 0 {
			continue
		}
		out = append(out, component.Choice{
			Label: locale.T(ctx, v.name), Href: m.viewed(v.view), Current: v.view == now,
		})
	}
	return out
}

// viewed is the page with the body seen another way; a lock on it is kept.
func (m Message) viewed(v BodyView) string {
	q := url.Values{"view": {string(v)}}
	if m.Token != "" {
		q.Set(AskToken, m.Token)
	}
	return m.Href + "?" + q.Encode() + "#body"
}
