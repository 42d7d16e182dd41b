package enginetest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what scenarios show into their files")

func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("../testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no scenarios: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(file)
		s, err := Parse(name, string(text))
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.TrimSuffix(name, ".txt"), func(t *testing.T) {
			shown, err := s.Run(NewEngine(), false)
			if *update && shown != "" {
				if err := os.WriteFile(file, []byte(shown), 0o600); err != nil {
					t.Fatal(err)
				}
			} else if err != nil {
				t.Error(err)
			}
			if s.Needs("sweeper") || *update {
				return
			}
			lazy := NewEngine()
			lazy.Lazily = true
			if _, err := s.Run(lazy, true); err != nil {
				t.Errorf("without a sweeper: %v", err)
			}
		})
	}
}
