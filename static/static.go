// Package static holds the files that browsers load with pages: the stylesheet, the
// scripts, the icons, and third-party files in vendor. Every file is embedded, and its URL
// contains a hash of its content, so that responses can be cached forever and the files of
// different builds are never mixed.
//
// The stylesheet is kept in parts and served as one file, app.css; strip.css is only for
// the pages of a scene, docs.css for those of the documentation. Mayfly's own files are
// served without comments and indentation, which are a fifth of their compressed size;
// third-party files are served as published.
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

// Prefix is the path below which the dashboard serves the files of this package. It follows
// the base path, if the dashboard has one.
const Prefix = "/static/"

//go:embed css/*.css *.js *.svg vendor/*.js vendor/*.css
var files embed.FS

// parts are the names of the parts of app.css. The order matters only within a layer.
var parts = []string{
	"layers", "reset", "tokens", "base", "shell",
	"controls", "panel", "clock", "horizon", "figures", "board", "list", "rows",
	"message", "entity", "activity", "temporary", "lot", "dialog", "form", "rule", "access", "flow", "toast", "metrics", "find", "views", "reference", "alerts", "scenes", "present", "kiosk", "login",
	"utilities",
}

// Separate stylesheets: strip is for pages with the strip of a scene, docs for pages of the
// documentation.
const (
	strip = "strip.css"
	docs  = "docs.css"
)

//go:embed grafana/mayfly.json
var grafana []byte

// Grafana returns a Grafana dashboard for the metrics of /metrics. The caller must not change
// it.
func Grafana() []byte { return grafana }

type file struct {
	content     []byte
	contentType string
	zipped      func() []byte // content, compressed on the first call
}

// A fileSet holds the served files.
type fileSet struct {
	urls  map[string]string // name to URL
	files map[string]file   // path after Prefix to file
}

var shelved = fill() //nolint:gochecknoglobals // embedded files, never changed

func fill() fileSet {
	s := fileSet{urls: map[string]string{}, files: map[string]file{}}
	var css bytes.Buffer
	for _, p := range parts {
		css.Write(read("css/" + p + ".css"))
	}
	s.add("app.css", lean(".css", css.Bytes()))
	for _, name := range []string{strip, docs} {
		s.add(name, lean(".css", read("css/"+name)))
	}

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

// lean returns one of Mayfly's own stylesheets or scripts without comments, indentation and
// empty lines. In a script it removes only lines that are entirely a comment: finding other
// comments requires a parser.
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

// zip compresses with gzip at the best level: it is done once.
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
		panic(err) // the level is valid, and writing to memory does not fail
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

func (s fileSet) add(name string, content []byte) {
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

// URL returns the address of the file with the given name, such as "app.css", as an absolute
// path without the base path of the dashboard. For an unknown name it returns an address that
// Open does not find.
func URL(name string) string {
	if u, ok := shelved.urls[name]; ok {
		return u
	}
	return Prefix + name
}

// Open returns the file at an address of URL: p is the part of the request's path after
// [Prefix]. The content must not be changed. ok is false if there is no such file, even if
// only its hash is outdated.
func Open(p string) (content []byte, contentType string, ok bool) {
	f, ok := shelved.files[p]
	return f.content, f.contentType, ok
}

// Zipped returns the content of [Open] compressed with gzip, or nil if there is no such file. It
// must not be changed.
func Zipped(p string) []byte {
	if f, ok := shelved.files[p]; ok {
		return f.zipped()
	}
	return nil
}
