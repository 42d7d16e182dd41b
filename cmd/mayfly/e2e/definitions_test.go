package e2e

import (
	"strings"
	"testing"

	"mayfly/cmd/mayfly/cli"
	"mayfly/cmd/mayfly/server"
)

// TestDefinitionsOnTheCommandLine checks that the file of an export creates the same entities on
// another server, and that importing it on its own server changes nothing (EMU-8).
func TestDefinitionsOnTheCommandLine(t *testing.T) {
	here, there := Start(t, server.Config{Store: "memory:"}), Start(t, server.Config{Store: "memory:"})
	run := func(code int, in, complaint, server string, args ...string) string {
		t.Helper()
		out, said, got := RunCommand(t, in, append(append([]string{"definitions"}, args...), "--server", server)...)
		if got != code || !strings.Contains(said, complaint) || complaint == "" && said != "" {
			t.Errorf("%q: got %d %q %q, want %d %q", args, got, out, said, code, complaint)
		}
		return out
	}
	for _, line := range []string{"queue orders LockDuration=PT30S", "topic prices", "subscription prices/Subscriptions/eu"} {
		if _, said, code := RunCommand(t, "", append(append([]string{"entities", "create"}, strings.Fields(line)...), "--server", here.Dashboard)...); code != cli.ExitOK {
			t.Fatal(said)
		}
	}
	file := run(cli.ExitOK, "", "", here.Dashboard, "export")
	if got, want := run(cli.ExitOK, file, "", here.Dashboard, "import"), "Did 0 steps; 3 entities are unchanged.\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	const made = "create orders\ncreate prices\ncreate prices/Subscriptions/eu\n"
	if got, want := run(cli.ExitOK, file, "", there.Dashboard, "import", "--dry-run"), made+"Would do 3 steps; 0 entities are unchanged.\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := run(cli.ExitOK, file, "", there.Dashboard, "import"), made+"Did 3 steps; 0 entities are unchanged.\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if again := run(cli.ExitOK, "", "", there.Dashboard, "export"); again != file {
		t.Errorf("the other server has\n%s\nwant\n%s", again, file)
	}
	changed := strings.Replace(file, "PT30S", "PT20S", 1)
	if got, want := run(cli.ExitOK, changed, "", there.Dashboard, "import", "--dry-run"), "update orders: LockDuration PT30S -> PT20S\nWould do 1 step; 2 entities are unchanged.\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	run(cli.ExitOK, `{"UserConfig":{"Namespaces":[{"Queue":[]}]}}`, "warning: UserConfig.Namespaces[0].Queue: Unknown, so this is ignored. Did you mean Queues?\n", there.Dashboard, "import")
	run(cli.ExitRefused, strings.Replace(file, "PT30S", "soon", 1), "Queues[0].Properties.LockDuration", here.Dashboard, "import")
	run(cli.ExitRefused, "", "The file is empty", here.Dashboard, "import")
	run(cli.ExitUsage, "", "unexpected argument remove", here.Dashboard, "remove")
}
