package mongo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mayfly/engine"
	"mayfly/engine/fleet"
)

var _ fleet.Board = (*Catalogue)(nil)

// board has what servers on the database are all to know: see [fleet.Board]. A note is
// a document that is inserted and deleted, and never changed. When it was marked is
// another one.
const board collection = "board"

type noteDoc struct {
	ID   string `bson:"_id"` // the kind, a slash, and the note's
	V    int64  `bson:"v"`
	Text string `bson:"text"`
}

// usedDoc is of a note whose kind has a suffix here.
type usedDoc struct {
	ID string `bson:"_id"`
	V  int64  `bson:"v"` // seconds since 1970: the latest stays
}

const markedKind = ".marked"

// Notes implements [fleet.Board].
func (c *Catalogue) Notes(ctx context.Context, kind string) (all []fleet.Note, err error) {
	on, err := c.server(ctx)
	if err != nil {
		return nil, err
	}
	at := map[string]int{}
	for raw, err := range on.Range(ctx, board, within(kind)) {
		if err != nil {
			return nil, err
		}
		var d noteDoc
		if err := bson.Unmarshal(raw, &d); err != nil {
			return nil, err
		}
		id := d.ID[len(kind)+1:]
		at[id] = len(all)
		all = append(all, fleet.Note{ID: id, Text: d.Text})
	}
	var left []string // marks of what was taken down meanwhile
	for raw, err := range on.Range(ctx, board, within(kind+markedKind)) {
		if err != nil {
			return nil, err
		}
		var d usedDoc
		if err := bson.Unmarshal(raw, &d); err != nil {
			return nil, err
		}
		if i, ok := at[d.ID[len(kind+markedKind)+1:]]; ok {
			all[i].Marked = time.Unix(d.V, 0).UTC()
		} else {
			left = append(left, d.ID)
		}
	}
	if len(left) > 0 {
		return all, on.Delete(ctx, board, left)
	}
	return all, nil
}

// PutUp implements [fleet.Board].
func (c *Catalogue) PutUp(ctx context.Context, kind, id, text string) error {
	on, err := c.server(ctx)
	if err != nil {
		return err
	}
	err = on.Insert(ctx, board, marshal(noteDoc{ID: kind + "/" + id, V: 1, Text: text}))
	if errors.Is(err, errTaken) {
		return fmt.Errorf("%w: %s on the servers' board", engine.ErrExists, kind)
	}
	return err
}

// Mark implements [fleet.Board].
func (c *Catalogue) Mark(ctx context.Context, kind, id string, at time.Time) error {
	on, err := c.server(ctx)
	if err != nil {
		return err
	}
	d := usedDoc{ID: kind + markedKind + "/" + id, V: at.Unix()}
	return on.Apply(ctx, board, []change{{id: d.ID, version: d.V, doc: marshal(d)}})
}

// TakeDown implements [fleet.Board].
func (c *Catalogue) TakeDown(ctx context.Context, kind string, ids ...string) error {
	on, err := c.server(ctx)
	if err != nil {
		return err
	}
	var all []string
	for _, id := range ids {
		all = append(all, kind+"/"+id)
	}
	for _, id := range ids {
		all = append(all, kind+markedKind+"/"+id)
	}
	return on.Delete(ctx, board, all)
}
