package route_test

import (
	"net/url"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/web/dashboard/entity"
)

// The values of a form can be sent back in every profile without changing anything, even for
// an entity that was created in another profile.
func TestFormSentBack(t *testing.T) {
	const kind = engine.Queue
	for _, is := range []engine.Config{
		{},
		{
			LockDuration: time.Second, MaxSizeInMegabytes: 7, MaxMessageSizeInKilobytes: 2048, DefaultMessageTimeToLive: 1500 * time.Millisecond,
			DuplicateDetectionHistoryTimeWindow: time.Second, MaxDeliveryCount: 70, AutoDeleteOnIdle: time.Second, UserMetadata: "ours",
		},
	} {
		form := url.Values{}
		for _, p := range engine.Properties(kind) {
			form.Set(p.Name, entity.PropertyText(p, is))
		}
		for _, name := range engine.Profiles() {
			l, err := engine.Profile(name)
			if err != nil {
				t.Fatal(err)
			}
			if got, wrong := entity.ParseConfig(kind, is, false, l, form); !got.Equal(is) || len(wrong) > 0 {
				t.Errorf("%s: %+v was parsed as %+v, %v", name, is, got, wrong)
			}
			if _, wrong := entity.ParseConfig(kind, engine.Config{}, true, l, url.Values{"DefaultMessageTimeToLive": {"never"}}); (len(wrong) > 0) != (l.MaxTTL > 0) {
				t.Errorf("%s: a new entity that keeps messages for ever: %v", name, wrong)
			}
		}
	}
}
