package access

import "errors"

// ErrSafe is returned in Safe mode for what would do away with messages, entities,
// rules or keys for good (dashboard.md §4). Nothing has changed.
var ErrSafe = errors.New("Safe mode is on: nothing is deleted, purged, cancelled or cleared.") //nolint:revive,staticcheck // shown to people as it is
