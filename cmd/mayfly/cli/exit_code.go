package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mayfly/web/api"
)

// Exit codes of the program. Scripts depend on them, so they do not change.
const (
	ExitOK          = 0
	ExitFailed      = 1   // the command failed
	ExitUsage       = 2   // the command line is invalid
	ExitNotFound    = 3   // the entity, message or other object does not exist
	ExitRefused     = 4   // the server refused the request
	ExitEmpty       = 5   // nothing was found, and --fail-empty is set
	ExitUnreachable = 6   // the server does not respond
	ExitInterrupted = 130 // a signal interrupted a client, or a second signal a server
)

// ExitCodes returns all exit codes with their meanings, for help and the documentation.
func ExitCodes() []ExitCode {
	return []ExitCode{
		{ExitOK, "success", "OK"},
		{ExitFailed, "the command failed, or was not confirmed", "Failed"},
		{ExitUsage, "the command line is invalid", "Usage"},
		{ExitNotFound, "not found: the entity, message or other object does not exist", "NotFound"},
		{ExitRefused, "the server refused the request: invalid argument, no permission, conflict, quota or lost lock", "Refused"},
		{ExitEmpty, "nothing was found, and --fail-empty is set", "Empty"},
		{ExitUnreachable, "the server does not respond", "Unreachable"},
		{ExitInterrupted, "interrupted", "Interrupted"},
	}
}

// An ExitCode is an exit code of the program, and what it means.
type ExitCode struct {
	Code    int
	Meaning string
	name    string // its code in a problem document
}

// A UsageError is an error for an invalid command line: nothing was done.
type UsageError struct{ Err error }

func (m *UsageError) Error() string { return m.Err.Error() }

func (m *UsageError) Unwrap() error { return m.Err }

// UsageErrorf returns a UsageError with a formatted text.
func UsageErrorf(format string, args ...any) error { return &UsageError{fmt.Errorf(format, args...)} }

// An UnreachableError is the error for a server that does not respond.
type UnreachableError struct {
	ServerURL string
	Err       error
}

func (u *UnreachableError) Error() string { return u.ServerURL + " does not answer: " + u.Err.Error() }

func (u *UnreachableError) Unwrap() error { return u.Err }

// Errors of commands with --fail-empty that found nothing.
var (
	ErrEmpty    = errors.New("no message was found")
	ErrNoEntity = errors.New("no queue, topic or subscription was found")
)

// ExitCodeOf returns the exit code for an error, which is not nil.
func ExitCodeOf(err error) int {
	if errors.Is(err, ErrStopped) {
		return ExitInterrupted
	}
	if errors.Is(err, ErrEmpty) || errors.Is(err, ErrNoEntity) {
		return ExitEmpty
	}
	if _, ok := errors.AsType[*UsageError](err); ok {
		return ExitUsage
	}
	if _, ok := errors.AsType[*UnreachableError](err); ok {
		return ExitUnreachable
	}
	p, ok := errors.AsType[*api.Problem](err)
	switch {
	case !ok:
		return ExitFailed
	case p.Status == http.StatusNotFound:
		return ExitNotFound
	case p.Status == http.StatusRequestTimeout || p.Status == http.StatusTooManyRequests:
		return ExitFailed // a retry may succeed
	case p.Status < http.StatusInternalServerError || p.Status == http.StatusNotImplemented:
		return ExitRefused
	default:
		return ExitFailed
	}
}

// reportError prints the error in one sentence, or as a problem document if the command line asks
// for JSON, and returns the exit code. An error with several causes, such as an invalid
// configuration, has a line for each.
func reportError(s Streams, args []string, err error) int {
	code := ExitCodeOf(err)
	if code == ExitInterrupted {
		return code
	}
	text := "mayfly: " + escapeForTerminal(err.Error())
	if wantsJSON(args) {
		text = problemDocument(err, code)
	}
	fmt.Fprintln(s.Err, text) //nolint:errcheck // nowhere else to report it
	return code
}

// wantsJSON reports whether a command line asks for JSON, even if the line is invalid.
func wantsJSON(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.Contains(args, "--json")
}

// problemDocument returns an error as a problem document (RFC 9457): the server's own, or one with
// the same members except those that only a server can set.
func problemDocument(err error, code int) string {
	if p, ok := errors.AsType[*api.Problem](err); ok {
		whole := *p
		whole.Detail = err.Error() // including what the command added
		return MarshalJSON(whole)
	}
	at := slices.IndexFunc(ExitCodes(), func(e ExitCode) bool { return e.Code == code })
	e := ExitCodes()[at]
	text := err.Error()
	if first, _, _ := strings.Cut(text, " "); !strings.Contains(first, "://") { // do not capitalize a URL
		r, n := utf8.DecodeRuneInString(text)
		text = string(unicode.ToUpper(r)) + text[n:]
	}
	return MarshalJSON(struct {
		Type   string `json:"type"`
		Title  string `json:"title"`
		Detail string `json:"detail"`
		Code   string `json:"code"`
	}{"about:blank", e.Meaning, strings.TrimSuffix(text, ".") + ".", e.name})
}

// MarshalJSON returns v as one line of JSON, without escapes for HTML.
func MarshalJSON(v any) string {
	var b strings.Builder
	to := json.NewEncoder(&b)
	to.SetEscapeHTML(false)
	if err := to.Encode(v); err != nil {
		panic(err) // never: it contains only texts and numbers
	}
	return strings.TrimSuffix(b.String(), "\n")
}
