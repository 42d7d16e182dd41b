package show

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"mayfly/engine"
	"mayfly/engine/scene"
	"mayfly/views/locale"
)

// Every scene of the program is watched on pages that there are, and what is to
// be looked at on them is an entity or a message of it.
func TestScenesAreWatched(t *testing.T) {
	lib, err := scene.Open()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range lib.List() {
		for i, step := range s.Steps {
			look := step.Look
			if look == "/" {
				look = ""
			}
			if at, err := Parse("/n/x"+look, engine.DefaultLimits()); err != nil || at.Do != "" {
				t.Errorf("%s, step %d is watched on %q, which is no page: %v", s.ID, i+1, step.Look, err)
			}
			if i == 0 && step.Look == "" {
				t.Errorf("%s does not say where it begins", s.ID)
			}
		}
	}
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
