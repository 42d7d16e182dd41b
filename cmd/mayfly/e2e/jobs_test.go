package e2e

import (
	"strings"
	"testing"

	"mayfly/cmd/mayfly/cli"
	"mayfly/cmd/mayfly/server"
	"mayfly/web/api"
)

func TestJobsCommand(t *testing.T) {
	s := Start(t, server.Config{Store: "memory:"})
	t.Setenv("MAYFLY_SERVER", s.Dashboard)
	run := func(exit int, in, out, complaint string, args ...string) {
		t.Helper()
		got, said, code := RunCommand(t, in, args...)
		if code != exit || !strings.Contains(got, out) || out == "" && got != "" || !strings.Contains(said, complaint) || complaint == "" && said != "" {
			t.Errorf("%q: got %d %q %q, want %d %q %q", args, code, got, said, exit, out, complaint)
		}
	}
	run(cli.ExitOK, "", "No job was found.\n", "", "jobs")
	run(cli.ExitNotFound, "", "", "mayfly: ", "jobs", "show", "7")
	for _, args := range [][]string{
		{"send", "orders", "one", "--create", "-p", "region=eu"}, {"send", "orders", "two", "-p", "region=us"}, {"send", "orders", "three", "-p", "region=eu"},
		{"entities", "create", "queue", "orders-eu"}, {"send", "dead", "x", "--create", "--count", "3"},
		{"receive", "dead", "--limit", "3", "--then", "dead-letter"},
	} {
		if _, said, code := RunCommand(t, "", args...); code != cli.ExitOK {
			t.Fatal(said)
		}
	}
	counts := func(name string, want api.Counts) {
		t.Helper()
		if c := Entity(t, s, name).Counts; c != want {
			t.Errorf("in %s got %+v, want %+v", name, c, want)
		}
	}
	move := []string{"jobs", "start", "move", "--in", "orders", "--query", "prop.region:eu", "--to", "orders-eu"}
	run(cli.ExitOK, "", "Nothing was done. This would move 2 messages; 0 of them are locked and would be skipped.\n", "", append(move, "--dry-run")...)
	counts("orders", api.Counts{Active: 3})
	run(cli.ExitOK, "", "job 1  move  done  3 of 3 examined, 2 done, 0 skipped, 0 failed\n", "", move...)
	counts("orders-eu", api.Counts{Active: 2})
	run(cli.ExitOK, "", `"kind":"move"`, "", "jobs", "show", "1", "--json")
	run(cli.ExitOK, "", "job 1  move  done", "", "jobs", "show", "1", "--wait", "1m")
	run(cli.ExitOK, "", "undo  done", "", "jobs", "undo", "1")
	counts("orders", api.Counts{Active: 3})
	run(cli.ExitRefused, "", "", "mayfly: ", "jobs", "resume", "1")

	run(cli.ExitOK, "", "would resubmit 3 messages", "", "resubmit", "dead", "--dry-run")
	run(cli.ExitOK, "", "resubmit  done  3 of 3 examined, 3 done", "", "resubmit", "dead/$deadletterqueue")
	counts("dead", api.Counts{Active: 3})

	// Deleting needs confirmation with the number of messages.
	run(cli.ExitFailed, "2\n", "", "This permanently deletes 3 messages.\nType 3 to confirm: mayfly: not confirmed, so nothing was changed", "jobs", "start", "delete", "--in", "dead")
	counts("dead", api.Counts{Active: 3})
	run(cli.ExitOK, "3\n", "delete  done", "Type 3", "jobs", "start", "delete", "--in", "dead")
	counts("dead", api.Counts{})
	run(cli.ExitOK, "", "delete  done", "", "jobs", "start", "delete", "--in", "orders", "--query", "prop.region:us", "--yes")
	counts("orders", api.Counts{Active: 2})

	run(cli.ExitUsage, "", "", "mayfly: ", "jobs", "start", "explode", "--in", "orders")
	run(cli.ExitUsage, "", "", "--at must be a time", "jobs", "start", "reschedule", "--in", "orders", "--at", "noon")
	run(cli.ExitUsage, "", "", "--wait must be a duration", "jobs", "show", "1", "--wait", "long")
	run(cli.ExitRefused, "", "", "mayfly: ", "jobs", "start", "move", "--in", "orders")
	run(cli.ExitNotFound, "", "", "mayfly: ", "resubmit", "nowhere")
	run(cli.ExitNotFound, "", "", "mayfly: ", "jobs", "cancel", "99")
	out, _, _ := RunCommand(t, "", "jobs", "list", "--json")
	if strings.Count(out, "\n") < 4 || !strings.HasPrefix(out, `{"id":`) {
		t.Errorf("got %q", out)
	}
	run(cli.ExitOK, "", "JOB  KIND", "", "jobs")
}
