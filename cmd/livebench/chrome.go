package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// watching notes in a page what it has painted when, and what kept it busy.
//
//go:embed watching.js
var watching string

// A chrome is a real browser with one tab.
type chrome struct {
	tab  context.Context //nolint:containedctx // chromedp knows a tab by its context
	stop context.CancelFunc
}

var errNoChromium = errors.New("there is no Chromium in PATH")

// chromium is where it is; empty: there is none.
func chromium() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "headless-shell"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// browse starts one, with its profile in o.dir. modest has it give way to server and
// senders, for elsewhere it has a machine of its own: idle or giveWay. trace is a file for
// what its threads did, which its own tools open; empty: nobody wants that.
func browse(ctx context.Context, o options, modest func(*exec.Cmd), trace string) (*chrome, error) {
	path := chromium()
	if path == "" {
		return nil, errNoChromium
	}
	profile, err := os.MkdirTemp(o.dir, "profile")
	if err != nil {
		return nil, fmt.Errorf("make a folder: %w", err)
	}
	with := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.UserDataDir(profile), chromedp.WindowSize(1440, 900),
		chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.ModifyCmdFunc(modest),
	}
	if trace != "" {
		with = append(with, chromedp.Flag("trace-startup", "devtools.timeline,toplevel,blink.user_timing"),
			chromedp.Flag("trace-startup-format", "json"), chromedp.Flag("trace-startup-file", trace), chromedp.Flag("trace-startup-duration", "0"))
	}
	allocator, end := chromedp.NewExecAllocator(ctx, with...)
	tab, cancel := chromedp.NewContext(allocator)
	c := &chrome{tab: tab, stop: func() {
		_ = chromedp.Cancel(tab) //nolint:errcheck // it is killed below, however it went
		cancel()
		end()
	}}
	if _, err := chromedp.Call(tab, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: watching}); err != nil {
		c.stop()
		return nil, fmt.Errorf("start %s: %w", path, err)
	}
	const settled = 3 * time.Second // what Chromium does as it starts, with pages of its own, is not ours
	if err := pause(ctx, settled); err != nil {
		c.stop()
		return nil, err
	}
	return c, nil
}

// visit opens a page and waits until it is live, if it can be.
func (c *chrome) visit(url string) error {
	ctx, cancel := context.WithTimeout(c.tab, time.Minute)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Navigate(url)); err != nil {
		return fmt.Errorf("open %s: %w", url, err)
	}
	return c.until(`!document.body.dataset.live || mayfly.state === "live"`)
}

// leave leaves the page for one with nothing on it.
func (c *chrome) leave() error {
	if err := chromedp.Do(c.tab, chromedp.Navigate("about:blank")); err != nil {
		return fmt.Errorf("leave a page: %w", err)
	}
	return nil
}

// until waits until an expression is true in the page.
func (c *chrome) until(expression string) error {
	ctx, cancel := context.WithTimeout(c.tab, 30*time.Second)
	defer cancel()
	for {
		ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("!!("+expression+")"))
		if err == nil && ok {
			return nil
		}
		if pause(ctx, 50*time.Millisecond) != nil {
			return fmt.Errorf("never so: %s: %w", expression, errors.Join(err, context.Cause(ctx)))
		}
	}
}

// js evaluates an expression in the page.
func js[T any](c *chrome, expression string) (T, error) {
	v, err := chromedp.Run(c.tab, chromedp.Evaluate[T](expression))
	if err != nil {
		return v, fmt.Errorf("%s: %w", expression, err)
	}
	return v, nil
}

// behind is how far the clock of the page is behind ours: of many looks the one
// that took the least time knows it best.
func (c *chrome) behind() (time.Duration, error) {
	best, behind := time.Hour, time.Duration(0)
	for range 30 {
		before := time.Now()
		wall, err := js[float64](c, "livebench.wall()")
		if err != nil {
			return 0, err
		}
		if took := time.Since(before); took < best {
			best = took
			behind = before.Add(took / 2).Sub(instant(wall, 0))
		}
	}
	return behind, nil
}

// instant is one that the page has told in milliseconds.
func instant(wall float64, behind time.Duration) time.Time {
	return time.UnixMicro(int64(wall * 1000)).Add(behind)
}

// A busy is a time in which the page did one thing.
type busy struct {
	at   time.Time
	took time.Duration
}

// seen is what the page has painted and what kept it busy since it was loaded, or
// since the last call.
func (c *chrome) seen() (painted []sighting, long []busy, err error) {
	behind, err := c.behind()
	if err != nil {
		return nil, nil, err
	}
	type record struct {
		Paints [][3]float64 `json:"paints"` // event, instant and frame
		Long   [][2]float64 `json:"long"`   // instant and milliseconds
	}
	r, err := js[record](c, "livebench.take()")
	if err != nil {
		return nil, nil, err
	}
	for _, p := range r.Paints {
		s := sighting{uint64(p[0]), instant(p[1], behind)}
		if last := len(painted) - 1; last >= 0 && painted[last].n == s.n {
			painted[last] = s // it came in several frames: the last completes it
			continue
		}
		painted = append(painted, s)
	}
	for _, l := range r.Long {
		long = append(long, busy{instant(l[0], behind), time.Duration(l[1] * float64(time.Millisecond))})
	}
	return painted, long, nil
}

// longest is that of all in milliseconds; zero of none.
func longest(all []busy) (most float64) {
	for _, b := range all {
		most = max(most, ms(b.took))
	}
	return most
}
