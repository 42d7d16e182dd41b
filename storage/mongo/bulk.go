package mongo

import (
	"context"
	"errors"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

func (d *database) Apply(ctx context.Context, in collection, changes []change) error {
	for len(changes) > 0 {
		some := changes[:fitting(changes)]
		changes = changes[len(some):]
		err := d.do(ctx, "apply to", in, func(ctx context.Context, c *mongo.Collection) error {
			if d.facts.ferret != "" && slices.ContainsFunc(some, func(ch change) bool { return !ch.insert }) {
				return applyEach(ctx, c, some)
			}
			return applyBulk(ctx, c, some)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// fitting is how many of the changes go into one bulk; at least one.
func fitting(changes []change) int {
	size := 0
	for i := range changes {
		size += len(changes[i].doc)
		if i > 0 && (i == maxBulk || size > maxBulkBytes) {
			return i
		}
	}
	return len(changes)
}

// applyBulk makes changes as one bulk. A document that is there already is refused
// as a duplicate, by the insert itself or by the upsert whose guard it does not
// pass. Of an insert that is as good as done. Of an upsert it says only that
// there is one now: it may have come, with a lower version, between the search
// and the upsert. So those go out once more without the upsert; what does not
// pass the guard then, is no lower.
//
// Some servers stop at the first duplicate and name another. One whose answer
// does not account for every change is asked for each of them.
func applyBulk(ctx context.Context, c *mongo.Collection, changes []change) error {
	models := make([]mongo.WriteModel, len(changes))
	for i, ch := range changes {
		if err := fits(ch.doc); err != nil {
			return err
		}
		models[i] = ch.model()
	}
	result, err := c.BulkWrite(ctx, models, options.BulkWrite().SetOrdered(false))
	e, ok := errors.AsType[mongo.BulkWriteException](err)
	if !ok || e.WriteConcernError != nil {
		return err // nil too
	}
	there, ok := duplicates(len(changes), result, e)
	if !ok {
		return applyEach(ctx, c, changes)
	}
	var again []mongo.WriteModel
	for _, i := range there {
		if !changes[i].insert {
			again = append(again, changes[i].replace())
		}
	}
	if len(again) == 0 {
		return nil
	}
	_, err = c.BulkWrite(ctx, again, options.BulkWrite().SetOrdered(false))
	return err
}

// duplicates are the changes that were refused as such, by index. Not ok: others
// failed too, or something is unaccounted for.
func duplicates(n int, r *mongo.BulkWriteResult, e mongo.BulkWriteException) (indexes []int, ok bool) {
	if r == nil || int(r.InsertedCount+r.MatchedCount+r.UpsertedCount)+len(e.WriteErrors) != n {
		return nil, false
	}
	seen := make(map[int]bool, len(e.WriteErrors))
	for _, w := range e.WriteErrors {
		if !mongo.IsDuplicateKeyError(w.WriteError) || w.Index < 0 || w.Index >= n || seen[w.Index] {
			return nil, false
		}
		seen[w.Index] = true
		indexes = append(indexes, w.Index)
	}
	return indexes, true
}

// applyEach makes changes one by one. What is an upsert in a bulk is an insert
// here, and a guarded update where that is refused: the same, but for FerretDB
// on SQLite, which looks through the whole collection for any filter but an _id.
func applyEach(ctx context.Context, c *mongo.Collection, changes []change) error {
	for _, ch := range changes {
		err := insertInto(ctx, c, ch.doc)
		if errors.Is(err, errTaken) {
			err = nil
			if !ch.insert {
				_, err = c.ReplaceOne(ctx, ch.lower(), ch.doc)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (ch change) model() mongo.WriteModel {
	if ch.insert {
		return mongo.NewInsertOneModel().SetDocument(ch.doc)
	}
	return ch.replace().SetUpsert(true)
}

func (ch change) replace() *mongo.ReplaceOneModel {
	return mongo.NewReplaceOneModel().SetFilter(ch.lower()).SetReplacement(ch.doc)
}

// lower is the guard: the document in its place, if of a lower version.
func (ch change) lower() bson.D {
	return bson.D{{Key: "_id", Value: ch.id}, {Key: "v", Value: bson.D{{Key: "$lt", Value: ch.version}}}}
}
