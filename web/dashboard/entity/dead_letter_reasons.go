package entity

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
	"mayfly/engine/search"
	"mayfly/engine/search/deadletters"
	"mayfly/engine/shorten"
	"mayfly/views/page"
	"mayfly/web/dashboard/pages"
)

const (
	// reasonsFresh is how long a summary of dead letters may be used in any case, and
	// reasonsMaxAge how long if their number stays the same, or if there are so many that summing
	// them up is expensive.
	reasonsFresh    = time.Second
	reasonsMaxAge   = 10 * time.Second
	manyDeadLetters = 5000
	// maxCachedSummaries is how many entities have a cached summary.
	maxCachedSummaries = 16
)

// deadLetterSummary is a recent summary of an entity's dead letters by reason. It is immutable.
type deadLetterSummary struct {
	*deadletters.Report

	made    time.Time     // time of the machine's clock, because the broker's may be stopped
	count   int64         // number of dead letters in the entity at that time
	reasons []page.Reason // most frequent first, without addresses
}

// summaryKey identifies an entity. An entity that is deleted and created again gets another key.
type summaryKey struct {
	path    string
	created engine.Instant
	epoch   uint64
}

// A summaryCache caches summaries for a short time, so that a page that is rendered five times a
// second does not make the broker read thousands of messages each time. The zero value is
// ready to use.
type summaryCache struct {
	mu        sync.Mutex
	summaries map[summaryKey]*deadLetterSummary // guarded by mu
}

func (m *summaryCache) get(k summaryKey, count int64, now time.Time) *deadLetterSummary {
	m.mu.Lock()
	defer m.mu.Unlock()
	d := m.summaries[k]
	if d == nil {
		return nil
	}
	if age := now.Sub(d.made); age >= reasonsMaxAge || age >= reasonsFresh && d.count != count && d.Examined < manyDeadLetters {
		return nil
	}
	return d
}

func (m *summaryCache) put(k summaryKey, d *deadLetterSummary) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.summaries == nil {
		m.summaries = map[summaryKey]*deadLetterSummary{}
	}
	for other, old := range m.summaries {
		if d.made.Sub(old.made) >= reasonsMaxAge {
			delete(m.summaries, other)
		}
	}
	if len(m.summaries) >= maxCachedSummaries {
		clear(m.summaries)
	}
	m.summaries[k] = d
}

// readDeadLetterSummary returns a summary of an entity's dead letters, read in several turns of the broker.
// It is nil for an entity that has no dead-letter subqueue or does not exist.
func readDeadLetterSummary(ctx context.Context, p *pages.Pages, path engine.Path) (*deadLetterSummary, error) {
	var e engine.EntityState
	err := p.Broker.Read(ctx, func(r broker.Reader) (err error) {
		e, err = r.State(path)
		return err
	})
	if errors.Is(err, engine.ErrNotFound) || err == nil && e.Kind == engine.Topic {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", path, err)
	}
	k := summaryKey{e.Path.Fold(), e.CreatedAt, p.Broker.Epoch()}
	if d := pages.State[summaryCache](p).get(k, e.Counts.DeadLetter, time.Now()); d != nil {
		return d, nil
	}
	report, err := deadletters.Analyze(ctx, p.Broker, []engine.Path{e.Path.DeadLetter()})
	if err != nil {
		return nil, err
	}
	d := &deadLetterSummary{Report: report, made: time.Now(), count: e.Counts.DeadLetter}
	d.sum()
	pages.State[summaryCache](p).put(k, d)
	return d, nil
}

// sum adds up the groups of each reason.
func (d *deadLetterSummary) sum() {
	by := map[string]int{}
	for _, g := range d.Groups {
		i, ok := by[strings.ToLower(g.Reason)]
		if !ok {
			i = len(d.reasons)
			by[strings.ToLower(g.Reason)] = i
			d.reasons = append(d.reasons, page.Reason{Reason: g.Reason, First: g.First.Time()})
		}
		o := &d.reasons[i]
		o.N += int(g.Count)
		if last := g.Last.Time(); !last.Before(o.Last) {
			o.Last, o.Sample = last, pages.KeyText(g.Latest.Message.Key)
			o.Description = ""
			if x := g.Latest.Message.Extra; x != nil {
				o.Description = shorten.To(x.Description, 300)
			}
		}
		if first := g.First.Time(); first.Before(o.First) {
			o.First = first
		}
	}
	slices.SortStableFunc(d.reasons, func(a, b page.Reason) int { return b.N - a.N })
}

