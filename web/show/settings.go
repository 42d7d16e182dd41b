package show

import (
	"context"

	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/page"
)

// SettingsURL is the address of the page of settings, base path included.
func (p *Pages) SettingsURL() string { return p.o.Base + layout.SettingsAt }

// Settings is the page of what this browser keeps.
func (p *Pages) Settings(ctx context.Context) page.Settings {
	m := page.Settings{Shell: p.beside(ctx, locale.T(ctx, "settings.title")), At: p.SettingsURL(), Go: p.Home() + layout.GoTo, Tokens: p.TokensURL("")}
	m.Shell.Back = p.SettingsURL()
	return m
}
