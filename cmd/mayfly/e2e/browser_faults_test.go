package e2e

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
)

// A fault is an error that the browser reports. It fails the test unless it is expected.
type fault struct {
	text    string
	path    string // of the URL that failed; "" if there is none
	cause   string // a status code, the name of a network error, or the browser's error text
	console bool   // the browser reported it in the console
	taken   bool   // refused has accepted it
}

// path returns the path of a URL; "" if it cannot be parsed.
func path(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Path
}

// responseFault returns the fault of a response with an error status.
func responseFault(r *network.Response) fault {
	return fault{
		text: fmt.Sprintf("%s was answered with %d", r.URL, r.Status),
		path: path(r.URL), cause: strconv.FormatInt(r.Status, 10),
	}
}

// failedRequest returns the fault of a request to address that got no response.
func failedRequest(address, cause string) fault {
	return fault{text: "a request failed: " + cause + " " + address, path: path(address), cause: strings.TrimPrefix(cause, "net::")}
}

var (
	socketError = regexp.MustCompile(`^WebSocket connection to '([^']+)' failed: (.*)`)
	errorStatus = regexp.MustCompile(`(?:status of|response code:) (\d+)`)
	networkName = regexp.MustCompile(`net::(ERR_\w+)`)
)

// consoleFault returns the fault of an error in the console.
func consoleFault(e *log.Entry) fault {
	f := fault{text: "console: " + e.Text + " " + e.URL, path: path(e.URL), cause: e.Text, console: true}
	if m := socketError.FindStringSubmatch(e.Text); m != nil {
		f.path, f.cause = path(m[1]), m[2]
	}
	if m := errorStatus.FindStringSubmatch(f.cause); m != nil {
		f.cause = m[1]
	} else if m := networkName.FindStringSubmatch(f.cause); m != nil {
		f.cause = m[1]
	} else if strings.HasPrefix(f.cause, "HTTP Authentication failed") {
		f.cause = "401" // of a WebSocket; the browser does not log the status
	}
	return f
}

// An expectation matches faults that do not fail the test.
type expectation struct {
	path   string   // a final * matches any suffix
	causes []string // prefixes of the causes that match
	from   int      // number of earlier faults, which do not match
}

func (e expectation) matches(f fault) bool {
	begin, open := strings.CutSuffix(e.path, "*")
	return (f.path == e.path || open && strings.HasPrefix(f.path, begin)) &&
		slices.ContainsFunc(e.causes, func(cause string) bool { return strings.HasPrefix(f.cause, cause) })
}

// refused waits for a response with the status to a request for path, and expects this response
// and its line in the console. Another response like it fails the test.
func (v *visit) refused(status int, path string) {
	v.t.Helper()
	want := expectation{path: path, causes: []string{strconv.Itoa(status)}}
	v.until(fmt.Sprintf("a request for %s is answered with %d", path, status), func(context.Context) bool {
		v.mu.Lock()
		defer v.mu.Unlock()
		i := slices.IndexFunc(v.wrong, func(f fault) bool { return !f.console && !f.taken && want.matches(f) })
		if i < 0 {
			return false
		}
		v.wrong[i].taken = true
		v.logged = append(v.logged, want)
		return true
	})
}

// forgive expects, from now on, any number of faults with the causes that are about path. It is for
// requests that a page repeats, such as those for its socket.
func (v *visit) forgive(path string, causes ...string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.expected = append(v.expected, expectation{path, causes, len(v.wrong)})
}

// unexpected returns the faults that fail the test.
func (v *visit) unexpected() []fault {
	v.mu.Lock()
	defer v.mu.Unlock()
	logged := slices.Clone(v.logged)
	var out []fault
	for n, f := range v.wrong {
		if i := slices.IndexFunc(logged, func(e expectation) bool { return f.console && e.matches(f) }); i >= 0 {
			logged = slices.Delete(logged, i, i+1)
		} else if !f.taken && !slices.ContainsFunc(v.expected, func(e expectation) bool { return n >= e.from && e.matches(f) }) {
			out = append(out, f)
		}
	}
	return out
}

// linkEnds expects, from now on, 401 for the requests that a visitor's page repeats after its link
// has ended.
func (v *visit) linkEnds(page string) {
	v.forgive("/n/default/live", "401", endedHandshake)
	v.forgive(page, "401")
}

// sceneEnds expects, from now on, errors of requests to the namespace of a scene, because the scene
// ends while its page is open.
func (v *visit) sceneEnds(stage string) {
	v.forgive(stage, "403", "404", "503", "ERR_ABORTED")
	v.forgive(stage+"/*", "403", "404", "503", "ERR_ABORTED", endedHandshake)
}

// sceneRestarts expects, from now on, that pages in the namespace of a scene are answered with 503
// while the scene starts again or goes a step back.
func (v *visit) sceneRestarts(stage string) {
	v.forgive(stage, "503")
	v.forgive(stage+"/*", "503", endedHandshake)
}

// standsBy expects, from now on, that the requests which a page repeats are answered with a standby
// page, because another server owns the namespace at home.
func (v *visit) standsBy(home, page string) {
	v.forgive(home+"/live", "503", endedHandshake)
	v.forgive(page, "503")
}

// endedHandshake is the cause of a fault when the server closes a connection without answering its
// WebSocket handshake.
const endedHandshake = "Connection closed before receiving a handshake response"