// rows returns up to b.Limit dead letters with the given reason, from b.From on. Unless `text` is
// empty, their error text must be equal to it. Dead letters that no longer exist are left out.
func (d *deadLetterSummary) rows(r broker.Reader, b engine.Browse, reason, text string) (rows []engine.Row, err error) {
	if d.Report == nil {
		return nil, nil
	}
	meant := make([]bool, len(d.Groups))
	for i, g := range d.Groups {
		meant[i] = strings.EqualFold(reasonParameter(g.Reason), reason) && (text == "" || strings.EqualFold(g.Error, text))
	}
	most := b.Limit
	b.Limit = 1
	for _, one := range d.DeadLetters {
		if one.Seq < b.From || !meant[one.Group] {
			continue
		}
		b.From = one.Seq
		got, err := r.Browse(b)
		if err != nil {
			return nil, err
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

// emptyReason is the parameter in addresses for dead letters without a reason.
const emptyReason = "-"

func reasonParameter(reason string) string { return cmp.Or(reason, emptyReason) }

// deadLetterReasons returns the dead-letter reasons for the page at an address.
func deadLetterReasons(p *pages.Pages, at pages.Address, d *deadLetterSummary, now engine.Instant) []page.Reason {
	out := slices.Clone(d.reasons)
	for i := range out {
		o := &out[i]
		o.Now = now.Time()
		o.Href = p.URL(at.WithQuery("reason", reasonParameter(o.Reason), "error", "", "from", "", "tab", string(page.TabDeadLetters)))
		AddReasonActions(p, o, pages.Export{Path: string(at.Path.DeadLetter()), Query: deadletters.ReasonQuery(o.Reason)})
	}
	return out
}

// AddReasonActions adds to `o` the addresses of actions on all messages that `all` selects, and a
// link to its example message. It adds no actions if the query is invalid or the address would be
// too long.
func AddReasonActions(p *pages.Pages, o *page.Reason, all pages.Export) {
	if o.Sample != "" {
		o.Sample = p.Home() + "/m/" + o.Sample
	}
	resubmit := p.NewJobURL(job.Resubmit, all, "")
	if _, err := search.Parse(all.Query); err != nil || len(resubmit) > pages.MaxAddressBytes {
		return // the address would be too long
	}
	o.Export = p.ExportURL(all)
	if p.Options.Jobs != nil {
		o.Resubmit, o.Delete = resubmit, p.NewJobURL(job.Delete, all, "")
	}
}

// maxErrorTexts is how many error texts are listed.
const maxErrorTexts = 20

// deadLetterErrors returns the error texts of the dead letters with one reason, for the page at
// an address, most frequent first. It returns none if there is only one text to choose from.
func deadLetterErrors(p *pages.Pages, at pages.Address, d *deadLetterSummary, reason string, now engine.Instant) (out []page.Reason) {
	if d.Report == nil {
		return nil
	}
	for _, g := range d.Groups {
		if !strings.EqualFold(reasonParameter(g.Reason), reason) || g.Error == "" {
			continue
		}
		o := page.Reason{
			Reason: g.Error, N: int(g.Count), First: g.First.Time(), Last: g.Last.Time(), Now: now.Time(), Sample: pages.KeyText(g.Latest.Message.Key),
			Href: p.URL(at.WithQuery("error", g.Error, "from", "")),
		}
		AddReasonActions(p, &o, pages.Export{Path: string(at.Path.DeadLetter()), Query: g.Query()})
		out = append(out, o)
	}
	if len(out) < 2 && at.Query.Get("error") == "" {
		return nil
	}
	return out[:min(len(out), maxErrorTexts)]
}
