package message

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
)

// Limits of the displayed part of a body.
const (
	rawBytes    = 1 << 20 // a body up to this size is shown whole
	beyondBytes = 4 << 10 // of a larger one only this much
)

// HexBytes is how many bytes of a body the hexadecimal view shows at once.
const HexBytes = 4 << 10

// HexFrom is the query parameter with the offset of the first byte that the hexadecimal view shows.
const HexFrom = "at"

// ChooseView returns the view of the body to show for the requested one, and the document as a
// tree if the whole body is one.
func (b Body) ChooseView(v BodyView) (view BodyView, tree component.Tree) {
	if b.Whole() {
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

func (b Body) Whole() bool { return int64(len(b.Content)) >= b.Size }

// Raw returns the body as text, and whether that is all of it.
func (b Body) Raw() (text string, all bool) {
	if b.Whole() && len(b.Content) <= rawBytes {
		return component.ShowInvisible(string(b.Content)), true
	}
	return component.ShowInvisible(string(b.Content[:min(len(b.Content), beyondBytes)])), false
}

// Hex returns a hexadecimal dump of Window, or of the first HexBytes bytes if Window is nil, and
// whether that is all of the body. Each line has an offset and sixteen bytes.
func (b Body) Hex() (text string, all bool) {
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

// HexAt returns the offset of the hexadecimal view that contains byte `at` of a body of `size`
// bytes. An offset outside the body gives the first or the last view.
func HexAt(at, size int64) int64 {
	return max(0, min(at, size-1)) / HexBytes * HexBytes
}

// hexAt returns the address of the page with the hexadecimal view at offset `from`, or "" if that
// offset is outside the body.
func (m Message) hexAt(from int64) string {
	if from < 0 || from >= m.Body.Size {
		return ""
	}
	q := url.Values{"view": {string(HexView)}, HexFrom: {strconv.FormatInt(from, 10)}}
	if m.Token != "" {
		q.Set(page.FieldLockToken, m.Token)
	}
	return m.Href + "?" + q.Encode() + "#body"
}

// views returns the views to choose from. A body that is not a document has no tree.
func (m Message) views(ctx context.Context) []component.Choice {
	now, tree := m.Body.ChooseView(m.View)
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

// viewed returns the address of the page with another view of the body, keeping the lock
// token.
func (m Message) viewed(v BodyView) string {
	q := url.Values{"view": {string(v)}}
	if m.Token != "" {
		q.Set(page.FieldLockToken, m.Token)
	}
	return m.Href + "?" + q.Encode() + "#body"
}
