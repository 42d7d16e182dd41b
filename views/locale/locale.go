// Package locale holds the words of the dashboard. They stand in one catalogue
// per language, en.json being the one that is complete by definition; views
// ask for them by id, in the language of their context.
//
// What programs read stays English: the JSON API (but for the texts of scenes, where
// another language is asked for), the commands and their logs, and
// the sentences of the engine's errors, which a page shows as they are and says to be English.
package locale

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/nicksnyder/go-i18n/v2/i18n"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

//go:embed *.json
var catalogues embed.FS

//nolint:gochecknoglobals // what is embedded cannot differ from one caller to another
var (
	bundle  = load()
	matcher = language.NewMatcher(tags())
	english = speaker{i18n.NewLocalizer(bundle, "en"), message.NewPrinter(language.English), "en"}
)

func load() *i18n.Bundle {
	b := i18n.NewBundle(language.English)
	b.RegisterUnmarshalFunc("json", json.Unmarshal)
	for _, l := range Languages() {
		if _, err := b.LoadMessageFileFS(catalogues, l.Tag+".json"); err != nil {
			panic(fmt.Sprintf("locale: %v", err)) // embedded: a failure of the build
		}
	}
	return b
}

// A speaker is one language as one reader wants it.
type speaker struct {
	words   *i18n.Localizer
	figures *message.Printer
	tag     string
}

type speakerKey struct{}

// With returns a context that speaks the best language there is for accept,
// the value of an Accept-Language header or one tag.
func With(ctx context.Context, accept string) context.Context {
	wanted, _, err := language.ParseAcceptLanguage(accept)
	if err != nil {
		wanted = nil // what cannot be read asks for nothing
	}
	_, i, _ := matcher.Match(wanted...)
	l := Languages()[i]
	return context.WithValue(ctx, speakerKey{}, speaker{
		i18n.NewLocalizer(bundle, l.Tag), message.NewPrinter(language.MustParse(l.Tag)), l.Tag,
	})
}

func from(ctx context.Context) speaker {
	if s, ok := ctx.Value(speakerKey{}).(speaker); ok {
		return s
	}
	return english
}

// Lang returns the tag of the language of ctx; "en" if none was chosen.
func Lang(ctx context.Context) string { return from(ctx).tag }

// Args fill the places of a text, {{.Name}} by name. Texts are not escaped
// here; templates do that.
type Args map[string]any

// T returns the text with the given id. It takes at most one Args. An id that
// the catalogue lacks comes back in English, and one that nobody has as itself;
// tests of the catalogues keep both from happening.
func T(ctx context.Context, id string, args ...Args) string {
	cfg := i18n.LocalizeConfig{MessageID: id}
	if len(args) > 0 {
		cfg.TemplateData = args[0]
	}
	return say(ctx, id, &cfg)
}

// N returns the text with the given id in the form that n things ask for;
// {{.N}} in it is n written as a number.
func N(ctx context.Context, id string, n int, args ...Args) string {
	data := Args{"N": Number(ctx, n)}
	for _, a := range args {
		maps.Copy(data, a)
	}
	return say(ctx, id, &i18n.LocalizeConfig{MessageID: id, PluralCount: n, TemplateData: data})
}

func say(ctx context.Context, id string, cfg *i18n.LocalizeConfig) string {
	s, err := from(ctx).words.Localize(cfg)
	if err != nil && s == "" {
		return id
	}
	return s
}

// Number writes n with the separators of the language: 1,284.
func Number(ctx context.Context, n int) string {
	return from(ctx).figures.Sprintf("%d", n)
}

// Decimal writes f with so many digits after the sign that the language has for
// that: 1.5, or 1,5.
func Decimal(ctx context.Context, f float64, digits int) string {
	return from(ctx).figures.Sprintf("%.*f", digits, f)
}

// List joins words as the language does: "a, b and c".
func List(ctx context.Context, words ...string) string {
	switch len(words) {
	case 0:
		return ""
	case 1:
		return words[0]
	}
	last := len(words) - 1
	return T(ctx, "list.and", Args{"Before": strings.Join(words[:last], T(ctx, "list.comma")), "Last": words[last]})
}
