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
		"/horizon":                              "PT1M:1+2 PT6H:1+0 :0+1 | k-1† t-1 l-1 k-2† l-2",
		"/horizon?limit=2":                      "PT1M:1+2 PT6H:1+0 :0+1 | k-1† t-1",
		"/horizon?entity=kept":                  "PT1M:1+0 PT6H:1+0 | k-1† k-2†",
		"/horizon?entity=lost&limit=1":          "PT1M:0+1 :0+1 | l-1",
		"/horizon?entity=T":                     "PT1M:0+1 | t-1",
		"/horizon?entity=t/Subscriptions/s":     "PT1M:0+1 | t-1",
		"/horizon?entity=kept/$DeadLetterQueue": " |",
	} {
		var h Horizon
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
	w.want(404, "GET", "/horizon?entity=nowhere", "", nil)
	w.want(400, "GET", "/horizon?limit=0", "", nil)
	w.want(400, "GET", "/horizon?limit=101", "", nil)
	w.want(400, "GET", "/horizon?entity=a%2F%2Fb", "", nil)
}
