package layout

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"mayfly/static"
	"mayfly/views/locale"
	"mayfly/views/view"
)

func render(t *testing.T, base string, s Shell) string {
	t.Helper()
	var b bytes.Buffer
	if err := Page(s).Render(view.WithBase(t.Context(), base), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var assets = regexp.MustCompile(`(?:href|src)="([^"]*/static/[^"#]*)`)

func TestAssetsOpenUnderAnyBase(t *testing.T) {
	for _, base := range []string{"", "/mayfly"} {
		found := assets.FindAllStringSubmatch(render(t, base, Shell{Home: base + "/n/default"}), -1)
		if len(found) == 0 {
			t.Fatal("no assets")
		}
		for _, m := range found {
			name, ok := strings.CutPrefix(m[1], base+static.Prefix)
			if !ok {
				t.Errorf("%s is not below %q", m[1], base)
			}
			if _, _, ok := static.Open(name); !ok {
				t.Errorf("%s cannot be opened", m[1])
			}
		}
	}
}

func TestOnlyLivePagesSayTheyAre(t *testing.T) {
	live := render(t, "", Shell{Live: Live{URL: "/n/default", N: 9, Epoch: 7, Now: time.Unix(0, 0), Build: "b"}})
	for _, want := range []string{`data-live="/n/default"`, `data-n="9"`, `data-epoch="7"`, `data-now="1970-01-01T00:00:00.000Z"`, `data-build="b"`, "data-pill", `http-equiv="refresh"`} {
		if !strings.Contains(live, want) {
			t.Errorf("a live page lacks %s", want)
		}
	}
	still := render(t, "", Shell{})
	for _, not := range []string{"data-live", "data-pill", "http-equiv"} {
		if strings.Contains(still, not) {
			t.Errorf("a page that is not live has %s", not)
		}
	}
}

// TestScriptsHaveTheDate checks that a page passes the date format of its language to its script,
// unless it is the script's default.
func TestScriptsHaveTheDate(t *testing.T) {
	for tag, want := range map[string]string{"en": "", "pt-BR": "02/01/2006", "cs": "2.\u00a01.\u00a02006", "zh-CN": "2006/1/2"} {
		var words map[string]string
		if err := json.Unmarshal([]byte(scriptTexts(locale.With(t.Context(), tag))), &words); err != nil || words["date"] != want {
			t.Errorf("%s: scripts write %q, want %q: %v", tag, words["date"], want, err)
		}
	}
}

func TestNamesAreEscaped(t *testing.T) {
	got := render(t, "", Shell{Namespace: `<b>"`, Title: "<i>", CSRF: `">`, Home: "javascript:alert(1)", Back: `"><script>`})
	for _, not := range []string{"<b>\"", "<i>", `value="">`, "javascript:", `"><script>`} {
		if strings.Contains(got, not) {
			t.Errorf("%s was not escaped", not)
		}
	}
}
