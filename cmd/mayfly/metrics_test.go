package main

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestMetricsFollowWhatHappens has a scrape tell what was sent and completed, and
// the rest of the entities summed.
func TestMetricsFollowWhatHappens(t *testing.T) {
	s := serving(t, Config{Store: "sqlite:" + filepath.Join(t.TempDir(), "m.db"), MetricsEntities: 1})
	api := s.Dashboard + "/api/v1"
	for _, q := range []string{"a", "b", "c"} {
		if code, text := request(t, "POST", api+"/send/"+q+"?create=queue", `[{},{}]`); code != 201 {
			t.Fatal(code, text)
		}
	}
	if code, text := request(t, "POST", api+"/receive/a", `{"mode":"receive-and-delete"}`); code != 200 {
		t.Fatal(code, text)
	}
	var got string
	eventually(t, "the counters have all", func() bool {
		got = get(t, s.Dashboard+"/metrics")
		return strings.Contains(got, `mayfly_messages_completed_total{entity="a"} 1`) && strings.Contains(got, `mayfly_messages_received_total{entity="…"} 4`)
	})
	for _, want := range []string{`mayfly_messages{entity="a",state="active"} 1`, `mayfly_messages{entity="…",state="active"} 4`, "mayfly_connections 0", "mayfly_ready 1"} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("there is no %s in\n%s", want, got)
		}
	}
	if m := regexp.MustCompile(`mayfly_store_bytes (\d+)`).FindStringSubmatch(got); m == nil || len(m[1]) < 4 {
		t.Errorf("the store has no size: %v", m)
	}
}

// TestGrafanaAsksForWhatThereIs holds every metric of the dashboard for Grafana
// against a scrape.
func TestGrafanaAsksForWhatThereIs(t *testing.T) {
	s := serving(t, Config{Store: "sqlite:" + filepath.Join(t.TempDir(), "m.db")})
	if code, text := request(t, "POST", s.Dashboard+"/api/v1/send/a?create=queue", `{}`); code != 201 {
		t.Fatal(code, text)
	}
	var d struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
		Templating struct {
			List []struct{ Query any }
		}
	}
	if err := json.Unmarshal([]byte(get(t, s.Dashboard+"/grafana.json")), &d); err != nil {
		t.Fatal(err)
	}
	metrics, asked := get(t, s.Dashboard+"/metrics"), 0
	name := regexp.MustCompile(`\b(mayfly|go|process)_\w+`)
	for _, p := range d.Panels {
		if len(p.Targets) == 0 {
			t.Errorf("%s asks for nothing", p.Title)
		}
		for _, target := range p.Targets {
			for _, n := range name.FindAllString(target.Expr, -1) {
				asked++
				if !strings.Contains(metrics, "\n"+n+"{") && !strings.Contains(metrics, "\n"+n+" ") {
					t.Errorf("%s asks for %s, which there is not", p.Title, n)
				}
			}
		}
	}
	if asked < 10 {
		t.Errorf("only %d metrics are asked for", asked)
	}
}
