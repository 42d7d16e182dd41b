// Package storage opens a store by its URL. It is the one place that knows
// every driver.
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

// ErrURL is wrapped by the errors about a URL that names no store.
var ErrURL = errors.New("not the URL of a store")

// Bounds of Options.Lease.
const (
	DefaultLease = mongo.DefaultLease
	LeastLease   = mongo.LeastLease
)

// Options are what a store is opened with. Their zero value is right. All but
// Logger are for a store that servers share, and mean nothing to the others.
type Options struct {
	// Logger hears of what no caller can be told, such as a file that was
	// compacted. Nil: nobody does.
	Logger *slog.Logger
	// Clients are what stores share that one process opens. Nil: each has its own.
	Clients *Clients
	// Namespace is whose content it is. Empty: default.
	Namespace string
	// Lease is how long this server may be silent before others take the
	// namespace over, from LeastLease. Zero: DefaultLease.
	Lease time.Duration
	// Lost is how many opens in a row were lost to silence before they came to anything:
	// this one may be silent for longer, at first.
	Lost int
	// Owner is what others tell people of this server; Epoch is filled in.
	Owner engine.Owner
	// Process identifies this process over several opens: what it owned itself,
	// it need not wait for. Empty: every open is a stranger.
	Process string
	// Standby, if there is one, makes Open wait for as long as another server
	// owns the namespace. It is called when an owner is first seen and each time
	// it is another one, and must return quickly. Nil: Open fails with an
	// *engine.OwnedError.
	Standby func(engine.Owner)
	// Claim, if there is one, is asked before a namespace is taken that nobody has owned
	// for so long. While it says no, others may. gone is the Process of a former owner
	// that has been silent for too long; empty: it let go. It must return quickly.
	Claim func(free time.Duration, gone string) bool
	// HistoryFor is how long history is kept at the most, for stores that let
	// their server forget. Zero: for ever.
	HistoryFor time.Duration
}

// Clients are what stores of one server share to reach it; the zero value is ready.
type Clients = mongo.Clients

// Open opens the store that url names, making it if it is not there:
//
//	memory:                   nothing is kept when the process ends; memory is taken for it
//	sqlite:PATH               one file, relative to the working directory or absolute
//	mongodb://HOST/DATABASE   a MongoDB connection string; mongodb+srv: likewise
//
// One process at a time can have a file open. A namespace in MongoDB has one
// owner at a time, and servers that wait for it, see Options.Standby. Where
// nobody answers the error is engine.ErrUnreachable.
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
			return nil, fmt.Errorf("%w: %q names no file; write sqlite:PATH", ErrURL, url)
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
		Logger: o.Logger, Clients: o.Clients, Namespace: o.Namespace, Lease: o.Lease, Lost: o.Lost, Owner: o.Owner, Process: o.Process,
		Standby: o.Standby, Claim: o.Claim, HistoryFor: o.HistoryFor,
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Shared tells whether several servers may be started on url, one of which owns
// the namespace while the others stand by.
func Shared(url string) bool {
	scheme, _, _ := strings.Cut(strings.ToLower(url), ":")
	return scheme == "mongodb" || scheme == "mongodb+srv"
}
