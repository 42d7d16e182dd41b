package list

import (
	"context"
	"testing"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/storage/memory"
	"mayfly/web/dashboard/pages"
)

// TestRowsThatHaveGone checks that a page of a sorted list leaves out messages that were deleted or
// moved to another entity since the list was sorted.
func TestRowsThatHaveGone(t *testing.T) {
	b, err := broker.Open(t.Context(), func(context.Context) (engine.Store, error) { return new(memory.Store), nil }, broker.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err = b.Create(t.Context(), engine.Queue, "q", engine.Config{}, "")
	must(err)
	_, err = b.Create(t.Context(), engine.Queue, "other", engine.Config{}, "")
	must(err)
	_, err = b.Send(t.Context(), "q", make([]broker.Outgoing, 4), "")
	must(err)
	var found []sortEntry
	must(b.Read(t.Context(), func(r broker.Reader) error {
		rows, err := r.Browse(engine.Browse{Path: "q", Limit: 10})
		for i := range rows {
			found = append(found, listOrder{}.sortEntry(i, &rows[i], r.Now))
		}
		return err
	}))
	p := &pages.Pages{Broker: b}
	of := func() (seqs []engine.Seq) {
		t.Helper()
		rows, err := rowsOfEntries(t.Context(), p, "Q", found)
		must(err)
		for _, r := range rows {
			seqs = append(seqs, r.Message.Seq)
		}
		return seqs
	}
	if got := of(); len(got) != 4 {
		t.Errorf("of four messages, the page has %v", got)
	}
	_, err = b.Move(t.Context(), engine.Move{Key: found[1].key, To: "other"}, "")
	must(err)
	must(b.DeleteMessage(t.Context(), found[2].key, ""))
	if got := of(); len(got) != 2 || got[0] != 1 || got[1] != 4 {
		t.Errorf("two messages were deleted, but the page has %v", got)
	}
}
