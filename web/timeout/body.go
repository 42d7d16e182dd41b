package timeout

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"
)

// errBodyTimeout is the error of reading a body that keeps the server waiting for too long.
var errBodyTimeout = fmt.Errorf("the body did not arrive in time: %w", os.ErrDeadlineExceeded)

// A body is the body of a request. It sets a deadline before each read. Reads may go on in
// another goroutine after the handler has returned, as those of a reverse proxy do; from
// then on they leave the deadlines alone, which belong to the next request.
type body struct {
	io.ReadCloser
	control *http.ResponseController

	mu       sync.Mutex
	progress progress
	begun    bool      // a read has begun; guarded by mu
	reading  int       // reads under way; guarded by mu
	ended    bool      // all of it was read; guarded by mu
	detached bool      // the handler has returned, or the connection was hijacked; guarded by mu
	failure  error     // the error of every further read; guarded by mu
	idle     sync.Cond // signals that reading is 0

	deadlines bool // the connection has deadlines, so fail ends reads; guarded by mu
}

func newBody(in io.ReadCloser, control *http.ResponseController) *body {
	b := &body{ReadCloser: in, control: control, progress: progress{bounded: true}}
	b.idle.L = &b.mu
	return b
}

func (b *body) Read(p []byte) (int, error) {
	began := time.Now()
	if err := b.setDeadline(began); err != nil {
		return 0, err
	}
	b.begin(began)
	n, err := b.ReadCloser.Read(p)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.reading--; b.reading == 0 {
		b.idle.Broadcast()
	}
	b.progress.moved(n, time.Since(began))
	switch {
	case b.detached:
	case errors.Is(err, io.EOF): // net/http has cleared the deadline: the client may be silent from now on
		b.ended = true
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = b.fail()
	}
	return n, err
}

// Close closes the body, which makes net/http read the rest of it, with a deadline.
func (b *body) Close() error {
	_ = b.setDeadline(time.Now()) //nolint:errcheck // Close fails at once then
	return b.ReadCloser.Close()
}

// setDeadline sets the deadline for the rest of the body. It returns an error if the client has
// used up its time, which is also the error of every further read.
func (b *body) setDeadline(now time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.ended || b.detached:
		return nil
	case b.failure != nil:
		return b.failure
	}
	left := b.progress.left()
	if left <= 0 {
		return b.fail()
	}
	_ = b.control.SetReadDeadline(now.Add(left)) //nolint:errcheck // without a connection, nothing can stall
	return nil
}

// begin counts a read. At the first read it also sets a write deadline, because net/http
// then writes 100 Continue to clients that expect it.
func (b *body) begin(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reading++
	if !b.begun && !b.detached {
		_ = b.control.SetWriteDeadline(now.Add(StallTimeout)) //nolint:errcheck // without a connection, nothing can stall
	}
	b.begun = true
}

// fail makes all reads of the body fail, those of handlers and those of net/http, and
// returns their error. The caller holds mu.
func (b *body) fail() error {
	b.failure = errBodyTimeout
	b.deadlines = b.control.SetReadDeadline(time.Unix(1, 0)) == nil
	return b.failure
}

// detach sets the deadline for the rest of the body when the handler returns. From then on
// the body leaves the connection's deadlines alone. It first ends reads that would outlive
// the handler, because net/http clears the deadline when such a read ends.
func (b *body) detach(now time.Time) {
	_ = b.setDeadline(now) //nolint:errcheck // the connection ends with the answer then
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.reading > 0 && !b.ended && !b.detached {
		_ = b.fail() //nolint:errcheck // the connection ends with the answer then
		for b.reading > 0 && b.deadlines {
			b.idle.Wait()
		}
	}
	b.detached = true
}

// release stops the body from setting deadlines on a hijacked connection.
func (b *body) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.detached = true
}

// Stream removes the limit on the total time that the body of r may take. Its client must still send
// MinProgress bytes within StallTimeout. Use Stream for bodies of any size that are not kept in
// memory, and call it before reading the body.
func Stream(r *http.Request) {
	b, ok := r.Context().Value(bodyKey{}).(*body)
	if !ok {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.progress.bounded = false
}

type bodyKey struct{}
