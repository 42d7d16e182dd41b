package show

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/views/page"
)

const (
	// reasonsScanned is how many dead letters are looked at to tell what they
	// died of, and to find those of one reason.
	reasonsScanned = 5000
	// scanSlice is how many of them are looked at in one turn of the broker.
	scanSlice = 500
	// deathsFresh is how long a sum of them is good whatever happens, and
	// deathsLong how long it is while their number stays the same.
	deathsFresh = time.Second
	deathsLong  = 10 * time.Second
	// deathsKept is for how many entities sums are kept.
	deathsKept = 32
)

// deaths is what the dead letters of an entity died of, as it was a moment ago.
// It is not changed once it is made.
type deaths struct {
	at      engine.Instant
	count   int64         // of dead letters there were
	reasons []page.Reason // the most frequent first; without addresses
	each    []death       // by number
	texts   map[string]string
}

// A death is one dead letter's.
type death struct {
	seq    engine.Seq
	reason string // as in addresses
	text   string // of the error, folded
	at     engine.Instant
}

// deathsOf names whose deaths they are: an entity that is made anew is another.
type deathsOf struct {
	path    string
	created engine.Instant
	epoch   uint64
}

// A morgue keeps sums of deaths for a little while, so that a page that is
// rendered five times a second does not have the broker go through thousands of
// messages each time. Its zero value is ready.
type morgue struct {
	mu   sync.Mutex
	kept map[deathsOf]*deaths // guarded by mu
}

func (m *morgue) get(k deathsOf, count int64, now engine.Instant) *deaths {
	m.mu.Lock()
	defer m.mu.Unlock()
	d := m.kept[k]
	if d == nil {
		return nil
	}
	if age := now.Sub(d.at).Abs(); age >= deathsLong || age >= deathsFresh && d.count != count {
		return nil
	}
	return d
}

func (m *morgue) put(k deathsOf, d *deaths) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kept == nil {
		m.kept = map[deathsOf]*deaths{}
	}
	for other, old := range m.kept {
		if d.at.Sub(old.at).Abs() >= deathsLong {
			delete(m.kept, other)
		}
	}
	if len(m.kept) >= deathsKept {
		clear(m.kept)
	}
	m.kept[k] = d
}

// deaths sums up what the dead letters of an entity died of, in several turns of
// the broker. It is nil for what has none, or is not there.
func (p *Pages) deaths(ctx context.Context, path engine.Path) (*deaths, error) {
	var (
		e   engine.EntityState
		now engine.Instant
	)
	err := p.b.Read(ctx, func(r broker.Reader) (err error) {
		now = r.Now
		e, err = r.State(path)
		return err //nolint:wrapcheck // it is wrapped below
	})
	if errors.Is(err, engine.ErrNotFound) || err == nil && e.Kind == engine.Topic {
		return nil, nil //nolint:nilnil // who asks says so of the entity
	}
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", path, err)
	}
	k := deathsOf{e.Path.Fold(), e.CreatedAt, p.b.Epoch()}
	if d := p.morgue.get(k, e.Counts.DeadLetter, now); d != nil {
		return d, nil
	}
	d := &deaths{at: now, count: e.Counts.DeadLetter}
	by := map[string]int{}
	b := engine.Browse{Path: e.Path.DeadLetter(), From: 1, Limit: scanSlice}
	for len(d.each) < reasonsScanned {
		var rows []engine.Row
		err := p.b.Read(ctx, func(r broker.Reader) (err error) {
			rows, err = r.Browse(b)
			return err //nolint:wrapcheck // it is wrapped below
		})
		if errors.Is(err, engine.ErrNotFound) { // it went meanwhile
			return nil, nil //nolint:nilnil // who asks says so of the entity
		}
		if err != nil {
			return nil, fmt.Errorf("sum up the dead letters of %s: %w", path, err)
		}
		for _, r := range rows {
			d.add(r, by)
		}
		if len(rows) < scanSlice {
			break
		}
		b.From = rows[len(rows)-1].Message.Seq + 1
	}
	slices.SortStableFunc(d.reasons, func(a, b page.Reason) int { return b.N - a.N })
	p.morgue.put(k, d)
	return d, nil
}

