package dashboard_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"mayfly/engine"
)

// over sends a request as the script does for a dialog over the page: a GET, or a POST if form is
// not nil.
func (w *world) over(to string, form url.Values) answer {
	w.Helper()
	r := httptest.NewRequest(http.MethodGet, to, nil)
	if form != nil {
		form.Set("csrf", w.token())
		r = httptest.NewRequest(http.MethodPost, to, strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	r.Header.Set("Mayfly-Dialog", "1")
	return w.do(r)
}

// TestGuardsOverThePage: every confirmation page answers the script with its form alone: with
// the same heading, fields and buttons, and a cancel button that gets the focus.
func TestGuardsOverThePage(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{})
		w.fill("orders", engine.Content{Subject: "one"}, engine.Content{Subject: "two"})
		key := w.first("orders", engine.ClassActive)
		w.done("/n/default/access/new", "name", "worker", "rights", "Send")
		for _, to := range []string{
			"/n/default/q/orders/delete", "/n/default/q/orders/purge", "/n/default/q/orders/resubmit", "/n/default/q/orders/status?to=Disabled",
			key + "/delete", key + "/dead-letter", key + "/extend",
			"/n/default/access/remove?rule=worker", "/n/default/access/renew?rule=worker&key=primary",
		} {
			whole, part := w.see(to), w.over(to, nil)
			part.wants(200)
			if part.Find("body > form.asking").Length() != 1 || part.Find("main, header, nav, title").Length() != 0 {
				t.Errorf("the dialog of %s has more than its form", to)
			}
			if leave := part.Find("[data-close]"); leave.Length() != 1 || part.Find("[autofocus]").Length() != 1 || !leave.Is("[autofocus]") {
				t.Errorf("%s has no cancel button that gets the focus", to)
			}
			want, err := whole.Find("form.asking").Html()
			w.must(err)
			if got, err := part.Find("form.asking").Html(); err != nil || got != want || part.Find("#h-ask").Text() == "" {
				t.Errorf("%s as a dialog has\n%s\nand as a page\n%s", to, got, want)
			}
		}
	})
}

// TestAnswersToDialogs: the result of a form in a dialog is where the script expects it: errors are
// in the form, a redirect is in a header, and its notice is kept for the target page.
func TestAnswersToDialogs(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{})
		w.fill("orders", engine.Content{Subject: "one"})
		form := w.over("/n/default/q/orders/delete", nil).asked()
		if wrong := w.over("/n/default/q/orders/delete", form); wrong.status != http.StatusUnprocessableEntity || wrong.Find("body > form.asking [aria-invalid=true]").Length() != 1 {
			t.Errorf("without the typed name, the response is %d %s", wrong.status, wrong.Text())
		}
		if gone := w.over("/n/default/q/nothing/delete", nil); gone.status != http.StatusNotFound || gone.Find("body > .asking[role=alert] [data-close]").Length() != 1 {
			t.Errorf("for a missing queue, the response is %d %s", gone.status, gone.Text())
		}
		form.Set("confirm", "orders")
		done := w.over("/n/default/q/orders/delete", form)
		if done.status != http.StatusNoContent || done.header.Get("Mayfly-Go") != "/n/default/queues" || done.header.Get("Location") != "" {
			t.Errorf("the answer is %d with %q", done.status, done.header)
		}
		w.over("/n/default/queues", nil) // as another dialog does in the meantime
		w.see("/n/default/queues").wants(200, "Deleted orders")
	})
}
