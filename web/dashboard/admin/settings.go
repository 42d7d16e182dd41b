package admin

import (
	"context"

	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/page/admin"
	"mayfly/web/dashboard/pages"
)

// Settings returns the page of settings that this browser keeps.
func Settings(ctx context.Context, p *pages.Pages) admin.Settings {
	m := admin.Settings{Shell: p.ServerShell(ctx, locale.T(ctx, "settings.title")), At: p.SettingsURL(), Go: p.Home() + layout.GoToPath, Tokens: p.TokensURL("")}
	m.Shell.Back = p.SettingsURL()
	return m
}