// add counts one; by is where each reason stands.
func (d *deaths) add(r engine.Row, by map[string]int) {
	x := r.Message.Extra
	if x == nil {
		x = &engine.Extra{}
	}
	text := d.shared(Folded(x.Description))
	d.each = append(d.each, death{r.Message.Seq, reasonOf(r), text, x.DeadAt})
	died := x.DeadAt.Time()
	i, ok := by[x.Reason]
	if !ok {
		i = len(d.reasons)
		by[x.Reason] = i
		d.reasons = append(d.reasons, page.Reason{Reason: x.Reason, First: died})
	}
	o := &d.reasons[i]
	o.N++
	if !died.Before(o.Last) {
		o.Last, o.Description = died, cut(x.Description, 300)
	}
	if died.Before(o.First) {
		o.First = died
	}
}

// shared is a text that takes no room of its own if there is one like it.
func (d *deaths) shared(text string) string {
	if d.texts == nil {
		d.texts = map[string]string{}
	}
	if _, ok := d.texts[text]; !ok {
		d.texts[text] = text
	}
	return d.texts[text]
}

// of finds the dead letters of one reason from a number on, and of one text of
// their errors unless that is empty: those that are still there.
func (d *deaths) of(r broker.Reader, b engine.Browse, reason, text string) (rows []engine.Row, err error) {
	most := b.Limit
	b.Limit = 1
	for _, one := range d.each {
		if one.seq < b.From || one.reason != reason || text != "" && one.text != text {
			continue
		}
		b.From = one.seq
		got, err := r.Browse(b)
		if err != nil {
			return nil, err //nolint:wrapcheck // the caller asked for just this
		}
		if len(got) == 0 || got[0].Message.Seq != one.seq || reasonOf(got[0]) != reason {
			continue
		}
		if rows = append(rows, got[0]); len(rows) == most {
			break
		}
	}
	return rows, nil
}

// noReason stands in addresses for dead letters that nobody gave a reason.
const noReason = "-"

func reasonOf(r engine.Row) string {
	if x := r.Message.Extra; x != nil && x.Reason != "" {
		return x.Reason
	}
	return noReason
}

// reasons are what dead letters died of, for the page at a place.
func (p *Pages) reasons(at Place, d *deaths, now engine.Instant) []page.Reason {
	out := slices.Clone(d.reasons)
	for i := range out {
		reason := out[i].Reason
		if reason == "" {
			reason = noReason
		}
		out[i].Now = now.Time()
		out[i].Href = p.URL(at.with("reason", reason, "error", "", "from", "", "tab", string(page.DeadLetters)))
	}
	return out
}

// errorsShown is how many texts of errors are told apart.
const errorsShown = 20

// errors are the texts that dead letters of one reason have, for the page at a
// place: the most frequent first. There are none to tell apart if there is one.
func (p *Pages) errors(at Place, d *deaths, reason string, now engine.Instant) (out []page.Reason) {
	by := map[string]int{}
	for _, one := range d.each {
		if one.reason != reason || one.text == "" {
			continue
		}
		i, ok := by[one.text]
		if !ok {
			i = len(out)
			by[one.text] = i
			out = append(out, page.Reason{Reason: one.text, Now: now.Time(), Href: p.URL(at.with("error", one.text, "from", ""))})
		}
		out[i].N++
		if died := one.at.Time(); died.After(out[i].Last) {
			out[i].Last = died
		}
	}
	if len(out) < 2 && at.Query.Get("error") == "" {
		return nil
	}
	slices.SortStableFunc(out, func(a, b page.Reason) int { return b.N - a.N })
	return out[:min(len(out), errorsShown)]
}

// foldedMost is how many bytes of a text tell it from others.
const foldedMost = 160

// Folded is the text of an error without what differs from one time to the next:
// ids and numbers are each a #. It is cut.
func Folded(text string) string {
	return cut(varies.ReplaceAllString(strings.Join(strings.Fields(cut(text, 4*foldedMost)), " "), "#"), foldedMost)
}

// varies is a GUID, a long number in hexadecimal, or a number with what stands
// inside one.
var varies = regexp.MustCompile(`(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b0x[0-9a-f]+\b|\b[0-9a-f]*[0-9][0-9a-f]{11,}\b|[0-9]+([.,:][0-9]+)*`)
