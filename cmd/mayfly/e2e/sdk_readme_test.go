package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mayfly/engine/longtest"
)

// TestDocsScripts runs the scripts of the pages "Connect from …" as they are.
func TestDocsScripts(t *testing.T) {
	blocks := map[string]string{}
	for _, name := range []string{"go", "python", "javascript", "java", "dotnet"} {
		found := regexp.MustCompile("(?s)\n```([a-z]+)\n(.*?\n)```\n").FindAllStringSubmatch(doc(t, "connect-"+name), -1)
		if len(found) != 1 {
			t.Fatalf("connect-%s has %d scripts", name, len(found))
		}
		blocks[found[0][1]] = found[0][2]
	}
	if len(blocks) != 5 || blocks["csharp"] == "" {
		t.Fatalf("got %d scripts", len(blocks))
	}
	longtest.Require(t, "the scripts of the documentation")
	for called, l := range languages() {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			l.installed(t)
			s := start(t, "--store", "memory:", "--config", OrdersConfig(t))
			if out := l.run(t, s, blocks[l.name]); !strings.HasPrefix(out, "hello from "+called) {
				t.Errorf("the script printed %q", out)
			}
		})
	}
}

// OrdersConfig returns the path of a Config.json with a queue called orders.
func OrdersConfig(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.json")
	const config = `{"UserConfig":{"Namespaces":[{"Name":"default","Queues":[{"Name":"orders"}]}]}}`
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
