package main_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"unicode"
	"unicode/utf8"
)

// A commentedFile is a parsed Go file, for checks of its comments.
type commentedFile struct {
	name string // slash-separated, from the top of the tree
	fset *token.FileSet
	ast  *ast.File
}

// A declaration is a package-level name with its fields and methods.
type declaration struct {
	members map[string]bool
	isType  bool
	open    bool // it may have other members, for instance those of an embedded type
}

// A declaredNames maps the package-level names of a package and its tests to their declarations.
type declaredNames map[string]*declaration

// commentViolations returns a line for each comment that refers to a name that does not exist,
// and for each doc comment that begins with another name than that of its declaration. Comments
// of templ files are checked in the Go files generated from them.
func commentViolations(tree fs.FS) ([]string, error) {
	files, err := parseComments(tree)
	if err != nil {
		return nil, err
	}
	packages := map[string]declaredNames{} // by name; packages of the same name are one
	for _, f := range files {
		p := packageName(f.ast)
		if packages[p] == nil {
			packages[p] = declaredNames{}
		}
		packages[p].addFile(f.ast)
	}
	var found []string
	for _, f := range files {
		for _, v := range slices.Concat(wrongReferences(f.ast, packages), wrongDocs(f.ast, strings.HasSuffix(f.name, "_test.go"), packages[packageName(f.ast)])) {
			p := f.fset.Position(v.pos)
			found = append(found, fmt.Sprintf("%s:%d: %s", f.name, p.Line, v.text))
		}
	}
	return found, nil
}

// parseComments parses all Go files of the tree, in the order of their names.
func parseComments(tree fs.FS) ([]*commentedFile, error) {
	var files []*commentedFile
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ignored(name, d):
			return fs.SkipDir
		case !d.IsDir() && path.Ext(name) == ".go":
			files = append(files, &commentedFile{name: name, fset: token.NewFileSet()})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	errs := make([]error, len(files))
	var wg sync.WaitGroup
	for part := range 4 {
		wg.Go(func() {
			for i := part; i < len(files); i += 4 {
				f := files[i]
				text, err := fs.ReadFile(tree, f.name)
				if err == nil {
					f.ast, err = parser.ParseFile(f.fset, f.name, text, parser.ParseComments|parser.SkipObjectResolution)
				}
				errs[i] = err
			}
		})
	}
	wg.Wait()
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
		return nil, errs[i]
	}
	return files, nil
}

// packageName returns the name of the package that a file belongs to or tests.
func packageName(f *ast.File) string { return strings.TrimSuffix(f.Name.Name, "_test") }

// get returns the declaration of a name, adding it if it does not exist.
func (n declaredNames) get(name string) *declaration {
	if n[name] == nil {
		n[name] = &declaration{members: map[string]bool{}}
	}
	return n[name]
}

// addFile adds the package-level names of a file.
func (n declaredNames) addFile(f *ast.File) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if recv := receiverType(d); recv != "" {
				n.get(recv).members[d.Name.Name] = true
			} else {
				n.get(d.Name.Name)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				n.addSpec(s)
			}
		}
	}
}

func (n declaredNames) addSpec(s ast.Spec) {
	switch s := s.(type) {
	case *ast.ValueSpec:
		for _, name := range s.Names {
			n.get(name.Name).open = true
		}
	case *ast.TypeSpec:
		d := n.get(s.Name.Name)
		d.isType = true
		var fields *ast.FieldList
		switch t := s.Type.(type) {
		case *ast.StructType:
			fields = t.Fields
		case *ast.InterfaceType:
			fields = t.Methods
		case *ast.Ident, *ast.SelectorExpr, *ast.IndexExpr, *ast.IndexListExpr:
			d.open = true // it has the members of another type
		}
		if fields == nil {
			return
		}
		for _, f := range fields.List {
			d.open = d.open || len(f.Names) == 0 // an embedded field has no names
			for _, name := range f.Names {
				d.members[name.Name] = true
			}
		}
	}
}

// receiverType returns the name of the type of a method, or "" for a function.
func receiverType(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return ""
	}
	t := d.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

