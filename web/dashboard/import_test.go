package dashboard_test

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
	"mayfly/engine/job"
)

// upload sends a form with files: pairs of name and value, where a name with a slash is the
// field and the name of a file.
func (w *world) upload(to string, pairs ...string) answer {
	w.Helper()
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	for i := 0; i+1 < len(pairs); i += 2 {
		field, name, isFile := strings.Cut(pairs[i], "/")
		part := form.CreateFormField
		if isFile {
			part = func(field string) (io.Writer, error) { return form.CreateFormFile(field, name) }
		}
		out, err := part(field)
		w.must(err)
		_, err = out.Write([]byte(pairs[i+1]))
		w.must(err)
	}
	w.must(form.Close())
	r := httptest.NewRequest(http.MethodPost, to, &b)
	r.Header.Set("Content-Type", form.FormDataContentType())
	return w.do(r)
}

const importedFile = `{"messageId":"a","body":"1"}
{"messageId":"b","body":"2","scheduledEnqueueTime":"1999-01-01T00:00:00Z"}
{"messageId":"c","body":"3","scheduledEnqueueTime":"2999-01-01T00:00:00Z"}
{"timeToLive":"soon"}
{"messageId":"d","body":"4","properties":{"` + "<b>" + `":"x"}}
`

// TestImportPage: a file is previewed first, and then imported once, however often its form is
// sent.
func TestImportPage(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{})
		const at = "/n/default/q/orders/import"
		if w.see("/n/default/q/orders").Find(`a[href="`+at+`"]`).Length() != 1 {
			w.Error("no link leads to the page")
		}
		w.see(at).wants(200, "Import into orders", "256 M")
		a := w.upload(at, "csrf", w.token(), "ttl", "keep", "schedule", "keep", "ids", "new", "file/<i>.jsonl", importedFile, "lines", "")
		if a.status != http.StatusSeeOther || !strings.HasPrefix(a.to, at+"?file=") {
			w.Fatalf("the response is %d %q: %s", a.status, a.to, a.Find("main").Text())
		}
		page := w.see(a.to)
		page.wants(200, "<i>.jsonl", "5 lines", "4 messages would be imported", "would wait for its time", "was scheduled for a time that has passed", "line cannot be read", "timeToLive")
		if v, _ := page.Find(`select[name=ids] option[selected]`).Attr("value"); v != "new" {
			w.Errorf("the page does not keep the options: %q", v)
		}
		if n := w.b.State("orders").Counts; n != (engine.Counts{}) {
			w.Errorf("a preview sent %+v", n)
		}
		fields := page.fields(`form[action$="/import/start"]`)
		first := w.post(at+"/start", fields...)
		second := w.post(at+"/start", fields...)
		if first.status != http.StatusSeeOther || first.to != second.to {
			w.Fatalf("the response is %d %q, and then %d %q", first.status, first.to, second.status, second.to)
		}
		synctest.Wait()
		is, err := w.jobs.Wait(w.Context(), 1)
		w.must(err)
		if is.State != job.Done || is.Counts != (job.Counts{Total: 5, Seen: 5, Done: 4, Failed: 1}) || is.Actor != "dashboard" {
			w.Errorf("the job has done %+v", is)
		}
		if n := w.b.State("orders").Counts; n != (engine.Counts{Active: 3, Scheduled: 1}) {
			w.Errorf("got %+v", n)
		}
		w.see("/n/default/activity").wants(200, "started job 1")
		w.see(first.to).wants(200, "Import into orders", "<i>.jsonl", "Line 4", "5 of 5")
		if third := w.post(at+"/start", fields...); third.to != first.to {
			w.Errorf("when the job is done, the form redirects to %q", third.to)
		}
		w.get(a.to).wants(200, "The file was removed. Upload it again.")
	})
}

