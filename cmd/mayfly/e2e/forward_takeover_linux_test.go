package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mayfly/cmd/mayfly/server"
	"mayfly/storage/mongo/mongotest"
)

// TestTakeOversWhilePassedOn ends the owner of three namespaces while clients work with a server
// that owned none of them, and never switch to another. Each acknowledged message exists exactly
// once, unless it was completed.
func TestTakeOversWhilePassedOn(t *testing.T) {
	for name, how := range map[string]os.Signal{"killed": os.Kill, "stopped": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) { takeOverWhilePassedOn(t, how) })
	}
}

func takeOverWhilePassedOn(t *testing.T, how os.Signal) {
	store := mongotest.URL(t)
	const short = 1500 * time.Millisecond
	first := spawnPeer(t, store, short, "")
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	next := func(p *child, states string) server.Ready {
		t.Helper()
		for {
			select {
			case r, ok := <-p.news:
				if !ok {
					t.Fatalf("the server ended: %v\n%s", p.err, &p.said)
				}
				if strings.Contains(states, r.State) {
					return r
				}
			case <-ctx.Done():
				t.Fatalf("the server never became %s\n%s", states, &p.said)
			}
		}
	}
	one := next(first, server.StateReady)
	second := spawnPeer(t, store, short, "")
	two := next(second, server.StateStandby)
	ask := func(method, url, body string) (int, string) {
		r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		w, err := http.DefaultClient.Do(r)
		if err != nil {
			return 0, err.Error()
		}
		defer w.Body.Close()
		text, err := io.ReadAll(w.Body)
		if err != nil {
			return 0, err.Error()
		}
		return w.StatusCode, string(text)
	}
	names := []string{"shop", "till"}
	for _, n := range names {
		if code, text := ask("POST", one.Dashboard+"/api/v1/namespaces", `{"name":"`+n+`","definitions":{"UserConfig":{"Namespaces":[{"Name":"n","Queues":[{"Name":"q"}]}]}}}`); code != http.StatusCreated {
			t.Fatal(code, text)
		}
	}
	if code, text := ask("POST", two.Dashboard+"/api/v1/entities", `{"kind":"queue","path":"q"}`); code != http.StatusCreated {
		t.Fatal("at the server that owns nothing:", code, text)
	}
	apis := []string{"/api/v1", "/api/v1/n/shop", "/api/v1/n/till"}
	// Clients use only the second server, also for namespaces that it does not own.
	var mu sync.Mutex
	sent, certain := map[string]bool{}, map[string]bool{} // by API and body; certain has the acknowledged messages
	stop, halt := context.WithCancel(ctx)
	var clients sync.WaitGroup
	for _, api := range apis {
		clients.Go(func() {
			for n := 0; stop.Err() == nil; n++ {
				id := fmt.Sprintf("%s#%d", api, n)
				mu.Lock()
				sent[id] = true
				mu.Unlock()
				code, text := ask("POST", two.Dashboard+api+"/send/q", `{"body":"`+id+`"}`)
				switch code {
				case http.StatusCreated:
					mu.Lock()
					certain[id] = true
					mu.Unlock()
				case 0, http.StatusServiceUnavailable, http.StatusNotFound:
					pause(stop)
				default:
					t.Errorf("%s: %d %s", id, code, text)
				}
				if n%5 == 4 {
					pause(stop)
				}
			}
		})
	}
	works := func(when string) {
		t.Helper()
		before := map[string]int{}
		for began := time.Now(); ; {
			mu.Lock()
			now := map[string]int{}
			for id := range certain {
				api, _, _ := strings.Cut(id, "#")
				now[api]++
			}
			mu.Unlock()
			if len(before) == 0 {
				before = now
				before["there"] = 1
			}
			all := true
			for _, api := range apis {
				all = all && now[api] >= before[api]+3
			}
			if all {
				t.Logf("%s: all clients make progress after %v", when, time.Since(began).Round(10*time.Millisecond))
				return
			}
			if ctx.Err() != nil {
				t.Fatalf("%s: clients make no progress: %v after %v\n%s", when, now, before, &second.said)
			}
			pause(ctx)
		}
	}
	works("at first")
	first.signal(how)
	<-first.done
	works("alone")
	first = spawnPeer(t, store, short, "")
	next(first, server.StateReady+server.StateStandby)
	works("with another")
	halt()
	clients.Wait()
	for _, api := range apis {
		there := map[string]int{}
		for from := 1; ; {
			code, text := ask("GET", fmt.Sprintf("%s%s/peek/q?limit=200&from=%d", two.Dashboard, api, from), "")
			if code != 200 {
				t.Fatal(code, text)
			}
			n := 0
			for part := range strings.SplitSeq(text, `"body":"`) {
				if id, _, ok := strings.Cut(part, `"`); ok && strings.HasPrefix(id, api+"#") {
					there[id]++
					n++
				}
			}
			if n == 0 {
				break
			}
			last := strings.LastIndex(text, `"sequenceNumber":`)
			if _, err := fmt.Sscanf(text[last:], `"sequenceNumber":%d`, &from); err != nil {
				t.Fatal(err)
			}
			from++
		}
		for id := range certain {
			if strings.HasPrefix(id, api+"#") && there[id] != 1 {
				t.Errorf("%s was acknowledged, but exists %d times", id, there[id])
			}
		}
		for id, n := range there {
			if !sent[id] || n > 1 {
				t.Errorf("%s exists %d times; sent: %v", id, n, sent[id])
			}
		}
	}
	t.Logf("%d sent, %d acknowledged", len(sent), len(certain))
}
