package page

import (
	"context"
	"strings"
	"time"

	"github.com/a-h/templ"

	"mayfly/static"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/view"
)

// Metrics is the page of how much came and went in the namespace, and how deep it
// was.
type Metrics struct {
	Shell   layout.Shell
	Figures Figures
}

// Figures are what a page says of an hour or a day.
type Figures struct {
	Source    string // where the script finds all points, base path left out
	OfDay     bool
	Hour, Day string      // addresses of the page for either
	Rows      []FigureRow // latest first; what is not known is left out
}

// A FigureRow is what there was in one or more steps.
type FigureRow struct {
	At     time.Time // where it begins
	Counts [5]int    // received, completed, expired, dead-lettered, failed deliveries
	Depth  [5]int    // active, locked, scheduled, deferred, dead letters; at the end
}

// Full is the page.
func (m Metrics) Full() templ.Component { return metrics(m) }

// Watches is nil: what happens in any entity counts.
func (m Metrics) Watches() []string { return nil }

// Parts is what is live in the page; the charts are the script's own.
func (m Metrics) Parts() []view.Part {
	return append(m.Shell.Parts(), slot("figures", figuresTable(m.Figures)))
}

func countColumns() []string {
	return []string{"metrics.received", "metrics.completed", "metrics.expired", "metrics.dead", "metrics.failed"}
}

func depthColumns() []string {
	return []string{"metrics.active", "metrics.locked", "metrics.scheduled", "metrics.deferred", "metrics.deads"}
}

// series is what a chart draws, for the script: the member of the answer, the
// colour and the name of each line.
func series(ctx context.Context, members, colours, names []string) string {
	all := make([]string, len(members))
	for i := range members {
		all[i] = members[i] + ":" + colours[i] + ":" + locale.T(ctx, names[i])
	}
	return strings.Join(all, ",")
}

func rateSeries(ctx context.Context) string {
	return series(ctx, []string{"received", "completed", "expired", "deadLettered", "failed"}, []string{"plenty", "yes", "critical", "dead", "low"}, countColumns())
}

func depthSeries(ctx context.Context) string {
	return series(ctx, []string{"active", "locked", "scheduled", "deferred", "deadLetter"}, []string{"plenty", "lock", "low", "yes", "dead"}, depthColumns())
}

func staticURL(ctx context.Context, name string) string { return view.Base(ctx) + static.URL(name) }
