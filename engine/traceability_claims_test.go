package engine_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A claim is a name that states what a test shows: the name of a test function, a subtest or a
// table's case, or the file or a comment of a scenario that a test runs. A comment in Go is not
// a claim.
type claim struct {
	text string
	by   string // package.Test/subtest, or the scenario's file and line
}

// claimsOf returns the claims of all tests under root.
func claimsOf(t *testing.T, root string) (all []claim) {
	t.Helper()
	type pkg struct{ dir, name string }
	packages, scenarios, globs := map[pkg][]*ast.File{}, []string{}, []string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fmt.Errorf("look for tests: %w", err)
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != root:
			return filepath.SkipDir
		case d.IsDir():
			return nil
		case strings.HasSuffix(path, ".txt"):
			scenarios = append(scenarios, path)
		case strings.HasSuffix(path, "_test.go") && !strings.HasPrefix(d.Name(), "traceability"): // their lists are not claims
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return fmt.Errorf("read a test: %w", err)
			}
			dir := filepath.Dir(path)
			of := pkg{dir, file.Name.Name}
			packages[of] = append(packages[of], file)
			globs = append(globs, globsIn(dir, file)...)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range slices.SortedFunc(maps.Keys(packages), func(a, b pkg) int { return cmp.Or(strings.Compare(a.dir, b.dir), strings.Compare(a.name, b.name)) }) {
		dir, err := filepath.Rel(root, of.dir)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, claimsIn(filepath.ToSlash(dir), packages[of])...)
	}
	for _, path := range scenarios {
		if slices.ContainsFunc(globs, func(g string) bool { ok, err := filepath.Match(g, path); return ok && err == nil }) {
			all = append(all, claimsOfScenario(t, root, path)...)
		}
	}
	return all
}

// globsIn returns the patterns with which a test finds files, relative to its directory.
func globsIn(dir string, file *ast.File) (globs []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && len(call.Args) == 1 {
			if f, ok := call.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Glob" {
				if pattern, ok := spelled(call.Args[0]); ok {
					globs = append(globs, filepath.Join(dir, pattern))
				}
			}
		}
		return true
	})
	return globs
}

// claimsOfScenario returns the claims of a scenario's name and of its comments.
func claimsOfScenario(t *testing.T, root, path string) []claim {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rel, err := filepath.Rel(root, path)
	if err != nil {
		t.Fatal(err)
	}
	rel = filepath.ToSlash(rel)
	all := []claim{{strings.ToUpper(strings.TrimSuffix(filepath.Base(path), ".txt")), rel}}
	for i, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, "# ") {
			all = append(all, claim{line, fmt.Sprintf("%s:%d", rel, i+1)})
		}
	}
	return all
}

// A claimant finds the claims in the tests of one package.
type claimant struct {
	types  map[string]ast.Expr            // declared anywhere in its tests
	funcs  map[string]*ast.FuncType       // of the package, and closures by the function that contains them
	elided map[*ast.CompositeLit]ast.Expr // types of literals inside others
	in     string                         // package.Function
	found  []claim
}

func claimsIn(pkg string, files []*ast.File) []claim {
	c := claimant{types: map[string]ast.Expr{}, funcs: map[string]*ast.FuncType{}, elided: map[*ast.CompositeLit]ast.Expr{}}
	each := func(visit func(ast.Node) bool) {
		for _, file := range files {
			for _, d := range file.Decls {
				c.in = pkg
				if f, ok := d.(*ast.FuncDecl); ok {
					c.in += "." + f.Name.Name
				}
				ast.Inspect(d, visit)
			}
		}
	}
	each(c.declared)
	each(c.visit)
	return c.found
}

// declared records the names of types and functions.
func (c *claimant) declared(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.TypeSpec:
		c.types[n.Name.Name] = n.Type
	case *ast.FuncDecl:
		c.funcs[n.Name.Name] = n.Type
	case *ast.AssignStmt:
		for i, right := range n.Rhs {
			if f, ok := right.(*ast.FuncLit); ok && i < len(n.Lhs) {
				if name, ok := n.Lhs[i].(*ast.Ident); ok {
					c.funcs[c.in+" "+name.Name] = f.Type
				}
			}
		}
	}
	return true
}

