package demo_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"mayfly/engine/demo"
)

// former is a scene with the YAML keys of an earlier version.
const former = `title: Former
teaches: Nothing much.
entities: [{queue: q, with: {RequiresSession: true}}]
steps:
  - say: one
    look: /q/q
    mark: [q]
    do:
      - send: {to: q, as: a, id: m, session: s, ttl: 1m, properties: {ttl: 5, say: x}}
    then:
      - {text: t, message: a, deliveries: 0, properties: {ttl: 5, say: x}}
languages:
  cs:
    title: Dříve
    teaches: Nic moc.
    steps:
      - {say: jedna, then: [t]}
`

// TestFormerKeys: a stored scene may have the keys of an earlier version. In any other scene,
// the error names the present key.
func TestFormerKeys(t *testing.T) {
	if _, err := demo.Parse("former", []byte(former)); err == nil || !strings.Contains(err.Error(), " is now ") {
		t.Errorf("a new scene with former keys: %v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		w := open(t, demo.Options{})
		b := w.home()
		_, err := b.SetSetting(t.Context(), "scene/former", former, nil)
		w.must(err)
		w.must(w.LoadSaved(t.Context(), b))
		s, err := w.library.Find("former")
		w.must(err)
		step := s.Steps[0]
		send := step.Actions[0].Send
		if s.Summary != "Nothing much." || s.Entities[0].Properties["RequiresSession"] != true || step.Caption != "one" || step.Page != "/q/q" || len(step.Highlight) != 1 ||
			send.MessageID != "m" || send.SessionID != "s" || send.TimeToLive != "1m" || len(send.Properties) != 2 || len(step.Expectations[0].Properties) != 2 || s.Languages["cs"].Steps[0].Caption != "jedna" || s.Text != former {
			t.Errorf("it is %+v", s)
		}
	})
}
