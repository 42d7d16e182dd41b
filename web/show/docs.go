package show

import (
	"context"
	"net/url"

	"mayfly/engine/shorten"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/web/auth"
	"mayfly/web/docs"
)

// DocsURL returns the address of the documentation, including the base path.
func (p *Pages) DocsURL() string { return p.o.Base + docs.At }

// Docs returns the list of the documentation's pages, or those that match a query.
func (p *Pages) Docs(ctx context.Context, query string) page.Docs {
	m := page.Docs{At: p.DocsURL(), Query: shorten.To(query, maxFilterBytes)}
	m.Shell = p.docsShell(ctx, locale.T(ctx, "docs.title"), m.At)
	if m.Query != "" {
		m.Shell.Back += "?" + url.Values{page.DocsQuery: {m.Query}}.Encode()
		m.Found = p.o.Docs.Search(m.Query)
		return m
	}
	m.Groups, m.API = p.o.Docs.Groups(), m.Shell.Home+"/api"
	return m
}

// Doc returns a page of the documentation, or ErrPageNotFound.
func (p *Pages) Doc(ctx context.Context, name string) (page.Doc, error) {
	m, ok := p.o.Docs.Page(name)
	if !ok {
		return m, ErrPageNotFound
	}
	m.At = p.DocsURL()
	m.Shell = p.docsShell(ctx, m.Title, m.At+"/"+name)
	return m, nil
}

// docsShell returns the shell of a page of the documentation. A visitor who may see only one
// namespace stays in it.
func (p *Pages) docsShell(ctx context.Context, title, back string) layout.Shell {
	sh := p.serverShell(ctx, title)
	sh.Back, sh.Active = back, layout.Docs
	if name := auth.FromContext(ctx).Namespace; name != "" && name != p.b.Name() {
		sh = layout.Shell{Namespace: name, Home: p.o.Base + "/n/" + url.PathEscape(name), Title: title, Active: layout.Docs, Docs: sh.Docs, Appearance: sh.Appearance, User: sh.User, Back: back}
	}
	return sh
}
