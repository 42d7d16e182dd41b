package api

import (
	"fmt"
	"strings"
	"testing"

	"mayfly/engine/broker"
)

func TestHorizon(t *testing.T) {
	w := start(t, broker.Options{})
	w.want(201, "POST", "/entities", `{"kind":"queue","path":"kept","properties":{"DeadLetteringOnMessageExpiration":true}}`, nil)
	w.want(201, "POST", "/entities", `{"kind":"queue","path":"lost"}`, nil)
	w.want(201, "POST", "/entities", `{"kind":"topic","path":"t"}`, nil)
	w.want(201, "POST", "/entities", `{"kind":"subscription","path":"t/Subscriptions/s"}`, nil)
	w.want(201, "POST", "/send/kept", `[{"messageId":"k-1","timeToLive":"30s"},{"messageId":"k-2","timeToLive":"2h"},{"messageId":"k-3"}]`, nil)
	w.want(201, "POST", "/send/lost", `[{"messageId":"l-1","timeToLive":"50s"},{"messageId":"l-2","timeToLive":"30d"}]`, nil)
	w.want(201, "POST", "/send/t", `{"messageId":"t-1","timeToLive":"40s","subject":"eur"}`, nil)
	for path, want := range map[string]string{
		"/expirations":                              "PT1M:1+2 PT6H:1+0 :0+1 | k-1† t-1 l-1 k-2† l-2",
		"/expirations?limit=2":                      "PT1M:1+2 PT6H:1+0 :0+1 | k-1† t-1",
		"/expirations?entity=kept":                  "PT1M:1+0 PT6H:1+0 | k-1† k-2†",
		"/expirations?entity=lost&limit=1":          "PT1M:0+1 :0+1 | l-1",
		"/expirations?entity=T":                     "PT1M:0+1 | t-1",
		"/expirations?entity=t/Subscriptions/s":     "PT1M:0+1 | t-1",
		"/expirations?entity=kept/$DeadLetterQueue": " |",
	} {
		var h Expirations
		w.want(200, "GET", path, "", &h)
		var parts []string
		for _, s := range h.Spans {
			if s.DeadLetter+s.Lost > 0 {
				parts = append(parts, fmt.Sprintf("%s:%d+%d", s.Within, s.DeadLetter, s.Lost))
			}
		}
		parts = append(parts, "|")
		for _, m := range h.Next {
			parts = append(parts, m.MessageID+strings.Repeat("†", map[bool]int{true: 1}[m.DeadLetter]))
		}
		if got := strings.Join(parts, " "); got != strings.TrimSpace(want) || len(h.Spans) != 8 || h.Now.IsZero() {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
	w.want(404, "GET", "/expirations?entity=nowhere", "", nil)
	w.want(400, "GET", "/expirations?limit=0", "", nil)
	w.want(400, "GET", "/expirations?limit=101", "", nil)
	w.want(400, "GET", "/expirations?entity=a%2F%2Fb", "", nil)
}
