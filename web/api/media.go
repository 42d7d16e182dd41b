package api

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
)

// errMediaType says that a body is said to be something that is not read here.
var errMediaType = errors.New("media type not supported")

const codeMediaType = "UnsupportedMediaType"

// checkMedia refuses a body that is said to be something else than the route takes, or
// to be written in a way that is not read. What clients say that do not care is taken
// for that: nothing, text, bytes, and the form that curl -d calls whatever it sends.
func (r route) checkMedia(asked *http.Request) error {
	if w, ok := r.takes.(written); ok {
		return checkMedia(asked, w.media, yaml())
	}
	return checkMedia(asked, echo.MIMEApplicationJSON, jsons())
}

// checkMedia is for a body of a media type, or of others that are the same. JSON has
// dialects, +json, beside these.
func checkMedia(r *http.Request, want string, same []string) error {
	if r.ContentLength == 0 {
		return nil
	}
	if coding := r.Header.Get(echo.HeaderContentEncoding); coding != "" && !strings.EqualFold(coding, "identity") {
		return media("The body is encoded as '%s', which is not read here; send it as it is.", cut(coding))
	}
	said := r.Header.Get(echo.HeaderContentType)
	if said == "" {
		return nil
	}
	kind, parameters, err := mime.ParseMediaType(said)
	dialect := want == echo.MIMEApplicationJSON && strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json")
	if err != nil || !slices.Contains(same, kind) && !slices.Contains(careless(), kind) && !dialect {
		return media("The body is said to be '%s'; what is read here is %s.", cut(said), want)
	}
	if charset := parameters["charset"]; charset != "" && !strings.EqualFold(charset, "utf-8") && !strings.EqualFold(charset, "us-ascii") {
		return media("The body is said to be written in '%s'; what is read here is in UTF-8.", cut(charset))
	}
	return nil
}

// jsons are the media types of JSON and of lines of it.
func jsons() []string {
	return []string{echo.MIMEApplicationJSON, ndjson, "application/jsonl", "application/ndjson", "text/json"}
}

// yaml are those of YAML.
func yaml() []string {
	return []string{"application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml"}
}

// careless are the media types that say nothing.
func careless() []string {
	return []string{echo.MIMETextPlain, echo.MIMEOctetStream, echo.MIMEApplicationForm}
}

func media(format string, args ...any) error {
	return &engine.Refusal{Kind: errMediaType, Text: fmt.Sprintf(format, args...)}
}
