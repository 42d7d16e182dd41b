// Package static holds what browsers fetch beside the pages: the stylesheet,
// the scripts, the icons, and in vendor what others made. Every file is embedded and addressed by its content,
// so answers may be cached for ever and a new build is never mixed with an
// old one.
//
// The stylesheet is kept in parts and served as one file, app.css.
package static

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"path"
	"strings"
)

// Prefix is the path below which a door serves the files of this package. It
// follows the base path, if the dashboard has one.
const Prefix = "/static/"

//go:embed css/*.css *.js *.svg vendor/*.js vendor/*.css
var files embed.FS

// parts are the pieces of app.css. The order matters within a layer only.
func parts() []string {
	return []string{
		"layers", "reset", "tokens", "base", "shell",
		"controls", "panel", "clock", "horizon", "figures", "board", "list", "rows",
		"message", "entity", "activity", "temporary", "lot", "dialog", "form", "rule", "access", "flow", "toast", "metrics", "find", "views", "reference", "alerts", "scenes", "present", "kiosk", "login",
		"utilities",
	}
}

//go:embed grafana/mayfly.json
var grafana []byte

// Grafana is a dashboard for Grafana, of what /metrics tells. It is not to be
// changed.
func Grafana() []byte { return grafana }

type file struct {
	content     []byte
	contentType string
}

// A shelf is what is served.
type shelf struct {
	urls  map[string]string // name to URL
	files map[string]file   // what follows Prefix to file
}

var shelved = fill() //nolint:gochecknoglobals // what is embedded cannot differ from one caller to another

func fill() shelf {
	s := shelf{urls: map[string]string{}, files: map[string]file{}}
	var css bytes.Buffer
	for _, p := range parts() {
		css.Write(read("css/" + p + ".css"))
	}
	s.add("app.css", css.Bytes())

	for _, dir := range []string{".", "vendor"} {
		entries, err := files.ReadDir(dir)
		if err != nil {
			panic(err) // embedded: a failure here is a failure of the build
		}
		for _, e := range entries {
			if !e.IsDir() {
				s.add(e.Name(), read(path.Join(dir, e.Name())))
			}
		}
	}
	return s
}

func read(name string) []byte {
	b, err := files.ReadFile(name)
	if err != nil {
		panic(err) // embedded: a failure here is a failure of the build
	}
	return b
}

func (s shelf) add(name string, content []byte) {
	sum := sha256.Sum256(content)
	ext := path.Ext(name)
	hashed := strings.TrimSuffix(name, ext) + "-" + base64.RawURLEncoding.EncodeToString(sum[:9]) + ext
	s.urls[name] = Prefix + hashed
	s.files[hashed] = file{content, contentType(ext)}
}

func contentType(ext string) string {
	switch ext {
	case ".css":
		return "text/css; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	default:
		panic("static: no content type for " + ext) // embedded: a failure of the build
	}
}

// URL returns the address of the file with the given name, such as "app.css",
// as an absolute path that does not contain the base path of the dashboard. For
// a name that is not here it is an address that Open does not know.
func URL(name string) string {
	if u, ok := shelved.urls[name]; ok {
		return u
	}
	return Prefix + name
}

// Open returns the file that URL gave out: p is what follows [Prefix] in the
// request's path. The content never changes and must not be written to. Not
// ok means there is no such file, also when only its hash is an old one.
func Open(p string) (content []byte, contentType string, ok bool) {
	f, ok := shelved.files[p]
	return f.content, f.contentType, ok
}
