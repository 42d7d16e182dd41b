package mongo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mayfly/engine"
	"mayfly/engine/namespaces"
)

var _ namespaces.NoteStore = (*Catalogue)(nil)

// noteDocs holds the notes that all servers on the database share: see [namespaces.NoteStore].
// A note's document is inserted and deleted, and never changed. When the note was last used is
// in a document of its own.
const noteDocs collection = "board"

type noteDoc struct {
	ID   string `bson:"_id"` // the kind, a slash, and the note's ID
	V    int64  `bson:"v"`
	Text string `bson:"text"`
}

// noteUsedDoc records when a note was last used. Its ID is the note's, with usedKindSuffix
// after the kind.
type noteUsedDoc struct {
	ID string `bson:"_id"`
	V  int64  `bson:"v"` // seconds since 1970: the latest wins
}

const usedKindSuffix = ".marked"

// Notes implements [namespaces.NoteStore].
func (c *Catalogue) Notes(ctx context.Context, kind string) (all []namespaces.Note, err error) {
	on, err := c.server(ctx)
	if err != nil {
		return nil, err
	}
	at := map[string]int{}
	for raw, err := range on.Range(ctx, noteDocs, within(kind)) {
		if err != nil {
			return nil, err
		}
		var d noteDoc
		if err := bson.Unmarshal(raw, &d); err != nil {
			return nil, err
		}
		id := d.ID[len(kind)+1:]
		at[id] = len(all)
		all = append(all, namespaces.Note{ID: id, Text: d.Text})
	}
	var left []string // _ids of noteUsedDocs whose notes were removed meanwhile
	for raw, err := range on.Range(ctx, noteDocs, within(kind+usedKindSuffix)) {
		if err != nil {
			return nil, err
		}
		var d noteUsedDoc
		if err := bson.Unmarshal(raw, &d); err != nil {
			return nil, err
		}
		if i, ok := at[d.ID[len(kind+usedKindSuffix)+1:]]; ok {
			all[i].LastUsed = time.Unix(d.V, 0).UTC()
		} else {
			left = append(left, d.ID)
		}
	}
	if len(left) > 0 {
		return all, on.Delete(ctx, noteDocs, left)
	}
	return all, nil
}

// AddNote implements [namespaces.NoteStore].
func (c *Catalogue) AddNote(ctx context.Context, kind, id, text string) error {
	on, err := c.server(ctx)
	if err != nil {
		return err
	}
	err = on.Insert(ctx, noteDocs, marshal(noteDoc{ID: kind + "/" + id, V: 1, Text: text}))
	if errors.Is(err, errDuplicateID) {
		return fmt.Errorf("%w: note %s for other servers", engine.ErrExists, kind)
	}
	return err
}

// MarkNoteUsed implements [namespaces.NoteStore].
func (c *Catalogue) MarkNoteUsed(ctx context.Context, kind, id string, at time.Time) error {
	on, err := c.server(ctx)
	if err != nil {
		return err
	}
	d := noteUsedDoc{ID: kind + usedKindSuffix + "/" + id, V: at.Unix()}
	return on.Apply(ctx, noteDocs, []change{{id: d.ID, version: d.V, doc: marshal(d)}})
}

// RemoveNotes implements [namespaces.NoteStore].
func (c *Catalogue) RemoveNotes(ctx context.Context, kind string, ids ...string) error {
	on, err := c.server(ctx)
	if err != nil {
		return err
	}
	var all []string
	for _, id := range ids {
		all = append(all, kind+"/"+id)
	}
	for _, id := range ids {
		all = append(all, kind+usedKindSuffix+"/"+id)
	}
	return on.Delete(ctx, noteDocs, all)
}
