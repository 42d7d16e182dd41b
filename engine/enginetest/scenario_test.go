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
			lazy.NoSweeper = true
			if _, err := s.Run(lazy, true); err != nil {
				t.Errorf("without a sweeper: %v", err)
			}
		})
	}
}

// Clients need a sweeper for correct answers only from forwarding and idle entities: see
// engine.Namespace.Sweep.
func TestScenariosThatNeedASweeper(t *testing.T) {
	files, err := filepath.Glob("../testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	needing := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Parse(filepath.Base(file), string(text))
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case !s.Needs("sweeper"):
		case strings.HasPrefix(s.Name, "fwd-"), strings.HasPrefix(s.Name, "idle-"), strings.Contains(s.Name, "-idle-"):
			needing++
		default:
			t.Errorf("%s needs a sweeper", s.Name)
		}
	}
	if needing == 0 {
		t.Error("no scenario needs a sweeper, though Sweep's comment says that some do")
	}
}
