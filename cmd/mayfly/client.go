package main

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
	"slices"
	"strings"
	"time"
	"unicode"

	"mayfly/web/api"
)

// client is the flags that every client command has, and how it asks.
type client struct {
	Server string `placeholder:"URL" env:"MAYFLY_SERVER" help:"Where the dashboard is. Default: the port of MAYFLY_HTTP and the path of MAYFLY_BASE_PATH, else http://127.0.0.1:8080."`
	NS     string `name:"ns" placeholder:"NAME" env:"MAYFLY_NS" help:"Which namespace of the server it is about. Default: the server's own."`
	Token  string `name:"token" placeholder:"TOKEN" env:"MAYFLY_TOKEN" help:"What the server knows you by, where it asks; @FILE reads it from a file, so that it is in no list of processes. mayfly tokens makes one."`
	JSON   bool   `name:"json" help:"Print what the server answers, and errors as problem documents."`

	transport http.RoundTripper // zero: http.DefaultTransport
}

// patience is how long a server may take beyond what it was asked to wait.
const patience = 30 * time.Second

// base is the server's address without a slash at the end.
func (c client) base() (string, error) {
	if c.Server == "" {
		_, port, err := net.SplitHostPort(os.Getenv("MAYFLY_HTTP"))
		if err != nil || port == "0" {
			port = "8080"
		}
		return "http://127.0.0.1:" + port + strings.TrimSuffix(os.Getenv("MAYFLY_BASE_PATH"), "/"), nil
	}
	u, err := url.Parse(c.Server)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "" {
		return "", misused("--server is a URL such as http://127.0.0.1:8080, not %q", c.Server)
	}
	return strings.TrimSuffix(c.Server, "/"), nil
}

// addressOf is the URL of what the server at base says is at a path, which has what the
// server is below.
func addressOf(base, at string) string {
	u, err := url.Parse(base)
	if err != nil {
		return base + at
	}
	return u.Scheme + "://" + u.Host + at
}

// path is an address of the API: what, then an entity whose slashes are kept
// apart from the address's own.
func path(what, entity string) string { return "/api/v1/" + what + "/" + url.PathEscape(entity) }

// ask sends in, if there is any, and reads the answer into out, if that is
// wanted; the answer's bytes are returned too. An error of the server's is an
// *api.Problem.
func (c client) ask(ctx context.Context, method, path string, in, out any, wait time.Duration) ([]byte, error) {
	var body io.Reader = http.NoBody
	if in != nil {
		raw, err := json.Marshal(in)
		if err != nil {
			return nil, fmt.Errorf("write the request: %w", err)
		}
		body = bytes.NewReader(raw)
	}
	ctx, cancel := context.WithTimeout(ctx, wait+patience)
	defer cancel()
	w, base, err := c.open(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	defer w.Body.Close()
	return c.read(ctx, base, w, out)
}

// open sends a request with a body that may be of any size, for as long as it
// takes, and returns the answer and who gives it.
func (c client) open(ctx context.Context, method, path string, body io.Reader) (*http.Response, string, error) {
	base, err := c.base()
	if err != nil {
		return nil, "", err
	}
	r, err := http.NewRequestWithContext(ctx, method, base+c.of(path), body)
	if err != nil {
		return nil, base, fmt.Errorf("ask %s: %w", base, err)
	}
	if err := c.introduce(r); err != nil {
		return nil, base, err
	}
	w, err := (&http.Client{Transport: c.transport}).Do(r)
	if err != nil {
		return nil, base, noAnswer(ctx, base, err)
	}
	return w, base, nil
}

// mostToken bounds a file with a token, in bytes.
const mostToken = 4 << 10

// introduce has a request say who it is of, if that is known. A redirect to another host
// is not told.
func (c client) introduce(r *http.Request) error {
	token := strings.TrimSpace(c.Token)
	if path, ok := strings.CutPrefix(token, "@"); ok {
		f, err := os.Open(path)
		if err != nil {
			return misused("--token: %w", err)
		}
		raw, err := io.ReadAll(io.LimitReader(f, mostToken+1))
		if err = errors.Join(err, f.Close()); err != nil {
			return misused("--token: %w", err)
		}
		if token = strings.TrimSpace(string(raw)); token == "" || len(raw) > mostToken {
			return misused("--token: %s has no token", path)
		}
	}
	switch {
	case token == "":
		return nil
	case len(token) > mostToken || strings.IndexFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) >= 0:
		return misused("--token is one word, such as mft_…") // it is not repeated: it may be one, and something else
	}
	r.Header.Set("Authorization", "Bearer "+token)
	return nil
}

// of is an address of the API for the namespace that it is about.
func (c client) of(path string) string {
	rest, ok := strings.CutPrefix(path, "/api/v1/")
	if !ok || c.NS == "" || strings.HasPrefix(path, namespacesPath) {
		return path
	}
	return "/api/v1/n/" + url.PathEscape(c.NS) + "/" + rest
}

// read reads the answer of base into out, if that is wanted, and returns its
// bytes.
func (client) read(ctx context.Context, base string, w *http.Response, out any) ([]byte, error) {
	raw, err := io.ReadAll(w.Body)
	if err != nil {
		return nil, noAnswer(ctx, base, err)
	}
	if w.StatusCode >= http.StatusBadRequest {
		return raw, refusal(base, w, raw)
	}
	if out != nil {
		if err := json.Unmarshal(raw, out); err != nil {
			return raw, fmt.Errorf("%s gave an answer that cannot be read: %w", base, err)
		}
	}
	return raw, nil
}

// noAnswer says why nothing came, without the request that everybody knows.
func noAnswer(ctx context.Context, base string, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, errStopped) {
		return cause
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	if e, ok := errors.AsType[*net.OpError](err); ok {
		err = e.Err
	}
	return &unreachable{base, err}
}

func refusal(base string, w *http.Response, raw []byte) error {
	p := &api.Problem{}
	if err := json.Unmarshal(raw, p); err != nil || p.Detail == "" {
		return fmt.Errorf("%s answers %s: %s", base, w.Status, printable(string(raw), 200))
	}
	return p
}

// printable is text that a terminal shows and does not obey, on one line.
func printable(s string, most int) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(s, "\ufffd") {
		switch {
		case b.Len() >= most:
			return b.String() + "…"
		case unicode.IsSpace(r):
			b.WriteByte(' ')
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			b.WriteRune('·')
		}
	}
	return b.String()
}

// shown is a message's body on one line.
func shown(m api.Message, most int) string {
	switch {
	case m.Body != nil:
		return printable(*m.Body, most)
	case m.BodyBase64 != nil:
		return fmt.Sprintf("(%d bytes, not text)", m.Size)
	case m.BodyOmitted:
		return fmt.Sprintf("(%d bytes)", m.Size)
	default:
		return ""
	}
}

// until is how long there is from now, for people; "never" without an end.
func until(now time.Time, t *time.Time) string {
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

// messages is how many there are, in words.
func messages(n int64) string {
	if n == 1 {
		return "1 message"
	}
	return fmt.Sprintf("%d messages", n)
}

// write passes on what the server said.
func (s streams) write(raw []byte) error {
	_, err := s.out.Write(raw)
	return err
}

// writeLines passes on what the server said, a line for each.
func (s streams) writeLines(all []json.RawMessage) error {
	for _, raw := range all {
		if err := s.write(append(slices.Clip(raw), '\n')); err != nil {
			return err
		}
	}
	return nil
}
