package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"mayfly/storage/mongo/mongotest"
)

// TestBrowser is the running program as somebody sees it in a browser. What it
// shows is in the files browser_…_test.go, a subject each. Several run at a time.
func TestBrowser(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		run  func(*testing.T, *visit)
	}{
		{"axe", axeInBrowser}, // what takes longest begins first
		{"walk", walkInBrowser},
		{"language", languageInBrowser},
		{"forms", formsInBrowser},
		{"life", lifeInBrowser},
		{"cut", cutInBrowser},
		{"reloads", reloadsInBrowser},
		{"temporary", temporaryInBrowser},
		{"drawer", drawerInBrowser},
		{"over", overInBrowser},
		{"choosing", choosingInBrowser},
		{"guards", guardsInBrowser},
		{"namespaces", namespacesInBrowser},
		{"scenes", scenesInBrowser},
		{"rules", rulesInBrowser},
		{"sessions", sessionsInBrowser},
		{"keyboard", keyboardInBrowser},
		{"phone", phoneInBrowser},
		{"activity", activityInBrowser},
		{"search", searchInBrowser},
		{"filter", filterInBrowser},
		{"columns", columnsInBrowser},
		{"lists", listsInBrowser},
		{"suggestions", suggestionsInBrowser},
		{"groups", groupsInBrowser},
		{"palette", paletteInBrowser},
		{"connections", connectionsInBrowser},
		{"jobs", jobsInBrowser},
		{"import", importInBrowser},
		{"definitions", definitionsInBrowser},
		{"send", sendInBrowser},
		{"alerts", alertsInBrowser},
		{"edit", editInBrowser},
		{"passport", passportInBrowser},
		{"metrics", metricsInBrowser},
		{"reference", referenceInBrowser},
		{"restart", restartInBrowser},
		{"reflow", reflowInBrowser},
		{"keys", keysInBrowser},
		{"aloud", aloudInBrowser},
		{"pictures", picturesInBrowser},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, open(t, chromium(t), "sqlite:"+filepath.Join(t.TempDir(), "mayfly.db")))
		})
	}
	for _, test := range []struct {
		name string
		run  func(*testing.T, context.Context)
	}{
		{"access", accessInBrowser},
		{"below", belowInBrowser},
		{"present", presentInBrowser},
		{"tongues", tonguesInBrowser},
		{"full", fullInBrowser},
		{"standby", standbyInBrowser},
		{"peers", peersInBrowser},
		{"walk semantics", semanticsInBrowser},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, chromium(t))
		})
	}
}

// TestBrowserOnMongoDB is what depends most on what a store does, and when, on
// the other one.
func TestBrowserOnMongoDB(t *testing.T) {
	ctx := chromium(t)
	for _, test := range []struct {
		name string
		run  func(*testing.T, *visit)
	}{
		{"life", lifeInBrowser},
		{"cut", cutInBrowser},
		{"drawer", drawerInBrowser},
		{"temporary", temporaryInBrowser},
		{"restart", restartInBrowser},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, open(t, ctx, mongotest.URL(t))) })
	}
}

// otherName is a name by which the browser reaches this machine, and others would.
const otherName = "mayfly.example"

// browsers are those that run and that no test has.
var browsers struct {
	mu   sync.Mutex
	idle []context.Context
	end  []func() // how all there are end
}

// chromium is a browser that no other test has until this one has ended: to start
// one takes seconds. Without one the test is skipped, unless MAYFLY_BROWSER=require.
func chromium(t *testing.T) context.Context {
	t.Helper()
	browsers.mu.Lock()
	var ctx context.Context
	for ctx == nil && len(browsers.idle) > 0 {
		last := len(browsers.idle) - 1
		if one := browsers.idle[last]; one.Err() == nil { // it has not ended by itself
			ctx = one
		}
		browsers.idle = browsers.idle[:last]
	}
	browsers.mu.Unlock()
	if ctx == nil {
		ctx = startChromium(t)
	}
	t.Cleanup(func() {
		browsers.mu.Lock()
		defer browsers.mu.Unlock()
		browsers.idle = append(browsers.idle, ctx)
	})
	return ctx
}

