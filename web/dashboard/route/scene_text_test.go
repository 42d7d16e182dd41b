package route_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/PuerkitoBio/goquery"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/demo"
	"mayfly/engine/namespaces"
	"mayfly/storage/memory"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/web/dashboard/activity"
	"mayfly/web/dashboard/pages"
	"mayfly/web/dashboard/route"
)

// A theatre is a Manager with the one namespace that a scene is played in.
type theatre struct{ b *broker.Broker }

func (f *theatre) Create(ctx context.Context, s namespaces.Spec, _ string) (n namespaces.Namespace, err error) {
	f.b, err = broker.Open(ctx, func(context.Context) (engine.Store, error) { return new(memory.Store), nil }, broker.Options{Name: s.Name, ManualClock: s.ManualClock, Logger: slog.New(slog.DiscardHandler)})
	return namespaces.Namespace{Spec: s, Broker: f.b}, err
}

func (f *theatre) Remove(context.Context, string, string) (string, error) { return "", f.b.Close() }

func (f *theatre) Broker(string) (*broker.Broker, *namespaces.Elsewhere, error) { return f.b, nil, nil }

const wrongLunch = `title: Lunch
summary: What nobody fetches gets cold.
entities: [{queue: kitchen}]
steps:
  - caption: Two soups in ` + "`kitchen`" + `.
    page: /q/kitchen
    actions: [{send: {to: kitchen, as: order, body: two soups, timeToLive: 1m, properties: {k: "1"}}}]
    expect:
      - {text: t, entity: kitchen, gone: true}
      - {text: t, entity: none, gone: true}
      - {text: t, message: order, gone: true}
      - {text: t, entity: kitchen, active: 1200}
      - {text: t, entity: kitchen, locked: 1}
      - {text: t, entity: kitchen, deferred: 1}
      - {text: t, entity: kitchen, scheduled: 1}
      - {text: t, entity: kitchen, deadLetters: 1}
      - {text: t, message: order, in: kitchen/$DeadLetterQueue}
      - {text: t, message: order, state: locked}
      - {text: t, message: order, reason: x}
      - {text: t, message: order, deliveryCount: 3}
      - {text: t, message: order, body: x}
      - {text: t, message: order, properties: {k: "2"}}
`

// perform starts a scene, and calls f with it and the pages of its namespace.
func perform(t *testing.T, lib *demo.Library, id string, f func(t *testing.T, p *demo.Playback, pages func() *pages.Pages)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		house := &theatre{}
		stages := demo.NewPlayer(demo.Options{Namespaces: house, Library: lib})
		defer stages.Close()
		p, err := stages.Begin(t.Context(), id, "ana")
		if err != nil {
			t.Fatal(err)
		}
		var of *broker.Broker // replaced after a step that recreates the namespace
		var made *pages.Pages
		open := func() *pages.Pages {
			if of != house.b {
				if made != nil {
					made.Close()
				}
				of, made = house.b, route.Start(house.b, pages.Options{Scenes: stages, Logger: slog.New(slog.DiscardHandler)})
			}
			return made
		}
		defer func() {
			open().Close()
			if err := stages.End(context.WithoutCancel(t.Context()), p.Name(), "ana"); err != nil {
				t.Error(err)
			}
		}()
		f(t, p, open)
	})
}

// onStage plays a scene's first step, and calls f with a function that shows it in a language.
func onStage(t *testing.T, text string, f func(t *testing.T, p *demo.Playback, see func(tag, page string) *goquery.Document)) {
	t.Helper()
	lib, err := demo.Open()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lib.Add("lunch", []byte(text)); err != nil {
		t.Fatal(err)
	}
	perform(t, lib, "lunch", func(t *testing.T, p *demo.Playback, pages func() *pages.Pages) {
		if err := p.NextStep(t.Context(), 0, demo.Instant, "ana"); (err == nil) != (p.State().Trouble == nil) {
			t.Fatal(err)
		}
		f(t, p, func(tag, at string) *goquery.Document {
			t.Helper()
			ctx := locale.With(t.Context(), tag)
			var html string
			if at == "/scenes" {
				m, err := activity.Scenes(ctx, pages(), component.Notice{})
				if err != nil {
					t.Fatal(err)
				}
				html = render(ctx, t, m.Full())
			} else {
				m, _, err := pages().Open(ctx, "/n/"+p.Name()+at)
				if err != nil {
					t.Fatal(err)
				}
				html = render(ctx, t, m.Full())
			}
			if is := odd.FindString(html); is != "" {
				t.Errorf("%s in %s has %q", at, tag, is)
			}
			doc, err := goquery.NewDocumentFromReader(strings.NewReader(html))
			if err != nil {
				t.Fatal(err)
			}
			return doc
		})
	})
}

func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

