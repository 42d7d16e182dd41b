package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"mayfly/engine/scene"
	"mayfly/web/api"
)

func describeScenes() description {
	return description{
		name: "scenes", summary: "List, play, check, add and remove scenes, and turn their clocks.", command: &scenesCommand{}, ends: clientEnds(),
		detail: "A scene is a short play that shows what a broker does, in a namespace of its own that is thrown away. The clock of such a namespace, and of no other, can be turned.",
		examples: []example{
			{"mayfly scenes", "Lists them, and those that are played."},
			{"mayfly scenes play deadline", "Plays one here, with Enter for the next step; the dashboard shows it as well."},
			{"mayfly scenes play deadline --lang cs", "Has it told in Czech."},
			{"mayfly scenes play lunch --auto", "Plays all of it, and fails if something is not as it says."},
			{"mayfly scenes show deadline > lunch.yaml", "Has one to start from."},
			{"mayfly scenes check lunch.yaml", "Tells all that is wrong with a file, without a server."},
			{"mayfly scenes add lunch.yaml", "Adds it to a server that runs, or replaces it."},
			{"mayfly scenes clock deadline-1f2e3d --next expiry", "Has the clock of one that is played leap to when a message runs out."},
		},
	}
}

// scenesCommand is what can be done with scenes.
type scenesCommand struct {
	List   scenesListCommand   `cmd:"" default:"withargs" help:"List them. This is what happens without a word."`
	Show   scenesShowCommand   `cmd:"" help:"Print one, in YAML."`
	Play   scenesPlayCommand   `cmd:"" help:"Play one, step by step."`
	Check  scenesCheckCommand  `cmd:"" help:"Tell what is wrong with files; no server is asked."`
	Add    scenesAddCommand    `cmd:"" help:"Add one to a server, or replace one that was added."`
	Remove scenesRemoveCommand `cmd:"" help:"Remove one that was added."`
	Clock  scenesClockCommand  `cmd:"" help:"Show or turn the clock of one that is played."`
}

const (
	scenesPath = "/api/v1/scenes"
	playsPath  = "/api/v1/plays"
)

func scenePath(id string) string { return scenesPath + "/" + url.PathEscape(id) }

func playPath(name string) string { return playsPath + "/" + url.PathEscape(name) }

// scenesListCommand lists scenes.
type scenesListCommand struct {
	client
	inLanguage
	Names bool `help:"Print the ids alone."`
}

