package api

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/labstack/echo/v4"
)

// marshal writes v as JSON for people to read. It does not escape < and >, because an answer
// is never part of a page.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("write JSON: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// reply sends v as JSON and a line end.
func reply(c echo.Context, status int, v any) error {
	raw, err := marshal(v)
	if err != nil {
		return err
	}
	return c.JSONBlob(status, append(raw, '\n'))
}