var idInFunction = regexp.MustCompile(`^(?:Test|Fuzz|Benchmark)_?([A-Z]{2,4})_?(S?\d+)`)

func (c *claimant) function(name string) {
	if id := idInFunction.FindStringSubmatch(name); id != nil {
		c.found = append(c.found, claim{id[1] + "-" + id[2], c.in})
	}
}

func (c *claimant) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncDecl:
		c.function(n.Name.Name)
	case *ast.CompositeLit:
		c.literal(n)
	case *ast.CallExpr:
		c.call(n)
	case *ast.AssignStmt: // cases["TTL-5 "+mode] = …
		for _, left := range n.Lhs {
			if at, ok := left.(*ast.IndexExpr); ok {
				c.claim(at.Index)
			}
		}
	}
	return true
}

// literal finds a table's keys, and the fields that name a case.
func (c *claimant) literal(lit *ast.CompositeLit) {
	switch t := c.under(cmp.Or(lit.Type, c.elided[lit])).(type) {
	case *ast.MapType:
		for _, e := range lit.Elts {
			if pair, ok := e.(*ast.KeyValueExpr); ok {
				c.claim(pair.Key)
				c.pass(pair.Value, t.Value)
			}
		}
	case *ast.ArrayType:
		for _, e := range lit.Elts {
			if pair, ok := e.(*ast.KeyValueExpr); ok {
				e = pair.Value
			}
			c.pass(e, t.Elt)
		}
	case *ast.StructType:
		names, types := fieldsOf(t.Fields)
		for i, e := range lit.Elts {
			if pair, ok := e.(*ast.KeyValueExpr); ok {
				e, i = pair.Value, -1
				if key, ok := pair.Key.(*ast.Ident); ok {
					i = slices.Index(names, key.Name)
				}
			}
			if i < 0 || i >= len(names) {
				continue
			}
			if isName(names[i]) {
				c.claim(e)
			}
			c.pass(e, types[i])
		}
	}
}

// call finds the names of subtests, including those that are passed to functions that run them.
func (c *claimant) call(call *ast.CallExpr) {
	switch f := call.Fun.(type) {
	case *ast.SelectorExpr:
		if f.Sel.Name == "Run" && len(call.Args) == 2 {
			c.claim(call.Args[0])
		}
	case *ast.Ident:
		if declared := cmp.Or(c.funcs[c.in+" "+f.Name], c.funcs[f.Name]); declared != nil {
			names, _ := fieldsOf(declared.Params)
			for i, arg := range call.Args {
				if i < len(names) && isName(names[i]) {
					c.claim(arg)
				}
			}
		}
	}
}

// isName reports whether a field or parameter names a case.
func isName(field string) bool { return field == "name" || field == "rule" }

func fieldsOf(fields *ast.FieldList) (names []string, types []ast.Expr) {
	for _, f := range fields.List {
		for _, name := range f.Names {
			names, types = append(names, name.Name), append(types, f.Type)
		}
	}
	return names, types
}

// pass records typ as the type of the composite literal e, if e does not state one.
func (c *claimant) pass(e, typ ast.Expr) {
	if lit, ok := e.(*ast.CompositeLit); ok && lit.Type == nil {
		c.elided[lit] = typ
	}
}

// under returns the type that a name denotes, without pointers.
func (c *claimant) under(typ ast.Expr) ast.Expr {
	for range 10 {
		switch t := typ.(type) {
		case *ast.StarExpr:
			typ = t.X
		case *ast.Ident:
			typ = c.types[t.Name]
		default:
			return typ
		}
	}
	return nil
}

func (c *claimant) claim(e ast.Expr) {
	if text, ok := spelled(e); ok {
		c.found = append(c.found, claim{text, c.in + "/" + text})
	}
}

// spelled returns a text as far as it is literal, with "…" for the rest.
func spelled(e ast.Expr) (text string, ok bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.ParenExpr:
		return spelled(e.X)
	case *ast.BinaryExpr:
		left, ok1 := spelled(e.X)
		right, ok2 := spelled(e.Y)
		return left + right, ok1 || ok2
	case *ast.CallExpr: // fmt.Sprint("TTL-5 ", n)
		for _, arg := range e.Args {
			part, written := spelled(arg)
			text, ok = text+part, ok || written
		}
		return text, ok
	default:
		return "…", false
	}
}