// Run lists. JSON is one scene a line.
func (c *scenesListCommand) Run(ctx context.Context, s streams) error {
	var answer struct {
		Scenes []json.RawMessage `json:"scenes"`
	}
	if _, err := c.ask(ctx, http.MethodGet, c.in(ctx, scenesPath, os.Getenv), nil, &answer, 0); err != nil {
		return err
	}
	if c.JSON {
		return s.writeLines(answer.Scenes)
	}
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	if !c.Names {
		fmt.Fprintln(w, "SCENE\tSTEPS\tFROM\tTITLE") //nolint:errcheck // Flush says it
	}
	for _, raw := range answer.Scenes {
		var e api.SceneEntry
		if err := json.Unmarshal(raw, &e); err != nil {
			return fmt.Errorf("the server tells of a scene in a way that cannot be read: %w", err)
		}
		if c.Names {
			fmt.Fprintln(w, e.ID) //nolint:errcheck // Flush says it
			continue
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\n", e.ID, e.Steps, e.From, printable(e.Title, 100)) //nolint:errcheck // Flush says it
	}
	if err := w.Flush(); err != nil || c.Names {
		return err
	}
	var under api.Plays
	if _, err := c.ask(ctx, http.MethodGet, c.in(ctx, playsPath, os.Getenv), nil, &under, 0); err != nil || len(under.Plays) == 0 {
		return err
	}
	fmt.Fprintln(w, "\nUNDER WAY\tSTEP\tCLOCK\tTITLE") //nolint:errcheck // Flush says it
	for _, p := range under.Plays {
		fmt.Fprintf(w, "%s\t%d of %d\t%s\t%s\n", p.Name, p.Step, p.Steps, clockOf(p), printable(p.Title, 100)) //nolint:errcheck // Flush says it
	}
	return w.Flush()
}

// scenesShowCommand prints a scene.
type scenesShowCommand struct {
	client
	inLanguage
	Scene string `arg:"" help:"Its id, as the list has it."`
}

// Run prints it as it was written; in the language is what JSON has beside that.
func (c *scenesShowCommand) Run(ctx context.Context, s streams) error {
	var is api.Scene
	raw, err := c.ask(ctx, http.MethodGet, c.in(ctx, scenePath(c.Scene), os.Getenv), nil, &is, 0)
	if err != nil {
		return err
	}
	if c.JSON {
		return s.write(raw)
	}
	return s.write([]byte(is.Text))
}

// scenesCheckCommand checks files.
type scenesCheckCommand struct {
	File []string `arg:"" type:"path" help:"Scenes, *.yaml; - is standard input."`
}

// errWrongScene is returned when a file is no scene.
var errWrongScene = errors.New("not a scene that can be played")

// Run tells all that is wrong, as file:line: text.
func (c *scenesCheckCommand) Run(_ context.Context, s streams) error {
	bad := 0
	for _, file := range c.File {
		text, err := readScene(s, file)
		if err != nil {
			return err
		}
		sc, err := scene.Parse("scene", text)
		wrong, ok := errors.AsType[*scene.WrongError](err)
		switch {
		case ok:
			bad++
			for _, f := range wrong.Faults {
				at := file
				if f.Line > 0 {
					at = fmt.Sprintf("%s:%d", file, f.Line)
				}
				f.Line = 0
				fmt.Fprintf(s.err, "%s: %s\n", at, printable(f.String(), 400)) //nolint:errcheck // the exit code says it too
			}
		case err != nil:
			return err //nolint:wrapcheck // it says what it is about
		default:
			also := ""
			if in := sc.Tongues(); len(in) > 0 {
				also = ", also in " + strings.Join(in, ", ")
			}
			if _, err := fmt.Fprintf(s.out, "%s: %s, %s%s\n", file, printable(sc.Title, 100), counted(int64(len(sc.Steps)), "step", "steps"), also); err != nil {
				return err
			}
		}
	}
	if bad > 0 {
		return fmt.Errorf("%s of %d: %w", counted(int64(bad), "file", "files"), len(c.File), errWrongScene)
	}
	return nil
}

// readScene reads a file, no more than a scene has.
func readScene(s streams, file string) ([]byte, error) {
	var f io.ReadCloser = io.NopCloser(s.in)
	if file != "-" {
		var err error
		if f, err = os.Open(file); err != nil {
			return nil, fmt.Errorf("read the scene: %w", err)
		}
	}
	text, err := io.ReadAll(io.LimitReader(f, scene.MostBytes+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("read the scene: %w", err)
	}
	return text, nil
}

// scenesAddCommand adds a scene.
type scenesAddCommand struct {
	client
	File string `arg:"" type:"path" help:"A scene, *.yaml; - is standard input."`
	ID   string `name:"id" placeholder:"ID" help:"What it is called: up to 40 small letters, digits and hyphens. Default: the name of the file without a number before it."`
}

// Run sends it.
func (c *scenesAddCommand) Run(ctx context.Context, s streams) error {
	id := c.ID
	if id == "" {
		if c.File == "-" {
			return misused("what is read from standard input needs --id, which is what it is called")
		}
		id = scene.IDOf(filepath.ToSlash(c.File))
	}
	text, err := readScene(s, c.File)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	w, base, err := c.open(ctx, http.MethodPut, scenePath(id), strings.NewReader(string(text)))
	if err != nil {
		return err
	}
	defer w.Body.Close()
	var is api.Scene
	raw, err := c.read(ctx, base, w, &is)
	if err != nil {
		return err
	}
	if c.JSON {
		return s.write(raw)
	}
	_, err = fmt.Fprintf(s.out, "Added the scene %s, %s.\n", is.ID, counted(int64(is.Steps), "step", "steps"))
	return err
}

// scenesRemoveCommand removes a scene.
type scenesRemoveCommand struct {
	client
	Scene string `arg:"" help:"Its id, as the list has it."`
}

// Run removes it.
func (c *scenesRemoveCommand) Run(ctx context.Context, s streams) error {
	if _, err := c.ask(ctx, http.MethodDelete, scenePath(c.Scene), nil, nil, 0); err != nil || c.JSON {
		return err
	}
	_, err := fmt.Fprintf(s.out, "Removed the scene %s.\n", printable(c.Scene, 64))
	return err
}
