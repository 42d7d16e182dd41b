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

// Comments are the comments of structs by "Type" and of their fields by
// "Type.Field".
type Comments map[string]string

// ReadComments reads the comments in the Go files of folders, without tests.
func ReadComments(sources ...fs.FS) (Comments, error) {
	out := Comments{}
	for _, source := range sources {
		if err := out.read(source); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// read adds the comments of a folder.
func (w Comments) read(source fs.FS) error {
	names, err := fs.Glob(source, "*.go")
	if err != nil {
		return fmt.Errorf("find Go files: %w", err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := fs.ReadFile(source, name)
		if err != nil {
			return fmt.Errorf("read comments: %w", err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), path.Base(name), text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return fmt.Errorf("read comments: %w", err)
		}
		for _, d := range file.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.TYPE {
				w.add(g)
			}
		}
	}
	return nil
}

func (w Comments) add(g *ast.GenDecl) {
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
		w[t.Name.Name] = oneLine(doc)
		for _, f := range s.Fields.List {
			text := oneLine(f.Comment)
			if text == "" {
				text = oneLine(f.Doc)
			}
			for _, n := range f.Names {
				w[t.Name.Name+"."+n.Name] = text
			}
		}
	}
}

// oneLine returns a comment on one line.
func oneLine(c *ast.CommentGroup) string { return strings.Join(strings.Fields(c.Text()), " ") }
