package activity

import (
	"context"
	"strings"
	"time"

	"github.com/a-h/templ"

	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/view"
)

// Metrics is the page of the namespace's message rates and depths.
type Metrics struct {
	Shell   layout.Shell
	Figures MetricsData
}

// MetricsData are the rates and depths of an hour or a day.
type MetricsData struct {
	Source    string // address at which the script gets all points, without the base path
	OfDay     bool
	Hour, Day string      // addresses of the page for either
	Rows      []FigureRow // latest first; unknown steps are left out
}

// A FigureRow sums up one or more steps.
type FigureRow struct {
	At     time.Time // start
	Counts [5]int    // received, completed, expired, dead-lettered, failed deliveries
	Depth  [5]int    // active, locked, scheduled, deferred, dead letters; at the end
}

// Full returns the whole page.
func (m Metrics) Full() templ.Component { return metrics(m) }

// Watches returns nil, because events of every entity count.
func (m Metrics) Watches() []string { return nil }

// Parts returns the live parts of the page; the script draws the charts.
func (m Metrics) Parts() []view.Part {
	return append(m.Shell.Parts(), page.Slot("figures", FiguresTable(m.Figures)))
}

var countColumns = []string{
	"metrics.received", "metrics.completed", "metrics.expired", "metrics.dead", "metrics.failed",
}

var depthColumns = []string{
	"metrics.active", "metrics.locked", "metrics.scheduled", "metrics.deferred", "metrics.deads",
}

// series describes the lines of a chart for the script: member of the response, colour and
// name of each.
func series(ctx context.Context, members, colours, names []string) string {
	all := make([]string, len(members))
	for i := range members {
		all[i] = members[i] + ":" + colours[i] + ":" + locale.T(ctx, names[i])
	}
	return strings.Join(all, ",")
}

func rateSeries(ctx context.Context) string {
	return series(ctx, []string{"incoming", "completed", "expired", "deadLettered", "failed"}, []string{"plenty", "yes", "critical", "dead", "low"}, countColumns)
}

func depthSeries(ctx context.Context) string {
	return series(ctx, []string{"active", "locked", "scheduled", "deferred", "deadLetter"}, []string{"plenty", "lock", "low", "yes", "dead"}, depthColumns)
}
