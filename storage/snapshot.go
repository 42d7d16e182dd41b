package storage

import (
	"context"
	"fmt"
	"io"
	"iter"
	"strings"

	"mayfly/engine"
	"mayfly/storage/mongo"
	"mayfly/storage/sqlite"
)

// A Snapshot is a store as it was at one moment, read without owning it. It is for one
// goroutine.
type Snapshot interface {
	// Load yields what engine.Store.Load would.
	Load(ctx context.Context) iter.Seq2[engine.Record, error]
	// Body opens the body of a content that Load has yielded, even before Load yields the next
	// record; the error is engine.ErrMessageNotFound if there is none.
	Body(ctx context.Context, k engine.Key) (io.ReadSeekCloser, error)
	// QueryEvents yields the history, newest first. It may include events that are later than the
	// records.
	QueryEvents(ctx context.Context, q engine.HistoryQuery) iter.Seq2[engine.HistoryEvent, error]
	// Epoch returns the epoch of the last commit; valid once Load has yielded.
	Epoch() uint64
	Close() error
}

// OpenSnapshot opens the store that url names for reading. A server may own the store, and may start
// or stop meanwhile. OpenSnapshot does not create a missing store. It uses only Logger, Clients and
// Namespace of o.
func OpenSnapshot(ctx context.Context, url string, o Options) (Snapshot, error) {
	switch scheme, rest, _ := strings.Cut(url, ":"); strings.ToLower(scheme) {
	case "memory":
		return nil, fmt.Errorf("%w to read: data in memory can only be read by its server", ErrURL)
	case "sqlite":
		if rest == "" {
			return nil, missingFileError(url)
		}
		l, err := sqlite.OpenSnapshot(ctx, rest, sqlite.Options{Logger: o.Logger})
		if err != nil {
			return nil, err
		}
		return l, nil
	case "mongodb", "mongodb+srv":
		l, err := mongo.OpenSnapshot(ctx, url, mongo.Options{Logger: o.Logger, Clients: o.Clients, Namespace: o.Namespace})
		if err != nil {
			return nil, err
		}
		return l, nil
	default:
		return nil, unknownSchemeError(url)
	}
}

func missingFileError(url string) error {
	return fmt.Errorf("%w: %q contains no file; write sqlite:PATH", ErrURL, url)
}

// unknownSchemeError returns the error for a URL with an unknown scheme. It quotes only the scheme,
// because the URL may contain a password.
func unknownSchemeError(url string) error {
	if scheme, _, ok := strings.Cut(url, ":"); ok {
		return fmt.Errorf("%w: unknown scheme %q; write sqlite:PATH or mongodb://HOST/DATABASE", ErrURL, scheme)
	}
	return fmt.Errorf("%w: it has no scheme; write sqlite:PATH or mongodb://HOST/DATABASE", ErrURL)
}

// Kind returns the kind of store that url names: memory, sqlite or mongodb, or "" for other
// URLs.
func Kind(url string) string {
	switch scheme, _, _ := strings.Cut(strings.ToLower(url), ":"); scheme {
	case "memory", "sqlite", "mongodb":
		return scheme
	case "mongodb+srv":
		return "mongodb"
	default:
		return ""
	}
}
