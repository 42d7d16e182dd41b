package engine

import "errors"

// Unfinished is the kind of an entity that is none, but a mark: whoever fills
// the store that it is in has not come to the end. Restore refuses it, so that
// nobody serves a half for the whole.
const Unfinished EntityKind = 255

// ErrUnfinished says that a store has such a mark.
var ErrUnfinished = errors.New("a backup was not restored to its end here; restore it once more")
