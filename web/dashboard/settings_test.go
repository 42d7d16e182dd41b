package dashboard_test

import "testing"

// TestSettingsAreKeptInTheBrowser sets the appearance, which every page then has from the start.
// Invalid values change nothing.
func TestSettingsAreKeptInTheBrowser(t *testing.T) {
	within(t, func(w *world) {
		looks := func(theme, contrast, density string) {
			t.Helper()
			for _, at := range []string{"/settings", "/n/default", "/n/default/nowhere"} {
				html := w.get(at).Find("html")
				if got := [3]string{html.AttrOr("data-theme", ""), html.AttrOr("data-contrast", ""), html.AttrOr("data-density", "")}; got != [3]string{theme, contrast, density} {
					t.Errorf("%s has the appearance %q", at, got)
				}
			}
			page := w.get("/settings")
			for name, want := range map[string]string{"theme": theme, "contrast": contrast, "density": density} {
				if got := page.Find("input[name=" + name + "][checked]"); got.Length() != 1 || got.AttrOr("value", "-") != want {
					t.Errorf("%s: %d options are selected, the first %q; want %q", name, got.Length(), got.AttrOr("value", "-"), want)
				}
			}
		}
		looks("", "", "")
		if a := w.post("/settings", "theme", "dark", "contrast", "more", "density", "compact"); a.status != 303 || a.to != "/settings" {
			t.Fatalf("keeping: %d, to %s", a.status, a.to)
		}
		looks("dark", "more", "compact")
		w.post("/settings", "theme", "sepia", "contrast", "", "density", "").wants(404)
		w.post("/settings", "theme", "dark", "contrast", "less", "density", "").wants(404)
		w.post("/settings", "lang", "tlh").wants(404)
		looks("dark", "more", "compact")
		if a := w.post("/settings", "lang", "cs", "back", "/settings"); a.status != 303 || a.to != "/settings" {
			t.Errorf("a language: %d, to %s", a.status, a.to)
		}
		looks("dark", "more", "compact")
		if got := w.get("/settings").Find("h1").Text(); got != "Nastavení" {
			t.Errorf("the page in Czech has the title %q", got)
		}
		w.post("/settings", "theme", "", "contrast", "", "density", "")
		looks("", "", "")
	})
}
