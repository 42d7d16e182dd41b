package broker

import (
	"strconv"
	"strings"

	"mayfly/engine"
)

// A SearchCursor is the position of a search: a subqueue, and a sequence number in it.
type SearchCursor struct {
	Path engine.Path // empty means the beginning
	Seq  engine.Seq
}

// String returns the form that ParseSearchCursor parses, or "" for the zero SearchCursor.
func (m SearchCursor) String() string {
	if m.Path == "" {
		return ""
	}
	return strconv.FormatInt(int64(m.Seq), 10) + "@" + string(m.Path)
}

// ParseSearchCursor parses the result of String. The error is engine.ErrArgument. A subqueue that
// no longer exists is no error: the search continues with the next one.
func ParseSearchCursor(s string) (SearchCursor, error) {
	if s == "" {
		return SearchCursor{}, nil
	}
	seq, path, ok := strings.Cut(s, "@")
	n, err := strconv.ParseInt(seq, 10, 64)
	if !ok || path == "" || len(path) > 1000 || err != nil || n < 1 {
		return SearchCursor{}, engine.Refuse(engine.ErrArgument, "%q is not a valid continuation of a search. Start the search again.", strings.ToValidUTF8(s[:min(len(s), 80)], ""))
	}
	return SearchCursor{Path: engine.CanonicalPath(path), Seq: engine.Seq(n)}, nil
}
