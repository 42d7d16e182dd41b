package dashboard_test

import (
	"testing"

	"mayfly/views/locale"
)

func TestLanguageIsChosenByItsMenu(t *testing.T) {
	within(t, func(w *world) {
		lang := func(want, at string) {
			t.Helper()
			a := w.get(at)
			if got := a.Find("html").AttrOr("lang", ""); got != want || a.header.Get("Content-Language") != want || a.header.Get("Vary") != "Accept-Language, Cookie" {
				t.Errorf("%s is in %s, its html element in %v; want %s", at, got, a.header, want)
			}
			if now := a.Find(".tongues [aria-current]").AttrOr("value", ""); now != want {
				t.Errorf("%s: the menu shows %s, want %s", at, now, want)
			}
		}
		lang("en", "/n/default")
		for _, l := range locale.Languages() {
			if a := w.post("/n/default/language", "lang", l.Tag, "back", "/n/default/queues?sort=name"); a.status != 303 || a.to != "/n/default/queues?sort=name" {
				t.Errorf("choosing %s returned %d, to %s", l.Tag, a.status, a.to)
			}
			lang(l.Tag, "/n/default/temporary")
			lang(l.Tag, "/n/default/nowhere") // pages of errors too
		}
		w.post("/n/default/language", "lang", "tlh").wants(404)
		lang("zh-CN", "/n/default")
		w.post("/n/default/language", "lang", locale.Auto, "back", "https://evil.example/")
		lang("en", "/n/default")
	})
}
