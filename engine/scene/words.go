package scene

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// DefaultLanguage is that of a scene that does not say which it is written in.
const DefaultLanguage = "en"

const mostLanguages = 20 // of a scene, beside its own

// Words are the texts of a scene in a language, in the order in which the scene has
// them: all of them.
type Words struct {
	Title   string      `yaml:"title"`
	Teaches string      `yaml:"teaches"`
	Steps   []StepWords `yaml:"steps"`
}

// StepWords are the texts of a step.
type StepWords struct {
	Say  string   `yaml:"say"`
	Then []string `yaml:"then"` // the text of each thing that is so
}

// In is the scene with its texts in a language, a tag such as pt-BR: in that one; or
// else in another one of the same, as those of Brazil are better than none in Portugal;
// or else as it was written. Language says which it is.
func (s *Scene) In(tag string) *Scene {
	if strings.EqualFold(tag, s.Language) {
		return s
	}
	best := s.Language
	for _, have := range s.Tongues() {
		switch {
		case strings.EqualFold(have, tag):
			return s.say(have)
		case alike(have, tag) && !alike(best, tag):
			best = have
		}
	}
	if best == s.Language {
		return s
	}
	return s.say(best)
}

// Tongues are the languages that a scene has beside its own.
func (s *Scene) Tongues() []string { return sorted(s.Languages) }

// alike tells whether two tags are of one language, wherever it is spoken.
func alike(a, b string) bool {
	a, _, _ = strings.Cut(a, "-")
	b, _, _ = strings.Cut(b, "-")
	return strings.EqualFold(a, b)
}

// say is the scene in a language that it has.
func (s *Scene) say(tag string) *Scene {
	w, out := s.Languages[tag], *s
	out.Language, out.Title, out.Teaches, out.Steps = tag, w.Title, w.Teaches, slices.Clone(s.Steps)
	for i := range out.Steps {
		step := &out.Steps[i]
		step.Say, step.Then = w.Steps[i].Say, slices.Clone(step.Then)
		for j := range step.Then {
			step.Then[j].Text = w.Steps[i].Then[j]
		}
	}
	return &out
}

// In is the state with the texts of its scene in a language, as Scene.In has them.
func (s State) In(tag string) State {
	s.Scene = s.Scene.In(tag)
	if step := s.Step(); step != nil {
		s.Findings = slices.Clone(s.Findings)
		for i := range s.Findings {
			s.Findings[i].Text = step.Then[i].Text
		}
	}
	return s
}

// Names are what stands between backticks in a text: names of entities, messages and
// whoever does something, which are the same in every language.
func Names(text string) []string {
	var all []string
	for i, part := range strings.Split(text, "`") {
		if i%2 == 1 {
			all = append(all, part)
		}
	}
	return all
}

// languageTag is as much of BCP 47 as a catalogue of texts needs.
var languageTag = regexp.MustCompile(`^[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}$`)

// checkWords checks the texts in other languages against those of the scene.
func (s *Scene) checkWords(c *checker) {
	if !languageTag.MatchString(s.Language) {
		c.refuseIn("language", "'language' is a tag such as en or pt-BR, not '%.64s'.", s.Language)
	}
	c.few("languages", len(s.Languages), mostLanguages)
	for _, tag := range s.Tongues() {
		c.at = place{"languages", []any{"languages", tag}}
		switch {
		case !languageTag.MatchString(tag):
			c.refuse("A language is a tag such as cs or pt-BR, not '%.64s'.", tag)
			continue
		case strings.EqualFold(tag, s.Language):
			c.refuse("The scene itself is in '%s'.", tag)
			continue
		}
		c.at.label = tag
		w := s.Languages[tag]
		c.translated("title", s.Title, w.Title)
		c.translated("teaches", s.Teaches, w.Teaches)
		c.asMany("steps", len(s.Steps), len(w.Steps))
		at := c.at
		for i := range min(len(s.Steps), len(w.Steps)) {
			c.at = place{fmt.Sprintf("%s, step %d", at.label, i+1), append(slices.Clip(at.path), "steps", i)}
			s.Steps[i].checkWords(c, w.Steps[i])
		}
	}
	c.at = place{}
}

func (s *Step) checkWords(c *checker, w StepWords) {
	c.translated("say", s.Say, w.Say)
	c.asMany("then", len(s.Then), len(w.Then))
	at := c.at
	for i := range min(len(s.Then), len(w.Then)) {
		c.at = at.in("then", i)
		c.translated("", s.Then[i].Text, w.Then[i])
	}
	c.at = at
}

// asMany checks that a list is as long as the scene has it.
func (c *checker) asMany(what string, want, is int) {
	if want != is {
		c.refuseIn(what, "There are %d of '%s' here, and %d in the scene itself.", is, what, want)
	}
}

// translated checks a text against the scene's own: it is one, and has the same names.
func (c *checker) translated(what, own, text string) {
	if !c.words(what, text) {
		return
	}
	want, have := Names(own), Names(text)
	slices.Sort(want)
	slices.Sort(have)
	if !slices.Equal(want, have) {
		c.refuseIn(what, "Names between backticks are the same in every language: %s, not %s.", listed(want), listed(have))
	}
}

func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return "`" + strings.Join(names, "`, `") + "`"
}
