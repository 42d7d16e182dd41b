package e2e

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/go-amqp"

	"mayfly/cmd/mayfly/client"
	"mayfly/cmd/mayfly/server"
)

// resetting resets a server and returns the response.
func resetting(t *testing.T, r server.Ready) string {
	t.Helper()
	code, text := Request(t, http.MethodPost, r.Admin+"/reset", "")
	if code != http.StatusOK {
		t.Fatal(code, text)
	}
	return strings.TrimSpace(text)
}

// TestReset checks that everything is deleted durably, that the response counts it, and that an
// entity may be called reset.
func TestReset(t *testing.T) {
	store := "sqlite:" + filepath.Join(t.TempDir(), "m.db")
	s := Start(t, server.Config{Store: store, AllowReset: true})
	if got := resetting(t, s.Ready); got != `{"deleted":0,"created":0}` {
		t.Errorf("reset of an empty server: %s", got)
	}
	for _, body := range []string{
		`{"kind":"queue","path":"reset"}`, `{"kind":"queue","path":"b"}`, `{"kind":"queue","path":"a","properties":{"ForwardTo":"b"}}`,
		`{"kind":"topic","path":"t"}`, `{"kind":"subscription","path":"t/Subscriptions/s"}`,
	} {
		if code, text := Request(t, http.MethodPost, s.Dashboard+"/api/v1/entities", body); code != http.StatusCreated {
			t.Fatal(code, text)
		}
	}
	if code, text := Request(t, http.MethodPost, s.Admin+"/reset/messages", "x"); code != http.StatusCreated {
		t.Fatal(code, text)
	}
	if code, text := Request(t, http.MethodPost, s.Admin+"/reset/messages/head?timeout=5", ""); code != http.StatusCreated {
		t.Fatal(code, text) // it is deleted despite the lock
	}
	if code, text := Request(t, http.MethodPut, s.Dashboard+"/api/v1/views/late", `{"columns":["seq"],"lists":["messages"]}`); code != http.StatusOK && code != http.StatusCreated {
		t.Fatal(code, text)
	}
	if got := resetting(t, s.Ready); got != `{"deleted":5,"created":0}` {
		t.Errorf("got %s", got)
	}
	if text := Get(t, s.Dashboard+"/api/v1/activity"); !strings.Contains(text, "reset by 127.0.0.1") || !strings.Contains(text, "entity-deleted") {
		t.Errorf("no event reports the reset: %s", text)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	s = Start(t, server.Config{Store: store})
	if text := Get(t, s.Dashboard+"/api/v1/entities"); strings.Contains(text, `"path"`) {
		t.Errorf("after a restart got %s", text)
	}
	if text := Get(t, s.Dashboard+"/api/v1/views"); !strings.Contains(text, `"late"`) {
		t.Errorf("settings were deleted like messages: %s", text)
	}
}

// TestResetToConfig checks that the entities of --config exist again, empty and as defined.
func TestResetToConfig(t *testing.T) {
	dir := t.TempDir()
	file := WriteFile(t, dir, "Config.json", `{"UserConfig":{"Namespaces":[{"Name":"n","Queues":[{"Name":"q","Properties":{"LockDuration":"PT30S"}}],"Topics":[{"Name":"t","Subscriptions":[{"Name":"s"}]}]}]}}`)
	s := Start(t, server.Config{Store: "memory:", ConfigFile: file, AllowReset: true})
	CreateQueue(t, s.Ready, "extra")
	for range 2 {
		if code, text := Request(t, http.MethodPost, s.Admin+"/q/messages", "x"); code != http.StatusCreated {
			t.Fatal(code, text)
		}
	}
	if code, text := Request(t, http.MethodPatch, s.Dashboard+client.APIPath("entities", "q"), `{"properties":{"LockDuration":"PT5S"}}`); code != http.StatusOK {
		t.Fatal(code, text)
	}
	if got := resetting(t, s.Ready); got != `{"deleted":4,"created":3}` {
		t.Errorf("got %s", got)
	}
	if q := Entity(t, s, "q"); q.Counts.Active != 0 || q.Properties["LockDuration"] != "PT30S" {
		t.Errorf("the queue is %+v", q)
	}
	if text := Get(t, s.Dashboard+"/api/v1/entities"); strings.Contains(text, "extra") {
		t.Errorf("got %s", text)
	}
}

// TestWhoMayReset checks that a reset needs --allow-reset, is refused for pages of other sites,
// and does not work on a standby.
func TestWhoMayReset(t *testing.T) {
	s := Start(t, server.Config{Store: "memory:"})
	if code, text := Request(t, http.MethodPost, s.Admin+"/reset", ""); code != http.StatusNotFound || !strings.Contains(text, "--allow-reset") {
		t.Errorf("without the flag: %d %s", code, text)
	}

	on := NewSharedStore()
	owner := StartShared(t, on, server.Config{AllowReset: true})
	r := owner.Next(server.StateReady)
	CreateQueue(t, r, "q")
	standby := StartShared(t, on, server.Config{AllowReset: true}).Next(server.StateStandby)
	if code, text := Request(t, http.MethodPost, standby.Admin+"/reset", ""); code != http.StatusServiceUnavailable || !strings.Contains(text, "Standing by") {
		t.Errorf("standing by: %d %s", code, text)
	}
	for name, tc := range map[string]struct {
		method string
		header http.Header
		want   int
	}{
		"a foreign page":        {http.MethodPost, http.Header{"Origin": {"http://evil.example"}}, http.StatusForbidden},
		"a foreign page's form": {http.MethodPost, http.Header{"Sec-Fetch-Site": {"cross-site"}, "Content-Type": {"application/x-www-form-urlencoded"}}, http.StatusForbidden},
		"the dashboard's page":  {http.MethodPost, http.Header{"Origin": {r.Dashboard}}, http.StatusForbidden},
		"a rebound page":        {http.MethodPost, http.Header{"Host": {"evil.example"}}, http.StatusMisdirectedRequest},
		"an image":              {http.MethodGet, nil, http.StatusNotFound}, // and so an entity of that name can be looked at
	} {
		req, err := http.NewRequestWithContext(t.Context(), tc.method, r.Admin+"/reset", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header, req.Host = tc.header.Clone(), tc.header.Get("Host")
		w, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		w.Body.Close()
		if w.StatusCode != tc.want {
			t.Errorf("%s: got %s, want %d", name, w.Status, tc.want)
		}
	}
	if text := Get(t, r.Dashboard+"/api/v1/entities"); !strings.Contains(text, `"q"`) {
		t.Errorf("got %s", text)
	}
}

// TestSDKAfterReset checks that a test suite can keep its clients. Senders continue; a
// receiver reports once that its entity is deleted, as with Service Bus, and then continues.
func TestSDKAfterReset(t *testing.T) {
	file := WriteFile(t, t.TempDir(), "Config.json", `{"UserConfig":{"Namespaces":[{"Name":"n","Queues":[{"Name":"q"}]}]}}`)
	s := Start(t, server.Config{Store: "memory:", ConfigFile: file, AllowReset: true})
	c := NewSDKClient(t, s.AMQP, azservicebus.ClientOptions{RetryOptions: azservicebus.RetryOptions{RetryDelay: time.Millisecond}})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	from, err := c.NewSender("q", nil)
	if err != nil {
		t.Fatal(err)
	}
	to, err := c.NewReceiverForQueue("q", nil)
	if err != nil {
		t.Fatal(err)
	}
	for round := range 5 {
		for _, body := range []string{"taken", "left"} {
			if err := from.SendMessage(ctx, &azservicebus.Message{Body: []byte(body)}, nil); err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
		}
		var got []*azservicebus.ReceivedMessage
		for complaints := 0; len(got) == 0; {
			got, err = to.ReceiveMessages(ctx, 1, nil)
			if gone, ok := errors.AsType[*amqp.Error](err); ok && gone.Condition == amqp.ErrCondNotFound && complaints == 0 && round > 0 {
				complaints++
				continue
			}
			if err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
		}
		if string(got[0].Body) != "taken" {
			t.Errorf("round %d: got %s", round, got[0].Body)
		}
		resetting(t, s.Ready)
		// The lock was deleted together with the entity.
		if err := to.CompleteMessage(ctx, got[0], nil); err == nil {
			t.Errorf("round %d: a message from before the reset was completed", round)
		}
	}
}
