package mongo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Capabilities are what a server does beyond what the protocol needs, found
// out by asking it for the indexes. That it accepts a TTL index proves only that
// it knows the word: some servers never delete by one.
type capabilities struct {
	ttl     bool // removes documents by their purgeAt
	partial bool // has indexes of only those documents that have a field
}

// An index is one that ought to be there. Its name is ours: what has it and is
// otherwise, was made by another version or by mistake.
type index struct {
	in     collection
	name   string
	fields []string
	having string // only documents that have this field; empty: all
	ttl    bool   // documents go when the instant in the field has passed
}

// indexes serve people who look at documents, and the sweeping of what nobody
// needs any more; the store itself reads by _id.
func indexes() []index {
	all := []index{
		{in: messages, name: "mayfly_path", fields: []string{"ns", "path", "seq"}},
		{in: messages, name: "mayfly_expires", fields: []string{"ns", "expiresAt"}, having: "expiresAt"},
		{in: sessions, name: "mayfly_path", fields: []string{"ns", "path", "sessionId"}},
		{in: history, name: "mayfly_key", fields: []string{"ns", "key", "at"}},
		{in: history, name: "mayfly_at", fields: []string{"ns", "at"}},
	}
	for _, in := range []collection{messages, history, entities, rules, meters, sessions, kept} {
		all = append(all, index{in: in, name: "mayfly_purge", fields: []string{"purgeAt"}, ttl: true})
	}
	return all
}

func (x index) keys() (keys bson.D) {
	for _, f := range x.fields {
		keys = append(keys, bson.E{Key: f, Value: int32(1)})
	}
	return keys
}

func (x index) model() mongo.IndexModel {
	o := options.Index().SetName(x.name)
	if x.ttl {
		o.SetExpireAfterSeconds(0).SetSparse(true)
	}
	if x.having != "" {
		o.SetPartialFilterExpression(x.filter())
	}
	return mongo.IndexModel{Keys: x.keys(), Options: o}
}

func (x index) filter() bson.D {
	return bson.D{{Key: x.having, Value: bson.D{{Key: "$exists", Value: true}}}}
}

// ensureIndexes makes what indexes are not there, each by itself, for a server
// that refuses one of several makes none of them. It can be interrupted, done
// again, and done by several servers at once. What the server cannot do is said
// in the log once and is no error.
func (d *database) ensureIndexes(ctx context.Context) (capabilities, error) {
	can := capabilities{ttl: true, partial: true}
	for _, x := range indexes() {
		ok, err := d.ensure(ctx, x)
		if err != nil {
			return capabilities{}, err
		}
		can.ttl = can.ttl && (ok || !x.ttl)
		can.partial = can.partial && (ok || x.having == "")
	}
	if !can.ttl || !can.partial {
		d.log.Info("MongoDB does not have all indexes here, for it lacks their kind or does not let this user make them; the store sweeps by itself.",
			"ttl", can.ttl, "partial", can.partial)
	}
	if d.facts.sharded {
		d.log.Info("MongoDB is sharded here: shard every collection by ranges of {_id: 1}, or none.", "database", d.db.Name())
	}
	return can, nil
}

// attempts is how often an index is made anew that others dropped meanwhile.
const attempts = 5

// ensure makes one index. Not ok: the server does not have its kind, does not let
// us make it, or has one like it that is not ours.
func (d *database) ensure(ctx context.Context, x index) (ok bool, err error) {
	accepted := false
	for range attempts {
		there, err := d.lookFor(ctx, x)
		if err != nil {
			return false, err
		}
		switch there {
		case same:
			return true, nil
		case other:
			err = d.do(ctx, "drop the index "+x.name+" in", x.in, func(ctx context.Context, c *mongo.Collection) error {
				return ignoring(c.Indexes().DropOne(ctx, x.name), 26, 27) // NamespaceNotFound, IndexNotFound: somebody else dropped it
			})
			if err != nil {
				return false, err
			}
		}
		err = d.do(ctx, "make the index "+x.name+" in", x.in, func(ctx context.Context, c *mongo.Collection) error {
			_, err := c.Indexes().CreateOne(ctx, x.model())
			return err
		})
		switch {
		case err == nil:
			accepted = true
			there, err = d.lookFor(ctx, x)
			if err != nil || there != missing {
				return there == same, err // other: the server accepts what it does not know
			}
		case has(err, 85): // IndexOptionsConflict: the same keys by a name that is not ours
			d.log.Warn("An index that somebody made stands where one of the store's should be.", "collection", x.in, "fields", strings.Join(x.fields, ","))
			return false, nil
		case incapable(err), unauthorized(err):
			return false, nil
		case !has(err, 68, 86, 276): // IndexAlreadyExists, IndexKeySpecsConflict, IndexBuildAborted: somebody else is at it
			return false, err
		}
	}
	if accepted {
		return false, nil // nor does it list it
	}
	return false, fmt.Errorf("make the index %s in %s: another server undoes it", x.name, x.in)
}

// incapable tells whether a server said that it has no such thing: NotImplemented,
// CommandNotFound, CannotCreateIndex, InvalidOptions, CommandNotSupported.
func incapable(err error) bool { return has(err, 238, 59, 67, 72, 115) }

func has(err error, codes ...int) bool {
	e, ok := errors.AsType[mongo.ServerError](err)
	return ok && slices.ContainsFunc(codes, e.HasErrorCode)
}

func ignoring(err error, codes ...int) error {
	if has(err, codes...) {
		return nil
	}
	return err
}

// What there is by the name of an index.
type presence int

const (
	missing presence = iota
	same
	other
)

// A listed index is one as a server tells of it. Options that change nothing for
// whoever reads through it are left out.
type listedIndex struct {
	Name    string        `bson:"name"`
	Keys    bson.D        `bson:"key"`
	Expires bson.RawValue `bson:"expireAfterSeconds"`
	Having  bson.D        `bson:"partialFilterExpression"`
	Unique  bool          `bson:"unique"`
}

func (d *database) lookFor(ctx context.Context, x index) (p presence, err error) {
	err = d.do(ctx, "list the indexes of", x.in, func(ctx context.Context, c *mongo.Collection) error {
		cursor, err := c.Indexes().List(ctx)
		if err != nil {
			return err
		}
		defer closeCursor(ctx, cursor)
		for cursor.Next(ctx) {
			var got listedIndex
			if err := cursor.Decode(&got); err != nil {
				return err
			}
			if got.Name != x.name {
				continue
			}
			p = other
			if got.is(x) {
				p = same
			}
		}
		return cursor.Err()
	})
	return p, err
}

func (l listedIndex) is(x index) bool {
	if l.Unique || len(l.Keys) != len(x.fields) {
		return false
	}
	for i, e := range l.Keys {
		if e.Key != x.fields[i] || fmt.Sprint(e.Value) != "1" {
			return false
		}
	}
	seconds, expires := l.Expires.AsInt64OK()
	if expires != x.ttl || seconds != 0 {
		return false
	}
	if x.having == "" {
		return len(l.Having) == 0
	}
	return fmt.Sprint(l.Having) == fmt.Sprint(x.filter())
}
