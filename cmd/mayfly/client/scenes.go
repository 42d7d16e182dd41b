package client

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

	"mayfly/cmd/mayfly/cli"
	"mayfly/engine/demo"
	"mayfly/web/api"
)

func describeScenes() cli.Command {
	return cli.Command{
		Name: "scenes", Summary: "List, play, check, add and delete scenes, and change their clocks.", Flags: &scenesCommand{}, ExitCodes: exitCodes(),
		Detail: "A scene is a short demonstration of what a broker does, in a temporary namespace of its own. Only such a namespace has a clock that you can change.",
		Examples: []cli.Example{
			{Line: "mayfly scenes", Text: "List scenes, and those that are playing."},
			{Line: "mayfly scenes play deadline", Text: "Play a scene; press Enter for each step. The dashboard shows it too."},
			{Line: "mayfly scenes play deadline --lang cs", Text: "Play a scene in Czech."},
			{Line: "mayfly scenes play deadline --auto", Text: "Play all steps without waiting. Exit with 1 if a check fails."},
			{Line: "mayfly scenes show deadline > lunch.yaml", Text: "Save a scene as a starting point for your own."},
			{Line: "mayfly scenes check lunch.yaml", Text: "Report all errors in a file, without a server."},
			{Line: "mayfly scenes add lunch.yaml", Text: "Add a scene to a running server, or replace it."},
			{Line: "mayfly scenes delete lunch", Text: "Delete an added scene from the server."},
			{Line: "mayfly scenes clock deadline-1f2e3d --next expiry", Text: "Advance the clock of a playing scene to the next expiry."},
		},
	}
}

// scenesCommand groups the subcommands for scenes.
type scenesCommand struct {
	List   scenesListCommand   `cmd:"" default:"withargs" help:"List scenes (default)."`
	Show   scenesShowCommand   `cmd:"" help:"Print a scene as YAML."`
	Play   scenesPlayCommand   `cmd:"" help:"Play a scene, step by step."`
	Check  scenesCheckCommand  `cmd:"" help:"Check scene files, without a server."`
	Add    scenesAddCommand    `cmd:"" help:"Add a scene to a server, or replace an added one."`
	Delete scenesDeleteCommand `cmd:"" help:"Delete an added scene."`
	Clock  scenesClockCommand  `cmd:"" help:"Show or change the clock of a scene that is playing."`
}

const (
	scenesPath    = "/api/v1/scenes"
	playbacksPath = "/api/v1/playbacks"
)

func scenePath(id string) string { return scenesPath + "/" + url.PathEscape(id) }

func playbackPath(name string) string { return playbacksPath + "/" + url.PathEscape(name) }

// scenesListCommand lists scenes.
type scenesListCommand struct {
	client
	languageFlag
	Names bool `help:"Print only the ids."`
}

