// Package storage opens a store by its URL. It is the only package that imports every driver.
package storage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"mayfly/engine"
	"mayfly/storage/memory"
	"mayfly/storage/mongo"
	"mayfly/storage/sqlite"
)

// ErrURL is wrapped by errors about a URL that names no store.
var ErrURL = errors.New("not the URL of a store")

// Bounds of Options.Lease.
const (
	DefaultLease = mongo.DefaultLease
	MinLease     = mongo.MinLease
)

// Options configure Open. Their zero value is valid. All but Logger apply only to a store that
// servers share.
type Options struct {
	// Logger gets events that cannot be returned to a caller, such as the compaction of a file.
	// Nil disables logging.
	Logger *slog.Logger
	// Clients are shared by the stores that one process opens. Nil means that each has its own.
	Clients *Clients
	// Namespace is the name of the namespace. Empty means default.
	Namespace string
	// Lease is how long this server may be silent before another server takes the namespace
	// over, at least MinLease. Zero means DefaultLease.
	Lease time.Duration
	// LostOpens is how many opens in a row lost the namespace before their first commit. If it
	// is not zero, this open starts with a longer lease.
	LostOpens int
	// Owner describes this server to other servers. Its Epoch is ignored.
	Owner engine.Owner
	// Process identifies this process across several opens, so that it need not wait for the
	// lease of a store that it owned itself. Empty means a value unique to this open.
	Process string
	// Standby, if set, makes Open wait for as long as another server owns the namespace. It is
	// called when an owner is first seen and each time the owner changes, and must return
	// quickly. With nil, Open fails with an *engine.OwnedError.
	Standby func(engine.Owner)
	// Claim, if set, is called before Open takes a namespace that has had no owner for the
	// duration `free`. While Claim returns false, Open leaves the namespace to other servers.
	// `gone` is the Process of a former owner that has been silent for too long, or empty if the
	// owner released the namespace. Claim must return quickly.
	Claim func(free time.Duration, gone string) bool
	// HistoryRetention is how long history is kept at most, for stores whose server can expire it.
	// Zero means for ever.
	HistoryRetention time.Duration
}

// Clients are connections that the stores of one process share. The zero value is ready for use.
type Clients = mongo.Clients

// Open opens the store that url names, creating it if it does not exist:
//
//	memory:                   lost when the process ends; "memory" works, too
//	sqlite:PATH               one file, relative to the working directory or absolute
//	mongodb://HOST/DATABASE   a MongoDB connection string; mongodb+srv: works, too
//
// Only one process at a time can open a file. A namespace in MongoDB has one owner at a time,
// and other servers can wait for it, see Options.Standby. If no server answers, the error
// wraps engine.ErrUnreachable.
func Open(ctx context.Context, url string, o Options) (engine.Store, error) {
	scheme, rest, ok := strings.Cut(url, ":")
	if !ok && !strings.EqualFold(scheme, "memory") {
		return nil, fmt.Errorf("%w: %q has no scheme; write memory:, sqlite:PATH or mongodb://HOST/DATABASE", ErrURL, url)
	}
	switch strings.ToLower(scheme) {
	case "memory":
		if rest != "" {
			return nil, fmt.Errorf("%w: %q names something after memory:, which takes nothing", ErrURL, url)
		}
		return new(memory.Store), nil
	case "sqlite":
		if rest == "" {
			return nil, fmt.Errorf("%w: %q contains no file; write sqlite:PATH", ErrURL, url)
		}
		s, err := sqlite.Open(ctx, rest, sqlite.Options{Logger: o.Logger})
		if err != nil {
			return nil, err
		}
		return s, nil
	case "mongodb", "mongodb+srv":
		return openMongo(ctx, url, o)
	default:
		return nil, fmt.Errorf("%w: unknown scheme %q; write memory:, sqlite:PATH or mongodb://HOST/DATABASE", ErrURL, scheme)
	}
}

func openMongo(ctx context.Context, url string, o Options) (engine.Store, error) {
	s, err := mongo.Open(ctx, url, mongo.Options{
		Logger: o.Logger, Clients: o.Clients, Namespace: o.Namespace, Lease: o.Lease, LostOpens: o.LostOpens, Owner: o.Owner, Process: o.Process,
		Standby: o.Standby, Claim: o.Claim, HistoryRetention: o.HistoryRetention,
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Shared reports whether several servers may use url, one of which owns the namespace while
// the others stand by.
func Shared(url string) bool {
	scheme, _, _ := strings.Cut(strings.ToLower(url), ":")
	return scheme == "mongodb" || scheme == "mongodb+srv"
}
