package rest

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/webtest"
)

// TestKinds checks the status of each kind of error of §16. A missing entity is 410, a
// missing message or lock 404 (§2.2).
func TestKinds(t *testing.T) {
	left := kindsOfErrors(t)
	for name, tc := range map[string]struct {
		kind   error
		status int
	}{
		"§16 MessagingEntityNotFound":      {engine.ErrNotFound, 410},
		"§16 MessagingEntityAlreadyExists": {engine.ErrExists, 409},
		"§16 MessagingEntityDisabled":      {engine.ErrDisabled, 403},
		"§16 MessageLockLost":              {engine.ErrLockLost, 404},
		"§16 SessionLockLost":              {engine.ErrSessionLockLost, 410},
		"§16 SessionCannotBeLocked":        {engine.ErrSessionLocked, 410},
		"§16 MessageNotFound":              {engine.ErrMessageNotFound, 404},
		"§16 MessageSizeExceeded":          {engine.ErrTooLarge, 403},
		"§16 QuotaExceeded":                {engine.ErrQuota, 403},
		"§16 ServiceTimeout":               {engine.ErrTimeout, 408},
		"§16 ServiceBusy":                  {engine.ErrBusy, 503},
		"§16 InvalidOperation":             {engine.ErrNotAllowed, 400},
		"§16 Argument":                     {engine.ErrArgument, 400},
		"§16 out of range":                 {engine.ErrOutOfRange, 400},
		"§16 NotSupported":                 {engine.ErrNotImplemented, 501},
		"§16 OperationCancelled":           {engine.ErrClosed, 503},
		"the transaction is over":          {engine.ErrTransaction, 400},
		"the transaction was rolled back":  {fmt.Errorf("%w: %w", engine.ErrRolledBack, engine.ErrBusy), 400}, // not 503
		"more than was agreed to":          {engine.ErrChanged, 409},
	} {
		delete(left, tc.kind.Error())
		t.Run(name, func(t *testing.T) {
			for _, err := range []error{tc.kind, &engine.Refusal{Kind: tc.kind, Text: "It went wrong."}} {
				if code, _ := status(err); code != tc.status {
					t.Errorf("%v is %d, want %d", err, code, tc.status)
				}
			}
		})
	}
	for text := range left {
		t.Errorf("the test has no case for the kind %q", text)
	}
}

// kindsOfErrors returns the texts of the errors that engine/errors.go declares.
func kindsOfErrors(t *testing.T) map[string]bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../engine/errors.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]bool{}
	for _, d := range file.Decls {
		ast.Inspect(d, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if f, ok := call.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "New" {
					text, err := strconv.Unquote(call.Args[0].(*ast.BasicLit).Value)
					if err != nil {
						t.Fatal(err)
					}
					texts[text] = true
				}
			}
			return true
		})
	}
	if len(texts) < 10 {
		t.Errorf("only %d kinds are found", len(texts))
	}
	return texts
}

