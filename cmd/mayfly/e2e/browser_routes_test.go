package e2e

import (
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
)

// routed returns the patterns of GET routes in package web's table of roles, except the API.
func routed(t *testing.T) []string {
	t.Helper()
	table, err := os.ReadFile("../../../web/testdata/roles.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for line := range strings.Lines(string(table)) {
		row := strings.Fields(line)
		if row[0] == http.MethodGet && !strings.HasPrefix(row[1], "/api/v1/") {
			all = append(all, row[1])
		}
	}
	return all
}

// unplaced returns the patterns without a place, each with the reason.
func unplaced() map[string]string {
	all := map[string]string{
		"/login":                    "nobody signs in here: axeOfAudience looks at it",
		"/sessions":                 "nobody signs in here: axeOfAudience looks at it",
		"/n/:ns/damaged":            "nothing is damaged here: damagedInBrowser opens it",
		"/n/:ns/damaged/move-aside": "nothing is damaged here: damagedInBrowser opens it",
		"/n/:ns/alerts/toasts":      "a piece of a page, which the walk sees in it",
	}
	for why, patterns := range map[string]string{
		"leads to a page":    "/ /docs/api /follow/:id /l/:secret /login/openid /login/openid/back /n /n/:ns/access/keys /n/:ns/lab/new /scenes/on/:play/:verb",
		"is a file or text":  "/grafana.json /healthz /livez /metrics /readyz /static/* /n/:ns/activity/export /n/:ns/definitions /n/:ns/m/:key/body /scenes/text/:scene",
		"is a socket":        "/live /n/default/live",
		"has no rules":       "/n/:ns/q/:queue/rules/edit /n/:ns/q/:queue/rules/new /n/:ns/q/:queue/rules/try /n/:ns/t/:topic/rules/edit /n/:ns/t/:topic/rules/new /n/:ns/t/:topic/rules/try",
		"nothing is sent to": "/n/:ns/t/:topic/s/:sub/send /n/:ns/t/:topic/s/:sub/import",
	} {
		for p := range strings.FieldsSeq(patterns) {
			all[p] = why
		}
	}
	return all
}

// patternOf returns the most specific pattern that matches an address.
func patternOf(patterns []string, address string) string {
	path, _, _ := strings.Cut(address, "?")
	parts := strings.Split(path, "/")
	best, least := "", len(parts)+1
	for _, p := range patterns {
		open, names := 0, strings.Split(p, "/")
		if len(names) != len(parts) {
			continue
		}
		for i, name := range names {
			if strings.HasPrefix(name, ":") {
				open++
			} else if name != parts[i] {
				open = least
			}
		}
		if open < least {
			best, least = p, open
		}
	}
	return best
}

// kind returns the kind of an address's page: its pattern and its tab.
func kind(patterns []string, address string) string {
	_, query, _ := strings.Cut(address, "?")
	typed, err := url.ParseQuery(query)
	if err != nil {
		return address
	}
	return patternOf(patterns, address) + " " + typed.Get("tab")
}

// placed checks that each page has a place, so that the walk leaves none out.
func placed(t *testing.T, all []place) {
	t.Helper()
	patterns, without, has := routed(t), unplaced(), map[string]string{}
	for _, p := range all {
		has[patternOf(patterns, p.path)] = p.name
	}
	if name, ok := has[""]; ok {
		t.Errorf("the place %s matches no route of the dashboard", name)
	}
	for _, p := range patterns {
		why, ok := without[p]
		delete(without, p)
		switch name := has[p]; {
		case name == "" && !ok:
			t.Errorf("%s has no place, so the walk leaves it out", p)
		case name != "" && ok:
			t.Errorf("%s has the place %s, but unplaced has it too: %s", p, name, why)
		}
	}
	for p := range without {
		t.Errorf("unplaced has %s, which is not a route", p)
	}
}
