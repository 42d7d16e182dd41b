package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	"mayfly/cmd/mayfly/server"
)

// TestLiveIsCapped checks the flags that limit live pages: beyond the limit, a socket gets 503,
// upon which its page polls, and further pages on a socket get no updates.
func TestLiveIsCapped(t *testing.T) {
	const live = "live"
	for name, tc := range map[string]struct {
		flags         []string
		first, second string // results for two sockets: live, or the reason why not
		another       string // result for another page on the first socket
	}{
		"by default":             {nil, live, live, live},
		"no sockets":             {[]string{"--live-sockets", "0"}, "live pages are off on this server", "live pages are off on this server", ""},
		"one socket":             {[]string{"--live-sockets", "1"}, live, "the server has 1 live pages already", live},
		"one socket, an address": {[]string{"--live-sockets-per-address", "1"}, live, "this address has 1 live pages already", live},
		"one page":               {[]string{"--live-pages", "1"}, live, live, "A socket may watch at most 1 pages."},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, append([]string{"--store", "memory:"}, tc.flags...)...)
			ws, is := capped(t, s.at.Dashboard)
			if is != tc.first {
				t.Fatalf("the first socket: %s; want %s", is, tc.first)
			}
			if _, is := capped(t, s.at.Dashboard); is != tc.second {
				t.Errorf("the second socket: %s; want %s", is, tc.second)
			}
			if ws == nil {
				return
			}
			f := &frames{ws: ws}
			for _, of := range [][2]string{{"/n/default", live}, {"/n/default/queues", tc.another}} {
				page, is := of[0], of[1]
				f.text.Reset()
				if err := ws.WriteJSON(map[string]any{"op": "sub", "topic": page}); err != nil {
					t.Fatal(err)
				}
				told := f.until(t, `"topic":"`+page+`"`)
				if refused := strings.Contains(told, `"t":"error"`); refused != (is != live) || refused && !strings.Contains(told, is) {
					t.Errorf("a subscription to %s got %.300s; want %s", page, told, is)
				}
			}
		})
	}
}

// capped opens a live page's socket, or returns the reason why that failed.
func capped(t *testing.T, base string) (*websocket.Conn, string) {
	t.Helper()
	ws, w, err := websocket.DefaultDialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(base, "http")+"/live", http.Header{"Origin": {base}})
	if w == nil {
		t.Fatal(err)
	}
	defer w.Body.Close()
	if err == nil {
		t.Cleanup(func() { ws.Close() })
		return ws, "live"
	}
	text, err := io.ReadAll(w.Body)
	if err != nil || w.StatusCode != http.StatusServiceUnavailable || w.Header.Get("Retry-After") == "" {
		return nil, fmt.Sprint(w.Status, w.Header, string(text), err)
	}
	return nil, strings.TrimSpace(string(text))
}

// fullInBrowser opens two tabs with a limit of one socket: the second tab polls, and shows the
// same.
func fullInBrowser(t *testing.T, browser context.Context) {
	s := Start(t, server.Config{Store: "memory:", LiveSockets: 1})
	first, second := visitTo(t, browser, s), visitTo(t, browser, s)
	first.create("queue", "steady", `{}`)
	first.visit("/n/default/q/steady")
	first.want(isLive)
	second.forgive("/n/default/live", "503")
	second.visit("/n/default/q/steady")
	second.want(`document.querySelector("[data-pill]").dataset.state === "polling" && mayfly.polls > 0`)
	first.send("steady", "", "x")
	for _, v := range []*visit{first, second} {
		v.want(slot + `("count-active") === "1"`)
	}
	first.leave()
	second.wantMeanwhile(isLive, func() { second.js(`dispatchEvent(new Event("online"))`) })
}
