package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"mayfly/cmd/mayfly/cli"
	"mayfly/cmd/mayfly/command"
	"mayfly/cmd/mayfly/server"
)

// TestJSONOfEachCommand compares the JSON output of commands with an earlier version: members
// and their types. Programs depend on them, so a removed or renamed member breaks programs.
func TestJSONOfEachCommand(t *testing.T) {
	s := Start(t, server.Config{Store: "memory:"})
	t.Setenv("MAYFLY_SERVER", s.Dashboard)
	var out strings.Builder
	seen, all := map[string]bool{}, nodes(t)
	for _, step := range []struct{ line, in string }{
		{"entities create queue orders DeadLetteringOnMessageExpiration=true --json", ""},
		{"entities create queue copies --json", ""},
		{"entities create topic prices --json", ""},
		{"entities create subscription prices/Subscriptions/eu --json", ""},
		{"entities update orders MaxDeliveryCount=5 --json", ""},
		{"entities list --json", ""},
		{"entities show prices/Subscriptions/eu --json", ""},
		{"rules create prices/Subscriptions/eu dear --filter price>100 --json", ""},
		{"rules update prices/Subscriptions/eu dear --correlation {\"Label\":\"x\"} --json", ""},
		{"rules list prices/Subscriptions/eu --json", ""},
		{"rules delete prices/Subscriptions/eu dear --json", ""},
		{"send orders hello --subject new -p price=12.5 --message-id m-1 --ttl 1h --json", ""},
		{"send orders --jsonl --json", `{"body":"hello"}` + "\n" + `{"colour":"red"}` + "\n"},
		{"peek orders --json", ""},
		{"damaged --json", ""},
		{"search hello --json", ""},
		{"receive orders --then dead-letter --reason unpaid --json", ""},
		{"peek orders/$DeadLetterQueue --json", ""},
		{"export orders/$DeadLetterQueue --json", ""},
		{"import copies --json", `{"body":"hello"}` + "\n" + `{"body":"` + strings.Repeat("x", 300_000) + `"}` + "\n"},
		{"import copies --dry-run --json", `{"body":"hello"}` + "\n" + `{"body":"` + strings.Repeat("x", 300_000) + `"}` + "\n"},
		{"definitions export --json", ""},
		{"definitions import --json", `{"UserConfig":{"Namespaces":[{"Queues":[{"Name":"orders","Properties":{"MaxDeliveryCount":7,"DeadLetteringOnMessageExpiration":true}},{"Name":"copies"}]}]}}`},
		{"resubmit orders --dry-run --json", ""},
		{"resubmit orders --json", ""},
		{"jobs start copy --in orders --to copies --json", ""},
		{"jobs list --json", ""},
		{"jobs show 1 --json", ""},
		{"jobs cancel 1 --json", ""},
		{"jobs resume 1 --json", ""},
		{"jobs undo 2 --json", ""},
		{"watch orders --json", ""},
		{"purge orders --yes --json", ""},
		{"entities delete copies --yes --json", ""},
		{"alerts create late --when expiring --within 1m --json", ""},
		{"alerts rules --json", ""},
		{"alerts disable late --json", ""},
		{"alerts enable late --json", ""},
		{"alerts test late --json", ""},
		{"alerts list --json", ""},
		{"alerts delete late --json", ""},
		{"namespaces create shop --json", ""},
		{"namespaces list --json", ""},
		{"namespaces update shop --profile premium --json", ""}, // refused, because the namespace is in memory
		{"namespaces delete shop --yes --json", ""},
		{"tokens create ci --role viewer --json", ""},
		{"tokens link demo --json", ""},
		{"tokens list --json", ""},
		{"tokens revoke abcdefghij --json", ""}, // no such token
		{"views set mine seq prop.region --list search --json", ""},
		{"views list --json", ""},
		{"views delete mine --json", ""},
		{"templates set mine --json", `{"subject":"order {{n}}","repeat":2}`},
		{"templates list --json", ""},
		{"templates show mine --json", ""},
		{"templates delete mine --json", ""},
		{"scenes list --json", ""},
		{"scenes show deadline --json", ""},
		{"scenes add - --id lunch --json", LunchScene},
		{"scenes play lunch --auto --json", ""},
		{"scenes clock default --json", ""}, // the namespace default is not a scene's
		{"scenes delete lunch --json", ""},
		{"healthcheck --json", ""},
	} {
		words := strings.Fields(step.line)
		for _, n := range all {
			if strings.HasPrefix(step.line, strings.TrimPrefix(n.Path(), "mayfly ")+" ") {
				seen[n.Path()] = true
			}
		}
		var said, complained string
		var code int
		if words[0] == "watch" {
			said = firstLine(t, words)
		} else {
			said, complained, code = RunCommand(t, step.in, words...)
		}
		fmt.Fprintf(&out, "mayfly %s\n", step.line)
		if code != cli.ExitOK {
			fmt.Fprintf(&out, "  ends with %d\n", code)
		} else {
			complained = "" // text for people, which may change
		}
		for _, lines := range []string{said, complained} {
			shapes := map[string]bool{}
			for line := range strings.Lines(lines) {
				var v any
				if err := json.Unmarshal([]byte(line), &v); err != nil {
					t.Fatalf("%s prints %q, which is not JSON", step.line, line)
				}
				shape("", v, shapes)
			}
			for _, line := range slices.Sorted(maps.Keys(shapes)) {
				fmt.Fprintf(&out, "  %s\n", line)
			}
		}
		out.WriteString("\n")
	}
	Golden(t, "json.txt", out.String())
	for _, n := range nodes(t) {
		for _, f := range n.Flags {
			if f.Name == "json" && len(n.Children) == 0 && !seen[n.Path()] {
				t.Errorf("no step prints the output of %s with --json", n.Path())
			}
		}
	}
}

// shape adds the members of v, by their paths, with their types.
func shape(at string, v any, to map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for name, of := range v {
			if strings.HasSuffix(at, "properties.") && name != "type" && name != "value" && strings.Contains(fmt.Sprint(of), "map[") {
				name = "*" // a name that the user has chosen
			}
			shape(at+name+".", of, to)
		}
	case []any:
		to[strings.TrimSuffix(at, ".")+": list"] = true
		for _, one := range v {
			if _, ok := one.(map[string]any); ok {
				shape(strings.TrimSuffix(at, ".")+"[].", one, to)
			}
		}
	default:
		kind := map[string]string{"string": "text", "float64": "number", "bool": "truth", "<nil>": "null"}[fmt.Sprintf("%T", v)]
		to[strings.TrimSuffix(at, ".")+": "+kind] = true
	}
}

// firstLine runs a command that does not end until it has printed a line.
func firstLine(t *testing.T, words []string) string {
	t.Helper()
	ctx, stop := context.WithCancelCause(t.Context())
	read, write := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- cli.Execute(ctx, command.All(), words, nil, cli.Streams{In: strings.NewReader(""), Out: write, Err: io.Discard})
		write.Close()
	}()
	lines := bufio.NewScanner(read)
	got := make(chan string, 1)
	go func() {
		if lines.Scan() {
			got <- lines.Text()
		}
		_, _ = io.Copy(io.Discard, read) //nolint:errcheck // until its end
	}()
	var line string
	Eventually(t, "the command prints a line", func() bool {
		if _, complaint, code := RunCommand(t, "", "send", "orders", "hello", "--json"); code != cli.ExitOK {
			t.Fatal(complaint)
		}
		select {
		case line = <-got:
			return true
		default:
			return false
		}
	})
	stop(cli.ErrStopped)
	<-ended
	return line + "\n"
}
