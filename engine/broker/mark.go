package broker

import (
	"fmt"
	"strconv"
	"strings"

	"mayfly/engine"
)

// A Mark is where a search stands: at the messages of a place from a number on.
type Mark struct {
	Path engine.Path // empty: before all of them
	Seq  engine.Seq
}

// String is what ParseMark reads; empty for the zero Mark.
func (m Mark) String() string {
	if m.Path == "" {
		return ""
	}
	return strconv.FormatInt(int64(m.Seq), 10) + "@" + string(m.Path)
}

// ParseMark reads what String writes. The error is engine.ErrArgument. That a
// place is not there any more is none: a search goes on behind it.
func ParseMark(s string) (Mark, error) {
	if s == "" {
		return Mark{}, nil
	}
	seq, path, ok := strings.Cut(s, "@")
	n, err := strconv.ParseInt(seq, 10, 64)
	if !ok || path == "" || len(path) > 1000 || err != nil || n < 1 {
		return Mark{}, &engine.Refusal{Kind: engine.ErrArgument, SubCode: 40000, Text: fmt.Sprintf("%q is not where a search can go on.", strings.ToValidUTF8(s[:min(len(s), 80)], ""))}
	}
	return Mark{Path: engine.CanonicalPath(path), Seq: engine.Seq(n)}, nil
}
