package show

import (
	"context"

	"mayfly/engine/broker"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/view"
)

const (
	// MostRepeats is how many messages one form sends.
	MostRepeats = 1000
	// MostRows is how many rows a table of a form can be given, such as that of
	// application properties.
	MostRows = 100
)

// sendForm asks for a message.
func (p *Pages) sendForm(ctx context.Context, at Place, t Typed) (view.Page, error) {
	var e entitySight
	_, err := p.look(ctx, func(r broker.Reader) (err error) {
		e, err = seeEntity(r, at.Path)
		return err
	})
	if err != nil {
		return nil, err
	}
	at.Entity, at.Path = e.Kind, e.Path
	m := page.Send{
		Shell: p.still(ctx, at, locale.T(ctx, "send.title", locale.Args{"Name": Shown(e.Path)})),
		In:    p.placeOf(e.Kind, e.Path), To: p.URL(at), Values: t.first(), Errors: t.Errors, Refused: t.Refused,
		Most: MostRepeats, Kinds: kindNames(), Sessions: e.sessionful(), Properties: SentEntries(t, page.SendPropertyPrefix),
	}
	if ttl := e.Config.DefaultMessageTimeToLive; ttl != 0 {
		m.Ceiling = component.Length(ttl)
	}
	return m, nil
}
