package deadletters

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/brokertest"
	"mayfly/engine/search"
)

func open(t *testing.T) *broker.Broker {
	t.Helper()
	return brokertest.Open(t, broker.Options{}).Broker
}

// die dead-letters messages of a new queue, one for each error text.
func die(t *testing.T, b *broker.Broker, queue engine.Path, reason string, texts ...string) {
	t.Helper()
	ctx := t.Context()
	if _, err := b.Create(ctx, engine.Queue, queue, engine.Config{}, "test"); err != nil {
		t.Fatal(err)
	}
	out := make([]broker.Outgoing, len(texts))
	if _, err := b.Send(ctx, queue, out, "test"); err != nil {
		t.Fatal(err)
	}
	var operations []engine.Operation
	err := b.Read(ctx, func(r broker.Reader) error {
		operations = nil
		rows, err := r.Browse(engine.Browse{Path: queue, From: 1, Limit: len(texts)})
		for i, row := range rows {
			operations = append(operations, engine.Operation{Kind: engine.OperationDeadLetter, Target: engine.Target{Key: row.Message.Key, Path: queue, Seq: row.Message.Seq}, Reason: reason, Description: texts[i]})
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.ApplyOperations(ctx, operations, "test", nil); err != nil {
		t.Fatal(err)
	}
}

func TestExamine(t *testing.T) {
	b := open(t)
	var texts []string
	for i := range 2*sliceSize + 5 { // more than fit in two turns
		texts = append(texts, fmt.Sprint("order ", i, " is lost"))
	}
	die(t, b, "a", "Lost", texts...)
	die(t, b, "b", "LOST", "Order 7 is lost", "else", "")
	paths, err := Subqueues(t.Context(), b)
	if want := []engine.Path{"a/$DeadLetterQueue", "b/$DeadLetterQueue"}; err != nil || !slices.Equal(paths, want) {
		t.Fatalf("%q, %v", paths, err)
	}
	r, err := Analyze(t.Context(), b, paths)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, g := range r.Groups {
		got = append(got, fmt.Sprint(g.Count, " ", g.Reason, " ", g.Error, " ", g.Entities, " ", g.Sources))
		if g.First == 0 || g.Last < g.First || g.Latest.Message.Key == 0 {
			t.Errorf("%+v", g)
		}
	}
	if want := []string{
		"1006 Lost order # is lost [{a/$DeadLetterQueue 1005} {b/$DeadLetterQueue 1}] [{a 1005} {b 1}]",
		"1 LOST  [{b/$DeadLetterQueue 1}] [{b 1}]", "1 LOST else [{b/$DeadLetterQueue 1}] [{b 1}]",
	}; !slices.Equal(got, want) || r.Examined != 1008 || r.Total != 1008 || r.DeadLetters != nil {
		t.Errorf("%d of %d: %q", r.Examined, r.Total, got)
	}
	if r, err := Analyze(t.Context(), b, []engine.Path{"nowhere/$DeadLetterQueue"}); err != nil || r.Total != 0 {
		t.Errorf("nowhere: %+v, %v", r, err)
	}
}

// A report contains how many messages it has examined, and the query of a group finds its
// messages.
func TestExaminedInPart(t *testing.T) {
	b := open(t)
	die(t, b, "a", "", "x 1", "y", "x 2", "y", "y", "x 3")
	all := []engine.Path{"a/$DeadLetterQueue"}
	for most, want := range map[int64]string{
		1: "1 of 6: 1 x # [0]", 5: "5 of 6: 3 y, 2 x # [1 0 1 0 0]", 6: "6 of 6: 3 x #, 3 y [0 1 0 1 1 0]", 7: "6 of 6: 3 x #, 3 y [0 1 0 1 1 0]",
	} {
		r, err := analyze(t.Context(), b, all, most)
		if err != nil {
			t.Fatal(err)
		}
		got, each := fmt.Sprintf("%d of %d:", r.Examined, r.Total), []int{}
		for i, g := range r.Groups {
			got += fmt.Sprintf("%s %d %s", map[bool]string{true: ","}[i > 0], g.Count, g.Error)
		}
		for _, one := range r.DeadLetters {
			each = append(each, one.Group)
		}
		if got += fmt.Sprint(" ", each); got != want {
			t.Errorf("of %d: %s, not %s", most, got, want)
		}
	}
	r, err := Analyze(t.Context(), b, all)
	if err != nil {
		t.Fatal(err)
	}
	for i, g := range r.Groups {
		q, err := search.Parse(g.Query())
		if err != nil {
			t.Fatal(err)
		}
		err = b.Read(t.Context(), func(look broker.Reader) error {
			rows, err := look.Browse(engine.Browse{Path: all[0], From: 1, Limit: 9})
			for j, row := range rows {
				if means := q.Match(row, look.Now) == search.Yes; means != (r.DeadLetters[j].Group == i) {
					t.Errorf("%s and message %d: %v", g.Query(), row.Message.Seq, means)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// With more than maxGroups groups, the report counts the messages without a group. With more than
// maxEntities subqueues in a group, it counts the messages in the subqueues that it does not list.
func TestTooManyToTellApart(t *testing.T) {
	b := open(t)
	var texts []string
	for i := range maxGroups + 5 {
		texts = append(texts, strings.Repeat("x", i%100)+strings.Repeat("y", i/100))
	}
	die(t, b, "many", "", texts...)
	r, err := Analyze(t.Context(), b, []engine.Path{"many/$DeadLetterQueue"})
	if err != nil || len(r.Groups) != maxGroups || r.Ungrouped != 5 || r.Examined != maxGroups+5 {
		t.Errorf("%d groups, %d loose of %d: %v", len(r.Groups), r.Ungrouped, r.Examined, err)
	}
	for i := range maxEntities + 3 {
		die(t, b, engine.Path(fmt.Sprint("q", i)), "lost", "a", "a")
	}
	paths, err := Subqueues(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	r, err = Analyze(t.Context(), b, paths[1:])
	if err != nil || len(r.Groups) != 1 || len(r.Groups[0].Entities) != maxEntities || r.Groups[0].OtherCount != 6 || r.Groups[0].Count != 2*(maxEntities+3) || r.Ungrouped != 0 {
		t.Errorf("%+v, %v", r.Groups, err)
	}
}

// For any reason and error, the query of a group finds its messages and no others, and is
// parsed back as the same query.
func TestQueriesMeanTheirGroups(t *testing.T) {
	odd := []string{
		"", " ", "a", "A", "a*", "*", "a b", "a  b", `a"b`, `a\`, `\"`, "-a", "a,b", "a:b", "<1", ">1", "1", "2", "#", "a\nb", "a\tb", "\x00", "\u202e", "…",
		"K", "\u212a", "k", "ſ", "s", "S", "ß", "ẞ", "ss", "İ", "i", "ı", "I", "Σ", "σ", "ς", "é", "e\u0301", strings.Repeat("é", 100), strings.Repeat("é", 101),
		strings.Repeat("x", 160), strings.Repeat("x", 161), strings.Repeat("x", 161) + "y", strings.Repeat("7 ", 300), "\xff\xfe", "(or)", "or", "and", "state:dead", "reason:x",
	}
	few := []string{"", "a", "\x00", "s", `"`}
	for name, tc := range map[string]struct{ reasons, texts []string }{"reasons": {odd, few}, "errors": {few, odd}} {
		t.Run(name, func(t *testing.T) {
			b := open(t)
			var want int64
			for i, reason := range tc.reasons {
				die(t, b, engine.Path(fmt.Sprint("q", i)), reason, tc.texts...)
				want += int64(len(tc.texts))
			}
			paths, err := Subqueues(t.Context(), b)
			if err != nil {
				t.Fatal(err)
			}
			r, err := Analyze(t.Context(), b, paths)
			if err != nil || r.Examined != want {
				t.Fatalf("%d of %d were seen: %v", r.Examined, r.Total, err)
			}
			var found int64
			for _, g := range r.Groups {
				n := finds(t, b, paths, "state:dead "+g.Query())
				if found += n; n != g.Count {
					t.Errorf("%q finds %d messages, and the group has %d", g.Query(), n, g.Count)
				}
			}
			if found != want {
				t.Errorf("the groups' queries find %d of %d messages", found, want)
			}
		})
	}
}

// finds returns how many messages of these subqueues match a query.
func finds(t *testing.T, b *broker.Broker, paths []engine.Path, query string) (n int64) {
	t.Helper()
	q, err := search.Parse(query)
	if err != nil {
		t.Fatalf("%q: %v", query, err)
	}
	err = b.Read(t.Context(), func(look broker.Reader) error {
		n = 0
		for _, p := range paths {
			rows, err := look.Browse(engine.Browse{Path: p, From: 1, Limit: 100})
			if err != nil {
				return err
			}
			for _, row := range rows {
				if q.Match(row, look.Now) == search.Yes {
					n++
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
