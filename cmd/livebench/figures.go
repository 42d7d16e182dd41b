package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"
	"text/tabwriter"
	"time"
)

// A report is what a run has found.
type report struct {
	Command string     `json:"command"`
	Seconds float64    `json:"seconds"`
	Figures []figure   `json:"figures"`
	Pages   []pageTime `json:"pages,omitempty"`
	Notes   []string   `json:"notes,omitempty"`
}

// A figure is one thing that was measured. Without a bar it is only told.
type figure struct {
	What string   `json:"what"`
	Unit string   `json:"unit"`
	Got  float64  `json:"got"`
	Most *float64 `json:"most,omitempty"`
	Fine bool     `json:"fine"`
}

func (r *report) tell(what, unit string, got float64) {
	if math.IsNaN(got) {
		got = -1
	}
	r.Figures = append(r.Figures, figure{What: what, Unit: unit, Got: round(got), Fine: true})
}

// want tells of a figure that is to be most at most. Nothing measured is not fine.
func (r *report) want(what, unit string, got, most float64) {
	fine := got <= most && !math.IsNaN(got)
	if math.IsNaN(got) {
		got = -1
	}
	r.Figures = append(r.Figures, figure{What: what, Unit: unit, Got: round(got), Most: &most, Fine: fine})
}

func (r *report) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

func (r *report) fine() bool {
	return !slices.ContainsFunc(r.Figures, func(f figure) bool { return !f.Fine })
}

func (r *report) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%s, %.0f s\tmeasured\twanted\t\n", r.Command, r.Seconds) //nolint:errcheck // Flush tells
	for _, f := range r.Figures {
		bar, verdict := "", ""
		if f.Most != nil {
			bar, verdict = fmt.Sprintf("≤ %g", *f.Most), "ok"
		}
		if !f.Fine {
			verdict = "MISSED"
		}
		fmt.Fprintf(w, "%s\t%g %s\t%s\t%s\n", f.What, f.Got, f.Unit, bar, verdict) //nolint:errcheck // Flush tells
	}
	for _, n := range r.Notes {
		fmt.Fprintf(w, "%s\n", n) //nolint:errcheck // Flush tells
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("print the figures: %w", err)
	}
	return nil
}

// round leaves three digits, or all before the point.
func round(x float64) float64 {
	if x == 0 || math.IsInf(x, 0) {
		return x
	}
	scale := math.Pow(10, max(0, 2-math.Floor(math.Log10(math.Abs(x)))))
	return math.Round(x*scale) / scale
}

// spans are durations that several goroutines add. The zero value has none.
type spans struct {
	mu  sync.Mutex
	all []time.Duration
}

func (s *spans) add(d ...time.Duration) {
	s.mu.Lock()
	s.all = append(s.all, d...)
	s.mu.Unlock()
}

// take is what was added since the last take.
func (s *spans) take() []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.all
	s.all = nil
	return all
}

// percentile is that of all in milliseconds, NaN of none. It sorts all.
func percentile(all []time.Duration, p float64) float64 {
	if len(all) == 0 {
		return math.NaN()
	}
	slices.Sort(all)
	return ms(all[int(math.Ceil(p*float64(len(all))))-1])
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// median is that of all, NaN of none. It sorts all.
func median[T cmp.Ordered](all []T, value func(T) float64) float64 {
	if len(all) == 0 {
		return math.NaN()
	}
	slices.Sort(all)
	return (value(all[(len(all)-1)/2]) + value(all[len(all)/2])) / 2
}

func itself(x float64) float64 { return x }

// slope is by how much y rises for each x, in the line that fits best.
func slope(x, y []float64) float64 {
	n := float64(len(x))
	var sx, sy, sxx, sxy float64
	for i := range x {
		sx += x[i]
		sy += y[i]
		sxx += x[i] * x[i]
		sxy += x[i] * y[i]
	}
	if d := n*sxx - sx*sx; d != 0 {
		return (n*sxy - sx*sy) / d
	}
	return 0
}