// TestImportOfPastedLines: pasted lines are accepted too, with a typed target on the
// namespace's page, and can be previewed again with other options.
func TestImportOfPastedLines(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("a/b", engine.Config{RequiresSession: true})
		a := w.upload("/n/default/import", "csrf", w.token(), "to", "a/b", "ttl", "remaining", "file/", "", "lines", `{"sessionId":"s"}`+"\n{}")
		page := w.see(a.to)
		page.wants(200, "Pasted lines", "0 messages would be imported", "2", "lines cannot be read", "ttl=remaining")
		if page.Find(`form[action$="/import/start"]`).Length() != 0 {
			w.Error("nothing can be imported, but the button is enabled")
		}
		page = w.see(strings.Replace(a.to, "ttl=remaining", "ttl=keep", 1))
		page.wants(200, "One message would be imported", "into a/b", "would be refused")
		w.see(strings.Replace(a.to, "to=a%2Fb", "to=nowhere", 1)).wants(200, "could not be found")
		says, _ := w.done("/n/default/import/start", page.fields(`form[action$="/import/start"]`)...)
		if !strings.Contains(says, "The import has begun") {
			w.Errorf("got %q", says)
		}
		synctest.Wait()
		if n := w.b.State("a/b").Counts; n != (engine.Counts{Active: 1}) {
			w.Errorf("got %+v", n)
		}
	})
}

// TestImportRefused: a form without a valid token, or without a file, stores nothing, and
// shows why.
func TestImportRefused(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{})
		w.b.CreateEntity(engine.Topic, "prices", engine.Config{})
		w.b.CreateEntity(engine.Subscription, "prices/Subscriptions/eu", engine.Config{})
		const at = "/n/default/q/orders/import"
		w.upload(at, "csrf", "guessed", "file/x", "{}").wants(403)
		w.upload(at, "file/x", "{}", "csrf", w.token()).wants(403) // the token is checked before a file is stored
		w.upload(at).wants(403)
		w.post(at, "lines", "{}").wants(403)
		w.upload(at, "csrf", w.token(), "file/", "", "lines", "").wants(422, "Choose a file, or paste lines")
		both := w.upload(at, "csrf", w.token(), "ids", "new", "file/x", "{}", "lines", "{}")
		both.wants(422)
		if why, ids := both.Find("#f-file-e").Text(), both.Find("select[name=ids] option[selected]").AttrOr("value", ""); !strings.Contains(why, "not both") || ids != "new" {
			w.Errorf("the form shows %q for the file, and has the option %q", why, ids)
		}
		w.get("/n/default/t/prices/s/eu/import").wants(404)
		w.upload("/n/default/q/nowhere/import", "csrf", w.token(), "file/x", "{}")
		w.get("/n/default/q/nowhere/import").wants(404)
		w.post(at+"/start", "file", "guessed", "ttl", "keep").wants(404, "The file was removed. Upload it again.")
		w.get(at+"?file=guessed").wants(200, "The file was removed. Upload it again.")
		a := w.upload(at, "csrf", w.token(), "file/x", "{}")
		w.get(strings.Replace(a.to, "file=", "ttl=other&file=", 1)).wants(200, "not a value of 'ttl'")
		if n := len(w.jobs.List()); n != 0 {
			w.Errorf("got %d jobs", n)
		}
		w.pass(2 * time.Hour)
		w.get(a.to).wants(200, "The file was removed. Upload it again.")
	})
}

// TestImportShelfHasBounds: the total size of stored files is limited, and removed files free their
// part.
func TestImportShelfHasBounds(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{})
		const at = "/n/default/q/orders/import"
		token := w.token()
		var last string
		for i := range 51 {
			a := w.upload(at, "csrf", token, "file/"+fmt.Sprint(i), "{}")
			if (a.status == http.StatusSeeOther) != (i < 50) {
				w.Fatalf("the response to file %d is %d", i, a.status)
			}
			if i < 50 {
				last = a.to
			} else {
				a.wants(503, "already waiting to be imported, the maximum")
			}
		}
		_, word, _ := strings.Cut(last, "file=")
		w.uploads.Drop(word)
		if a := w.upload(at, "csrf", token, "file/x", "{}"); a.status != http.StatusSeeOther {
			w.Errorf("after room was freed, the response is %d", a.status)
		}
		if _, _, err := w.uploads.Find("other", word); err == nil {
			w.Error("a file is visible in another namespace")
		}
	})
}
