package route_test

import (
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/PuerkitoBio/goquery"

	"mayfly/engine"
	"mayfly/engine/demo"
	"mayfly/views/locale"
	"mayfly/web/dashboard/pages"
	"mayfly/web/dashboard/route"
)

// Every built-in scene can be watched on existing pages. After each step, everything that it points
// out and that still exists is highlighted on its page. There is at least one such thing, unless
// the step declares that there is nothing to see.
func TestScenesAreWatched(t *testing.T) {
	lib, err := demo.Open()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range lib.List() {
		if s.Steps[0].Page == "" {
			t.Errorf("%s does not name its first page", s.ID)
		}
		t.Run(s.ID, func(t *testing.T) {
			perform(t, lib, s.ID, isWatched)
		})
	}
}

// isWatched plays a scene to its end and opens its pages.
func isWatched(t *testing.T, p *demo.Playback, pages func() *pages.Pages) {
	for i, step := range p.Scene().Steps {
		look := step.Page
		if look == "/" {
			look = ""
		}
		if at, err := route.Routes().Parse("/n/x"+look, engine.DefaultLimits()); err != nil || at.Action != "" {
			t.Errorf("step %d names the page %q, which does not exist: %v", i+1, step.Page, err)
		}
		if err := p.NextStep(t.Context(), i, demo.Instant, "ana"); err != nil {
			t.Fatalf("step %d: %v", i+1, err)
		}
		at := pages().WatchURL(p.State())
		page, _, err := pages().Open(t.Context(), at)
		if err != nil {
			t.Fatalf("step %d, %s: %v", i+1, at, err)
		}
		doc, err := goquery.NewDocumentFromReader(strings.NewReader(render(t.Context(), t, page.Full())))
		if err != nil {
			t.Fatal(err)
		}
		marks := marksOn(t, doc)
		for _, mark := range marks {
			if lit(doc, at, mark) == 0 {
				t.Errorf("step %d: nothing on %s refers to %s", i+1, at, mark)
			}
		}
		if nothing := step.Highlight != nil && len(step.Highlight) == 0; len(marks) == 0 && !nothing {
			t.Errorf("step %d: nothing of %q is highlighted", i+1, step.Highlight)
		}
	}
}

// marksOn returns the addresses that a page points out.
func marksOn(t *testing.T, doc *goquery.Document) (marks []string) {
	t.Helper()
	text, ok := doc.Find("[data-marks]").Attr("data-marks")
	if err := json.Unmarshal([]byte(text), &marks); err != nil || !ok {
		t.Errorf("a page has the marks %q: %v", text, err)
	}
	return marks
}

// lit returns how many elements the script highlights for a mark on the page at an address:
// links to it, and on its own page the heading.
func lit(doc *goquery.Document, at, mark string) int {
	path := func(url string) string { path, _, _ := strings.Cut(url, "?"); return path }
	if path(mark) == path(at) {
		return doc.Find(".main h1").Length()
	}
	return doc.Find(".main a[href]").FilterFunction(func(_ int, a *goquery.Selection) bool { return path(a.AttrOr("href", "")) == path(mark) }).Length()
}

var (
	figure = regexp.MustCompile(`\d+`)
	han    = regexp.MustCompile(`\p{Han}`)
)

// textsOf returns the displayed texts of a scene, in a fixed order.
func textsOf(s *demo.Scene) []string {
	all := []string{s.Title, s.Summary}
	for _, step := range s.Steps {
		all = append(all, step.Caption)
		for _, e := range step.Expectations {
			all = append(all, e.Text)
		}
	}
	return all
}

// namesOf returns the names of a scene's entities, messages and actors.
func namesOf(s *demo.Scene) map[string]bool {
	names := map[string]bool{}
	for _, e := range s.Entities {
		names[e.Queue], names[e.Topic], names[path.Base(e.Subscription)] = true, true, true
	}
	for _, step := range s.Steps {
		for _, a := range step.Actions {
			switch {
			case a.Create != nil:
				names[a.Create.Queue] = true
			case a.Send != nil:
				names[a.Send.As] = true
			case a.Receive != nil:
				names[a.Receive.As], names[a.Receive.By] = true, true
			}
		}
	}
	return names
}

// Every built-in scene has every text in each language of the pages and in no other; its
// numbers and names are the same in all languages. That each language has exactly these texts
// is checked by scene.Open.
func TestScenesInEveryLanguage(t *testing.T) {
	lib, err := demo.Open()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range lib.List() {
		own, names := textsOf(s), namesOf(s)
		for _, text := range own {
			for _, name := range demo.Names(text) {
				if !names[name] && !names["replies-"+name] { // a client's queue for replies is named after the client
					t.Errorf("%s: no name is `%s` in %q", s.ID, name, text)
				}
			}
			if strings.Count(text, "`")%2 != 0 {
				t.Errorf("%s: a name is not closed in %q", s.ID, text)
			}
		}
		if got := len(s.OtherLanguages()); got != len(locale.Languages())-1 {
			t.Errorf("%s is in %d other languages: %v", s.ID, got, s.OtherLanguages())
		}
		for _, l := range locale.Languages() {
			in := s.InLanguage(l.Tag)
			if in.Language != l.Tag {
				t.Errorf("%s in %s has the language %s", s.ID, l.Name, in.Language)
				continue
			}
			for i, text := range textsOf(in) {
				if l.Tag != "en" && text == own[i] {
					t.Errorf("%s in %s is the same as in English: %q", s.ID, l.Name, text)
				}
				if han.MatchString(text) != (l.Tag == "zh-CN") {
					t.Errorf("%s in %s: %q", s.ID, l.Name, text)
				}
				for _, n := range figure.FindAllString(own[i], -1) {
					if !slices.Contains(figure.FindAllString(text, -1), n) {
						t.Errorf("%s in %s lacks %s: %q", s.ID, l.Name, n, text)
					}
				}
				if most := utf8.RuneCountInString(own[i])*3/2 + 20; utf8.RuneCountInString(text) > most {
					t.Errorf("%s in %s is much longer than in English: %q", s.ID, l.Name, text)
				}
			}
		}
	}
}
