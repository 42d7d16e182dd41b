package show

import (
	"context"
	"slices"
	"strconv"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/shorten"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/view"
)

// maxDamaged is how many damaged messages the page lists.
const maxDamaged = 200

// damaged returns the page of damaged messages.
func (p *Pages) damaged(ctx context.Context, at Address) (view.Page, uint64, error) {
	all, err := p.b.DamagedMessages(ctx)
	if err != nil {
		return nil, 0, err
	}
	m := page.Damaged{}
	rows := all[:min(len(all), maxDamaged)]
	s, err := p.read(ctx, func(r broker.Reader) error {
		m.Rows = m.Rows[:0]
		for _, d := range rows {
			m.Rows = append(m.Rows, p.damagedRow(r, d))
		}
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	m.Shell = p.liveShell(ctx, at, s, locale.T(ctx, "damaged.title"))
	m.Shell.Banner.Go = component.Link{} // this is the page it links to
	m.MoveAll = p.URL(Address{Namespace: p.b.Name(), Kind: DamagedMessages, Action: "move-aside"})
	if len(all) > len(m.Rows) {
		m.Pages.Note = locale.N(ctx, "pager.note", len(all), locale.Args{"Shown": locale.Number(ctx, len(m.Rows))})
	}
	return m, s.event, nil
}

func (p *Pages) damagedRow(r broker.Reader, d engine.DamagedMessage) page.DamagedRow {
	key := strconv.FormatUint(uint64(d.Key), 10)
	out := page.DamagedRow{
		Key: key, Number: int64(d.Seq), What: page.DamagedPart(d.Part),
		Move: p.URL(Address{Namespace: p.b.Name(), Kind: DamagedMessages, Action: "move-aside"}.withQuery(page.FieldKey, key)),
	}
	if d.Path == "" {
		return out
	}
	out.Entity.Name = shorten.To(DisplayPath(d.Path), 200)
	if e, err := r.State(d.Path.Entity()); err == nil {
		out.Entity.Href = p.EntityURL(e.Kind, e.Path)
		if d.Path.IsDeadLetter() {
			out.Entity.Href += "?tab=" + string(page.TabDeadLetters)
		}
	}
	return out
}

// SelectedDamaged returns the damaged messages that a form moves aside: the one with the key in
// the address, or all.
func (p *Pages) SelectedDamaged(ctx context.Context, at Address) ([]engine.DamagedMessage, error) {
	all, err := p.b.DamagedMessages(ctx)
	if err != nil || !at.Query.Has(page.FieldKey) {
		return all, err
	}
	n, _ := parseNumber(at.Query.Get(page.FieldKey))
	i := slices.IndexFunc(all, func(d engine.DamagedMessage) bool { return d.Key == engine.Key(n) })
	if i < 0 {
		return nil, &LocalizedError{Err: engine.ErrMessageNotFound, Text: locale.T(ctx, "damaged.gone")}
	}
	return all[i : i+1], nil
}

// DamagedConfirmName returns the name to type before damaged messages are moved aside, or "" for
// a single message.
func (p *Pages) DamagedConfirmName(at Address) string {
	if at.Query.Has(page.FieldKey) {
		return ""
	}
	return p.b.Name()
}

// confirmMoveAside asks to confirm moving damaged messages aside.
func (p *Pages) confirmMoveAside(ctx context.Context, at Address, t FormState) (view.Page, error) {
	chosen, err := p.SelectedDamaged(ctx, at)
	if err != nil {
		return nil, err
	}
	m := page.ConfirmMoveAside{
		To: p.URL(at), Cancel: p.cancelURL(at, t), N: len(chosen), Type: p.DamagedConfirmName(at),
		Typed: t.firstValues()[page.FieldConfirm], Error: t.Errors[page.FieldConfirm], Refused: t.Refused,
	}
	if m.Type == "" {
		_, err := p.read(ctx, func(r broker.Reader) error {
			m.One = p.damagedRow(r, chosen[0])
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	m.Shell = p.staticShell(ctx, at, locale.T(ctx, "damaged.title"))
	return m, nil
}

// damagedLink returns a link to the page of damaged messages.
func (p *Pages) damagedLink(ctx context.Context) component.Link {
	return component.Link{Href: p.URL(Address{Namespace: p.b.Name(), Kind: DamagedMessages}), Label: locale.T(ctx, "damaged.go")}
}

// damagedNotice returns a notice if any of the messages selected by is are damaged. It queries the
// broker only if there is damage at all.
func (p *Pages) damagedNotice(ctx context.Context, is func(engine.DamagedMessage) bool, words string) component.Notice {
	if p.b.Health().Damaged == 0 {
		return component.Notice{}
	}
	all, err := p.b.DamagedMessages(ctx)
	if err != nil { // the page itself reports why nothing can be read
		return component.Notice{}
	}
	n := 0
	for _, d := range all {
		if is(d) {
			n++
		}
	}
	if n == 0 {
		return component.Notice{}
	}
	return component.Notice{Tone: component.Low, Title: locale.N(ctx, words, n), Detail: locale.T(ctx, "damaged.of.detail"), Go: p.damagedLink(ctx)}
}
