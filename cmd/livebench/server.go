package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A server is the measured Mayfly.
type server struct {
	cmd       *exec.Cmd
	Dashboard string // URL
	AMQP      string // host and port
	client    *http.Client
}

// home is the path of the namespace's pages.
const home = "/n/default"

// existingServer returns a running server by its dashboard's URL.
func existingServer(dashboard string) *server {
	return &server{Dashboard: dashboard, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}, Timeout: 2 * time.Minute}}
}

// start starts a server with additional arguments args, and with its file in a new folder in o.dir.
// It returns once the server is ready.
func start(ctx context.Context, o options, args ...string) (*server, error) {
	data, err := os.MkdirTemp(o.dir, "data")
	if err != nil {
		return nil, fmt.Errorf("make a folder: %w", err)
	}
	args = append([]string{"serve", "--http", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--amqp", "127.0.0.1:0",
		"--store", "sqlite:" + filepath.Join(data, "mayfly.db"), "--ready-json", "--log-level", "warn"}, args...)
	s := existingServer("")
	s.cmd = exec.CommandContext(ctx, o.mayfly, args...)
	// The user's own variables must not affect the measured server.
	s.cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "MAYFLY_") })
	s.cmd.Stderr = o.log
	s.cmd.Cancel = func() error { return s.cmd.Process.Signal(syscall.SIGTERM) }
	s.cmd.WaitDelay = 20 * time.Second
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start Mayfly: %w", err)
	}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start Mayfly: %w", err)
	}
	if err := json.NewDecoder(out).Decode(s); err != nil {
		s.stop()
		return nil, fmt.Errorf("the server does not start: %w", err)
	}
	return s, nil
}

// stop ends the server and waits for its end.
func (s *server) stop() {
	s.client.CloseIdleConnections()
	_ = s.cmd.Process.Signal(syscall.SIGTERM) //nolint:errcheck // then it has ended
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.cmd.Wait() //nolint:errcheck // its exit status is not measured
	}()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		_ = s.cmd.Process.Kill() //nolint:errcheck // then it has ended
		<-ended
	}
}

// get requests a path, and returns the response and how long all of it took.
func (s *server) get(ctx context.Context, path string) (status int, kind string, body []byte, took time.Duration, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Dashboard+path, nil)
	if err != nil {
		return 0, "", nil, 0, fmt.Errorf("%s: %w", path, err)
	}
	r.Header.Set("Accept-Language", "en")
	began := time.Now()
	w, err := s.client.Do(r)
	if err != nil {
		return 0, "", nil, 0, fmt.Errorf("%s: %w", path, err)
	}
	defer w.Body.Close()
	body, err = io.ReadAll(w.Body)
	if err != nil {
		return 0, "", nil, 0, fmt.Errorf("%s: %w", path, err)
	}
	return w.StatusCode, w.Header.Get("Content-Type"), body, time.Since(began), nil
}

// getJSON requests a path and decodes the JSON in the response. A status other than 200 is an
// error.
func (s *server) getJSON(ctx context.Context, path string, into any) error {
	status, _, body, _, err := s.get(ctx, path)
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return fmt.Errorf("%s: %d %s", path, status, body)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// post posts a document to the JSON API.
func (s *server) post(ctx context.Context, path string, document any) error {
	b, err := json.Marshal(document)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.Dashboard+"/api/v1"+path, bytes.NewReader(b))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	w, err := s.client.Do(r)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	defer w.Body.Close()
	if w.StatusCode >= 300 {
		body, _ := io.ReadAll(io.LimitReader(w.Body, 1000)) //nolint:errcheck // the status is sufficient
		return fmt.Errorf("%s: %s: %s", path, w.Status, body)
	}
	return nil
}

// create creates a queue.
func (s *server) create(ctx context.Context, name string, properties map[string]any) error {
	return s.post(ctx, "/entities", map[string]any{"kind": "queue", "path": name, "properties": properties})
}

// A size holds the amounts of the resources that the server uses.
type size struct {
	Heap, Resident    float64 // MB
	Goroutines, Files float64
	Sockets           int // among Files
}

// size reads the server's metrics and /proc.
func (s *server) size(ctx context.Context) (size, error) {
	_, _, body, _, err := s.get(ctx, "/metrics")
	if err != nil {
		return size{}, err
	}
	z := size{Resident: residentMB(s.cmd.Process.Pid)}
	for line := range strings.Lines(string(body)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch name {
		case "go_goroutines":
			z.Goroutines, err = strconv.ParseFloat(value, 64)
		case "go_memstats_heap_alloc_bytes":
			z.Heap, err = strconv.ParseFloat(value, 64)
			z.Heap /= 1e6
		}
		if err != nil {
			return size{}, fmt.Errorf("%s: %w", name, err)
		}
	}
	if z.Goroutines == 0 || z.Heap == 0 {
		return size{}, fmt.Errorf("/metrics does not report goroutines and memory")
	}
	files, err := s.files()
	if err != nil {
		return size{}, err
	}
	z.Files = float64(len(files))
	for _, f := range files {
		if strings.HasPrefix(f, "socket:") {
			z.Sockets++
		}
	}
	return z, nil
}

// files returns the open files of the server.
func (s *server) files() ([]string, error) {
	dir := fmt.Sprintf("/proc/%d/fd", s.cmd.Process.Pid)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("count open files: %w", err)
	}
	all := make([]string, 0, len(entries))
	for _, e := range entries {
		if to, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil { // else it was closed meanwhile
			all = append(all, to)
		}
	}
	return all, nil
}

// residentMB returns the resident memory of a process in MB.
func residentMB(pid int) float64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	f := strings.Fields(string(b))
	if len(f) < 2 {
		return 0
	}
	pages, err := strconv.ParseFloat(f[1], 64)
	if err != nil {
		return 0
	}
	return pages * float64(os.Getpagesize()) / 1e6
}

// cpu returns the processor time so far of the server, and that of this program with the other
// processes that it has started.
func (s *server) cpu() (server, clients time.Duration) {
	type process struct {
		parent int
		used   time.Duration
	}
	all := map[int]process{}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0, 0
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		b, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // it has ended
		}
		f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
		if len(f) < 15 {
			continue
		}
		number := func(i int) int {
			n, _ := strconv.Atoi(f[i]) //nolint:errcheck // the kernel writes numbers
			return n
		}
		parent, used := number(1), number(11)+number(12)+number(13)+number(14)  // ticks of the process and of its children that have ended
		all[pid] = process{parent, time.Duration(used) * 10 * time.Millisecond} // clock ticks of Linux
	}
	for pid, p := range all {
		at := pid
		for at > 1 && at != os.Getpid() && at != s.cmd.Process.Pid {
			at = all[at].parent
		}
		switch at {
		case s.cmd.Process.Pid:
			server += p.used
		case os.Getpid():
			clients += p.used
		}
	}
	return server, clients
}
