package main

import (
	"strings"
	"testing"
)

// What is written is read elsewhere, and asks for nothing where it came from (EMU-8).
func TestDefinitionsOnTheCommandLine(t *testing.T) {
	here, there := serving(t, Config{Store: "memory:"}), serving(t, Config{Store: "memory:"})
	run := func(code int, in, complaint, server string, args ...string) string {
		t.Helper()
		out, said, got := typed(t, in, append(append([]string{"definitions"}, args...), "--server", server)...)
		if got != code || !strings.Contains(said, complaint) || complaint == "" && said != "" {
			t.Errorf("%q: got %d %q %q, want %d %q", args, got, out, said, code, complaint)
		}
		return out
	}
	for _, line := range []string{"queue orders LockDuration=PT30S", "topic prices", "subscription prices/Subscriptions/eu"} {
		if _, said, code := typed(t, "", append(append([]string{"entities", "create"}, strings.Fields(line)...), "--server", here.Dashboard)...); code != exitOK {
			t.Fatal(said)
		}
	}
	file := run(exitOK, "", "", here.Dashboard, "export")
	if got, want := run(exitOK, file, "", here.Dashboard, "import"), "Did 0 steps; 3 entities are as the file says.\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	const made = "create orders\ncreate prices\ncreate prices/Subscriptions/eu\n"
	if got, want := run(exitOK, file, "", there.Dashboard, "import", "--dry-run"), made+"Would do 3 steps; 0 entities are as the file says.\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := run(exitOK, file, "", there.Dashboard, "import"), made+"Did 3 steps; 0 entities are as the file says.\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if again := run(exitOK, "", "", there.Dashboard, "export"); again != file {
		t.Errorf("there it is\n%s\nnot\n%s", again, file)
	}
	changed := strings.Replace(file, "PT30S", "PT20S", 1)
	if got, want := run(exitOK, changed, "", there.Dashboard, "import", "--dry-run"), "update orders: LockDuration PT30S -> PT20S\nWould do 1 step; 2 entities are as the file says.\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	run(exitRefused, strings.Replace(file, "PT30S", "soon", 1), "Queues[0].Properties.LockDuration", here.Dashboard, "import")
	run(exitRefused, "", "The file is empty", here.Dashboard, "import")
	run(exitUsage, "", "unexpected argument remove", here.Dashboard, "remove")
}
