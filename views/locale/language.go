package locale

import (
	"net/http"
	"slices"

	"golang.org/x/text/language"
)

// A Language is one that there is a catalogue of.
type Language struct {
	Tag  string // as in the attribute lang
	Name string // as those call it who speak it
}

// Languages are all of them. The first is that of everybody who asks for none of
// these.
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

// Cookie is the name of the cookie that holds the tag of the language somebody has
// chosen. Where it is missing their browser's languages count.
const Cookie = "mayfly_lang"

// Auto stands for no language of one's own, in a form that chooses one.
const Auto = "auto"

// Known tells whether tag is that of one of the Languages.
func Known(tag string) bool {
	return slices.ContainsFunc(Languages(), func(l Language) bool { return l.Tag == tag })
}

// Asked returns what a request asks for, as With takes it: the language that was
// chosen, else those that the browser prefers.
func Asked(r *http.Request) string {
	if c, err := r.Cookie(Cookie); err == nil && Known(c.Value) {
		return c.Value
	}
	return r.Header.Get("Accept-Language")
}

// Mark adds to the head of an answer which language it is in, and what that
// depends on.
func Mark(h http.Header, tag string) {
	h.Set("Content-Language", tag)
	h.Add("Vary", "Accept-Language, Cookie")
}
