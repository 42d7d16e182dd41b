package layout

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/a-h/templ"
)

// Looks are how pages look to one reader. They are kept in the browser, so that a
// page comes in them from the start, with the script or without. The zero value is
// comfortable, and for the rest as the system of the reader has it.
type Looks struct {
	Theme    string // "light", "dark"; empty: as the system has it
	Contrast string // "more"; empty: as the system has it
	Density  string // "compact"; empty: comfortable
}

func themes() []string    { return []string{"", "light", "dark"} }
func contrasts() []string { return []string{"", "more"} }
func densities() []string { return []string{"", "compact"} }

// Known says whether these are looks there are.
func (l Looks) Known() bool {
	return slices.Contains(themes(), l.Theme) && slices.Contains(contrasts(), l.Contrast) && slices.Contains(densities(), l.Density)
}

// attributes are what the stylesheet goes by.
func (l Looks) attributes() templ.Attributes {
	a := templ.Attributes{}
	for name, value := range map[string]string{"data-theme": l.Theme, "data-contrast": l.Contrast, "data-density": l.Density} {
		if value != "" {
			a[name] = value
		}
	}
	return a
}

// LooksAsked are those that a request's cookies tell. What is no look counts as none.
func LooksAsked(r *http.Request) Looks {
	one := func(name string, known []string) string {
		if c, err := r.Cookie("mayfly_" + name); err == nil && slices.Contains(known, c.Value) {
			return c.Value
		}
		return ""
	}
	return Looks{Theme: one("theme", themes()), Contrast: one("contrast", contrasts()), Density: one("density", densities())}
}

// Cookies keep the looks for a year, below a base path. The script writes them too.
func (l Looks) Cookies(base string) []*http.Cookie {
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
