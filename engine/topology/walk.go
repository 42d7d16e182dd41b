package topology

import (
	"fmt"
	"slices"
	"strings"

	"mayfly/engine/shorten"
)

// memberNames lists the members that an object may have; a trailing * marks required ones.
type memberNames []string

// members returns an object's values by their known names. Case does not matter, as in the
// emulator; null counts as absent. A duplicate or missing member is a problem, an unknown one
// a warning.
func (r *reader) members(at string, n *node, names memberNames) map[string]*node {
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
			r.topology.Warnings.add(memberPath(at, m.name), "%v", unknownMember{m.name, plain})
		case seen[plain[i]]:
			r.problems.add(memberPath(at, m.name), "This is set twice.")
		default:
			seen[plain[i]] = true
			if m.value.kind != null {
				found[plain[i]] = m.value
			}
		}
	}
	for i, name := range names {
		if name != plain[i] && found[plain[i]] == nil {
			r.problems.add(memberPath(at, plain[i]), "This is missing%v", misspelling{plain[i], plain, n})
		}
	}
	return found
}

// is reports whether n is of a kind, and adds a problem if it is of another. For an absent value, it
// returns false without adding a problem.
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

// text returns the value of a text, or an empty one if n is absent or of another kind.
func (r *reader) text(at string, n *node) string {
	if !r.is(at, n, text) {
		return ""
	}
	return n.text
}

// items calls `each` with every value of a list and its path. If n is not a list, it adds a
// problem.
func (r *reader) items(at string, n *node, each func(at string, item *node)) {
	if !r.is(at, n, list) {
		return
	}
	for i, item := range n.items {
		each(fmt.Sprintf("%s[%d]", at, i), item)
	}
}

// misspelling formats the end of a message about a missing member: it asks about an unknown name that
// is probably a misspelling of it.
type misspelling struct {
	missing string
	known   []string
	in      *node
}

func (w misspelling) String() string {
	for _, m := range w.in.members {
		if !slices.ContainsFunc(w.known, func(s string) bool { return strings.EqualFold(s, m.name) }) && nearest(m.name, w.known) == w.missing {
			return fmt.Sprintf("; is %q a misspelling of it?", shorten.Quote(m.name))
		}
	}
	return "."
}

// unknownMember formats the warning about an unknown name, with a similar known one if there is one.
// It is a type so that the search for that happens only if the warning is kept.
type unknownMember struct {
	name  string
	known []string
}

func (u unknownMember) String() string {
	if best := nearest(u.name, u.known); best != "" {
		return fmt.Sprintf("Unknown, so this is ignored. Did you mean %s?", best)
	}
	return fmt.Sprintf("Unknown, so this is ignored. Choose from %s.", strings.Join(u.known, ", "))
}

// nearest returns the known name that differs from the given one in the fewest letters, or "" if
// all differ in more than a few.
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

// distance returns how many letters must be inserted, deleted or replaced to get from a to b.
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
