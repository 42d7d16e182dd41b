package openapi

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strings"
)

// Words are the comments of structs by "Type" and of their fields by
// "Type.Field".
type Words map[string]string

// ReadWords reads them from the Go files of folders; tests are left out.
func ReadWords(sources ...fs.FS) (Words, error) {
	out := Words{}
	for _, source := range sources {
		if err := out.read(source); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// read takes the words of a folder in.
func (w Words) read(source fs.FS) error {
	names, err := fs.Glob(source, "*.go")
	if err != nil {
		return fmt.Errorf("look for Go files: %w", err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := fs.ReadFile(source, name)
		if err != nil {
			return fmt.Errorf("read words: %w", err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), path.Base(name), text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return fmt.Errorf("read words: %w", err)
		}
		for _, d := range file.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.TYPE {
				w.add(g)
			}
		}
	}
	return nil
}

func (w Words) add(g *ast.GenDecl) {
	for _, spec := range g.Specs {
		t, ok := spec.(*ast.TypeSpec)
		if !ok {
			continue
		}
		s, ok := t.Type.(*ast.StructType)
		if !ok {
			continue
		}
		doc := t.Doc
		if doc == nil && len(g.Specs) == 1 {
			doc = g.Doc
		}
		w[t.Name.Name] = line(doc)
		for _, f := range s.Fields.List {
			text := line(f.Comment)
			if text == "" {
				text = line(f.Doc)
			}
			for _, n := range f.Names {
				w[t.Name.Name+"."+n.Name] = text
			}
		}
	}
}

// line is a comment without its breaks.
func line(c *ast.CommentGroup) string { return strings.Join(strings.Fields(c.Text()), " ") }
