package show

import (
	"cmp"
	"context"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/fleet"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/web/peers"
)

// inMenu is how many namespaces the menu has.
const inMenu = 12

// Spaces is what pages tell of the server's namespaces.
type Spaces struct {
	Fleet *fleet.Fleet // nil: there is this one, and no page of them
	// Connections are what SDKs are given for one: for messages and for entities; nil:
	// nobody knows.
	Connections func(name string) (messages, admin string)
	// Kept is where what is in one is kept; empty: in memory.
	Kept func(fleet.Spec) string
	// Aside is where what is in one goes that is removed; empty: it is gone.
	Aside func(fleet.Spec) string
	// Clients are those connected to one; nil: nobody knows.
	Clients func(name string) peers.Source
}

// others has the shell lead to other namespaces.
func (p *Pages) others(sh *layout.Shell) {
	if p.o.Spaces.Fleet == nil {
		return
	}
	sh.AllSpaces = p.NamespacesURL("")
	for i, n := range p.o.Spaces.Fleet.List() {
		here := n.Name == p.b.Name()
		if i < inMenu || here {
			sh.Spaces = append(sh.Spaces, layout.Space{Name: n.Name, Href: p.o.Base + "/n/" + n.Name, Here: here, Down: n.State != fleet.Serving, Away: n.State == fleet.Standby})
		}
	}
}

// NamespacesURL is the address of the page of all namespaces, or of what asks
// whether to remove one; base path included.
func (p *Pages) NamespacesURL(remove string) string {
	if remove == "" {
		return p.o.Base + "/namespaces"
	}
	return p.o.Base + "/namespaces/" + remove + "/remove"
}

// Namespaces is the page of all namespaces. It is ErrNoPage where there is one
// alone.
func (p *Pages) Namespaces(ctx context.Context, t Typed) (page.Namespaces, error) {
	s := p.o.Spaces
	if s.Fleet == nil {
		return page.Namespaces{}, ErrNoPage
	}
	m := page.Namespaces{Shell: p.beside(ctx, locale.T(ctx, "spaces.title")), Most: s.Fleet.Most()}
	if err := s.Fleet.Trouble(); err != nil {
		m.Trouble = err.Error()
	}
	for _, n := range s.Fleet.List() {
		m.Rows = append(m.Rows, p.namespaceRow(ctx, n))
	}
	m.New = page.NamespaceForm{
		To: p.NamespacesURL(""), Name: t.Values.Get(page.AskNamespace), Profile: t.Values.Get(page.AskProfile), Profiles: engine.Profiles(),
		Stay: t.Values.Get(page.AskStay), NameError: t.Errors[page.AskNamespace],
		Config: t.Values.Get(page.AskConfig), ConfigError: t.Errors[page.AskConfig], Refused: t.Refused,
	}
	return m, nil
}

// beside is the shell of a page that is of no namespace.
func (p *Pages) beside(ctx context.Context, title string) layout.Shell {
	sh := p.still(ctx, Place{Namespace: p.b.Name(), Kind: Overview}, title)
	sh.Back, sh.Active = p.NamespacesURL(""), ""
	return sh
}

func (p *Pages) namespaceRow(ctx context.Context, n fleet.Namespace) page.NamespaceRow {
	s := p.o.Spaces
	r := page.NamespaceRow{
		Name: n.Name, Href: p.o.Base + "/n/" + n.Name, Own: n.Main, State: string(n.State), Why: n.Why, Owner: n.Owner.Dashboard,
		Temporary: n.Temporary, Until: n.Until, Created: n.Created, Now: time.Now(),
	}
	if s.Kept != nil {
		r.Kept = s.Kept(n.Spec)
	}
	if s.Connections != nil {
		messages, admin := s.Connections(n.Name)
		r.Connection = cmp.Or(messages, admin)
	}
	if !n.Main {
		r.Remove = p.NamespacesURL(n.Name)
		if !n.Temporary {
			r.Limits = p.NamespacesURL("") + "/" + n.Name + "/limits"
		}
	}
	if n.Broker == nil {
		return r
	}
	r.Tier = n.Broker.Limits().Tier
	err := n.Broker.Read(ctx, func(look broker.Reader) error {
		counts, entities := look.Totals()
		r.Counts = page.NamespaceCounts{Entities: entities, Messages: int(counts.MessageCount()), Dead: int(counts.DeadLetter + counts.DeadLocked)}
		return nil
	})
	r.Served = err == nil
	if s.Clients != nil {
		if of := s.Clients(n.Name); of != nil {
			r.Counts.Clients = of.Connections(peers.Query{Limit: 1}).All
		}
	}
	return r
}

// NamespaceLimits asks for other limits of one. It is ErrNoPage for the server's own
// and for a temporary one, and fleet.ErrNone where there is none.
func (p *Pages) NamespaceLimits(ctx context.Context, name string, t Typed) (page.NamespaceLimits, error) {
	if p.o.Spaces.Fleet == nil {
		return page.NamespaceLimits{}, ErrNoPage
	}
	n, ok := p.o.Spaces.Fleet.Find(name)
	switch {
	case !ok:
		return page.NamespaceLimits{}, fleet.ErrNone
	case n.Main, n.Temporary:
		return page.NamespaceLimits{}, ErrNoPage
	}
	m := page.NamespaceLimits{
		Shell: p.beside(ctx, locale.T(ctx, "spaces.limits.title", locale.Args{"Name": n.Name})), Row: p.namespaceRow(ctx, n),
		All: p.NamespacesURL(""), Profile: n.Profile, Profiles: engine.Profiles(), Refused: t.Refused,
	}
	if t.Values != nil {
		m.Profile = t.Values.Get(page.AskProfile)
	}
	return m, nil
}

// NamespaceRemoval asks whether to remove one. It is ErrNoPage for the server's own,
// and fleet.ErrNone where there is none.
func (p *Pages) NamespaceRemoval(ctx context.Context, name string, t Typed) (page.NamespaceRemoval, error) {
	s := p.o.Spaces
	if s.Fleet == nil {
		return page.NamespaceRemoval{}, ErrNoPage
	}
	n, ok := s.Fleet.Find(name)
	switch {
	case !ok:
		return page.NamespaceRemoval{}, fleet.ErrNone
	case n.Main:
		return page.NamespaceRemoval{}, ErrNoPage
	}
	m := page.NamespaceRemoval{
		Shell: p.beside(ctx, locale.T(ctx, "spaces.remove.title", locale.Args{"Name": n.Name})), Row: p.namespaceRow(ctx, n),
		To: p.NamespacesURL(n.Name), All: p.NamespacesURL(""), Typed: t.Values.Get(page.AskConfirm), TypeError: t.Errors[page.AskConfirm], Refused: t.Refused,
	}
	if s.Aside != nil {
		m.Aside = s.Aside(n.Spec)
	}
	return m, nil
}
