package webtest

import (
	"cmp"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// A Client sends requests for one test.
type Client struct {
	*testing.T
	URL    string           // precedes the path of each request
	HTTP   *http.Client     // nil means http.DefaultClient
	Server *httptest.Server // of Serve
}

// Serve serves h on a port of its own until the test ends, and returns a client of it.
func Serve(t *testing.T, h http.Handler) *Client {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return &Client{T: t, URL: s.URL, Server: s}
}

// Browser returns a client that keeps cookies and shows redirects instead of following them. It
// presents the given cookies from the start.
func Browser(t *testing.T, url string, signedIn ...*http.Cookie) *Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &Client{T: t, URL: url, HTTP: &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	jar.SetCookies(c.request(http.MethodGet, "", "").URL, signedIn)
	return c
}

// For returns the same client for a subtest.
func (c *Client) For(t *testing.T) *Client { return &Client{t, c.URL, c.HTTP, c.Server} }

// An Answer is a response whose body was read.
type Answer struct {
	StatusCode    int
	Header        http.Header
	ContentLength int64
	Body          string
}

// Cookies returns the cookies that the answer sets.
func (a Answer) Cookies() []*http.Cookie { return (&http.Response{Header: a.Header}).Cookies() }

// Ask sends a request. Headers are pairs of name and value; Host is one of them.
func (c *Client) Ask(method, path, body string, headers ...string) Answer {
	c.Helper()
	return c.Do(c.request(method, path, body, headers...))
}

// Want is Ask, and fails the test unless the status is the expected one.
func (c *Client) Want(status int, method, path, body string, headers ...string) Answer {
	c.Helper()
	a := c.Ask(method, path, body, headers...)
	if a.StatusCode != status {
		c.Fatalf("%s %s: got %d %s, want %d", method, path, a.StatusCode, a.Body, status)
	}
	return a
}

func (c *Client) request(method, path, body string, headers ...string) *http.Request {
	c.Helper()
	r, err := http.NewRequestWithContext(c.Context(), method, c.URL+path, strings.NewReader(body))
	if err != nil {
		c.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
		r.Header[headers[i]] = append(r.Header[headers[i]], headers[i+1]) // keeps the spelling of the name
	}
	return r
}

// Do sends a request that Ask cannot describe.
func (c *Client) Do(r *http.Request) Answer {
	c.Helper()
	got, err := cmp.Or(c.HTTP, http.DefaultClient).Do(r)
	if err != nil {
		c.Fatal(err)
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		c.Fatal(err)
	}
	return Answer{got.StatusCode, got.Header, got.ContentLength, string(text)}
}

// Eventually calls ok every millisecond until it returns true. After 10 s it fails the test with
// the description `what`.
func Eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	end := time.After(10 * time.Second)
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for !ok() {
		select {
		case <-end:
			t.Fatalf("never: %s", what)
		case <-again.C:
		}
	}
}
