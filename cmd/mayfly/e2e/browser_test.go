package e2e

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

	"mayfly/cmd/mayfly/server"
	"mayfly/engine/longtest"
	"mayfly/storage/mongo/mongotest"
)

// TestBrowser tests the running program in a browser. Its parts are in browser_…_test.go, one
// subject per file. Several run in parallel.
func TestBrowser(t *testing.T) {
	longtest.Require(t, "every page in a browser")
	t.Parallel()
	for _, test := range []struct {
		name string
		run  func(*testing.T, *visit)
	}{
		{"walk", walkInBrowser}, // the slowest test starts first
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
		{"damaged", damagedInBrowser},
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

// TestBrowserOpensTheOverview is the only short test in a browser: the dashboard is served, its
// script runs, and its socket delivers a message.
func TestBrowserOpensTheOverview(t *testing.T) {
	t.Parallel()
	v := open(t, freeChromium(t), "memory:")
	v.create("queue", "orders", "{}")
	v.visit("/n/default")
	v.want(isLive)
	v.calm()
	v.send("orders", `{"Label":"order.placed","TimeToLive":30}`, "hello")
	v.want(`document.querySelector("main").innerText.includes("order.placed")`)
	v.stayed()
}

// TestBrowserOnMongoDB runs on MongoDB those parts of TestBrowser that depend most on the store.
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

// otherName is a host name of this machine that is not localhost.
const otherName = "mayfly.example"

// browsers are the running browsers that no test uses.
var browsers struct {
	mu   sync.Mutex
	idle []context.Context
	end  []func() // each ends one browser
}

// chromium is freeChromium for long tests, which are all tests in a browser but one.
func chromium(t *testing.T) context.Context {
	t.Helper()
	longtest.Require(t, "pages in a browser")
	return freeChromium(t)
}

// freeChromium returns a browser for this test alone. Browsers are reused, because starting one
// takes seconds. Without a browser the test is skipped, unless MAYFLY_BROWSER=require.
func freeChromium(t *testing.T) context.Context {
	t.Helper()
	browsers.mu.Lock()
	var ctx context.Context
	for ctx == nil && len(browsers.idle) > 0 {
		last := len(browsers.idle) - 1
		if one := browsers.idle[last]; one.Err() == nil { // it has not crashed
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
	for _, name := range []string{"chromium-headless-shell", "headless-shell", "chromium", "chromium-browser", "google-chrome"} {
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
		chromedp.Flag("allow-pre-commit-input", true), // otherwise clicks and keys before the first frame of a page are lost
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

// endBrowsers ends all browsers after the tests.
func endBrowsers() {
	browsers.mu.Lock()
	defer browsers.mu.Unlock()
	for _, end := range browsers.end {
		end()
	}
}

// A visit is a browser tab and a server.
type visit struct {
	t      *testing.T
	tab    context.Context
	config server.Config
	server *Server
	at     string // the dashboard's address in the browser
	plain  bool   // scripts are disabled

	mu       sync.Mutex
	asked    []string                     // documents, fetches and XHRs since calm
	frames   int                          // received through sockets since calm
	requests map[network.RequestID]string // their URLs
	wrong    []fault
	logged   []expectation // refused responses; each excuses one line in the console
	expected []expectation // set by forgive

	found []finding // faults that axe found in this tab
}

// open starts a server on a store, and returns an empty tab.
func open(t *testing.T, browser context.Context, store string) *visit {
	t.Helper()
	limits, err := server.ParseLimits("standard", []string{"min-auto-delete=1s"})
	if err != nil {
		t.Fatal(err)
	}
	c := server.Config{Store: store, Limits: &limits}
	v := visitTo(t, browser, Start(t, c))
	v.config = c
	return v
}

// visitTo opens a tab for a running server.
func visitTo(t *testing.T, browser context.Context, s *Server) *visit {
	t.Helper()
	v := &visit{t: t, server: s, at: s.Dashboard, requests: map[network.RequestID]string{}}
	tab, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	if err := chromedp.Listen(tab, v.listen); err != nil {
		t.Fatalf("open a tab: %v", err)
	}
	var stop context.CancelFunc
	v.tab, stop = context.WithTimeout(tab, 30*time.Minute) // the longest walk takes eight minutes on two cores
	t.Cleanup(stop)
	t.Cleanup(func() {
		for _, f := range v.unexpected() {
			t.Error(f.text)
		}
	})
	return v
}

// restart stops the server and starts another one on its store. The tab shows no page
// meanwhile.
func (v *visit) restart() {
	v.t.Helper()
	v.leave()
	if err := v.server.Stop(); err != nil {
		v.t.Fatal(err)
	}
	v.server = Start(v.t, v.config)
	v.at = v.server.Dashboard
	v.t.Cleanup(v.leave)
}

// leave replaces the page with an empty one in the same tab.
func (v *visit) leave() {
	v.t.Helper()
	v.do(chromedp.Navigate("about:blank"))
}

func (v *visit) listen(event any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		v.requests[e.RequestID] = e.Request.URL
		switch e.Type {
		case network.ResourceTypeDocument, network.ResourceTypeFetch, network.ResourceTypeXHR:
			v.asked = append(v.asked, fmt.Sprintf("%s %s (%s)", e.Request.Method, e.Request.URL, e.Type))
		}
	case *network.EventWebSocketFrameReceived:
		v.frames++
	case *network.EventLoadingFailed:
		if !e.Canceled {
			v.wrong = append(v.wrong, failedRequest(v.requests[e.RequestID], e.ErrorText))
		}
	case *network.EventResponseReceived:
		if e.Response.Status >= http.StatusBadRequest {
			v.wrong = append(v.wrong, responseFault(e.Response))
		}
	case *runtime.EventExceptionThrown:
		v.wrong = append(v.wrong, fault{text: (&chromedp.ExceptionError{ExceptionDetails: e.ExceptionDetails}).Error()})
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			v.wrong = append(v.wrong, fault{text: fmt.Sprint("console: ", e.Args), console: true})
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError {
			v.wrong = append(v.wrong, consoleFault(e.Entry))
		}
	}
}

// calm forgets the page's requests and updates so far, for a later call of stayed.
func (v *visit) calm() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.asked, v.frames = nil, 0
}

// stayed checks that the page has sent no requests since calm, but has received updates.
func (v *visit) stayed() {
	v.t.Helper()
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.asked) > 0 || v.frames == 0 {
		v.t.Errorf("the page requested %q and received %d frames; want no request and some frames", v.asked, v.frames)
	}
}

// do runs actions, with a timeout.
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
	if err != nil && strings.Contains(err.Error(), "ERR_ABORTED") { // the page was navigating itself
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

// want waits until the expression is true, even if the page changes.
func (v *visit) want(expression string) {
	v.t.Helper()
	v.wantMeanwhile(expression, func() {})
}

// wantMeanwhile is like want, and calls `meanwhile` each time that the expression is not true yet.
func (v *visit) wantMeanwhile(expression string, meanwhile func()) {
	v.t.Helper()
	look := chromedp.Evaluate[bool](`(() => { try { return !!(` + expression + `) } catch { return false } })()`)
	v.until(expression, func(ctx context.Context) bool {
		ok, err := chromedp.Run(ctx, look) // an error comes from a page that is being replaced
		if ok && err == nil {
			return true
		}
		meanwhile()
		return false
	})
}

// until calls `so` until it returns true. After 30 s it fails the test with the description `what`.
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
			v.t.Fatalf("not in time: %s\n%v", what, v.js(`location.href + " " + document.body.innerText.replace(/\s+/g, " ").slice(0, 1500)`))
		}
	}
}

// equal checks that an expression has a value now; it does not wait.
func (v *visit) equal(expression string, want any) {
	v.t.Helper()
	if n, ok := want.(int); ok {
		want = float64(n) // numbers from the page are float64
	}
	if got := v.js(expression); got != want {
		v.t.Errorf("%s is %v, want %v", expression, got, want)
	}
}

// cancelReload cancels the reload of a page without scripts. A reload under the pointer would lose a
// click, and would be taken for the page that the click leads to.
func (v *visit) cancelReload() {
	if v.plain {
		if _, err := chromedp.Run(v.tab, chromedp.Evaluate[any](`stop()`)); err != nil {
			v.t.Log(err) // the page has just been reloaded
		}
	}
}

// click clicks on the first element of a selector, and waits for the next page.
func (v *visit) click(selector string) {
	v.t.Helper()
	v.cancelReload()
	ctx, cancel := context.WithTimeout(v.tab, time.Minute)
	defer cancel()
	if _, err := chromedp.RunResponse(ctx, chromedp.Click(chromedp.CSS(selector))); err != nil {
		v.t.Fatalf("click on %s: %v", selector, err)
	}
}

// enter presses Enter in a field, and waits for the next page.
func (v *visit) enter(selector string) {
	v.t.Helper()
	v.cancelReload()
	ctx, cancel := context.WithTimeout(v.tab, time.Minute)
	defer cancel()
	if _, err := chromedp.RunResponse(ctx, chromedp.SendKeys(chromedp.CSS(selector), kb.Enter)); err != nil {
		v.t.Fatalf("Enter in %s: %v", selector, err)
	}
}

// fill replaces the text of a field.
func (v *visit) fill(name, text string) {
	v.t.Helper()
	field := `:is(main, .guard) [name="` + name + `"]`
	v.js(`document.querySelector('` + field + `').value = ""`)
	v.do(chromedp.SendKeys(chromedp.CSS(field), text))
}

// scripts enables or disables scripts, from the next page on.
func (v *visit) scripts(on bool) {
	v.t.Helper()
	v.plain = !on
	if _, err := chromedp.Call(v.tab, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !on}); err != nil {
		v.t.Fatal(err)
	}
}

// send sends a message to an entity over REST; properties is the header BrokerProperties,
// empty for none.
func (v *visit) send(to, properties, body string) {
	v.t.Helper()
	v.ask(http.MethodPost, v.server.Admin+"/"+to+"/messages", properties, body)
}

// create creates an entity by the JSON API; properties is a JSON object.
func (v *visit) create(kind, name, properties string) {
	v.t.Helper()
	v.ask(http.MethodPost, v.server.Dashboard+"/api/v1/entities", "", fmt.Sprintf(`{"kind":%q,"path":%q,"properties":%s}`, kind, name, properties))
}

// ask sends a request that has to succeed.
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
