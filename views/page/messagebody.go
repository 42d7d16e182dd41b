package page

import (
	"context"
	"encoding/hex"
	"net/url"

	"mayfly/views/component"
	"mayfly/views/locale"
)

// How much of a body is shown.
const (
	rawBytes    = 1 << 20 // up to here a body is shown whole
	beyondBytes = 4 << 10 // of a larger one this is
	hexBytes    = 4 << 10
)

// looked is the view of the body that is shown when asked for one; tree is the
// document if the body is one and all there.
func (b Body) looked(v BodyView) (view BodyView, tree component.Tree) {
	if b.whole() {
		tree, _ = component.ReadTree(b.Content)
	}
	switch {
	case v == HexView || v == HeadersView || v == RawView:
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

// hex is the first bytes of the body, and whether that is all of it.
func (b Body) hex() (text string, all bool) {
	n := min(len(b.Content), hexBytes)
	return hex.Dump(b.Content[:n]), int64(n) >= b.Size
}

// views is the choices there are. A body that cannot be drawn has no tree.
func (m Message) views(ctx context.Context) []component.Choice {
	now, tree := m.Body.looked(m.View)
	var out []component.Choice
	for _, v := range []struct {
		view BodyView
		name string
	}{
		{TreeView, "body.tree"}, {RawView, "body.raw"}, {HexView, "body.hex"}, {HeadersView, "body.headers"},
	} {
		if v.view == TreeView && tree.Kind == "" {
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
