// Package deadletters groups dead letters by their cause: their reason, and the text of their
// error without the ids and numbers in it.
//
//	Analyze   groups dead letters, some in each turn of the broker
//	Group     the dead letters with one cause, and a search that finds exactly these
package deadletters

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
	// MaxMessages is how many dead letters are examined at most.
	MaxMessages = 50_000
	// sliceSize is how many of them are examined in one turn of the broker.
	sliceSize = 500
	// maxGroups is the maximum number of groups. Dead letters with further causes are not grouped.
	maxGroups = 1000
	// maxEntities is how many subqueues of a group are listed at most.
	maxEntities = 20
)

// A Group describes the dead letters with one cause. Causes that differ only in case are the same.
type Group struct {
	Reason      string // empty if none was given
	Error       string // the common text of their errors, normalized by search.NormalizeError; may be empty
	Count       int64
	First, Last engine.Instant // times of dead-lettering; zero if unknown
	Latest      engine.Row     // the latest dead letter
	Entities    []EntityCount  // subqueues and their numbers of messages, largest first; at most twenty
	OtherCount  int64          // how many messages are in other subqueues
	Sources     []EntityCount  // the entities where they became dead letters, in the same order
}

// An EntityCount is an entity or dead-letter queue and its number of messages in a group.
type EntityCount struct {
	Path  engine.Path
	Count int64
}

// Query returns the search that finds exactly the group's messages among the dead letters.
func (g Group) Query() string { return ReasonQuery(g.Reason) + " error:" + search.Quote(g.Error) }

// ReasonQuery returns the search that finds the messages with a reason among the dead letters.
func ReasonQuery(reason string) string { return "reason:" + search.Quote(reason) }

// A Report groups dead letters by cause.
type Report struct {
	Groups      []Group      // largest first
	Examined    int64        // dead letters that were examined
	Total       int64        // dead letters that exist
	Ungrouped   int64        // examined, but in no group because there are too many groups
	DeadLetters []DeadLetter // the grouped messages by sequence number, if there is only one subqueue
}

// A DeadLetter is one dead letter and its group.
type DeadLetter struct {
	Seq   engine.Seq
	Group int // in Groups
}

// Analyze groups the dead letters of some subqueues, at most MaxMessages of them, in several turns
// of the broker. It ignores subqueues that do not exist.
func Analyze(ctx context.Context, b *broker.Broker, paths []engine.Path) (*Report, error) {
	return analyze(ctx, b, paths, MaxMessages)
}

func analyze(ctx context.Context, b *broker.Broker, paths []engine.Path, most int64) (*Report, error) {
	e := analysis{by: map[groupKey]int{}, report: &Report{}, single: len(paths) == 1, most: most}
	for _, path := range paths {
		if err := e.addSubqueue(ctx, b, path); err != nil {
			return nil, fmt.Errorf("read the dead letters of %s: %w", path, err)
		}
	}
	e.sort()
	return e.report, nil
}

// Subqueues returns the subqueues of a namespace that have dead letters.
func Subqueues(ctx context.Context, b *broker.Broker) (paths []engine.Path, err error) {
	err = b.Read(ctx, func(r broker.Reader) error {
		paths = nil
		for _, subqueue := range r.SubqueuesWith(engine.ClassAll) {
			if subqueue.Path.IsDeadLetter() {
				paths = append(paths, subqueue.Path)
			}
		}
		return nil
	})
	return paths, err
}

// A groupKey identifies a group.
type groupKey struct{ reason, text string }

// An analysis is the state of a running Analyze.
type analysis struct {
	by     map[groupKey]int // indexes of groups in the report
	report *Report
	single bool
	most   int64 // dead letters to examine at most
}

func (e *analysis) addSubqueue(ctx context.Context, b *broker.Broker, path engine.Path) error {
	r := e.report
	for at := (engine.Browse{Path: path, From: 1, Limit: sliceSize}); ; {
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
		if errors.Is(err, engine.ErrNotFound) { // the entity was deleted in the meantime
			return nil
		}
		if err != nil {
			return err
		}
		for _, row := range rows {
			if r.Examined >= e.most {
				return nil
			}
			r.Examined++
			e.add(row)
		}
		if len(rows) < sliceSize || r.Examined >= e.most {
			return nil
		}
		at.From = rows[len(rows)-1].Message.Seq + 1
	}
}

// count adds the number of dead letters in a subqueue to the report's total.
func (e *analysis) count(look broker.Reader, path engine.Path) error {
	s, err := look.State(path.Entity())
	if err != nil {
		return err
	}
	if path.IsTransfer() {
		e.report.Total += s.Counts.TransferDeadLetter
	} else {
		e.report.Total += s.Counts.DeadLetter
	}
	return nil
}

func (e *analysis) add(row engine.Row) {
	x := row.Message.Extra
	if x == nil {
		x = &engine.Extra{}
	}
	text := search.NormalizeError(x.Description)
	key := groupKey{strings.ToLower(x.Reason), strings.ToLower(text)}
	i, ok := e.by[key]
	if !ok {
		if len(e.report.Groups) == maxGroups {
			e.report.Ungrouped++
			return
		}
		i = len(e.report.Groups)
		e.by[key] = i
		e.report.Groups = append(e.report.Groups, Group{Reason: x.Reason, Error: text, First: x.DeadAt})
	}
	g := &e.report.Groups[i]
	g.Count++
	if x.DeadAt >= g.Last {
		g.Last, g.Latest = x.DeadAt, row
	}
	g.First = min(g.First, x.DeadAt)
	if !count(&g.Entities, row.Path) {
		g.OtherCount++
	}
	source := engine.Path(x.Source)
	if source == "" {
		source = row.Path.Entity()
	}
	count(&g.Sources, source)
	if e.single {
		e.report.DeadLetters = append(e.report.DeadLetters, DeadLetter{row.Message.Seq, i})
	}
}

// count counts a message in a subqueue. It returns false if there is no room for that subqueue.
func count(all *[]EntityCount, path engine.Path) bool {
	for i := range *all {
		if (*all)[i].Path == path {
			(*all)[i].Count++
			return true
		}
	}
	if len(*all) == maxEntities {
		return false
	}
	*all = append(*all, EntityCount{path, 1})
	return true
}

// sort sorts groups by their number of messages, largest first, then by reason and error text.
func (e *analysis) sort() {
	r := e.report
	order := make([]int, len(r.Groups))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		x, y := &r.Groups[a], &r.Groups[b]
		return cmp.Or(cmp.Compare(y.Count, x.Count), cmp.Compare(x.Reason, y.Reason), cmp.Compare(x.Error, y.Error))
	})
	sorted, to := make([]Group, len(order)), make([]int, len(order))
	for is, was := range order {
		sorted[is], to[was] = r.Groups[was], is
		most := func(a, b EntityCount) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Path, b.Path)) }
		slices.SortFunc(sorted[is].Entities, most)
		slices.SortFunc(sorted[is].Sources, most)
	}
	r.Groups = sorted
	for i := range r.DeadLetters {
		r.DeadLetters[i].Group = to[r.DeadLetters[i].Group]
	}
}
