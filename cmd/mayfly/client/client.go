package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"mayfly/cmd/mayfly/cli"
	"mayfly/web/api"
)

// client has the flags that all client commands share, and sends their requests.
type client struct {
	Server    string `placeholder:"URL" env:"MAYFLY_SERVER" help:"URL of the dashboard. Default: built from MAYFLY_HTTP and MAYFLY_BASE_PATH, else http://127.0.0.1:8080."`
	Namespace string `placeholder:"NAME" env:"MAYFLY_NAMESPACE" help:"Namespace to use. Default: the server's own."`
	Token     string `name:"token" placeholder:"TOKEN" env:"MAYFLY_TOKEN" help:"Access token, if the server requires one. @FILE reads it from a file, which keeps it out of the process list. mayfly tokens creates one."`
	JSON      bool   `name:"json" help:"Print the server's JSON, and errors as problem details (RFC 9457)."`

	transport http.RoundTripper // nil means http.DefaultTransport
}

// requestTimeout is how long to wait for a response, in addition to the time that a request asks
// the server to wait for messages.
const requestTimeout = 30 * time.Second

// serverURL returns the server's URL without a trailing slash.
func (c client) serverURL() (string, error) {
	if c.Server == "" {
		_, port, err := net.SplitHostPort(os.Getenv("MAYFLY_HTTP"))
		if err != nil || port == "0" {
			port = "8080"
		}
		return "http://127.0.0.1:" + port + strings.TrimSuffix(os.Getenv("MAYFLY_BASE_PATH"), "/"), nil
	}
	u, err := url.Parse(c.Server)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "" {
		return "", cli.UsageErrorf("--server must be a URL such as http://127.0.0.1:8080, not %q", c.Server)
	}
	return strings.TrimSuffix(c.Server, "/"), nil
}

// resolveURL returns the URL of an absolute path on the server at base. The path includes the
// server's base path already.
func resolveURL(base, at string) string {
	u, err := url.Parse(base)
	if err != nil {
		return base + at
	}
	return u.Scheme + "://" + u.Host + at
}

// APIPath returns an address of the API: a resource, then an entity path with its slashes
// escaped.
func APIPath(what, entity string) string { return "/api/v1/" + what + "/" + url.PathEscape(entity) }

// request sends a request with `in` as JSON, unless it is nil, and decodes the response into out,
// unless that is nil. It also returns the bytes of the response. `wait` is how long the request
// asks the server to wait. The error for an error response is an *api.Problem.
func (c client) request(ctx context.Context, method, path string, in, out any, wait time.Duration) ([]byte, error) {
	var body io.Reader = http.NoBody
	if in != nil {
		raw, err := json.Marshal(in)
		if err != nil {
			return nil, fmt.Errorf("encode the request: %w", err)
		}
		body = bytes.NewReader(raw)
	}
	ctx, cancel := context.WithTimeout(ctx, wait+requestTimeout)
	defer cancel()
	w, base, err := c.openResponse(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	defer w.Body.Close()
	return c.readResponse(ctx, base, w, out)
}

// openResponse sends a request with a body of any size, without a time limit of its own, and
// returns the response and the server's URL.
func (c client) openResponse(ctx context.Context, method, path string, body io.Reader) (*http.Response, string, error) {
	base, err := c.serverURL()
	if err != nil {
		return nil, "", err
	}
	r, err := http.NewRequestWithContext(ctx, method, base+c.inNamespace(path), body)
	if err != nil {
		return nil, base, fmt.Errorf("ask %s: %w", base, err)
	}
	if err := c.addToken(r); err != nil {
		return nil, base, err
	}
	w, err := (&http.Client{Transport: c.transport}).Do(r)
	if err != nil {
		return nil, base, unreachableAt(ctx, base, err)
	}
	return w, base, nil
}

// maxTokenBytes is the maximum size of a token, and of a token file, in bytes.
const maxTokenBytes = 4 << 10

// addToken adds the token to a request, if there is one. http.Client does not send it on a
// redirect to another host.
func (c client) addToken(r *http.Request) error {
	token := strings.TrimSpace(c.Token)
	if path, ok := strings.CutPrefix(token, "@"); ok {
		f, err := os.Open(path)
		if err != nil {
			return cli.UsageErrorf("--token: %w", err)
		}
		raw, err := io.ReadAll(io.LimitReader(f, maxTokenBytes+1))
		if err = errors.Join(err, f.Close()); err != nil {
			return cli.UsageErrorf("--token: %w", err)
		}
		if token = strings.TrimSpace(string(raw)); token == "" || len(raw) > maxTokenBytes {
			return cli.UsageErrorf("--token: %s has no token", path)
		}
	}
	switch {
	case token == "":
		return nil
	case len(token) > maxTokenBytes || strings.IndexFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) >= 0:
		return cli.UsageErrorf("--token must be one word, such as mft_…") // not quoted: it may contain a token and something else
	}
	r.Header.Set("Authorization", "Bearer "+token)
	return nil
}

