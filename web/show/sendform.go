package show

import (
	"context"
	"strconv"

	"mayfly/engine/broker"
	"mayfly/engine/value"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/view"
)

const (
	// MostRepeats is how many messages one form sends.
	MostRepeats = 1000
	// MostProperties is how many rows of application properties a form has.
	MostProperties = 100
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
		Most: MostRepeats, NotActive: e.notActive(), Properties: SentProperties(t),
	}
	if ttl := e.Config.DefaultMessageTimeToLive; ttl != 0 {
		m.Ceiling = component.Length(ttl)
	}
	for _, k := range value.Kinds() {
		m.Kinds = append(m.Kinds, k.String())
	}
	return m, nil
}

// SentProperties are the rows of application properties of a form that was
// sent, as they were typed.
func SentProperties(t Typed) (rows []page.SendProperty) {
	for i := range MostProperties {
		field := func(part string) string { return page.SendPropertyPrefix + strconv.Itoa(i) + part }
		if !t.Values.Has(field(page.SendPropertyName)) && !t.Values.Has(field(page.SendPropertyValue)) {
			break
		}
		rows = append(rows, page.SendProperty{
			Name: t.Values.Get(field(page.SendPropertyName)), Kind: t.Values.Get(field(page.SendPropertyKind)),
			Value: t.Values.Get(field(page.SendPropertyValue)), Error: t.Errors[page.SendPropertyPrefix+strconv.Itoa(i)],
		})
	}
	return rows
}
