package timeout_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/web/timeout"
)

// pipes is a listener of connections within the process.
type pipes struct {
	come chan net.Conn
	over chan struct{}
}

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.come:
		return c, nil
	case <-l.over:
		return nil, net.ErrClosed
	}
}

func (l *pipes) Close() error   { close(l.over); return nil }
func (l *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// serve serves a handler, and returns a function that connects to it.
func serve(t *testing.T, h http.HandlerFunc) (dial func() net.Conn) {
	t.Helper()
	l := &pipes{make(chan net.Conn), make(chan struct{})}
	s := timeout.Server(&http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug),
	})
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Serve(l) }() //nolint:errcheck // the test checks the outcome
	t.Cleanup(func() { _ = s.Close(); <-done })
	return func() net.Conn {
		ours, theirs := net.Pipe()
		l.come <- theirs
		t.Cleanup(func() { _ = ours.Close() })
		return ours
	}
}

// ended reads the answers until the server closes the connection, and returns when it did.
func ended(c net.Conn, began time.Time) (after time.Duration, text string) {
	raw, _ := io.ReadAll(c) //nolint:errcheck // the test checks the outcome
	return time.Since(began), string(raw)
}

// handlers are different uses of a request's body.
var handlers = map[string]http.HandlerFunc{
	"reads all": func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err != nil {
			http.Error(w, err.Error(), http.StatusRequestTimeout)
		}
	},
	"reads again after an error": func(w http.ResponseWriter, r *http.Request) {
		for range 100 {
			_, _ = io.Copy(io.Discard, r.Body) //nolint:errcheck // the test checks the outcome
		}
		w.WriteHeader(http.StatusNoContent)
	},
	"reads one byte":        func(_ http.ResponseWriter, r *http.Request) { _, _ = r.Body.Read(make([]byte, 1)) }, //nolint:errcheck // the test checks the outcome
	"reads nothing":         func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) },
	"answers much, unread":  func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 100<<10)) }, //nolint:errcheck // the test checks the outcome
	"is told it is too big": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusRequestEntityTooLarge) },
	"flushes first": func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush() //nolint:errcheck // the test checks the outcome
		_, _ = io.Copy(io.Discard, r.Body)        //nolint:errcheck // the test checks the outcome
	},
	"waits long, and reads nothing": func(http.ResponseWriter, *http.Request) { time.Sleep(55 * time.Second) },
	"waits long, and reads": func(_ http.ResponseWriter, r *http.Request) {
		time.Sleep(55 * time.Second)
		_, _ = io.Copy(io.Discard, r.Body) //nolint:errcheck // the test checks the outcome
	},
	"panics": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	"leaves the reading to another": func(_ http.ResponseWriter, r *http.Request) {
		go func() { _, _ = io.Copy(io.Discard, r.Body) }() //nolint:errcheck // the test checks the outcome
		time.Sleep(time.Second)
	},
	"closes it": func(_ http.ResponseWriter, r *http.Request) { _ = r.Body.Close() },
}

// framings are requests whose body never arrives as a whole.
var framings = map[string]string{
	"length":         "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\nx",
	"long length":    "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10000000\r\n\r\nx",
	"chunks":         "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nx",
	"no chunk":       "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5",
	"trailer":        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n0\r\nX: 1",
	"of GET":         "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\nx",
	"after continue": "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 1000\r\n\r\n",
	"a strange wish": "POST / HTTP/1.1\r\nHost: h\r\nExpect: roses\r\nContent-Length: 1000\r\n\r\nx",
	"OPTIONS":        "OPTIONS * HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\nx",
	"HTTP/1.0":       "POST / HTTP/1.0\r\nContent-Length: 1000\r\n\r\nx",
	"pipelined":      "GET /first HTTP/1.1\r\nHost: h\r\n\r\nPOST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\nx",
}

// TestBodiesThatNeverCome: every request ends, however its body is framed and whatever its
// handler does.
func TestBodiesThatNeverCome(t *testing.T) {
	for name, h := range handlers {
		for framing, text := range framings {
			t.Run(name+"/"+framing, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c, began := serve(t, func(w http.ResponseWriter, r *http.Request) {
						if r.URL.Path != "/first" {
							h(w, r)
						}
					})(), time.Now()
					go func() { _, _ = io.WriteString(c, text) }() //nolint:errcheck // the test checks the outcome
					if after, _ := ended(c, began); after > 90*time.Second {
						t.Errorf("the request ended after %s", after)
					}
				})
			})
		}
	}
}

