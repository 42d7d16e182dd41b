// Package static holds what browsers fetch beside the pages: the stylesheet,
// the scripts, the icons, and in vendor what others made. Every file is embedded and addressed by its content,
// so answers may be cached for ever and a new build is never mixed with an
// old one.
//
// The stylesheet is kept in parts and served as one file, app.css; what only the pages
// of a scene need is strip.css. What is ours is served without its comments and
// indentation, which are a fifth of it when it is compressed; what others made is served
// as they published it.
package static

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"path"
	"strings"
	"sync"
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

// strip is a stylesheet of its own, for pages that have the strip of a scene.
const strip = "strip.css"

//go:embed grafana/mayfly.json
var grafana []byte

// Grafana is a dashboard for Grafana, of what /metrics tells. It is not to be
// changed.
func Grafana() []byte { return grafana }

type file struct {
	content     []byte
	contentType string
	zipped      func() []byte // content, compressed when it is first asked for
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
	s.add("app.css", lean(".css", css.Bytes()))
	s.add(strip, lean(".css", read("css/"+strip)))

	for _, dir := range []string{".", "vendor"} {
		entries, err := files.ReadDir(dir)
		if err != nil {
			panic(err) // embedded: a failure here is a failure of the build
		}
		for _, e := range entries {
			if e.IsDir() {
				continue
			}
			content := read(path.Join(dir, e.Name()))
			if dir == "." {
				content = lean(path.Ext(e.Name()), content)
			}
			s.add(e.Name(), content)
		}
	}
	return s
}

// lean is a stylesheet or a script of ours without what only its readers need:
// comments, indentation and empty lines. Of a script, only lines that are a comment
// as a whole go: where others begin, only a parser of the language knows.
func lean(ext string, content []byte) []byte {
	var out bytes.Buffer
	if ext == ".css" {
		for before, rest, more := bytes.Cut(content, []byte("/*")); ; before, rest, more = bytes.Cut(rest, []byte("/*")) {
			out.Write(before)
			if !more {
				break
			}
			_, rest, _ = bytes.Cut(rest, []byte("*/"))
		}
		content = bytes.Clone(out.Bytes())
		out.Reset()
	}
	for line := range bytes.Lines(content) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && (ext != ".js" || !bytes.HasPrefix(line, []byte("//"))) {
			out.Write(line)
			out.WriteByte('\n')
		}
	}
	return out.Bytes()
}

// zip compresses as well as gzip can: it is done once.
func zip(content []byte) []byte {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(content)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(err) // the level is one, and memory takes what is written
	}
	return out.Bytes()
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
	s.files[hashed] = file{content, contentType(ext), sync.OnceValue(func() []byte { return zip(content) })}
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

// Zipped returns what [Open] does, compressed by gzip; nil: there is no such file.
// It must not be written to.
func Zipped(p string) []byte {
	if f, ok := shelved.files[p]; ok {
		return f.zipped()
	}
	return nil
}