// A commentViolation is an error in a comment, and its position.
type commentViolation struct {
	pos  token.Pos
	text string
}

// qualifiedName matches a name with its package and perhaps a member, such as engine.Namespace.Audit.
// memberName matches a member with its type, or a file.
var (
	qualifiedName = regexp.MustCompile(`(?:^|[^\w./-])(?:[a-z][a-z0-9]*/)*([a-z][a-z0-9]*)\.([A-Z]\w*)(?:\.([A-Za-z]\w*))?`)
	memberName    = regexp.MustCompile(`(?:^|[^\w./-])([A-Za-z]\w*)\.([A-Za-z]\w*)`)
	fileType      = regexp.MustCompile(`^(go|md|js|json|pem|templ|css)$`)
)

// wrongReferences finds references in comments to names that a package of this module does not
// have, or that a type of the same package does not have.
func wrongReferences(f *ast.File, packages map[string]declaredNames) (found []commentViolation) {
	report := func(c *ast.Comment, format string, args ...any) {
		found = append(found, commentViolation{c.Pos(), fmt.Sprintf(format, args...)})
	}
	foreign := map[string]bool{} // names of imported packages of other modules
	for _, i := range f.Imports {
		if p, err := strconv.Unquote(i.Path.Value); err == nil && !strings.HasPrefix(p, module+"/") {
			foreign[path.Base(p)] = true
		}
	}
	for _, g := range f.Comments {
		for _, c := range g.List {
			for _, m := range qualifiedName.FindAllStringSubmatch(c.Text, -1) {
				pkg, name, member := m[1], m[2], m[3]
				names, ours := packages[pkg]
				switch d := names[name]; {
				case !ours || foreign[pkg]:
				case d == nil:
					report(c, "%s.%s does not exist", pkg, name)
				case member != "" && !d.open && !d.members[member]:
					report(c, "%s.%s has no %s", pkg, name, member)
				}
			}
			for _, m := range memberName.FindAllStringSubmatch(c.Text, -1) {
				name, member := m[1], m[2]
				if d := packages[packageName(f)][name]; d != nil && d.isType && !d.open && !d.members[member] && !fileType.MatchString(member) {
					report(c, "%s has no %s", name, member)
				}
			}
		}
	}
	return found
}

// wrongDocs finds doc comments that do not begin with the name of their declaration. declared has
// the names of the package.
func wrongDocs(f *ast.File, test bool, declared declaredNames) (found []commentViolation) {
	check := func(doc *ast.CommentGroup, name string, strict bool) {
		if doc == nil {
			return
		}
		first, article := firstWord(doc.Text()) // without directives
		if first == name || first == "" || name == "_" || !strict && (article || !isIdentifier(first, declared)) {
			return
		}
		found = append(found, commentViolation{doc.Pos(), fmt.Sprintf("the doc comment of %s begins with %q", name, first)})
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			check(d.Doc, d.Name.Name, !test)
		case *ast.GenDecl:
			group := d.Lparen.IsValid()
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					check(s.Doc, s.Name.Name, !test)
					if !group {
						check(d.Doc, s.Name.Name, !test)
					}
				case *ast.ValueSpec:
					if len(s.Names) > 1 {
						continue
					}
					check(s.Doc, s.Names[0].Name, false) // the comment may be about the following names, too
					if !group {
						check(d.Doc, s.Names[0].Name, !test)
					}
				}
			}
		}
	}
	return found
}

// firstWord returns the word that a doc comment begins with, and whether it follows an article. It
// is empty if the comment need not begin with a name.
func firstWord(doc string) (word string, article bool) {
	words := strings.Fields(doc)
	if len(words) > 1 && slices.Contains([]string{"A", "An", "The"}, words[0]) {
		words, article = words[1:], true
	}
	if len(words) == 0 || words[0] == "Deprecated:" || words[0] == "INVARIANT:" {
		return "", false
	}
	word = words[0]
	if end := strings.IndexFunc(word, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }); end > 0 {
		word = word[:end]
	}
	return word, article
}

