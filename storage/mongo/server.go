package mongo

import (
	"context"
	"errors"
	"iter"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// What a server can say besides success. Any other error means that nobody
// knows whether the change was made.
var (
	errTaken      = errors.New("there is a document with this _id")
	errUnwritable = errors.New("MongoDB takes no writes") // nothing was changed; the reason follows
	errRefused    = errors.New("MongoDB refuses")         // for good: not authorised, too old; the reason follows
)

// A server is all that the protocol asks of MongoDB: what every server of its
// kind does alike, alone, as a replica set or sharded, without transactions.
// What it relies on is one thing, that of several inserts of the same _id one
// succeeds. All changes are made by a majority and journaled before they
// return, and reads see what was so. Documents have a string as their _id;
// ranges are by its bytes.
type server interface {
	// Insert adds a document, or says errTaken. After any other error the
	// document may come to be there at any later time.
	Insert(ctx context.Context, in collection, doc bson.Raw) error
	// Get reads one document; nil if there is none.
	Get(ctx context.Context, in collection, id string) (bson.Raw, error)
	// Range reads documents from one _id to before another, in order or the
	// other way round; at most limit of them, if limit is not zero. What it
	// yields is good until the next step.
	Range(ctx context.Context, in collection, r span) iter.Seq2[bson.Raw, error]
	// Apply makes changes that are good in any order and any number of times.
	// After an error some of them may have been made, or may come to be made.
	Apply(ctx context.Context, in collection, changes []change) error
	// Delete removes the documents with these _ids; those that are not there are
	// as good as removed.
	Delete(ctx context.Context, in collection, ids []string) error
	// Purge removes those tombstones of a range that need not be kept at an
	// instant any more. However late it comes, what took the place of one stays.
	Purge(ctx context.Context, in collection, r span, at time.Time) error
	// Clear removes a field from those documents of a range that have it.
	Clear(ctx context.Context, in collection, r span, field string) error
}

// A span is a range of _ids, and how it is read.
type span struct {
	from, to  string // from is in it, to is not
	backwards bool
	limit     int
	fields    []string // only these and _id; nil: all
	match     bson.D   // equality of top-level fields besides; nil: any
}

// A change puts a document in place of one of a lower version, or where there is
// none. One of the same or a higher version stays: a late writer loses.
type change struct {
	id      string
	version int64    // the document's field "v"
	doc     bson.Raw // with _id and v
	// insert means that the document, once there, is never another one: it is
	// inserted, and one that is there already is as good.
	insert bool
}

// A collection is a name in the database.
type collection string

// The collections. See doc.go for what is in them.
const (
	owners   collection = "owners"
	journal  collection = "journal"
	parts    collection = "parts"
	entities collection = "entities"
	rules    collection = "rules"
	meters   collection = "meters"
	sessions collection = "sessions"
	seen     collection = "seen"
	messages collection = "messages"
	contents collection = "contents"
	bodies   collection = "bodies"
	large    collection = "large"
	chunks   collection = "chunks"
	settings collection = "settings" // the store's own
	// What the namespace keeps, engine.Setting.
	kept collection = "namespaceSettings"
	// What was seen up to where is gone.
	forgotten collection = "forgotten"
	history   collection = "history"
)
