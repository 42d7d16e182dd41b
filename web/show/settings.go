package show

import (
	"context"

	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/page"
)

// SettingsURL returns the address of the settings page, including the base path.
func (p *Pages) SettingsURL() string { return p.o.Base + layout.SettingsPath }

// Settings returns the page of settings that this browser keeps.
func (p *Pages) Settings(ctx context.Context) page.Settings {
	m := page.Settings{Shell: p.serverShell(ctx, locale.T(ctx, "settings.title")), At: p.SettingsURL(), Go: p.Home() + layout.GoToPath, Tokens: p.TokensURL("")}
	m.Shell.Back = p.SettingsURL()
	return m
}
