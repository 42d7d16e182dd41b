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

// capabilities are what a server supports beyond what the protocol needs, found out by
// requesting the indexes. That it accepts a TTL index proves only that it knows the option:
// some servers never delete by one.
type capabilities struct {
	ttl     bool // removes documents by their purgeAt
	partial bool // supports indexes of only the documents that have a field
}

// An index describes an index that should exist. If an index of its name has another
// definition, because another version or a mistake created it, it is replaced.
type index struct {
	in            collection
	name          string
	fields        []string
	requiredField string // only documents that have this field; empty means all
	ttl           bool   // documents are deleted when the instant in the field has passed
}

// indexes returns the indexes that should exist. They make sweeping and people's own queries
// faster; the store itself reads by _id.
func indexes() []index {
	all := []index{
		{in: messages, name: "mayfly_path", fields: []string{"ns", "path", "seq"}},
		{in: messages, name: "mayfly_expires", fields: []string{"ns", "expiresAt"}, requiredField: "expiresAt"},
		{in: sessions, name: "mayfly_path", fields: []string{"ns", "path", "sessionId"}},
		{in: history, name: "mayfly_key", fields: []string{"ns", "key", "at"}},
		{in: history, name: "mayfly_at", fields: []string{"ns", "at"}},
	}
	for _, in := range []collection{messages, history, entities, rules, meters, sessions, namespaceSettings} {
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
	if x.requiredField != "" {
		o.SetPartialFilterExpression(x.filter())
	}
	return mongo.IndexModel{Keys: x.keys(), Options: o}
}

func (x index) filter() bson.D {
	return bson.D{{Key: x.requiredField, Value: bson.D{{Key: "$exists", Value: true}}}}
}

// ensureIndexes creates the missing indexes, each by itself, because a server that refuses one
// of several creates none. It can be interrupted, repeated, and run by several servers at
// once. An index that the server does not support is not an error: it is only logged.
func (d *database) ensureIndexes(ctx context.Context) (capabilities, error) {
	can := capabilities{ttl: true, partial: true}
	for _, x := range indexes() {
		ok, err := d.ensure(ctx, x)
		if err != nil {
			return capabilities{}, err
		}
		can.ttl = can.ttl && (ok || !x.ttl)
		can.partial = can.partial && (ok || x.requiredField == "")
	}
	if !can.ttl || !can.partial {
		d.log.Info("some indexes do not exist, because MongoDB does not support them or does not let this user create them; the store deletes expired documents itself",
			"ttl", can.ttl, "partial", can.partial)
	}
	if d.facts.sharded {
		d.log.Info("MongoDB is sharded: shard every collection by ranges of {_id: 1}, or none", "database", d.db.Name())
	}
	return can, nil
}

// attempts is how often ensure tries to create an index that other servers drop meanwhile.
const attempts = 5

// ensure creates one index. It returns false if the server does not support it, does not
// permit it, or has an equivalent one under another name.
func (d *database) ensure(ctx context.Context, x index) (ok bool, err error) {
	accepted := false
	for range attempts {
		there, err := d.findIndex(ctx, x)
		if err != nil {
			return false, err
		}
		switch there {
		case same:
			return true, nil
		case other:
			err = d.withCollection(ctx, "drop the index "+x.name+" in", x.in, func(ctx context.Context, c *mongo.Collection) error {
				return ignoring(c.Indexes().DropOne(ctx, x.name), 26, 27) // NamespaceNotFound, IndexNotFound: another server dropped it
			})
			if err != nil {
				return false, err
			}
		}
		err = d.withCollection(ctx, "create the index "+x.name+" in", x.in, func(ctx context.Context, c *mongo.Collection) error {
			_, err := c.Indexes().CreateOne(ctx, x.model())
			return err
		})
		switch {
		case err == nil:
			accepted = true
			there, err = d.findIndex(ctx, x)
			if err != nil || there != missing {
				return there == same, err // other: the server ignored an option that it does not know
			}
		case has(err, 85): // IndexOptionsConflict: the same keys under another name
			d.log.Warn("an index that this store did not create prevents one of its own", "collection", x.in, "fields", strings.Join(x.fields, ","))
			return false, nil
		case indexUnsupported(err), unauthorized(err):
			return false, nil
		case !has(err, 68, 86, 276): // IndexAlreadyExists, IndexKeySpecsConflict, IndexBuildAborted: another server is creating it
			return false, err
		}
	}
	if accepted {
		return false, nil // the server accepts the index, but does not list it
	}
	return false, fmt.Errorf("create the index %s in %s: another server keeps deleting it", x.name, x.in)
}

// indexUnsupported reports whether a server does not support an index: NotImplemented,
// CommandNotFound, CannotCreateIndex, InvalidOptions, CommandNotSupported.
func indexUnsupported(err error) bool { return has(err, 238, 59, 67, 72, 115) }

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

// A presence is what exists under the name of an index.
type presence int

const (
	missing presence = iota
	same
	other
)

// A listedIndex is an index as a server lists it. Options that do not affect its readers are
// left out.
type listedIndex struct {
	Name    string        `bson:"name"`
	Keys    bson.D        `bson:"key"`
	Expires bson.RawValue `bson:"expireAfterSeconds"`
	Having  bson.D        `bson:"partialFilterExpression"`
	Unique  bool          `bson:"unique"`
}

func (d *database) findIndex(ctx context.Context, x index) (p presence, err error) {
	err = d.withCollection(ctx, "list the indexes of", x.in, func(ctx context.Context, c *mongo.Collection) error {
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
	if x.requiredField == "" {
		return len(l.Having) == 0
	}
	return fmt.Sprint(l.Having) == fmt.Sprint(x.filter())
}
