package mongo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// A database is a server reached through the driver. connect creates one; it is safe for
// concurrent use. The deadline of an operation is that of its context, and only reads are
// retried: the error of a write is that of one attempt.
//
// Each operation has a causally consistent session of its own, which begins at the latest
// operation time that this process has received. So a read waits until the server has caught
// up with that time, instead of returning old data: after an election, or when an insert has
// just been refused because of a document that a majority does not have yet.
type database struct {
	client *sharedClient
	db     *mongo.Database
	facts  facts
	log    *slog.Logger

	mu            sync.Mutex
	operationTime *bson.Timestamp // guarded by mu; nil means that the server reports no operation time
	closed        bool            // guarded by mu
}

var _ server = (*database)(nil)

const (
	// The limit of a document is 16 MiB; some of it is left for fields that servers add.
	maxDocument = 16<<20 - 64<<10
	// Bulks are limited in size so that other requests run between them.
	maxBulk      = 1000
	maxBulkBytes = 16 << 20
	batchSize    = 1000
)

// close releases the client. A second close does nothing.
func (d *database) close(ctx context.Context) error {
	d.mu.Lock()
	closed := d.closed
	d.closed = true
	d.mu.Unlock()
	if closed {
		return nil
	}
	return d.client.release(ctx)
}

// session starts a session, and returns a context for the operations in it. end records the
// session's operation time and ends it.
func (d *database) session(ctx context.Context) (_ context.Context, end func(), err error) {
	if !d.facts.sessions { // a single server, which answers in order
		return ctx, func() {}, nil
	}
	s, err := d.client.StartSession(options.Session().SetCausalConsistency(true))
	if err != nil {
		return nil, nil, err
	}
	d.mu.Lock()
	seen := d.operationTime
	d.mu.Unlock()
	if seen != nil {
		if err := s.AdvanceOperationTime(seen); err != nil {
			s.EndSession(ctx)
			return nil, nil, err
		}
	}
	return mongo.NewSessionContext(ctx, s), func() {
		if t := s.OperationTime(); t != nil {
			d.mu.Lock()
			if d.operationTime == nil || t.After(*d.operationTime) {
				d.operationTime = t
			}
			d.mu.Unlock()
		}
		s.EndSession(ctx)
	}, nil
}

// withCollection runs f, an operation on a collection, in a session and classifies its error.
// `what` describes the operation in the error.
func (d *database) withCollection(ctx context.Context, what string, in collection, f func(context.Context, *mongo.Collection) error) error {
	ctx, end, err := d.session(ctx)
	if err == nil {
		err = f(ctx, d.db.Collection(string(in)))
		end()
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", what, in, classifyError(err))
	}
	return nil
}

func (d *database) Insert(ctx context.Context, in collection, doc bson.Raw) error {
	return d.withCollection(ctx, "insert into", in, func(ctx context.Context, c *mongo.Collection) error {
		return insertInto(ctx, c, doc)
	})
}

func insertInto(ctx context.Context, c *mongo.Collection, doc bson.Raw) error {
	if err := fits(doc); err != nil {
		return err
	}
	_, err := c.InsertOne(ctx, doc)
	if mongo.IsDuplicateKeyError(err) {
		return fmt.Errorf("%w: %w", errDuplicateID, err)
	}
	return err
}

// fits refuses documents that no server accepts before they are sent: some servers drop the
// connection over them, which looks like a network error worth a retry.
func fits(doc bson.Raw) error {
	if len(doc) > maxDocument {
		return fmt.Errorf("%w a document of %d bytes, more than %d", errRefused, len(doc), maxDocument)
	}
	return nil
}

func (d *database) Get(ctx context.Context, in collection, id string) (doc bson.Raw, err error) {
	err = d.withCollection(ctx, "read", in, func(ctx context.Context, c *mongo.Collection) error {
		got, err := c.FindOne(ctx, bson.D{{Key: "_id", Value: id}}).Raw()
		if errors.Is(err, mongo.ErrNoDocuments) {
			return nil
		}
		doc = bytes.Clone(got)
		return err
	})
	return doc, err
}

func (d *database) Range(ctx context.Context, in collection, r idRange) iter.Seq2[bson.Raw, error] {
	return func(yield func(bson.Raw, error) bool) {
		err := d.withCollection(ctx, "read", in, func(ctx context.Context, c *mongo.Collection) error {
			cursor, err := c.Find(ctx, r.filter(), r.options())
			if err != nil {
				return err
			}
			defer closeCursor(ctx, cursor)
			for cursor.Next(ctx) {
				if !yield(cursor.Current, nil) {
					return nil
				}
			}
			return cursor.Err()
		})
		if err != nil {
			yield(nil, err)
		}
	}
}

