package api

import (
	"testing"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/stats"
)

func TestMetrics(t *testing.T) {
	w := start(t, broker.Options{})
	w.want(201, "POST", "/entities", `{"kind":"queue","path":"Orders"}`, nil)
	w.want(404, "GET", "/metrics?entity=nowhere", "", nil)
	w.want(400, "GET", "/metrics?span=week", "", nil)
	w.stats.Record(engine.Event{Kind: engine.EventSent, Path: "Orders", Message: engine.Message{Key: 1}})
	w.stats.Sample(w.broker.ClockTime(), stats.Sample{Path: "Orders", Depth: stats.Depth{Active: 3, Dead: 2}})
	for address, step := range map[string]int{"/metrics?entity=orders": 10, "/metrics?entity=orders&span=day": 300} {
		var got Metrics
		w.want(200, "GET", address, "", &got)
		last := len(got.At) - 1
		if got.Step != step || got.At[last]-got.At[last-1] != int64(step) {
			t.Errorf("%s: steps of %d s: %v", address, got.Step, got.At[last-1:])
		}
		if got.Incoming[0] != nil || got.Active[0] != nil {
			t.Errorf("%s: there is a value from before the start", address)
		}
		sum := int64(0)
		for _, n := range got.Incoming {
			if n != nil {
				sum += *n
			}
		}
		if sum != 1 || *got.Active[last] != 3 || *got.DeadLetter[last] != 2 || *got.Locked[last] != 0 {
			t.Errorf("%s: %d received, %d active, %d dead letters", address, sum, *got.Active[last], *got.DeadLetter[last])
		}
	}
	var all Metrics
	w.want(200, "GET", "/metrics", "", &all)
	if all.Incoming[len(all.Incoming)-1] != nil {
		t.Error("the namespace has a value, though it was not sampled")
	}
}
