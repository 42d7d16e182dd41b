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
		err := d.withCollection(ctx, "apply to", in, func(ctx context.Context, c *mongo.Collection) error {
			if d.facts.ferretVersion != "" && slices.ContainsFunc(some, func(ch change) bool { return !ch.insert }) {
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

// fitting returns how many of the changes go into one bulk: at least one.
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

// applyBulk applies changes as one bulk. MongoDB refuses a document that exists already as a
// duplicate: an insert, or an upsert whose guard found no lower version. For an insert that is
// success. For an upsert it means only that the document exists by now: it may have been
// inserted, with a lower version, between the search and the upsert. So these changes are sent
// once more without the upsert; a document that the guard does not match then has the same or
// a higher version.
//
// Some servers stop at the first duplicate and report another one. If the response does not
// account for every change, the changes are sent one by one.
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
		return err
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

// duplicates returns the indexes of the changes that were refused as duplicates. It returns
// false if others failed too, or if a change is unaccounted for.
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

// applyEach applies changes one by one. An upsert of a bulk is an insert here, and a guarded
// update if that is refused. The effect is the same, but FerretDB on SQLite scans the whole
// collection for any filter except one by _id.
func applyEach(ctx context.Context, c *mongo.Collection, changes []change) error {
	for _, ch := range changes {
		err := insertInto(ctx, c, ch.doc)
		if errors.Is(err, errDuplicateID) {
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

// lower returns the guard: a filter for the document with this _id and a lower version.
func (ch change) lower() bson.D {
	return bson.D{{Key: "_id", Value: ch.id}, {Key: "v", Value: bson.D{{Key: "$lt", Value: ch.version}}}}
}
