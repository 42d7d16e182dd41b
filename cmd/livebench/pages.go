package main

import (
	"context"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A pageTime is the time that one page took.
type pageTime struct {
	Path string  `json:"path"`
	Cold float64 `json:"cold"` // ms, the first time
	Warm float64 `json:"warm"` // ms, the median of the others
	Max  float64 `json:"most"` // ms, of all
	CPU  float64 `json:"cpu"`  // ms of the server's processor time per request
	Size int     `json:"size"` // bytes
}

// maxPages is the maximum number of pages that a crawl finds.
const maxPages = 400

var links = regexp.MustCompile(`<a [^>]*?href="([^"]*)"`)

// crawl finds the pages that seeds link to, directly or not, two of each shape: the first message
// of a list represents the others.
func crawl(ctx context.Context, s *server, seeds []string) ([]string, error) {
	seen, shapes := map[string]bool{}, map[string]int{}
	line := slices.Clone(seeds)
	var pages []string
	for len(line) > 0 && len(pages) < maxPages {
		path := line[0]
		line = line[1:]
		if seen[path] {
			continue
		}
		seen[path] = true
		status, kind, body, _, err := s.get(ctx, path)
		if err != nil {
			return nil, err
		}
		if status != http.StatusOK || !strings.HasPrefix(kind, "text/html") {
			continue
		}
		pages = append(pages, path)
		for _, l := range links.FindAllSubmatch(body, -1) {
			to, sh := pageOfLink(html.UnescapeString(string(l[1])))
			if to == "" || seen[to] || shapes[sh] >= 2 {
				continue
			}
			shapes[sh]++
			line = append(line, to)
		}
	}
	return pages, nil
}

// selectsPage reports whether the value of a query parameter selects a kind of page.
func selectsPage(key string) bool {
	return slices.Contains([]string{"tab", "sort", "within", "scope", "view", "place", "kind", "group", "temporary"}, key)
}

// pageOfLink returns the page of this server that a link leads to, and its shape: its address
// without names and numbers. It returns "" for links to other servers, and for pages with several
// parameters besides their tab, of which seeds has some.
func pageOfLink(href string) (path, shape string) {
	u, err := url.Parse(href)
	if err != nil || u.Host != "" || !strings.HasPrefix(u.Path, "/") {
		return "", ""
	}
	u.Fragment = ""
	parts := strings.Split(u.Path, "/")
	for i := 1; i < len(parts); i++ {
		switch before := parts[i-1]; {
		case slices.Contains([]string{"q", "t", "s", "m", "namespaces", "scenes"}, before), strings.ContainsAny(parts[i], "0123456789") && before != "api":
			parts[i] = "*"
		}
	}
	q := u.Query()
	if parameters := len(q); parameters > 1 && (parameters > 2 || !q.Has("tab")) {
		return "", ""
	}
	for k := range q {
		if !selectsPage(k) {
			q.Set(k, "*")
		}
	}
	return u.String(), strings.Join(parts, "/") + "?" + q.Encode()
}

// timePages requests each page `tries` times, and adds the times to r.
func timePages(ctx context.Context, s *server, pages []string, tries int, r *report) error {
	var cold, warm []time.Duration
	for _, path := range pages {
		p := pageTime{Path: path}
		var again []time.Duration
		before, _ := s.cpu()
		for i := range tries {
			_, _, body, took, err := s.get(ctx, path)
			if err != nil {
				return err
			}
			p.Size, p.Max = len(body), max(p.Max, ms(took))
			if i == 0 {
				p.Cold = ms(took)
				cold = append(cold, took)
				continue
			}
			again = append(again, took)
		}
		after, _ := s.cpu()
		p.Warm, p.CPU = percentile(slices.Clone(again), .5), ms(after-before)/float64(tries)
		warm = append(warm, again...)
		p.Cold, p.Warm, p.Max = round(p.Cold), round(p.Warm), round(p.Max)
		r.Pages = append(r.Pages, p)
	}
	r.add("pages", "", float64(len(pages)))
	r.add("a page for the first time, p95", "ms", percentile(cold, .95))
	r.addLimited("the slowest of them", "ms", percentile(cold, 1), 200)
	r.add("a page again, p50", "ms", percentile(warm, .5))
	r.add("the same, p95", "ms", percentile(warm, .95))
	r.addLimited("the slowest of them ", "ms", percentile(warm, 1), 200)
	slowest := slices.SortedFunc(slices.Values(r.Pages), func(a, b pageTime) int { return int(1000 * (b.Max - a.Max)) })
	for _, p := range slowest[:min(len(slowest), 12)] {
		r.note("%6.1f ms at first, %6.1f again, %6.1f at most, %5.1f of CPU, %4d KB  %s", p.Cold, p.Warm, p.Max, p.CPU, p.Size>>10, p.Path)
	}
	return nil
}

// A step is a user's action on a page.
type step struct{ name, script string }

// steps returns the steps in their order. Each script includes a pause in which it takes effect.
func steps() []step {
	return []step{
		{"load", ""},
		{"live", "new Promise((done) => setTimeout(done, 3000))"},
		{"scroll", `(async () => { for (let y = 0; y < document.body.scrollHeight && y < 60000; y += 600) { scrollTo(0, y); await new Promise(requestAnimationFrame); } scrollTo(0, 0); })()`},
		{"type", `(async () => {
			const field = document.querySelector(".main input[type=search], .main input[name=q]:not([type=hidden]), .main input[name=filter]");
			if (!field) return;
			field.focus();
			for (const c of "queue-012") {
				field.value += c;
				field.dispatchEvent(new InputEvent("input", { bubbles: true, data: c }));
				await new Promise((done) => setTimeout(done, 80));
			}
			await new Promise((done) => setTimeout(done, 800));
			field.value = "";
			field.blur();
		})()`},
		{"palette", `(async () => {
			document.dispatchEvent(new KeyboardEvent("keydown", { key: "k", ctrlKey: true, bubbles: true }));
			await new Promise((done) => setTimeout(done, 400));
			const field = document.querySelector("dialog[open] input");
			if (!field) return "no palette";
			for (const c of "queue-012") {
				field.value += c;
				field.dispatchEvent(new InputEvent("input", { bubbles: true, data: c }));
				await new Promise((done) => setTimeout(done, 80));
			}
			await new Promise((done) => setTimeout(done, 800));
			document.querySelector("dialog[open]").close();
			return "";
		})()`},
	}
}

// samplePages returns pages of most kinds, with much content.
func samplePages() []string {
	const big = home + "/q/queue-00000"
	return []string{
		home, home + "/expirations", home + "/queues", home + "/topics", home + "/temporary", home + "/deferred", home + "/metrics", home + "/activity?scope=all",
		home + "/search?q=subject%3Aorder.paid", home + "/lab", home + "/dead-letters", home + "/connections", home + "/t/topic-0001",
		big, big + "?sort=ttl", big + "?tab=metrics", queue("orders"), queue("lapsing"), home + "/q/queue-00001?tab=dead-letter",
	}
}

// measurePages opens pages in Chromium and measures the long tasks of its main thread.
func (l largeRun) measurePages(ctx context.Context, s *server, c *chrome, r *report) error {
	most, palettes := 0.0, 0
	for _, path := range l.pages {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if err := c.visit(s.Dashboard + path); err != nil { //nolint:contextcheck // a tab has its own
			return err
		}
		var results []string
		for _, st := range steps() {
			if st.script != "" {
				result, err := js[any](c, "("+st.script+").then((said) => said ?? null)")
				if err != nil {
					return err
				}
				if st.name == "palette" && result != "no palette" {
					palettes++
				}
			}
			_, long, err := c.takePaints()
			if err != nil {
				return err
			}
			if d := longestTask(long); d > 0 {
				results = append(results, fmt.Sprintf("%s %.0f ms", st.name, d))
				most = max(most, d)
			}
		}
		if results != nil {
			r.note("busy for more than 50 ms at once: %s  %s", strings.Join(results, ", "), path)
		}
	}
	r.addLimited("longest time that Chromium's main thread was busy", "ms", most, 100)
	r.add("pages looked at where the palette came", "", float64(palettes))
	return nil
}
