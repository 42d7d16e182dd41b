package errorcodes

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mayfly/engine"
	"mayfly/web/amqp/wire"
	"mayfly/web/auth/origin"
	"mayfly/web/connections"
)

// TestEveryKindHasARow reads the sources: the rows of the table and the exported errors of
// package engine.
func TestEveryKindHasARow(t *testing.T) {
	rows := map[string]bool{}
	for _, name := range kindsOfTable(t) {
		if rows[name] {
			t.Errorf("%s has more than one row", name)
		}
		rows[name] = true
	}
	if len(rows) != len(table) {
		t.Errorf("%d rows are found in the source, and %d in the table", len(rows), len(table))
	}
	files, err := filepath.Glob("../../engine/*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		for _, kind := range exportedErrors(t, name) {
			found++
			if !rows["engine."+kind] {
				t.Errorf("engine.%s of %s has no row", kind, filepath.Base(name))
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d kinds are found in package engine", found)
	}
}

// kindsOfTable returns the source text of the first cell of each row.
func kindsOfTable(t *testing.T) (kinds []string) {
	t.Helper()
	for name, value := range packageVars(t, "table.go") {
		if name != "table" {
			continue
		}
		for _, e := range value.(*ast.CompositeLit).Elts {
			switch kind := e.(*ast.CompositeLit).Elts[0].(type) {
			case *ast.SelectorExpr:
				kinds = append(kinds, kind.X.(*ast.Ident).Name+"."+kind.Sel.Name)
			case *ast.Ident:
				kinds = append(kinds, kind.Name)
			}
		}
	}
	return kinds
}

// exportedErrors returns the names of the Err… variables that a file declares.
func exportedErrors(t *testing.T, file string) (names []string) {
	t.Helper()
	for name := range packageVars(t, file) {
		if strings.HasPrefix(name, "Err") {
			names = append(names, name)
		}
	}
	return names
}

// packageVars returns the variables that a file declares at package level, with their values.
func packageVars(t *testing.T, file string) map[string]ast.Expr {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	vars := map[string]ast.Expr{}
	for _, d := range parsed.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		for _, s := range g.Specs {
			v := s.(*ast.ValueSpec)
			for i, name := range v.Names {
				vars[name.Name] = nil
				if i < len(v.Values) {
					vars[name.Name] = v.Values[i]
				}
			}
		}
	}
	return vars
}

// A row below that of a more general kind would never be used.
func TestSpecificKindsComeFirst(t *testing.T) {
	for i, r := range table {
		for _, later := range table[i+1:] {
			if errors.Is(later.kind, r.kind) {
				t.Errorf("the row of %q is after that of its more general kind %q", later.kind, r.kind)
			}
		}
	}
}

// TestAnswers checks that every kind above those of the APIs has an answer in each column, its
// own or that of a more general kind. The exceptions are listed: they are failures of the server.
func TestAnswers(t *testing.T) {
	storeKinds := []error{engine.ErrFenced, engine.ErrUnwritable, engine.ErrDamaged, engine.ErrUnreachable, engine.ErrRestoreIncomplete}
	messageKinds := []error{engine.ErrMessageNotFound, engine.ErrLockLost, engine.ErrSessionLockLost, engine.ErrSessionLocked, engine.ErrTimeout, engine.ErrTransaction}
	firstWeb := slices.IndexFunc(table[:], func(r row) bool { return errors.Is(r.kind, origin.ErrForm) })
	for _, r := range table[:firstWeb] {
		err := fmt.Errorf("send to %q: %w", "orders", &engine.Refusal{Kind: r.kind, Text: "It went wrong."})
		broken := slices.Contains(storeKinds, r.kind)
		noMessages := slices.ContainsFunc(messageKinds, func(kind error) bool { return errors.Is(r.kind, kind) })
		condition, response := AMQP(err)
		restStatus, _ := REST(err)
		atomStatus, _ := Atom(err)
		apiStatus, code := API(err)
		for protocol, failed := range map[string]struct{ got, want bool }{
			"AMQP":   {condition == wire.CondInternalError && response == 500, broken},
			"REST":   {restStatus == 500, broken},
			"Atom":   {atomStatus == 500, broken || noMessages},
			"JSON":   {apiStatus == 500 && code == "InternalError", broken},
			"a page": {Page(err) == 500, broken},
		} {
			if failed.got != failed.want {
				t.Errorf("%s: %q is a failure of the server: %t, want %t", protocol, r.kind, failed.got, failed.want)
			}
		}
	}
}

// TestCellsAreWhole checks that no cell has only one of its two values.
func TestCellsAreWhole(t *testing.T) {
	for _, r := range append(table[:], failure) {
		if (r.amqp.condition == "") != (r.amqp.status == 0) || (r.api.code == "") != (r.api.status == 0) ||
			r.rest.status == 0 && r.rest.subCode != 0 || r.atom.status == 0 && r.atom.subCode != 0 {
			t.Errorf("a cell of %v has only one of its values: %+v", r.kind, r)
		}
	}
}

