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

// recorderScript records the page's long tasks, and when the page painted which events.
//
//go:embed recorder.js
var recorderScript string

// A chrome is a Chromium browser with one tab.
type chrome struct {
	tab  context.Context //nolint:containedctx // chromedp knows a tab by its context
	stop context.CancelFunc
}

var errNoChromium = errors.New("there is no Chromium in PATH")

// chromium returns the path of Chromium, or "" if there is none.
func chromium() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chromium-headless-shell", "headless-shell"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// browse starts Chromium, with its profile in o.dir. modest, which is idle or lowerPriority, lowers
// the browser's priority below that of server and senders, because users have their own machines.
// trace is a file for a trace of its threads, for Chromium's own tools. Empty means none.
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
		_ = chromedp.Cancel(tab) //nolint:errcheck // it is killed below in any case
		cancel()
		end()
	}}
	if _, err := chromedp.Call(tab, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: recorderScript}); err != nil {
		c.stop()
		return nil, fmt.Errorf("start %s: %w", path, err)
	}
	const settled = 3 * time.Second // Chromium's own work at startup is not measured
	if err := pause(ctx, settled); err != nil {
		c.stop()
		return nil, err
	}
	return c, nil
}

// visit opens a page and waits until it is live, unless it is a static page.
func (c *chrome) visit(url string) error {
	ctx, cancel := context.WithTimeout(c.tab, time.Minute)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Navigate(url)); err != nil {
		return fmt.Errorf("open %s: %w", url, err)
	}
	return c.waitUntil(`!document.body.dataset.live || mayfly.state === "live"`)
}

// openBlank opens an empty page.
func (c *chrome) openBlank() error {
	if err := chromedp.Do(c.tab, chromedp.Navigate("about:blank")); err != nil {
		return fmt.Errorf("leave a page: %w", err)
	}
	return nil
}

// waitUntil waits until a JavaScript expression is true in the page, for up to 30 s.
func (c *chrome) waitUntil(expression string) error {
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

// js evaluates a JavaScript expression in the page and returns its value as a T.
func js[T any](c *chrome, expression string) (T, error) {
	v, err := chromedp.Run(c.tab, chromedp.Evaluate[T](expression))
	if err != nil {
		return v, fmt.Errorf("%s: %w", expression, err)
	}
	return v, nil
}

// clockOffset returns how far the page's clock is behind this program's. Of several measurements
// it uses the fastest, which is the most precise.
func (c *chrome) clockOffset() (time.Duration, error) {
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

// instant converts `wall`, milliseconds since 1970 by a page's clock, to the time of this program's
// clock. The page's clock is behind it by `behind`.
func instant(wall float64, behind time.Duration) time.Time {
	return time.UnixMicro(int64(wall * 1000)).Add(behind)
}

// A longTask is a task that kept the page's main thread busy for long.
type longTask struct {
	at   time.Time
	took time.Duration
}

// takePaints returns the page's paints and long tasks since it was loaded, or since the last call.
func (c *chrome) takePaints() (painted []pageUpdate, long []longTask, err error) {
	behind, err := c.clockOffset()
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
		s := pageUpdate{uint64(p[0]), instant(p[1], behind)}
		if last := len(painted) - 1; last >= 0 && painted[last].event == s.event {
			painted[last] = s // several frames: the last one completes it
			continue
		}
		painted = append(painted, s)
	}
	for _, l := range r.Long {
		long = append(long, longTask{instant(l[0], behind), time.Duration(l[1] * float64(time.Millisecond))})
	}
	return painted, long, nil
}

// longestTask returns the longest duration in milliseconds, or zero if there is none.
func longestTask(all []longTask) (most float64) {
	for _, b := range all {
		most = max(most, ms(b.took))
	}
	return most
}
