package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"mayfly/cmd/mayfly/server"
)

// TestMetricsFollowWhatHappens checks that a scrape counts sent and completed messages, and has the
// totals of the remaining entities.
func TestMetricsFollowWhatHappens(t *testing.T) {
	s := Start(t, server.Config{Store: "sqlite:" + filepath.Join(t.TempDir(), "m.db"), MetricsEntities: 1})
	api := s.Dashboard + "/api/v1"
	for _, q := range []string{"a", "b", "c"} {
		if code, text := Request(t, "POST", api+"/send/"+q+"?create=queue", `[{},{}]`); code != 201 {
			t.Fatal(code, text)
		}
	}
	if code, text := Request(t, "POST", api+"/receive/a", `{"mode":"receive-and-delete"}`); code != 200 {
		t.Fatal(code, text)
	}
	var got string
	Eventually(t, "the counters have all messages", func() bool {
		got = Get(t, s.Dashboard+"/metrics")
		return strings.Contains(got, `mayfly_messages_completed_total{namespace="default",entity="a"} 1`) && strings.Contains(got, `mayfly_messages_incoming_total{namespace="default",entity="…"} 4`)
	})
	for _, want := range []string{`mayfly_messages{namespace="default",entity="a",state="active"} 1`, `mayfly_messages{namespace="default",entity="…",state="active"} 4`, `mayfly_amqp_connections{namespace="default"} 0`, `mayfly_namespace_ready{namespace="default"} 1`} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("%s is missing in\n%s", want, got)
		}
	}
	m := regexp.MustCompile(`mayfly_store_bytes\{namespace="default"\} (\S+)`).FindStringSubmatch(got)
	if m == nil {
		t.Fatal("the store has no size")
	}
	if size, err := strconv.ParseFloat(m[1], 64); err != nil || size < 1000 {
		t.Errorf("the store has the size %s: %v", m[1], err)
	}
}

// TestGrafanaAsksForWhatThereIs checks that every metric of the Grafana dashboard is in a
// scrape.
func TestGrafanaAsksForWhatThereIs(t *testing.T) {
	s := Start(t, server.Config{Store: "sqlite:" + filepath.Join(t.TempDir(), "m.db")})
	if code, text := Request(t, "POST", s.Dashboard+"/api/v1/send/a?create=queue", `{}`); code != 201 {
		t.Fatal(code, text)
	}
	var d struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
		Templating struct {
			List []struct{ Name string }
		}
	}
	if err := json.Unmarshal([]byte(Get(t, s.Dashboard+"/grafana.json")), &d); err != nil {
		t.Fatal(err)
	}
	metrics, asked := Get(t, s.Dashboard+"/metrics"), 0
	name := regexp.MustCompile(`\b(mayfly|go|process)_\w+`)
	for _, p := range d.Panels {
		if len(p.Targets) == 0 {
			t.Errorf("panel %s has no query", p.Title)
		}
		for _, target := range p.Targets {
			if n := strings.Count(target.Expr, "mayfly_"); strings.Count(target.Expr, `{namespace=~"$namespace"`) != n {
				t.Errorf("panel %s queries %s of all namespaces", p.Title, target.Expr)
			}
			for _, n := range name.FindAllString(target.Expr, -1) {
				asked++
				if !strings.Contains(metrics, "\n"+n+"{") && !strings.Contains(metrics, "\n"+n+" ") {
					t.Errorf("panel %s queries %s, which does not exist", p.Title, n)
				}
			}
		}
	}
	if chosen := fmt.Sprint(d.Templating.List); chosen != "[{datasource} {namespace} {entity}]" {
		t.Errorf("the dashboard has the variables %s", chosen)
	}
	if asked < 10 {
		t.Errorf("the dashboard queries only %d metrics", asked)
	}
}

