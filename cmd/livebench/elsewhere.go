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

// elsewhere is the argument with which this program is the tabs of another one of it.
const elsewhere = "tabs-elsewhere"

// remoteTabs are of a process of their own, and take what server and senders leave of the
// processor, as Chromium does: who watches has a machine of his own, and among the
// senders' goroutines hundreds of readers would be what is measured.
type remoteTabs struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	to  *json.Encoder
	out *json.Decoder
}

// An order is what such a process is told to do, one JSON object each.
type order struct {
	Open      int      `json:"open,omitempty"` // tabs, on Pages in turn
	Pages     []string `json:"pages,omitempty"`
	Dashboard string   `json:"dashboard,omitempty"`
	Take      bool     `json:"take,omitempty"` // what was seen since the last time
}

// An outcome is the answer to it.
type outcome struct {
	Wrong string       `json:"wrong,omitempty"`
	Seen  [][][2]int64 `json:"seen,omitempty"` // by each tab: the event, and when in nanoseconds since 1970
}

// beTabs carries out orders until there are no more.
func beTabs(ctx context.Context, in io.Reader, out io.Writer) error {
	orders, answers := json.NewDecoder(in), json.NewEncoder(out)
	var all tabs
	defer func() { all.close() }()
	for {
		var o order
		if err := orders.Decode(&o); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return fmt.Errorf("read an order: %w", err)
		}
		var a outcome
		var err error
		switch {
		case o.Open > 0:
			all, err = openAll(ctx, at(o.Dashboard), o.Open, o.Pages)
		case o.Take:
			a.Seen, err = all.take()
		}
		if err != nil {
			a.Wrong = err.Error()
		}
		if err := answers.Encode(a); err != nil {
			return fmt.Errorf("answer: %w", err)
		}
	}
}

// take is what each tab saw. One that has ended is an error.
func (all tabs) take() (seen [][][2]int64, err error) {
	for _, t := range all {
		if err := t.end(); err != nil {
			return nil, fmt.Errorf("a tab on %s ended: %w", t.topic, err)
		}
		var its [][2]int64
		for _, s := range t.seen() {
			its = append(its, [2]int64{int64(s.n), s.at.UnixNano()}) //nolint:gosec // numbers of events are small
		}
		seen = append(seen, its)
	}
	return seen, nil
}

// openElsewhere opens n tabs in a process of their own.
func openElsewhere(ctx context.Context, s *server, n int, pages []string) (*remoteTabs, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("open tabs: %w", err)
	}
	r := &remoteTabs{cmd: exec.CommandContext(ctx, self, elsewhere)}
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
	if _, err := r.do(order{Open: n, Pages: pages, Dashboard: s.Dashboard}); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// idle has a program take what nobody else wants of the processor, where the kernel can be
// told so, and giveWay much of what others leave: a thread that is to be seen to be busy
// must not be kept from it.
func idle(c *exec.Cmd) {
	if !with(c, "chrt", "--idle", "0") {
		giveWay(c)
	}
}

func giveWay(c *exec.Cmd) { with(c, "nice", "-n", "19") }

func with(c *exec.Cmd, words ...string) bool {
	first, err := exec.LookPath(words[0])
	if err == nil {
		c.Path, c.Args = first, slices.Concat(words, []string{c.Path}, c.Args[1:])
	}
	return err == nil
}

func (r *remoteTabs) do(o order) (outcome, error) {
	var a outcome
	err := r.to.Encode(o)
	if err == nil {
		err = r.out.Decode(&a)
	}
	switch {
	case err != nil:
		return a, fmt.Errorf("the tabs are gone: %w", err)
	case a.Wrong != "":
		return a, errors.New(a.Wrong)
	}
	return a, nil
}

// forget drops what was seen until now.
func (r *remoteTabs) forget() error {
	_, err := r.do(order{Take: true})
	return err
}

// took is how long marks took until each tab had them. A tab that has ended is an
// error.
func (r *remoteTabs) took(marks []mark) (took []time.Duration, err error) {
	a, err := r.do(order{Take: true})
	if err != nil {
		return nil, err
	}
	for _, its := range a.Seen {
		var all []sighting
		for _, s := range its {
			all = append(all, sighting{uint64(s[0]), time.Unix(0, s[1])}) //nolint:gosec // it was one
		}
		took = append(took, since(marks, all)...)
	}
	return took, nil
}

func (r *remoteTabs) close() {
	_ = r.in.Close() //nolint:errcheck // upon which it ends, or has ended
	_ = r.cmd.Wait() //nolint:errcheck // how it ends is not measured
}
