package layout

// GoToPath is the path of the page with links to everything, below the namespace's address.
const GoToPath = "/go"

// SettingsPath is the path of the page of this browser's settings, below the base path.
const SettingsPath = "/settings"

// FieldLanguage is the form field that chooses a language.
const FieldLanguage = "lang"

// A shortcut is a keyboard shortcut.
type shortcut struct {
	keys   []string // pressed one after the other
	textID string   // the id of its description
}

// shortcuts lists the keyboard shortcuts that work on every page. The script implements the same ones.
var shortcuts = []shortcut{
	{[]string{"Ctrl K"}, "keys.go"},
	{[]string{"/"}, "keys.search"},
	{[]string{"?"}, "keys.help"},
	{[]string{"g", "o"}, "rail.overview"},
	{[]string{"g", "e"}, "rail.expirations"},
	{[]string{"g", "q"}, "rail.queues"},
	{[]string{"g", "t"}, "rail.topics"},
	{[]string{"g", "d"}, "rail.deferred"},
	{[]string{"g", "s"}, "rail.scenes"},
	{[]string{"g", "a"}, "rail.activity"},
	{[]string{"g", "l"}, "keys.lab"},
	{[]string{"j"}, "keys.next"},
	{[]string{"k"}, "keys.previous"},
	{[]string{"Enter"}, "keys.open"},
	{[]string{"."}, "keys.actions"},
	{[]string{"x"}, "keys.choose"},
	{[]string{"Shift X"}, "keys.range"},
	{[]string{"s"}, "keys.send"},
	{[]string{"p"}, "keys.pause"},
	{[]string{"Shift P"}, "keys.present"},
	{[]string{"r"}, "keys.refresh"},
	{[]string{"u"}, "keys.undo"},
	{[]string{"t"}, "keys.theme"},
	{[]string{"Esc"}, "keys.close"},
}
