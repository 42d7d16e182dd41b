package api

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/labstack/echo/v4"
)

// A list writes {"messages":[…]} message by message, so that many bodies are never in memory
// together.
type list struct {
	w     *echo.Response
	begun bool
}

func beginList(c echo.Context) *list { return &list{w: c.Response()} }

func (l *list) add(m Message) error {
	raw, err := marshal(m)
	if err != nil {
		return fmt.Errorf("write message %s: %w", m.Key, err)
	}
	before := ","
	if !l.begun {
		before = l.begin()
	}
	return l.write(before, string(raw))
}

// addStreaming writes a message, and its body from the reader `body` as it is read.
func (l *list) addStreaming(m Message, body io.Reader) error {
	raw, err := marshal(m)
	if err != nil {
		return fmt.Errorf("write message %s: %w", m.Key, err)
	}
	before := ","
	if !l.begun {
		before = l.begin()
	}
	if err := l.write(before, string(raw[:len(raw)-1]), `,"bodyBase64":"`); err != nil {
		return err
	}
	w := base64.NewEncoder(base64.StdEncoding, l.w)
	if _, err := io.Copy(w, body); err != nil {
		return fmt.Errorf("write message %s: %w", m.Key, err)
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("write message %s: %w", m.Key, err)
	}
	return l.write(`"}`)
}

func (l *list) begin() string {
	l.begun = true
	l.w.Header().Set(echo.HeaderContentType, echo.MIMEApplicationJSON)
	return `{"messages":[`
}

func (l *list) write(parts ...string) error {
	for _, p := range parts {
		if _, err := io.WriteString(l.w, p); err != nil {
			return fmt.Errorf("write messages: %w", err)
		}
	}
	return nil
}

func (l *list) end() error {
	last := "]}\n"
	if !l.begun {
		last = l.begin() + last
	}
	if err := l.write(last); err != nil {
		return err
	}
	// Echo's own Flush does not report that the client has disconnected.
	if err := http.NewResponseController(l.w.Writer).Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return fmt.Errorf("write messages: %w", err)
	}
	return nil
}
