package main_test

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

const module = "mayfly"

// A source has the properties of a Go file that the rules check.
type source struct {
	name, folder string // slash-separated, from the top of the tree
	test         bool   // *_test.go
	support      bool   // in a package made for tests: its name ends in "test"
	pkg          string
	imports      []string
	timeFuncs    []string // functions of package time it uses, sorted, each once
}

// violations returns a line for each violation of the layout in the tree, in the order of the
// files.
func violations(tree fs.FS) ([]string, error) {
	entries, err := fs.ReadDir(tree, ".")
	if err != nil {
		return nil, err
	}
	var found []string
	for _, e := range entries {
		ok := false
		for _, p := range top {
			fits, err := path.Match(p, e.Name())
			if err != nil {
				return nil, fmt.Errorf("pattern %q: %w", p, err)
			}
			ok = ok || fits
		}
		if !ok {
			found = append(found, e.Name()+" may not lie at the top of the tree")
		}
	}
	err = goFiles(tree, func(s source) {
		for _, what := range slices.Concat(wrongName(s), wrongImports(s), wrongClock(s)) {
			found = append(found, s.name+" "+what)
		}
	})
	return found, err
}

// unusedPermissions returns a line for each permission of a rule that no file of its folders
// uses.
func unusedPermissions(tree fs.FS) (found []string, err error) {
	used := map[string]bool{} // by the rule's folder and what it allows
	err = goFiles(tree, func(s source) {
		for _, p := range s.imports {
			ours, ok := strings.CutPrefix(p, module+"/")
			i := slices.IndexFunc(imports, func(r rule) bool { return covers(r.folder, s.folder) })
			if !ok || i < 0 {
				continue
			}
			for _, may := range imports[i].may {
				if covers(may, ours) {
					used[imports[i].folder+" "+may] = true
				}
			}
		}
	})
	for _, r := range imports {
		for _, may := range r.may {
			if !used[r.folder+" "+may] {
				found = append(found, fmt.Sprintf("%s may import %s, but does not", r.folder, may))
			}
		}
	}
	return found, err
}

// crowded returns a line for each folder with more Go and templ files, without tests and generated
// files, than filesInFolder and roomFor allow.
func crowded(tree fs.FS) (found []string, err error) {
	files := map[string]int{}
	err = fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ignored(name, d):
			return fs.SkipDir
		case strings.HasSuffix(name, ".templ"), path.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go") && !strings.HasSuffix(name, "_templ.go"):
			files[path.Dir(name)]++
		}
		return nil
	})
	for _, folder := range slices.Sorted(maps.Keys(files)) {
		if n, limit := files[folder], cmp.Or(roomFor[folder], filesInFolder); n > limit {
			found = append(found, fmt.Sprintf("%s has %d files, at most %d are allowed: group them, or divide the package", folder, n, limit))
		}
	}
	return found, err
}

// ignored reports whether the go command ignores a folder.
func ignored(name string, d fs.DirEntry) bool {
	return d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_") || d.Name() == "testdata")
}

// goFiles calls do with each Go file of the tree. A tree without Go files would prove nothing,
// so that is an error.
func goFiles(tree fs.FS, do func(source)) error {
	files := 0
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ignored(name, d):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		s, err := read(tree, name)
		if err != nil {
			return err
		}
		files++
		do(s)
		return nil
	})
	if err == nil && files == 0 {
		err = errors.New("no Go file found")
	}
	return err
}

func read(tree fs.FS, name string) (source, error) {
	text, err := fs.ReadFile(tree, name)
	if err != nil {
		return source{}, err
	}
	f, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	if err != nil {
		return source{}, err
	}
	s := source{name: name, folder: path.Dir(name), test: strings.HasSuffix(name, "_test.go"), pkg: f.Name.Name}
	s.support = strings.HasSuffix(path.Base(s.folder), "test")
	timeName := ""
	for _, i := range f.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			return source{}, fmt.Errorf("%s: import %s: %w", name, i.Path.Value, err)
		}
		s.imports = append(s.imports, p)
		if p == "time" {
			timeName = "time"
			if i.Name != nil {
				timeName = i.Name.Name
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && timeName != "" && x.Name == timeName {
				s.timeFuncs = append(s.timeFuncs, sel.Sel.Name)
			}
		}
		return true
	})
	slices.Sort(s.timeFuncs)
	s.timeFuncs = slices.Compact(s.timeFuncs)
	return s, nil
}

