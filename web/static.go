package web

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/static"
)

// serveStatic serves files whose address changes with their content, compressed for clients that
// accept it. Nothing else on this port is compressed: a page contains input of its visitor beside
// the token of its forms, and the token could be guessed from the compressed size (BREACH).
func serveStatic(c echo.Context) error {
	r, h := c.Request(), c.Response().Header()
	name := strings.TrimPrefix(r.URL.Path, static.Prefix)
	content, contentType, ok := static.Open(name)
	if !ok {
		return echo.ErrNotFound
	}
	tag := name
	// Ranges are served from the uncompressed file.
	if r.Header.Get("Range") == "" && takesGzip(r.Header) {
		content, tag = static.Zipped(name), name+".gz"
		h.Set(echo.HeaderContentEncoding, "gzip")
		if r.Header.Get("If-Match") == "" { // nothing is sent if the condition fails
			h.Set(echo.HeaderContentLength, strconv.Itoa(len(content))) // ServeContent does not set it for encoded content
		}
	}
	h.Set(echo.HeaderContentType, contentType)
	h.Set(echo.HeaderCacheControl, "public, max-age=31536000, immutable")
	h.Set("Etag", `"`+tag+`"`)
	h.Add(echo.HeaderVary, echo.HeaderAcceptEncoding)
	http.ServeContent(c.Response(), r, "", time.Time{}, bytes.NewReader(content))
	return nil
}

// takesGzip reports whether a client accepts gzip, by Accept-Encoding of RFC 9110: the weight
// of gzip if it is named, else that of "*".
func takesGzip(h http.Header) bool {
	named, all := "", ""
	for one := range strings.SplitSeq(strings.Join(h.Values(echo.HeaderAcceptEncoding), ","), ",") {
		coding, weight, _ := strings.Cut(one, ";")
		_, q, given := strings.Cut(weight, "=")
		if q = strings.TrimSpace(q); !given {
			q = "1"
		}
		switch strings.ToLower(strings.TrimSpace(coding)) {
		case "gzip", "x-gzip":
			named = q
		case "*":
			all = q
		}
	}
	if named == "" {
		named = all
	}
	q, err := strconv.ParseFloat(named, 64)
	return err == nil && q > 0
}
