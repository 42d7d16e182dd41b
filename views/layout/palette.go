package layout

// GoTo is where the page is that leads anywhere, below the namespace's address.
const GoTo = "/go"

// SettingsAt is where the page is of what the browser keeps, below the base path.
const SettingsAt = "/settings"

// AskLanguage is the name of the field that chooses a language.
const AskLanguage = "lang"

// A key is what a key on the keyboard does.
type key struct {
	keys  []string // pressed one after the other
	words string   // the id of what they do
}

// keys are those of every page, as the script has them.
func keys() []key {
	return []key{
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
}
