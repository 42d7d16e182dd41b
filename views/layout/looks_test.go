package layout

import (
	"net/http/httptest"
	"testing"
)

// TestLooksAreKeptInCookies goes from looks to cookies and back, and takes nothing
// for a look that is none: it becomes an attribute of the page.
func TestLooksAreKeptInCookies(t *testing.T) {
	for _, want := range []Looks{{}, {Theme: "dark"}, {Theme: "light", Contrast: "more", Density: "compact"}} {
		r := httptest.NewRequest("GET", "/", nil)
		for _, c := range want.Cookies("/base") {
			if c.Path != "/base" {
				t.Errorf("%s is kept below %s", c.Name, c.Path)
			}
			if c.MaxAge > 0 {
				r.AddCookie(c)
			}
		}
		if got := LooksAsked(r); got != want || !got.Known() {
			t.Errorf("%+v comes back as %+v", want, got)
		}
	}
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("Cookie", `mayfly_theme=dark" onload="x; mayfly_contrast=less; mayfly_density=`)
	if got := LooksAsked(r); got != (Looks{}) {
		t.Errorf("what is no look came back as %+v", got)
	}
	if (Looks{Theme: "sepia"}).Known() {
		t.Error("sepia is known")
	}
}
