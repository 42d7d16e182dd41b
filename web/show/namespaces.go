package show

import (
	"cmp"
	"context"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/namespaces"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/web/connections"
)

// maxMenuNamespaces is how many namespaces the menu lists.
const maxMenuNamespaces = 12

// NamespaceInfo is what pages need to know of the server's namespaces.
type NamespaceInfo struct {
	Namespaces *namespaces.Manager // nil if there is only this namespace, and no page of namespaces
	// Connections returns the connection strings of a namespace, for messages and for
	// administration; nil if unknown.
	Connections func(name string) (messages, admin string)
	// StoredIn returns where a namespace is stored; empty means in memory.
	StoredIn func(namespaces.Spec) string
	// MovedTo returns where the data of a removed namespace is moved; empty means that it is
	// deleted.
	MovedTo func(namespaces.Spec) string
	// Clients returns the connected clients of a namespace; nil if unknown.
	Clients func(name string) connections.Source
}

// addNamespaceMenu adds links to other namespaces to the shell.
func (p *Pages) addNamespaceMenu(sh *layout.Shell) {
	if p.o.Namespaces.Namespaces == nil {
		return
	}
	sh.AllNamespaces = p.NamespacesURL("")
	for i, n := range p.o.Namespaces.Namespaces.List() {
		here := n.Name == p.b.Name()
		if i < maxMenuNamespaces || here {
			sh.Namespaces = append(sh.Namespaces, layout.NamespaceLink{Name: n.Name, Href: p.o.Base + "/n/" + n.Name, Here: here, Unserved: n.State != namespaces.Serving, Elsewhere: n.State == namespaces.Standby})
		}
	}
}

// NamespacesURL returns the address of the page of all namespaces, or of the question whether
// to remove one, including the base path.
func (p *Pages) NamespacesURL(remove string) string {
	if remove == "" {
		return p.o.Base + "/namespaces"
	}
	return p.o.Base + "/namespaces/" + remove + "/remove"
}

// Namespaces returns the page of all namespaces, or ErrPageNotFound if the server has only one.
func (p *Pages) Namespaces(ctx context.Context, t FormState) (page.Namespaces, error) {
	s := p.o.Namespaces
	if s.Namespaces == nil {
		return page.Namespaces{}, ErrPageNotFound
	}
	m := page.Namespaces{Shell: p.serverShell(ctx, locale.T(ctx, "spaces.title")), Max: s.Namespaces.Max()}
	if err := s.Namespaces.CatalogueError(); err != nil {
		m.Trouble = err.Error()
	}
	for _, n := range s.Namespaces.List() {
		m.Rows = append(m.Rows, p.namespaceRow(ctx, n))
	}
	m.New = page.NamespaceForm{
		To: p.NamespacesURL(""), Name: t.Values.Get(page.FieldNamespace), Profile: t.Values.Get(page.FieldProfile), Profiles: engine.Profiles(),
		Stay: t.Values.Get(page.FieldLifetime), NameError: t.Errors[page.FieldNamespace],
		Config: t.Values.Get(page.FieldConfig), ConfigError: t.Errors[page.FieldConfig], Refused: t.Refused,
	}
	return m, nil
}

// serverShell returns the shell of a page outside any namespace.
func (p *Pages) serverShell(ctx context.Context, title string) layout.Shell {
	sh := p.staticShell(ctx, Address{Namespace: p.b.Name(), Kind: Overview}, title)
	sh.Back, sh.Active = p.NamespacesURL(""), ""
	return sh
}

func (p *Pages) namespaceRow(ctx context.Context, n namespaces.Namespace) page.NamespaceRow {
	s := p.o.Namespaces
	r := page.NamespaceRow{
		Name: n.Name, Href: p.o.Base + "/n/" + n.Name, Own: n.Main, State: string(n.State), Why: n.Reason, Owner: n.Owner.Dashboard,
		Temporary: n.Temporary, Until: n.Until, Created: n.Created, Now: time.Now(),
	}
	if s.StoredIn != nil {
		r.Kept = s.StoredIn(n.Spec)
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
			r.Counts.Clients = of.Connections(connections.Query{Limit: 1}).Total
		}
	}
	return r
}

// NamespaceLimits returns the form that changes a namespace's limits. It returns ErrPageNotFound for
// the server's own namespace and for a temporary one, and namespaces.ErrNoNamespace if it does not exist.
func (p *Pages) NamespaceLimits(ctx context.Context, name string, t FormState) (page.NamespaceLimits, error) {
	if p.o.Namespaces.Namespaces == nil {
		return page.NamespaceLimits{}, ErrPageNotFound
	}
	n, ok := p.o.Namespaces.Namespaces.Find(name)
	switch {
	case !ok:
		return page.NamespaceLimits{}, namespaces.ErrNoNamespace
	case n.Main, n.Temporary:
		return page.NamespaceLimits{}, ErrPageNotFound
	}
	m := page.NamespaceLimits{
		Shell: p.serverShell(ctx, locale.T(ctx, "spaces.limits.title", locale.Args{"Name": n.Name})), Row: p.namespaceRow(ctx, n),
		All: p.NamespacesURL(""), Profile: n.Profile, Profiles: engine.Profiles(), Refused: t.Refused,
	}
	if t.Values != nil {
		m.Profile = t.Values.Get(page.FieldProfile)
	}
	return m, nil
}

// NamespaceRemoval returns the page that asks to confirm the removal of a namespace. It returns
// ErrPageNotFound for the server's own namespace, and namespaces.ErrNoNamespace if it does not
// exist.
func (p *Pages) NamespaceRemoval(ctx context.Context, name string, t FormState) (page.ConfirmRemoveNamespace, error) {
	s := p.o.Namespaces
	if s.Namespaces == nil {
		return page.ConfirmRemoveNamespace{}, ErrPageNotFound
	}
	n, ok := s.Namespaces.Find(name)
	switch {
	case !ok:
		return page.ConfirmRemoveNamespace{}, namespaces.ErrNoNamespace
	case n.Main:
		return page.ConfirmRemoveNamespace{}, ErrPageNotFound
	}
	m := page.ConfirmRemoveNamespace{
		Shell: p.serverShell(ctx, locale.T(ctx, "spaces.remove.title", locale.Args{"Name": n.Name})), Row: p.namespaceRow(ctx, n),
		To: p.NamespacesURL(n.Name), All: p.NamespacesURL(""), Typed: t.Values.Get(page.FieldConfirm), TypeError: t.Errors[page.FieldConfirm], Refused: t.Refused,
	}
	if s.MovedTo != nil {
		m.Aside = s.MovedTo(n.Spec)
	}
	return m, nil
}
