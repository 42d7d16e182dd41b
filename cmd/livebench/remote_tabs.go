package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"time"
)

// remoteTabsArg is the argument with which this program starts itself as the process of remoteTabs.
const remoteTabsArg = "tabs-elsewhere"

// remoteTabs are tabs in a separate process, which only uses the processor time that server and
// senders leave, as Chromium does: users have their own machines, and hundreds of readers among
// the senders' goroutines would distort the figures.
type remoteTabs struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	to  *json.Encoder
	out *json.Decoder
}

// A tabsRequest is a JSON request to the process.
type tabsRequest struct {
	Open      int      `json:"open,omitempty"` // tabs, on Pages in turn
	Pages     []string `json:"pages,omitempty"`
	Dashboard string   `json:"dashboard,omitempty"`
	Take      bool     `json:"take,omitempty"` // return the updates since the last time
}

// A tabsResponse is the response to a tabsRequest.
type tabsResponse struct {
	Error   string       `json:"wrong,omitempty"`
	Updates [][][2]int64 `json:"seen,omitempty"` // by tab: the event, and its time in nanoseconds since 1970
}

// serveTabs executes the requests that it reads, until there are no more.
func serveTabs(ctx context.Context, in io.Reader, out io.Writer) error {
	orders, answers := json.NewDecoder(in), json.NewEncoder(out)
	var all tabs
	defer func() { all.close() }()
	for {
		var o tabsRequest
		if err := orders.Decode(&o); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return fmt.Errorf("read an order: %w", err)
		}
		var a tabsResponse
		var err error
		switch {
		case o.Open > 0:
			all, err = openAll(ctx, existingServer(o.Dashboard), o.Open, o.Pages)
		case o.Take:
			a.Updates, err = all.takeUpdates()
		}
		if err != nil {
			a.Error = err.Error()
		}
		if err := answers.Encode(a); err != nil {
			return fmt.Errorf("answer: %w", err)
		}
	}
}

// takeUpdates returns the updates of each tab. A tab that has ended is an error.
func (all tabs) takeUpdates() (seen [][][2]int64, err error) {
	for _, t := range all {
		if err := t.endError(); err != nil {
			return nil, fmt.Errorf("a tab on %s ended: %w", t.topic, err)
		}
		var its [][2]int64
		for _, s := range t.takeUpdates() {
			its = append(its, [2]int64{int64(s.event), s.at.UnixNano()})
		}
		seen = append(seen, its)
	}
	return seen, nil
}

// openElsewhere starts a separate process that opens n tabs, on the pages in turn.
func openElsewhere(ctx context.Context, s *server, n int, pages []string) (*remoteTabs, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("open tabs: %w", err)
	}
	r := &remoteTabs{cmd: exec.CommandContext(ctx, self, remoteTabsArg)}
	r.cmd.Stderr = os.Stderr
	idle(r.cmd)
	if r.in, err = r.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("open tabs: %w", err)
	}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("open tabs: %w", err)
	}
	if err := r.cmd.Start(); err != nil {
		return nil, fmt.Errorf("open tabs: %w", err)
	}
	r.to, r.out = json.NewEncoder(r.in), json.NewDecoder(out)
	if _, err := r.do(tabsRequest{Open: n, Pages: pages, Dashboard: s.Dashboard}); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// idle makes a program run only when the processor is idle, if the kernel supports that, and
// otherwise lowers its priority. For a browser whose long tasks are measured, use lowerPriority:
// waiting for an idle processor would cause such tasks.
func idle(c *exec.Cmd) {
	if !prefixCommand(c, "chrt", "--idle", "0") {
		lowerPriority(c)
	}
}

func lowerPriority(c *exec.Cmd) { prefixCommand(c, "nice", "-n", "19") }

func prefixCommand(c *exec.Cmd, words ...string) bool {
	first, err := exec.LookPath(words[0])
	if err == nil {
		c.Path, c.Args = first, slices.Concat(words, []string{c.Path}, c.Args[1:])
	}
	return err == nil
}

func (r *remoteTabs) do(o tabsRequest) (tabsResponse, error) {
	var a tabsResponse
	err := r.to.Encode(o)
	if err == nil {
		err = r.out.Decode(&a)
	}
	switch {
	case err != nil:
		return a, fmt.Errorf("the tabs are gone: %w", err)
	case a.Error != "":
		return a, errors.New(a.Error)
	}
	return a, nil
}

// discardUpdates drops all updates so far.
func (r *remoteTabs) discardUpdates() error {
	_, err := r.do(tabsRequest{Take: true})
	return err
}

// latencies returns how long marks took to reach each tab. A tab that has ended is an error.
func (r *remoteTabs) latencies(marks []probe) (took []time.Duration, err error) {
	a, err := r.do(tabsRequest{Take: true})
	if err != nil {
		return nil, err
	}
	for _, its := range a.Updates {
		var all []pageUpdate
		for _, s := range its {
			all = append(all, pageUpdate{uint64(s[0]), time.Unix(0, s[1])})
		}
		took = append(took, latencies(marks, all)...)
	}
	return took, nil
}

func (r *remoteTabs) close() {
	_ = r.in.Close() //nolint:errcheck // it ends then, or has ended
	_ = r.cmd.Wait() //nolint:errcheck // its exit status is not measured
}
