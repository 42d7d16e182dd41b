package storage

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"mayfly/storage/sqlite"
)

// ErrNothingToCompact is wrapped by Compact for stores that have no room of
// their own to give back.
var ErrNothingToCompact = errors.New("there is nothing to compact")

// Compacted is what Compact did.
type Compacted struct {
	Before, After int64 // bytes that the store took
}

// Compact gives the room back that the store which url names does not need any
// more. No server may own it. Of o only Logger is used.
func Compact(ctx context.Context, url string, o Options) (c Compacted, err error) {
	switch scheme, rest, _ := strings.Cut(url, ":"); strings.ToLower(scheme) {
	case "memory":
		return c, fmt.Errorf("%w in memory, which ends with its server", ErrNothingToCompact)
	case "sqlite":
		if rest == "" {
			return c, noFile(url)
		}
		c.Before, c.After, err = sqlite.Compact(ctx, rest, sqlite.Options{Logger: o.Logger})
		return c, err
	case "mongodb", "mongodb+srv":
		return c, fmt.Errorf("%w in MongoDB, which sees to its room itself", ErrNothingToCompact)
	default:
		return c, noStore(url)
	}
}
