package show_test

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
	"mayfly/engine/scene"
	"mayfly/views/locale"
	"mayfly/web/show"
)

// Every scene of the program is watched on pages that there are. After each step all
// that it has somebody look at and that is still there is lit on the page it is watched
// on, and something is, unless the step says that there is nothing to look at.
func TestScenesAreWatched(t *testing.T) {
	lib, err := scene.Open()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range lib.List() {
		if s.Steps[0].Look == "" {
			t.Errorf("%s does not say where it begins", s.ID)
		}
		t.Run(s.ID, func(t *testing.T) {
			perform(t, lib, s.ID, isWatched)
		})
	}
}

// isWatched plays a scene to its end and looks at its pages.
func isWatched(t *testing.T, p *scene.Play, pages func() *show.Pages) {
	for i, step := range p.Scene().Steps {
		look := step.Look
		if look == "/" {
			look = ""
		}
		if at, err := show.Parse("/n/x"+look, engine.DefaultLimits()); err != nil || at.Do != "" {
			t.Errorf("step %d is watched on %q, which is no page: %v", i+1, step.Look, err)
		}
		if err := p.Next(t.Context(), i, scene.AtOnce, "ana"); err != nil {
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
				t.Errorf("step %d: nothing on %s is of %s", i+1, at, mark)
			}
		}
		if nothing := step.Mark != nil && len(step.Mark) == 0; len(marks) == 0 && !nothing {
			t.Errorf("step %d: nothing of %q is there to look at", i+1, step.Mark)
		}
	}
}

// marksOn are the addresses of what a page has somebody look at.
func marksOn(t *testing.T, doc *goquery.Document) (marks []string) {
	t.Helper()
	text, ok := doc.Find("[data-marks]").Attr("data-marks")
	if err := json.Unmarshal([]byte(text), &marks); err != nil || !ok {
		t.Errorf("a page has the marks %q: %v", text, err)
	}
	return marks
}

// lit is how much the script lights for a mark on the page at an address: links to it,
// and on its own page the heading.
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

// textsOf are the texts of a scene for people, in one order.
func textsOf(s *scene.Scene) []string {
	all := []string{s.Title, s.Teaches}
	for _, step := range s.Steps {
		all = append(all, step.Say)
		for _, e := range step.Then {
			all = append(all, e.Text)
		}
	}
	return all
}

// namesOf are what a scene calls things, and those who do something in it.
func namesOf(s *scene.Scene) map[string]bool {
	names := map[string]bool{}
	for _, e := range s.Entities {
		names[e.Queue], names[e.Topic], names[path.Base(e.Subscription)] = true, true, true
	}
	for _, step := range s.Steps {
		for _, a := range step.Do {
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

// Every scene of the program has every text in every language of the pages, and no
// other language; its figures and the names in it are the same in all. That each has all
// of them, and none too many, is what scene.Open asks for.
func TestScenesInEveryLanguage(t *testing.T) {
	lib, err := scene.Open()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range lib.List() {
		own, names := textsOf(s), namesOf(s)
		for _, text := range own {
			for _, name := range scene.Names(text) {
				if !names[name] && !names["replies-"+name] { // who waits for replies there
					t.Errorf("%s: nothing is called `%s` in %q", s.ID, name, text)
				}
			}
			if strings.Count(text, "`")%2 != 0 {
				t.Errorf("%s: a name has no end in %q", s.ID, text)
			}
		}
		if got := len(s.Tongues()); got != len(locale.Languages())-1 {
			t.Errorf("%s is in %d other languages: %v", s.ID, got, s.Tongues())
		}
		for _, l := range locale.Languages() {
			in := s.In(l.Tag)
			if in.Language != l.Tag {
				t.Errorf("%s in %s is in %s", s.ID, l.Name, in.Language)
				continue
			}
			for i, text := range textsOf(in) {
				if l.Tag != "en" && text == own[i] {
					t.Errorf("%s in %s is as in English: %q", s.ID, l.Name, text)
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
