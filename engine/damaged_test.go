package engine

import "testing"

// TestDamaged tests messages that the store finds damaged, at a load and when a body is read.
func TestDamaged(t *testing.T) {
	ns := New(Options{Limits: DefaultLimits(), Keys: NewKeys(2), Nonce: func() uint64 { return 1 }})
	packed := Content{MessageID: "a", BodySize: 5}.Pack()
	for _, r := range []Record{
		Entity{ID: 1, DeadLetterID: 2, TransferID: 3, Kind: Queue, Path: "q"},
		Meter{Subqueue: 1, NextSeq: 9},
		StoredContent{Key: 10, Content: packed},
		StoredContent{Key: 11, Content: packed},
		Damaged{Key: 10, Subqueue: 1, Seq: 1, Content: 10, Part: DamagedRecord},
		Message{Key: 11, Subqueue: 1, Seq: 2, Content: 11},
		Message{Key: 12, Subqueue: 1, Seq: 3, Content: 99}, // content 99 does not exist
	} {
		if err := ns.Restore(r); err != nil {
			t.Fatal(err)
		}
	}
	ns.Restored(1)
	sound := func(when string, damaged, there int) {
		t.Helper()
		if err := ns.Check(); err != nil {
			t.Errorf("%s: %v", when, err)
		}
		if len(ns.DamagedMessages()) != damaged || len(ns.messages) != there {
			t.Errorf("%s: %d damaged and %d intact messages; want %d and %d", when, len(ns.DamagedMessages()), len(ns.messages), damaged, there)
		}
	}
	commit := func() *Batch {
		var last *Batch
		for range 3 { // contents are dropped some commits after their messages
			b := ns.Flush(1, true).Batch
			ns.Seal(true)
			if last == nil {
				last = b
			}
			for _, d := range b.DropContents {
				if d.Key != 10 {
					t.Errorf("content %d is dropped", d.Key)
				}
			}
		}
		return last
	}
	sound("at the start", 2, 1)
	if d := ns.DamagedMessages()[0]; d.Path != "q" || d.Key != 10 || ns.DamagedMessages()[1].Part != DamagedContent {
		t.Errorf("%+v", ns.DamagedMessages())
	}
	if b := commit(); len(b.DropContents)+len(b.DropMessages) > 0 {
		t.Errorf("the batch drops a damaged record: %+v", b)
	}
	ns.MarkDamaged(1, 11, DamagedBody)
	sound("with a damaged body", 3, 0)
	ns.Rollback()
	sound("taken back", 2, 1)
	ns.MarkDamaged(1, 11, DamagedBody)
	if b := commit(); len(b.DropMessages) > 0 {
		t.Errorf("the batch drops a message with a damaged body: %+v", b)
	}
	sound("again", 3, 0)
	ns.SetAside(1, 10, "somebody")
	ns.Rollback()
	sound("set aside and taken back", 3, 0)
	for range 3 {
		if b := ns.Flush(1, true).Batch; len(b.DropContents)+len(b.SetAside) > 0 {
			t.Errorf("a damaged record after a rollback: %+v", b)
		}
		ns.Seal(true)
	}
	if !ns.SetAside(1, 10, "somebody") || ns.SetAside(1, 10, "somebody") || ns.SetAside(1, 77, "somebody") {
		t.Error("SetAside")
	}
	if b := commit(); !b.Hard || len(b.SetAside) != 1 || b.SetAside[0] != 10 || b.NeedsNoSpace() {
		t.Errorf("set aside: %+v", b)
	}
	sound("set aside", 2, 0)
}
