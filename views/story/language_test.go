package story

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"mayfly/engine/longtest"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/view"
)

var (
	tagged = regexp.MustCompile(`<html lang="([^"]*)"`)
	nobody = regexp.MustCompile(`&lt;no value&gt;|\{\{|%!`)
)

// TestStoriesSpeakEveryLanguage renders every page in every language, and checks that no
// placeholder is left.
func TestStoriesSpeakEveryLanguage(t *testing.T) {
	all, english := All(), map[string][]string{}
	for _, s := range all {
		english[s.Name] = nobody.FindAllString(render(t.Context(), t, s.whole()), -1)
	}
	for at, l := range locale.Languages() {
		ctx := locale.With(t.Context(), l.Tag)
		for i, s := range all {
			if i%len(locale.Languages()) != at && !longtest.Enabled(t) { // each story in one language, and each language in some story
				continue
			}
			html := render(ctx, t, s.whole())
			if s.Page != nil {
				if m := tagged.FindStringSubmatch(html); m == nil || m[1] != l.Tag {
					t.Errorf("%s in %s: its lang is %v", s.Name, l.Tag, m)
				}
			}
			if said := nobody.FindAllString(html, -1); !slices.Equal(said, english[s.Name]) {
				t.Errorf("%s in %s: %q was not filled in", s.Name, l.Tag, said)
			}
		}
	}
}

// TestStatesOfManyAreCalledSo checks that counts of messages by state, and the choices of a purge,
// have plural labels in every language, even where the label of a single message differs.
func TestStatesOfManyAreCalledSo(t *testing.T) {
	for tag, want := range map[string]string{
		"en":    "Active Locked Scheduled Deferred Dead letters In all",
		"cs":    "Aktivní Uzamčené Naplánované Odložené Nedoručené Celkem",
		"pt-PT": "Ativas Bloqueadas Agendadas Diferidas Na DLQ No total",
		"pt-BR": "Ativas Bloqueadas Agendadas Adiadas Na DLQ No total",
		"zh-CN": "活动 已锁定 已计划 已延迟 死信 总计",
	} {
		ctx, purges := locale.With(t.Context(), tag), 0
		for _, s := range All() {
			if tag != "en" && s.Name != "queue" && !longtest.Enabled(t) {
				continue
			}
			page, err := goquery.NewDocumentFromReader(strings.NewReader(render(ctx, t, s.whole())))
			if err != nil {
				t.Fatal(err)
			}
			words := func(selector string) (all []string) {
				page.Find(selector).Each(func(_ int, el *goquery.Selection) { all = append(all, strings.TrimSpace(el.Text())) })
				return all
			}
			if got := strings.Join(words(".states span:not(.sr)"), " "); s.Name == "queue" && got != want {
				t.Errorf("%s: the tiles of a queue are %q, want %q", tag, got, want)
			}
			for _, word := range words(".choice:has([name=state]) span b") {
				if purges++; !strings.Contains(want, word) {
					t.Errorf("%s in %s: the messages that a purge removes are called %q", s.Name, tag, word)
				}
			}
		}
		if purges < 4 && (tag == "en" || longtest.Enabled(t)) {
			t.Errorf("%s: only %d states of purges were seen", tag, purges)
		}
	}
}

// TestStoriesMarkEnglish checks that errors of the server, which are in English, are marked as
// English on pages in other languages.
func TestStoriesMarkEnglish(t *testing.T) {
	ctx, n := locale.With(t.Context(), "cs"), 0
	for _, s := range All() {
		page, err := goquery.NewDocumentFromReader(strings.NewReader(render(ctx, t, s.whole())))
		if err != nil {
			t.Fatal(err)
		}
		page.Find(".err, .because, .faults li, .clauses .tone").Each(func(_ int, wrong *goquery.Selection) {
			said := wrong.Find("[lang=en]").AddSelection(wrong.Filter("[lang=en]"))
			n += said.Length()
			if text := wrong.Text(); said.Length() == 0 && englishWords.MatchString(text) {
				t.Errorf("%s has English text on a Czech page: %s", s.Name, text)
			}
		})
	}
	if n < 40 {
		t.Errorf("only %d of the server's texts were seen", n)
	}
}

var englishWords = regexp.MustCompile(`(?i)\b(is|are|was|not|no|at|the|has|it|by)\b`)

// TestScriptsUseTheWordsOfThePage checks that a page passes texts in its language to its script.
func TestScriptsUseTheWordsOfThePage(t *testing.T) {
	for tag, want := range map[string][]string{
		"en":    {`{n}m`, `{n} ago`, `expiring…`},
		"pt-PT": {"{n}\u00a0min", `há {n}`, `a expirar…`},
		"cs":    {"{n}\u00a0min", `před {n}`},
		"zh-CN": {"{n}\u00a0分钟", `{n}`},
	} {
		html := render(view.WithFrozenClocks(locale.With(t.Context(), tag)), t, layout.Page(layout.Shell{Namespace: "shop"}))
		for _, text := range want {
			if !strings.Contains(html, text) {
				t.Errorf("%s: the page does not pass %q to its script", tag, text)
			}
		}
	}
}
