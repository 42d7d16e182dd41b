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

// A database is a server reached through the driver. Made by connect; safe for
// concurrent use. The deadline of an operation is that of its context, and
// nothing but a read is tried twice: what an error says is of one attempt.
//
// Each operation has a session of its own, in which it comes after all that had
// answered this process before. So a member that has not heard of an election,
// and a majority that is yet to see a document that was just refused as a
// duplicate, are waited for instead of believed.
type database struct {
	client *pool
	db     *mongo.Database
	facts  facts
	log    *slog.Logger

	mu     sync.Mutex
	seen   *bson.Timestamp // guarded by mu; nil: the server has no such time
	closed bool            // guarded by mu
}

var _ server = (*database)(nil)

const (
	// A document may have 16 MiB; some of it is left for what servers add.
	maxDocument = 16<<20 - 64<<10
	// Bulks are kept to sizes that leave room for others between them.
	maxBulk      = 1000
	maxBulkBytes = 16 << 20
	batchSize    = 1000
)

// close gives the client back, once.
func (d *database) close(ctx context.Context) error {
	d.mu.Lock()
	closed := d.closed
	d.closed = true
	d.mu.Unlock()
	if closed {
		return nil
	}
	return d.client.giveBack(ctx)
}

// session starts a session; end keeps what was seen in it.
func (d *database) session(ctx context.Context) (_ context.Context, end func(), err error) {
	if !d.facts.sessions { // it is one server that answers in order
		return ctx, func() {}, nil
	}
	s, err := d.client.StartSession(options.Session().SetCausalConsistency(true))
	if err != nil {
		return nil, nil, err
	}
	d.mu.Lock()
	seen := d.seen
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
			if d.seen == nil || t.After(*d.seen) {
				d.seen = t
			}
			d.mu.Unlock()
		}
		s.EndSession(ctx)
	}, nil
}

// do runs an operation in a session and tells its error.
func (d *database) do(ctx context.Context, what string, in collection, f func(context.Context, *mongo.Collection) error) error {
	ctx, end, err := d.session(ctx)
	if err == nil {
		err = f(ctx, d.db.Collection(string(in)))
		end()
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", what, in, told(err))
	}
	return nil
}

func (d *database) Insert(ctx context.Context, in collection, doc bson.Raw) error {
	return d.do(ctx, "insert into", in, func(ctx context.Context, c *mongo.Collection) error {
		return insertInto(ctx, c, doc)
	})
}

func insertInto(ctx context.Context, c *mongo.Collection, doc bson.Raw) error {
	if err := fits(doc); err != nil {
		return err
	}
	_, err := c.InsertOne(ctx, doc)
	if mongo.IsDuplicateKeyError(err) {
		return fmt.Errorf("%w: %w", errTaken, err)
	}
	return err
}

// fits refuses what no server takes before it is sent: some drop the connection
// over it, which looks like a network to be tried again.
func fits(doc bson.Raw) error {
	if len(doc) > maxDocument {
		return fmt.Errorf("%w a document of %d bytes, more than %d", errRefused, len(doc), maxDocument)
	}
	return nil
}

func (d *database) Get(ctx context.Context, in collection, id string) (doc bson.Raw, err error) {
	err = d.do(ctx, "read", in, func(ctx context.Context, c *mongo.Collection) error {
		got, err := c.FindOne(ctx, bson.D{{Key: "_id", Value: id}}).Raw()
		if errors.Is(err, mongo.ErrNoDocuments) {
			return nil
		}
		doc = bytes.Clone(got)
		return err
	})
	return doc, err
}

func (d *database) Range(ctx context.Context, in collection, r span) iter.Seq2[bson.Raw, error] {
	return func(yield func(bson.Raw, error) bool) {
		err := d.do(ctx, "read", in, func(ctx context.Context, c *mongo.Collection) error {
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

// closeCursor frees what the server holds for a reader that may have gone.
func closeCursor(ctx context.Context, c *mongo.Cursor) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	_ = c.Close(ctx) //nolint:errcheck // the server forgets it by itself in time
}

func (r span) filter() bson.D {
	return append(bson.D{{Key: "_id", Value: bson.D{{Key: "$gte", Value: r.from}, {Key: "$lt", Value: r.to}}}}, r.match...)
}

func (r span) options() *options.FindOptionsBuilder {
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
		err := d.do(ctx, "delete from", in, func(ctx context.Context, c *mongo.Collection) error {
			_, err := c.BulkWrite(ctx, models, options.BulkWrite().SetOrdered(false))
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *database) Purge(ctx context.Context, in collection, r span, at time.Time) error {
	return d.do(ctx, "delete from", in, func(ctx context.Context, c *mongo.Collection) error {
		over := append(r.filter(), bson.E{Key: "gone", Value: true}, bson.E{Key: "purgeAt", Value: bson.D{{Key: "$lte", Value: at}}})
		_, err := c.DeleteMany(ctx, over)
		return err
	})
}

func (d *database) Clear(ctx context.Context, in collection, r span, field string) error {
	return d.do(ctx, "update", in, func(ctx context.Context, c *mongo.Collection) error {
		having := append(r.filter(), bson.E{Key: field, Value: bson.D{{Key: "$exists", Value: true}}})
		_, err := c.UpdateMany(ctx, having, bson.D{{Key: "$unset", Value: bson.D{{Key: field, Value: ""}}}})
		return err
	})
}

// told says which of a server's errors it is that the driver returned. Only what
// certainly changed nothing is told apart; a step-down or a shutdown may come
// after the change.
func told(err error) error {
	if _, ok := errors.AsType[mongo.ServerError](err); !ok || errors.Is(err, errTaken) || concern(err) != nil {
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

// concern is what became of a change's majority; nil: nothing was said of it.
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
		e.HasErrorCode(121) || // DocumentValidationFailure: somebody set a validator
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
