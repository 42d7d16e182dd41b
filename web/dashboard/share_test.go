package dashboard_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"mayfly/web/auth/origin"
)

// TestFormsWaitForRoom: while the budget for bodies is used up, a large form waits and then gets
// 503 with a Retry-After header. A small form does not wait.
func TestFormsWaitForRoom(t *testing.T) {
	within(t, func(w *world) {
		room := origin.NewBodyBudget()
		full := [2]*origin.Share{room.NewShare(""), room.NewShare("")}
		for _, half := range full {
			if !half.TryGrow(1 << 40) {
				t.Fatal("the budget is not free")
			}
		}
		post := func(text string) *httptest.ResponseRecorder {
			share := room.NewShare("")
			defer share.Release()
			r := httptest.NewRequestWithContext(origin.WithShare(w.Context(), share), http.MethodPost, "http://localhost/n/default/language", strings.NewReader("a="+text))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			got := httptest.NewRecorder()
			w.handler.ServeHTTP(got, r)
			return got
		}
		large := strings.Repeat("x", 100_000)
		if got := post(large); got.Code != http.StatusServiceUnavailable || got.Header().Get("Retry-After") == "" {
			t.Errorf("a large form: %d, Retry-After %q", got.Code, got.Header().Get("Retry-After"))
		}
		if got := post("x").Code; got == http.StatusServiceUnavailable {
			t.Errorf("a small form: %d", got)
		}
		full[0].Release()
		if got := post(large).Code; got == http.StatusServiceUnavailable {
			t.Errorf("a large form, with room: %d", got)
		}
	})
}
