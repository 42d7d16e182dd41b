package pages

import (
	"testing"

	"mayfly/views/locale"
)

func TestWhoDidItIsToldInTheLanguageOfThePage(t *testing.T) {
	for _, tc := range []struct{ tag, actor, want string }{
		{"en", "rule late orders", "rule late orders"},
		{"pt-PT", "rule late orders", "regra late orders"},
		{"zh-CN", "rule late orders", "规则 late orders"},
		{"pt-BR", "dashboard", "alguém no painel"},
		{"cs", "REST 10.0.0.7", "REST 10.0.0.7"},
	} {
		if got := ActorName(locale.With(t.Context(), tc.tag), tc.actor); got != tc.want {
			t.Errorf("%s in %s is %q, want %q", tc.actor, tc.tag, got, tc.want)
		}
	}
}
