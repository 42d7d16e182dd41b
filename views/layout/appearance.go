package layout

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/a-h/templ"
)

// Appearance holds a user's display preferences. They are kept in cookies, so that a page has them
// from the start, with or without the script. The zero value is comfortable density, and the
// system's theme and contrast.
type Appearance struct {
	Theme    string // "light", "dark"; empty means the system's
	Contrast string // "more"; empty means the system's
	Density  string // "compact"; empty means comfortable
}

var themes = []string{
	"", "light", "dark",
}
var contrasts = []string{
	"", "more",
}
var densities = []string{
	"", "compact",
}

// Valid reports whether all values are valid.
func (l Appearance) Valid() bool {
	return slices.Contains(themes, l.Theme) && slices.Contains(contrasts, l.Contrast) && slices.Contains(densities, l.Density)
}

// attributes returns the attributes that the stylesheet depends on.
func (l Appearance) attributes() templ.Attributes {
	a := templ.Attributes{}
	for name, value := range map[string]string{"data-theme": l.Theme, "data-contrast": l.Contrast, "data-density": l.Density} {
		if value != "" {
			a[name] = value
		}
	}
	return a
}

// AppearanceOf returns the appearance in a request's cookies. It ignores invalid values.
func AppearanceOf(r *http.Request) Appearance {
	one := func(name string, known []string) string {
		if c, err := r.Cookie("mayfly_" + name); err == nil && slices.Contains(known, c.Value) {
			return c.Value
		}
		return ""
	}
	return Appearance{Theme: one("theme", themes), Contrast: one("contrast", contrasts), Density: one("density", densities)}
}

// Cookies returns cookies that keep the appearance for a year, for the paths below base. An empty
// value deletes its cookie. The script writes the same cookies. The caller sets Secure.
func (l Appearance) Cookies(base string) []*http.Cookie {
	var all []*http.Cookie
	for _, one := range [][2]string{{"theme", l.Theme}, {"contrast", l.Contrast}, {"density", l.Density}} {
		c := &http.Cookie{Name: "mayfly_" + one[0], Value: one[1], Path: cmp.Or(base, "/"), MaxAge: 365 * 24 * 60 * 60, SameSite: http.SameSiteLaxMode}
		if one[1] == "" {
			c.MaxAge = -1
		}
		all = append(all, c)
	}
	return all
}
