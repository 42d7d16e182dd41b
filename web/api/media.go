package api

import (
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/shorten"
	"mayfly/web/errorcodes"
)

const codeMediaType = "UnsupportedMediaType" // for errorcodes.ErrMediaType

// checkMedia refuses a body of another media type than the route takes, or of an unsupported
// encoding. It accepts types that clients send without meaning them: none, text, bytes, and
// the form that curl -d claims for anything.
func (r route) checkMedia(asked *http.Request) error {
	if w, ok := r.request.(rawBody); ok {
		return checkMedia(asked, w.media, yaml)
	}
	return checkMedia(asked, echo.MIMEApplicationJSON, jsons)
}

// checkMedia refuses a body whose media type is neither want nor one of its synonyms in same. JSON
// also allows +json types.
func checkMedia(r *http.Request, want string, same []string) error {
	if r.ContentLength == 0 {
		return nil
	}
	if coding := r.Header.Get(echo.HeaderContentEncoding); coding != "" && !strings.EqualFold(coding, "identity") {
		return errMedia("The Content-Encoding '%s' is not supported. Send the body without encoding.", shorten.Quote(coding))
	}
	contentType := r.Header.Get(echo.HeaderContentType)
	if contentType == "" {
		return nil
	}
	kind, parameters, err := mime.ParseMediaType(contentType)
	dialect := want == echo.MIMEApplicationJSON && strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json")
	if err != nil || !slices.Contains(same, kind) && !slices.Contains(genericTypes, kind) && !dialect {
		return errMedia("The Content-Type '%s' is not supported. Send %s.", shorten.Quote(contentType), want)
	}
	if charset := parameters["charset"]; charset != "" && !strings.EqualFold(charset, "utf-8") && !strings.EqualFold(charset, "us-ascii") {
		return errMedia("The charset '%s' is not supported. Send the body in UTF-8.", shorten.Quote(charset))
	}
	return nil
}

// jsons are the media types of JSON and of JSON Lines.
var jsons = []string{
	echo.MIMEApplicationJSON, ndjson, "application/jsonl", "application/ndjson", "text/json",
}

// yaml are the media types of YAML.
var yaml = []string{
	"application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml",
}

// genericTypes are the media types that clients send without meaning them.
var genericTypes = []string{
	echo.MIMETextPlain, echo.MIMEOctetStream, echo.MIMEApplicationForm,
}

func errMedia(format string, args ...any) error {
	return engine.Refuse(errorcodes.ErrMediaType, format, args...)
}
