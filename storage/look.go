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

// A Snapshot is a store as it was at one moment, read by somebody who does not
// own it. It is for one goroutine.
type Snapshot interface {
	// Load yields what engine.Store.Load would.
	Load(ctx context.Context) iter.Seq2[engine.Record, error]
	// Body opens the body of a content that Load has yielded, also before it
	// yields the next record; engine.ErrMessageNotFound if there is none.
	Body(ctx context.Context, k engine.Key) (io.ReadSeekCloser, error)
	// Past yields the history, newest first. It may be ahead of the records by
	// what happened since.
	Past(ctx context.Context, q engine.PastQuery) iter.Seq2[engine.PastEvent, error]
	// Epoch is that of the last commit there is; good once Load has yielded.
	Epoch() uint64
	Close() error
}

// Look reads the store that url names, beside the server that owns it if there
// is one: that one goes on, starts or stops as if nobody looked. A store that is
// not there is not made. Of o only Logger, Clients and Namespace are used.
func Look(ctx context.Context, url string, o Options) (Snapshot, error) {
	switch scheme, rest, _ := strings.Cut(url, ":"); strings.ToLower(scheme) {
	case "memory":
		return nil, fmt.Errorf("%w to look at: what a server keeps in memory only that server can show", ErrURL)
	case "sqlite":
		if rest == "" {
			return nil, noFile(url)
		}
		l, err := sqlite.Look(ctx, rest, sqlite.Options{Logger: o.Logger})
		if err != nil {
			return nil, err
		}
		return l, nil
	case "mongodb", "mongodb+srv":
		l, err := mongo.Look(ctx, url, mongo.Options{Logger: o.Logger, Clients: o.Clients, Namespace: o.Namespace})
		if err != nil {
			return nil, err
		}
		return l, nil
	default:
		return nil, noStore(url)
	}
}

func noFile(url string) error {
	return fmt.Errorf("%w: %q names no file; write sqlite:PATH", ErrURL, url)
}

// noStore refuses a URL without showing more of it than its scheme: there may be
// a password in it.
func noStore(url string) error {
	if scheme, _, ok := strings.Cut(url, ":"); ok {
		return fmt.Errorf("%w: unknown scheme %q; write sqlite:PATH or mongodb://HOST/DATABASE", ErrURL, scheme)
	}
	return fmt.Errorf("%w: it has no scheme; write sqlite:PATH or mongodb://HOST/DATABASE", ErrURL)
}

// Kind is the word for the kind of store that url names: memory, sqlite or
// mongodb; empty for what names none.
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
