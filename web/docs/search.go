package docs

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mayfly/views/page/admin"
)

const (
	mostFound    = 30  // pages
	mostSections = 3   // of a page
	around       = 120 // bytes of text shown on each side of a word
)

// Search returns the pages that contain every word of a query, best first. A word in a title
// counts more than one in a heading, and that more than one in the text.
func (l *Library) Search(query string) []admin.DocFound {
	words := strings.FieldsFunc(strings.ToLower(query), unicode.IsSpace)
	if l == nil || l.read == nil || len(words) == 0 {
		return nil
	}
	type hit struct {
		admin.DocFound
		score int
	}
	var hits []hit
	all := l.read()
	for _, name := range listed() {
		d := all[name]
		if d == nil {
			continue
		}
		h := hit{DocFound: admin.DocFound{DocLink: admin.DocLink{Title: d.Title, Href: l.URL(name)}}}
		missing := slices.Clone(words)
		missing = slices.DeleteFunc(missing, func(w string) bool {
			if index(strings.ToLower(d.Title), w) < 0 {
				return false
			}
			h.score += 100
			return true
		})
		missing = d.match(words, missing, l.URL(name), &h.DocFound, &h.score)
		if len(missing) == 0 {
			hits = append(hits, h)
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	var out []admin.DocFound
	for _, h := range hits[:min(len(hits), mostFound)] {
		out = append(out, h.DocFound)
	}
	return out
}

// match adds the best sections of the page d to f, and their weight to *score. It returns the words
// of `missing` that no section contains.
func (d *doc) match(words, missing []string, at string, f *admin.DocFound, score *int) []string {
	type part struct {
		admin.DocPart
		score int
	}
	var parts []part
	for _, s := range d.sections {
		title, body := strings.ToLower(s.title), strings.ToLower(s.text)
		p := part{DocPart: admin.DocPart{Title: s.title, Href: at}}
		if s.anchor != "" {
			p.Href += "#" + s.anchor
		}
		first := -1
		for _, w := range words {
			n := count(body, w)
			if n > 0 || index(title, w) >= 0 {
				p.score += 10 + min(n, 5)
				missing = slices.DeleteFunc(missing, func(m string) bool { return m == w })
			}
			if index(title, w) >= 0 {
				p.score += 30
			}
			if i := index(body, w); i >= 0 && (first < 0 || i < first) {
				first = i
			}
		}
		if p.score == 0 {
			continue
		}
		p.Text = excerpt(s.text, body, max(first, 0), words)
		parts = append(parts, p)
	}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(b.score, a.score) })
	for _, p := range parts[:min(len(parts), mostSections)] {
		*score += p.score
		f.Parts = append(f.Parts, p.DocPart)
	}
	return missing
}

// index returns the index of the first word of text that begins with w, or -1.
func index(text, w string) int {
	for at := 0; ; {
		i := strings.Index(text[at:], w)
		if i < 0 {
			return -1
		}
		before, _ := utf8.DecodeLastRuneInString(text[:at+i])
		if !unicode.IsLetter(before) && !unicode.IsDigit(before) {
			return at + i
		}
		at += i + len(w)
	}
}

// count returns the number of words of text that begin with w.
func count(text, w string) (n int) {
	for i := index(text, w); i >= 0; i = index(text, w) {
		n++
		text = text[i+len(w):]
	}
	return n
}

// excerpt returns the text around the index `at`, in pieces. A piece with Hit set is a word of the
// query. `lower` is the text in lower case.
func excerpt(text, lower string, at int, words []string) (out []admin.DocPiece) {
	if len(lower) != len(text) { // a letter whose lower case has another length
		lower, at = text, 0
	}
	from, to := max(0, at-around), min(len(text), at+around)
	if i := strings.IndexByte(text[from:at], ' '); from > 0 && i >= 0 {
		from += i + 1
	}
	if i := strings.LastIndexByte(text[at:to], ' '); to < len(text) && i > 0 {
		to = at + i
	}
	for from > 0 && from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	for to < len(text) && to > from && !utf8.RuneStart(text[to]) {
		to--
	}
	if from > 0 {
		out = append(out, admin.DocPiece{Text: "… "})
	}
	for from < to {
		next, long := to, 0
		for _, w := range words {
			if i := index(lower[from:to], w); i >= 0 && from+i < next {
				next, long = from+i, len(w)
			}
		}
		if next > from {
			out = append(out, admin.DocPiece{Text: text[from:next]})
		}
		if long > 0 {
			out = append(out, admin.DocPiece{Text: text[next : next+long], Hit: true})
		}
		from = next + long
	}
	if to < len(text) {
		out = append(out, admin.DocPiece{Text: " …"})
	}
	return out
}
