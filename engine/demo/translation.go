package demo

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// DefaultLanguage is the language of a scene that does not name one.
const DefaultLanguage = "en"

const maxLanguages = 20 // translations of a scene

// Translation holds all texts of a scene in another language, in the same order.
type Translation struct {
	Title   string            `yaml:"title"`
	Summary string            `yaml:"summary"`
	Steps   []StepTranslation `yaml:"steps"`
}

// StepTranslation holds the texts of a step.
type StepTranslation struct {
	Caption string   `yaml:"caption"`
	Expect  []string `yaml:"expect"` // the text of each expectation
}

// InLanguage returns the scene with its texts in a language, given as a tag such as pt-BR. If there
// is no translation into exactly that language, it chooses another variant, since Brazilian texts
// are better than none in Portugal, or else the texts as written. Language is the one chosen.
func (s *Scene) InLanguage(tag string) *Scene {
	if strings.EqualFold(tag, s.Language) {
		return s
	}
	best := s.Language
	for _, have := range s.OtherLanguages() {
		switch {
		case strings.EqualFold(have, tag):
			return s.translated(have)
		case sameLanguage(have, tag) && !sameLanguage(best, tag):
			best = have
		}
	}
	if best == s.Language {
		return s
	}
	return s.translated(best)
}

// OtherLanguages returns the languages of the scene's translations.
func (s *Scene) OtherLanguages() []string { return sorted(s.Languages) }

// sameLanguage reports whether two tags are variants of one language.
func sameLanguage(a, b string) bool {
	a, _, _ = strings.Cut(a, "-")
	b, _, _ = strings.Cut(b, "-")
	return strings.EqualFold(a, b)
}

// translated returns the scene in the language of one of its translations.
func (s *Scene) translated(tag string) *Scene {
	w, out := s.Languages[tag], *s
	out.Language, out.Title, out.Summary, out.Steps = tag, w.Title, w.Summary, slices.Clone(s.Steps)
	for i := range out.Steps {
		step := &out.Steps[i]
		step.Caption, step.Expectations = w.Steps[i].Caption, slices.Clone(step.Expectations)
		for j := range step.Expectations {
			step.Expectations[j].Text = w.Steps[i].Expect[j]
		}
	}
	return &out
}

// InLanguage returns the state with the texts of its scene in a language, as Scene.InLanguage does.
func (s State) InLanguage(tag string) State {
	s.Scene = s.Scene.InLanguage(tag)
	if step := s.Step(); step != nil {
		s.Results = slices.Clone(s.Results)
		for i := range s.Results {
			s.Results[i].Text = step.Expectations[i].Text
		}
	}
	return s
}

// Names returns the parts of a text between backticks: names of entities, messages and actors,
// which are the same in every language.
func Names(text string) []string {
	var all []string
	for i, part := range strings.Split(text, "`") {
		if i%2 == 1 {
			all = append(all, part)
		}
	}
	return all
}

// languageTag matches the part of BCP 47 that scenes need.
var languageTag = regexp.MustCompile(`^[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}$`)

// checkWords checks the translations against the scene's own texts.
func (s *Scene) checkWords(c *checker) {
	if !languageTag.MatchString(s.Language) {
		c.refuseIn("language", "'language' must be a tag such as en or pt-BR, not '%.64s'.", s.Language)
	}
	c.checkMax("languages", len(s.Languages), maxLanguages)
	for _, tag := range s.OtherLanguages() {
		c.location = location{"languages", []any{"languages", tag}}
		switch {
		case !languageTag.MatchString(tag):
			c.refuse("A language must be a tag such as cs or pt-BR, not '%.64s'.", tag)
			continue
		case strings.EqualFold(tag, s.Language):
			c.refuse("The scene itself is already in '%s'.", tag)
			continue
		}
		c.location.label = tag
		w := s.Languages[tag]
		c.checkTranslated("title", s.Title, w.Title)
		c.checkTranslated("summary", s.Summary, w.Summary)
		c.checkCount("steps", len(s.Steps), len(w.Steps))
		at := c.location
		for i := range min(len(s.Steps), len(w.Steps)) {
			c.location = location{fmt.Sprintf("%s, step %d", at.label, i+1), append(slices.Clip(at.path), "steps", i)}
			s.Steps[i].checkWords(c, w.Steps[i])
		}
	}
	c.location = location{}
}

func (s *Step) checkWords(c *checker, w StepTranslation) {
	c.checkTranslated("caption", s.Caption, w.Caption)
	c.checkCount("expect", len(s.Expectations), len(w.Expect))
	at := c.location
	for i := range min(len(s.Expectations), len(w.Expect)) {
		c.location = at.in("expect", i)
		c.checkTranslated("", s.Expectations[i].Text, w.Expect[i])
	}
	c.location = at
}

// checkCount checks that a translation's list is as long as the scene's.
func (c *checker) checkCount(what string, want, is int) {
	if want != is {
		c.refuseIn(what, "The translation has %d of '%s', but the scene has %d.", is, what, want)
	}
}

// checkTranslated checks that a translated text is valid, and has the same names as the scene's own.
func (c *checker) checkTranslated(what, own, text string) {
	if !c.checkText(what, text) {
		return
	}
	want, have := Names(own), Names(text)
	slices.Sort(want)
	slices.Sort(have)
	if !slices.Equal(want, have) {
		c.refuseIn(what, "Names between backticks must be the same in every language: %s, not %s.", joinNames(want), joinNames(have))
	}
}

func joinNames(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return "`" + strings.Join(names, "`, `") + "`"
}