func wrongName(s source) (found []string) {
	for _, n := range append(strings.Split(s.folder, "/"), strings.TrimSuffix(s.pkg, "_test")) {
		if slices.Contains(drawers, strings.ToLower(n)) {
			found = append(found, fmt.Sprintf("lies in a package called %s, which is a drawer: name it after what it does", n))
		}
	}
	return slices.Compact(found)
}

func wrongImports(s source) (found []string) {
	for _, p := range s.imports {
		if ours, ok := strings.CutPrefix(p, module+"/"); ok {
			found = append(found, wrongOurs(s, ours)...)
			continue
		}
		for _, c := range confined {
			if !covers(c.module+"/...", p) || p == "log/slog" && c.module == "log" || coversAny(c.in, s.folder) || c.tests && (s.test || s.support) {
				continue
			}
			if s.test && covers("cmd/...", s.folder) && len(c.in) > 0 {
				continue // the command's tests may use any package
			}
			found = append(found, fmt.Sprintf("imports %s, allowed only in %s: %s", p, places(c.in, c.tests), c.why))
		}
	}
	return found
}

func wrongOurs(s source, ours string) (found []string) {
	if strings.HasSuffix(path.Base(ours), "test") && !s.test && !s.support {
		found = append(found, fmt.Sprintf("imports %s, which is for tests", ours))
	}
	i := slices.IndexFunc(imports, func(r rule) bool { return covers(r.folder, s.folder) })
	if i < 0 {
		return append(found, fmt.Sprintf("imports %s, but no rule says what %s may import", ours, s.folder))
	}
	r := imports[i]
	switch {
	case coversAny(r.may, ours):
	case strings.HasSuffix(r.folder, "/...") && covers(r.folder, ours):
	case s.test && (ours == s.folder || coversAny(testsMay, ours)):
	case s.test && covers("cmd/...", s.folder):
	default:
		found = append(found, fmt.Sprintf("imports %s; %s may import %s of ours: %s", ours, s.folder, places(r.may, false), r.why))
	}
	return found
}

func wrongClock(s source) (found []string) {
	if !s.test && !s.support {
		for _, c := range clocks {
			if !coversAny(c.in, s.folder) || coversAny(c.except, s.folder) {
				continue
			}
			for _, f := range s.timeFuncs {
				if slices.Contains(c.funcs, f) {
					found = append(found, fmt.Sprintf("uses time.%s: %s", f, c.why))
				}
			}
		}
	}
	if s.test && slices.Contains(s.timeFuncs, "Sleep") && !slices.Contains(s.imports, "testing/synctest") {
		found = append(found, "uses time.Sleep outside a testing/synctest bubble: wait for the thing itself")
	}
	return found
}

// covers reports whether a pattern of the tables matches a folder.
func covers(pattern, folder string) bool {
	base, deep := strings.CutSuffix(pattern, "...")
	if !deep {
		return pattern == folder
	}
	base = strings.TrimSuffix(base, "/")
	return base == "" || folder == base || strings.HasPrefix(folder, base+"/")
}

func coversAny(patterns []string, folder string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return covers(p, folder) })
}

func places(folders []string, tests bool) string {
	if tests {
		folders = append(slices.Clone(folders), "tests")
	}
	return cmp.Or(strings.Join(folders, ", "), "nothing")
}

