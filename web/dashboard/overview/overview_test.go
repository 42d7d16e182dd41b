package overview

import (
	"testing"

	"mayfly/engine"
	"mayfly/views/locale"
)

// Each profile is shown as its tier, with the features that it lacks (§1.5).
func TestOverviewSaysWhoseLimitsThereAre(t *testing.T) {
	const of = "Limits and defaults are those of Service Bus' "
	for profile, want := range map[string]string{
		"standard": of + "Standard tier.", "premium": of + "Premium tier.", "emulator": of + "emulator.",
		"basic": of + "Basic tier. Left out: topics, sessions, duplicate detection, transactions, auto forward, auto delete on idle.",
	} {
		l, err := engine.Profile(profile)
		if err != nil {
			t.Fatal(err)
		}
		if got := tier(t.Context(), l); got != want {
			t.Errorf("%s: %q", profile, got)
		}
	}
}

// TestEndings checks the sentence about how many messages expire, for none, one, several and all of
// them, in each language.
func TestEndings(t *testing.T) {
	for tag, want := range map[string][]string{
		"en":    {"The one message has no end.", "The one message has an end.", "None of the 5 messages has an end.", "One of 5 messages has an end.", "2 of 5 messages have an end.", "All 5 messages have an end."},
		"pt-BR": {"A única mensagem não tem fim.", "A única mensagem tem fim.", "Nenhuma das 5 mensagens tem fim.", "1 de 5 mensagens tem fim.", "2 de 5 mensagens têm fim.", "Todas as 5 mensagens têm fim."},
		"cs":    {"Jediná zpráva nemá omezenou dobu života.", "Jediná zpráva má omezenou dobu života.", "Z 5 zpráv nemá žádná omezenou dobu života.", "Omezenou dobu života má jedna z 5 zpráv.", "Omezenou dobu života mají 2 z 5 zpráv.", "Všech 5 zpráv má omezenou dobu života."},
		"zh-CN": {"没有一条消息有期限（共 1 条）。", "所有消息（1 条）都有期限。", "没有一条消息有期限（共 5 条）。", "5 条消息中有 1 条有期限。", "5 条消息中有 2 条有期限。", "所有消息（5 条）都有期限。"},
	} {
		for i, of := range [][2]int{{0, 1}, {1, 1}, {0, 5}, {1, 5}, {2, 5}, {5, 5}} {
			if got := expiringText(locale.With(t.Context(), tag), of[0], of[1]); got != want[i] {
				t.Errorf("%s, %d of %d: %q", tag, of[0], of[1], got)
			}
		}
	}
}
