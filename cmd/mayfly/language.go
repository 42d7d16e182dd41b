package main

import (
	"context"
	"net/url"
	"strings"

	"mayfly/views/locale"
)

// inLanguage is the flag of commands that tell texts which are there in several
// languages: those of scenes.
type inLanguage struct {
	Lang string `placeholder:"CODE" choices:"en,pt-PT,pt-BR,cs,zh-CN" help:"The language of its texts, such as cs, where it has them. Default: that of LC_ALL, LC_MESSAGES or LANG, if the dashboard has it, else en."`
}

// in is an address of the API that answers in the language.
func (c inLanguage) in(ctx context.Context, path string, env func(string) string) string {
	lang := c.Lang
	if lang == "" {
		lang = languageOf(ctx, env)
	}
	at := "?"
	if strings.Contains(path, "?") {
		at = "&"
	}
	return path + at + url.Values{"lang": {lang}}.Encode()
}

// languageOf is the language of the dashboard's that the environment asks for, as
// programs on a terminal find it: the first of the variables that is set says it.
func languageOf(ctx context.Context, env func(string) string) string {
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if is := env(name); is != "" {
			is, _, _ = strings.Cut(is, "@")
			is, _, _ = strings.Cut(is, ".")
			return locale.Lang(locale.With(ctx, strings.ReplaceAll(is, "_", "-")))
		}
	}
	return locale.Languages()[0].Tag
}
