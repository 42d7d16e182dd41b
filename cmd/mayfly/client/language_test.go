package client

import (
	"io"
	"reflect"
	"strings"
	"testing"

	"mayfly/cmd/mayfly/cli"
	"mayfly/views/locale"
)

func TestLanguageOfTheEnvironment(t *testing.T) {
	for set, want := range map[string]string{
		"": "en", "LANG=C.UTF-8": "en", "LANG=POSIX": "en", "LANG=de_DE.UTF-8": "en", "LANG=nonsense!": "en",
		"LANG=cs_CZ.UTF-8": "cs", "LANG=cs": "cs", "LANG=pt_BR": "pt-BR", "LANG=pt_PT.UTF-8@euro": "pt-PT", "LANG=zh_CN.GB18030": "zh-CN",
		"LANG=cs_CZ LC_MESSAGES=pt_BR.UTF-8":       "pt-BR",
		"LC_MESSAGES=cs_CZ LC_ALL=C":               "en",
		"LANG=C LC_MESSAGES= LC_ALL=zh_CN.UTF-8":   "zh-CN",
		"LANG=cs_CZ LC_MESSAGES=de_DE LANGUAGE=pt": "en",
	} {
		env := map[string]string{}
		for v := range strings.FieldsSeq(set) {
			name, value, _ := strings.Cut(v, "=")
			env[name] = value
		}
		if got := environmentLanguage(t.Context(), func(name string) string { return env[name] }); got != want {
			t.Errorf("%q is %s; want %s", set, got, want)
		}
	}
}

// TestLanguagesAreCompleted checks that completion suggests exactly the supported languages.
func TestLanguagesAreCompleted(t *testing.T) {
	var all []string
	for _, l := range locale.Languages() {
		all = append(all, l.Tag)
	}
	f, _ := reflect.TypeFor[languageFlag]().FieldByName("Lang")
	if got, want := f.Tag.Get("choices"), strings.Join(all, ","); got != want {
		t.Errorf("%q; want %q", got, want)
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		var script strings.Builder
		cli.Execute(t.Context(), cli.Commands(Commands()), []string{"completion", shell}, nil, cli.Streams{In: strings.NewReader(""), Out: &script, Err: io.Discard})
		if !strings.Contains(script.String(), strings.Join(all, " ")) {
			t.Errorf("%s does not complete them", shell)
		}
	}
}
