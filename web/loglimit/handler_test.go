package loglimit

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// lines collects the log. It is safe for concurrent use.
type lines struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(b)
}

// take returns the lines logged since the last call.
func (l *lines) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.all.Reset()
	return strings.Split(strings.TrimSuffix(l.all.String(), "\n"), "\n")
}

func limited(t *testing.T, test func(log *slog.Logger, h *Handler, out *lines)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var out lines
		h := New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}}))
		defer h.Close()
		test(slog.New(h), h, &out)
	})
}

func is(t *testing.T, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the log says\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestOneLineASecond: each kind has one line a second: the first at once, and the last when
// the second is over. Other kinds do not wait.
func TestOneLineASecond(t *testing.T) {
	limited(t, func(log *slog.Logger, _ *Handler, out *lines) {
		for i := range 9_000 {
			log.Info("refused", "n", i)
		}
		log.Warn("refused")
		log.Info("another")
		is(t, out.take(), "level=INFO msg=refused n=0", "level=WARN msg=refused", "level=INFO msg=another")
		time.Sleep(999 * time.Millisecond)
		synctest.Wait()
		log.Info("refused", "n", "late")
		is(t, out.take(), "")
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		is(t, out.take(), "level=INFO msg=refused n=late left_out=8999")
		log.With("of", "x").Info("refused")
		time.Sleep(time.Second)
		synctest.Wait()
		is(t, out.take(), "level=INFO msg=refused of=x") // a single line only comes late
		time.Sleep(2 * time.Second)
		log.Info("refused", "n", 1)
		is(t, out.take(), "level=INFO msg=refused n=1")
	})
}

// TestClose: Close writes the lines held back, and later lines are not held back.
func TestClose(t *testing.T) {
	limited(t, func(log *slog.Logger, h *Handler, out *lines) {
		for i := range 3 {
			log.Info("refused", "n", i)
		}
		h.Close()
		is(t, out.take(), "level=INFO msg=refused n=0", "level=INFO msg=refused n=2 left_out=1")
		log.Info("refused")
		log.Info("refused")
		is(t, out.take(), "level=INFO msg=refused", "level=INFO msg=refused")
	})
}

// TestDebug: lines at debug level are not limited.
func TestDebug(t *testing.T) {
	limited(t, func(log *slog.Logger, _ *Handler, out *lines) {
		for range 5 {
			log.Debug("told")
		}
		if n := len(out.take()); n != 5 {
			t.Errorf("got %d lines", n)
		}
	})
}

// TestMostKinds: at most maxKinds messages have limits of their own, and all others share one. None
// is remembered after a quiet time.
func TestMostKinds(t *testing.T) {
	limited(t, func(log *slog.Logger, h *Handler, out *lines) {
		for i := range 10_000 {
			log.Info(fmt.Sprint("made up ", i)) //nolint:sloglint // as a client might
		}
		if n := len(out.take()); n != maxKinds+1 {
			t.Errorf("got %d lines", n)
		}
		h.limiter.mu.Lock()
		n := len(h.limiter.kinds)
		h.limiter.mu.Unlock()
		if n > maxKinds+1 {
			t.Errorf("%d kinds are remembered", n)
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		h.limiter.mu.Lock()
		defer h.limiter.mu.Unlock()
		if n := len(h.limiter.kinds); n != 0 || h.limiter.timer != nil {
			t.Errorf("%d kinds are remembered after a quiet time", n)
		}
	})
}

// TestValuesAreCut: values are cut between characters, and unprintable characters are escaped.
func TestValuesAreCut(t *testing.T) {
	limited(t, func(log *slog.Logger, _ *Handler, out *lines) {
		long := strings.Repeat("ž", 3_500)
		log.With("c", long).Info("m", "s", long, "exact", strings.Repeat("ž", 200), slog.Group("g", "in", long),
			"err", errors.New(long), "stack", long, "n", 7, "mark", "a\u202eb\nc")
		got := strings.Join(out.take(), "\n")
		cut := strings.Repeat("ž", 200) + "… (3300 more)"
		for _, want := range []string{
			`c="` + cut + `"`, `s="` + cut + `"`, `exact=` + strings.Repeat("ž", 200) + " ", `g.in="` + cut + `"`,
			`err="` + strings.Repeat("ž", 1000) + `… (2500 more)"`, "stack=" + long, "n=7", `mark="a\u202eb\nc"`,
		} {
			if !strings.Contains(got, want) {
				t.Errorf("%.80s is missing in\n%.300s", want, got)
			}
		}
		if strings.Contains(got, "\n") {
			t.Error("a value contains a line break")
		}
	})
}

// TestTogether uses and closes a Handler from several goroutines, for the race detector.
func TestTogether(t *testing.T) {
	limited(t, func(log *slog.Logger, h *Handler, out *lines) {
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for i := range 200 {
					log.Info("refused", "n", i)
				}
			})
		}
		all.Wait()
		h.Close()
		got := out.take()
		if len(got) != 2 || !strings.HasSuffix(got[1], "left_out=1598") {
			t.Errorf("%q", got)
		}
	})
}