// isIdentifier reports whether the first word of a sentence is an identifier: it begins in lower
// case, or it is a declared name in camel case.
func isIdentifier(word string, declared declaredNames) bool {
	first, size := utf8.DecodeRuneInString(word)
	return unicode.IsLower(first) || declared[word] != nil && strings.IndexFunc(word[size:], unicode.IsUpper) >= 0
}

// TestComments checks that comments refer to names that exist, and that doc comments begin with
// the name that they document.
func TestComments(t *testing.T) {
	t.Parallel()
	found, err := commentViolations(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range found {
		t.Error(v)
	}
}

// TestCommentCheckerFindsWhatIsWrong tests the checker: a rule that cannot fail is useless.
func TestCommentCheckerFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	const other = "package engine\n\ntype Namespace struct{ Limits int }\n\nfunc (Namespace) Audit() {}\n"
	for name, tc := range map[string]struct {
		text string
		want string // part of the only complaint; "" for none
	}{
		"a reference":                      {"// See engine.Namespace.Audit and [engine.Namespace.Limits].\nvar _ int", ""},
		"a name that is gone":              {"// See engine.House.\nvar _ int", "a.go:3: engine.House does not exist"},
		"a link to a name that is gone":    {"func f() {\n\t// It is [*engine.House].\n}", "a.go:4: engine.House does not exist"},
		"a member that is gone":            {"// See engine.Namespace.Admit.\nvar _ int", "engine.Namespace has no Admit"},
		"a package of another module":      {"// See http.Houses.\nvar _ int", ""},
		"a field":                          {"// A T is like T.a.\ntype T struct{ a int }", ""},
		"a field that is gone":             {"// A T is like T.b.\ntype T struct{ a int }", "T has no b"},
		"a field of an embedded type":      {"// A T is like T.b.\ntype T struct{ U }", ""},
		"a file":                           {"// A T is in T.go.\ntype T struct{}", ""},
		"another function's name":          {"// add adds.\nfunc remove() {}", `the doc comment of remove begins with "add"`},
		"no name":                          {"// Removes it.\nfunc remove() {}", `begins with "Removes"`},
		"a longer name":                    {"// removed removes.\nfunc remove() {}", `begins with "removed"`},
		"an article":                       {"// A T is a type.\ntype T int", ""},
		"a possessive":                     {"// T's values are numbers.\ntype T int", ""},
		"deprecated":                       {"// Deprecated: use nothing.\nfunc f() {}", ""},
		"only a directive":                 {"//go:noinline\nfunc f() {}", ""},
		"an invariant":                     {"// INVARIANT: it is sorted.\nfunc check() {}", ""},
		"a variable of another name":       {"// b is a number.\nvar a int", `the doc comment of a begins with "b"`},
		"a group":                          {"// Numbers of things.\nconst (\n\t// Apples.\n\ta = 1\n\tb = 2\n)", ""},
		"another name in a group":          {"const (\n\t// apples is a number.\n\ta = 1\n)", `the doc comment of a begins with "apples"`},
		"another declared name in a group": {"const (\n\t// maxB is a number.\n\tmaxA = 1\n\tmaxB = 2\n)", `the doc comment of maxA begins with "maxB"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, err := commentViolations(fstest.MapFS{
				"engine/engine.go": {Data: []byte(other)},
				"web/a.go":         {Data: []byte("package web\n\n" + tc.text + "\n")},
			})
			switch {
			case err != nil:
				t.Fatal(err)
			case tc.want == "" && len(found) > 0:
				t.Errorf("reported a violation in correct code: %q", found)
			case tc.want != "" && (len(found) != 1 || !strings.Contains(found[0], tc.want)):
				t.Errorf("found %q, want one violation with %q", found, tc.want)
			}
		})
	}
	const scenario = "package web\n\n// A link stays open.\nfunc TestLink() {}\n\n// close closes.\nfunc TestClose() {}\n"
	found, err := commentViolations(fstest.MapFS{"web/a_test.go": {Data: []byte(scenario)}})
	if err != nil || len(found) != 1 || !strings.Contains(found[0], "TestClose") {
		t.Errorf("found %q in a test, %v", found, err)
	}
}