// TestLayoutCheckerFindsWhatIsWrong tests the checker: a rule that cannot fail is useless.
func TestLayoutCheckerFindsWhatIsWrong(t *testing.T) {
	const skeleton = "static/ok.go" // keeps trees that test another file from being empty
	for name, tc := range map[string]struct {
		file, text string
		want       string // part of the only complaint; "" for none
	}{
		"engine knows a store":               {"engine/a.go", `package engine; import _ "mayfly/storage/memory"`, "imports storage/memory; engine may import"},
		"engine knows its broker":            {"engine/a.go", `package engine; import _ "mayfly/engine/broker"`, "imports engine/broker; engine may import"},
		"engine knows filters":               {"engine/a.go", `package engine; import _ "mayfly/engine/filter"`, ""},
		"value is a leaf":                    {"engine/value/a.go", `package value; import _ "mayfly/engine"`, "engine/value may import engine/shorten"},
		"a driver knows another":             {"storage/sqlite/a.go", `package sqlite; import _ "mayfly/storage/memory"`, "imports storage/memory; storage/sqlite"},
		"a driver's test runs the suite":     {"storage/sqlite/a_test.go", `package sqlite; import _ "mayfly/storage/storetest"`, ""},
		"a driver's code runs the suite":     {"storage/a.go", `package storage; import _ "mayfly/storage/storetest"`, "which is for tests"},
		"a view knows the engine":            {"views/page/a.go", `package page; import _ "mayfly/engine"`, "views/page may import views/..., static/..."},
		"a view shows a view":                {"views/page/a.go", `package page; import _ "mayfly/views/view"`, ""},
		"a door knows a door":                {"web/live/a.go", `package live; import _ "mayfly/web/dashboard"`, "imports web/dashboard; web/live"},
		"a door's test knows a door":         {"web/live/a_test.go", `package live; import _ "mayfly/web/dashboard"`, "imports web/dashboard; web/live"},
		"a door's test has a store":          {"web/api/a_test.go", `package api; import _ "mayfly/storage/memory"`, ""},
		"a door has a store":                 {"web/api/a.go", `package api; import _ "mayfly/storage/memory"`, "imports storage/memory; web/api"},
		"a door without pages has views":     {"web/rest/a.go", `package rest; import _ "mayfly/views/page"`, "imports views/page; web/rest"},
		"a door knows its own parts":         {"web/rest/a.go", `package rest; import _ "mayfly/web/rest/batch"`, ""},
		"a test outside of its package":      {"engine/a_test.go", `package engine_test; import _ "mayfly/engine"`, ""},
		"a folder nobody spoke of":           {"web/mail/a.go", `package mail; import _ "mayfly/engine"`, "no rule says what web/mail may import"},
		"the server knows all":               {"cmd/mayfly/server/a.go", `package server; import _ "mayfly/storage/sqlite"`, ""},
		"a client knows the server":          {"cmd/mayfly/client/a.go", `package client; import _ "mayfly/cmd/mayfly/server"`, "imports cmd/mayfly/server; cmd/mayfly/client"},
		"a second command":                   {"cmd/other/a.go", `package main; import _ "mayfly/engine"`, "no rule says what cmd/other may import"},
		"MongoDB in the engine":              {"engine/broker/a.go", `package broker; import _ "go.mongodb.org/mongo-driver/v2/bson"`, "allowed only in storage/mongo/..."},
		"SQLite in a door":                   {"web/api/a.go", `package api; import _ "github.com/ncruces/go-sqlite3"`, "allowed only in storage/sqlite/..."},
		"SQLite in the command's tests":      {"cmd/mayfly/e2e/a_test.go", `package e2e; import _ "github.com/ncruces/go-sqlite3"`, ""},
		"Echo in views":                      {"views/a.go", `package views; import _ "github.com/labstack/echo/v4"`, "allowed only in web/..."},
		"templ in the server":                {"cmd/mayfly/server/a.go", `package server; import _ "github.com/a-h/templ"`, "allowed only in views/..., web/..."},
		"gorilla in another door":            {"web/dashboard/a.go", `package dashboard; import _ "github.com/gorilla/websocket"`, "allowed only in web/live/..."},
		"kong in a library":                  {"web/a.go", `package web; import _ "github.com/alecthomas/kong"`, "allowed only in cmd/mayfly/cli"},
		"a browser in the product":           {"cmd/mayfly/server/a.go", `package server; import _ "github.com/chromedp/chromedp"`, "allowed only in cmd/livebench, tests"},
		"a browser in a test":                {"cmd/mayfly/e2e/a_test.go", `package e2e; import _ "github.com/chromedp/chromedp"`, ""},
		"a module whose name only begins so": {"engine/a.go", `package engine; import _ "github.com/chromedpx/y"`, ""},
		"an assertion library":               {"cmd/mayfly/a_test.go", `package main; import _ "github.com/stretchr/testify/assert"`, "allowed only in nothing"},
		"the rules read a file":              {"engine/topology/a.go", `package definition; import _ "os"`, "rules do no I/O"},
		"the rules' test reads a file":       {"engine/topology/a_test.go", `package definition; import _ "os"`, ""},
		"go-cmp made for tests":              {"engine/enginetest/a.go", `package enginetest; import _ "github.com/google/go-cmp/cmp"`, ""},
		"a drawer by folder":                 {"web/util/a.go", `package urls`, "called util"},
		"a drawer by package clause":         {"web/urls/a.go", `package helpers`, "called helpers"},
		"a clock in the rules":               {"engine/a.go", `package engine; import "time"; var now = time.Now`, "uses time.Now"},
		"a clock by another name":            {"engine/a.go", `package engine; import t "time"; var x = t.Since(t.Time{})`, "uses time.Since"},
		"a wait in the rules":                {"engine/a.go", `package engine; import "time"; var x = time.After(time.Second)`, "uses time.After"},
		"a clock in the broker":              {"engine/broker/a.go", `package broker; import "time"; var now = time.Now`, ""},
		"a clock in a store":                 {"storage/sqlite/a.go", `package sqlite; import "time"; var now = time.Now`, "uses time.Now"},
		"a wait in a store":                  {"storage/sqlite/a.go", `package sqlite; import "time"; var x = time.After(time.Second)`, ""},
		"a clock in a store's test":          {"storage/sqlite/a_test.go", `package sqlite; import "time"; var now = time.Now`, ""},
		"a clock in a template":              {"views/page/a.go", `package page; import "time"; var now = time.Now()`, "uses time.Now"},
		"a test that sleeps":                 {"web/a_test.go", `package web; import "time"; func f() { time.Sleep(1) }`, "outside a testing/synctest bubble"},
		"a test that sleeps in a bubble":     {"web/a_test.go", `package web; import ("time"; "testing/synctest"); func f() { time.Sleep(1); synctest.Wait() }`, ""},
		"a drawer at the top":                {"internal.txt", "", "internal.txt may not lie at the top"},
		"dot-files at the top":               {".golangci.yml", "", ""},
		"what the go command ignores":        {"engine/testdata/a.go", `package engine; import _ "mayfly/storage"`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := violations(fstest.MapFS{
				skeleton: {Data: []byte("package static")},
				tc.file:  {Data: []byte(tc.text)},
			})
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case tc.want == "" && len(found) > 0:
				t.Errorf("reported a violation in correct code: %q", found)
			case tc.want != "" && (len(found) != 1 || !strings.Contains(found[0], tc.want)):
				t.Errorf("found %q, want one violation with %q", found, tc.want)
			}
		})
	}
	if _, err := violations(fstest.MapFS{"README.md": {}}); err == nil {
		t.Error("a tree without Go files passed")
	}
}

func TestLayoutPatterns(t *testing.T) {
	for _, tc := range []struct {
		pattern, folder string
		want            bool
	}{
		{"engine", "engine", true},
		{"engine", "engine/value", false},
		{"engine/...", "engine", true},
		{"engine/...", "engine/value", true},
		{"engine/...", "enginex", false},
		{"...", "web", true},
	} {
		if got := covers(tc.pattern, tc.folder); got != tc.want {
			t.Errorf("covers(%q, %q) = %v", tc.pattern, tc.folder, got)
		}
	}
}