func startChromium(t *testing.T) context.Context {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "headless-shell"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		if os.Getenv("MAYFLY_BROWSER") == "require" {
			t.Fatal("MAYFLY_BROWSER=require, but there is no Chromium in PATH")
		}
		t.Skip("browser test skipped: no Chromium in PATH")
	}
	dir, err := os.MkdirTemp("", "mayfly-browser-") //nolint:usetesting // it outlives the test
	if err != nil {
		t.Fatal(err)
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(),
		chromedp.ExecPath(path), chromedp.UserDataDir(dir), chromedp.WindowSize(1440, 900),
		chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("host-resolver-rules", "MAP "+otherName+" 127.0.0.1"),
	)
	ctx, cancel := chromedp.NewContext(allocator)
	browsers.mu.Lock()
	browsers.end = append(browsers.end, func() {
		cancel()
		stop()
		_ = os.RemoveAll(dir)
	})
	browsers.mu.Unlock()
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start %s: %v", path, err)
	}
	return ctx
}

// endBrowsers ends what tests have started, when all have ended.
func endBrowsers() {
	browsers.mu.Lock()
	defer browsers.mu.Unlock()
	for _, end := range browsers.end {
		end()
	}
}

// A visit is a browser's tab on a program of its own.
type visit struct {
	t      *testing.T
	tab    context.Context
	config Config
	server *server
	at     string // the dashboard's address, as the browser knows it

	mu     sync.Mutex
	asked  []string // documents, fetches and XHRs since calm
	wrong  []string // what the console complains of, and requests that failed
	frames int      // that came through sockets since calm

	found []finding // what axe found in this tab
}

// open starts the program on a store, and a tab that has been nowhere yet.
func open(t *testing.T, browser context.Context, store string) *visit {
	t.Helper()
	limits, err := parseLimits("standard", []string{"min-auto-delete=1s"})
	if err != nil {
		t.Fatal(err)
	}
	c := Config{Store: store, Limits: &limits}
	v := visitTo(t, browser, serving(t, c))
	v.config = c
	return v
}

// visitTo opens a tab for a program that runs.
func visitTo(t *testing.T, browser context.Context, s *server) *visit {
	t.Helper()
	v := &visit{t: t, server: s, at: s.Dashboard}
	tab, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	if err := chromedp.Listen(tab, v.listen); err != nil {
		t.Fatalf("open a tab: %v", err)
	}
	var stop context.CancelFunc
	v.tab, stop = context.WithTimeout(tab, 10*time.Minute)
	t.Cleanup(stop)
	t.Cleanup(func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		for _, w := range v.wrong {
			t.Error(w)
		}
	})
	return v
}

// restart ends the program and starts another one on its store. Nobody looks at
// a page when either of them ends.
func (v *visit) restart() {
	v.t.Helper()
	v.leave()
	if err := v.server.stop(); err != nil {
		v.t.Fatal(err)
	}
	v.server = serving(v.t, v.config)
	v.at = v.server.Dashboard
	v.t.Cleanup(v.leave)
}

// leave closes the page; the tab stays.
func (v *visit) leave() {
	v.t.Helper()
	v.do(chromedp.Navigate("about:blank"))
}

func (v *visit) listen(event any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		switch e.Type {
		case network.ResourceTypeDocument, network.ResourceTypeFetch, network.ResourceTypeXHR:
			v.asked = append(v.asked, fmt.Sprintf("%s %s (%s)", e.Request.Method, e.Request.URL, e.Type))
		}
	case *network.EventWebSocketFrameReceived:
		v.frames++
	case *network.EventLoadingFailed:
		if !e.Canceled {
			v.wrong = append(v.wrong, "a request failed: "+e.ErrorText)
		}
	case *network.EventResponseReceived:
		if e.Response.Status >= http.StatusBadRequest {
			v.wrong = append(v.wrong, fmt.Sprintf("%s was answered with %d", e.Response.URL, e.Response.Status))
		}
	case *runtime.EventExceptionThrown:
		v.wrong = append(v.wrong, (&chromedp.ExceptionError{ExceptionDetails: e.ExceptionDetails}).Error())
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			v.wrong = append(v.wrong, fmt.Sprint("console: ", e.Args))
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError {
			v.wrong = append(v.wrong, "console: "+e.Entry.Text+" "+e.Entry.URL)
		}
	}
}

// calm is the moment from which on a page is to be left alone.
func (v *visit) calm() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.asked, v.frames = nil, 0
}

// stayed checks that the page asked for nothing since calm, and yet was told.
func (v *visit) stayed() {
	v.t.Helper()
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.asked) > 0 || v.frames == 0 {
		v.t.Errorf("the page asked for %q, and %d frames came; want none and some", v.asked, v.frames)
	}
}

// do runs actions, with a deadline.
func (v *visit) do(actions ...chromedp.Action[chromedp.Void]) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.tab, time.Minute)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		v.t.Fatal(err)
	}
}

