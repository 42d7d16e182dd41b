package layout

import (
	"net/http/httptest"
	"testing"
)

// TestAppearanceIsKeptInCookies converts appearances to cookies and back, and ignores invalid
// values, which would become attributes of the page.
func TestAppearanceIsKeptInCookies(t *testing.T) {
	for _, want := range []Appearance{{}, {Theme: "dark"}, {Theme: "light", Contrast: "more", Density: "compact"}} {
		r := httptest.NewRequest("GET", "/", nil)
		for _, c := range want.Cookies("/base") {
			if c.Path != "/base" {
				t.Errorf("the cookie %s has the path %s", c.Name, c.Path)
			}
			if c.MaxAge > 0 {
				r.AddCookie(c)
			}
		}
		if got := AppearanceOf(r); got != want || !got.Valid() {
			t.Errorf("%+v was read back as %+v", want, got)
		}
	}
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("Cookie", `mayfly_theme=dark" onload="x; mayfly_contrast=less; mayfly_density=`)
	if got := AppearanceOf(r); got != (Appearance{}) {
		t.Errorf("invalid values became %+v", got)
	}
	if (Appearance{Theme: "sepia"}).Valid() {
		t.Error("the unknown theme sepia was accepted")
	}
}