// TestSubCodes provokes every sub-code, and fails for sub-codes in the code that it does
// not provoke.
func TestSubCodes(t *testing.T) {
	provoked := map[int]bool{}
	for name, tc := range map[string]struct {
		status, sub int
		provoke     func(w *world) error
	}{
		"ERR-3 40000 bad request": {400, 40000, func(w *world) error {
			_, err := engine.ParsePath("a//b", w.broker.Limits())
			return err
		}},
		"ERR-3 40000 a property": {400, 40000, func(w *world) error {
			_, err := w.broker.Create(w.Context(), engine.Queue, "express", engine.Config{EnableExpress: true, RequiresDuplicateDetection: true}, "")
			return err
		}},
		"ERR-3 40300 forbidden": {403, 40300, func(w *world) error {
			_, err := w.broker.Create(w.Context(), engine.Queue, "one-more", engine.Config{}, "")
			return err
		}},
		"ERR-3 40301 invalid operation": {400, 40301, func(w *world) error {
			_, err := w.broker.Send(w.Context(), "q/$DeadLetterQueue", []broker.Outgoing{{}}, "")
			return err
		}},
		"ERR-3 40400 not found": {410, 40400, func(w *world) error {
			_, err := w.broker.Send(w.Context(), "nowhere", []broker.Outgoing{{}}, "")
			return err
		}},
		"ERR-3 40401 no destination": {400, 40401, func(w *world) error {
			_, err := w.broker.Update(w.Context(), "q", engine.Config{ForwardTo: "nowhere"}, "")
			return err
		}},
		"ERR-3 40501 SQL filters": {403, 40501, func(w *world) error {
			rule := engine.Rule{Name: "sql", Filter: engine.Filter{Kind: engine.SQLFilter, Text: "1=1"}}
			return w.broker.AddRule(w.Context(), "t/Subscriptions/s", rule, "")
		}},
		"ERR-3 40502 correlation filters": {403, 40502, func(w *world) error {
			return w.broker.AddRule(w.Context(), "t/Subscriptions/s", engine.Rule{Name: "more"}, "")
		}},
		"ERR-3 40503 subscriptions": {403, 40503, func(w *world) error {
			_, err := w.broker.Create(w.Context(), engine.Subscription, "t/Subscriptions/u", engine.Config{}, "")
			return err
		}},
		"ERR-3, ERR-2 40900 conflict": {409, 40900, func(w *world) error { // 40901, in progress, does not occur: writes are done one after the other
			_, err := w.broker.Create(w.Context(), engine.Queue, "Q", engine.Config{}, "")
			return err
		}},
		"ERR-3 50000 internal": {500, 50000, func(*world) error { return errors.New("a bad sector") }},
		"ERR-3 50004 busy": {503, 50004, func(w *world) error {
			w.broker.Close()
			_, err := w.broker.Send(w.Context(), "q", []broker.Outgoing{{}}, "")
			return err
		}},
	} {
		provoked[tc.sub] = true
		t.Run(name, func(t *testing.T) {
			limits := engine.DefaultLimits()
			limits.Entities, limits.SQLFiltersPerTopic, limits.OtherFiltersPerTopic, limits.SubscriptionsPerTopic = 2, 0, 1, 1
			w := start(t, broker.Options{Limits: &limits})
			w.create(engine.Queue, "q")
			w.create(engine.Topic, "t")
			w.create(engine.Subscription, "t/Subscriptions/s")
			got := presented(w, tc.provoke(w))
			parts := errorShape.FindStringSubmatch(got.Body)
			if parts == nil || got.StatusCode != tc.status || parts[1] != strconv.Itoa(tc.status) || !strings.HasSuffix(parts[2], " SubCode="+strconv.Itoa(tc.sub)+". ") {
				t.Errorf("got %d %s, want %d with SubCode=%d", got.StatusCode, got.Body, tc.status, tc.sub)
			}
		})
	}
	for code, at := range subCodesIn(t, "../../engine/*.go", "../errorcodes/*.go", "*.go") {
		if !provoked[code] && code != 40901 { // which only Atom sends
			t.Errorf("%s has the sub-code %d, which no case provokes", at, code)
		}
	}
}

// presented returns the answer that a client gets for err.
func presented(w *world, err error) webtest.Answer {
	r := httptest.NewRecorder()
	c := echo.New().NewContext(httptest.NewRequest(http.MethodPost, "/", http.NoBody), r)
	c.Response().Header().Set(echo.HeaderXRequestID, "an-id")
	mounted := echo.New()
	Mount(mounted, Options{Broker: w.broker.Broker, Logger: slog.New(slog.DiscardHandler)})
	mounted.HTTPErrorHandler(err, c)
	return webtest.Answer{StatusCode: r.Code, Header: r.Header(), Body: r.Body.String()}
}

// subCodesIn returns the numbers in the code that are sub-codes, with a source position
// for each.
func subCodesIn(t *testing.T, patterns ...string) map[int]string {
	t.Helper()
	shape := regexp.MustCompile(`^(40[0-5]\d\d|409\d\d|41000|50[0-4]\d\d|60000)$`)
	found := map[int]string{}
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, file := range slices.DeleteFunc(files, func(f string) bool { return strings.HasSuffix(f, "_test.go") }) {
			set := token.NewFileSet()
			parsed, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(parsed, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.INT && shape.MatchString(lit.Value) {
					if code, err := strconv.Atoi(lit.Value); err == nil {
						found[code] = set.Position(lit.Pos()).String()
					}
				}
				return true
			})
		}
	}
	if len(found) < 5 {
		t.Errorf("only %d sub-codes are found", len(found))
	}
	return found
}
