package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"mayfly/cmd/mayfly/cli"
	"mayfly/web/api"
)

// scenesPlayCommand plays a scene.
type scenesPlayCommand struct {
	client
	languageFlag
	Scene string        `arg:"" help:"Id of the scene, as listed."`
	Auto  bool          `help:"Do not wait for Enter."`
	Pause time.Duration `placeholder:"DURATION" help:"With --auto: pause before each step, such as 3s."`
	Keep  bool          `help:"Keep the namespace of the scene at the end."`
}

// errSceneCheckFailed is returned when a step did not have the expected result.
var errSceneCheckFailed = errors.New("a check of the scene failed")

// Run plays to the end or until the user quits, and then deletes the playback's namespace.
func (c *scenesPlayCommand) Run(ctx context.Context, s cli.Streams) (err error) {
	base, err := c.serverURL()
	if err != nil {
		return err
	}
	var p api.Playback
	raw, err := c.request(ctx, http.MethodPost, c.withLanguage(ctx, playbacksPath, os.Getenv), api.NewPlayback{Scene: c.Scene}, &p, 0)
	if err != nil {
		return err
	}
	name := p.Name
	defer func() {
		if c.Keep {
			return
		}
		over := context.WithoutCancel(ctx)
		_, gone := c.request(over, http.MethodDelete, playbackPath(name), nil, nil, 0)
		if q, ok := errors.AsType[*api.Problem](gone); ok && q.Status == http.StatusNotFound {
			gone = nil // ended on the dashboard already
		}
		err = errors.Join(err, gone)
	}()
	began, wrong := p.Clock, 0
	typed := bufio.NewReader(cli.CancellableReader(ctx, s.In))
	if err := c.printTitle(s, base, raw, p); err != nil {
		return err
	}
	for !p.Finished {
		what, err := c.waitForChoice(ctx, s, typed)
		if err != nil || what == "q" {
			return err
		}
		at := "/next"
		if what == "b" {
			at = "/back"
		}
		if p, raw, err = c.playStep(ctx, name, at); err != nil {
			return err
		}
		if c.JSON {
			err = s.WriteRaw(raw)
		} else {
			err = printPlayedStep(s, p, began)
		}
		if err != nil {
			return err
		}
		for _, f := range p.Expectations {
			if !f.OK {
				wrong++
			}
		}
	}
	if wrong > 0 || p.Error != "" {
		return errSceneCheckFailed
	}
	if c.Keep && !c.JSON {
		_, err = fmt.Fprintf(s.Out, "\n%s stays for a while. Look around with mayfly peek QUEUE --namespace %s and mayfly scenes clock %s.\n", resolveURL(base, p.Dashboard), name, name)
	}
	return err
}

// printTitle prints the title of the scene and the address of its page.
func (c *scenesPlayCommand) printTitle(s cli.Streams, base string, raw []byte, p api.Playback) error {
	if c.JSON {
		return s.WriteRaw(raw)
	}
	_, err := fmt.Fprintf(s.Out, "%s\n%s\n\nIn the browser: %s\n", cli.Printable(p.Title, 200), cli.Printable(p.Caption, 1000), resolveURL(base, p.Dashboard))
	return err
}

// playStep plays the next step of the playback `name` if `at` is "/next", or goes back one step if
// it is "/back". It first reads the current position, which may have changed in the browser.
func (c *scenesPlayCommand) playStep(ctx context.Context, name, at string) (p api.Playback, raw []byte, err error) {
	if _, err := c.request(ctx, http.MethodGet, playbackPath(name), nil, &p, 0); err != nil {
		return p, nil, err
	}
	to := c.withLanguage(ctx, fmt.Sprintf("%s%s?step=%d", playbackPath(name), at, p.Step), os.Getenv)
	p = api.Playback{}
	raw, err = c.request(ctx, http.MethodPost, to, nil, &p, requestTimeout)
	return p, raw, err
}

// waitForChoice waits for the user's choice: "" for the next step, "b" for the previous one, "q" to
// quit. Without input it plays the next step at once.
func (c *scenesPlayCommand) waitForChoice(ctx context.Context, s cli.Streams, typed *bufio.Reader) (string, error) {
	if c.Auto {
		pause := time.NewTimer(c.Pause)
		defer pause.Stop()
		select {
		case <-pause.C:
			return "", nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
	if _, err := fmt.Fprint(s.Err, "\nEnter plays the next step, b goes back, q quits. "); err != nil {
		return "", err
	}
	line, err := typed.ReadString('\n')
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err != nil && !errors.Is(err, io.EOF):
		return "", fmt.Errorf("read what was typed: %w", err)
	}
	return strings.ToLower(strings.TrimSpace(line)), nil
}

// printPlayedStep prints a step and the results of its checks.
func printPlayedStep(s cli.Streams, p api.Playback, began time.Time) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%d of %d", p.Step, p.Steps)
	if past := p.Clock.Sub(began); past > 0 {
		fmt.Fprintf(&b, ", after %s", past.Round(time.Millisecond))
	}
	fmt.Fprintf(&b, "\n  %s\n", cli.Printable(p.Caption, 1000))
	for _, f := range p.Expectations {
		mark := "✓"
		if !f.OK {
			mark = "✗"
		}
		fmt.Fprintf(&b, "  %s %s\n", mark, cli.Printable(strings.TrimSpace(f.Text+" "+f.Actual), 1000))
	}
	if p.Error != "" {
		fmt.Fprintf(&b, "  ✗ %s\n", cli.Printable(p.Error, 1000))
	}
	return s.WriteRaw([]byte(b.String()))
}

// scenesClockCommand shows or changes the clock of a playback.
type scenesClockCommand struct {
	client
	Play string `arg:"" help:"Namespace of the scene that is playing."`
	Rate *int   `placeholder:"N" help:"Speed of the clock: 1, 10 or 60 times; 0 stops it."`
	Next string `placeholder:"EVENT" enum:",expiry,activation,unlock,auto-delete" default:"" help:"Advance the clock to the next expiry, activation, unlock or auto-delete."`
}

// Run changes the clock as the flags specify, and prints it.
func (c *scenesClockCommand) Run(ctx context.Context, s cli.Streams) error {
	var p api.Playback
	var raw []byte
	var err error
	switch {
	case c.Rate != nil && c.Next != "":
		return cli.UsageErrorf("--rate and --next exclude each other")
	case c.Rate != nil:
		raw, err = c.request(ctx, http.MethodPut, playbackPath(c.Play)+"/clock", api.ClockRate{Rate: c.Rate}, &p, 0)
	case c.Next != "":
		var advanced api.AdvanceResult
		raw, err = c.request(ctx, http.MethodPost, playbackPath(c.Play)+"/advance", api.ClockAdvance{Next: c.Next}, &advanced, requestTimeout)
		if p = advanced.Playback; err == nil && advanced.To.IsZero() && !c.JSON {
			if _, err := fmt.Fprintln(s.Err, "there is no such event to come"); err != nil {
				return err
			}
		}
	default:
		raw, err = c.request(ctx, http.MethodGet, playbackPath(c.Play), nil, &p, 0)
	}
	if err != nil {
		return err
	}
	if c.JSON {
		return s.WriteRaw(raw)
	}
	_, err = fmt.Fprintf(s.Out, "%s: %s\n", p.Name, describeClock(p))
	return err
}

// describeClock returns a clock's time and rate for display.
func describeClock(p api.Playback) string {
	at := p.Clock.Local().Format(time.DateTime)
	if p.Rate == 0 {
		return at + ", stands"
	}
	return fmt.Sprintf("%s, %d×", at, p.Rate)
}
