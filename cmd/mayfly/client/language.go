package client

import (
	"context"
	"net/url"
	"strings"

	"mayfly/views/locale"
)

// languageFlag is the flag of commands that show scenes, whose texts exist in several languages.
type languageFlag struct {
	Lang string `placeholder:"CODE" choices:"en,pt-PT,pt-BR,cs,zh-CN" help:"Language, such as cs. Default: from LC_ALL, LC_MESSAGES or LANG if the dashboard has it, else en."`
}

// withLanguage adds the language to an address of the API.
func (c languageFlag) withLanguage(ctx context.Context, path string, env func(string) string) string {
	lang := c.Lang
	if lang == "" {
		lang = environmentLanguage(ctx, env)
	}
	at := "?"
	if strings.Contains(path, "?") {
		at = "&"
	}
	return path + at + url.Values{"lang": {lang}}.Encode()
}

// environmentLanguage returns the dashboard's language that fits the environment best. As usual for
// programs on a terminal, the first variable that is set decides.
func environmentLanguage(ctx context.Context, env func(string) string) string {
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if is := env(name); is != "" {
			is, _, _ = strings.Cut(is, "@")
			is, _, _ = strings.Cut(is, ".")
			return locale.Lang(locale.With(ctx, strings.ReplaceAll(is, "_", "-")))
		}
	}
	return locale.Languages()[0].Tag
}
