package page

import (
	"context"

	"github.com/a-h/templ"

	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/view"
)

// Settings is the page of what a reader chooses for this browser: language and
// looks, how times are shown, and whether single keys do something. It stands
// still. The script keeps the last two, which nothing depends on without it, and
// has everything count at once.
type Settings struct {
	Shell  layout.Shell
	At     string // it is kept by posting there
	Go     string // address of the page that has the list of keys
	Tokens string // address of tokens and links; empty: there are none
}

// Title is the page's.
func (Settings) Title(ctx context.Context) string { return locale.T(ctx, "settings.title") }

// Full is the whole document.
func (m Settings) Full() templ.Component { return settings(m) }

// Watches is nothing.
func (Settings) Watches() []string { return nil }

// Parts is what is live in it: the shell's.
func (m Settings) Parts() []view.Part { return m.Shell.Parts() }

// A setting is one of a few things that a reader chooses. Its words are ids.
type setting struct {
	Name, Words, Tip string
	Now              string
	Choices          []settingChoice
}

type settingChoice struct{ Value, Words string }

func (m Settings) looks() []setting {
	l := m.Shell.Looks
	return []setting{
		{"theme", "settings.theme", "settings.theme.tip", l.Theme, []settingChoice{{"", "settings.theme.default"}, {"light", "settings.theme.light"}, {"dark", "settings.theme.dark"}}},
		{"contrast", "settings.contrast", "settings.contrast.tip", l.Contrast, []settingChoice{{"", "settings.contrast.default"}, {"more", "settings.contrast.more"}}},
		{"density", "settings.density", "settings.density.tip", l.Density, []settingChoice{{"", "settings.density.default"}, {"compact", "settings.density.compact"}}},
	}
}
