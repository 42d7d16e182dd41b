package main

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

// How the program ends. These numbers are for scripts and stay what they are.
const (
	exitOK          = 0
	exitFailed      = 1   // it could not do what it was asked to
	exitUsage       = 2   // it did not understand what it was asked to
	exitNotFound    = 3   // there is no such entity, message or rule
	exitRefused     = 4   // the server refuses it as things are
	exitEmpty       = 5   // --fail-empty, and there was nothing
	exitUnreachable = 6   // no server answers
	exitInterrupted = 130 // a signal kept a client from its end, or a second one a server
)

// exits are all codes and what they mean, for help and the README.
func exits() []exit {
	return []exit{
		{exitOK, "done", "OK"},
		{exitFailed, "failed, or not agreed to", "Failed"},
		{exitUsage, "the command line was not understood", "Usage"},
		{exitNotFound, "there is no such thing", "NotFound"},
		{exitRefused, "the server refuses it: an argument it does not take, a conflict, a quota, a lock that is lost", "Refused"},
		{exitEmpty, "there was nothing, and --fail-empty asked for this", "Empty"},
		{exitUnreachable, "no server answers", "Unreachable"},
		{exitInterrupted, "interrupted", "Interrupted"},
	}
}

// An exit is one of the ways in which the program ends.
type exit struct {
	code    int
	meaning string
	name    string // of it as the code of a problem document
}

// A misuse is a command line that cannot be meant: nothing was done.
type misuse struct{ err error }

func (m *misuse) Error() string { return m.err.Error() }

func (m *misuse) Unwrap() error { return m.err }

// misused is a misuse in words.
func misused(format string, args ...any) error { return &misuse{fmt.Errorf(format, args...)} }

// An unreachable is a server that does not answer.
type unreachable struct {
	base string
	err  error
}

func (u *unreachable) Error() string { return u.base + " does not answer: " + u.err.Error() }

func (u *unreachable) Unwrap() error { return u.err }

// How a command ends that found nothing, where that was to fail.
var (
	errEmpty    = errors.New("there is no message")
	errNoEntity = errors.New("there is no such queue, topic or subscription")
)

// exitOf is how the program ends for an error; other than nil.
func exitOf(err error) int {
	if errors.Is(err, errStopped) {
		return exitInterrupted
	}
	if errors.Is(err, errEmpty) || errors.Is(err, errNoEntity) {
		return exitEmpty
	}
	if _, ok := errors.AsType[*misuse](err); ok {
		return exitUsage
	}
	if _, ok := errors.AsType[*unreachable](err); ok {
		return exitUnreachable
	}
	p, ok := errors.AsType[*api.Problem](err)
	switch {
	case !ok:
		return exitFailed
	case p.Status == http.StatusNotFound:
		return exitNotFound
	case p.Status == http.StatusRequestTimeout || p.Status == http.StatusTooManyRequests:
		return exitFailed // the same may be tried again
	case p.Status < http.StatusInternalServerError || p.Status == http.StatusNotImplemented:
		return exitRefused
	default:
		return exitFailed
	}
}

// failed says why, in one sentence, or as a problem document where the command
// line asked for JSON, and returns how the program ends. Several reasons, such as
// a configuration may have, are a line each.
func failed(s streams, args []string, err error) int {
	code := exitOf(err)
	if code == exitInterrupted {
		return code
	}
	text := "mayfly: " + err.Error()
	if wantsJSON(args) {
		text = problemOf(err, code)
	}
	fmt.Fprintln(s.err, text) //nolint:errcheck // there is nobody else to tell
	return code
}

// wantsJSON tells whether a command line asks for JSON, also one that cannot be
// understood.
func wantsJSON(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.Contains(args, "--json")
}

// problemOf is an error as a problem document (RFC 9457): the server's own, or
// one of the same members without what only a server has.
func problemOf(err error, code int) string {
	if p, ok := errors.AsType[*api.Problem](err); ok {
		whole := *p
		whole.Detail = err.Error() // with what the command knows of it
		return marshalled(whole)
	}
	at := slices.IndexFunc(exits(), func(e exit) bool { return e.code == code })
	e := exits()[at]
	text := err.Error()
	if first, _, _ := strings.Cut(text, " "); !strings.Contains(first, "://") { // an address stays one
		r, n := utf8.DecodeRuneInString(text)
		text = string(unicode.ToUpper(r)) + text[n:]
	}
	return marshalled(struct {
		Type   string `json:"type"`
		Title  string `json:"title"`
		Detail string `json:"detail"`
		Code   string `json:"code"`
	}{"about:blank", e.meaning, strings.TrimSuffix(text, ".") + ".", e.name})
}

func marshalled(v any) string {
	var b strings.Builder
	to := json.NewEncoder(&b)
	to.SetEscapeHTML(false)
	if err := to.Encode(v); err != nil {
		panic(err) // texts and numbers
	}
	return strings.TrimSuffix(b.String(), "\n")
}
