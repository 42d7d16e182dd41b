package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"mayfly/cmd/mayfly/cli"
	"mayfly/cmd/mayfly/command"
	"mayfly/cmd/mayfly/server"
	"mayfly/web/api"
)

const LunchScene = `title: Lunch
summary: What nobody fetches gets cold.
entities:
  - queue: kitchen
steps:
  - caption: Two soups.
    actions: [{send: {to: kitchen, as: order, body: two soups, timeToLive: 1m}}]
    expect: [{text: They wait., entity: kitchen, active: 1}]
  - caption: Nobody comes.
    actions: [{wait: expiry}]
    expect: [{text: They are gone., entity: kitchen, active: 0}]
`

func TestScenesOnTheCommandLine(t *testing.T) {
	s := Start(t, server.Config{Store: "memory:"})
	says := func(in string, code int, want string, args ...string) string {
		t.Helper()
		out, complaint, got := RunCommand(t, in, append(args, "--server", s.Dashboard)...)
		if got != code || !strings.Contains(out+complaint, want) {
			t.Errorf("%q: %d %q %q; want %d %q", args, got, out, complaint, code, want)
		}
		return out + complaint
	}
	file := filepath.Join(t.TempDir(), "07-lunch.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(LunchScene)
	says("", 0, "deadline          5      program  Time to live", "scenes")
	says("", 0, "deadline\n", "scenes", "list", "--names")
	says("", 0, "title: Time to live", "scenes", "show", "deadline")
	says("", 0, "  Doba života", "scenes", "--lang", "cs")
	says("", 0, `"language":"pt-BR"`, "scenes", "show", "deadline", "--lang", "pt-BR", "--json")
	says("", 0, "title: Time to live", "scenes", "show", "deadline", "--lang", "cs") // not translated
	t.Run("in Czech", func(t *testing.T) {
		t.Setenv("LC_ALL", "cs_CZ.UTF-8")
		const title, step = "Doba života a nedoručené zprávy", "Dvě fronty."
		says("", 0, title, "scenes", "list")
		if told := says("", 0, title+"\nZpráva může", "scenes", "play", "deadline", "--auto"); !strings.Contains(told, step) || strings.Contains(told, "Two queues.") {
			t.Errorf("the scene was printed as %s", told)
		}
		says("", 0, "Two queues.", "scenes", "play", "deadline", "--auto", "--lang", "en")
	})
	says("", 3, "The scene 'lunch' does not exist.", "scenes", "show", "lunch")
	says("", 0, "Added the scene lunch, 2 steps.", "scenes", "add", file)
	says(LunchScene, 2, "--id", "scenes", "add", "-")
	says(LunchScene, 0, "Added the scene dinner", "scenes", "add", "-", "--id", "dinner")
	says("", 4, "The scene 'deadline' is built in. Choose another ID.", "scenes", "add", file, "--id", "deadline")

	// A scene that is played to its end leaves no namespace. While it is played, its namespace can
	// be opened.
	got := says("", 0, "They are gone.", "scenes", "play", "lunch", "--auto")
	want := "Lunch\nWhat nobody fetches gets cold.\n\nIn the browser: NAME\n\n1 of 2\n  Two soups.\n  ✓ They wait.\n\n2 of 2, after 1m0s\n  Nobody comes.\n  ✓ They are gone.\n"
	if got := regexp.MustCompile(`http\S+`).ReplaceAllString(got, "NAME"); got != want {
		t.Errorf("the scene printed %q; want %q", got, want)
	}
	if got := says("\nb\n\n\n", 0, "They are gone.", "scenes", "play", "lunch"); strings.Count(got, "Two soups.") != 2 || !strings.Contains(got, "b goes back") {
		t.Errorf("with Enter, back and Enter: %s", got)
	}
	if got := says("\nq\n", 0, "They wait.", "scenes", "play", "lunch"); strings.Contains(got, "Nobody comes.") {
		t.Errorf("the scene was ended: %s", got)
	}
	if got := s.Namespaces(t); got != "default serving standard 0;" {
		t.Errorf("remaining namespaces: %s", got)
	}

	got = says("", 0, "stays for a while", "scenes", "play", "dinner", "--auto", "--keep")
	name := regexp.MustCompile(`dinner-[0-9a-f]+`).FindString(got)
	says("", 0, name, "scenes")
	says("", 0, ", stands", "scenes", "clock", name)
	says("", 0, ", 60×", "scenes", "clock", name, "--rate", "60")
	says("", 4, "0, 1, 10 or 60", "scenes", "clock", name, "--rate", "7")
	says("", 0, "there is no such event to come", "scenes", "clock", name, "--next", "activation")
	says("", 2, "", "scenes", "clock", name, "--next", "christmas")
	says("", 2, "", "scenes", "clock", name, "--next", "expiry", "--rate", "1")
	says("", 3, "its clock is the real time", "scenes", "clock", "default", "--rate", "60")

	write(strings.Replace(LunchScene, "active: 0", "active: 3", 1))
	says("", 0, "", "scenes", "add", file)
	if got := says("", 1, "a check of the scene failed", "scenes", "play", "lunch", "--auto"); !strings.Contains(got, "✗ They are gone. kitchen has 0 active, not 3.") {
		t.Errorf("the error is not as expected: %s", got)
	}

	check := func(code int, want string, args ...string) {
		t.Helper()
		if out, complaint, got := RunCommand(t, LunchScene, append([]string{"scenes", "check"}, args...)...); got != code || !strings.Contains(out+complaint, want) {
			t.Errorf("check %q: %d %q %q", args, got, out, complaint)
		}
	}
	check(0, "lunch.yaml: Lunch, 2 steps\n", file)
	check(0, "-: Lunch, 2 steps\n", "-")
	check(1, "no such file", file+"x")
	write(strings.Replace(strings.Replace(LunchScene, "wait: expiry", "wait: soon", 1), "title: Lunch", "title:", 1))
	check(1, "lunch.yaml:1: 'title' must be", file)
	check(1, "lunch.yaml:10: step 2, action 1: 'wait' must be", file)
	check(1, "1 file of 2: not a valid scene", file, "-")
	says("", 4, "Line 1: 'title' must be", "scenes", "add", file)

	const czech = "languages:\n  cs:\n    title: Oběd\n    summary: Vystydne.\n    steps:\n      - {caption: Dvě polévky., expect: [Čekají.]}\n      - {caption: Nikdo nejde., expect: [Jsou pryč.]}\n"
	write(LunchScene + czech)
	check(0, "07-lunch.yaml: Lunch, 2 steps, also in cs\n", file)
	write(LunchScene + strings.Replace(czech, "caption: Nikdo nejde.", "caption: Nikdo nejde., page: /", 1))
	check(1, "07-lunch.yaml:18: The scene cannot be read: unknown field", file)
	write(LunchScene + strings.Replace(czech, "Čekají.", "Čekají., Ano.", 1))
	check(1, "07-lunch.yaml:17: cs, step 1: The translation has 2 of 'expect', but the scene has 1.", file)
	says("", 0, "Deleted the scene lunch.", "scenes", "delete", "lunch")
	says("", 3, "", "scenes", "delete", "lunch")
	says("", 4, "is built in", "scenes", "delete", "deadline")
}

// Scenes of a folder are read at startup and added to the built-in ones; if one is invalid, the
// server does not start, and each fault is reported with its file and line.
func TestScenesOfAFolder(t *testing.T) {
	folder := t.TempDir()
	write := func(file, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("07-lunch.yaml", LunchScene)
	write("notes.txt", "title: [")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	serve := func(out, complaint io.Writer) int {
		return cli.Execute(ctx, command.All(), []string{"--scenes", folder, "--store", "memory:", "--http", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--amqp", "none", "--ready-json", "--log-level", "error"}, nil, cli.Streams{In: strings.NewReader(""), Out: out, Err: complaint})
	}
	out, ended := &once{line: make(chan string, 1)}, make(chan int, 1)
	go func() { ended <- serve(out, out) }()
	s := &Server{}
	select {
	case line := <-out.line:
		if err := json.Unmarshal([]byte(line), &s.Ready); err != nil {
			t.Fatal(err, line)
		}
	case code := <-ended:
		t.Fatalf("it ended with %d", code)
	}
	var all api.Scenes
	if err := json.Unmarshal([]byte(s.MustRequest(t, 200, "GET", s.API+"/scenes", "", "")), &all); err != nil {
		t.Fatal(err)
	}
	if last := all.Scenes[len(all.Scenes)-1]; len(all.Scenes) < 2 || last.ID != "lunch" || last.Title != "Lunch" || last.From != "folder" || all.Scenes[0].From != "program" {
		t.Errorf("they are %+v", all.Scenes)
	}
	if told, complaint, code := RunCommand(t, "", "scenes", "play", "lunch", "--auto", "--server", s.Dashboard); code != cli.ExitOK || !strings.Contains(told, "They are gone.") {
		t.Errorf("the scene was played with %d %q %q", code, told, complaint)
	}
	s.MustRequest(t, 409, "PUT", s.API+"/scenes/lunch", "", LunchScene)
	s.MustRequest(t, 400, "DELETE", s.API+"/scenes/lunch", "", "")
	cancel()
	if code := <-ended; code != cli.ExitOK {
		t.Errorf("it ended with %d", code)
	}

	ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	write("08-supper.yaml", strings.Replace(strings.Replace(LunchScene, "wait: expiry", "wait: soon", 1), "title: Lunch", "title:", 1))
	write("09-snack.yaml", "title: [")
	var printed, complaint bytes.Buffer
	if code := serve(&printed, &complaint); code != cli.ExitFailed || printed.Len() > 0 {
		t.Errorf("with an invalid scene the server ended with %d, and printed %q", code, &printed)
	}
	for _, want := range []string{"--scenes " + folder + " is invalid, so nothing was started", "08-supper.yaml: line 1: 'title' must be", "08-supper.yaml: line 10, step 2, action 1: 'wait' must be", "09-snack.yaml: line 1: The scene cannot be read"} {
		if !strings.Contains(complaint.String(), want) {
			t.Errorf("got %q, want %q", &complaint, want)
		}
	}
	if strings.Contains(complaint.String(), "lunch") || strings.Contains(complaint.String(), "notes") {
		t.Errorf("valid scenes are reported: %q", &complaint)
	}
}

// TestScenesStay checks that a scene that was added over the API still exists after a restart.
func TestScenesStay(t *testing.T) {
	store := "sqlite:" + filepath.Join(t.TempDir(), "s.db")
	for _, begin := range []bool{true, false} {
		t.Run("", func(t *testing.T) {
			s := Start(t, server.Config{Store: store})
			if begin {
				s.MustRequest(t, 200, "PUT", s.API+"/scenes/lunch", "", LunchScene)
			}
			if text := s.MustRequest(t, 200, "GET", s.API+"/scenes/lunch", "", ""); !strings.Contains(text, `"from":"added"`) {
				t.Errorf("got %s", text)
			}
		})
	}

	// If the folder has a scene with the ID of an added one, the page reports that until the added
	// scene is deleted.
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "lunch.yaml"), []byte(LunchScene), 0o600); err != nil {
		t.Fatal(err)
	}
	s := Start(t, server.Config{Store: store, Scenes: folder})
	const says = "folder of scenes. Choose another ID."
	if text := s.MustRequest(t, 200, "GET", s.Dashboard+"/scenes", "", ""); !strings.Contains(text, says) {
		t.Error("the page does not report that two scenes have the ID lunch")
	}
	s.MustRequest(t, 204, "DELETE", s.API+"/scenes/lunch", "", "")
	if text := s.MustRequest(t, 200, "GET", s.Dashboard+"/scenes", "", ""); strings.Contains(text, says) {
		t.Error("the page still reports two scenes with the ID lunch")
	}
	s.MustRequest(t, 200, "GET", s.API+"/scenes/lunch", "", "")
}
