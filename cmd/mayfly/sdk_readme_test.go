package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
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
	for name, script := range map[string]struct {
		file    string
		command func(dir, file string) *exec.Cmd
	}{
		"go":         {"main.go", func(_, file string) *exec.Cmd { return exec.Command("go", "run", file) }}, // in this module, which has the SDK
		"python":     {"script.py", func(_, file string) *exec.Cmd { return exec.Command(python(t), file) }},
		"javascript": {"script.mjs", func(dir, file string) *exec.Cmd { withModules(t, dir); return exec.Command("node", file) }},
		"java":       {"Sample.java", func(dir, file string) *exec.Cmd { return exec.Command("java", "-cp", classes(t, dir), file) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name != "go" {
				installed(t, name)
			}
			s := start(t, "--store", "memory:", "--config", ordersOnly(t))
			dir := t.TempDir()
			file := filepath.Join(dir, script.file)
			if err := os.WriteFile(file, []byte(blocks[name]), 0o600); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			var out, said output
			cmd := script.command(dir, file)
			cmd.Env = append(cmd.Environ(), "SERVICEBUS=Endpoint=sb://"+s.at.AMQP+";SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=SAS_KEY_VALUE;UseDevelopmentEmulator=true;")
			cmd.Stdout, cmd.Stderr = &out, &said
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() }) //nolint:errcheck // it has ended by itself then
			defer stop()
			if err := cmd.Wait(); err != nil {
				t.Fatalf("%v\n%s%s", err, &out, &said)
			}
			if !strings.HasPrefix(strings.ToLower(out.String()), "hello from "+name) {
				t.Errorf("it wrote %q\n%s", &out, &said)
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
