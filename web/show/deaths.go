package show

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/job"
	"mayfly/engine/postmortem"
	"mayfly/engine/search"
	"mayfly/views/page"
)

const (
	// deathsFresh is how long a sum of dead letters is good whatever happens, and
	// deathsLong how long it is while their number stays the same, or there are so
	// many that summing them up takes its time.
	deathsFresh = time.Second
	deathsLong  = 10 * time.Second
	deathsMany  = 5000
	// deathsKept is for how many entities sums are kept.
	deathsKept = 16
)

// deaths is what the dead letters of an entity died of, as it was a moment ago.
// It is not changed once it is made.
type deaths struct {
	*postmortem.Report

	made    time.Time     // by the machine's clock: the broker's may stand
	count   int64         // of dead letters there were
	reasons []page.Reason // the most frequent first; without addresses
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

func (m *morgue) get(k deathsOf, count int64, now time.Time) *deaths {
	m.mu.Lock()
	defer m.mu.Unlock()
	d := m.kept[k]
	if d == nil {
		return nil
	}
	if age := now.Sub(d.made); age >= deathsLong || age >= deathsFresh && d.count != count && d.Seen < deathsMany {
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
		if d.made.Sub(old.made) >= deathsLong {
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
	var e engine.EntityState
	err := p.b.Read(ctx, func(r broker.Reader) (err error) {
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
	if d := p.morgue.get(k, e.Counts.DeadLetter, time.Now()); d != nil {
		return d, nil
	}
	report, err := postmortem.Examine(ctx, p.b, []engine.Path{e.Path.DeadLetter()})
	if err != nil {
		return nil, err //nolint:wrapcheck // it says what it is about
	}
	d := &deaths{Report: report, made: time.Now(), count: e.Counts.DeadLetter}
	d.sum()
	p.morgue.put(k, d)
	return d, nil
}

// sum adds up the groups of each reason.
func (d *deaths) sum() {
	by := map[string]int{}
	for _, g := range d.Groups {
		i, ok := by[strings.ToLower(g.Reason)]
		if !ok {
			i = len(d.reasons)
			by[strings.ToLower(g.Reason)] = i
			d.reasons = append(d.reasons, page.Reason{Reason: g.Reason, First: g.First.Time()})
		}
		o := &d.reasons[i]
		o.N += int(g.N)
		if last := g.Last.Time(); !last.Before(o.Last) {
			o.Last, o.Sample = last, keyText(g.Latest.Message.Key)
			o.Description = ""
			if x := g.Latest.Message.Extra; x != nil {
				o.Description = cut(x.Description, 300)
			}
		}
		if first := g.First.Time(); first.Before(o.First) {
			o.First = first
		}
	}
	slices.SortStableFunc(d.reasons, func(a, b page.Reason) int { return b.N - a.N })
}

// of finds the dead letters of one reason from a number on, and of one text of
// their errors unless that is empty: those that are still there.
func (d *deaths) of(r broker.Reader, b engine.Browse, reason, text string) (rows []engine.Row, err error) {
	if d.Report == nil {
		return nil, nil
	}
	meant := make([]bool, len(d.Groups))
	for i, g := range d.Groups {
		meant[i] = strings.EqualFold(reasonWord(g.Reason), reason) && (text == "" || strings.EqualFold(g.Error, text))
	}
	most := b.Limit
	b.Limit = 1
	for _, one := range d.Each {
		if one.Seq < b.From || !meant[one.Group] {
			continue
		}
		b.From = one.Seq
		got, err := r.Browse(b)
		if err != nil {
			return nil, err //nolint:wrapcheck // the caller asked for just this
		}
		if len(got) == 0 || got[0].Message.Seq != one.Seq {
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

func reasonWord(reason string) string { return cmp.Or(reason, noReason) }

// reasons are what dead letters died of, for the page at a place.
func (p *Pages) reasons(at Place, d *deaths, now engine.Instant) []page.Reason {
	out := slices.Clone(d.reasons)
	for i := range out {
		o := &out[i]
		o.Now = now.Time()
		o.Href = p.URL(at.with("reason", reasonWord(o.Reason), "error", "", "from", "", "tab", string(page.DeadLetters)))
		p.offer(o, Export{Path: string(at.Path.DeadLetter()), Query: postmortem.QueryOf(o.Reason)})
	}
	return out
}

// offer adds what can be done to all that a search finds, and an example of them.
func (p *Pages) offer(o *page.Reason, all Export) {
	if o.Sample != "" {
		o.Sample = p.Home() + "/m/" + o.Sample
	}
	resubmit := p.NewJobURL(job.Resubmit, all, "")
	if _, err := search.Parse(all.Query); err != nil || len(resubmit) > longestAddress {
		return // it is too long to be asked for
	}
	o.Export = p.ExportURL(all)
	if p.o.Jobs != nil {
		o.Resubmit, o.Delete = resubmit, p.NewJobURL(job.Delete, all, "")
	}
}

// errorsShown is how many texts of errors are told apart.
const errorsShown = 20

// errors are the texts that dead letters of one reason have, for the page at a
// place: the most frequent first. There are none to tell apart if there is one.
func (p *Pages) errors(at Place, d *deaths, reason string, now engine.Instant) (out []page.Reason) {
	if d.Report == nil {
		return nil
	}
	for _, g := range d.Groups {
		if !strings.EqualFold(reasonWord(g.Reason), reason) || g.Error == "" {
			continue
		}
		o := page.Reason{
			Reason: g.Error, N: int(g.N), First: g.First.Time(), Last: g.Last.Time(), Now: now.Time(), Sample: keyText(g.Latest.Message.Key),
			Href: p.URL(at.with("error", g.Error, "from", "")),
		}
		p.offer(&o, Export{Path: string(at.Path.DeadLetter()), Query: g.Query()})
		out = append(out, o)
	}
	if len(out) < 2 && at.Query.Get("error") == "" {
		return nil
	}
	return out[:min(len(out), errorsShown)]
}
