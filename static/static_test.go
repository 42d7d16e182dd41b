package static

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestEveryURLOpens(t *testing.T) {
	for _, name := range []string{"app.css", "strip.css", "docs.css", "live.js", "icons.svg", "favicon.svg"} {
		u := URL(name)
		if !strings.HasPrefix(u, Prefix) {
			t.Errorf("URL(%q) = %q, want it below %s", name, u, Prefix)
		}
		content, contentType, ok := Open(strings.TrimPrefix(u, Prefix))
		if !ok || len(content) == 0 || contentType == "" {
			t.Errorf("Open(%q) = %d bytes, %q, %v", u, len(content), contentType, ok)
		}
	}
}

// TestVendoredFilesAreAsPublished has the checksums of third-party files, so that they change
// only on purpose.
func TestVendoredFilesAreAsPublished(t *testing.T) {
	for name, want := range map[string]string{
		"uPlot.iife.min.js": "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
		"uPlot.min.css":     "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
	} {
		if got := fmt.Sprintf("%x", sha256.Sum256(read("vendor/"+name))); got != want {
			t.Errorf("%s has the checksum %s, want %s", name, got, want)
		}
		if _, _, ok := Open(strings.TrimPrefix(URL(name), Prefix)); !ok {
			t.Errorf("%s is not served", name)
		}
	}
}

func TestOnlyTheExactNameOpens(t *testing.T) {
	u := strings.TrimPrefix(URL("app.css"), Prefix)
	for _, p := range []string{"", "app.css", "/" + u, "../" + u, "css/base.css", u + "x"} {
		if _, _, ok := Open(p); ok {
			t.Errorf("Open(%q) is ok", p)
		}
	}
}

func TestStylesheetHasEveryPart(t *testing.T) {
	names, err := fs.Glob(files, "css/*.css")
	if err != nil {
		t.Fatal(err)
	}
	served := append(parts, strings.TrimSuffix(strip, ".css"), strings.TrimSuffix(docs, ".css"))
	for _, n := range names {
		if p := strings.TrimSuffix(strings.TrimPrefix(n, "css/"), ".css"); !slices.Contains(served, p) {
			t.Errorf("%s is not part of app.css", n)
		}
	}
	for _, p := range served {
		css := string(read("css/" + p + ".css"))
		if strings.Count(css, "{") != strings.Count(css, "}") {
			t.Errorf("css/%s.css: braces do not match", p)
		}
		if strings.Contains(css, "!important;") {
			t.Errorf("css/%s.css: !important; layers decide here", p)
		}
	}
}

func TestIconsAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range regexp.MustCompile(`<symbol id="([^"]+)"`).FindAllStringSubmatch(string(read("icons.svg")), -1) {
		if seen[m[1]] {
			t.Errorf("icon %s is there twice", m[1])
		}
		seen[m[1]] = true
	}
	if len(seen) == 0 {
		t.Error("no icons")
	}
}

func TestLean(t *testing.T) {
	for name, tc := range map[string]struct{ ext, given, want string }{
		"comments of a stylesheet":  {".css", "/* a */\n@layer x {\n  a { color: red; } /* b\n c */\n\n  b {\n    margin: 0\n      1px;\n  }\n}\n/**/", "@layer x {\na { color: red; }\nb {\nmargin: 0\n1px;\n}\n}\n"},
		"comments of a script":      {".js", "// a\n\"use strict\";\n  // b\n  f(\"//c\"); // d\n\n  g(/* e */);", "\"use strict\";\nf(\"//c\"); // d\ng(/* e */);\n"},
		"an address in a drawing":   {".svg", "<svg\n  xmlns=\"http://a/*b*/\">\n//\n", "<svg\nxmlns=\"http://a/*b*/\">\n//\n"},
		"a comment that is not one": {".css", "a { b: c }", "a { b: c }\n"},
	} {
		if got := string(lean(tc.ext, []byte(tc.given))); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}

// TestLeanMayBeUsed checks that lean removes nothing significant from our files.
func TestLeanMayBeUsed(t *testing.T) {
	for _, pattern := range []string{"*.js", "css/*.css"} {
		names, err := fs.Glob(files, pattern)
		if err != nil || len(names) == 0 {
			t.Fatal(names, err)
		}
		for _, name := range names {
			for i, line := range strings.Split(string(read(name)), "\n") {
				if strings.Count(line, "`")%2 != 0 {
					t.Errorf("%s:%d: a text of several lines would lose its indentation", name, i+1)
				}
				if strings.HasSuffix(name, ".css") && regexp.MustCompile(`"[^"]*(/\*|\*/)[^"]*"`).MatchString(line) {
					t.Errorf("%s:%d: a comment in a text", name, i+1)
				}
			}
		}
	}
}

func TestZippedIsTheFile(t *testing.T) {
	for p, f := range shelved.files {
		r, err := gzip.NewReader(bytes.NewReader(Zipped(p)))
		if err != nil {
			t.Fatal(p, err)
		}
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, f.content) {
			t.Errorf("%s: %d bytes, %v; want %d", p, len(got), err, len(f.content))
		}
		if once := Zipped(p); &once[0] != &Zipped(p)[0] {
			t.Errorf("%s is compressed each time", p)
		}
	}
	if Zipped("app.css") != nil {
		t.Error("what is not there is compressed")
	}
}
