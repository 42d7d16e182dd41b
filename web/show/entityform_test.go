package show_test

import (
	"net/url"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/web/show"
)

// What a form shows of an entity can be sent back unchanged in every profile,
// also of one that was made in another, and changes nothing.
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
			form.Set(p.Name, show.FieldText(p, is))
		}
		for _, name := range engine.Profiles() {
			l, err := engine.Profile(name)
			if err != nil {
				t.Fatal(err)
			}
			if got, wrong := show.ReadConfig(kind, is, false, l, form); !got.Equal(is) || len(wrong) > 0 {
				t.Errorf("%s: %+v is read as %+v, %v", name, is, got, wrong)
			}
			if _, wrong := show.ReadConfig(kind, engine.Config{}, true, l, url.Values{"DefaultMessageTimeToLive": {"never"}}); (len(wrong) > 0) != (l.MaxTTL > 0) {
				t.Errorf("%s: a new one that keeps messages for ever: %v", name, wrong)
			}
		}
	}
}
