package main

import (
	"fmt"
	"io"
	"slices"
)

// results are figures by broker and name.
type results map[string]map[string][]float64

func (r results) add(who, what string, v float64) {
	if r[who] == nil {
		r[who] = map[string][]float64{}
	}
	r[who][what] = append(r[who][what], v)
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}

// print prints medians, and for every other broker the ratio of the first broker's figure to its
// own.
func (r results) print(w io.Writer, all []*contestant, o options) {
	var names []string
	for _, n := range o.windows {
		names = append(names, fmt.Sprintf("lives/s w=%d", n), fmt.Sprintf("CPU µs w=%d", n))
	}
	names = append(names, "p50 ms", "p99 ms", idleFigure)
	fmt.Fprintf(w, "median of %d (least–most)\t", o.rounds)
	for _, c := range all {
		fmt.Fprintf(w, "%s\t", c.name)
	}
	fmt.Fprintln(w)
	fmt.Fprint(w, "flushes before it confirms\t")
	for _, c := range all {
		fmt.Fprintf(w, "%s\t", map[bool]string{true: "yes", false: "no"}[c.flushes])
	}
	fmt.Fprintln(w)
	for _, n := range names {
		first := r[all[0].name][n]
		if len(first) == 0 {
			continue
		}
		fmt.Fprintf(w, "%s\t", n)
		for i, c := range all {
			v := r[c.name][n]
			if len(v) == 0 {
				fmt.Fprint(w, "–\t")
				continue
			}
			fmt.Fprintf(w, "%.4g (%.4g–%.4g)", median(v), slices.Min(v), slices.Max(v))
			if i > 0 {
				fmt.Fprintf(w, " ×%.2f", median(first)/median(v))
			}
			fmt.Fprint(w, "\t")
		}
		fmt.Fprintln(w)
	}
}