// Run lists scenes. JSON is one scene a line.
func (c *scenesListCommand) Run(ctx context.Context, s cli.Streams) error {
	var answer struct {
		Scenes []json.RawMessage `json:"scenes"`
	}
	if _, err := c.request(ctx, http.MethodGet, c.withLanguage(ctx, scenesPath, os.Getenv), nil, &answer, 0); err != nil {
		return err
	}
	if c.JSON {
		return s.WriteLines(answer.Scenes)
	}
	w := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	if !c.Names {
		fmt.Fprintln(w, "SCENE\tSTEPS\tFROM\tTITLE") //nolint:errcheck // Flush returns the error
	}
	for _, raw := range answer.Scenes {
		var e api.SceneEntry
		if err := json.Unmarshal(raw, &e); err != nil {
			return fmt.Errorf("the server returned a scene that cannot be parsed: %w", err)
		}
		if c.Names {
			fmt.Fprintln(w, e.ID) //nolint:errcheck // Flush returns the error
			continue
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\n", e.ID, e.Steps, e.From, cli.Printable(e.Title, 100)) //nolint:errcheck // Flush returns the error
	}
	if err := w.Flush(); err != nil || c.Names {
		return err
	}
	var under api.Playbacks
	if _, err := c.request(ctx, http.MethodGet, c.withLanguage(ctx, playbacksPath, os.Getenv), nil, &under, 0); err != nil || len(under.Playbacks) == 0 {
		return err
	}
	fmt.Fprintln(w, "\nPLAYING\tSTEP\tCLOCK\tTITLE") //nolint:errcheck // Flush returns the error
	for _, p := range under.Playbacks {
		fmt.Fprintf(w, "%s\t%d of %d\t%s\t%s\n", p.Name, p.Step, p.Steps, describeClock(p), cli.Printable(p.Title, 100)) //nolint:errcheck // Flush returns the error
	}
	return w.Flush()
}

// scenesShowCommand prints a scene.
type scenesShowCommand struct {
	client
	languageFlag
	Scene string `arg:"" help:"Id of the scene, as listed."`
}

// Run prints the scene's YAML; JSON also has its translated texts.
func (c *scenesShowCommand) Run(ctx context.Context, s cli.Streams) error {
	var is api.Scene
	raw, err := c.request(ctx, http.MethodGet, c.withLanguage(ctx, scenePath(c.Scene), os.Getenv), nil, &is, 0)
	if err != nil {
		return err
	}
	if c.JSON {
		return s.WriteRaw(raw)
	}
	return s.WriteRaw([]byte(is.Text))
}

// scenesCheckCommand checks scene files.
type scenesCheckCommand struct {
	File []string `arg:"" type:"path" help:"Scene files, *.yaml; - is standard input."`
}

// errInvalidScene is returned for a file that is not a valid scene.
var errInvalidScene = errors.New("not a valid scene")

// Run prints all errors as file:line: text.
func (c *scenesCheckCommand) Run(_ context.Context, s cli.Streams) error {
	bad := 0
	for _, file := range c.File {
		text, err := readScene(s, file)
		if err != nil {
			return err
		}
		sc, err := demo.Parse("scene", text)
		wrong, ok := errors.AsType[*demo.SceneError](err)
		switch {
		case ok:
			bad++
			for _, f := range wrong.Problems {
				at := file
				if f.Line > 0 {
					at = fmt.Sprintf("%s:%d", file, f.Line)
				}
				f.Line = 0
				fmt.Fprintf(s.Err, "%s: %s\n", at, cli.Printable(f.String(), 400)) //nolint:errcheck // the exit code reports it too
			}
		case err != nil:
			return err
		default:
			also := ""
			if in := sc.OtherLanguages(); len(in) > 0 {
				also = ", also in " + strings.Join(in, ", ")
			}
			if _, err := fmt.Fprintf(s.Out, "%s: %s, %s%s\n", file, cli.Printable(sc.Title, 100), cli.Pluralize(int64(len(sc.Steps)), "step", "steps"), also); err != nil {
				return err
			}
		}
	}
	if bad > 0 {
		return fmt.Errorf("%s of %d: %w", cli.Pluralize(int64(bad), "file", "files"), len(c.File), errInvalidScene)
	}
	return nil
}

// readScene reads a scene from a file or standard input. It reads at most one byte more than a scene
// may have, which is enough to detect that it is too long.
func readScene(s cli.Streams, file string) ([]byte, error) {
	f := io.NopCloser(s.In)
	if file != "-" {
		var err error
		if f, err = os.Open(file); err != nil {
			return nil, fmt.Errorf("read the scene: %w", err)
		}
	}
	text, err := io.ReadAll(io.LimitReader(f, demo.MaxBytes+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("read the scene: %w", err)
	}
	return text, nil
}

// scenesAddCommand adds a scene.
type scenesAddCommand struct {
	client
	File string `arg:"" type:"path" help:"Scene file, *.yaml; - is standard input."`
	ID   string `name:"id" placeholder:"ID" help:"Id: up to 40 lower-case letters, digits and hyphens. Default: the file name without a leading number."`
}

// Run uploads the scene.
func (c *scenesAddCommand) Run(ctx context.Context, s cli.Streams) error {
	id := c.ID
	if id == "" {
		if c.File == "-" {
			return cli.UsageErrorf("a scene on standard input needs --id")
		}
		id = demo.IDOf(filepath.ToSlash(c.File))
	}
	text, err := readScene(s, c.File)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	w, base, err := c.openResponse(ctx, http.MethodPut, scenePath(id), strings.NewReader(string(text)))
	if err != nil {
		return err
	}
	defer w.Body.Close()
	var is api.Scene
	raw, err := c.readResponse(ctx, base, w, &is)
	if err != nil {
		return err
	}
	if c.JSON {
		return s.WriteRaw(raw)
	}
	_, err = fmt.Fprintf(s.Out, "Added the scene %s, %s.\n", is.ID, cli.Pluralize(int64(is.Steps), "step", "steps"))
	return err
}

// scenesDeleteCommand deletes a scene.
type scenesDeleteCommand struct {
	client
	Scene string `arg:"" help:"Id of the scene, as listed."`
}

// Run removes the scene.
func (c *scenesDeleteCommand) Run(ctx context.Context, s cli.Streams) error {
	if _, err := c.request(ctx, http.MethodDelete, scenePath(c.Scene), nil, nil, 0); err != nil || c.JSON {
		return err
	}
	_, err := fmt.Fprintf(s.Out, "Deleted the scene %s.\n", cli.Printable(c.Scene, 64))
	return err
}
