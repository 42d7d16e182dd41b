package main_test

import (
	"go/doc/comment"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestWhereThingsAre reads the package comment of engine/doc.go. The glossary is in alphabetical
// order. The table lists each thing once, with files and folders that exist.
func TestWhereThingsAre(t *testing.T) {
	terms := docTable(t, "Glossary")
	for i, row := range terms[1:] {
		if before := terms[i][0]; strings.ToLower(before) >= strings.ToLower(row[0]) {
			t.Errorf("glossary: %q is not alphabetical after %q", row[0], before)
		}
	}
	seen := map[string]bool{}
	for _, row := range docTable(t, "Where things are") {
		if seen[row[0]] {
			t.Errorf("%q is in the table twice", row[0])
		}
		seen[row[0]] = true
		for name := range strings.SplitSeq(row[1], ", ") {
			if _, err := os.Stat(filepath.Join("../..", filepath.FromSlash(name))); err != nil || !filepath.IsLocal(name) {
				t.Errorf("%s is in %q, which is not in the tree", row[0], name)
			}
		}
	}
}

var twoColumns = regexp.MustCompile(`^(\S+(?: \S+)*) {2,}(\S.*)$`)

// docTable returns the rows of the preformatted block under a heading of engine/doc.go.
func docTable(t *testing.T, heading string) (rows [][2]string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../engine/doc.go", nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	content := new(comment.Parser).Parse(file.Doc.Text()).Content
	at := slices.IndexFunc(content, func(b comment.Block) bool {
		h, ok := b.(*comment.Heading)
		return ok && slices.Equal(h.Text, []comment.Text{comment.Plain(heading)})
	})
	for _, b := range content[at+1:] {
		if _, ok := b.(*comment.Heading); ok || at < 0 {
			break
		}
		code, ok := b.(*comment.Code)
		if !ok {
			continue
		}
		for line := range strings.Lines(code.Text) {
			row := twoColumns.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
			if row == nil {
				t.Fatalf("engine/doc.go: %q is not a row of two columns", line)
			}
			rows = append(rows, [2]string{row[1], row[2]})
		}
	}
	if len(rows) < 20 {
		t.Fatalf("engine/doc.go has %d rows under %q", len(rows), heading)
	}
	return rows
}
