package demo_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/demo"
)

const spoken = `title: Lunch
summary: What nobody fetches gets cold.
entities: [{queue: kitchen}]
steps:
  - caption: Two soups in ` + "`kitchen`" + `.
    actions: [{send: {to: kitchen, as: order, body: two soups}}]
    expect: [{text: They wait., entity: kitchen, active: 1}, {text: So they do., message: order, state: active}]
  - caption: Nobody comes.
languages:
  cs:
    title: Oběd
    summary: Co si nikdo nevyzvedne, vystydne.
    steps:
      - caption: Dvě polévky v ` + "`kitchen`" + `.
        expect: [Čekají., Opravdu.]
      - caption: Nikdo nejde.
  pt-BR:
    title: Almoço
    summary: O que ninguém busca esfria.
    steps:
      - caption: Duas sopas em ` + "`kitchen`" + `.
        expect:
          - Esperam.
          - De fato.
      - {caption: Ninguém vem.}
`

// A scene is shown in the requested language, in another variant of it, or else in its own.
func TestIn(t *testing.T) {
	written, err := demo.Parse("lunch", []byte(spoken))
	if err != nil {
		t.Fatal(err)
	}
	portuguese, err := demo.Parse("lunch", []byte("language: pt-PT\n"+spoken))
	if err != nil {
		t.Fatal(err)
	}
	for tag, want := range map[string]struct{ of, ofPortuguese string }{
		"cs": {"cs Oběd Nikdo nejde.", "cs Oběd Nikdo nejde."}, "CS": {"cs Oběd Nikdo nejde.", "cs Oběd Nikdo nejde."},
		"pt-BR": {"pt-BR Almoço Ninguém vem.", "pt-BR Almoço Ninguém vem."},
		"pt-PT": {"pt-BR Almoço Ninguém vem.", "pt-PT Lunch Nobody comes."},
		"pt":    {"pt-BR Almoço Ninguém vem.", "pt-PT Lunch Nobody comes."},
		"en":    {"en Lunch Nobody comes.", "pt-PT Lunch Nobody comes."}, "en-GB": {"en Lunch Nobody comes.", "pt-PT Lunch Nobody comes."},
		"zh-CN": {"en Lunch Nobody comes.", "pt-PT Lunch Nobody comes."}, "": {"en Lunch Nobody comes.", "pt-PT Lunch Nobody comes."},
	} {
		tell := func(s *demo.Scene) string {
			return fmt.Sprint(s.Language, " ", s.Title, " ", s.Steps[1].Caption)
		}
		if got := tell(written.InLanguage(tag)); got != want.of {
			t.Errorf("in %q the scene is %q, not %q", tag, got, want.of)
		}
		if got := tell(portuguese.InLanguage(tag)); got != want.ofPortuguese {
			t.Errorf("in %q the Portuguese scene is %q, not %q", tag, got, want.ofPortuguese)
		}
	}
	if s := written.InLanguage("cs"); s.Steps[0].Expectations[1].Text != "Opravdu." || s.Steps[0].Expectations[1].Message != "order" || s.Text != spoken || s.ID != "lunch" {
		t.Errorf("in Czech: %+v", s)
	}
	if s := written; s.Title != "Lunch" || s.Steps[0].Expectations[1].Text != "So they do." {
		t.Errorf("translating changed the original: %+v", s)
	}
	if diff := cmp.Diff([]string{"cs", "pt-BR"}, written.OtherLanguages()); diff != "" {
		t.Error(diff)
	}
}

// The state of a playback can be translated into each language of its scene, which does not change
// the playback. Its recorded events can be parsed again.
func TestStateIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, demo.Options{})
		p := w.add(spoken)
		if is := p.State().InLanguage("cs"); is.Scene.Summary != "Co si nikdo nevyzvedne, vystydne." {
			t.Errorf("it begins as %+v", is.Scene)
		}
		w.must(p.NextStep(t.Context(), 0, demo.Instant, "me"))
		for tag, want := range map[string]string{"cs": "Dvě polévky v `kitchen`. Čekají. Opravdu.", "de": "Two soups in `kitchen`. They wait. So they do."} {
			is := p.State().InLanguage(tag)
			if got := fmt.Sprint(is.Step().Caption, " ", is.Results[0].Text, " ", is.Results[1].Text); got != want || !is.Results[1].OK {
				t.Errorf("in %s the state is %q, not %q", tag, got, want)
			}
			if is := p.State(); is.Results[0].Text != "They wait." {
				t.Errorf("translating changed the state: %+v", is.Results)
			}
		}
		w.must(p.SetClockRate(t.Context(), 10, "me"))
		w.must(p.SetClockRate(t.Context(), 0, "me"))
		var got []string
		events, _, err := w.broker(p).Events().After(t.Context(), 0)
		w.must(err)
		for _, e := range events {
			switch e.Kind {
			case engine.EventScenePlayed:
				n, ok := p.Scene().InLanguage("cs").ParsePlayed(e.Reason)
				got = append(got, fmt.Sprint("step ", n, ok))
			case engine.EventClockTurned:
				turning, ok := demo.ParseClockChange(e.Reason)
				got = append(got, fmt.Sprint(turning, ok))
			}
		}
		if diff := cmp.Diff([]string{"step 1 true", "10× true", "stands true"}, got); diff != "" {
			t.Error(diff)
		}
	})
}

