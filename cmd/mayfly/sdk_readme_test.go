package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReadmeScripts runs the scripts of the README as they stand there.
func TestReadmeScripts(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## One script for each language\n")
	section, _, _ = strings.Cut(section, "\n## ")
	blocks := map[string]string{}
	for _, found := range regexp.MustCompile("(?s)\n```([a-z]+)\n(.*?\n)```\n").FindAllStringSubmatch(section, -1) {
		blocks[found[1]] = found[2]
	}
	if len(blocks) != 5 || blocks["csharp"] == "" {
		t.Fatalf("the README has %d scripts", len(blocks))
	}
	for called, l := range languages() {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			l.installed(t)
			s := start(t, "--store", "memory:", "--config", ordersOnly(t))
			if out := l.run(t, s, blocks[l.name]); !strings.HasPrefix(out, "hello from "+called) {
				t.Errorf("it wrote %q", out)
			}
		})
	}
}

// ordersOnly is a configuration with the queue of the scripts.
func ordersOnly(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.json")
	const config = `{"UserConfig":{"Namespaces":[{"Name":"default","Queues":[{"Name":"orders"}]}]}}`
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
