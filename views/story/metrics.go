package story

import (
	"mayfly/views/layout"
	"mayfly/views/page/activity"
)

func metrics() activity.Metrics {
	m := metricsNone()
	m.Figures.OfDay = true
	m.Figures.Rows = []activity.FigureRow{
		{At: at("10:00:00"), Counts: [5]int{12400, 12389, 3, 2, 9}, Depth: [5]int{1204, 31, 5, 7, 42}},
		{At: at("09:30:00"), Counts: [5]int{9801, 9700}, Depth: [5]int{1195, 12, 5, 7, 40}},
		{At: at("09:00:00")},
	}
	return m
}

func metricsNone() activity.Metrics {
	return activity.Metrics{
		Shell:   shell("Metrics", layout.Overview, "/metrics"),
		Figures: activity.MetricsData{Source: "/api/v1/metrics?span=day", Hour: home + "/metrics", Day: home + "/metrics?within=day"},
	}
}
