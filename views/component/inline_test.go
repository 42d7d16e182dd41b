package component

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestComponentsAreNotInlined: the compiler inlines a function that returns a closure, and
// compiles the closure again at each call. A component is such a function: without the
// directive the pages are four times as large and take four times as long to compile.
func TestComponentsAreNotInlined(t *testing.T) {
	files, err := filepath.Glob("../*/*.templ")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d templates: %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		before := ""
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "templ ") && before != "//go:noinline\n" {
				t.Errorf("%s: the line before %q is not //go:noinline", file, strings.TrimSpace(line))
			}
			before = line
		}
	}
}
