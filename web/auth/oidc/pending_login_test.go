package oidc

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// TestBegunEnds: a sign-in under way expires after exactly ten minutes.
func TestBegunEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Provider{}
		p.key.Store(newKey())
		answer := httptest.NewRecorder()
		p.saveLogin(answer, httptest.NewRequest(http.MethodGet, "/", nil), newPendingLogin("", "/n/default"))
		good := func() bool {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.AddCookie(answer.Result().Cookies()[0])
			_, ok := p.takeLogin(httptest.NewRecorder(), r)
			return ok
		}
		time.Sleep(10*time.Minute - 1)
		if !good() {
			t.Error("the sign-in expired a moment early")
		}
		time.Sleep(time.Nanosecond)
		if good() {
			t.Error("the sign-in is still valid after ten minutes")
		}
	})
}
