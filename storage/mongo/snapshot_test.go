package mongo

import (
	"errors"
	"testing"
	"testing/synctest"

	"mayfly/engine"
	"mayfly/engine/codec"
)

// A reader accepts a journal only if it is complete: without a missing number from the mark on,
// and with a fence between two epochs.
func TestReadOn(t *testing.T) {
	fence := func(epoch, n uint64) entryDoc {
		return entryDoc{ID: docIDs("default").entry(versionOf(epoch, n)), Token: "t", Fence: epoch + 1}
	}
	commit := func(epoch, n uint64) entryDoc {
		return entryDoc{ID: docIDs("default").entry(versionOf(epoch, n)), Token: "t", Batch: codec.AppendBatch(nil, &engine.Batch{Hard: true, Now: 1})}
	}
	for name, tc := range map[string]struct {
		mark version
		docs []entryDoc
		want version // zero if the journal has a gap
	}{
		"to the end":                {versionOf(3, 1), []entryDoc{commit(3, 1), commit(3, 2)}, versionOf(3, 2)},
		"from the beginning":        {0, []entryDoc{commit(1, 1)}, versionOf(1, 1)},
		"over a fence":              {versionOf(3, 1), []entryDoc{commit(3, 2), fence(3, 3), commit(4, 1)}, versionOf(4, 1)},
		"over an epoch of nothing":  {versionOf(3, 1), []entryDoc{fence(3, 2), fence(4, 1), commit(5, 1)}, versionOf(5, 1)},
		"a commit is not there":     {versionOf(3, 1), []entryDoc{commit(3, 3)}, 0},
		"a fence is not there":      {versionOf(3, 1), []entryDoc{commit(3, 2), commit(4, 1)}, 0},
		"nothing of an epoch is":    {versionOf(3, 1), []entryDoc{fence(3, 2), commit(5, 1)}, 0},
		"something is past a fence": {versionOf(3, 1), []entryDoc{fence(3, 2), commit(3, 3)}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db := new(toy)
				for _, d := range tc.docs {
					if err := db.Insert(t.Context(), journal, marshal(d)); err != nil {
						t.Fatal(err)
					}
				}
				s := newStore(t.Context(), db, nil, Options{})
				got, err := s.readJournal(t.Context(), tc.mark, newWindow())
				if tc.want == 0 {
					if !errors.Is(err, errGap) {
						t.Errorf("it read up to commit %d of epoch %d: %v", got.number(), got.epoch(), err)
					}
					return
				}
				if err != nil || got != tc.want {
					t.Errorf("it read up to commit %d of epoch %d: %v", got.number(), got.epoch(), err)
				}
			})
		})
	}
}
