package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mayfly/cmd/mayfly/client"
	"mayfly/cmd/mayfly/server"
	"mayfly/engine"
	"mayfly/web/api"
)

// TestParseLimits checks that each --limit changes one value of the profile, that the last one for
// a name counts, and which values are refused.
func TestParseLimits(t *testing.T) {
	emulator, err := engine.Profile("emulator")
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		given []string
		want  func(*engine.Limits)
	}{
		"the profile":  {nil, func(*engine.Limits) {}},
		"a limit":      {[]string{"entities=7"}, func(l *engine.Limits) { l.Entities = 7 }},
		"the last one": {[]string{"entities=7", "entities=8"}, func(l *engine.Limits) { l.Entities = 8 }},
		"no maximum":   {[]string{"max-ttl=never"}, func(l *engine.Limits) { l.MaxTTL = 0 }},
		"features":     {[]string{"without=topics", "sessions"}, func(l *engine.Limits) { l.Disabled = engine.TopicFeature | engine.SessionFeature }},
		"features between": {[]string{"peek-count=1", "without=topics", "sessions", "receives=2"}, func(l *engine.Limits) {
			l.PeekCount, l.Disabled, l.Receives = 1, engine.TopicFeature|engine.SessionFeature, 2
		}},
		"other features":  {[]string{"without=topics", "without=sessions"}, func(l *engine.Limits) { l.Disabled = engine.SessionFeature }},
		"with everything": {[]string{"without="}, func(l *engine.Limits) { l.Disabled = 0 }},
	} {
		t.Run(name, func(t *testing.T) {
			want := emulator
			tc.want(&want)
			if got, err := server.ParseLimits("emulator", tc.given); err != nil || !cmp.Equal(got, want) {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
	if _, err := server.ParseLimits("standard", []string{"entities=7", "receives"}); err == nil || !strings.Contains(err.Error(), `must be NAME=VALUE, such as min-auto-delete=5s, not "receives"`) {
		t.Errorf("a limit without value: %v", err)
	}
	if _, err := server.ParseLimits("gold", nil); !errors.Is(err, engine.ErrArgument) {
		t.Errorf("an unknown profile: %v", err)
	}
}

// PostJSON posts a JSON document and returns the response.
func PostJSON(t *testing.T, url, body string) (status int, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Body.Close()
	b, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.StatusCode, string(b)
}

func profiled(t *testing.T, c server.Config, profile string, limits ...string) *Server {
	t.Helper()
	l, err := server.ParseLimits(profile, limits)
	if err != nil {
		t.Fatal(err)
	}
	c.Limits = &l
	s := Start(t, c)
	if l.Namespace != "" {
		t.Errorf("given limits were changed: %+v", l)
	}
	return s
}

// EMU-8: the sample loads in the emulator's profile, and omitted properties have the emulator's
// defaults.
func TestEmulatorProfile(t *testing.T) {
	s := profiled(t, server.Config{Store: "memory:", ConfigFile: "../../../engine/topology/testdata/Config.json"}, "emulator")
	for name, want := range map[string]map[string]any{
		"prices/subscriptions/everything": {"DefaultMessageTimeToLive": "PT1H", "MaxDeliveryCount": 3.0, "LockDuration": "PT1M"},
		"prices":                          {"DuplicateDetectionHistoryTimeWindow": "PT5S", "MaxSizeInMegabytes": 100.0},
	} {
		for property, value := range want {
			if got := Entity(t, s, name).Properties[property]; got != value {
				t.Errorf("%s of %s is %v; want %v", property, name, got, value)
			}
		}
	}
	if status, text := PostJSON(t, s.Dashboard+"/api/v1/entities", `{"kind":"queue","path":"new","properties":{"MaxDeliveryCount":null}}`); status != http.StatusCreated {
		t.Errorf("got %d %s", status, text)
	} else {
		var e api.Entity
		if err := json.Unmarshal([]byte(text), &e); err != nil || e.Properties["MaxDeliveryCount"] != 3.0 || e.Properties["DuplicateDetectionHistoryTimeWindow"] != "PT20S" {
			t.Errorf("got %v, %v", e.Properties, err)
		}
	}
	form := Get(t, s.Dashboard+"/n/sbemulatorns/queues/new")
	for _, want := range []string{`name="DefaultMessageTimeToLive" value="1h"`, `name="MaxDeliveryCount" value="3"`, `placeholder="1h"`, "1 to 10.", "5s to 5m."} {
		if !strings.Contains(form, want) {
			t.Errorf("the form lacks %s", want)
		}
	}
	settings := Get(t, s.Dashboard+"/n/sbemulatorns/t/prices/s/everything?tab=settings")
	if !strings.Contains(settings, `<span class="dim">3</span>`) {
		t.Error("the settings do not show the default of three deliveries")
	}
}

// TestBasicProfile checks that errors of PROP-4 and of the basic tier's restrictions have the texts
// of Service Bus, with the namespace's name.
func TestBasicProfile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "Config.json")
	if err := os.WriteFile(file, []byte(`{"UserConfig":{"Namespaces":[{"Name":"shop"}]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	s := profiled(t, server.Config{Store: "memory:", ConfigFile: file}, "basic")
	const why = " because the namespace 'shop' is using 'Basic' tier."
	for body, want := range map[string]string{
		`{"kind":"topic","path":"t"}`:                                                  "Cannot operate on type Topic" + why,
		`{"kind":"queue","path":"q","properties":{"RequiresSession":true}}`:            "The property 'RequiresSession' cannot be set when creating a Queue" + why,
		`{"kind":"queue","path":"q","properties":{"AutoDeleteOnIdle":"PT5M"}}`:         "The property 'AutoDeleteOnIdle' cannot be set when creating a Queue" + why,
		`{"kind":"queue","path":"q","properties":{"DefaultMessageTimeToLive":"P15D"}}`: "The property value for 'DefaultMessageTimeToLive' must be between 00:00:01 and 14.00:00:00 when the namespace 'shop' is using 'Basic' tier.",
	} {
		status, text := PostJSON(t, s.Dashboard+"/api/v1/entities", body)
		var p api.Problem
		if err := json.Unmarshal([]byte(text), &p); err != nil || status != http.StatusBadRequest || p.Detail != want {
			t.Errorf("%s: got %d %s", body, status, text)
		}
	}
	if status, text := PostJSON(t, s.Dashboard+"/api/v1/entities", `{"kind":"queue","path":"q"}`); status != http.StatusCreated || !strings.Contains(text, `"DefaultMessageTimeToLive":"P14D"`) { // TTL-3
		t.Errorf("got %d %s", status, text)
	}
	form := Get(t, s.Dashboard+"/n/shop/queues/new?temporary=1")
	for _, lacking := range []string{"RequiresSession", "RequiresDuplicateDetection", "ForwardTo", "AutoDeleteOnIdle"} {
		if strings.Contains(form, fmt.Sprintf("name=%q", lacking)) {
			t.Errorf("the form has a field for %s", lacking)
		}
	}
	if !strings.Contains(form, `name="DefaultMessageTimeToLive" value="14d"`) {
		t.Error("the form does not show how long messages live")
	}
}

// TestProfileOfBefore creates entities in the premium tier and restarts the server in the basic
// tier: the entities keep their properties, and their forms can be sent back unchanged.
func TestProfileOfBefore(t *testing.T) {
	store := "sqlite:" + t.TempDir() + "/mayfly.db"
	s := profiled(t, server.Config{Store: store}, "premium")
	const large = `{"kind":"queue","path":"large","properties":{"MaxMessageSizeInKilobytes":2048,"AutoDeleteOnIdle":"P1D","RequiresSession":false}}`
	if status, text := PostJSON(t, s.Dashboard+"/api/v1/entities", large); status != http.StatusCreated {
		t.Fatalf("got %d %s", status, text)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	s = profiled(t, server.Config{Store: store}, "basic", "max-ttl=7d")
	if status, text := PostJSON(t, s.Admin+"/large/messages", strings.Repeat("x", 2<<20-1000)); status != http.StatusCreated {
		t.Errorf("got %d %s", status, text)
	}
	web := http.Client{Timeout: 10 * time.Second}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, s.Dashboard+client.APIPath("entities", "large"),
		strings.NewReader(`{"properties":{"UserMetadata":"kept","MaxMessageSizeInKilobytes":2048}}`))
	if err != nil {
		t.Fatal(err)
	}
	w, err := web.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	w.Body.Close()
	got := Entity(t, s, "large").Properties
	if w.StatusCode != http.StatusOK || got["UserMetadata"] != "kept" || got["AutoDeleteOnIdle"] != "P1D" || got["DefaultMessageTimeToLive"] != engine.MaxDurationText || got["MaxMessageSizeInKilobytes"] != 2048.0 {
		t.Errorf("got %s and %v", w.Status, got)
	}
}
