package oidc

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// TestBegunEnds: a sign-in that has begun is good for ten minutes, and no moment more.
func TestBegunEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Provider{}
		p.key.Store(newKey())
		answer := httptest.NewRecorder()
		p.leave(answer, httptest.NewRequest(http.MethodGet, "/", nil), newBegun("", "/n/default"))
		good := func() bool {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.AddCookie(answer.Result().Cookies()[0])
			_, ok := p.take(httptest.NewRecorder(), r)
			return ok
		}
		time.Sleep(10*time.Minute - 1)
		if !good() {
			t.Error("a moment early it is over")
		}
		time.Sleep(time.Nanosecond)
		if good() {
			t.Error("on the dot it is still good")
		}
	})
}
