package main_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A directive for a linter that .golangci.yml does not enable is useless: nolintlint only reports
// unneeded directives of enabled linters.
func TestSuppressions(t *testing.T) {
	config, err := os.ReadFile("../../.golangci.yml")
	if err != nil {
		t.Fatal(err)
	}
	list, _, ok := strings.Cut(string(config), "\n  settings:")
	enabled := regexp.MustCompile(`(?m)^    - ([a-z]+)`).FindAllStringSubmatch(list, -1)
	if !ok || len(enabled) < 10 {
		t.Fatalf("the linters that are enabled cannot be read: %q", enabled)
	}
	runs := func(name string) bool {
		return slices.ContainsFunc(enabled, func(m []string) bool { return m[1] == name })
	}
	if got := suppressions("x //" + "nolint:errcheck,wrapcheck // why\ny"); !slices.Equal(got, []string{"errcheck", "wrapcheck"}) {
		t.Fatalf("got %q", got)
	}
	err = filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" && filepath.Ext(path) != ".templ" {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, name := range suppressions(string(b)) {
			if !runs(name) && name != "nolintlint" {
				t.Errorf("%s has a directive for %s, which is not enabled", path, name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

var directive = regexp.MustCompile(`(?m)//` + `nolint:([a-z0-9,]+)( //.*)?$`)

// suppressions returns the linters of a file's nolint directives.
func suppressions(file string) (names []string) {
	for _, m := range directive.FindAllStringSubmatch(file, -1) {
		names = append(names, strings.Split(m[1], ",")...)
	}
	return names
}
