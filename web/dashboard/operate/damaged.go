package operate

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
	"mayfly/views/page/operate"
	"mayfly/views/view"
	"mayfly/web/dashboard/pages"
)

// maxDamaged is how many damaged messages the page lists.
const maxDamaged = 200

// Damaged returns the page of damaged messages.
func Damaged(ctx context.Context, p *pages.Pages, at pages.Address) (view.Page, uint64, error) {
	all, err := p.Broker.DamagedMessages(ctx)
	if err != nil {
		return nil, 0, err
	}
	m := operate.Damaged{}
	rows := all[:min(len(all), maxDamaged)]
	s, err := p.Read(ctx, func(r broker.Reader) error {
		m.Rows = m.Rows[:0]
		for _, d := range rows {
			m.Rows = append(m.Rows, damagedRow(p, r, d))
		}
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	m.Shell = p.LiveShell(ctx, at, s, locale.T(ctx, "damaged.title"))
	m.Shell.Banner.Go = component.Link{} // the banner would link to this page
	m.MoveAll = p.URL(pages.Address{Namespace: p.Broker.Name(), Kind: pages.DamagedMessages, Action: "move-aside"})
	if len(all) > len(m.Rows) {
		m.Pages.Note = locale.N(ctx, "pager.note", len(all), locale.Args{"Shown": locale.Number(ctx, len(m.Rows))})
	}
	return m, s.Event, nil
}

func damagedRow(p *pages.Pages, r broker.Reader, d engine.DamagedMessage) operate.DamagedRow {
	key := strconv.FormatUint(uint64(d.Key), 10)
	out := operate.DamagedRow{
		Key: key, Number: int64(d.Seq), What: operate.DamagedPart(d.Part),
		Move: p.URL(pages.Address{Namespace: p.Broker.Name(), Kind: pages.DamagedMessages, Action: "move-aside"}.WithQuery(page.FieldKey, key)),
	}
	if d.Path == "" {
		return out
	}
	out.Entity.Name = shorten.To(pages.DisplayPath(d.Path), 200)
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
func SelectedDamaged(ctx context.Context, p *pages.Pages, at pages.Address) ([]engine.DamagedMessage, error) {
	all, err := p.Broker.DamagedMessages(ctx)
	if err != nil || !at.Query.Has(page.FieldKey) {
		return all, err
	}
	n, _ := pages.ParseNumber(at.Query.Get(page.FieldKey))
	i := slices.IndexFunc(all, func(d engine.DamagedMessage) bool { return d.Key == engine.Key(n) })
	if i < 0 {
		return nil, &pages.LocalizedError{Err: engine.ErrMessageNotFound, Text: locale.T(ctx, "damaged.gone")}
	}
	return all[i : i+1], nil
}

// DamagedConfirmName returns the name to type before damaged messages are moved aside, or "" for
// a single message.
func DamagedConfirmName(p *pages.Pages, at pages.Address) string {
	if at.Query.Has(page.FieldKey) {
		return ""
	}
	return p.Broker.Name()
}

// ConfirmMoveAside asks to confirm moving damaged messages aside.
func ConfirmMoveAside(ctx context.Context, p *pages.Pages, at pages.Address, t pages.FormState) (view.Page, error) {
	chosen, err := SelectedDamaged(ctx, p, at)
	if err != nil {
		return nil, err
	}
	m := operate.ConfirmMoveAside{
		To: p.URL(at), Cancel: p.CancelURL(at, t), N: len(chosen), Type: DamagedConfirmName(p, at),
		Typed: t.FirstValues()[page.FieldConfirm], Error: t.Errors[page.FieldConfirm], Refused: t.Refused,
	}
	if m.Type == "" {
		_, err := p.Read(ctx, func(r broker.Reader) error {
			m.One = damagedRow(p, r, chosen[0])
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	m.Shell = p.StaticShell(ctx, at, locale.T(ctx, "damaged.title"))
	return m, nil
}