// TestParseTurning checks that ParseClockChange parses the text of every clock change and refuses
// other texts.
func TestParseTurning(t *testing.T) {
	for _, want := range []demo.ClockChange{
		{Running: true}, {}, {Rate: 1}, {Rate: 10}, {Rate: 60}, {JumpedTo: demo.Expiry}, {JumpedTo: demo.Activation}, {JumpedTo: demo.Unlock}, {JumpedTo: demo.AutoDelete},
	} {
		if got, ok := demo.ParseClockChange(want.String()); got != want || !ok {
			t.Errorf("%q is read as %+v, %v", want, got, ok)
		}
	}
	for _, reason := range []string{"", "next christmas", "next ", "7×", "stands still"} {
		if got, ok := demo.ParseClockChange(reason); ok {
			t.Errorf("%q is read as %+v", reason, got)
		}
	}
	s, err := demo.Parse("lunch", []byte(spoken))
	if err != nil {
		t.Fatal(err)
	}
	for _, reason := range []string{"", "step 0 of 2, x", "step 3 of 2, x", "step 1 of 3, x", "x"} {
		if n, ok := s.ParsePlayed(reason); ok {
			t.Errorf("%q is read as step %d", reason, n)
		}
	}
}

// A translation must contain all texts of its scene in the scene's order, and its names. Faults
// are reported with their lines.
func TestParseTellsWordsByLines(t *testing.T) {
	for name, tc := range map[string]struct{ was, is, want string }{
		"a text is missing":        {"    summary: Co si nikdo nevyzvedne, vystydne.\n", "", "line 10, cs: 'summary' must be a text"},
		"one of a step":            {"caption: Nikdo nejde.", "expect: []", "line 16, cs, step 2: 'caption' must be a text"},
		"an empty one":             {"title: Almoço", "title: ' '", "line 18, pt-BR: 'title' must be a text"},
		"one of what is so":        {"[Čekají., Opravdu.]", "[Čekají., '']", "line 15, cs, step 1, expect 2: 'text' must be a text"},
		"a long one":               {"De fato.", strings.Repeat("x", 1001), "line 24, pt-BR, step 1, expect 2: 'text' must be a text of 1 to 1000 characters, not 1001."},
		"a step too many":          {"      - caption: Nikdo nejde.\n", "      - caption: Nikdo nejde.\n      - caption: Konec.\n", "line 13, cs: The translation has 3 of 'steps', but the scene has 2."},
		"a step too few":           {"      - caption: Nikdo nejde.\n", "", "line 13, cs: The translation has 1 of 'steps', but the scene has 2."},
		"no steps":                 {"      - {caption: Ninguém vem.}\n", "", "line 20, pt-BR: The translation has 1 of 'steps', but the scene has 2."},
		"too much that is so":      {"[Čekají., Opravdu.]", "[Čekají., Opravdu., Ano.]", "line 15, cs, step 1: The translation has 3 of 'expect', but the scene has 2."},
		"too little":               {"          - De fato.\n", "", "line 22, pt-BR, step 1: The translation has 1 of 'expect', but the scene has 2."},
		"where there is none":      {"caption: Nikdo nejde.", "{caption: Nikdo nejde., expect: [Ano.]}", "line 16, cs, step 2: The translation has 1 of 'expect', but the scene has 0."},
		"a name is translated":     {"polévky v `kitchen`", "polévky v `kuchyně`", "line 14, cs, step 1: Names between backticks must be the same in every language: `kitchen`, not `kuchyně`."},
		"a name is gone":           {"polévky v `kitchen`", "polévky", "line 14, cs, step 1: Names between backticks must be the same in every language: `kitchen`, not none."},
		"a name comes twice":       {"Esperam.", "Esperam em `kitchen`.", "line 23, pt-BR, step 1, expect 1: Names between backticks must be the same in every language: none, not `kitchen`."},
		"something else":           {"title: Oběd", "titel: Oběd", "line 11: The scene cannot be read: unknown field"},
		"twice the same":           {"  pt-BR:", "  cs:", "line 17: "},
		"no language":              {"  cs:", "  Czech language:", "line 10, languages: A language must be a tag such as cs or pt-BR, not 'Czech language'."},
		"that of the scene":        {"  cs:", "  en:", "line 10, languages: The scene itself is already in 'en'."},
		"the scene's is none":      {"title: Lunch", "language: English language\ntitle: Lunch", "line 1: 'language' must be a tag such as en or pt-BR, not 'English language'."},
		"words that are no object": {"  cs:\n", "  de: Suppe\n  cs:\n", "line 10: The scene cannot be read"},
	} {
		text := strings.Replace(spoken, tc.was, tc.is, 1)
		if text == spoken {
			t.Fatalf("%s: there is no %q", name, tc.was)
		}
		_, err := demo.Parse("lunch", []byte(text))
		if !errors.Is(err, engine.ErrArgument) || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%s: %v; want %q", name, err, tc.want)
		}
	}
	many := spoken
	for i := range 30 {
		many += fmt.Sprintf("  x%c%c: {}\n", 'a'+i/10, 'a'+i%10)
	}
	if _, err := demo.Parse("lunch", []byte(many)); err == nil || !strings.Contains(err.Error(), "32 of 'languages'; the maximum is 20") {
		t.Errorf("many languages: %v", err)
	}
}
