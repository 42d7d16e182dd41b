// Package locale holds the texts of the dashboard, in one catalogue per language. en.json
// is complete by definition. Views look texts up by id, in the language of their context.
//
// Texts for programs stay English: the JSON API (except the texts of scenes, if another
// language is requested), the commands and their logs, and the engine's error messages,
// which pages show unchanged and mark as English.
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

//nolint:gochecknoglobals // embedded catalogues, never changed
var (
	bundle  = load()
	matcher = language.NewMatcher(tags())
	english = localizer{i18n.NewLocalizer(bundle, "en"), message.NewPrinter(language.English), "en"}
)

func load() *i18n.Bundle {
	b := i18n.NewBundle(language.English)
	b.RegisterUnmarshalFunc("json", json.Unmarshal)
	for _, l := range Languages() {
		if _, err := b.LoadMessageFileFS(catalogues, l.Tag+".json"); err != nil {
			panic(fmt.Sprintf("locale: %v", err)) // embedded: a failure here is a failure of the build
		}
	}
	return b
}

// A localizer formats texts and numbers in one language.
type localizer struct {
	texts   *i18n.Localizer
	printer *message.Printer
	tag     string
}

type localizerKey struct{}

// With returns a context with the language that best matches `accept`, the value of an
// Accept-Language header or a single tag. If none matches, it is the default language.
func With(ctx context.Context, accept string) context.Context {
	wanted, _, err := language.ParseAcceptLanguage(accept)
	if err != nil {
		wanted = nil // an invalid header is ignored
	}
	_, i, _ := matcher.Match(wanted...)
	l := Languages()[i]
	return context.WithValue(ctx, localizerKey{}, localizer{
		i18n.NewLocalizer(bundle, l.Tag), message.NewPrinter(language.MustParse(l.Tag)), l.Tag,
	})
}

func from(ctx context.Context) localizer {
	if s, ok := ctx.Value(localizerKey{}).(localizer); ok {
		return s
	}
	return english
}

// Lang returns the tag of the language of ctx; "en" if none was chosen.
func Lang(ctx context.Context) string { return from(ctx).tag }

// Args are the values for a text's placeholders, such as {{.Name}}, by name. Texts are not
// escaped here; templates do that.
type Args map[string]any

// T returns the text with the given id. It takes at most one Args. If the catalogue lacks
// the id, T returns the English text, or the id if that is missing too. Tests of the
// catalogues prevent both.
func T(ctx context.Context, id string, args ...Args) string {
	cfg := i18n.LocalizeConfig{MessageID: id}
	if len(args) > 0 {
		cfg.TemplateData = args[0]
	}
	return say(ctx, id, &cfg)
}

// N returns the text with the given id in the plural form for n; {{.N}} in it is n written as
// a number.
func N(ctx context.Context, id string, n int, args ...Args) string {
	data := Args{"N": Number(ctx, n)}
	for _, a := range args {
		maps.Copy(data, a)
	}
	return say(ctx, id, &i18n.LocalizeConfig{MessageID: id, PluralCount: n, TemplateData: data})
}

func say(ctx context.Context, id string, cfg *i18n.LocalizeConfig) string {
	s, err := from(ctx).texts.Localize(cfg)
	if err != nil && s == "" {
		return id
	}
	return s
}

// Number writes n with the separators of the language: 1,284.
func Number(ctx context.Context, n int) string {
	return from(ctx).printer.Sprintf("%d", n)
}

// Decimal writes f with the given number of digits after the language's decimal separator:
// 1.5, or 1,5.
func Decimal(ctx context.Context, f float64, digits int) string {
	return from(ctx).printer.Sprintf("%.*f", digits, f)
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