// TestDocsMetrics compares the documentation's table of metrics, and their package documentation,
// with a scrape: names, labels, types and help texts.
func TestDocsMetrics(t *testing.T) {
	s := Start(t, server.Config{Store: "sqlite:" + filepath.Join(t.TempDir(), "m.db")})
	if code, text := Request(t, "POST", s.Dashboard+"/api/v1/send/a?create=queue", `{}`); code != 201 {
		t.Fatal(code, text)
	}
	docs, err := os.ReadFile(filepath.FromSlash("../../../web/prometheus/metrics.go"))
	if err != nil {
		t.Fatal(err)
	}
	about, _, _ := strings.Cut(string(docs), "\npackage prometheus\n")
	labels := regexp.MustCompile(`(\w+)="`)
	var b strings.Builder
	b.WriteString("| Metric | Type | What it tells |\n| --- | --- | --- |\n")
	told := 0
	for part := range strings.SplitSeq("\n"+Get(t, s.Dashboard+"/metrics"), "\n# HELP ") {
		name, rest, ok := strings.Cut(part, " ")
		if !ok || strings.TrimSpace(part) == "" {
			continue
		}
		help, rest, _ := strings.Cut(rest, "\n# TYPE "+name+" ")
		kind, samples, _ := strings.Cut(rest, "\n")
		first, _, _ := strings.Cut(samples, "\n")
		var with []string
		for _, l := range labels.FindAllStringSubmatch(first, -1) {
			if l[1] != "le" { // the histogram's own label
				with = append(with, l[1])
			}
		}
		if told++; !regexp.MustCompile(`\b` + name + `\b`).MatchString(about) {
			t.Errorf("go doc ./web/prometheus does not have %s", name)
		}
		if len(with) > 0 {
			name += "{" + strings.Join(with, ",") + "}"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, kind, strings.ToLower(help[:1])+strings.TrimSuffix(help[1:], "."))
	}
	if told < 15 {
		t.Errorf("the table has only %d metrics", told)
	}
	inDocs(t, "metrics", "metrics", b.String())
}

// TestMetricsOfNamespaces checks that the metrics have every namespace, even one that cannot be
// opened, with temporary ones summed, until it is deleted; and that /readyz reports on all
// namespaces or on a given one.
func TestMetricsOfNamespaces(t *testing.T) {
	s := Start(t, server.Config{Store: withBad(t)})
	s.MustRequest(t, 201, "POST", s.API+"/namespaces", "", `{"name":"shop"}`)
	s.MustRequest(t, 201, "POST", s.API+"/namespaces", "", `{"name":"demo","temporary":true}`)
	s.MustRequest(t, 201, "POST", s.API+"/n/shop/send/orders?create=queue", "", `[{},{}]`)
	s.MustRequest(t, 201, "POST", s.API+"/n/demo/send/orders?create=queue", "", `{}`)
	wants := func(what string, in []string, out ...string) {
		t.Helper()
		var got string
		Eventually(t, what, func() bool {
			got = Get(t, s.Dashboard+"/metrics")
			for _, want := range in {
				if !strings.Contains(got, want) {
					return false
				}
			}
			return true
		})
		for _, not := range out {
			if strings.Contains(got, not) {
				t.Errorf("%s: the metrics have %s", what, not)
			}
		}
	}
	wants("all are told", []string{
		`mayfly_namespaces{state="serving"} 3`, `mayfly_namespaces{state="failing"} 1`,
		`mayfly_namespace_ready{namespace="default"} 1`, `mayfly_namespace_ready{namespace="shop"} 1`, `mayfly_namespace_ready{namespace="bad"} 0`,
		`mayfly_messages{namespace="shop",entity="orders",state="active"} 2`, `mayfly_messages{namespace="…",entity="…",state="active"} 1`,
		`mayfly_messages_incoming_total{namespace="shop",entity="orders"} 2`, `mayfly_store_bytes{namespace="shop"} `,
	}, `"demo"`, `mayfly_namespace_epoch{namespace="bad"}`)
	for path, want := range map[string]struct {
		status int
		text   string
	}{
		"/readyz":                   {200, "ready\nnamespace bad: Standing by: "},
		"/readyz?namespace=shop":    {200, "ready\n"},
		"/readyz?namespace=DEFAULT": {200, "ready\n"},
		"/readyz?namespace=bad":     {503, "is not a Mayfly store"},
		"/readyz?namespace=none":    {404, "the namespace 'none' does not exist"},
	} {
		if text := s.MustRequest(t, want.status, "GET", s.Dashboard+path, "", ""); !strings.Contains(text, want.text) {
			t.Errorf("%s: %q; want %q", path, text, want.text)
		}
	}
	s.MustRequest(t, 200, "DELETE", s.API+"/namespaces/shop?confirm=shop", "", "")
	s.MustRequest(t, 200, "DELETE", s.API+"/namespaces/demo?confirm=demo", "", "")
	wants("they have gone", []string{`mayfly_namespaces{state="serving"} 1`}, `"shop"`, `namespace="…"`)
}
