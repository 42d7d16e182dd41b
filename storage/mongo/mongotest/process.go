package mongotest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// startWithin is the time in which testserver must report its address. It usually takes
// milliseconds.
const startWithin = 30 * time.Second

// A process is a running testserver. A nil process is a server that this binary did not start.
type process struct {
	stdin  io.Closer     // testserver ends when it is closed
	done   chan struct{} // closed when the process has ended
	err    error         // how the process ended; read after done
	output *tail
}

// start runs the program and returns once it listens.
func start(program string) (*process, string, error) {
	p := &process{done: make(chan struct{}), output: new(tail)}
	cmd := exec.Command(program) //nolint:noctx // it lives as long as this process, by its standard input
	cmd.Stderr = p.output
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, "", err
	}
	p.stdin = stdin
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, "", err
	}
	if err := cmd.Start(); err != nil {
		return nil, "", fmt.Errorf("start the test server: %w", err)
	}
	first := make(chan string, 1)
	go func() {
		r := bufio.NewReader(stdout)
		line, _ := r.ReadString('\n') //nolint:errcheck // an incomplete line is not a URL, which is checked below
		first <- line
		_, _ = io.Copy(io.Discard, r) //nolint:errcheck // Wait reports how it ended
		p.err = cmd.Wait()
		close(p.done)
	}()
	select {
	case line := <-first:
		if url := strings.TrimSuffix(line, "\n"); url != line && strings.HasPrefix(url, "mongodb://") {
			return p, url, nil
		}
	case <-time.After(startWithin):
	}
	_ = stdin.Close() //nolint:errcheck // this ends the process
	select {
	case <-p.done:
	case <-time.After(startWithin):
	}
	_, why := p.ended()
	return nil, "", fmt.Errorf("the test server %s did not say where it listens: %s", program, why)
}

// ended reports whether the process has ended, and its last output.
func (p *process) ended() (gone bool, why string) {
	if p == nil {
		return false, ""
	}
	select {
	case <-p.done:
		return true, fmt.Sprintf("%v: %s", errors.Join(p.err), p.output)
	default:
		return false, ""
	}
}

// A tail keeps the last tailBytes bytes written to it.
type tail struct {
	mu   sync.Mutex
	text []byte // guarded by mu
}

const tailBytes = 16 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	if over := len(t.text) - tailBytes; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
