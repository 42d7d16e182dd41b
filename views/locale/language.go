package locale

import (
	"net/http"
	"slices"

	"golang.org/x/text/language"
)

// A Language is a language with a catalogue.
type Language struct {
	Tag  string // as in the attribute lang
	Name string // as its speakers call it
}

// Languages returns all languages. The first is the default.
func Languages() []Language {
	return []Language{
		{"en", "English"},
		{"pt-PT", "Português (Portugal)"},
		{"pt-BR", "Português (Brasil)"},
		{"cs", "Čeština"},
		{"zh-CN", "简体中文"},
	}
}

func tags() []language.Tag {
	var all []language.Tag
	for _, l := range Languages() {
		all = append(all, language.MustParse(l.Tag))
	}
	return all
}

// Cookie is the name of the cookie with the tag of the language that a user has chosen.
// Without it, the browser's preferences apply.
const Cookie = "mayfly_lang"

// Auto means the browser's preferences, in a form that chooses a language.
const Auto = "auto"

// Supported reports whether tag belongs to one of the Languages.
func Supported(tag string) bool {
	return slices.ContainsFunc(Languages(), func(l Language) bool { return l.Tag == tag })
}

// Requested returns the languages that a request prefers, as With takes them: the user's
// choice, or else the browser's preferences.
func Requested(r *http.Request) string {
	if c, err := r.Cookie(Cookie); err == nil && Supported(c.Value) {
		return c.Value
	}
	return r.Header.Get("Accept-Language")
}

// SetHeader sets the language of a response, and the request headers it depends on.
func SetHeader(h http.Header, tag string) {
	h.Set("Content-Language", tag)
	h.Add("Vary", "Accept-Language, Cookie")
}