// TestBodiesThatTrickle: a body that trickles is cut off, however often bytes arrive, and one that
// makes progress is not.
func TestBodiesThatTrickle(t *testing.T) {
	for name, tc := range map[string]struct {
		bytes  int           // sent at a time
		every  time.Duration // between two writes
		length int
		stream bool
		within time.Duration // how soon the request ends
		whole  bool          // all of it was read
	}{
		"a byte every 29 s":              {1, 29 * time.Second, 1000, false, 40 * time.Second, false},
		"a byte every 29 s of a stream":  {1, 29 * time.Second, 1000, true, 40 * time.Second, false},
		"33 bytes a second":              {33, time.Second, 10 << 20, false, 40 * time.Second, false},
		"1 KiB every 29 s":               {1 << 10, 29 * time.Second, 10 << 20, false, 150 * time.Second, false},
		"1 KiB every 29 s of a stream":   {1 << 10, 29 * time.Second, 100 << 10, true, time.Hour, true},
		"1 KiB every 10 s":               {1 << 10, 10 * time.Second, 10 << 10, false, 101 * time.Second, true},
		"8 KiB every second, a megabyte": {8 << 10, time.Second, 1 << 20, false, 129 * time.Second, true},
		"all at once":                    {1000, 0, 1000, false, time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got := make(chan error, 1)
				var after time.Duration
				c := serve(t, func(_ http.ResponseWriter, r *http.Request) {
					if tc.stream {
						timeout.Stream(r)
					}
					began := time.Now()
					_, err := io.Copy(io.Discard, r.Body)
					after = time.Since(began)
					got <- err
				})()
				go func() { _, _ = io.Copy(io.Discard, c) }() //nolint:errcheck // the test checks the outcome
				_, err := fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n", tc.length)
				for left := tc.length; left > 0 && err == nil; left -= tc.bytes {
					time.Sleep(tc.every)
					_, err = c.Write(make([]byte, min(left, tc.bytes)))
				}
				err = <-got
				if after > tc.within {
					t.Errorf("the request ended after %s", after)
				}
				if whole := err == nil; whole != tc.whole || !whole && !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("reading the body ended with %v", err)
				}
			})
		})
	}
}

// TestSlowBodiesGetAReason: a client that is cut off reads the reason, and that the connection
// ends.
func TestSlowBodiesGetAReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, began := serve(t, handlers["reads all"])(), time.Now()
		go func() { _, _ = io.WriteString(c, framings["length"]) }() //nolint:errcheck // the test checks the outcome
		after, text := ended(c, began)
		if after != timeout.StallTimeout || !strings.HasPrefix(text, "HTTP/1.1 408 ") || !strings.Contains(text, "\r\nConnection: close\r\n") {
			t.Errorf("after %s the response is %q", after, text)
		}
	})
}

// TestLongPollsGoOn: no deadline ends a client that waits for the server: without a body,
// after one that was read, on a connection that has had another request, and during an answer
// that pauses for long.
func TestLongPollsGoOn(t *testing.T) {
	const long = 55 * time.Second
	for name, text := range map[string]string{
		"no body":   "GET / HTTP/1.1\r\nHost: h\r\n\r\n",
		"a body":    "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx",
		"chunks":    "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
		"an expect": "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := serve(t, func(w http.ResponseWriter, r *http.Request) {
					if strings.HasPrefix(name, "an expect") { // 100 Continue is sent late
						time.Sleep(long)
					}
					if _, err := io.Copy(io.Discard, r.Body); err != nil {
						t.Error(err)
					}
					_, _ = io.WriteString(w, "begin\n")       //nolint:errcheck // the test checks the outcome
					_ = http.NewResponseController(w).Flush() //nolint:errcheck // the test checks the outcome
					for range 3 {
						select {
						case <-r.Context().Done():
							t.Error("the request's context has ended")
						case <-time.After(long):
						}
						_, _ = io.WriteString(w, "more\n")        //nolint:errcheck // the test checks the outcome
						_ = http.NewResponseController(w).Flush() //nolint:errcheck // the test checks the outcome
					}
					time.Sleep(long)
					_, _ = io.WriteString(w, "more\n")        //nolint:errcheck // the test checks the outcome
					time.Sleep(long)                          // the buffer is flushed late
					_ = http.NewResponseController(w).Flush() //nolint:errcheck // the test checks the outcome
					_, _ = io.WriteString(w, "end\n")         //nolint:errcheck // the test checks the outcome
					time.Sleep(long)
				})()
				in := bufio.NewReader(c)
				for range 3 {
					go func() { _, _ = io.WriteString(c, text) }() //nolint:errcheck // the test checks the outcome
					w, err := http.ReadResponse(in, nil)           //nolint:bodyclose // the test checks the outcome
					if err == nil && w.StatusCode == http.StatusContinue {
						w, err = http.ReadResponse(in, nil) //nolint:bodyclose // the test checks the outcome
					}
					if err != nil {
						t.Fatal(err)
					}
					if raw, err := io.ReadAll(w.Body); err != nil || string(raw) != "begin\n"+strings.Repeat("more\n", 4)+"end\n" {
						t.Fatalf("the answer is %q, %v", raw, err)
					}
					time.Sleep(time.Minute) // between two requests
				}
			})
		})
	}
}

