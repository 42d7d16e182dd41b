package storage

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"mayfly/storage/sqlite"
)

// ErrNothingToCompact is wrapped by Compact's error for stores that have no file to shrink.
var ErrNothingToCompact = errors.New("there is nothing to compact")

// CompactResult is the result of Compact.
type CompactResult struct {
	Before, After int64 // size of the store in bytes
}

// Compact returns unused space in the store that url names to the file system. No server may
// own the store. Compact uses only Logger of o.
func Compact(ctx context.Context, url string, o Options) (c CompactResult, err error) {
	switch scheme, rest, _ := strings.Cut(url, ":"); strings.ToLower(scheme) {
	case "memory":
		return c, fmt.Errorf("%w in a memory store", ErrNothingToCompact)
	case "sqlite":
		if rest == "" {
			return c, missingFileError(url)
		}
		c.Before, c.After, err = sqlite.Compact(ctx, rest, sqlite.Options{Logger: o.Logger})
		return c, err
	case "mongodb", "mongodb+srv":
		return c, fmt.Errorf("%w in MongoDB, which manages its own disk space", ErrNothingToCompact)
	default:
		return c, unknownSchemeError(url)
	}
}