// inNamespace returns an address of the API for the namespace of --namespace.
func (c client) inNamespace(path string) string {
	rest, ok := strings.CutPrefix(path, "/api/v1/")
	if !ok || c.Namespace == "" || strings.HasPrefix(path, namespacesPath) {
		return path
	}
	return "/api/v1/n/" + url.PathEscape(c.Namespace) + "/" + rest
}

// readResponse reads the response of the server at base, decodes it into out unless out is nil, and
// returns its bytes.
func (client) readResponse(ctx context.Context, base string, w *http.Response, out any) ([]byte, error) {
	raw, err := io.ReadAll(w.Body)
	if err != nil {
		return nil, unreachableAt(ctx, base, err)
	}
	if w.StatusCode >= http.StatusBadRequest {
		return raw, problemFrom(base, w, raw)
	}
	if out != nil {
		if err := json.Unmarshal(raw, out); err != nil {
			return raw, fmt.Errorf("%s returned a response that cannot be parsed: %w", base, err)
		}
	}
	return raw, nil
}

// unreachableAt returns the error for a missing response, without the request's method and URL.
func unreachableAt(ctx context.Context, base string, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, cli.ErrStopped) {
		return cause
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	if e, ok := errors.AsType[*net.OpError](err); ok {
		err = e.Err
	}
	return &cli.UnreachableError{ServerURL: base, Err: err}
}

func problemFrom(base string, w *http.Response, raw []byte) error {
	p := &api.Problem{}
	if err := json.Unmarshal(raw, p); err != nil || p.Detail == "" {
		return fmt.Errorf("%s responded %s: %s", base, w.Status, cli.Printable(string(raw), 200))
	}
	return p
}

// bodyText returns a message's body on one line, cut off after `most` bytes, or its size in
// brackets if the body is not text or the server omitted it.
func bodyText(m api.Message, most int) string {
	switch {
	case m.Body != nil:
		return cli.Printable(*m.Body, most)
	case m.BodyBase64 != nil:
		return fmt.Sprintf("(%d bytes, not text)", m.Size)
	case m.BodyOmitted:
		return fmt.Sprintf("(%d bytes)", m.Size)
	default:
		return ""
	}
}

// timeUntil formats the time from now until t for people. It returns "never" if t is nil.
func timeUntil(now time.Time, t *time.Time) string {
	if t == nil {
		return "never"
	}
	d := t.Sub(now).Round(time.Second)
	switch {
	case d <= 0:
		return "now"
	case d < time.Minute:
		return d.String()
	case d < 24*time.Hour:
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	default:
		return fmt.Sprintf("%dd", int(d/(24*time.Hour)))
	}
}

// failEmptyFlag is the flag of commands that read messages.
type failEmptyFlag struct {
	FailEmpty bool `name:"fail-empty" help:"Exit with code 5 if there is no message."`
}

// reportEmpty reports that there was no message: as an error with --fail-empty, otherwise in words
// unless JSON was printed.
func (c failEmptyFlag) reportEmpty(s cli.Streams, printed bool) error {
	if c.FailEmpty {
		return cli.ErrEmpty
	}
	if printed {
		return nil
	}
	_, err := fmt.Fprintln(s.Out, "No message was found.")
	return err
}