// TestInsteadInEveryLanguage checks that each difference between a scene's step and its
// expectations has a text in every language.
func TestInsteadInEveryLanguage(t *testing.T) {
	onStage(t, wrongLunch, func(t *testing.T, p *demo.Playback, see func(tag, page string) *goquery.Document) {
		said := map[string]string{} // kind of difference, by text
		for _, l := range locale.Languages() {
			var all []string
			see(l.Tag, "/q/kitchen").Find(".stage-so li b").Each(func(_ int, s *goquery.Selection) { all = append(all, squeeze(s.Text())) })
			wrong := 0
			for _, f := range p.State().Results {
				if !f.OK {
					wrong++
				}
			}
			if len(all) != wrong || wrong != 13 {
				t.Fatalf("%s has %d of %d texts: %q", l.Tag, len(all), wrong, all)
			}
			for _, text := range all {
				if was, twice := said[text]; twice && was != l.Tag && !(was == "pt-PT" && l.Tag == "pt-BR") {
					t.Errorf("%s has for %s: %q", l.Tag, was, text)
				}
				said[text] = l.Tag
			}
		}
		got := see("cs", "/q/kitchen").Find(".stage-so li").Eq(3).Find("b").Text()
		if want := "Není to tak. Aktivních v kitchen: 1, ne 1\u00a0200."; got != want {
			t.Errorf("in Czech: %q, want %q", got, want)
		}
	})
}

// Refusals by the rules are shown in English, and marked as such.
func TestTroubleInTheLanguageOfThePage(t *testing.T) {
	const wrong = "title: t\nsummary: t\nentities: [{queue: kitchen}]\nsteps: [{caption: s, actions: [{receive: {from: kitchen, as: x}}]}]\n"
	onStage(t, wrong, func(t *testing.T, _ *demo.Playback, see func(tag, page string) *goquery.Document) {
		for tag, want := range map[string]string{"en": "The step broke off. 'kitchen' has only 0", "cs": "Krok se přerušil. 'kitchen' has only 0"} {
			p := see(tag, "/q/kitchen").Find(".stage-trouble")
			if got := squeeze(p.Text()); !strings.HasPrefix(got, want) || p.Find("[lang=en]").Length() == 0 != (tag == "en") {
				t.Errorf("in %s: %q", tag, got)
			}
		}
	})
}

// A scene is shown in the viewer's language; if it lacks that language, the texts are marked
// with the language they are in.
func TestSceneInTheLanguageOfThePage(t *testing.T) {
	const czech = `languages:
  cs:
    title: Oběd
    summary: Co si nikdo nevyzvedne, vystydne.
    steps:
      - {caption: "Dvě polévky v ` + "`kitchen`" + `.", expect: [a, b, c, d, e, f, g, h, i, j, k, l, m, n]}
`
	onStage(t, wrongLunch+czech, func(t *testing.T, p *demo.Playback, see func(tag, page string) *goquery.Document) {
		if err := p.SetClockRate(t.Context(), 10, "ana"); err != nil {
			t.Fatal(err)
		}
		if _, err := p.JumpTo(t.Context(), demo.Expiry, "ana"); err != nil {
			t.Fatal(err)
		}
		for tag, want := range map[string]struct{ lang, title, say, first, event, clock string }{
			"en":    {"", "Lunch", "Two soups in kitchen.", "t", "scene: step 1 of 1. Two soups in kitchen.", "clock: leapt to the next expiry"},
			"cs":    {"", "Oběd", "Dvě polévky v kitchen.", "a", "scéna: krok 1 z 1. Dvě polévky v kitchen.", "hodiny: přeskočily na další vypršení"},
			"pt-PT": {"en", "Lunch", "Two soups in kitchen.", "t", "cena: passo 1 de 1. Two soups in kitchen.", "relógio: saltou para a próxima expiração"},
		} {
			doc := see(tag, "/q/kitchen")
			caption, title := doc.Find(".stage-caption"), doc.Find(".stage-at a")
			if got := squeeze(caption.Text()); got != want.say || caption.AttrOr("lang", "") != want.lang || caption.Find("code").Text() != "kitchen" {
				t.Errorf("in %s the caption is %q, in %q", tag, got, caption.AttrOr("lang", ""))
			}
			if title.Text() != want.title || title.AttrOr("lang", "") != want.lang {
				t.Errorf("in %s the title is %q, in %q", tag, title.Text(), title.AttrOr("lang", ""))
			}
			so := doc.Find(".stage-so li > span > span").First()
			if squeeze(so.Text()) != want.first || so.AttrOr("lang", "") != want.lang {
				t.Errorf("in %s the actual state is %q, in %q", tag, so.Text(), so.AttrOr("lang", ""))
			}
			if s := doc.Find(".stage-so b[lang], .stage-so b [lang]"); s.Length() != 0 {
				t.Errorf("in %s the text about the actual state is marked with another language", tag)
			}
			gallery := see(tag, "/scenes")
			if got := gallery.Find(".plays a").First(); got.Text() != want.title || got.AttrOr("lang", "") != want.lang {
				t.Errorf("in %s the play is %q, in %q", tag, got.Text(), got.AttrOr("lang", ""))
			}
			card := gallery.Find(".scene").Last()
			if got := card.Find("h2"); got.Text() != want.title || got.AttrOr("lang", "") != want.lang || card.Find("p").First().AttrOr("lang", "") != want.lang {
				t.Errorf("in %s the card is %q, in %q", tag, got.Text(), got.AttrOr("lang", ""))
			}
			if n := gallery.Find(".scene h2[lang]").Length(); n > 1 {
				t.Errorf("in %s %d scenes are in another language", tag, n)
			}
			for _, told := range []string{squeeze(see(tag, "").Find(".ticker").Text()), squeeze(see(tag, "/activity").Find("main").Text())} {
				if !strings.Contains(told, want.event) || !strings.Contains(told, want.clock) {
					t.Errorf("in %s the error is %q", tag, told)
				}
			}
		}
	})
}