// closeCursor frees the server's cursor, even if the caller's context has ended.
func closeCursor(ctx context.Context, c *mongo.Cursor) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	_ = c.Close(ctx) //nolint:errcheck // the server times the cursor out by itself
}

func (r idRange) filter() bson.D {
	return append(bson.D{{Key: "_id", Value: bson.D{{Key: "$gte", Value: r.from}, {Key: "$lt", Value: r.to}}}}, r.match...)
}

func (r idRange) options() *options.FindOptionsBuilder {
	order := 1
	if r.backwards {
		order = -1
	}
	o := options.Find().SetSort(bson.D{{Key: "_id", Value: order}}).SetBatchSize(batchSize)
	if r.limit > 0 {
		o.SetLimit(int64(r.limit))
	}
	if r.fields != nil {
		fields := bson.D{{Key: "_id", Value: 1}}
		for _, f := range r.fields {
			fields = append(fields, bson.E{Key: f, Value: 1})
		}
		o.SetProjection(fields)
	}
	return o
}

func (d *database) Delete(ctx context.Context, in collection, ids []string) error {
	for len(ids) > 0 {
		some := ids[:min(len(ids), maxBulk)]
		ids = ids[len(some):]
		models := make([]mongo.WriteModel, len(some))
		for i, id := range some {
			models[i] = mongo.NewDeleteOneModel().SetFilter(bson.D{{Key: "_id", Value: id}})
		}
		err := d.withCollection(ctx, "delete from", in, func(ctx context.Context, c *mongo.Collection) error {
			_, err := c.BulkWrite(ctx, models, options.BulkWrite().SetOrdered(false))
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *database) Purge(ctx context.Context, in collection, r idRange, at time.Time) error {
	return d.withCollection(ctx, "delete from", in, func(ctx context.Context, c *mongo.Collection) error {
		over := append(r.filter(), bson.E{Key: "gone", Value: true}, bson.E{Key: "purgeAt", Value: bson.D{{Key: "$lte", Value: at}}})
		_, err := c.DeleteMany(ctx, over)
		return err
	})
}

func (d *database) Clear(ctx context.Context, in collection, r idRange, field string) error {
	return d.withCollection(ctx, "update", in, func(ctx context.Context, c *mongo.Collection) error {
		having := append(r.filter(), bson.E{Key: field, Value: bson.D{{Key: "$exists", Value: true}}})
		_, err := c.UpdateMany(ctx, having, bson.D{{Key: "$unset", Value: bson.D{{Key: field, Value: ""}}}})
		return err
	})
}

// classifyError wraps an error of the driver in errUnwritable or errRefused if the request
// certainly changed nothing. Errors about a step-down or a shutdown are not wrapped, because
// they may come after the change.
func classifyError(err error) error {
	if _, ok := errors.AsType[mongo.ServerError](err); !ok || errors.Is(err, errDuplicateID) || concern(err) != nil {
		return err
	}
	switch {
	case unwritable(err):
		return fmt.Errorf("%w: %w", errUnwritable, err)
	case refused(err):
		return fmt.Errorf("%w: %w", errRefused, err)
	}
	return err
}

// concern returns the write concern error in err, or nil if there is none.
func concern(err error) *mongo.WriteConcernError {
	if e, ok := errors.AsType[mongo.WriteException](err); ok {
		return e.WriteConcernError
	}
	if e, ok := errors.AsType[mongo.BulkWriteException](err); ok {
		return e.WriteConcernError
	}
	return nil
}

func unwritable(err error) bool {
	e, ok := errors.AsType[mongo.ServerError](err)
	return ok && (e.HasErrorCode(14031) || // OutOfDiskSpace
		e.HasErrorCode(371) || // UserWritesBlocked: by an operator, for a migration
		e.HasErrorCodeWithMessage(20, "read-only mode") || // IllegalOperation
		e.HasErrorCodeWithMessage(8000, "quota")) // AtlasError
}

func refused(err error) bool {
	e, ok := errors.AsType[mongo.ServerError](err)
	return ok && (unauthorized(err) || unauthenticated(err) ||
		e.HasErrorCode(121) || // DocumentValidationFailure: the collection has a validator
		e.HasErrorCode(166) || // CommandNotSupportedOnView: a view has the collection's name
		e.HasErrorCode(10334)) // BSONObjectTooLarge
}

func unauthorized(err error) bool {
	e, ok := errors.AsType[mongo.ServerError](err)
	return ok && e.HasErrorCode(13)
}

func unauthenticated(err error) bool {
	e, ok := errors.AsType[mongo.ServerError](err)
	return ok && (e.HasErrorCode(18) || e.HasErrorCodeWithMessage(8000, "auth"))
}