// visit opens a page by its path, and waits until it is loaded.
func (v *visit) visit(path string) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.tab, time.Minute)
	defer cancel()
	err := chromedp.Do(ctx, chromedp.Navigate(v.at+path))
	if err != nil && strings.Contains(err.Error(), "ERR_ABORTED") { // the page was on its way elsewhere itself
		err = chromedp.Do(ctx, chromedp.Navigate(v.at+path))
	}
	if err != nil {
		v.t.Fatal(err)
	}
}

// js evaluates an expression in the page; a statement needs a block.
func (v *visit) js(expression string) any {
	v.t.Helper()
	value, err := chromedp.Run(v.tab, chromedp.Evaluate[any](expression))
	if err != nil {
		v.t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// want waits until the expression is true, whatever page is there by then.
func (v *visit) want(expression string) {
	v.t.Helper()
	v.wantMeanwhile(expression, func() {})
}

// wantMeanwhile does something between two looks at the expression.
func (v *visit) wantMeanwhile(expression string, meanwhile func()) {
	v.t.Helper()
	look := chromedp.Evaluate[bool](`(() => { try { return !!(` + expression + `) } catch { return false } })()`)
	v.until(expression, func(ctx context.Context) bool {
		ok, err := chromedp.Run(ctx, look) // an error is of a page on its way out
		if ok && err == nil {
			return true
		}
		meanwhile()
		return false
	})
}

// until waits until something is so; what is what to call it.
func (v *visit) until(what string, so func(context.Context) bool) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.tab, 30*time.Second)
	defer cancel()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for !so(ctx) {
		select {
		case <-again.C:
		case <-ctx.Done():
			v.t.Fatalf("never so: %s\n%v", what, v.js(`location.href + " " + document.body.innerText.replace(/\s+/g, " ").slice(0, 1500)`))
		}
	}
}

// equal checks a value now.
func (v *visit) equal(expression string, want any) {
	v.t.Helper()
	if n, ok := want.(int); ok {
		want = float64(n) // as JSON has it
	}
	if got := v.js(expression); got != want {
		v.t.Errorf("%s is %v, want %v", expression, got, want)
	}
}

// click clicks on the first element a selector finds, and waits for the page
// that this leads to.
func (v *visit) click(selector string) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.tab, time.Minute)
	defer cancel()
	if _, err := chromedp.RunResponse(ctx, chromedp.Click(chromedp.CSS(selector))); err != nil {
		v.t.Fatalf("click on %s: %v", selector, err)
	}
}

// enter presses Enter in a field, and waits for the page to which that leads.
func (v *visit) enter(selector string) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.tab, time.Minute)
	defer cancel()
	if _, err := chromedp.RunResponse(ctx, chromedp.SendKeys(chromedp.CSS(selector), kb.Enter)); err != nil {
		v.t.Fatalf("Enter in %s: %v", selector, err)
	}
}

// fill types into a field, instead of what stands in it.
func (v *visit) fill(name, text string) {
	v.t.Helper()
	field := `:is(main, .guard) [name="` + name + `"]`
	v.js(`document.querySelector('` + field + `').value = ""`)
	v.do(chromedp.SendKeys(chromedp.CSS(field), text))
}

// scripts switches scripts on or off, from the next page on.
func (v *visit) scripts(on bool) {
	v.t.Helper()
	if _, err := chromedp.Call(v.tab, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !on}); err != nil {
		v.t.Fatal(err)
	}
}

// send puts a message into an entity over REST; properties is the header of
// that name, empty for none.
func (v *visit) send(to, properties, body string) {
	v.t.Helper()
	v.ask(http.MethodPost, v.server.Admin+"/"+to+"/messages", properties, body)
}

// create makes an entity through the JSON API; properties is an object.
func (v *visit) create(kind, name, properties string) {
	v.t.Helper()
	v.ask(http.MethodPost, v.server.Dashboard+"/api/v1/entities", "", fmt.Sprintf(`{"kind":%q,"path":%q,"properties":%s}`, kind, name, properties))
}

// ask makes a request that has to succeed.
func (v *visit) ask(method, url, properties, body string) {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		v.t.Fatal(err)
	}
	if properties != "" {
		r.Header.Set("BrokerProperties", properties)
	}
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	defer w.Body.Close()
	if text, err := io.ReadAll(w.Body); err != nil || w.StatusCode >= 300 {
		v.t.Fatalf("%s %s: %s %s %v", method, url, w.Status, text, err)
	}
}
