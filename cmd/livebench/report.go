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

// A report contains the results of a run.
type report struct {
	Command string     `json:"command"`
	Seconds float64    `json:"seconds"`
	Figures []figure   `json:"figures"`
	Pages   []pageTime `json:"pages,omitempty"`
	Notes   []string   `json:"notes,omitempty"`
}

// A figure is one measurement. Without a limit it is informative only.
type figure struct {
	Name   string   `json:"what"`
	Unit   string   `json:"unit"`
	Value  float64  `json:"got"`
	Limit  *float64 `json:"most,omitempty"`
	Passed bool     `json:"fine"`
}

func (r *report) add(what, unit string, got float64) {
	if math.IsNaN(got) {
		got = -1
	}
	r.Figures = append(r.Figures, figure{Name: what, Unit: unit, Value: round(got), Passed: true})
}

// addLimited adds a figure with a limit. A missing measurement exceeds it.
func (r *report) addLimited(what, unit string, got, most float64) {
	fine := got <= most && !math.IsNaN(got)
	if math.IsNaN(got) {
		got = -1
	}
	r.Figures = append(r.Figures, figure{Name: what, Unit: unit, Value: round(got), Limit: &most, Passed: fine})
}

func (r *report) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

func (r *report) passed() bool {
	return !slices.ContainsFunc(r.Figures, func(f figure) bool { return !f.Passed })
}

func (r *report) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%s, %.0f s\tmeasured\twanted\t\n", r.Command, r.Seconds) //nolint:errcheck // Flush returns the error
	for _, f := range r.Figures {
		bar, verdict := "", ""
		if f.Limit != nil {
			bar, verdict = fmt.Sprintf("≤ %g", *f.Limit), "ok"
		}
		if !f.Passed {
			verdict = "MISSED"
		}
		fmt.Fprintf(w, "%s\t%g %s\t%s\t%s\n", f.Name, f.Value, f.Unit, bar, verdict) //nolint:errcheck // Flush returns the error
	}
	for _, n := range r.Notes {
		fmt.Fprintf(w, "%s\n", n) //nolint:errcheck // Flush returns the error
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("print the figures: %w", err)
	}
	return nil
}

// round rounds x to three digits, or to an integer.
func round(x float64) float64 {
	if x == 0 || math.IsInf(x, 0) {
		return x
	}
	scale := math.Pow(10, max(0, 2-math.Floor(math.Log10(math.Abs(x)))))
	return math.Round(x*scale) / scale
}

// durations collects durations from several goroutines. The zero value is empty.
type durations struct {
	mu  sync.Mutex
	all []time.Duration
}

func (s *durations) add(d ...time.Duration) {
	s.mu.Lock()
	s.all = append(s.all, d...)
	s.mu.Unlock()
}

// take returns the durations that were added since the last take.
func (s *durations) take() []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.all
	s.all = nil
	return all
}

// percentile returns a percentile in milliseconds, or NaN if all is empty. It sorts all.
func percentile(all []time.Duration, p float64) float64 {
	if len(all) == 0 {
		return math.NaN()
	}
	slices.Sort(all)
	return ms(all[int(math.Ceil(p*float64(len(all))))-1])
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// median returns the median, or NaN if all is empty. It sorts all.
func median[T cmp.Ordered](all []T, value func(T) float64) float64 {
	if len(all) == 0 {
		return math.NaN()
	}
	slices.Sort(all)
	return (value(all[(len(all)-1)/2]) + value(all[len(all)/2])) / 2
}

func itself(x float64) float64 { return x }

// slope returns the slope of the line that fits the points best.
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
