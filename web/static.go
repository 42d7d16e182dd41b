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

// serveStatic serves files whose address changes with their content, compressed for
// whoever takes that. Nothing else of this port is: a page has what its visitor has
// sent beside the token of its forms, and from how well that compresses the token
// could be found out (BREACH).
func serveStatic(c echo.Context) error {
	r, h := c.Request(), c.Response().Header()
	name := strings.TrimPrefix(r.URL.Path, static.Prefix)
	content, contentType, ok := static.Open(name)
	if !ok {
		return echo.ErrNotFound
	}
	tag := name
	// A range is one of the file itself: nobody has half of what is compressed.
	if r.Header.Get("Range") == "" && takesGzip(r.Header) {
		content, tag = static.Zipped(name), name+".gz"
		h.Set(echo.HeaderContentEncoding, "gzip")
		if r.Header.Get("If-Match") == "" { // nothing is sent where that fails
			h.Set(echo.HeaderContentLength, strconv.Itoa(len(content))) // which ServeContent leaves to whoever compresses
		}
	}
	h.Set(echo.HeaderContentType, contentType)
	h.Set(echo.HeaderCacheControl, "public, max-age=31536000, immutable")
	h.Set("Etag", `"`+tag+`"`)
	h.Add(echo.HeaderVary, echo.HeaderAcceptEncoding)
	http.ServeContent(c.Response(), r, "", time.Time{}, bytes.NewReader(content))
	return nil
}

// takesGzip tells whether a client takes what is compressed, by Accept-Encoding of RFC
// 9110: gzip where it is named, else what is said of all codings.
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
