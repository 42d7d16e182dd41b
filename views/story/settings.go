package story

import (
	"mayfly/views/layout"
	"mayfly/views/page/admin"
)

func settingsStories() []Story {
	chosen := settings()
	chosen.Shell.Appearance = layout.Appearance{Theme: "dark", Contrast: "more", Density: "compact"}
	return []Story{{Name: "settings", Page: settings()}, {Name: "settings-chosen", Page: chosen}}
}

func settings() admin.Settings {
	s := namespaceShell("Settings")
	s.Back = "/settings"
	return admin.Settings{Shell: s, At: "/settings", Go: home + layout.GoToPath, Tokens: "/tokens"}
}
