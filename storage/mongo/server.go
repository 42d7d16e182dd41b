package mongo

import (
	"context"
	"errors"
	"iter"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// The definite errors of a server. After any other error it is unknown whether the change was
// made.
var (
	errDuplicateID = errors.New("a document with this _id exists")
	errUnwritable  = errors.New("MongoDB accepts no writes")   // nothing was changed; wraps the reason
	errRefused     = errors.New("MongoDB refuses the request") // permanent, such as not authorized or too old; wraps the reason
)

// A server has the operations of MongoDB that the protocol uses. Every compatible server
// supports them, standalone, as a replica set or sharded, without transactions. The protocol
// relies on one guarantee: of several inserts of the same _id, exactly one succeeds. All
// changes are acknowledged by a majority and journaled before they return, and reads see only
// such changes. Documents have a string as their _id; ranges compare its bytes.
type server interface {
	// Insert adds a document; the error is errDuplicateID if the _id exists. After any other error
	// the document may still appear at any later time.
	Insert(ctx context.Context, in collection, doc bson.Raw) error
	// Get returns a document, or nil if there is none.
	Get(ctx context.Context, in collection, id string) (bson.Raw, error)
	// Range yields the documents of r in the order of their _ids, or backwards, and at most
	// r.limit of them unless that is zero. A document is valid until the next one is yielded.
	Range(ctx context.Context, in collection, r idRange) iter.Seq2[bson.Raw, error]
	// Apply makes changes that are idempotent in any order. After an error some of them may
	// have been made, or may still be made.
	Apply(ctx context.Context, in collection, changes []change) error
	// Delete removes the documents with these _ids; missing ones are not an error.
	Delete(ctx context.Context, in collection, ids []string) error
	// Purge removes the tombstones of a range whose purgeAt is before at. However late it
	// runs, a document that replaced a tombstone stays.
	Purge(ctx context.Context, in collection, r idRange, at time.Time) error
	// Clear removes a field from the documents of a range that have it.
	Clear(ctx context.Context, in collection, r idRange, field string) error
}

// An idRange is a range of _ids, and how to read it.
type idRange struct {
	from, to  string // from is included, to is not
	backwards bool
	limit     int
	fields    []string // only these and _id; nil means all
	match     bson.D   // values that top-level fields must have; nil means any
}

// A change replaces a document of a lower version, or inserts a missing one. A document of the
// same or a higher version stays: a late writer loses.
type change struct {
	id      string
	version int64    // the document's field "v"
	doc     bson.Raw // with _id and v
	// insert means that the document never changes once it exists: it is only inserted, and
	// finding it there is success.
	insert bool
}

// A collection is a name in the database.
type collection string

// The collections. See doc.go for their contents.
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
	settings collection = "settings" // of the store itself
	// Settings of the namespace, engine.Setting.
	namespaceSettings collection = "namespaceSettings"
	// Which documents of seen are dropped.
	seenDropsColl collection = "forgotten"
	history       collection = "history"
)
