package api

import (
	"fmt"
	"strings"
	"testing"

	"mayfly/engine/broker"
)

func TestJobs(t *testing.T) {
	w := start(t, broker.Options{})
	w.want(201, "POST", "/send/q?create=queue", `[{"subject":"a","body":"1"},{"subject":"b","body":"2"},{"subject":"a","body":"3"}]`, nil)
	w.want(201, "POST", "/entities", `{"kind":"queue","path":"other"}`, nil)

	var f JobPreview
	w.want(200, "POST", "/jobs", `{"kind":"move","to":"other","paths":["q"],"query":"subject:a","dryRun":true}`, &f)
	if f.Total != 3 || f.Matching != 2 || f.ExpectedCount != 2 || len(f.Sample) != 2 || f.Sample[1].SequenceNumber != 3 || !f.Sample[1].BodyOmitted {
		t.Errorf("preview: %+v", f)
	}
	before := w.everything()
	w.want(409, "POST", "/jobs", `{"kind":"move","to":"other","paths":["q"],"query":"subject:a","expectedCount":1}`, nil)
	if got := w.everything(); got != before {
		t.Error("a refused job changed something")
	}
	var is Job
	w.want(200, "POST", "/jobs", `{"kind":"move","to":"other","paths":["q"],"query":"subject:a","expectedCount":2}`, &is)
	at := fmt.Sprint("/jobs/", is.ID)
	w.want(200, "GET", at+"?wait=30s", "", &is)
	if is.State != "done" || is.Counts.Done != 2 || is.EndedAt == nil || !is.Undoable || is.Resumable || is.To != "other" || !strings.HasPrefix(is.Actor, "API") {
		t.Errorf("moved: %+v", is)
	}
	if n := w.entity("other").Counts.Active; n != 2 {
		t.Errorf("got %d messages", n)
	}
	var undo, list = Job{}, Jobs{}
	w.want(200, "POST", at+"/undo", "", &undo)
	w.want(200, "GET", fmt.Sprint("/jobs/", undo.ID, "?wait=30s"), "", &undo)
	if undo.Undoes != is.ID || undo.Kind != "undo" || undo.Counts.Done != 2 {
		t.Errorf("undone: %+v", undo)
	}
	w.want(400, "POST", at+"/undo", "", nil)
	w.want(400, "POST", at+"/resume", "", nil)
	w.want(200, "DELETE", at, "", &is) // the job has ended already, so nothing changes
	if is.State != "done" || is.UndoneBy != undo.ID {
		t.Errorf("undone: %+v", is)
	}
	w.want(200, "GET", "/jobs", "", &list)
	if len(list.Jobs) != 2 || list.Jobs[0].ID != undo.ID {
		t.Errorf("listed: %+v", list)
	}
}

func TestJobOfChosenMessages(t *testing.T) {
	w := start(t, broker.Options{})
	w.want(201, "POST", "/send/q?create=queue", `[{"body":"1"},{"body":"2"},{"body":"3"}]`, nil)
	w.want(201, "POST", "/entities", `{"kind":"queue","path":"sessions","properties":{"RequiresSession":true}}`, nil)
	all := w.exported("/export/q")
	var is Job
	w.want(200, "POST", "/jobs", `{"kind":"dead-letter","reason":"why","messages":["`+all[0].System.Key+`","`+all[2].System.Key+`"]}`, &is)
	w.want(200, "GET", fmt.Sprint("/jobs/", is.ID, "?wait=30s"), "", &is)
	if c := w.entity("q").Counts; c.DeadLetter != 2 || c.Active != 1 || is.Counts.Done != 2 {
		t.Errorf("%+v, and got %+v", is, c)
	}
	w.want(200, "POST", "/jobs", `{"kind":"move","to":"sessions","messages":["`+all[1].System.Key+`"]}`, &is)
	w.want(200, "GET", fmt.Sprint("/jobs/", is.ID, "?wait=30s"), "", &is)
	if is.Counts.Failed != 1 || len(is.Failures) != 1 || is.Failures[0].Key != all[1].System.Key || !strings.Contains(is.Failures[0].Reason, "session") {
		t.Errorf("refused: %+v", is)
	}
}

func TestJobsRefuse(t *testing.T) {
	w := start(t, broker.Options{})
	w.want(201, "POST", "/send/q?create=queue", `{"body":"1"}`, nil)
	before := w.everything()
	for body, want := range map[string]string{
		`{"kind":"explode","paths":["q"]}`:                                                  "Unknown kind of job",
		`{"kind":"delete"}`:                                                                 "No messages are selected",
		`{"kind":"delete","messages":["x"]}`:                                                "key of a message",
		`{"kind":"delete","paths":["q"],"query":"age:never"}`:                               `"part":"q"`,
		`{"kind":"delete","paths":["//"]}`:                                                  "//",
		`{"kind":"move","paths":["q"],"to":"//"}`:                                           "//",
		`{"kind":"extend","paths":["q"],"by":"never"}`:                                      "by",
		`{"kind":"delete","paths":["q"],"expectedCount":-1}`:                                "expectedCount",
		`{"kind":"delete","paths":["q"],"messageState":"dead"}`:                             "The state must be",
		`{"kind":"delete","paths":["q"],"nonsense":1}`:                                      "nonsense",
		`{"kind":"reschedule","paths":["q"],"scheduledEnqueueTime":"1999-01-01T00:00:00Z"}`: "in the future",
	} {
		if got, text := w.ask("POST", "/jobs", body); got.StatusCode != 400 || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s, want something about %s", body, got.StatusCode, text, want)
		}
	}
	w.want(404, "POST", "/jobs", `{"kind":"delete","paths":["nowhere"]}`, nil)
	for _, ask := range []string{"GET /jobs/7", "GET /jobs/x", "DELETE /jobs/7", "POST /jobs/7/undo", "POST /jobs/7/resume"} {
		method, path, _ := strings.Cut(ask, " ")
		if got, text := w.ask(method, path, ""); got.StatusCode != 404 || !strings.Contains(text, "JobNotFound") {
			t.Errorf("%s: %d %s", ask, got.StatusCode, text)
		}
	}
	if got := w.everything(); got != before {
		t.Error("a refused job changed something")
	}
}
