package static

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestEveryURLOpens(t *testing.T) {
	for _, name := range []string{"app.css", "live.js", "icons.svg", "favicon.svg"} {
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

// TestVendoredFilesAreAsPublished has the checksums of what is not ours, so that it
// changes only when somebody says so.
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
	for _, n := range names {
		if p := strings.TrimSuffix(strings.TrimPrefix(n, "css/"), ".css"); !slices.Contains(parts(), p) {
			t.Errorf("%s is not part of app.css", n)
		}
	}
	for _, p := range parts() {
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
