package main

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPercentile(t *testing.T) {
	all := []time.Duration{40 * time.Millisecond, 10 * time.Millisecond, 30 * time.Millisecond, 20 * time.Millisecond}
	for p, want := range map[float64]float64{.01: 10, .25: 10, .5: 20, .75: 30, .95: 40, 1: 40} {
		if got := percentile(all, p); got != want {
			t.Errorf("percentile %v is %v, want %v", p, got, want)
		}
	}
	if got := percentile(nil, .5); !math.IsNaN(got) {
		t.Errorf("percentile of none is %v", got)
	}
}

// TestBars checks that a report passes if a figure equals its limit, and fails if the figure is
// larger or missing.
func TestBars(t *testing.T) {
	for got, want := range map[float64]bool{1: true, 1.01: false, math.NaN(): false} {
		r := &report{Command: "tabs"}
		r.addLimited("this", "ms", got, 1)
		var b strings.Builder
		if err := r.print(&b); err != nil {
			t.Fatal(err)
		}
		if r.passed() != want || strings.Contains(b.String(), "MISSED") == want {
			t.Errorf("%v with the limit 1: passed %v, printed %s", got, r.passed(), b.String())
		}
	}
}

func TestSince(t *testing.T) {
	at := time.Unix(1000, 0)
	s := func(n uint64, ms int) pageUpdate { return pageUpdate{n, at.Add(time.Duration(ms) * time.Millisecond)} }
	marks := []probe{{at, 5}, {at.Add(10 * time.Millisecond), 7}, {at, 8}, {at, 9}}
	got := latencies(marks, []pageUpdate{s(4, 1), s(7, 20), s(8, 30)})
	if d := cmp.Diff([]time.Duration{20 * time.Millisecond, 10 * time.Millisecond, 30 * time.Millisecond}, got); d != "" {
		t.Error(d)
	}
}

func TestNumbered(t *testing.T) {
	for head, want := range map[string]uint64{
		`{"t":"parts","topic":"/n/default","n":17,"full":false,"slots":{"x":",\"n\":3,"}}`: 17,
		`{"t":"ping","n":17,"now":"2026"}`:                                                 0,
		`{"t":"parts","topic":"/n/default","n":`:                                           0,
		`{"t":"error","topic":"/n/default","text":"x","n":3,}`:                             0,
	} {
		if got, ok := frameEvent([]byte(head)); got != want || ok != (want > 0) {
			t.Errorf("%s: %v %v, want %v", head, got, ok, want)
		}
	}
}

func TestLoaded(t *testing.T) {
	topic, n, err := parsePage([]byte(`<html><body class="x" data-live="/n/default/q/a?tab=dead-letter&amp;from=3" data-n="12" data-now="">`))
	if topic != "/n/default/q/a?tab=dead-letter&from=3" || n != 12 || err != nil {
		t.Errorf("%q %d %v", topic, n, err)
	}
	if _, _, err := parsePage([]byte(`<body class="x"><p data-live="/n/default" data-n="12">`)); err == nil {
		t.Error("a page that is not live was accepted")
	}
}

// TestShapes checks that links to pages have the same shape if they differ only in names and
// numbers. Links to other sites and parts of a page are not pages.
func TestShapes(t *testing.T) {
	_, want := pageOfLink("/n/default/q/orders?tab=dead-letter&from=12#x")
	for href, same := range map[string]bool{
		"/n/default/q/queue-00017?tab=dead-letter&from=900": true,
		"/n/default/q/orders?tab=locked&from=900":           false,
		"/n/default/q/orders?tab=dead-letter":               false,
		"/n/default/t/orders?tab=dead-letter&from=12":       false,
		"/n/default/q/orders/purge?tab=dead-letter&from=1":  false,
	} {
		if path, got := pageOfLink(href); (got == want) != same || path == "" {
			t.Errorf("the shape of %s is %s", href, got)
		}
	}
	for _, href := range []string{"/n/default/queues?sort=idle&dir=desc", "https://example.com/", "mailto:nobody", "#part", "//example.com/x"} {
		if path, _ := pageOfLink(href); path != "" {
			t.Errorf("%s leads to %s, which is not an address of the server", href, path)
		}
	}
}

// TestJudge checks that a report of samples over an hour fails if heap, memory, goroutines or files
// grow until the end, and passes if they only fluctuate.
func TestJudge(t *testing.T) {
	hour := func(of func(at time.Duration) size) *report {
		var all []sample
		for at := time.Duration(0); at < time.Hour; at += 5 * time.Second {
			all = append(all, sample{at, of(at)})
		}
		r := &report{}
		checkGrowth(r, all, time.Hour)
		return r
	}
	steady := func(at time.Duration) size {
		wave := float64(at/time.Second%60) / 2 // like a heap between collections
		return size{Heap: 40 + wave, Resident: 100, Goroutines: 80 + float64(at/time.Second%7), Files: 60}
	}
	if r := hour(steady); !r.passed() {
		t.Errorf("fluctuation is reported as growth: %+v", r.Figures)
	}
	for name, leak := range map[string]func(*size, float64){
		"heap, growth until the end":            func(z *size, h float64) { z.Heap += 15 * h },
		"resident memory, growth until the end": func(z *size, h float64) { z.Resident += 30 * h },
		"goroutines, growth until the end":      func(z *size, h float64) { z.Goroutines += 20 * h },
		"open files, growth until the end":      func(z *size, h float64) { z.Files += 20 * h },
	} {
		r := hour(func(at time.Duration) size { z := steady(at); leak(&z, at.Hours()); return z })
		for _, f := range r.Figures {
			if f.Passed == (f.Name == name) {
				t.Errorf("%s leaks, but figure %s passed is %v (value %v)", name, f.Name, f.Passed, f.Value)
			}
		}
	}
	// A heap that is collected less and less often is not a leak.
	if r := hour(func(at time.Duration) size {
		z := steady(at)
		z.Heap = 40 + (z.Heap-40)*(1+4*at.Hours())
		return z
	}); !r.passed() {
		t.Errorf("a heap that is collected less often is reported as growing: %+v", r.Figures)
	}
	// Growth in the first quarter does not count.
	if r := hour(func(at time.Duration) size {
		z := steady(at)
		z.Resident += 200 * min(1, at.Hours()*4)
		return z
	}); !r.passed() {
		t.Errorf("growth in the first quarter is reported: %+v", r.Figures)
	}
	if r := hour(steady); len(r.Figures) != 8 {
		t.Errorf("%d figures", len(r.Figures))
	}
	r := &report{}
	if checkGrowth(r, nil, time.Hour); r.passed() {
		t.Error("a soak without measurements passed")
	}
}