func TestAPIStatuses(t *testing.T) {
	for code, want := range map[string][]int{"OperationCancelled": {503, 408}, "ServiceTimeout": {408}, "InternalError": {500}, "Nonsense": nil, "": nil} {
		if got := APIStatuses(code); !slices.Equal(got, want) {
			t.Errorf("%q has the statuses %v, want %v", code, got, want)
		}
	}
}

// TestFirstRowWins checks that an error that is of several kinds gets the codes of the first row
// that matches.
func TestFirstRowWins(t *testing.T) {
	for name, tc := range map[string]struct {
		err              error
		condition        wire.Condition
		rest, atom, page int
		code             string
	}{
		"a rule of access":     {engine.ErrNoAccessRule, wire.CondNotFound, 410, 404, 404, "AccessRuleNotFound"},
		"a duplicate":          {engine.ErrDuplicate, wire.CondNotAllowed, 400, 403, 409, "InvalidOperation"},
		"memory":               {engine.ErrMemoryFull, CondServerBusy, 503, 503, 503, "ServiceBusy"},
		"rolled back":          {fmt.Errorf("%w: %w", engine.ErrRolledBack, engine.ErrBusy), wire.CondTransactionRollback, 400, 503, 409, "TransactionRolledBack"},
		"a transaction":        {engine.ErrTransaction, wire.CondTransactionUnknownID, 400, 500, 410, "TransactionOver"},
		"another owner":        {fmt.Errorf("%w: %w", engine.ErrClosed, engine.ErrFenced), CondServerBusy, 503, 503, 503, "OperationCancelled"},
		"a full disk":          {fmt.Errorf("%w: %w", engine.ErrBusy, engine.ErrUnwritable), CondServerBusy, 503, 503, 503, "ServiceBusy"},
		"a broken store":       {fmt.Errorf("%w: %w", engine.ErrBusy, io.ErrUnexpectedEOF), CondServerBusy, 503, 503, 503, "ServiceBusy"},
		"a slow store":         {fmt.Errorf("%w: %w", engine.ErrUnreachable, os.ErrDeadlineExceeded), wire.CondInternalError, 500, 500, 500, "InternalError"},
		"a broken body":        {io.ErrUnexpectedEOF, wire.CondInternalError, 400, 400, 500, "Argument"},
		"a commit's deadline":  {fmt.Errorf("%w: %w", engine.ErrBusy, context.DeadlineExceeded), CondServerBusy, 503, 503, 503, "ServiceBusy"},
		"no page":              {fmt.Errorf("%w: %w", ErrPageNotFound, connections.ErrClosed), wire.CondInternalError, 500, 500, 404, "ConnectionNotFound"},
		"a bad sector":         {errors.New("a bad sector"), wire.CondInternalError, 500, 500, 500, "InternalError"},
		"a damaged store":      {engine.ErrDamaged, wire.CondInternalError, 500, 500, 500, "InternalError"},
		"a client's departure": {context.Canceled, CondCancelled, 408, 408, 503, "OperationCancelled"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, err := range []error{tc.err, &engine.Refusal{Kind: tc.err}, fmt.Errorf("wrapped: %w", tc.err)} {
				condition, _ := AMQP(err)
				restStatus, _ := REST(err)
				atomStatus, _ := Atom(err)
				_, code := API(err)
				if condition != tc.condition || restStatus != tc.rest || atomStatus != tc.atom || code != tc.code || Page(err) != tc.page {
					t.Errorf("got %s, %d, %d, %s and %d, want %s, %d, %d, %s and %d", condition, restStatus, atomStatus, code, Page(err), tc.condition, tc.rest, tc.atom, tc.code, tc.page)
				}
			}
		})
	}
}

// ERR-3: the sub-code is the error's own, else the kind's; a failure of the server has only one.
func TestSubCodes(t *testing.T) {
	for name, tc := range map[string]struct {
		err        error
		rest, atom int
	}{
		"of the kind":       {engine.ErrChanged, 40900, 40901},
		"of a refusal":      {engine.RefuseCode(engine.ErrQuota, 40503, "Too many."), 40503, 40503},
		"none of its own":   {engine.RefuseCode(engine.ErrQuota, 0, "Too many."), 40300, 40300},
		"of a property":     {&engine.PropertyError{Kind: engine.ErrArgument, SubCode: 40401}, 40401, 40401},
		"a kind without":    {engine.ErrNotImplemented, 0, 0},
		"of an unknown one": {engine.RefuseCode(errors.New("a bad sector"), 40401, "It went wrong."), 50000, 50000},
	} {
		_, got := REST(tc.err)
		_, atomGot := Atom(tc.err)
		if got != tc.rest || atomGot != tc.atom {
			t.Errorf("%s: got %d and %d, want %d and %d", name, got, atomGot, tc.rest, tc.atom)
		}
	}
}