// TestUnreadBodiesThatCame: an unread body that arrived in time does not cost the client its
// connection, however late the answer is.
func TestUnreadBodiesThatCame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(55 * time.Second)
			_, _ = w.Write(make([]byte, 100<<10)) //nolint:errcheck // the test checks the outcome
		})()
		in := bufio.NewReader(c)
		for range 2 {
			go func() {
				_, _ = io.WriteString(c, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10000\r\n\r\n"+strings.Repeat("x", 10000)) //nolint:errcheck // the test checks the outcome
			}()
			w, err := http.ReadResponse(in, nil) //nolint:bodyclose // the test checks the outcome
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, w.Body); err != nil || w.Close {
				t.Fatalf("the connection ends with the response: %v, %v", w.Close, err)
			}
		}
	})
}

// TestAnswersThatAreNotTaken: a client that reads nothing of an answer, or only a byte now and
// then, is cut off; one that reads slowly but steadily is not.
func TestAnswersThatAreNotTaken(t *testing.T) {
	for name, tc := range map[string]struct {
		bytes  int
		every  time.Duration
		taken  bool
		answer func(io.Writer) error
	}{
		"nothing of much":        {0, time.Hour, false, inPieces(1 << 20)},
		"nothing of many":        {0, time.Hour, false, inPieces(10)},
		"a byte every 29 s":      {1, 29 * time.Second, false, inPieces(10)},
		"a byte every 29 s, all": {1, 29 * time.Second, false, inPieces(1 << 20)},
		"a small one every 29 s": {len("1\r\nx\r\n"), 29 * time.Second, false, inPieces(1)},
		"1 KiB a second":         {1 << 10, time.Second, true, inPieces(1 << 20)},
		"1 KiB a second of many": {1 << 10, time.Second, true, inPieces(100)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got := make(chan error, 1)
				c := serve(t, func(w http.ResponseWriter, _ *http.Request) { got <- tc.answer(w) })()
				if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: h\r\n\r\n"); err != nil {
					t.Fatal(err)
				}
				left := make(chan struct{})
				go func() {
					defer close(left)
					for b := make([]byte, tc.bytes); tc.bytes > 0; {
						time.Sleep(tc.every)
						if _, err := c.Read(b); err != nil {
							return
						}
					}
				}()
				began := time.Now()
				err := <-got
				if taken := err == nil; taken != tc.taken {
					t.Errorf("writing ended with %v after %s", err, time.Since(began))
				}
				if after := time.Since(began); !tc.taken && after > 3*timeout.StallTimeout {
					t.Errorf("writing ended after %s", after)
				}
				_ = c.Close()
				<-left
			})
		})
	}
}

// inPieces returns a function that writes and flushes 200 KiB in pieces of `size` bytes.
func inPieces(size int) func(io.Writer) error {
	return func(w io.Writer) error {
		for sent := 0; sent < 200<<10; sent += size {
			if _, err := w.Write(make([]byte, size)); err != nil {
				return err
			}
			if err := http.NewResponseController(w.(http.ResponseWriter)).Flush(); err != nil {
				return err
			}
		}
		return nil
	}
}

// TestHijacked: the timeouts do not apply to a hijacked connection.
func TestHijacked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := serve(t, func(w http.ResponseWriter, r *http.Request) {
			nc, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = r.Body.Read(make([]byte, 1)) //nolint:errcheck // the test checks the outcome
			go func() {
				defer nc.Close()
				time.Sleep(time.Hour)
				_, _ = io.Copy(nc, nc) //nolint:errcheck // the test checks the outcome
			}()
		})()
		if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nxy"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour)
		go func() { _, _ = io.WriteString(c, "still there") }() //nolint:errcheck // the test checks the outcome
		b := make([]byte, 11)
		if _, err := io.ReadFull(c, b); err != nil {
			t.Error(err)
		}
	})
}

// TestWrites: a write to a client that reads nothing fails after StallTimeout.
func TestWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer ours.Close()
		began := time.Now()
		_, err := timeout.WithWriteTimeout(theirs).Write(make([]byte, 1<<20))
		if after := time.Since(began); !errors.Is(err, os.ErrDeadlineExceeded) || after != timeout.StallTimeout {
			t.Errorf("the write ended after %s with %v", after, err)
		}
	})
}
