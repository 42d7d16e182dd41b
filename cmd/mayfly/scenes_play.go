package main

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

	"mayfly/web/api"
)

// scenesPlayCommand plays a scene.
type scenesPlayCommand struct {
	client
	inLanguage
	Scene string        `arg:"" help:"Its id, as the list has it."`
	Auto  bool          `help:"Do not wait for Enter."`
	Pause time.Duration `placeholder:"DURATION" help:"With --auto, how long to wait before each step, such as 3s."`
	Keep  bool          `help:"Leave its namespace there at the end, to look at."`
}

// errNotSo is returned when a scene is not as it says.
var errNotSo = errors.New("not all was as the scene says")

// Run plays to the end, or to where somebody leaves; the namespace goes then.
func (c *scenesPlayCommand) Run(ctx context.Context, s streams) (err error) {
	base, err := c.base()
	if err != nil {
		return err
	}
	var p api.Play
	raw, err := c.ask(ctx, http.MethodPost, c.in(ctx, playsPath, os.Getenv), api.NewPlay{Scene: c.Scene}, &p, 0)
	if err != nil {
		return err
	}
	name := p.Name
	defer func() {
		if c.Keep {
			return
		}
		over := context.WithoutCancel(ctx)
		_, gone := c.ask(over, http.MethodDelete, playPath(name), nil, nil, 0)
		if q, ok := errors.AsType[*api.Problem](gone); ok && q.Status == http.StatusNotFound {
			gone = nil // somebody has ended it on the dashboard
		}
		err = errors.Join(err, gone)
	}()
	began, wrong := p.Clock, 0
	typed := bufio.NewReader(leaving(ctx, s.in))
	if err := c.begin(s, base, raw, p); err != nil {
		return err
	}
	for !p.Over {
		what, err := c.wait(ctx, s, typed)
		if err != nil || what == "q" {
			return err
		}
		at := "/next"
		if what == "b" {
			at = "/back"
		}
		if p, raw, err = c.step(ctx, name, at); err != nil {
			return err
		}
		if c.JSON {
			err = s.write(raw)
		} else {
			err = tellPlayed(s, p, began)
		}
		if err != nil {
			return err
		}
		for _, f := range p.Findings {
			if !f.OK {
				wrong++
			}
		}
	}
	if wrong > 0 || p.Trouble != "" {
		return errNotSo
	}
	if c.Keep && !c.JSON {
		_, err = fmt.Fprintf(s.out, "\n%s stays for a while: mayfly peek QUEUE --ns %s, mayfly scenes clock %s.\n", addressOf(base, p.Dashboard), name, name)
	}
	return err
}

// begin says what is about to be played.
func (c *scenesPlayCommand) begin(s streams, base string, raw []byte, p api.Play) error {
	if c.JSON {
		return s.write(raw)
	}
	_, err := fmt.Fprintf(s.out, "%s\n%s\n\nIn the browser: %s\n", printable(p.Title, 200), printable(p.Caption, 1000), addressOf(base, p.Dashboard))
	return err
}

// step plays from where the play is now: somebody may have played it on in the
// browser.
func (c *scenesPlayCommand) step(ctx context.Context, name, at string) (p api.Play, raw []byte, err error) {
	if _, err := c.ask(ctx, http.MethodGet, playPath(name), nil, &p, 0); err != nil {
		return p, nil, err
	}
	to := c.in(ctx, fmt.Sprintf("%s%s?step=%d", playPath(name), at, p.Step), os.Getenv)
	p = api.Play{}
	raw, err = c.ask(ctx, http.MethodPost, to, nil, &p, patience)
	return p, raw, err
}

// wait is until the next step is wanted: empty; the one before: b; or none: q. Where
// nothing can be typed it is wanted at once.
func (c *scenesPlayCommand) wait(ctx context.Context, s streams, typed *bufio.Reader) (string, error) {
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
	if _, err := fmt.Fprint(s.err, "\nEnter plays the next step; b goes back, q ends. "); err != nil {
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

// tellPlayed says what a step was, and what came of it.
func tellPlayed(s streams, p api.Play, began time.Time) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%d of %d", p.Step, p.Steps)
	if past := p.Clock.Sub(began); past > 0 {
		fmt.Fprintf(&b, ", after %s", past.Round(time.Millisecond))
	}
	fmt.Fprintf(&b, "\n  %s\n", printable(p.Caption, 1000))
	for _, f := range p.Findings {
		mark := "✓"
		if !f.OK {
			mark = "✗"
		}
		fmt.Fprintf(&b, "  %s %s\n", mark, printable(strings.TrimSpace(f.Text+" "+f.Is), 1000))
	}
	if p.Trouble != "" {
		fmt.Fprintf(&b, "  ✗ %s\n", printable(p.Trouble, 1000))
	}
	return s.write([]byte(b.String()))
}

// scenesClockCommand shows and turns the clock of a play.
type scenesClockCommand struct {
	client
	Play string `arg:"" help:"The name of what is played, which is that of its namespace."`
	Rate *int   `placeholder:"N" help:"Have it run: seconds that pass in one, 1, 10 or 60; 0 stands."`
	Next string `placeholder:"WHAT" enum:",expiry,activation,unlock,auto-delete" default:"" help:"Have it leap to what happens next: expiry, activation, unlock or auto-delete."`
}

// Run turns it as it is told, and says where it is.
func (c *scenesClockCommand) Run(ctx context.Context, s streams) error {
	var p api.Play
	var raw []byte
	var err error
	switch {
	case c.Rate != nil && c.Next != "":
		return misused("--rate and --next are one or the other")
	case c.Rate != nil:
		raw, err = c.ask(ctx, http.MethodPut, playPath(c.Play)+"/clock", api.Turn{Rate: c.Rate}, &p, 0)
	case c.Next != "":
		var leapt api.Leapt
		raw, err = c.ask(ctx, http.MethodPost, playPath(c.Play)+"/leap", api.Leap{To: c.Next}, &leapt, patience)
		if p = leapt.Play; err == nil && leapt.To.IsZero() && !c.JSON {
			if _, err := fmt.Fprintln(s.err, "nothing of the kind is to come"); err != nil {
				return err
			}
		}
	default:
		raw, err = c.ask(ctx, http.MethodGet, playPath(c.Play), nil, &p, 0)
	}
	if err != nil {
		return err
	}
	if c.JSON {
		return s.write(raw)
	}
	_, err = fmt.Fprintf(s.out, "%s: %s\n", p.Name, clockOf(p))
	return err
}

// clockOf is where a clock is, and how it runs.
func clockOf(p api.Play) string {
	at := p.Clock.Local().Format(time.DateTime)
	if p.Rate == 0 {
		return at + ", stands"
	}
	return fmt.Sprintf("%s, %d×", at, p.Rate)
}
