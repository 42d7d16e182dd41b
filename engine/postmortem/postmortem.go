// Package postmortem tells dead letters apart by what they died of: their reason,
// and the text of their error without the ids and numbers in it.
//
//	Examine   goes through dead letters, a slice in each turn of the broker
//	Group     those that died of one thing, with the search that finds exactly these
package postmortem

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/search"
)

const (
	// Most is how many dead letters are looked at.
	Most = 50_000
	// slice is how many of them are in one turn of the broker.
	slice = 500
	// mostGroups is how many groups there are. What comes after them is in none.
	mostGroups = 1000
	// mostPlaces is how many places of a group are told apart.
	mostPlaces = 20
)

// A Group is dead letters that died of one thing. Capitals do not tell things apart.
type Group struct {
	Reason      string // empty: none was given
	Error       string // what the texts of the errors have in common, see search.Folded; empty: there is none
	N           int64
	First, Last engine.Instant // died; zero: not known
	Latest      engine.Row     // of them
	Places      []Place        // where they lie, those with the most first; twenty of them at most
	Elsewhere   int64          // how many of them lie at none of these
	Sources     []Place        // the entities where they died, likewise
}

// A Place is an entity or dead-letter queue and how many of a group it has.
type Place struct {
	Path engine.Path
	N    int64
}

// Query finds the messages of the group, and no others, among dead letters.
func (g Group) Query() string { return QueryOf(g.Reason) + " error:" + search.Quoted(g.Error) }

// QueryOf finds the messages of one reason among dead letters.
func QueryOf(reason string) string { return "reason:" + search.Quoted(reason) }

// A Report is what dead letters died of.
type Report struct {
	Groups []Group // those with the most first
	Seen   int64   // dead letters that were looked at
	Total  int64   // that there were
	Loose  int64   // that were looked at and are in no group: there are too many groups
	Each   []Death // of what was examined in one place, by number; those without a group left out
}

// A Death is one dead letter's.
type Death struct {
	Seq   engine.Seq
	Group int // in Groups
}

// Examine goes through the dead letters of some places in several turns of the
// broker, Most of them at most. A place that is not there has none.
func Examine(ctx context.Context, b *broker.Broker, places []engine.Path) (*Report, error) {
	return examine(ctx, b, places, Most)
}

func examine(ctx context.Context, b *broker.Broker, places []engine.Path, most int64) (*Report, error) {
	e := examination{by: map[cause]int{}, report: &Report{}, single: len(places) == 1, most: most}
	for _, path := range places {
		if err := e.place(ctx, b, path); err != nil {
			return nil, fmt.Errorf("look at the dead letters of %s: %w", path, err)
		}
	}
	e.sort()
	return e.report, nil
}

// Everywhere are the places of a namespace that have dead letters.
func Everywhere(ctx context.Context, b *broker.Broker) (places []engine.Path, err error) {
	err = b.Read(ctx, func(r broker.Reader) error {
		places = nil
		for _, room := range r.Rooms(engine.ClassAll) {
			if room.Path.IsDeadLetter() {
				places = append(places, room.Path)
			}
		}
		return nil
	})
	return places, err //nolint:wrapcheck // it says what it is about
}

// A cause is what tells groups apart.
type cause struct{ reason, text string }

// An examination is a report while it is made.
type examination struct {
	by     map[cause]int // to their places in the report
	report *Report
	single bool
	most   int64 // that are looked at
}

func (e *examination) place(ctx context.Context, b *broker.Broker, path engine.Path) error {
	r := e.report
	for at := (engine.Browse{Path: path, From: 1, Limit: slice}); ; {
		var rows []engine.Row
		err := b.Read(ctx, func(look broker.Reader) (err error) {
			if at.From == 1 {
				if err := e.count(look, path); err != nil {
					return err
				}
			}
			rows, err = look.Browse(at)
			return err
		})
		if errors.Is(err, engine.ErrNotFound) { // it went meanwhile
			return nil
		}
		if err != nil {
			return err
		}
		for _, row := range rows {
			if r.Seen >= e.most {
				return nil
			}
			r.Seen++
			e.add(row)
		}
		if len(rows) < slice || r.Seen >= e.most {
			return nil
		}
		at.From = rows[len(rows)-1].Message.Seq + 1
	}
}

// count notes how many dead letters there are at a place.
func (e *examination) count(look broker.Reader, path engine.Path) error {
	s, err := look.State(path.Entity())
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	if path.IsTransfer() {
		e.report.Total += s.Counts.TransferDeadLetter
	} else {
		e.report.Total += s.Counts.DeadLetter
	}
	return nil
}

func (e *examination) add(row engine.Row) {
	x := row.Message.Extra
	if x == nil {
		x = &engine.Extra{}
	}
	text := search.Folded(x.Description)
	key := cause{strings.ToLower(x.Reason), strings.ToLower(text)}
	i, ok := e.by[key]
	if !ok {
		if len(e.report.Groups) == mostGroups {
			e.report.Loose++
			return
		}
		i = len(e.report.Groups)
		e.by[key] = i
		e.report.Groups = append(e.report.Groups, Group{Reason: x.Reason, Error: text, First: x.DeadAt})
	}
	g := &e.report.Groups[i]
	g.N++
	if x.DeadAt >= g.Last {
		g.Last, g.Latest = x.DeadAt, row
	}
	g.First = min(g.First, x.DeadAt)
	if !count(&g.Places, row.Path) {
		g.Elsewhere++
	}
	source := engine.Path(x.Source)
	if source == "" {
		source = row.Path.Entity()
	}
	count(&g.Sources, source)
	if e.single {
		e.report.Each = append(e.report.Each, Death{row.Message.Seq, i})
	}
}

// count notes one more at a place; it is false if there is no room for that place.
func count(all *[]Place, path engine.Path) bool {
	for i := range *all {
		if (*all)[i].Path == path {
			(*all)[i].N++
			return true
		}
	}
	if len(*all) == mostPlaces {
		return false
	}
	*all = append(*all, Place{path, 1})
	return true
}

// sort puts groups with the most first, those that are as large in the order of their
// names.
func (e *examination) sort() {
	r := e.report
	order := make([]int, len(r.Groups))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		x, y := &r.Groups[a], &r.Groups[b]
		return cmp.Or(cmp.Compare(y.N, x.N), cmp.Compare(x.Reason, y.Reason), cmp.Compare(x.Error, y.Error))
	})
	sorted, to := make([]Group, len(order)), make([]int, len(order))
	for is, was := range order {
		sorted[is], to[was] = r.Groups[was], is
		most := func(a, b Place) int { return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Path, b.Path)) }
		slices.SortFunc(sorted[is].Places, most)
		slices.SortFunc(sorted[is].Sources, most)
	}
	r.Groups = sorted
	for i := range r.Each {
		r.Each[i].Group = to[r.Each[i].Group]
	}
}
