package origin

import "errors"

// ErrSafeMode is returned in Safe mode for requests that would irreversibly delete messages,
// entities, rules or keys. Nothing has changed.
var ErrSafeMode = errors.New("Safe mode is on: nothing is deleted, purged, cancelled or cleared.") //nolint:revive,staticcheck // shown to people as it is
