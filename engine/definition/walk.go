package definition

import (
	"fmt"
	"slices"
	"strings"
)

// has says what an object may contain; a trailing * marks what it must.
type has []string

// members gives an object's values by their known names. Names are known in
// any case, as the emulator reads them; null counts as absent. What is unknown,
// there twice or missing is a problem.
func (r *reader) members(at string, n *node, names has) map[string]*node {
	found := map[string]*node{}
	if !r.is(at, n, object) {
		return found
	}
	plain := make([]string, len(names))
	for i, name := range names {
		plain[i] = strings.TrimSuffix(name, "*")
	}
	seen := map[string]bool{}
	for _, m := range n.members {
		i := slices.IndexFunc(plain, func(s string) bool { return strings.EqualFold(s, m.name) })
		switch {
		case i < 0:
			r.problems.add(under(at, m.name), "%v", unknown{m.name, plain})
		case seen[plain[i]]:
			r.problems.add(under(at, m.name), "This is given twice.")
		default:
			seen[plain[i]] = true
			if m.value.kind != null {
				found[plain[i]] = m.value
			}
		}
	}
	for i, name := range names {
		if name != plain[i] && found[plain[i]] == nil {
			r.problems.add(under(at, plain[i]), "This is missing.")
		}
	}
	return found
}

// is tells whether n is of a kind, and complains if not. An absent value is of
// none and no reason to complain.
func (r *reader) is(at string, n *node, want kind) bool {
	if n == nil {
		return false
	}
	if n.kind != want {
		r.problems.add(at, "This must be %s, not %s.", want, n.kind)
		return false
	}
	return true
}

// text is a text's value, empty if it is absent or wrong.
func (r *reader) text(at string, n *node) string {
	if !r.is(at, n, text) {
		return ""
	}
	return n.text
}

// items are a list's values with their paths.
func (r *reader) items(at string, n *node, each func(at string, item *node)) {
	if !r.is(at, n, list) {
		return
	}
	for i, item := range n.items {
		each(fmt.Sprintf("%s[%d]", at, i), item)
	}
}

// An unknown name is refused, with help for the one that was meant. It is put into words
// only where it is told.
type unknown struct {
	name  string
	known []string
}

func (u unknown) String() string {
	if best := nearest(u.name, u.known); best != "" {
		return fmt.Sprintf("This is not known; did you mean %s?", best)
	}
	return fmt.Sprintf("This is not known here; there are %s.", strings.Join(u.known, ", "))
}

// nearest is the known name that is a few keys away from the one given; empty
// if there is none.
func nearest(name string, known []string) (best string) {
	if len(name) > 64 {
		return ""
	}
	closest := 1 + min(3, len(name)/3)
	for _, k := range known {
		if d := distance(strings.ToLower(name), strings.ToLower(k)); d < closest {
			best, closest = k, d
		}
	}
	return best
}

// distance is how many letters must be put in, left out or changed to make b
// of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
