package page

// A SearchChip is a term of a query and the address of the query without it.
type SearchChip struct{ Term, Without string }

// The query parameters of a search.
const (
	SearchText  = "q"
	SearchAfter = "after" // where to continue
	SearchSo    = "so"    // counts scanned, total and found so far
)
