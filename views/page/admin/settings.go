package admin

import (
	"context"

	"github.com/a-h/templ"

	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/view"
)

// Settings is the page of this browser's settings: language and appearance, how times are
// shown, and whether single-key shortcuts are on. It is not live. The script stores the last
// two, which have no effect without it, and applies every setting at once.
type Settings struct {
	Shell  layout.Shell
	At     string // address to post to
	Go     string // address of the page with the list of keyboard shortcuts
	Tokens string // address of tokens and links; empty means none
}

// Title returns the page's title.
func (Settings) Title(ctx context.Context) string { return locale.T(ctx, "settings.title") }

// Full returns the whole page.
func (m Settings) Full() templ.Component { return settings(m) }

// Watches returns nil, because the page is not live.
func (Settings) Watches() []string { return nil }

// Parts returns the shell's parts: the rest is not live.
func (m Settings) Parts() []view.Part { return m.Shell.Parts() }

// A setting is a choice among a few values. Its texts are text ids.
type setting struct {
	Name, Words, Tip string
	Now              string
	Choices          []settingChoice
}

type settingChoice struct{ Value, Words string }

func (m Settings) appearanceSettings() []setting {
	l := m.Shell.Appearance
	return []setting{
		{"theme", "settings.theme", "settings.theme.tip", l.Theme, []settingChoice{{"", "settings.theme.default"}, {"light", "settings.theme.light"}, {"dark", "settings.theme.dark"}}},
		{"contrast", "settings.contrast", "settings.contrast.tip", l.Contrast, []settingChoice{{"", "settings.contrast.default"}, {"more", "settings.contrast.more"}}},
		{"density", "settings.density", "settings.density.tip", l.Density, []settingChoice{{"", "settings.density.default"}, {"compact", "settings.density.compact"}}},
	}
}
